// How the page is built: one style sheet, hashed names under assets/, nothing inlined (the server's
// Content-Security-Policy allows neither inline styles nor data: URLs), relative addresses so that the
// bundle works below any path prefix.
import { svelte } from '@sveltejs/vite-plugin-svelte';
import { defineConfig } from 'vitest/config';

export default defineConfig(async ({ command }) => ({
  base: './',
  plugins: [svelte(), ...(command === 'serve' && !process.env['VITEST'] ? [(await import('./dev/plugin.mjs')).mock()] : [])],
  build: {
    target: 'es2022',
    assetsInlineLimit: 0,
    cssCodeSplit: false,
    modulePreload: { polyfill: false },
    sourcemap: false,
    reportCompressedSize: false,
  },
  test: { include: ['src/**/*.test.ts'] },
}));
