// Whether the server answers. Content stays when it does not; a line under the bar says since when.

const RETRY_MS = [1000, 2000, 4000, 8000, 15_000, 30_000];

class Connection {
  lost = $state(false);
  /** When the last answer came, by this browser's own monotonic clock. */
  lastAnswerAt = $state(performance.now());
  nextTryAt = $state(0);
  #tries = 0;
  #timer: ReturnType<typeof setTimeout> | undefined;
  #back = new Set<() => void>();

  answered(): void {
    this.lastAnswerAt = performance.now();
    if (!this.lost) return;
    this.lost = false;
    this.#tries = 0;
    clearTimeout(this.#timer);
    for (const f of this.#back) f();
  }

  failed(): void {
    if (this.lost) return;
    this.lost = true;
    this.#plan();
  }

  /** What is to be read anew when the server is back. */
  onBack(f: () => void): () => void {
    this.#back.add(f);
    return () => this.#back.delete(f);
  }

  tryNow(): void {
    clearTimeout(this.#timer);
    void this.#probe();
  }

  #plan(): void {
    const wait = RETRY_MS[Math.min(this.#tries, RETRY_MS.length - 1)] ?? 30_000;
    this.#tries += 1;
    this.nextTryAt = performance.now() + wait;
    clearTimeout(this.#timer);
    this.#timer = setTimeout(() => void this.#probe(), wait);
  }

  async #probe(): Promise<void> {
    try {
      const answer = await fetch(new URL('healthz', document.baseURI), { cache: 'no-store', headers: { 'X-Punctual-Page': '1' }, signal: AbortSignal.timeout(10_000) });
      // Whatever stands in between may answer for a server that is down.
      if (answer.status < 500) return this.answered();
    } catch {
      // Still nobody there.
    }
    if (this.lost) this.#plan();
  }
}

export const connection = new Connection();
