// What became of each due time of a job: occurrences and the records of attempts, put together. Pure.
import { latenessOf, LATE_MS, mark, markOfOccurrence, worst, type Mark } from './marks';
import { DAY, HOUR, MINUTE, pad, parts } from './time';
import type { HistoryRecord, Occurrence } from './types';

export interface Entry {
  due: number;
  dueTime: string;
  mark: Mark;
  reason: string | null;
  latenessMs: number | null;
  startedAt: number | null;
  attemptCount: number;
  attempts: HistoryRecord[];
  /** From the first start to the last end of the main action. */
  tookMs: number | null;
  rerunOf: string | null;
  reruns: string[];
  /** Not of the schedule: somebody pressed Run now. */
  extra: boolean;
}

/**
 * Entries, oldest first. Records that belong to no occurrence are runs that somebody asked for; those before `from`,
 * where the occurrences begin, belong to some that were not read.
 */
export function ledger(occurrences: Occurrence[], records: HistoryRecord[], from = 0, lateMs = LATE_MS): Entry[] {
  const attempts = new Map<number, HistoryRecord[]>();
  for (const r of records) {
    const due = Date.parse(r.properties.expectedExecutionTime);
    const list = attempts.get(due);
    if (list) list.push(r);
    else attempts.set(due, [r]);
  }
  for (const list of attempts.values()) list.sort((a, b) => Date.parse(a.properties.startTime) - Date.parse(b.properties.startTime));
  const out = new Map<number, Entry>();
  for (const o of occurrences) {
    const due = Date.parse(o.dueTime);
    const list = attempts.get(due) ?? [];
    out.set(due, {
      due,
      dueTime: o.dueTime,
      mark: markOfOccurrence(o, lateMs),
      reason: o.reason ?? null,
      latenessMs: latenessOf(o),
      startedAt: o.startTime ? Date.parse(o.startTime) : null,
      attemptCount: o.attempts,
      attempts: list,
      tookMs: took(list),
      rerunOf: o.rerunOf ?? null,
      reruns: o.reruns ?? [],
      extra: o.rerunOf !== undefined,
    });
  }
  for (const [due, list] of attempts) {
    if (out.has(due) || due < from) continue;
    const main = list.filter((r) => r.properties.actionName === 'MainAction' && r.properties.status !== 'postponed');
    const first = main[0];
    const last = main.at(-1);
    if (!first || !last) continue;
    const started = Date.parse(first.properties.startTime);
    out.set(due, {
      due,
      dueTime: first.properties.expectedExecutionTime,
      mark: mark(last.properties.status === 'completed' ? 'succeeded' : 'failed', null, started - due, main.length, lateMs),
      reason: null,
      latenessMs: Math.max(0, started - due),
      startedAt: started,
      attemptCount: main.length,
      attempts: list,
      tookMs: took(list),
      rerunOf: null,
      reruns: [],
      extra: true,
    });
  }
  return [...out.values()].sort((a, b) => a.due - b.due);
}

function took(list: HistoryRecord[]): number | null {
  const main = list.filter((r) => r.properties.actionName === 'MainAction' && r.properties.status !== 'postponed');
  const first = main[0];
  const last = main.at(-1);
  return first && last ? Math.max(0, Date.parse(last.properties.endTime) - Date.parse(first.properties.startTime)) : null;
}

/** How often it runs on a day, by two of its times; null where that says nothing. */
export function perDay(times: number[]): number | null {
  const first = times[0];
  const last = times.at(-1);
  if (times.length < 2 || first === undefined || last === undefined || last <= first) return null;
  return ((times.length - 1) * DAY) / (last - first);
}

export interface Cell {
  mark: Mark;
  entries: { due: number; mark: Mark; entry: Entry | null }[];
}

export interface Grid {
  kind: 'hour' | 'day' | 'week';
  columns: { label: string; strong: boolean; line: boolean }[];
  rows: { label: string; strong: boolean; gap: boolean; cells: (Cell | null)[] }[];
}

const COLUMNS_MAX = 100;
const WEEKDAYS = ['Mon', 'Tue', 'Wed', 'Thu', 'Fri', 'Sat', 'Sun'];

/**
 * The punctuality matrix. More than 6 runs a day: row = day, column = time of day. Up to 6: row = week, columns
 * = its due times. Faster than the columns allow: row = hour, column = minute, worst outcome wins in a cell of many.
 */
