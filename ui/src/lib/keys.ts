// Shortcuts. Single keys never act in fields or behind a dialog, and can be switched off (WCAG 2.1.4).
import { prefs } from './prefs.svelte';

type Handler = (e: KeyboardEvent) => void;

const page = new Map<string, Handler>();
const shell = new Map<string, Handler>();
const chords = new Map<string, Handler>();
let pending = '';
let timer: ReturnType<typeof setTimeout> | undefined;

/** Shortcuts of the page that is shown; returns how to take them away. */
export function pageKeys(map: Record<string, Handler>): () => void {
  for (const [k, f] of Object.entries(map)) page.set(k, f);
  return () => {
    for (const [k, f] of Object.entries(map)) if (page.get(k) === f) page.delete(k);
  };
}

export function shellKeys(map: Record<string, Handler>, chordMap: Record<string, Handler>): void {
  for (const [k, f] of Object.entries(map)) shell.set(k, f);
  for (const [k, f] of Object.entries(chordMap)) chords.set(k, f);
}

export function inField(target: EventTarget | null): boolean {
  return target instanceof HTMLElement && (target.isContentEditable || /^(INPUT|TEXTAREA|SELECT)$/.test(target.tagName)) && !(target instanceof HTMLInputElement && target.type === 'checkbox');
}

export function startKeys(): void {
  document.addEventListener('keydown', (e) => {
    const ctrl = e.ctrlKey || e.metaKey;
    if (ctrl && !e.altKey) {
      const f = page.get(`ctrl+${e.key.toLowerCase()}`) ?? shell.get(`ctrl+${e.key.toLowerCase()}`);
      if (f) {
        e.preventDefault();
        f(e);
      }
      return;
    }
    if (e.altKey || e.defaultPrevented || document.querySelector('dialog[open]')) return;
    if (e.key === 'Escape') return page.get('Escape')?.(e);
    if (!prefs.keys || inField(e.target)) return;
    if (pending) {
      const f = chords.get(`${pending} ${e.key}`);
      pending = '';
      clearTimeout(timer);
      if (f) {
        e.preventDefault();
        f(e);
      }
      return;
    }
    if (e.key === 'g') {
      pending = 'g';
      timer = setTimeout(() => (pending = ''), 900);
      return;
    }
    // Enter and Space belong to what has the focus.
    if (e.key === 'Enter' && e.target instanceof HTMLElement && e.target.closest('a,button,summary')) return;
    const f = page.get(e.key) ?? shell.get(e.key);
    if (f) {
      e.preventDefault();
      f(e);
    }
  });
}
