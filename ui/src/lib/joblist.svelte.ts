// The rows of a list of jobs: pages by keyset, the next one read before it is needed, and those far from what is
// seen let go again, so that a list of any length has a bounded size.
import { api, ApiError } from './api';
import { withChange } from './marks';
import type { Filter } from './route';
import type { Count, JobRow, OccurrenceChange } from './types';

const PAGE = 200;
/** How many pages on either side of what is seen are kept. */
const KEEP = 4;
/** How many rows a list begins with at least, and how often it is asked for them. */
const ENOUGH = 40;
const ROUNDS = 100;

interface Page {
  /** Where it begins in the order; null for the first. */
  token: string | null;
  start: number;
  length: number;
  rows: JobRow[] | null;
}

const DUE_MS: Record<string, number> = { '1h': 3_600_000, '24h': 86_400_000, '7d': 604_800_000 };

export function listQuery(f: Filter, now: number): Record<string, string | number | boolean> {
  const due = DUE_MS[f.due];
  return {
    scope: f.scope,
    state: f.state,
    kind: f.kind,
    target: f.target,
    failing: f.failing,
    q: f.q.trim(),
    dueBefore: due ? new Date(now + due).toISOString() : '',
    sort: f.sort,
  };
}

export class JobList {
  /** Bumped whenever rows changed; reading it makes a view follow. */
  version = $state(0);
  length = $state(0);
  ended = $state(false);
  count = $state.raw<Count | null>(null);
  error = $state.raw<ApiError | null>(null);
  slow = $state(false);
  loaded = $state(false);
  #pages: Page[] = [];
  #after: string | null = null;
  #query: Record<string, string | number | boolean> = {};
  #abort = new AbortController();
  #busy = false;
  #index = new Map<string, JobRow>();

  async load(f: Filter, now: number): Promise<void> {
    this.#abort.abort();
    const abort = (this.#abort = new AbortController());
    this.#query = listQuery(f, now);
    const timer = setTimeout(() => (this.slow = !this.loaded), 200);
    try {
      const page = await api.jobs({ ...this.#query, $top: PAGE, expand: 'recent', count: true }, abort.signal);
      // A page may be short, or empty, and not the last: the server looks at so many jobs at a time.
      for (let i = 0; i < ROUNDS && page.after !== null && page.value.length < ENOUGH; i++) {
        const further = await api.jobs({ ...this.#query, $top: PAGE, expand: 'recent', after: page.after }, abort.signal);
        page.value.push(...further.value);
        page.after = further.after;
      }
      if (abort.signal.aborted) return;
      this.#pages = [{ token: null, start: 0, length: page.value.length, rows: page.value }];
      this.#after = page.after;
      this.#index = new Map(page.value.map((r) => [r.id, r]));
      this.length = page.value.length;
      this.ended = page.after === null;
      this.count = page.count ?? null;
      this.error = null;
      this.loaded = true;
      this.#busy = false;
      this.version += 1;
    } catch (e) {
      if (abort.signal.aborted) return;
      if (!(e instanceof ApiError)) throw e;
      if (!e.unreachable || !this.loaded) this.error = e;
    } finally {
      clearTimeout(timer);
      if (!abort.signal.aborted) this.slow = false;
    }
  }

  stop(): void {
    this.#abort.abort();
  }

  row(i: number): JobRow | null {
    const p = this.#pageOf(i);
    return p?.rows?.[i - p.start] ?? null;
  }

  byId(id: string): JobRow | undefined {
    return this.#index.get(id);
  }

  indexOf(id: string): number {
    for (const p of this.#pages) {
      const i = p.rows?.findIndex((r) => r.id === id) ?? -1;
      if (i >= 0) return p.start + i;
    }
    return -1;
  }

  /** These rows are seen: reads what is missing, lets go of what is far away. */
  seen(first: number, last: number): void {
    const a = this.#pages.findIndex((p) => p.start + p.length > first);
    const b = this.#pages.findLastIndex((p) => p.start <= last);
    this.#pages.forEach((p, i) => {
      if (p.rows && (i < a - KEEP || i > b + KEEP)) {
        for (const r of p.rows) this.#index.delete(r.id);
        p.rows = null;
      } else if (!p.rows && i >= a - 1 && i <= b + 1) void this.#refill(p);
    });
    if (last > this.length - PAGE * 0.4) void this.#more();
  }

  async #more(): Promise<void> {
    if (this.#busy || this.#after === null) return;
    this.#busy = true;
    const token = this.#after;
    const abort = this.#abort;
    try {
      const page = await api.jobs({ ...this.#query, $top: PAGE, expand: 'recent', after: token }, abort.signal);
      if (abort.signal.aborted) return;
      this.#pages.push({ token, start: this.length, length: page.value.length, rows: page.value });
      for (const r of page.value) this.#index.set(r.id, r);
      this.#after = page.after;
      this.length += page.value.length;
      this.ended = page.after === null;
      this.version += 1;
    } catch (e) {
      if (!(e instanceof ApiError) && !abort.signal.aborted) throw e;
    } finally {
      if (!abort.signal.aborted) this.#busy = false;
    }
  }

  async #refill(p: Page): Promise<void> {
    const abort = this.#abort;
    p.rows = [];
    try {
      const page = await api.jobs({ ...this.#query, $top: PAGE, expand: 'recent', ...(p.token === null ? {} : { after: p.token }) }, abort.signal);
      if (abort.signal.aborted) return;
      // The list may have changed meanwhile; its place keeps its length, so that nothing moves.
      p.rows = page.value.slice(0, p.length);
      for (const r of p.rows) this.#index.set(r.id, r);
      this.version += 1;
    } catch (e) {
      p.rows = null;
      if (!(e instanceof ApiError) && !abort.signal.aborted) throw e;
    }
  }

  #pageOf(i: number): Page | undefined {
    return this.#pages.find((p) => i >= p.start && i < p.start + p.length);
  }

  /** Takes in what happened; whether the order of what is shown is no longer that of the server. */
  happened(changes: OccurrenceChange[]): boolean {
    let moved = false;
    let touched = false;
    for (const c of changes) {
      const r = this.#index.get(c.id);
      if (!r) continue;
      touched = true;
      this.#replace({
        ...r,
        nextExecutionTime: c.nextExecutionTime ?? r.nextExecutionTime,
        lastExecutionTime: c.outcome === 'skipped' ? r.lastExecutionTime : c.dueTime,
        failing: c.outcome === 'failed' || c.outcome === 'retrying' ? true : c.outcome === 'succeeded' ? false : r.failing,
        inFlight: c.outcome === 'running',
        recent: withChange(r.recent ?? [], c),
      });
      if (c.nextExecutionTime && c.nextExecutionTime !== r.nextExecutionTime) moved = true;
    }
    if (touched) this.version += 1;
    return moved;
  }

  /** Another state of a job, at once; the server's own word follows. */
  setState(id: string, state: JobRow['state']): void {
    const r = this.#index.get(id);
    if (!r) return;
    this.#replace({ ...r, state });
    this.version += 1;
  }

  #replace(r: JobRow): void {
    this.#index.set(r.id, r);
    for (const p of this.#pages) {
      const i = p.rows?.findIndex((x) => x.id === r.id) ?? -1;
      if (p.rows && i >= 0) {
        p.rows[i] = r;
        return;
      }
    }
  }
}
