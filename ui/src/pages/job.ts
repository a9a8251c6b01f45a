// A job and its editor come in one piece: they share much, and whoever looks at the one often goes on to the other.
export { default as editor } from './Editor.svelte';
export { default as job } from './Job.svelte';
