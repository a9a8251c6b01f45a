// What happens on the server as it happens: one EventSource a tab. Where that is not to be had, those who
// listen are asked to read anew every five seconds. A hidden tab closes the stream and catches up when it is shown.
import { apiUrl } from './api';
import { clock } from './clock.svelte';
import { connection } from './connection.svelte';
import { session } from './session.svelte';
import type { Bulk, Node, OccurrenceChange } from './types';

export interface LiveEvents {
  job: { changes: { id: string; change: string }[]; more?: boolean };
  collection: { changes: { id: string; change: string }[]; more?: boolean };
  occurrence: { changes: OccurrenceChange[]; more?: boolean };
  stats: { succeeded: number; retried: number; failed: number; late: number; skipped: number };
  node: { nodes: Node[] };
  bulk: Pick<Bulk, 'id' | 'done' | 'refused' | 'total' | 'state'>;
  /** Everything is to be read anew. */
  reset: null;
}

type Listener<K extends keyof LiveEvents> = (data: LiveEvents[K]) => void;
const KINDS = ['job', 'collection', 'occurrence', 'stats', 'node', 'bulk'] as const;
/** Heartbeats come every 15 s; after three of them nothing is believed to come. */
const SILENCE_MS = 50_000;
const POLL_MS = 5000;

class Live {
  paused = $state(false);
  mode = $state<'off' | 'stream' | 'polling'>('off');
  /** When something was last heard, for "as of"; monotonic. */
  heardAt = $state(performance.now());
  #source: EventSource | null = null;
  #scope = '';
  #failures = 0;
  #timer: ReturnType<typeof setTimeout> | undefined;
  #silence: ReturnType<typeof setTimeout> | undefined;
  #polls = 0;
  #listeners = new Map<keyof LiveEvents, Set<(data: never) => void>>();

  start(): void {
    document.addEventListener('visibilitychange', () => {
      if (document.hidden) this.#close();
      else if (!this.paused) {
        this.#open();
        this.#emit('reset', null);
      }
    });
    connection.onBack(() => {
      if (!this.paused) {
        this.#failures = 0;
        this.#open();
        this.#emit('reset', null);
      }
    });
    this.#open();
  }

  stop(): void {
    this.#close();
  }

  on<K extends keyof LiveEvents>(kind: K, f: Listener<K>): () => void {
    let set = this.#listeners.get(kind);
    if (!set) this.#listeners.set(kind, (set = new Set()));
    set.add(f as (data: never) => void);
    return () => set.delete(f as (data: never) => void);
  }

  /** What of the server is of interest to the page that is shown. */
  setScope(scope: string): void {
    if (scope === this.#scope) return;
    this.#scope = scope;
    if (this.#source) this.#open();
  }

  toggle(): void {
    this.paused = !this.paused;
    if (this.paused) this.#close();
    else {
      this.#open();
      this.#emit('reset', null);
    }
  }

  #emit<K extends keyof LiveEvents>(kind: K, data: LiveEvents[K]): void {
    for (const f of this.#listeners.get(kind) ?? []) (f as Listener<K>)(data);
  }

  #open(): void {
    this.#close();
    if (document.hidden || this.paused) return;
    // A server without the stream is not asked for it.
    if (!session.can('events')) return this.#poll();
    const source = new EventSource(apiUrl('/events', { scope: this.#scope }));
    this.#source = source;
    const heard = (): void => {
      this.heardAt = performance.now();
      connection.answered();
      clearTimeout(this.#silence);
      this.#silence = setTimeout(() => this.#open(), SILENCE_MS);
    };
    const time = (e: MessageEvent<string>): void => {
      this.mode = 'stream';
      this.#failures = 0;
      heard();
      const at = (JSON.parse(e.data) as { time?: string }).time;
      if (at) clock.set(at);
    };
    source.addEventListener('hello', time);
    source.addEventListener('heartbeat', time);
    source.addEventListener('reset', () => {
      heard();
      this.#emit('reset', null);
    });
    for (const kind of KINDS) {
      source.addEventListener(kind, (e: MessageEvent<string>) => {
        heard();
        const data = JSON.parse(e.data) as LiveEvents[typeof kind] & { more?: boolean };
        if (data.more) this.#emit('reset', null);
        else this.#emit(kind, data as never);
      });
    }
    source.onerror = () => {
      // The browser tries again by itself only after a stream that broke off, not after a refusal.
      this.#failures += 1;
      if (source.readyState === EventSource.CLOSED || this.#failures > 2) {
        this.#close();
        this.#poll();
      }
    };
  }

  #poll(): void {
    if (document.hidden || this.paused) return;
    this.mode = 'polling';
    this.#polls += 1;
    this.#timer = setTimeout(() => {
      if (!connection.lost) {
        this.heardAt = performance.now();
        this.#emit('reset', null);
      }
      // Now and then the clock is set, and the stream is tried again.
      if (this.#polls % 12 === 0) void session.load().then(() => this.#open());
      else this.#poll();
    }, POLL_MS);
  }

  #close(): void {
    clearTimeout(this.#timer);
    clearTimeout(this.#silence);
    this.#source?.close();
    this.#source = null;
    this.mode = 'off';
  }
}

export const live = new Live();