export function grid(past: Entry[], future: number[], zone: string, rate: number): Grid {
  const all = [
    ...past.filter((e) => !e.extra).map((e) => ({ due: e.due, mark: e.mark, entry: e as Entry | null })),
    ...future.map((due) => ({ due, mark: 'wait' as Mark, entry: null })),
  ];
  const kind: Grid['kind'] = rate > COLUMNS_MAX ? 'hour' : rate > 6 ? 'day' : 'week';
  const rowsMax = kind === 'hour' ? 25 : kind === 'day' ? 17 : 14;
  const rows = new Map<string, { label: string; start: boolean; at: number; byColumn: Map<number, Cell['entries']> }>();
  const columnKeys = new Set<number>();
  for (const o of all) {
    const p = parts(o.due, zone);
    const minuteOfDay = Number(p.hour) * 60 + Number(p.minute);
    const weekday = WEEKDAYS.indexOf(p.weekday);
    let key: string;
    let label: string;
    let start = false;
    let column: number;
    if (kind === 'hour') {
      key = `${p.year}${p.month}${p.day}${p.hour}`;
      label = `${p.weekday} ${p.hour}`;
      column = Number(p.minute);
    } else if (kind === 'day') {
      key = `${p.year}${p.month}${p.day}`;
      label = `${p.weekday} ${p.day}`;
      start = p.weekday === 'Mon';
      column = minuteOfDay;
    } else {
      const monday = parts(o.due - weekday * DAY, zone);
      key = `${monday.year}${monday.month}${monday.day}`;
      label = `${monday.day} ${monday.month}`;
      column = weekday * 1440 + minuteOfDay;
    }
    let row = rows.get(key);
    if (!row) rows.set(key, (row = { label, start, at: o.due, byColumn: new Map() }));
    columnKeys.add(column);
    const list = row.byColumn.get(column);
    if (list) list.push(o);
    else row.byColumn.set(column, [o]);
  }
  // More distinct times than columns fit: the columns become a quarter of an hour each (of a week: six hours).
  const coarse = kind === 'day' ? 15 : kind === 'week' ? 360 : 1;
  const bucket = columnKeys.size > COLUMNS_MAX ? coarse : 1;
  const keys = [...new Set([...columnKeys].map((c) => Math.floor(c / bucket) * bucket))].sort((a, b) => a - b);
  const columns = keys.map((c, i) => {
    const before = keys[i - 1];
    if (kind === 'hour') return { label: c % 5 === 0 ? `:${pad(c)}` : '', strong: c % 15 === 0, line: c % 15 === 0 && i > 0 };
    const h = Math.floor((c % 1440) / 60);
    const newHour = before === undefined || Math.floor((before % 1440) / 60) !== h || Math.floor(before / 1440) !== Math.floor(c / 1440);
    if (kind === 'day') return { label: newHour ? pad(h) : '', strong: h % 3 === 0, line: newHour && i > 0 };
    const day = WEEKDAYS[Math.floor(c / 1440)] ?? '';
    const newDay = before === undefined || Math.floor(before / 1440) !== Math.floor(c / 1440);
    return { label: newDay ? `${day} ${pad(h)}:${pad(c % 60)}` : `${pad(h)}:${pad(c % 60)}`, strong: newDay, line: newDay && i > 0 };
  });
  const sorted = [...rows.values()].sort((a, b) => a.at - b.at);
  const lastPast = sorted.findLastIndex((r) => [...r.byColumn.values()].flat().some((o) => o.entry));
  const shown = sorted.slice(0, Math.max(lastPast, 0) + 2).slice(-rowsMax);
  return {
    kind,
    columns,
    rows: shown.map((r, i) => {
      const cells: (Cell | null)[] = keys.map((k) => {
        const entries = [...r.byColumn].filter(([c]) => Math.floor(c / bucket) * bucket === k).flatMap(([, e]) => e);
        return entries.length ? { mark: worst(entries.map((e) => e.mark)), entries } : null;
      });
      return { label: r.label, strong: [...r.byColumn.values()].flat().some((o) => !o.entry), gap: i > 0 && r.start, cells };
    }),
  };
}

export interface LatenessRow {
  t: number;
  p50: number;
  p90: number;
  p99: number;
  max: number;
}

/** Quantiles of lateness by time, in at most `n` buckets. */
export function latenessRows(entries: Entry[], n: number): LatenessRow[] {
  const ran = entries.filter((e) => e.latenessMs !== null && e.startedAt !== null);
  const first = ran[0];
  const last = ran.at(-1);
  if (!first || !last) return [];
  const step = Math.max(MINUTE, Math.ceil((last.due - first.due + 1) / n / MINUTE) * MINUTE);
  const m = new Map<number, number[]>();
  for (const e of ran) {
    const k = Math.floor(e.due / step) * step;
    const list = m.get(k);
    if (list) list.push(e.latenessMs ?? 0);
    else m.set(k, [e.latenessMs ?? 0]);
  }
  return [...m].map(([t, list]) => {
    list.sort((a, b) => a - b);
    const q = (p: number): number => list[Math.min(list.length - 1, Math.floor(p * list.length))] ?? 0;
    return { t, p50: q(0.5), p90: q(0.9), p99: q(0.99), max: list.at(-1) ?? 0 };
  });
}

export interface TroubleRow {
  label: string;
  strong: boolean;
  fail: number;
  late: number;
  retried: number;
  skipped: number;
}

/** What did not go well at once, by day (by hour where all of it is within two days). */
export function troubleRows(entries: Entry[], zone: string): TroubleRow[] {
  const first = entries[0];
  const last = entries.at(-1);
  if (!first || !last) return [];
  const byHour = last.due - first.due <= 2 * DAY;
  const rows = new Map<string, TroubleRow>();
  const step = byHour ? HOUR : DAY;
  for (let at = first.due; at <= last.due + step; at += step) {
    const p = parts(Math.min(at, last.due), zone);
    const key = `${p.year}${p.month}${p.day}${byHour ? p.hour : ''}`;
    if (!rows.has(key)) rows.set(key, { label: byHour ? p.hour : p.day, strong: byHour ? p.hour === '00' : p.weekday === 'Mon', fail: 0, late: 0, retried: 0, skipped: 0 });
  }
  for (const e of entries) {
    const p = parts(e.due, zone);
    const row = rows.get(`${p.year}${p.month}${p.day}${byHour ? p.hour : ''}`);
    if (!row) continue;
    if (e.mark === 'fail' || e.mark === 'retrying') row.fail += 1;
    else if (e.mark === 'late') row.late += 1;
    else if (e.mark === 'retried') row.retried += 1;
    else if (e.mark === 'overlap' || e.mark === 'missed') row.skipped += 1;
  }
  return [...rows.values()].slice(-31);
}
