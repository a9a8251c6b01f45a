// A stand-in for the server while working on the page (`npm run dev`); no part of the bundle.
import { DAY, HOUR, MIN, byId, cid, collections, dues, hash, jobs, next, outcome, row } from './data.mjs';

const iso = (t) => new Date(t).toISOString();
const bulks = new Map();
const runs = new Map();
let empty = process.env.EMPTY === '1';
const role = process.env.ROLE ?? 'owner';

const inScope = (j, scope) => !scope || scope === '/' || j.id.toLowerCase().startsWith(decodeURIComponent(scope).toLowerCase() + '/');

function filter(q, now) {
  if (empty) return [];
  const words = (q.get('q') ?? '').toLowerCase();
  const due = q.get('dueBefore') ? Date.parse(q.get('dueBefore')) : Infinity;
  return jobs.filter((j) => inScope(j, q.get('scope')) && (!q.get('state') || j.state === q.get('state')) && (!q.get('kind') || j.kind === q.get('kind')) && (!q.get('target') || q.get('target') === `${j.host}:443`) && (!q.get('failing') || j.failing) && (!words || j.name.includes(words) || j.host.includes(words)) && (due === Infinity || (next(j, now) ?? Infinity) < due));
}

function list(q) {
  const now = Date.now();
  const top = Number(q.get('$top') ?? 200);
  const found = filter(q, now);
  if (q.get('sort') === 'name') found.sort((a, b) => (a.name < b.name ? -1 : 1));
  else found.sort((a, b) => (next(a, now) ?? 9e15) - (next(b, now) ?? 9e15) || (a.name < b.name ? -1 : 1));
  const at = Number(q.get('after') ?? 0);
  const page = found.slice(at, at + top);
  return { value: page.map((j) => row(j, now, q.get('expand') === 'recent')), after: at + top < found.length ? String(at + top) : null, ...(q.get('count') && { count: { number: Math.min(found.length, 10_000), capped: found.length > 10_000 } }) };
}

function stats(q) {
  const now = Date.now();
  const step = 15 * MIN;
  const share = q.get('scope') && q.get('scope') !== '/' ? 88 : 1;
  const buckets = [];
  if (!empty) for (let t = Math.floor((now - DAY) / step) * step; t < now; t += step) {
    const x = hash(t / step);
    const h = new Date(t).getUTCHours();
    const n = Math.round((11_000 * (0.7 + 0.4 * Math.sin(h / 4)) * (t % HOUR ? 0.95 : 1.4)) / share);
    const trouble = h === 10 ? 5 : x < 0.15 ? 1 : 0;
    buckets.push({ start: iso(t), succeeded: n, retried: Math.round(n / 10_000), failed: trouble, failedAttempts: trouble * 3, late: h === 0 || h === 10 ? 3 : 0, errorActions: 0, skippedOverlap: h === 3 ? 4 : 0, skippedMissed: 0, skippedOther: 0, lateness: { p50: 0.19 + x * 0.05, p90: 0.7 + x * 0.3, p99: 3.4 + x * (h === 10 ? 12 : 2), max: h === 0 || h === 10 ? 1400 + x * 900 : 12 + x * 30 } });
  }
  const total = { lateness: buckets.length ? { p50: 0.2, p90: 0.7, p99: 4.1, max: 2210 } : null };
  for (const k of ['succeeded', 'retried', 'failed', 'failedAttempts', 'late', 'errorActions', 'skippedOverlap', 'skippedMissed', 'skippedOther']) total[k] = buckets.reduce((s, b) => s + b[k], 0);
  return { from: iso(now - DAY), to: iso(now), step: '15m', threshold: 1000, buckets, total };
}

