// Addresses of pages, as a pure function of path and query: an address holds the whole view.
import { collectionPath, type CollectionName, type JobName } from './names';

export type Route =
  | { page: 'overview' }
  | { page: 'jobs' }
  | { page: 'collections' }
  | { page: 'newCollection' }
  | { page: 'collection'; name: CollectionName }
  | { page: 'editCollection'; name: CollectionName }
  | { page: 'newJob'; name: CollectionName }
  | { page: 'job'; name: JobName }
  | { page: 'editJob'; name: JobName }
  | { page: 'timetable' }
  | { page: 'cluster' }
  | { page: 'bulk'; id: string }
  | { page: 'settings' }
  | { page: 'audit' }
  | { page: 'signin' }
  | { page: 'unknown' };

function segments(path: string): string[] | null {
  try {
    return path.split('/').filter(Boolean).map(decodeURIComponent);
  } catch {
    return null;
  }
}

/** What page a path below the base is; the base itself is the overview. */
export function parseRoute(path: string): Route {
  const s = segments(path);
  if (!s) return { page: 'unknown' };
  const [first, subscription, group, collection, fourth, fifth] = s;
  const name = subscription !== undefined && group !== undefined && collection !== undefined ? { subscription, group, collection } : null;
  switch (first) {
    case undefined:
      return { page: 'overview' };
    case 'jobs':
      if (s.length === 1) return { page: 'jobs' };
      if (name && fourth !== undefined && s.length === 5) return { page: 'job', name: { ...name, job: fourth } };
      if (name && fourth !== undefined && fifth === 'edit' && s.length === 6) return { page: 'editJob', name: { ...name, job: fourth } };
      return { page: 'unknown' };
    case 'collections':
      if (s.length === 1) return { page: 'collections' };
      if (s.length === 2 && subscription === 'new') return { page: 'newCollection' };
      if (name && s.length === 4) return { page: 'collection', name };
      if (name && fourth === 'new' && s.length === 5) return { page: 'newJob', name };
      if (name && fourth === 'edit' && s.length === 5) return { page: 'editCollection', name };
      return { page: 'unknown' };
    case 'bulk':
      return subscription !== undefined && s.length === 2 ? { page: 'bulk', id: subscription } : { page: 'unknown' };
    case 'timetable':
    case 'cluster':
    case 'settings':
    case 'audit':
    case 'signin':
      return s.length === 1 ? { page: first } : { page: 'unknown' };
    default:
      return { page: 'unknown' };
  }
}

/** What of the jobs a list shows. */
export interface Filter {
  scope: string;
  q: string;
  state: string;
  kind: string;
  target: string;
  failing: boolean;
  due: string;
  sort: 'next' | 'name';
}

export function parseFilter(query: URLSearchParams, name?: CollectionName): Filter {
  const sub = query.get('sub');
  const group = query.get('group');
  let scope = '';
  if (name) scope = collectionPath(name);
  else if (sub && group) scope = `/subscriptions/${encodeURIComponent(sub)}/resourceGroups/${encodeURIComponent(group)}`;
  else if (sub) scope = `/subscriptions/${encodeURIComponent(sub)}`;
  return {
    scope,
    q: query.get('q') ?? '',
    state: query.get('state') ?? '',
    kind: query.get('type') ?? '',
    target: query.get('target') ?? '',
    failing: query.get('failing') === 'true',
    due: query.get('due') ?? '',
    sort: query.get('sort') === 'name' ? 'name' : 'next',
  };
}

/** The query of a page for a filter; what is as usual is left out. */
export function filterQuery(f: Partial<Filter>, keep: URLSearchParams = new URLSearchParams()): URLSearchParams {
  const out = new URLSearchParams(keep);
  const put = (k: string, v: string | undefined) => (v ? out.set(k, v) : out.delete(k));
  if ('q' in f) put('q', f.q);
  if ('state' in f) put('state', f.state);
  if ('kind' in f) put('type', f.kind);
  if ('target' in f) put('target', f.target);
  if ('failing' in f) put('failing', f.failing ? 'true' : '');
  if ('due' in f) put('due', f.due);
  if ('sort' in f) put('sort', f.sort === 'name' ? 'name' : '');
  return out;
}

export function isFiltered(f: Filter): boolean {
  return Boolean(f.q || f.state || f.kind || f.target || f.failing || f.due);
}
