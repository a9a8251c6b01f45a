// The editor's model: one definition with two views, what the server says of it, and how it is saved.
import { api, ApiError } from './api';
import { dropDraft, keepDraft, readDraft, withoutSecrets } from './draft';
import { emptyJob, mergePatch, parseText, problemsOf, same, toSend, within } from './model';
import type { CollectionName } from './names';
import { asJson } from './snippets';
import { t } from './text';
import type { Diff, JobProperties, Preview, Problem } from './types';

/** How long after the last key the server is asked. */
const ASK_MS = 150;
const NEXT = 100;

export class EditorState {
  job = $state.raw<JobProperties>({});
  name = $state('');
  text = $state('');
  textError = $state('');
  preview = $state.raw<Preview | null>(null);
  diff = $state.raw<Diff | null>(null);
  loadError = $state.raw<ApiError | null>(null);
  saveError = $state.raw<ApiError | null>(null);
  refused = $state.raw<Problem[]>([]);
  loaded = $state(false);
  saving = $state(false);
  fromDraft = $state(false);
  /** Somebody else saved while this was edited: what differs, field by field. */
  conflict = $state.raw<{ path: string; mine: string; theirs: string }[] | null>(null);
  #base = $state.raw<JobProperties>({});
  #timer: ReturnType<typeof setTimeout> | undefined;
  #abort: AbortController | null = null;
  #known = '';
  /** What the server was last asked about, and its answer: null where there is none. */
  #asked: { what: string; answer: Promise<Preview | null> } | null = null;

  constructor(
    readonly collection: CollectionName,
    readonly existing: string | null,
    private readonly place: string,
  ) {}

  sent = $derived(toSend(this.job));
  dirty = $derived.by(() => this.loaded && !same(this.sent, this.#base));
  problems = $derived<Problem[]>([...(this.preview?.problems ?? []), ...this.refused.filter((r) => !(this.preview?.problems ?? []).some((p) => within(p.path, r.path)))]);
  patch = $derived(mergePatch(this.#base, this.sent));

  async load(from: string | null, zone: string): Promise<void> {
    try {
      if (this.existing !== null) {
        const j = await api.job({ ...this.collection, job: this.existing });
        this.name = this.existing;
        this.#base = toSend(j.properties);
        this.job = structuredClone(this.#base);
      } else if (from) {
        const j = await api.job({ ...this.collection, job: from });
        this.job = { ...toSend(j.properties), state: 'enabled' };
        this.name = `${from}-copy`;
        this.#base = {};
      } else {
        this.job = emptyJob(zone);
        this.#base = toSend(this.job);
      }
    } catch (e) {
      if (!(e instanceof ApiError)) throw e;
      this.loadError = e;
      return;
    }
    this.#known = JSON.stringify(this.#base);
    const draft = readDraft(this.place);
    if (draft && !same(toSend(draft), withoutSecrets(this.#base))) {
      this.job = draft;
      this.fromDraft = true;
    }
    this.text = asJson(this.sent);
    this.loaded = true;
    this.#ask();
  }

  /** The form has changed something. */
  set(p: JobProperties): void {
    this.job = p;
    this.text = asJson(this.sent);
    this.textError = '';
    this.#changed();
  }

  setName(name: string): void {
    this.name = name;
    this.#changed();
  }

  /** The text has changed. What does not parse leaves the form as it was. */
  setText(text: string): void {
    this.text = text;
    const parsed = parseText(text);
    if (!parsed.ok) {
      this.textError = t.editor.notJson(parsed.line, parsed.column);
      return;
    }
    this.textError = '';
    this.job = parsed.value;
    this.#changed();
  }

  #changed(): void {
    this.refused = [];
    this.saveError = null;
    if (this.loaded) keepDraft(this.place, this.job);
    this.#ask();
  }

  #ask(): void {
    clearTimeout(this.#timer);
    this.#timer = setTimeout(() => void this.#look(), ASK_MS);
  }

  /** What the server says of what is there now. It is asked at once, unless it was asked just that. */
  #look(): Promise<Preview | null> {
    clearTimeout(this.#timer);
    const properties = this.sent;
    const name = this.existing ?? (this.name.trim() || undefined);
    const body = { properties, ...(name && { name }), count: NEXT };
    const what = JSON.stringify(body);
    if (this.#asked?.what === what) return this.#asked.answer;
    this.#abort?.abort();
    const { signal } = (this.#abort = new AbortController());
    // A server that can't preview still saves; its refusal names every problem.
    const unanswered = (e: unknown): null => {
      if (!signal.aborted && !(e instanceof ApiError)) throw e;
      return null;
    };
    const answer = api.preview(this.collection, body, signal).catch(unanswered);
    this.#asked = { what, answer };
    void answer.then(async (preview) => {
      if (signal.aborted || !preview) return;
      this.preview = preview;
      const diff = this.existing !== null && preview.valid ? await api.diff({ ...this.collection, job: this.existing }, properties, signal).catch(unanswered) : null;
      if (!signal.aborted) this.diff = diff;
    });
    return answer;
  }

  /** Saves; true when it is done. `anyway`: also where somebody else has saved meanwhile. */
  async save(anyway = false): Promise<boolean> {
    if (this.saving) return false;
    this.saving = true;
    this.saveError = null;
    this.refused = [];
    const job = { ...this.collection, job: this.existing ?? this.name.trim() };
    const { sent, patch } = this;
    try {
      // The problems that are shown may be those of what was there some keys ago.
      if ((await this.#look())?.problems.length) return false;
      if (this.existing === null) await api.putJob(job, sent);
      else {
        if (!anyway && (await this.#somebodyElse(job))) return false;
        if (Object.keys(patch as object).length > 0) await api.patchJob(job, patch);
      }
      this.#base = sent;
      dropDraft(this.place);
      return true;
    } catch (e) {
      if (!(e instanceof ApiError)) throw e;
      this.saveError = e;
      this.refused = problemsOf(e.message);
      return false;
    } finally {
      this.saving = false;
    }
  }

  async #somebodyElse(job: CollectionName & { job: string }): Promise<boolean> {
    const now = toSend((await api.job(job)).properties);
    if (JSON.stringify(now) === this.#known) return false;
    const theirs = flat(now);
    const before = flat(JSON.parse(this.#known));
    const mine = flat(this.sent);
    const paths = [...new Set([...theirs.keys(), ...before.keys()])].filter((p) => theirs.get(p) !== before.get(p));
    this.conflict = paths.map((path) => ({ path, mine: mine.get(path) ?? '–', theirs: theirs.get(path) ?? '–' }));
    return this.conflict.length > 0;
  }

  /** Begins anew with what is stored. */
  async discard(): Promise<void> {
    dropDraft(this.place);
    this.conflict = null;
    this.fromDraft = false;
    this.loaded = false;
    await this.load(null, 'UTC');
  }

  stop(): void {
    clearTimeout(this.#timer);
    this.#abort?.abort();
  }
}

/** All values by their path. */
function flat(v: unknown, at = '', out = new Map<string, string>()): Map<string, string> {
  if (typeof v === 'object' && v !== null && !Array.isArray(v)) for (const [k, x] of Object.entries(v)) flat(x, at ? `${at}.${k}` : k, out);
  else out.set(at, JSON.stringify(v));
  return out;
}