function agenda(q) {
  const now = Date.now();
  const hour = q.get('step') === 'hour';
  const step = hour ? HOUR : MIN;
  const share = q.get('scope') && q.get('scope') !== '/' ? 88 : 1;
  const from = Math.floor(now / step) * step;
  const buckets = [];
  if (!empty) for (let i = 0; i < (hour ? 720 : 1440); i++) {
    const t = from + i * step;
    const d = new Date(t);
    const m = d.getUTCMinutes();
    const h = d.getUTCHours();
    let n = 260 + hash(t / step) * 60;
    if (m === 0) n = 930;
    else if (m % 15 === 0) n = 520;
    else if (m % 5 === 0) n = 370;
    if (h === 23 && m === 0) n = 4212;
    if (h === 5 && m === 0) n = 2380;
    if (hour) n = n * 55 * ([0, 6].includes(d.getUTCDay()) ? 0.6 : 1);
    n = Math.round((n * (0.7 + 0.3 * Math.sin(h / 4))) / share);
    if (n > 0) buckets.push({ start: iso(t), count: n });
  }
  const busiest = [...buckets].sort((a, b) => b.count - a.count).slice(0, 5).map((b) => ({ ...b, collections: collections.slice(0, 6).map((c, i) => ({ id: cid(c), count: Math.round(b.count * [0.31, 0.22, 0.17, 0.12, 0.07, 0.04][i]) })) }));
  return { from: iso(from), to: iso(from + (hour ? 30 * DAY : DAY)), step: hour ? 'hour' : 'minute', buckets, estimate: false, covered: { jobs: jobs.length, of: jobs.length }, busiest };
}

function offset(t, zone) {
  const p = Object.fromEntries(new Intl.DateTimeFormat('en-US', { timeZone: zone, hourCycle: 'h23', year: 'numeric', month: 'numeric', day: 'numeric', hour: 'numeric', minute: 'numeric' }).formatToParts(t).map((x) => [x.type, Number(x.value)]));
  return Date.UTC(p.year, p.month - 1, p.day, p.hour, p.minute) - Math.floor(t / MIN) * MIN;
}

const WD = ['sunday', 'monday', 'tuesday', 'wednesday', 'thursday', 'friday', 'saturday'];
function times(p, now, count, until = now + 400 * DAY) {
  const r = p.recurrence;
  if (!r) return [p.startTime ? Date.parse(p.startTime) : now];
  const out = [];
  const F = (r.frequency ?? '').toLowerCase();
  const s = r.schedule ?? {};
  const zone = r.timeZone ?? 'UTC';
  if (F === 'minute' || (F === 'hour' && !s.minutes)) {
    const step = (r.interval ?? 1) * (F === 'minute' ? MIN : HOUR);
    for (let t = Math.ceil(now / step) * step; out.length < count && t < until; t += step) out.push(t);
    return out;
  }
  for (let d = Math.floor(now / DAY) * DAY - DAY; out.length < count && d < until; d += DAY) {
    const date = new Date(d);
    if (F === 'week' && s.weekDays && !s.weekDays.map((x) => x.toLowerCase()).includes(WD[date.getUTCDay()])) continue;
    if (F === 'month' && s.monthDays && !s.monthDays.includes(date.getUTCDate())) continue;
    if (F === 'month' && !s.monthDays && date.getUTCDate() !== 1) continue;
    const hours = s.hours ?? (F === 'hour' ? Array.from({ length: 24 }, (_, i) => i) : [9]);
    for (const h of [...hours].sort((a, b) => a - b)) for (const m of [...(s.minutes ?? [0])].sort((a, b) => a - b)) {
      const wall = d + h * HOUR + m * MIN;
      const t = wall - offset(wall, zone);
      if (t > now && t < until && out.length < count) out.push(t);
    }
  }
  return out;
}

function problems(p) {
  const out = [];
  const a = p.action ?? {};
  if (/^https?$/i.test(a.type ?? '') && !/^https?:\/\/[^/]+/.test(a.request?.uri ?? '')) out.push({ path: 'action.request.uri', text: 'must begin with http:// or https:// and name a host' });
  if (/queue$/i.test(a.type ?? '') && a.queueMessage && !a.queueMessage.queueName) out.push({ path: 'action.queueMessage.queueName', text: 'is missing' });
  if (p.recurrence && !(p.recurrence.interval > 0)) out.push({ path: 'recurrence.interval', text: 'must be from 1 to 1000' });
  if ((p.recurrence?.schedule?.hours ?? []).some((h) => h > 24)) out.push({ path: 'recurrence.schedule.hours[0]', text: 'must be from 0 to 24' });
  return out;
}

