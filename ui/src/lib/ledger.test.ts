import { describe, expect, it } from 'vitest';
import { attention } from './attention';
import { grid, latenessRows, ledger, perDay, troubleRows } from './ledger';
import { mark, withChange, worst } from './marks';
import { DAY, HOUR, MINUTE } from './time';
import { timetable } from './timetable';
import type { HistoryRecord, JobRow, Occurrence, Recent } from './types';
import { headline } from './words';

const T0 = Date.parse('2026-11-16T05:00:00Z');
const iso = (t: number): string => new Date(t).toISOString();
const ok = (due: number): Occurrence => ({ dueTime: iso(due), outcome: 'succeeded', attempts: 1, startTime: iso(due), lateness: '00:00:00.0003000' });
const record = (due: number, n: number, status: 'completed' | 'failed'): HistoryRecord => ({
  id: `${due}-${n}`, name: `${due}-${n}`,
  properties: { startTime: iso(due + n * 30_000), endTime: iso(due + n * 30_000 + 500), expectedExecutionTime: iso(due), status, message: status, retryCount: n, repeatCount: 1, actionName: 'MainAction' },
});

describe('the mark of a due time', () => {
  it('tells on time, late, after retries, failed and both ways of being skipped apart', () => {
    expect(mark('succeeded', null, 0.3, 1)).toBe('ok');
    expect(mark('succeeded', null, 1500, 1)).toBe('late');
    expect(mark('succeeded', null, 0.3, 3)).toBe('retried');
    expect(mark('failed', null, 0.3, 5)).toBe('fail');
    expect(mark('skipped', 'overlap', null, 0)).toBe('overlap');
    expect(mark('skipped', 'missed', null, 0)).toBe('missed');
  });
  it('of many is the worst', () => {
    expect(worst(['ok', 'late', 'fail', 'ok'])).toBe('fail');
    expect(worst(['ok', 'wait'])).toBe('ok');
  });
});

describe('the ledger', () => {
  it('puts attempts to their due time, in order', () => {
    const [e] = ledger([{ dueTime: iso(T0), outcome: 'succeeded', attempts: 2, startTime: iso(T0) }], [record(T0, 1, 'completed'), record(T0, 0, 'failed')]);
    expect(e?.mark).toBe('retried');
    expect(e?.attempts.map((a) => a.properties.status)).toEqual(['failed', 'completed']);
    expect(e?.tookMs).toBe(30_500);
  });
  it('knows a run by hand by its record alone, unless it lies before what was read', () => {
    const entries = ledger([ok(T0)], [record(T0, 0, 'completed'), record(T0 + 61_000, 0, 'completed'), record(T0 - DAY, 0, 'completed')], T0);
    expect(entries.map((e) => [e.due, e.extra])).toEqual([[T0, false], [T0 + 61_000, true]]);
  });
});

describe('the matrix', () => {
  const every = (ms: number, n: number): Occurrence[] => Array.from({ length: n }, (_, i) => ok(T0 + i * ms));
  it('has a row for each day and a column for each time of day of what runs often', () => {
    const list = ledger(every(HOUR, 60), []);
    const g = grid(list, [], 'UTC', perDay(list.map((e) => e.due)) ?? 0);
    expect(g.kind).toBe('day');
    expect(g.columns).toHaveLength(24);
    expect(g.rows).toHaveLength(3);
  });
  it('has a row for each week of what runs up to six times a day', () => {
    const list = ledger(every(DAY, 20), []);
    const g = grid(list, [T0 + 20 * DAY], 'UTC', 1);
    expect(g.kind).toBe('week');
    expect(g.columns).toHaveLength(7);
    expect(g.rows.at(-1)?.cells.some((c) => c?.mark === 'wait')).toBe(true);
  });
  it('has a row for each hour of what runs by the minute', () => {
    const list = ledger(every(MINUTE, 600), []);
    const g = grid(list, [], 'UTC', 1440);
    expect(g.kind).toBe('hour');
    expect(g.columns).toHaveLength(60);
    expect(g.rows.length).toBeGreaterThanOrEqual(10);
  });
  it('shows what is past, however much is to come', () => {
    const list = ledger(every(DAY, 5), []);
    const future = Array.from({ length: 100 }, (_, i) => T0 + (5 + i) * DAY);
    const g = grid(list, future, 'UTC', 1);
    expect(g.rows.flatMap((r) => r.cells).filter((c) => c?.mark === 'ok')).toHaveLength(5);
  });
});

it('lateness and trouble add up by time', () => {
  const list = ledger([...Array.from({ length: 100 }, (_, i) => ok(T0 + i * HOUR)), { dueTime: iso(T0 + 101 * HOUR), outcome: 'failed', attempts: 5, startTime: iso(T0 + 101 * HOUR), lateness: '00:00:02' }], []);
  const rows = latenessRows(list, 24);
  expect(rows.length).toBeLessThanOrEqual(25);
  expect(rows.at(-1)?.max).toBe(2000);
  expect(troubleRows(list, 'UTC').reduce((n, r) => n + r.fail, 0)).toBe(1);
});

it('the strip takes in what happens and keeps the last 30', () => {
  let recent: Recent[] = [];
  for (let i = 0; i < 40; i++) recent = withChange(recent, { id: 'x', dueTime: iso(T0 + i * MINUTE), outcome: 'running', latenessMs: 0, attempt: 1, reason: null, nextExecutionTime: null });
  recent = withChange(recent, { id: 'x', dueTime: iso(T0 + 39 * MINUTE), outcome: 'succeeded', latenessMs: 1, attempt: 1, reason: null, nextExecutionTime: null });
  expect(recent).toHaveLength(30);
  expect(recent.at(-1)?.outcome).toBe('succeeded');
});

it('jobs that fail at one target with the same words are one row', () => {
  const job = (id: string, target: string): JobRow => ({ id, name: id, target, recent: [{ dueTime: iso(T0), outcome: 'failed', reason: null, latenessMs: 0, attempts: 5, message: 'refused' }] }) as unknown as JobRow;
  const rows = attention([job('a', 'h:443'), job('b', 'h:443'), job('c', 'h:443'), job('d', 'i:443')], 8);
  expect(rows.map((r) => r.more)).toEqual([2, 0]);
});

describe('the timetable', () => {
  it('has a row for each hour in the zone, and an hour that exists twice once', () => {
    const from = Date.parse('2026-10-25T00:00:00Z');
    const a = { from: iso(from), to: iso(from + 3 * HOUR), step: 'minute' as const, buckets: [{ start: iso(from), count: 2 }, { start: iso(from + HOUR), count: 3 }], estimate: false, covered: { jobs: 1, of: 1 }, busiest: [] };
    const g = timetable(a, 'Europe/Zurich');
    expect(g.rows.map((r) => r.label)).toEqual(['02', '03']);
    expect(g.rows[0]?.cells[0]?.count).toBe(5);
  });
});

it('of a message the headline is shown, without headers and body of the answer', () => {
  expect(headline("Http Action - Response from host 'h': 'ServiceUnavailable' Response Headers: Date: x Body: y")).toBe("Http Action - Response from host 'h': 'ServiceUnavailable'");
  expect(headline('x'.repeat(300))).toHaveLength(201);
});
