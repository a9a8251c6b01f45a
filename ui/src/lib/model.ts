// The definition that the editor works on: the JSON itself is the model, form and text are two views of it. Pure.
import type { Action, JobProperties, Kind, Problem, Schedule } from './types';
import { kindOf } from './words';

export const FREQUENCIES = ['minute', 'hour', 'day', 'week', 'month', 'year'] as const;
export const WEEKDAYS = ['monday', 'tuesday', 'wednesday', 'thursday', 'friday', 'saturday', 'sunday'] as const;

export const TYPE_OF: Record<Kind, string> = { http: 'Http', storageQueue: 'StorageQueue', serviceBusQueue: 'ServiceBusQueue', serviceBusTopic: 'ServiceBusTopic' };

/** A new job: one thing to fill in, the rest has a value. */
export function emptyJob(zone: string): JobProperties {
  return {
    action: emptyAction('http'),
    recurrence: { frequency: 'day', interval: 1, ...(zone !== 'UTC' && { timeZone: zone }), schedule: { hours: [9], minutes: [0] } },
    state: 'enabled',
  };
}

export function emptyAction(kind: Kind): Action {
  return setKind({}, kind);
}

/** The action as one of another kind; what was entered for the old one stays in it until it is saved. */
export function setKind(a: Action, kind: Kind): Action {
  const out: Action = { ...a, type: TYPE_OF[kind] };
  if (kind === 'http') out.request ??= { method: 'POST', uri: '' };
  if (kind === 'storageQueue') out.queueMessage ??= { storageAccount: '', queueName: '', message: '' };
  if (kind === 'serviceBusQueue') out.serviceBusQueueMessage ??= { namespace: '', queueName: '', message: '', transportType: 'amqp' };
  if (kind === 'serviceBusTopic') out.serviceBusTopicMessage ??= { namespace: '', topicPath: '', message: '', transportType: 'amqp' };
  return out;
}

/** Which parts of a schedule a frequency allows. */
export function allows(frequency: string | undefined, part: keyof Schedule): boolean {
  const f = (frequency ?? '').toLowerCase();
  if (part === 'weekDays') return f === 'week';
  if (part === 'monthDays' || part === 'monthlyOccurrences') return f === 'month' || f === 'year';
  return true;
}

const MEMBER: Record<Kind, keyof Action> = { http: 'request', storageQueue: 'queueMessage', serviceBusQueue: 'serviceBusQueueMessage', serviceBusTopic: 'serviceBusTopicMessage' };

function cleanAction(a: Action): Action {
  const kind = kindOf(a);
  const out = { ...a } as Record<string, unknown>;
  for (const [k, member] of Object.entries(MEMBER)) if (k !== kind) delete out[member];
  // Http and Https are one to the server; the address decides.
  if (kind === 'http') out['type'] = /^https:/i.test(a.request?.uri ?? '') ? 'Https' : 'Http';
  const auth = a.request?.authentication;
  if (kind === 'http' && a.request) {
    const { authentication: _, ...request } = a.request;
    out['request'] = auth ? { ...request, authentication: auth } : request;
  }
  if (a.errorAction) out['errorAction'] = cleanAction(a.errorAction);
  return tidy(out) as Action;
}

/** Without members that have no value. Texts stay as they are typed, empty ones go. */
function tidy(v: unknown): unknown {
  if (Array.isArray(v)) return v.map(tidy);
  if (typeof v !== 'object' || v === null) return v;
  const out: Record<string, unknown> = {};
  for (const [k, x] of Object.entries(v)) {
    if (x === undefined || x === null || x === '') continue;
    const y = tidy(x);
    if (typeof y === 'object' && y !== null && !Array.isArray(y) && Object.keys(y).length === 0) continue;
    if (Array.isArray(y) && y.length === 0) continue;
    out[k] = y;
  }
  return out;
}

/** What is sent: without status, without what the unit or the kind does not allow. */
export function toSend(p: JobProperties): JobProperties {
  const { status: _, ...rest } = p;
  const out: JobProperties = { ...rest };
  if (p.action) out.action = cleanAction(p.action);
  if (p.recurrence) {
    const schedule: Schedule = {};
    for (const [k, v] of Object.entries(p.recurrence.schedule ?? {})) if (allows(p.recurrence.frequency, k)) schedule[k] = v;
    out.recurrence = { ...p.recurrence, schedule };
  }
  return tidy(out) as JobProperties;
}