function words(p) {
  const r = p.recurrence;
  if (!r) return 'Once';
  const s = r.schedule ?? {};
  return `Every ${r.interval > 1 ? `${r.interval} ${r.frequency}s` : r.frequency}${s.weekDays ? ` on ${s.weekDays.join(', ')}` : ''}${s.hours ? `, at hours ${s.hours.join(', ')}` : ''}${s.minutes ? `, minutes ${s.minutes.join(', ')}` : ''}${r.timeZone ? ` ${r.timeZone}` : ''}`;
}

const definitions = new Map();
function definition(j) {
  if (definitions.has(j.id)) return definitions.get(j.id);
  const minutes = j.period / MIN;
  const p = {
    action: { type: 'Https', request: { method: 'POST', uri: `https://${j.host}/api/run`, headers: { 'content-type': 'application/json' }, body: '{"since": "last"}', authentication: { type: 'Basic', username: 'scheduler' } }, retryPolicy: { retryType: 'fixed', retryInterval: '00:00:30', retryCount: 4 }, errorAction: { type: 'ServiceBusQueue', serviceBusQueueMessage: { namespace: 'ops', queueName: 'alerts', transportType: 'amqp', authentication: { type: 'sharedAccessKey', sasKeyName: 'alerts-send' }, message: `${j.name} failed` } } },
    recurrence: minutes < 60 ? { frequency: 'minute', interval: minutes, timeZone: j.zone ?? undefined } : minutes === 60 ? { frequency: 'hour', interval: 1, timeZone: j.zone ?? undefined, schedule: { minutes: [j.phase / MIN] } } : { frequency: 'day', interval: 1, timeZone: 'UTC', schedule: { hours: [Math.floor((j.phase % DAY) / HOUR)], minutes: [Math.floor((j.phase % HOUR) / MIN)] } },
    state: j.state.toLowerCase(),
  };
  definitions.set(j.id, p);
  return p;
}

function job(j) {
  const now = Date.now();
  const n = next(j, now);
  return { id: j.id, name: `${j.c.collection}/${j.name}`, type: 'Microsoft.Scheduler/jobCollections/jobs', properties: { ...definition(j), state: j.state.toLowerCase(), status: { lastExecutionTime: iso(now - j.period), ...(n && { nextExecutionTime: iso(n) }), executionCount: 749, failureCount: 31, faultedCount: j.failing ? 4 : 0 } } };
}

const span = (ms) => `00:00:${String(Math.floor(ms / 1000)).padStart(2, '0')}.${String(Math.round((ms % 1000) * 10_000)).padStart(7, '0')}`;
function occurrence(j, d, now) {
  const o = outcome(j, d, now);
  return { dueTime: iso(d), outcome: o.outcome, attempts: o.attempts, ...(o.reason && { reason: o.reason }), ...(o.latenessMs !== null && { startTime: iso(d + o.latenessMs), lateness: span(o.latenessMs) }) };
}
function history(j, q) {
  const now = Date.now();
  const out = [];
  const skip = Number(q.get('$skip') ?? 0);
  for (const d of [...(runs.get(j.id) ?? []), ...dues(j, now - 200 * j.period, now)].sort((a, b) => b - a)) {
    const o = runs.get(j.id)?.includes(d) ? { outcome: 'succeeded', attempts: 1, latenessMs: 0.2 } : outcome(j, d, now);
    let t = d + (o.latenessMs ?? 0);
    const list = [];
    for (let i = 0; i < o.attempts; i++) {
      const ok = o.outcome === 'succeeded' && i === o.attempts - 1;
      const took = ok ? 380 + hash(d / MIN) * 300 : 1210;
      list.push({ id: `${j.id}/history/${d}-${i}`, name: `${d}-${i}`, properties: { startTime: iso(t), endTime: iso(t + took), expectedExecutionTime: iso(d), status: ok ? 'completed' : 'failed', message: ok ? `Http Action - Response from host '${j.host}': 'OK' Response Headers: x-request-id: 7f31c2` : `Http Action - Response from host '${j.host}': 'ServiceUnavailable' Response Headers: Retry-After: 30`, retryCount: i, repeatCount: 1, actionName: 'MainAction' } });
      t += took + 30_000;
    }
    out.push(...list.reverse());
  }
  return { value: out.slice(skip, skip + 100), nextLink: null };
}

