// The numbers of the agenda as rows and columns: 24 hours by 60 minutes, or 30 days by 24 hours. Pure.
import { DAY, HOUR, MINUTE, pad, parts } from './time';
import type { Agenda } from './types';

export interface TimetableGrid {
  columns: string[];
  rows: { label: string; strong: boolean; cells: ({ at: number; count: number } | null)[] }[];
}

export function timetable(a: Agenda, zone: string): TimetableGrid {
  const counts = new Map(a.buckets.map((b) => [Date.parse(b.start), b.count]));
  const from = Date.parse(a.from);
  const to = Date.parse(a.to);
  const hourly = a.step === 'hour';
  const rows: TimetableGrid['rows'] = [];
  const step = hourly ? HOUR : MINUTE;
  const width = hourly ? 24 : 60;
  let last = '';
  // Whole rows only: the first begins with its hour or day, so that columns are minutes or hours.
  for (let at = Math.floor(from / step) * step; at < Math.min(to, from + (hourly ? 31 * DAY : DAY + HOUR)); at += step) {
    const p = parts(at, zone);
    const key = hourly ? `${p.year}${p.month}${p.day}` : `${p.day}${p.hour}`;
    let row = rows.at(-1);
    if (key !== last || !row) {
      last = key;
      const midnight = p.hour === '00';
      row = {
        label: hourly ? `${p.weekday} ${p.day}${p.day === '1' ? ` ${p.month}` : ''}` : p.hour,
        strong: hourly ? p.weekday === 'Mon' || p.day === '1' : midnight || rows.length === 0 || Number(p.hour) % 6 === 0,
        cells: Array.from({ length: width }, () => null),
      };
      rows.push(row);
    }
    const column = hourly ? Number(p.hour) : Number(p.minute);
    const before = row.cells[column];
    // An hour that exists twice is one column: its counts are added up.
    row.cells[column] = { at: before?.at ?? at, count: (before?.count ?? 0) + (counts.get(at) ?? 0) };
  }
  return { columns: Array.from({ length: width }, (_, i) => (hourly ? pad(i) : `:${pad(i)}`)), rows };
}
