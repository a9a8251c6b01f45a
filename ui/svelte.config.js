// Svelte compiles TypeScript by stripping types; components are runes only.
import { vitePreprocess } from '@sveltejs/vite-plugin-svelte';
export default { preprocess: vitePreprocess(), compilerOptions: { runes: true } };