const NODES = () => process.env.SINGLE ? [{ name: 'here', lease: 1, rank: 0, version: '0.1.0', startedAt: iso(Date.now() - 3 * DAY), beatAgeMs: 300, held: 812, inFlight: 41, clockOffsetMs: 0, fires: true, reason: null, drained: false, url: null, self: true }] : [
  { name: 'zrh-1', lease: 1, rank: 0, version: '0.1.0', startedAt: iso(Date.now() - 12 * DAY), beatAgeMs: 400, held: 212, inFlight: 212, clockOffsetMs: -3, fires: true, reason: null, drained: false, url: 'https://zrh-1:8380', self: true },
  { name: 'zrh-2', lease: 2, rank: 1, version: '0.1.0', startedAt: iso(Date.now() - 12 * DAY), beatAgeMs: 700, held: 198, inFlight: 198, clockOffsetMs: 8, fires: true, reason: null, drained: false, url: null, self: false },
  { name: 'gva-1', lease: 3, rank: 2, version: '0.1.1', startedAt: iso(Date.now() - 34 * MIN), beatAgeMs: 200, held: 187, inFlight: 187, clockOffsetMs: 22, fires: true, reason: null, drained: false, url: null, self: false },
  { name: 'gva-2', lease: 4, rank: null, version: '0.1.0', startedAt: iso(Date.now() - 12 * DAY), beatAgeMs: 900, held: 0, inFlight: 0, clockOffsetMs: 412, fires: false, reason: "its clock is 412 ms ahead of the database's, which is more than 250 ms", drained: false, url: null, self: false },
];
const DOCTOR = () => ({ status: 'healthy', version: '0.1.0', schemaVersion: 9, time: iso(Date.now()), scan: { progress: 0.62, passCount: 311, lastPassEndedAt: iso(Date.now() - 60_000), lastPassSeconds: 4.2, jobCount: 84_310, trouble: null }, jobs: { count: jobs.length, faultedCount: 12, faulted: [] }, connections: { open: 36, max: 10_000, refusedCount: 0 }, oldestDue: null, problems: [], kinds: [['overdue', 'due, and nobody takes it'], ['waiting', 'due, and waits for a slot'], ['stuck', 'taken, and came to no end'], ['unscheduled', 'enabled without a next time'], ['counters', 'counters unlike the history']].map(([kind, meaning], i) => ({ kind, open: 0, total: i === 1 ? 3 : 0, meaning, advice: 'nothing to do' })), findings: [] });

const streams = new Set();
function publish(event, data) {
  for (const s of streams) s.write(`event: ${event}\ndata: ${JSON.stringify(data)}\n\n`);
}
setInterval(() => publish('heartbeat', { time: iso(Date.now()) }), 15_000).unref();
setInterval(() => {
  if (!streams.size || empty) return;
  const now = Date.now();
  const changes = jobs.filter((j) => j.period === MIN && j.state === 'Enabled' && now % MIN < 1000 && j.i < 4000).slice(0, 100).map((j) => { const d = Math.floor(now / MIN) * MIN; const o = outcome(j, d, now); return { id: j.id, dueTime: iso(d), outcome: o.outcome, latenessMs: o.latenessMs, attempt: o.attempts, reason: o.reason, nextExecutionTime: iso(d + MIN) }; });
  if (changes.length) publish('occurrence', { changes });
}, 1000).unref();

