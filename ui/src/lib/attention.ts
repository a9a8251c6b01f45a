// What needs attention, worst first; jobs that fail at the same target with the same words are one row. Pure.
import { markOfRecent, type Mark } from './marks';
import type { JobRow } from './types';
import { headline } from './words';

export interface AttentionRow {
  job: JobRow;
  mark: Mark;
  /** How many due times in a row came to nothing. */
  inRow: number;
  message: string;
  retrying: boolean;
  /** How many other jobs have the same cause. */
  more: number;
}

const TOGETHER = 3;

function row(job: JobRow): AttentionRow {
  const recent = job.recent ?? [];
  let inRow = 0;
  for (const r of recent.toReversed()) {
    if (r.outcome === 'failed' || r.outcome === 'retrying') inRow += 1;
    else if (r.outcome !== 'running') break;
  }
  const last = recent.findLast((r) => r.outcome === 'failed' || r.outcome === 'retrying');
  const retrying = last?.outcome === 'retrying';
  return { job, mark: last ? markOfRecent(last) : 'fail', inRow: Math.max(1, inRow), message: headline(last?.message ?? ''), retrying, more: 0 };
}

export function attention(jobs: JobRow[], max: number): AttentionRow[] {
  const groups = new Map<string, AttentionRow[]>();
  for (const j of jobs) {
    const r = row(j);
    const key = j.target ? `${j.target}\n${r.message}` : j.id;
    groups.set(key, [...(groups.get(key) ?? []), r]);
  }
  const rows: AttentionRow[] = [];
  for (const list of groups.values()) {
    list.sort((a, b) => b.inRow - a.inRow);
    const first = list[0];
    if (first && list.length >= TOGETHER) rows.push({ ...first, more: list.length - 1 });
    else rows.push(...list);
  }
  return rows.sort((a, b) => b.more - a.more || b.inRow - a.inRow || a.job.name.localeCompare(b.job.name)).slice(0, max);
}
