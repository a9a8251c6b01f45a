// The shapes of the API that the page reads and writes (api-version 2026-11-01). Instants are ISO 8601.

export type JobState = 'Enabled' | 'Disabled' | 'Completed' | 'Faulted';
export type Kind = 'http' | 'storageQueue' | 'serviceBusQueue' | 'serviceBusTopic';
export type Outcome = 'pending' | 'succeeded' | 'failed' | 'skipped' | 'retrying' | 'running';
export type Role = 'reader' | 'operator' | 'contributor' | 'owner';

export interface Recent {
  dueTime: string;
  outcome: Outcome;
  reason: string | null;
  latenessMs: number | null;
  attempts: number;
  message?: string | null;
}

export interface JobRow {
  id: string;
  name: string;
  collectionId: string;
  subscription: string;
  group: string;
  collection: string;
  collectionState: string;
  state: JobState;
  kind: Kind;
  summary: string;
  target: string | null;
  rule: string;
  timeZone: string | null;
  nextExecutionTime: string | null;
  lastExecutionTime: string | null;
  executionCount: number;
  failureCount: number;
  faultedCount: number;
  failing: boolean;
  inFlight: boolean;
  recent?: Recent[];
  dueTime?: string;
}

export interface Count {
  number: number;
  capped: boolean;
}

export interface JobsPage {
  value: JobRow[];
  after: string | null;
  count?: Count;
}

export interface Quantiles {
  p50: number;
  p90: number;
  p99: number;
  max: number;
}

export interface Bucket {
  start: string;
  succeeded: number;
  retried: number;
  failed: number;
  failedAttempts: number;
  late: number;
  errorActions: number;
  skippedOverlap: number;
  skippedMissed: number;
  skippedOther: number;
  lateness: Quantiles | null;
}

export interface Stats {
  from: string;
  to: string;
  step: string;
  threshold: number;
  buckets: Bucket[];
  total: Omit<Bucket, 'start'>;
}

export interface Agenda {
  from: string;
  to: string;
  step: 'minute' | 'hour';
  buckets: { start: string; count: number }[];
  estimate: boolean;
  covered: { jobs: number; of: number };
  busiest: { start: string; count: number; collections: { id: string; count: number }[] }[];
}

export interface Authentication {
  type?: string;
  username?: string;
  password?: string;
  pfx?: string;
  certificateThumbprint?: string;
  certificateExpiration?: string;
  certificateSubjectName?: string;
  tenant?: string;
  audience?: string;
  clientId?: string;
  secret?: string;
  sasKeyName?: string;
  sasKey?: string;
  [other: string]: unknown;
}

export interface HttpRequest {
  method?: string;
  uri?: string;
  headers?: Record<string, string>;
  body?: string;
  authentication?: Authentication | null;
  [other: string]: unknown;
}

export interface QueueMessage {
  storageAccount?: string;
  queueName?: string;
  sasToken?: string;
  message?: string;
  [other: string]: unknown;
}

export interface BusMessage {
  namespace?: string;
  queueName?: string;
  topicPath?: string;
  transportType?: string;
  authentication?: Authentication | null;
  message?: string;
  brokeredMessageProperties?: Record<string, unknown>;
  customMessageProperties?: Record<string, string>;
  [other: string]: unknown;
}

export interface RetryPolicy {
  retryType?: string;
  retryInterval?: string;
  retryCount?: number;
  [other: string]: unknown;
}

export interface Action {
  type?: string;
  request?: HttpRequest;
  queueMessage?: QueueMessage;
  serviceBusQueueMessage?: BusMessage;
  serviceBusTopicMessage?: BusMessage;
  retryPolicy?: RetryPolicy;
  errorAction?: Action;
  [other: string]: unknown;
}

export interface MonthlyOccurrence {
  day: string;
  occurrence?: number;
}

export interface Schedule {
  minutes?: number[];
  hours?: number[];
  weekDays?: string[];
  monthDays?: number[];
  months?: number[];
  monthlyOccurrences?: MonthlyOccurrence[];
  [other: string]: unknown;
}

export interface Recurrence {
  frequency?: string;
  interval?: number;
  count?: number;
  endTime?: string;
  timeZone?: string;
  schedule?: Schedule;
  [other: string]: unknown;
}

export interface JobProperties {
  startTime?: string;
  action?: Action;
  recurrence?: Recurrence;
  state?: string;
  status?: {
    lastExecutionTime?: string;
    nextExecutionTime?: string;
    executionCount: number;
    failureCount: number;
    faultedCount: number;
  };
  [other: string]: unknown;
}