class Refusal extends Error {
  constructor(status, code, message) {
    super(message);
    this.status = status;
    this.code = code;
  }
}

function answer(method, path, q, body) {
  const m = /^(\/subscriptions\/[^/]+\/resourceGroups\/[^/]+\/providers\/Microsoft\.Scheduler\/jobCollections\/([^/]+))(\/.*)?$/i.exec(path);
  if (m) {
    const c = collections.find((x) => cid(x).toLowerCase() === m[1].toLowerCase());
    if (method === 'PUT' && !m[3]) {
      const [, , s, , g] = m[1].split('/');
      if (!c) collections.push({ subscription: s, group: g, collection: m[2], state: 'Enabled' });
      empty = false;
      return { id: m[1], name: m[2], location: 'West US', properties: { sku: { name: 'Standard' }, state: 'Enabled' } };
    }
    if (!c) throw new Refusal(404, 'ResourceNotFound', `There is no job collection '${m[2]}'.`);
    const rest = m[3] ?? '';
    if (rest === '' && method === 'GET') return { id: cid(c), name: c.collection, type: 'Microsoft.Scheduler/jobCollections', location: 'Switzerland North', tags: { team: 'depot' }, properties: { sku: { name: 'P20Premium' }, state: c.state, quota: { maxJobCount: 1000, maxRecurrence: { frequency: 'minute', interval: 1 } } } };
    if (rest === '' || rest === '/enable' || rest === '/disable') {
      if (rest) c.state = rest === '/enable' ? 'Enabled' : 'Disabled';
      return null;
    }
    if (rest === '/preview') {
      const p = body.properties ?? {};
      const bad = problems(p);
      const t = bad.some((b) => b.path.startsWith('recurrence')) ? [] : times(p, Date.now(), body.count ?? 10);
      return { description: words(p), runsAtOnce: !p.startTime && !body.name, next: t.map((x) => ({ dueTime: iso(x), local: iso(x), note: null })), previous: [], ends: p.recurrence?.count ? `then it has run ${p.recurrence.count} times and ends` : null, warnings: !p.startTime && !body.name ? [{ code: 'runsAtOnce', text: 'It runs at once when it is saved, because it has no start time.', path: 'startTime' }] : [], problems: bad, valid: bad.length === 0 };
    }
    const k = /^\/jobs\/([^/]+)(\/.*)?$/.exec(rest);
    if (k) {
      const id = `${cid(c)}/jobs/${decodeURIComponent(k[1])}`;
      let j = byId.get(id.toLowerCase());
      const sub = k[2] ?? '';
      if (method === 'PUT' && !sub) {
        if (!j) {
          j = { ...jobs[0], i: jobs.length, c, name: decodeURIComponent(k[1]), id, state: 'Enabled', failing: false };
          jobs.push(j);
          byId.set(id.toLowerCase(), j);
        }
        definitions.set(id, body.properties);
        publish('job', { changes: [{ id, change: 'written' }] });
        return job(j);
      }
      if (!j) throw new Refusal(404, 'NotFound', `There is no job '${k[1]}' in the collection '${c.collection}'.`);
      if (!sub) {
        if (method === 'PATCH') {
          if (body.properties.state) j.state = body.properties.state[0].toUpperCase() + body.properties.state.slice(1).toLowerCase();
          definitions.set(j.id, { ...definition(j), ...body.properties });
          publish('job', { changes: [{ id: j.id, change: 'written' }] });
        }
        if (method === 'DELETE') {
          jobs.splice(jobs.indexOf(j), 1);
          byId.delete(id.toLowerCase());
          return null;
        }
        return job(j);
      }
      if (sub === '/run') {
        const now = Date.now();
        runs.set(j.id, [...(runs.get(j.id) ?? []), now]);
        publish('occurrence', { changes: [{ id: j.id, dueTime: iso(now), outcome: 'running', latenessMs: 0.2, attempt: 1, reason: null, nextExecutionTime: null }] });
        setTimeout(() => publish('occurrence', { changes: [{ id: j.id, dueTime: iso(now), outcome: 'succeeded', latenessMs: 0.2, attempt: 1, reason: null, nextExecutionTime: null }] }), 900);
        return null;
      }
      if (sub === '/history') return history(j, q);
      if (sub === '/occurrences') {
        const now = Date.now();
        return { value: dues(j, Date.parse(q.get('from')), Math.min(now, Date.parse(q.get('to')))).map((d) => occurrence(j, d, now)), nextLink: null };
      }
      if (sub.endsWith('/rerun')) return { dueTime: iso(Date.now()), of: '', cause: 'run' };
      if (sub === '/diff') {
        const now = Date.now();
        const a = new Set(times(definition(j), now, 5000, now + 30 * DAY));
        const b = new Set(times(body.properties, now, 5000, now + 30 * DAY));
        const side = (v) => ({ count: v.length, capped: false, value: v.slice(0, 1000).map(iso) });
        return { added: side([...b].filter((t) => !a.has(t))), removed: side([...a].filter((t) => !b.has(t))), from: iso(now), to: iso(now + 30 * DAY), firesOnSave: false, problems: [] };
      }
    }
  }
  switch (path.replace(/\/[0-9a-f-]{36}/, '/ID').replace(/^\/subscriptions\/[^/]+/, '/subscriptions/S')) {
    case '/healthz': return { status: 'ok' };
    case '/me': return { caller: { id: 'x', name: 'M. Keller', kind: 'token' }, grants: [{ role, scope: '/' }], session: null, features: ['agenda', 'bulk', 'nodes', 'preview', 'rerun', 'search', 'stats', ...(process.env.NO_EVENTS ? [] : ['events'])], version: '0.1.0', clock: { time: iso(Date.now()), realTime: iso(Date.now()), speed: 1 } };
    case '/session/ways': return { required: true, token: true, openId: [{ issuer: 'https://login.example.com', label: 'Entra ID', url: '/session/openid?issuer=x' }] };
    case '/session': throw new Refusal(401, 'InvalidAuthenticationToken', 'The token is not known to this server.');
    case '/jobs': return list(q);
    case '/stats': return stats(q);
    case '/agenda': return agenda(q);
    case '/agenda/jobs': return { value: jobs.filter((j) => j.state === 'Enabled').slice(0, 200).map((j) => ({ ...row(j, Date.now()), dueTime: q.get('at') })), after: 'x' };
    case '/nodes': return { value: NODES(), store: process.env.SINGLE ? { kind: 'sqlite', detail: 'SQLite 3.50' } : { kind: 'postgres', detail: 'PostgreSQL 15.18' }, takeoverSeconds: 4, clockAllowanceMs: 250 };
    case '/doctor': return DOCTOR();
    case '/subscriptions': return { value: ['prod', 'test'].map((s) => ({ subscriptionId: s, displayName: s })), nextLink: null };
    case '/subscriptions/S/locations': return { value: ['West US', 'Switzerland North'].map((d) => ({ name: d, displayName: d })), nextLink: null };
    case '/subscriptions/S/providers/Microsoft.Scheduler/jobCollections': {
      const s = path.split('/')[2];
      return { value: empty ? [] : collections.filter((c) => c.subscription === s).map((c) => ({ id: cid(c), name: c.collection, location: 'West US', properties: { sku: { name: 'P20Premium' }, state: c.state } })), nextLink: null };
    }
    case '/bulk': {
      const id = crypto.randomUUID();
      const chosen = body.jobs ? body.jobs.map((x) => byId.get(x.toLowerCase())).filter(Boolean) : filter(new URLSearchParams(body.filter), Date.now());
      const b = { id, operation: body.operation, state: 'running', total: chosen.length, done: 0, changed: 0, refused: 0, createdAt: iso(Date.now()), endedAt: null, by: 'M. Keller', refusals: [], refusalsCapped: false };
      bulks.set(id, b);
      const timer = setInterval(() => {
        for (let i = 0; i < Math.max(1, chosen.length / 12) && b.done < b.total && b.state === 'running'; i++) {
          const j = chosen[b.done++];
          if (['Completed', 'Faulted'].includes(j.state)) {
            b.refused++;
            b.refusals.push({ id: j.id, code: 'Conflict', message: `Job '${j.name}' is ${j.state.toLowerCase()}, which is final.` });
          } else {
            b.changed++;
            if (b.operation === 'enable') j.state = 'Enabled';
            if (b.operation === 'disable') j.state = 'Disabled';
          }
        }
        if (b.done >= b.total) b.state = 'completed';
        if (b.state !== 'running') {
          b.endedAt = iso(Date.now());
          clearInterval(timer);
        }
      }, 200);
      return b;
    }
    case '/bulk/ID': return bulks.get(path.split('/')[2]) ?? (() => { throw new Refusal(404, 'NotFound', 'There is no such operation.'); })();
    case '/bulk/ID/stop': { const b = bulks.get(path.split('/')[2]); b.state = 'stopped'; return b; }
    case '/tokens': return method === 'POST' ? { id: crypto.randomUUID(), ...body, createdAt: iso(Date.now()), lastUsedAt: null, token: 'pct_example' } : { value: [{ id: '11111111-1111-4111-8111-111111111111', name: 'ci', grants: [{ role: 'contributor', scope: '/subscriptions/prod' }], createdAt: iso(Date.now() - 90 * DAY), expiresAt: null, lastUsedAt: iso(Date.now() - HOUR) }], nextLink: null };
    case '/audit': return { value: Array.from({ length: 40 }, (_, i) => ({ number: 1000 - i, time: iso(Date.now() - i * 7 * MIN), caller: { id: 'x', name: i % 3 ? 'ci' : 'M. Keller', kind: 'token' }, source: '192.0.2.7', action: 'Microsoft.Scheduler/jobcollections/jobs/write', scope: `${cid(collections[0])}/jobs/${jobs[i].name}`, outcome: i % 11 ? 'done' : 'denied', requestId: crypto.randomUUID(), count: 1, before: null, after: null })), nextLink: null };
    default: throw new Refusal(404, 'NotFound', `There is no ${path}.`);
  }
}

