// Requests to the server. All carry the page's own header and api-version; addresses are relative to the
// page's base, so that a path prefix works. A failure is always an ApiError with the server's own words.
import { connection } from './connection.svelte';
import { collectionPath, jobPath, type CollectionName, type JobName } from './names';
import { t } from './text';
import type * as T from './types';

export const API_VERSION = '2026-11-01';
const DEADLINE_MS = 30_000;

export class ApiError extends Error {
  constructor(
    readonly status: number,
    readonly code: string,
    message: string,
    readonly requestId: string | null = null,
  ) {
    super(message);
    this.name = 'ApiError';
  }
  /** The request never came to an answer. */
  get unreachable(): boolean {
    return this.status === 0;
  }
}

type Query = Record<string, string | number | boolean | null | undefined>;

export function apiUrl(path: string, query: Query = {}): string {
  const url = new URL(path.replace(/^\//, ''), document.baseURI);
  for (const [k, v] of Object.entries(query)) if (v !== undefined && v !== null && v !== '' && v !== false) url.searchParams.set(k, String(v));
  url.searchParams.set('api-version', API_VERSION);
  return url.href;
}

interface Options {
  query?: Query;
  body?: unknown;
  signal?: AbortSignal;
  /** A request that must not lead to the sign-in page by itself. */
  quiet?: boolean;
}

let onUnauthenticated: (error: ApiError) => void = () => {};

/** What is to be done when the server no longer knows who is asking. */
export function whenUnauthenticated(f: (error: ApiError) => void): void {
  onUnauthenticated = f;
}

async function send<R>(method: string, url: string, o: Options = {}): Promise<R> {
  const write = method !== 'GET';
  if (write && connection.lost) throw new ApiError(0, 'Unreachable', t.state.refusedOffline);
  const timeout = AbortSignal.timeout(DEADLINE_MS);
  const headers: Record<string, string> = { Accept: 'application/json', 'X-Punctual-Page': '1' };
  if (o.body !== undefined) headers['Content-Type'] = 'application/json';
  let answer: Response;
  try {
    answer = await fetch(url, {
      method,
      headers,
      body: o.body === undefined ? null : JSON.stringify(o.body),
      signal: o.signal ? AbortSignal.any([o.signal, timeout]) : timeout,
      cache: 'no-store',
      credentials: 'same-origin',
    });
  } catch (e) {
    if (o.signal?.aborted) throw e;
    connection.failed();
    throw new ApiError(0, 'Unreachable', t.state.noAnswer);
  }
  connection.answered();
  const text = await answer.text();
  let json: unknown = null;
  try {
    json = text ? JSON.parse(text) : null;
  } catch {
    // Not JSON: an answer of something in between, or an old server's page.
  }
  if (answer.ok) return json as R;
  const envelope = (json as { error?: { code?: string; message?: string } } | null)?.error;
  const error = new ApiError(answer.status, envelope?.code ?? String(answer.status), envelope?.message ?? t.state.strangeAnswer(answer.status), answer.headers.get('x-ms-request-id'));
  if (answer.status === 401 && !o.quiet) onUnauthenticated(error);
  throw error;
}

function request<R>(method: string, path: string, o: Options = {}): Promise<R> {
  return send<R>(method, apiUrl(path, o.query), o);
}

/** All pages of an ARM list, up to `max` rows. */
async function pages<R>(path: string, query: Query, max: number, signal?: AbortSignal): Promise<T.ArmPage<R>> {
  let page = await request<T.ArmPage<R>>('GET', path, { query, ...(signal && { signal }) });
  const all = page;
  while (page.nextLink && all.value.length < max) {
    // The link is absolute as the server knows itself; only its path and query count here.
    const next = new URL(page.nextLink);
    const base = new URL(document.baseURI);
    page = await send<T.ArmPage<R>>('GET', base.origin + next.pathname + next.search, signal ? { signal } : {});
    all.value.push(...page.value);
    all.nextLink = page.nextLink;
  }
  return all;
}

export const api = {
  me: (quiet = false) => request<T.Me>('GET', '/me', { quiet }),
  ways: () => request<T.Ways>('GET', '/session/ways', { quiet: true }),
  signIn: (token: string) => request<T.Me>('POST', '/session', { body: { token }, quiet: true }),
  signOut: () => request<void>('DELETE', '/session', { quiet: true }),

  jobs: (query: Query, signal?: AbortSignal) => request<T.JobsPage>('GET', '/jobs', { query, ...(signal && { signal }) }),
  stats: (query: Query, signal?: AbortSignal) => request<T.Stats>('GET', '/stats', { query, ...(signal && { signal }) }),
  agenda: (query: Query, signal?: AbortSignal) => request<T.Agenda>('GET', '/agenda', { query, ...(signal && { signal }) }),
  agendaJobs: (query: Query, signal?: AbortSignal) => request<T.JobsPage>('GET', '/agenda/jobs', { query, ...(signal && { signal }) }),

  job: (j: JobName, signal?: AbortSignal) => request<T.Job>('GET', jobPath(j), signal ? { signal } : {}),
  putJob: (j: JobName, properties: T.JobProperties) => request<T.Job>('PUT', jobPath(j), { body: { properties } }),
  patchJob: (j: JobName, properties: unknown) => request<T.Job>('PATCH', jobPath(j), { body: { properties } }),
  deleteJob: (j: JobName) => request<void>('DELETE', jobPath(j)),
  runJob: (j: JobName) => request<void>('POST', `${jobPath(j)}/run`),
  rerun: (j: JobName, dueTime: string) => request<{ dueTime: string }>('POST', `${jobPath(j)}/occurrences/${encodeURIComponent(dueTime)}/rerun`),
  occurrences: (j: JobName, from: string, to: string, max: number, signal?: AbortSignal) => pages<T.Occurrence>(`${jobPath(j)}/occurrences`, { from, to }, max, signal),
  history: (j: JobName, skip: number, signal?: AbortSignal) => request<T.ArmPage<T.HistoryRecord>>('GET', `${jobPath(j)}/history`, { query: { $top: 100, $skip: skip || undefined }, ...(signal && { signal }) }),
  preview: (c: CollectionName, body: { properties: unknown; name?: string; count?: number }, signal?: AbortSignal) => request<T.Preview>('POST', `${collectionPath(c)}/preview`, { body, ...(signal && { signal }) }),
  diff: (j: JobName, properties: unknown, signal?: AbortSignal) => request<T.Diff>('POST', `${jobPath(j)}/diff`, { body: { properties }, ...(signal && { signal }) }),

  subscriptions: () => pages<{ subscriptionId: string; displayName: string }>('/subscriptions', {}, 1000),
  locations: (s: string) => request<T.ArmPage<{ name: string; displayName: string }>>('GET', `/subscriptions/${encodeURIComponent(s)}/locations`),
  collections: (s: string) => pages<T.Collection>(`/subscriptions/${encodeURIComponent(s)}/providers/Microsoft.Scheduler/jobCollections`, {}, 5000),
  collection: (c: CollectionName, signal?: AbortSignal) => request<T.Collection>('GET', collectionPath(c), signal ? { signal } : {}),
  putCollection: (c: CollectionName, body: unknown) => request<T.Collection>('PUT', collectionPath(c), { body }),
  patchCollection: (c: CollectionName, body: unknown) => request<T.Collection>('PATCH', collectionPath(c), { body }),
  deleteCollection: (c: CollectionName) => request<void>('DELETE', collectionPath(c)),
  switchCollection: (c: CollectionName, on: boolean) => request<void>('POST', `${collectionPath(c)}/${on ? 'enable' : 'disable'}`),

  startBulk: (operation: T.BulkOperation, what: { filter: T.BulkFilter } | { jobs: string[] }) => request<T.Bulk>('POST', '/bulk', { body: { operation, ...what } }),
  bulk: (id: string) => request<T.Bulk>('GET', `/bulk/${encodeURIComponent(id)}`),
  stopBulk: (id: string) => request<T.Bulk>('POST', `/bulk/${encodeURIComponent(id)}/stop`),

  nodes: () => request<T.Nodes>('GET', '/nodes'),
  drain: (name: string, on: boolean) => request<T.Node>('POST', `/nodes/${encodeURIComponent(name)}/${on ? 'drain' : 'undrain'}`),
  doctor: () => request<T.Checkup>('GET', '/doctor'),

  tokens: () => pages<T.Token>('/tokens', {}, 1000),
  createToken: (body: { name: string; grants: T.Grant[]; expiresAt: string | null }) => request<T.Token>('POST', '/tokens', { body }),
  rotateToken: (id: string) => request<T.Token>('POST', `/tokens/${encodeURIComponent(id)}/rotate`, { body: {} }),
  revokeToken: (id: string) => request<void>('DELETE', `/tokens/${encodeURIComponent(id)}`),
  audit: (query: Query, signal?: AbortSignal) => request<T.ArmPage<T.AuditEntry>>('GET', '/audit', { query, ...(signal && { signal }) }),
  auditNext: (link: string) => {
    const next = new URL(link);
    return send<T.ArmPage<T.AuditEntry>>('GET', new URL(document.baseURI).origin + next.pathname + next.search);
  },
};
