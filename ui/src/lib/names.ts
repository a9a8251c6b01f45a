// Names of things: resource ids of the API, and the addresses of their pages.

export interface CollectionName {
  subscription: string;
  group: string;
  collection: string;
}

export interface JobName extends CollectionName {
  job: string;
}

const enc = encodeURIComponent;

/** The resource id of a collection, percent-encoded, as the path of the API has it. */
export function collectionPath(c: CollectionName): string {
  return `/subscriptions/${enc(c.subscription)}/resourceGroups/${enc(c.group)}/providers/Microsoft.Scheduler/jobCollections/${enc(c.collection)}`;
}

export function jobPath(j: JobName): string {
  return `${collectionPath(j)}/jobs/${enc(j.job)}`;
}

/** Reads the resource id of a collection or a job; null if it is neither. */
export function parseId(id: string): (CollectionName & { job?: string }) | null {
  const m = /^\/subscriptions\/([^/]+)\/resourceGroups\/([^/]+)\/providers\/Microsoft\.Scheduler\/jobCollections\/([^/]+)(?:\/jobs\/([^/]+))?$/i.exec(id);
  if (!m) return null;
  const [, s, g, c, j] = m;
  if (s === undefined || g === undefined || c === undefined) return null;
  const name: CollectionName & { job?: string } = { subscription: decode(s), group: decode(g), collection: decode(c) };
  if (j !== undefined) name.job = decode(j);
  return name;
}

function decode(s: string): string {
  try {
    return decodeURIComponent(s);
  } catch {
    return s;
  }
}

/** The page of a job, relative to the page's base. */
export function jobPage(j: JobName): string {
  return `jobs/${enc(j.subscription)}/${enc(j.group)}/${enc(j.collection)}/${enc(j.job)}`;
}

export function collectionPage(c: CollectionName): string {
  return `collections/${enc(c.subscription)}/${enc(c.group)}/${enc(c.collection)}`;
}

/** The page of whatever a resource id names; null if there is none. */
export function pageOfId(id: string): string | null {
  const n = parseId(id);
  if (!n) return null;
  return n.job === undefined ? collectionPage(n) : jobPage({ ...n, job: n.job });
}

/** A scope in words: `group / collection`, a subscription, or everything. */
export function shortScope(id: string): string {
  const n = parseId(id);
  if (n) return n.job === undefined ? `${n.group} / ${n.collection}` : `${n.group} / ${n.collection} / ${n.job}`;
  const parts = id.split('/').filter(Boolean);
  return parts.length >= 4 ? `${parts[1]} / ${parts[3]}` : (parts[1] ?? '/');
}