export function mock() {
  return {
    name: 'mock-api',
    configureServer: (server) => serve(server.middlewares),
    configurePreviewServer: (server) => serve(server.middlewares),
  };
}

function serve(middlewares) {
  middlewares.use((req, res, next_) => {
    // The policy of the real server, so that what it refuses is seen here.
    if (process.env.NODE_ENV === 'production') res.setHeader('content-security-policy', "default-src 'self'; frame-ancestors 'none'; base-uri 'self'; form-action 'self'");
    const url = new URL(req.url, 'http://x');
    if (!url.searchParams.has('api-version') && url.pathname !== '/healthz') return next_();
    if (url.pathname === '/events') {
      if (process.env.NO_EVENTS) { res.statusCode = 404; return res.end(); }
      res.writeHead(200, { 'content-type': 'text/event-stream', 'cache-control': 'no-store' });
      res.write(`event: hello\ndata: ${JSON.stringify({ time: iso(Date.now()), version: '0.1.0' })}\n\n`);
      streams.add(res);
      req.on('close', () => streams.delete(res));
      return;
    }
    let text = '';
    req.on('data', (d) => (text += d));
    req.on('end', () => {
      res.setHeader('content-type', 'application/json');
      res.setHeader('x-ms-request-id', crypto.randomUUID());
      try {
        res.end(JSON.stringify(answer(req.method, url.pathname, url.searchParams, text ? JSON.parse(text) : null) ?? ''));
      } catch (e) {
        res.statusCode = e.status ?? 500;
        res.end(JSON.stringify({ error: { code: e.code ?? 'InternalServerError', message: e.message } }));
      }
    });
  });
}
