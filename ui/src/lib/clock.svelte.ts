// The server's time. It comes with each event; the browser's clock only counts on between two of them and is
// never trusted for "now". One timer moves all countdowns.

class Clock {
  /** Moves once a second; whoever shows a countdown reads it. */
  now = $state(Date.now());
  speed = $state(1);
  virtual = $state(false);
  known = $state(false);
  #at = performance.now();
  #server = Date.now();
  #timer: ReturnType<typeof setTimeout> | undefined;

  /** The server said that it is this late now. */
  set(time: string | number): void {
    const server = typeof time === 'number' ? time : Date.parse(time);
    if (Number.isNaN(server)) return;
    // Small steps back would make a countdown jump: a message that took longer is ignored.
    const expected = this.read();
    if (this.known && !this.virtual && server < expected && expected - server < 1500) return;
    this.#server = server;
    this.#at = performance.now();
    this.known = true;
    this.#tick();
  }

  setSpeed(speed: number, time: string, realTime: string): void {
    this.speed = speed;
    this.virtual = speed !== 1 || Math.abs(Date.parse(time) - Date.parse(realTime)) > 2000;
    this.known = false;
    this.set(time);
  }

  /** Now, to the millisecond. */
  read(): number {
    return this.#server + (performance.now() - this.#at) * this.speed;
  }

  start(): void {
    this.#tick();
  }

  #tick = (): void => {
    clearTimeout(this.#timer);
    const n = this.read();
    this.now = this.speed === 1 ? Math.floor(n / 1000) * 1000 : n;
    const wait = this.speed === 1 ? 1000 - (n % 1000) + 5 : 250;
    this.#timer = setTimeout(this.#tick, wait);
  };
}

export const clock = new Clock();
