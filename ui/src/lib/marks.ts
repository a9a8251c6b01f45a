// What became of a due time, as one of the marks of the page. Shape first, colour second: the marks are drawn
// in components/Glyph.svelte, Strip.svelte and Matrix.svelte.
import { timeSpan } from './time';
import type { Occurrence, OccurrenceChange, Outcome, Recent } from './types';

export type Mark = 'ok' | 'late' | 'retried' | 'fail' | 'retrying' | 'overlap' | 'missed' | 'run' | 'wait';

/** Later than this is late, unless the server says otherwise (`threshold` of /stats). */
export const LATE_MS = 1000;

export function mark(outcome: Outcome, reason: string | null | undefined, latenessMs: number | null | undefined, attempts: number, lateMs = LATE_MS): Mark {
  switch (outcome) {
    case 'pending':
      return 'wait';
    case 'running':
      return 'run';
    case 'retrying':
      return 'retrying';
    case 'failed':
      return 'fail';
    case 'skipped':
      return reason === 'overlap' ? 'overlap' : 'missed';
    case 'succeeded':
      if (attempts > 1) return 'retried';
      return (latenessMs ?? 0) > lateMs ? 'late' : 'ok';
  }
}

export function markOfRecent(r: Recent): Mark {
  return mark(r.outcome, r.reason, r.latenessMs, r.attempts);
}

export function latenessOf(o: Occurrence): number | null {
  return o.lateness === undefined ? null : timeSpan(o.lateness);
}

export function markOfOccurrence(o: Occurrence, lateMs = LATE_MS): Mark {
  return mark(o.outcome, o.reason, latenessOf(o), o.attempts, lateMs);
}

/** The last due times of a job after something happened to one of them; at most 30, oldest first. */
export function withChange(recent: Recent[], c: OccurrenceChange): Recent[] {
  const entry: Recent = { dueTime: c.dueTime, outcome: c.outcome, reason: c.reason, latenessMs: c.latenessMs, attempts: c.attempt };
  const at = recent.findIndex((r) => r.dueTime === c.dueTime);
  if (at >= 0) return recent.map((r, i) => (i === at ? { ...r, ...entry } : r));
  return [...recent, entry].sort((a, b) => Date.parse(a.dueTime) - Date.parse(b.dueTime)).slice(-30);
}

/** Which of several outcomes a cell that holds many shows: the worst. */
const WORST: Mark[] = ['fail', 'retrying', 'missed', 'overlap', 'late', 'retried', 'run', 'ok', 'wait'];

export function worst(marks: Mark[]): Mark {
  return WORST.find((m) => marks.includes(m)) ?? 'ok';
}
