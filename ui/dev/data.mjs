// Generated data for working on the page without a server: 100,000 jobs in 300 collections, the same every time.

export const MIN = 60_000;
export const HOUR = 60 * MIN;
export const DAY = 24 * HOUR;

const WORDS = 'carrier stock pick label asn cutoff invoice returns rate dock geo parcel customs freight orders pallet sla temp yard bin wms supplier hazmat manifest shift daily night vat replenish rollcage backup archive cycle expire gdpr loyalty rotate route driver packaging fleet'.split(' ');
const TAILS = 'status push trigger spool import export poll refresh assign recompute sync quotes reconcile count scan index heatmap heartbeat pull close report plan forecast purge match'.split(' ');
const ZONES = ['Europe/Zurich', 'Europe/Berlin', 'America/New_York', 'Asia/Tokyo', null];
const RULES = [
  ['Every minute', MIN, 0],
  ['Every 5 minutes', 5 * MIN, 0],
  ['Every 15 minutes', 15 * MIN, 0],
  ['Every hour, at :00', HOUR, 0],
  ['Every hour, at :10', HOUR, 10 * MIN],
  ['Every day at 02:30', DAY, 1.5 * HOUR],
  ['Every day at 18:00', DAY, 17 * HOUR],
  ['Every week on Friday, at 05:00', 7 * DAY, DAY + 4 * HOUR],
  ['Every day at 00:00', DAY, 23 * HOUR],
];
const KINDS = ['http', 'http', 'http', 'storageQueue', 'serviceBusQueue', 'serviceBusTopic'];
const GROUPS = ['logistics', 'billing', 'shop', 'platform', 'reporting'];

export function hash(n) {
  let t = (n + 0x6d2b79f5) | 0;
  t = Math.imul(t ^ (t >>> 15), 1 | t);
  t ^= t + Math.imul(t ^ (t >>> 7), 61 | t);
  return ((t ^ (t >>> 14)) >>> 0) / 4294967296;
}

export const collections = Array.from({ length: 300 }, (_, i) => ({
  subscription: i < 280 ? 'prod' : 'test',
  group: GROUPS[i % GROUPS.length],
  collection: i === 0 ? 'fulfilment' : `${WORDS[i % WORDS.length]}-${String(i).padStart(3, '0')}`,
  state: i % 41 === 40 ? 'Disabled' : 'Enabled',
}));

export const cid = (c) => `/subscriptions/${c.subscription}/resourceGroups/${c.group}/providers/Microsoft.Scheduler/jobCollections/${c.collection}`;

export const jobs = Array.from({ length: Number(process.env.JOBS ?? 100_000) }, (_, i) => {
  const c = collections[i < 947 ? 0 : i % 300];
  const rule = RULES[Math.floor(hash(i * 7 + 1) * RULES.length * (i < 947 ? 1 : 1))];
  const kind = KINDS[Math.floor(hash(i * 3) * KINDS.length)];
  const h = hash(i * 13 + 5);
  const name = `${WORDS[i % WORDS.length]}-${TAILS[Math.floor(i / WORDS.length) % TAILS.length]}${i < WORDS.length * TAILS.length ? '' : `-${i}`}`;
  const host = `${WORDS[Math.floor(hash(i * 11) * WORDS.length)]}.example.com`;
  return {
    i, c, name, id: `${cid(c)}/jobs/${name}`, rule: rule[0], period: rule[1], phase: rule[2], kind, host,
    zone: ZONES[i % ZONES.length],
    state: h < 0.95 ? 'Enabled' : h < 0.98 ? 'Disabled' : h < 0.995 ? 'Completed' : 'Faulted',
    failing: hash(i * 17 + 3) < 0.0006 || i === 16,
    summary: kind === 'http' ? `POST https://${host}/hook` : kind === 'storageQueue' ? 'message to queue labels of shipstore' : kind === 'serviceBusQueue' ? 'message to queue waves in warehouse' : 'message to topic cutoffs in shop',
  };
});
export const byId = new Map(jobs.map((j) => [j.id.toLowerCase(), j]));

export function next(j, now) {
  return j.state !== 'Enabled' || j.c.state !== 'Enabled' ? null : Math.floor((now - j.phase) / j.period) * j.period + j.period + j.phase;
}

const iso = (t) => new Date(t).toISOString();

export function outcome(j, due, now) {
  const k = Math.floor(due / MIN);
  const x = hash(j.i * 31 + (k % 1_000_003));
  const last = now - due < 4 * j.period;
  if (j.failing && last) return { outcome: 'failed', reason: null, latenessMs: 0.4, attempts: 5, message: `Http Action - Response from host '${j.host}': 'ServiceUnavailable'` };
  if (x < 0.955) return { outcome: 'succeeded', reason: null, latenessMs: 0.1 + x * 0.4, attempts: 1, message: null };
  if (x < 0.975) return { outcome: 'succeeded', reason: null, latenessMs: 0.3, attempts: 2, message: null };
  if (x < 0.984) return { outcome: 'succeeded', reason: null, latenessMs: 1200 + x * 1000, attempts: 1, message: null };
  if (x < 0.99) return { outcome: 'skipped', reason: 'overlap', latenessMs: null, attempts: 0, message: null };
  if (x < 0.995) return { outcome: 'skipped', reason: 'missed', latenessMs: null, attempts: 0, message: null };
  return { outcome: 'failed', reason: null, latenessMs: 0.3, attempts: 5, message: `Http Action - Request to host '${j.host}' failed: ConnectFailure Unable to connect to the remote server` };
}

export function dues(j, from, to) {
  const out = [];
  for (let t = Math.ceil((from - j.phase) / j.period) * j.period + j.phase; t <= to; t += j.period) out.push(t);
  return out;
}

export function row(j, now, expand) {
  const lastDue = Math.floor((now - j.phase) / j.period) * j.period + j.phase;
  const n = next(j, now);
  return {
    id: j.id, name: j.name, collectionId: cid(j.c), subscription: j.c.subscription, group: j.c.group, collection: j.c.collection, collectionState: j.c.state,
    state: j.state, kind: j.kind, summary: j.summary, target: j.kind === 'http' ? `${j.host}:443` : null, rule: j.rule, timeZone: j.zone,
    nextExecutionTime: n ? iso(n) : null, lastExecutionTime: iso(lastDue), executionCount: 749, failureCount: 31, faultedCount: j.failing ? 4 : 0, failing: j.failing, inFlight: false,
    ...(expand && { recent: dues(j, lastDue - 29 * j.period, lastDue).map((d) => ({ dueTime: iso(d), ...outcome(j, d, now) })) }),
  };
}
