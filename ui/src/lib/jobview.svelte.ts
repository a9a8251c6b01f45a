// Everything a job's page shows: the job, its ledger, its coming runs; kept up to date by events.
import { api, ApiError } from './api';
import { clock } from './clock.svelte';
import { ledger, perDay, type Entry } from './ledger';
import { live } from './live.svelte';
import { jobPath, type JobName } from './names';
import { atMostEvery } from './resource.svelte';
import { t } from './text';
import { DAY, millis } from './time';
import { headline } from './words';
import type { Collection, HistoryRecord, Job, Occurrence, Preview } from './types';

/** How many due times the page keeps: enough for the matrix at its fullest. */
const OCCURRENCES_MAX = 2000;
const NEXT = 100;

export class JobView {
  job = $state.raw<Job | null>(null);
  collection = $state.raw<Collection | null>(null);
  preview = $state.raw<Preview | null>(null);
  error = $state.raw<ApiError | null>(null);
  slow = $state(false);
  loaded = $state(false);
  pruned = $state<string | null>(null);
  moreRecords = $state(false);
  occurrences = $state.raw<Occurrence[]>([]);
  records = $state.raw<HistoryRecord[]>([]);
  #from = $state(0);
  entries = $derived<Entry[]>(ledger(this.occurrences, this.records, this.#from));
  #byDue = $derived(new Map(this.entries.map((e) => [e.due, e])));
  #abort = new AbortController();
  #offs: (() => void)[];
  #again = atMostEvery(700, () => void this.#update());

  constructor(readonly name: JobName) {
    const id = jobPath(name).toLowerCase();
    const same = (x: string): boolean => encodeURI(decodeURI(x)).toLowerCase() === encodeURI(decodeURI(id)).toLowerCase();
    this.#offs = [
      live.on('occurrence', (e) => {
        const mine = e.changes.filter((c) => same(c.id));
        if (mine.length === 0) return;
        const list = new Map(this.occurrences.map((o) => [o.dueTime, o]));
        // What is under way shows at once; what it came to is read with its record.
        for (const c of mine) list.set(c.dueTime, { ...(list.get(c.dueTime) ?? {}), dueTime: c.dueTime, outcome: c.outcome, attempts: c.attempt, ...(c.reason ? { reason: c.reason } : {}) });
        this.occurrences = [...list.values()];
        this.refresh();
      }),
      live.on('job', (e) => {
        if (e.changes.some((c) => same(c.id))) void this.load();
      }),
      live.on('reset', () => this.refresh()),
    ];
  }

  /** Reads what may have changed, soon. */
  refresh(): void {
    this.#again.call();
  }

  async load(): Promise<void> {
    const timer = setTimeout(() => (this.slow = this.job === null), 200);
    const signal = this.#abort.signal;
    try {
      const [job] = await Promise.all([api.job(this.name, signal), this.#readCollection(signal)]);
      this.job = job;
      this.error = null;
      await this.#readPreview(signal);
      const times = (this.preview?.next ?? []).map((n) => Date.parse(n.dueTime));
      const rate = perDay(times) ?? 1;
      // A day where it runs by the minute, two weeks by the hour, two months otherwise.
      this.#from = clock.read() - (rate > 100 ? 1 : rate > 6 ? Math.min(16, OCCURRENCES_MAX / rate) : 60) * DAY;
      await this.#readPast(signal);
      this.loaded = true;
    } catch (e) {
      if (signal.aborted) return;
      if (!(e instanceof ApiError)) throw e;
      if (!e.unreachable || !this.job) this.error = e;
    } finally {
      clearTimeout(timer);
      this.slow = false;
    }
  }

  async #update(): Promise<void> {
    const signal = this.#abort.signal;
    if (!this.job || document.hidden) return;
    try {
      this.job = await api.job(this.name, signal);
      await Promise.all([this.#readPreview(signal), this.#readPast(signal)]);
    } catch (e) {
      if (!signal.aborted && !(e instanceof ApiError)) throw e;
    }
  }

  async #readCollection(signal: AbortSignal): Promise<void> {
    try {
      this.collection = await api.collection(this.name, signal);
    } catch (e) {
      if (!(e instanceof ApiError)) throw e;
    }
  }

  async #readPreview(signal: AbortSignal): Promise<void> {
    const p = this.job?.properties;
    if (!p) return;
    try {
      this.preview = await api.preview(this.name, { properties: p, name: this.name.job, count: NEXT }, signal);
    } catch (e) {
      if (!(e instanceof ApiError) || signal.aborted) throw e;
      await this.#withoutPreview(signal);
    }
  }

  /** A job that can't be previewed as it is still has a rule in words and due times ahead. */
  async #withoutPreview(signal: AbortSignal): Promise<void> {
    const now = clock.read();
    const [rows, ahead] = await Promise.all([api.jobs({ scope: jobPath(this.name).replace(/\/jobs\/[^/]+$/, ''), q: this.name.job, sort: 'name', $top: 20 }, signal), api.occurrences(this.name, new Date(now).toISOString(), new Date(now + 31 * DAY).toISOString(), NEXT, signal)]);
    const row = rows.value.find((r) => r.name.toLowerCase() === this.name.job.toLowerCase());
    const next = ahead.value.filter((o) => o.outcome === 'pending').slice(0, NEXT).map((o) => ({ dueTime: o.dueTime, local: o.dueTime, note: null }));
    this.preview = { description: row?.rule ?? null, runsAtOnce: false, next, previous: [], ends: null, warnings: [], problems: [], valid: true };
  }

  async #readPast(signal: AbortSignal): Promise<void> {
    const to = new Date(clock.read()).toISOString();
    const [past, records] = await Promise.all([api.occurrences(this.name, new Date(this.#from).toISOString(), to, OCCURRENCES_MAX, signal), api.history(this.name, 0, signal)]);
    this.occurrences = past.value.filter((o) => o.outcome !== 'pending');
    this.pruned = past.prunedBefore ?? null;
    const known = new Map(this.records.map((r) => [r.id, r]));
    for (const r of records.value) known.set(r.id, r);
    this.records = [...known.values()];
    if (this.records.length <= 100) this.moreRecords = records.value.length === 100;
  }

  /** Reads older records of attempts. */
  async older(): Promise<void> {
    const page = await api.history(this.name, this.records.length, this.#abort.signal);
    const known = new Map(this.records.map((r) => [r.id, r]));
    for (const r of page.value) known.set(r.id, r);
    this.records = [...known.values()];
    this.moreRecords = page.value.length === 100;
  }

  /** Why a due time became what it did, in a sentence. */
  why(due: number): string {
    const e = this.#byDue.get(due);
    return e ? why(e) : '';
  }

  stop(): void {
    this.#abort.abort();
    this.#again.cancel();
    this.#offs.forEach((f) => f());
  }
}

export function why(e: Entry): string {
  const main = e.attempts.filter((a) => a.properties.actionName === 'MainAction');
  const failed = main.find((a) => a.properties.status === 'failed')?.properties.message ?? '';
  const lastFailed = main.findLast((a) => a.properties.status === 'failed')?.properties.message ?? '';
  switch (e.mark) {
    case 'overlap':
      return t.why.overlap;
    case 'missed':
      return e.reason === 'missed' ? t.why.missed : t.why.other(e.reason ?? '');
    case 'fail':
      return t.why.failed(e.attemptCount, headline(lastFailed));
    case 'retried':
      return t.why.retried(e.attemptCount, headline(failed));
    case 'retrying':
      return t.why.retrying(e.attemptCount, headline(lastFailed));
    case 'late':
      return t.why.late(millis(e.latenessMs ?? 0), e.attempts.some((a) => a.properties.status === 'postponed'));
    case 'ok':
      return e.reason === 'clock' ? t.why.clock : '';
    default:
      return '';
  }
}