/** What has to be sent to make `to` of `from` (RFC 7396): null removes, arrays are replaced as a whole. */
export function mergePatch(from: unknown, to: unknown): unknown {
  if (!isObject(from) || !isObject(to)) return to;
  const out: Record<string, unknown> = {};
  for (const k of Object.keys(from)) if (!(k in to)) out[k] = null;
  for (const [k, v] of Object.entries(to)) {
    if (same(from[k], v)) continue;
    out[k] = k in from ? mergePatch(from[k], v) : v;
  }
  return out;
}

function isObject(v: unknown): v is Record<string, unknown> {
  return typeof v === 'object' && v !== null && !Array.isArray(v);
}

export function same(a: unknown, b: unknown): boolean {
  if (a === b) return true;
  if (Array.isArray(a) && Array.isArray(b)) return a.length === b.length && a.every((x, i) => same(x, b[i]));
  if (!isObject(a) || !isObject(b)) return false;
  const keys = Object.keys(a);
  return keys.length === Object.keys(b).length && keys.every((k) => k in b && same(a[k], b[k]));
}

export type Parsed = { ok: true; value: JobProperties } | { ok: false; line: number; column: number };

/** Reads the JSON view: a resource with properties, or the properties alone. */
export function parseText(text: string): Parsed {
  try {
    const v: unknown = JSON.parse(text);
    if (!isObject(v)) return { ok: false, line: 1, column: 1 };
    return { ok: true, value: (isObject(v['properties']) ? v['properties'] : v) as JobProperties };
  } catch {
    const before = text.slice(0, stumble(text)).split('\n');
    return { ok: false, line: before.length, column: (before.at(-1)?.length ?? 0) + 1 };
  }
}

/** Where text ceases to be JSON. Browsers word it each in their own way, and some don't say it at all. */
export function stumble(text: string): number {
  let i = 0;
  const space = (): void => {
    while (/\s/.test(text[i] ?? '')) i += 1;
  };
  const eat = (pattern: RegExp): boolean => {
    const sticky = new RegExp(pattern, 'y');
    sticky.lastIndex = i;
    const m = sticky.exec(text);
    if (m) i += m[0].length;
    return m !== null;
  };
  const string = (): boolean => eat(/"(?:[^"\\\u0000-\u001f]|\\["\\/bfnrt]|\\u[0-9a-fA-F]{4})*"/);
  const list = (end: string, item: () => boolean): boolean => {
    i += 1;
    space();
    if (text[i] === end) return ((i += 1), true);
    for (;;) {
      space();
      if (!item()) return false;
      space();
      if (text[i] === end) return ((i += 1), true);
      if (text[i] !== ',') return false;
      i += 1;
    }
  };
  const member = (): boolean => {
    if (!string()) return false;
    space();
    if (text[i] !== ':') return false;
    i += 1;
    return value();
  };
  const value = (): boolean => {
    space();
    if (text[i] === '{') return list('}', member);
    if (text[i] === '[') return list(']', value);
    return string() || eat(/-?(?:0|[1-9]\d*)(?:\.\d+)?(?:[eE][+-]?\d+)?|true|false|null/);
  };
  if (value()) space();
  return i;
}

/** The problems that belong to a field: at its path, or inside of it. */
export function problemsAt(problems: Problem[], path: string): Problem[] {
  return problems.filter((p) => within(p.path, path));
}

export function within(path: string, field: string): boolean {
  return path === field || path.startsWith(`${field}.`) || path.startsWith(`${field}[`);
}

/** The problems of a refusal: `properties.path: text; …`, as the server words them. */
export function problemsOf(message: string): Problem[] {
  return message
    .split(/; (?=[a-zA-Z.[\]0-9]+: )/)
    .map((m) => /^(?:properties\.)?([a-zA-Z0-9_.[\]-]+): (.+)$/.exec(m.trim()))
    .flatMap((m) => (m?.[1] && m[2] ? [{ path: m[1], text: m[2] }] : []));
}
