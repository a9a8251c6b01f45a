// Times as people read them. Everything here is a pure function of instant, now and zone; no rule of a
// schedule is computed, only shown.

export const SECOND = 1000;
export const MINUTE = 60 * SECOND;
export const HOUR = 60 * MINUTE;
export const DAY = 24 * HOUR;

export interface Parts {
  year: string;
  month: string;
  day: string;
  weekday: string;
  hour: string;
  minute: string;
  second: string;
}

const formats = new Map<string, Intl.DateTimeFormat>();

/** What a wall clock in the zone shows at the instant. */
export function parts(t: number, zone: string): Parts {
  let f = formats.get(zone);
  if (!f) {
    f = new Intl.DateTimeFormat('en-US', { timeZone: zone, hourCycle: 'h23', year: 'numeric', month: 'short', day: 'numeric', weekday: 'short', hour: '2-digit', minute: '2-digit', second: '2-digit' });
    formats.set(zone, f);
  }
  const out: Record<string, string> = {};
  for (const p of f.formatToParts(t)) out[p.type] = p.value;
  return out as unknown as Parts;
}

const numeric = new Map<string, Intl.DateTimeFormat>();

/** Minutes east of UTC. */
export function offset(t: number, zone: string): number {
  let f = numeric.get(zone);
  if (!f) {
    f = new Intl.DateTimeFormat('en-US', { timeZone: zone, hourCycle: 'h23', year: 'numeric', month: 'numeric', day: 'numeric', hour: 'numeric', minute: 'numeric', second: 'numeric' });
    numeric.set(zone, f);
  }
  const n: Record<string, number> = {};
  for (const p of f.formatToParts(t)) n[p.type] = Number(p.value);
  const wall = Date.UTC(n['year'] ?? 0, (n['month'] ?? 1) - 1, n['day'] ?? 1, n['hour'] ?? 0, n['minute'] ?? 0, n['second'] ?? 0);
  return Math.round((wall - Math.floor(t / SECOND) * SECOND) / MINUTE);
}

/** `+01:00` */
export function offsetText(t: number, zone: string): string {
  const o = offset(t, zone);
  const a = Math.abs(o);
  return `${o < 0 ? '-' : '+'}${pad(Math.floor(a / 60))}:${pad(a % 60)}`;
}

export function pad(n: number): string {
  return String(n).padStart(2, '0');
}

/** ISO 8601 with the zone's offset. */
export function isoIn(t: number, zone: string): string {
  const o = offset(t, zone);
  return new Date(t + o * MINUTE).toISOString().replace(/\.\d+Z$/, '') + offsetText(t, zone);
}

export function isZone(zone: string): boolean {
  try {
    parts(0, zone);
    return true;
  } catch {
    return false;
  }
}

export type TimeFormat = 'auto' | 'hm' | 'hms' | 'day' | 'dhm' | 'full';

/** Whether this wall-clock hour exists twice on this day, so that only the offset tells the instants apart. */
function ambiguous(t: number, zone: string): boolean {
  const o = offset(t, zone);
  for (const d of [-1, 1]) {
    const other = offset(t + d * HOUR, zone);
    if (other !== o && offset(t + (o - other) * MINUTE, zone) === other) return true;
  }
  return false;
}

/** Today `14:45`, this week `Thu 06:00`, later `27 Nov 22:00`; seconds only if they are not zero. */
export function show(t: number, format: TimeFormat, zone: string, now: number): string {
  const p = parts(t, zone);
  const hm = `${p.hour}:${p.minute}`;
  const s = p.second === '00' ? '' : `:${p.second}`;
  const twice = format !== 'full' && ambiguous(t, zone) ? ` ${offsetText(t, zone)}` : '';
  const year = p.year === parts(now, zone).year ? '' : ` ${p.year}`;
  switch (format) {
    case 'hm':
      return hm + twice;
    case 'hms':
      return `${hm}:${p.second}${twice}`;
    case 'day':
      return `${p.weekday} ${p.day} ${p.month}${year}`;
    case 'dhm':
      return `${p.weekday} ${p.day} ${p.month}${year}, ${hm}${s}${twice}`;
    case 'full':
      return `${p.weekday} ${p.day} ${p.month} ${p.year}, ${hm}:${p.second} ${zone} (UTC${offsetText(t, zone)})`;
    case 'auto': {
      const n = parts(now, zone);
      if (p.day === n.day && p.month === n.month && p.year === n.year) return hm + s + twice;
      const far = Math.abs(t - now) > 6 * DAY;
      return `${far ? `${p.day} ${p.month}${year}` : p.weekday} ${hm}${s}${twice}`;
    }
  }
}

/** How long: `53 s`, `13 min`, `2 h 5 min`, `1 d 6 h`. */
export function span(ms: number): string {
  const s = Math.round(Math.abs(ms) / SECOND);
  if (s < 100) return `${s} s`;
  const m = Math.round(s / 60);
  if (m < 60) return `${m} min`;
  const h = Math.floor(m / 60);
  if (h < 24) return `${h} h${m % 60 ? ` ${m % 60} min` : ''}`;
  const d = Math.floor(h / 24);
  return `${d} d${h % 24 && d < 60 ? ` ${h % 24} h` : ''}`;
}

export function relative(t: number, now: number): string {
  const d = t - now;
  if (Math.abs(d) < 900) return 'now';
  return d > 0 ? `in ${span(d)}` : `${span(d)} ago`;
}

/** A short duration: `0.3 ms`, `12 ms`, `1.2 s`, `3 min`. */
export function millis(v: number): string {
  if (v < 0.05) return '0 ms';
  if (v < 10) return `${v.toFixed(1)} ms`;
  if (v < 1000) return `${Math.round(v)} ms`;
  if (v < 10_000) return `${(v / 1000).toFixed(1)} s`;
  return span(v);
}

/** Milliseconds of a duration of the API: `[-][d.]hh:mm:ss[.fffffff]`; null if it is none. */
export function timeSpan(s: string): number | null {
  const m = /^(-)?(?:(\d+)\.)?(\d{1,2}):(\d{2})(?::(\d{2})(?:\.(\d{1,7}))?)?$/.exec(s.trim());
  if (!m) return null;
  const [, sign, d, h, min, sec, frac] = m;
  const ms = Number(d ?? 0) * DAY + Number(h) * HOUR + Number(min) * MINUTE + Number(sec ?? 0) * SECOND + (frac ? Number(`0.${frac}`) * SECOND : 0);
  return sign ? -ms : ms;
}

/** A number in groups of three. */
export function int(n: number): string {
  return Math.round(n).toLocaleString('en-US');
}

/** A share in per cent, never rounded up to all: 99.994 %. */
export function percent(part: number, whole: number): string {
  if (part >= whole) return '100 %';
  const p = (part / whole) * 100;
  const digits = p < 99 ? 1 : p < 99.9 ? 2 : 3;
  return `${(Math.floor(p * 10 ** digits) / 10 ** digits).toFixed(digits)} %`;
}
