// Polls at an interval, with back-off while calls fail, and not at all while the page is
// hidden.

const LONGEST = 60_000;

/**
 * Milliseconds until the next call: the interval, doubled for every failure in a row up to a minute, but
 * never less than the server's Retry-After.
 */
export function wait(interval, failures, retryAfter = 0) {
  const backedOff = failures ? Math.max(interval, Math.min(LONGEST, interval * 2 ** failures)) : interval;
  return Math.max(backedOff, retryAfter * 1000);
}

export class Poller {
  #timer;
  #current; // AbortController of the call under way
  #failures = 0;
  #due = 0;
  #live = true;

  /**
   * load(signal) returns the milliseconds until the next call, or throws; failed(error, ms) gets the error and the time
   * until the next attempt. A superseded or stopped call is aborted, and its error is dropped.
   */
  constructor(load, failed, page = document) {
    Object.assign(this, { load, failed, page });
    page.addEventListener("visibilitychange", () => this.#schedule(Math.max(0, this.#due - Date.now())));
  }

  /** Calls at once, replacing a call under way. */
  async refresh() {
    clearTimeout(this.#timer);
    this.#current?.abort();
    const mine = (this.#current = new AbortController());
    let next;
    try {
      next = await this.load(mine.signal);
      if (mine.signal.aborted) return;
      this.#failures = 0;
    } catch (error) {
      if (mine.signal.aborted) return;
      next = wait(5_000, ++this.#failures, error.retryAfter);
      this.failed(error, next);
    }
    this.#current = undefined;
    this.#due = Date.now() + next;
    this.#schedule(next);
  }

  stop() {
    clearTimeout(this.#timer);
    this.#current?.abort();
    this.#current = undefined;
    this.#due = Infinity;
  }

  get live() {
    return this.#live;
  }

  /** Whether it polls by itself; refresh() always works. */
  set live(on) {
    this.#live = on;
    this.#schedule(Math.max(0, this.#due - Date.now()));
  }

  #schedule(ms) {
    clearTimeout(this.#timer);
    if (this.#current || !this.#live || this.page.hidden || ms === Infinity) return;
    this.#timer = setTimeout(() => this.refresh(), ms);
  }
}
