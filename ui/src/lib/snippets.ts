// A job as text to copy: JSON, curl, Python, command line, ARM template. No secret is in any of them, because
// none reaches the browser; where one belongs there is a gap with its name. Pure.
import { collectionPath, jobPath, type JobName } from './names';
import type { Action, Collection, JobProperties } from './types';

/** JSON as people write it: short arrays on one line. */
export function pretty(value: unknown): string {
  return JSON.stringify(value, null, 2).replace(/\[\s+([^[\]{}]*?)\s+\]/g, (_, inner: string) => `[${inner.replace(/\s+/g, ' ')}]`);
}

/** What of the properties is the job's definition: without its status. */
export function definition(p: JobProperties): JobProperties {
  const { status: _, ...rest } = p;
  return rest;
}

/** The names of secrets that belong into the definition and are not there, by their place. */
export function gaps(action: Action | undefined, at = 'action'): string[] {
  if (!action) return [];
  const out: string[] = [];
  const auth = action.request?.authentication;
  if (auth?.type === 'Basic' && !auth.password) out.push(`${at}.request.authentication.password`);
  if (auth?.type === 'ClientCertificate' && !auth.pfx) out.push(`${at}.request.authentication.pfx`, `${at}.request.authentication.password`);
  if (auth?.type === 'ActiveDirectoryOAuth' && !auth.secret) out.push(`${at}.request.authentication.secret`);
  for (const [k, v] of Object.entries(action.request?.headers ?? {})) if (v === MASK) out.push(`${at}.request.headers.${k}`);
  if (action.request?.uri?.includes(`${MASK}@`)) out.push(`${at}.request.uri`);
  if (action.queueMessage && !action.queueMessage.sasToken) out.push(`${at}.queueMessage.sasToken`);
  for (const k of ['serviceBusQueueMessage', 'serviceBusTopicMessage'] as const) if (action[k]?.authentication && !action[k].authentication.sasKey) out.push(`${at}.${k}.authentication.sasKey`);
  return [...out, ...gaps(action.errorAction, `${at}.errorAction`)];
}

/** What the server answers in place of a credential. */
export const MASK = '********';

const quote = (s: string): string => `'${s.replaceAll("'", `'\\''`)}'`;

function gapNote(missing: string[], comment: string): string {
  return missing.length ? `\n\n${comment} put in first: ${missing.join(', ')}` : '';
}

export function asJson(p: JobProperties): string {
  return pretty({ properties: definition(p) });
}

export function asCurl(j: JobName, p: JobProperties): string {
  return `curl -X PUT "$PUNCTUAL_SERVER${jobPath(j)}?api-version=2026-11-01" \\\n  -H "Authorization: Bearer $PUNCTUAL_TOKEN" \\\n  -H 'Content-Type: application/json' \\\n  -d ${quote(pretty({ properties: definition(p) }))}${gapNote(gaps(p.action), '#')}`;
}

/** Only what was changed; secrets stay as they are. */
export function asPatch(j: JobName, patch: unknown): string {
  return `curl -X PATCH "$PUNCTUAL_SERVER${jobPath(j)}?api-version=2026-11-01" \\\n  -H "Authorization: Bearer $PUNCTUAL_TOKEN" \\\n  -H 'Content-Type: application/json' \\\n  -d ${quote(pretty({ properties: patch }))}`;
}

/** JSON as a Python literal. */
export function python(value: unknown, indent = 0): string {
  const pad = '    '.repeat(indent);
  const inner = '    '.repeat(indent + 1);
  if (value === null || value === undefined) return 'None';
  if (value === true) return 'True';
  if (value === false) return 'False';
  if (typeof value === 'number') return String(value);
  if (typeof value === 'string') return JSON.stringify(value);
  if (Array.isArray(value)) return value.every((v) => typeof v !== 'object') ? `[${value.map((v) => python(v)).join(', ')}]` : `[\n${value.map((v) => `${inner}${python(v, indent + 1)},\n`).join('')}${pad}]`;
  const entries = Object.entries(value as Record<string, unknown>);
  return entries.length === 0 ? '{}' : `{\n${entries.map(([k, v]) => `${inner}${JSON.stringify(k)}: ${python(v, indent + 1)},\n`).join('')}${pad}}`;
}

export function asPython(j: JobName, p: JobProperties): string {
  const args = [j.group, j.collection, j.job].map((s) => JSON.stringify(s)).join(', ');
  // The client of Azure knows no time zone: it speaks an older api-version, which keeps the one that is stored.
  const { timeZone, ...recurrence } = p.recurrence ?? {};
  const properties = { ...definition(p), ...(p.recurrence && { recurrence }) };
  const zone = timeZone && timeZone !== 'UTC' ? `\n# The time zone ${timeZone} is kept; this client can't set it.` : '';
  return `import os\nfrom azure.identity import ClientSecretCredential\nfrom azure.mgmt.scheduler import SchedulerManagementClient\nfrom azure.mgmt.scheduler.models import JobDefinition\n\nclient = SchedulerManagementClient(credential, ${JSON.stringify(j.subscription)},\n    base_url=os.environ["PUNCTUAL_SERVER"])\njob = JobDefinition.deserialize({"properties": ${python(properties)}})\nclient.jobs.create_or_update(${args}, job)${zone}${gapNote(gaps(p.action), '#')}`;
}

