// Pages that are seldom opened come in one piece: together they are smaller than each by itself.
export { default as audit } from './Audit.svelte';
export { default as bulk } from './Bulk.svelte';
export { default as cluster } from './Cluster.svelte';
export { default as collections } from './Collections.svelte';
export { default as editCollection, default as newCollection } from './CollectionForm.svelte';
export { default as settings } from './Settings.svelte';
export { default as signin } from './SignIn.svelte';
export { default as start } from './Start.svelte';
export { default as timetable } from './Timetable.svelte';