export interface Job {
  id: string;
  name: string;
  type: string;
  properties: JobProperties;
}

export interface Collection {
  id: string;
  name: string;
  type: string;
  location: string;
  tags?: Record<string, string>;
  properties: {
    sku: { name: string };
    state: string;
    quota?: { maxJobCount?: number; maxRecurrence?: { frequency: string; interval: number } };
  };
}

export interface ArmPage<T> {
  value: T[];
  nextLink: string | null;
  prunedBefore?: string;
  neverMatches?: string;
}

export interface Occurrence {
  dueTime: string;
  outcome: Outcome;
  reason?: string;
  startTime?: string;
  lateness?: string;
  attempts: number;
  rerunOf?: string;
  reruns?: string[];
}

export interface HistoryRecord {
  id: string;
  name: string;
  properties: {
    startTime: string;
    endTime: string;
    expectedExecutionTime: string;
    status: 'completed' | 'failed' | 'postponed';
    message?: string;
    retryCount: number;
    repeatCount: number;
    actionName: 'MainAction' | 'ErrorAction';
  };
}

export interface PreviewTime {
  dueTime: string;
  local: string;
  note: string | null;
}

export interface Problem {
  path: string;
  text: string;
}

export interface Preview {
  description: string | null;
  runsAtOnce: boolean;
  next: PreviewTime[];
  previous: PreviewTime[];
  ends: string | null;
  warnings: { code: string; text: string; path: string | null }[];
  problems: Problem[];
  valid: boolean;
}

export interface DiffSide {
  count: number;
  capped: boolean;
  value: string[];
}

export interface Diff {
  added: DiffSide;
  removed: DiffSide;
  from: string;
  to: string;
  firesOnSave: boolean;
  problems: Problem[];
}

export interface BulkFilter {
  scope?: string;
  state?: string;
  kind?: string;
  target?: string;
  failing?: boolean;
  q?: string;
}

export type BulkOperation = 'enable' | 'disable' | 'run' | 'delete';

export interface Bulk {
  id: string;
  operation: BulkOperation;
  state: 'running' | 'stopped' | 'completed';
  total: number | null;
  done: number;
  changed?: number;
  refused: number;
  createdAt?: string;
  endedAt?: string | null;
  by?: string;
  refusals?: { id: string; code: string; message: string }[];
  refusalsCapped?: boolean;
}

export interface Node {
  name: string;
  lease: number;
  rank: number | null;
  version: string;
  startedAt: string;
  beatAgeMs: number;
  held: number;
  inFlight: number;
  clockOffsetMs: number;
  fires: boolean;
  reason: string | null;
  drained: boolean;
  url: string | null;
  self: boolean;
}

export interface Nodes {
  value: Node[];
  store: { kind: string; detail: string };
  takeoverSeconds: number | null;
  clockAllowanceMs: number | null;
}

export interface Checkup {
  status: 'healthy' | 'findings' | 'trouble' | 'off';
  version: string;
  time: string;
  scan: { progress: number | null; passCount: number; lastPassEndedAt: string | null; lastPassSeconds: number | null; jobCount: number | null; trouble: string | null };
  jobs: { count: number; faultedCount: number } | null;
  connections?: { open: number; max: number; refusedCount: number };
  oldestDue: { jobId: number; dueAt: string; seconds: number } | null;
  problems: string[];
  kinds: { kind: string; open: number; total: number; meaning: string; advice: string }[];
  findings: { kind: string; job: string | null; resource?: string; detail: string; foundAt: string }[];
}

export interface Grant {
  role: Role;
  scope: string;
}

export interface Me {
  caller: { id: string; name: string; kind: string };
  grants: Grant[];
  session: { id: string; createdAt: string; lastUsedAt: string; idleAt: string; expiresAt: string } | null;
  features: string[];
  version: string;
  clock: { time: string; realTime: string; speed: number };
}

export interface Ways {
  required: boolean;
  token: boolean;
  openId: { issuer: string; label: string; url: string }[];
}

export interface Token {
  id: string;
  name: string;
  grants: Grant[];
  createdAt: string;
  expiresAt: string | null;
  lastUsedAt: string | null;
  token?: string;
}

export interface AuditEntry {
  number: number;
  time: string;
  caller: { id: string; name: string; kind: string };
  source: string;
  action: string;
  scope: string;
  subject?: string;
  outcome: string;
  requestId: string;
  count: number;
}

export interface OccurrenceChange {
  id: string;
  dueTime: string;
  outcome: Outcome;
  latenessMs: number | null;
  attempt: number;
  reason: string | null;
  nextExecutionTime: string | null;
}