export function asCli(j: JobName, p: JobProperties): string {
  const { recurrence, startTime } = p;
  return `# When it would run, in words and times\npunctual preview <<'JSON'\n${pretty({ properties: { ...(startTime && { startTime }), ...(recurrence && { recurrence }) } })}\nJSON\n\n# What the server knows of it\ncurl "$PUNCTUAL_SERVER${jobPath(j)}/occurrences?api-version=2026-11-01" \\\n  -H "Authorization: Bearer $PUNCTUAL_TOKEN"`;
}

export function asTemplate(j: JobName, p: JobProperties, c?: Collection | null): string {
  const missing = gaps(p.action);
  const parameters = Object.fromEntries(missing.map((m, i) => [`secret${i + 1}`, { type: 'securestring', metadata: { description: m } }]));
  return pretty({
    $schema: 'https://schema.management.azure.com/schemas/2015-01-01/deploymentTemplate.json#',
    contentVersion: '1.0.0.0',
    parameters,
    resources: [
      ...(c ? [{ type: 'Microsoft.Scheduler/jobCollections', apiVersion: '2016-03-01', name: j.collection, location: c.location, ...(c.tags && { tags: c.tags }), properties: { sku: c.properties.sku, state: c.properties.state, ...(c.properties.quota && { quota: c.properties.quota }) } }] : []),
      {
        type: 'Microsoft.Scheduler/jobCollections/jobs',
        apiVersion: '2026-11-01',
        name: `${j.collection}/${j.job}`,
        ...(c && { dependsOn: [`[resourceId('Microsoft.Scheduler/jobCollections', '${j.collection}')]`] }),
        properties: withParameters(definition(p), missing),
      },
    ],
  });
}

/** The definition with each missing secret as a parameter of the template. */
function withParameters(p: JobProperties, missing: string[]): JobProperties {
  const out = structuredClone(p) as Record<string, unknown>;
  missing.forEach((path, i) => {
    const names = path.split('.');
    const last = names.pop();
    let at = out;
    for (const n of names) {
      if (typeof at[n] !== 'object' || at[n] === null) return;
      at = at[n] as Record<string, unknown>;
    }
    if (last) at[last] = `[parameters('secret${i + 1}')]`;
  });
  return out;
}

/** Three lines that make a first job against the server's own echo. */
export function firstJob(origin: string, echo = 'http://127.0.0.1:8381/'): string {
  const path = collectionPath({ subscription: 's1', group: 'g1', collection: 'c1' });
  const job = { properties: { recurrence: { frequency: 'Minute' }, action: { type: 'Http', request: { method: 'POST', uri: echo, body: 'hi' } } } };
  return `c=${origin}${path}\ncurl -X PUT "$c?api-version=2016-03-01" -d '{"location": "West US"}'\ncurl -X PUT "$c/jobs/hello?api-version=2016-03-01" -d ${quote(JSON.stringify(job))}`;
}
