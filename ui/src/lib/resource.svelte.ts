// Something read from the server, with its states: nothing for 200 ms, then loading, then data or an error.
// What was there stays while it is read anew.
import { ApiError } from './api';
import { session } from './session.svelte';

export class Resource<D> {
  data = $state.raw<D | null>(null);
  error = $state.raw<ApiError | null>(null);
  /** Nothing to show yet, for longer than 200 ms. */
  slow = $state(false);
  #abort: AbortController | null = null;

  /** `feature`: what the server must be able to do; one that can't is not asked. */
  constructor(
    private readonly read: (signal: AbortSignal) => Promise<D>,
    private readonly feature = '',
  ) {}

  async load(): Promise<void> {
    if (this.feature && !session.can(this.feature)) return;
    this.#abort?.abort();
    const abort = new AbortController();
    this.#abort = abort;
    const timer = this.data === null ? setTimeout(() => (this.slow = true), 200) : undefined;
    try {
      const data = await this.read(abort.signal);
      if (abort.signal.aborted) return;
      this.data = data;
      this.error = null;
    } catch (e) {
      if (abort.signal.aborted) return;
      if (!(e instanceof ApiError)) throw e;
      // Without an answer the offline line says it all; what is there stays.
      if (!e.unreachable || this.data === null) this.error = e;
    } finally {
      clearTimeout(timer);
      if (!abort.signal.aborted) this.slow = false;
    }
  }

  stop(): void {
    this.#abort?.abort();
  }
}

/** Calls at most once in `ms`, and once more at the end if it was called meanwhile. */
export function atMostEvery(ms: number, f: () => void): { call: () => void; cancel: () => void } {
  let timer: ReturnType<typeof setTimeout> | undefined;
  let again = false;
  const call = (): void => {
    if (timer !== undefined) {
      again = true;
      return;
    }
    f();
    timer = setTimeout(() => {
      timer = undefined;
      if (again) {
        again = false;
        call();
      }
    }, ms);
  };
  return { call, cancel: () => clearTimeout(timer) };
}
