// Refreshes what is shown: again after an interval, later and later while calls fail, not at all while
// nobody looks.

const LONGEST = 60_000;

/**
 * Milliseconds until the next call: the interval, doubled by every failure in a row up to a minute, and
 * never sooner than the server asks.
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
   * load(signal) gives the milliseconds until the next call, or throws; failed(error, ms) hears of that and of the time
   * until the next try. A call that is overtaken or stopped is aborted, and what it throws is dropped.
   */
  constructor(load, failed, page = document) {
    Object.assign(this, { load, failed, page });
    page.addEventListener("visibilitychange", () => this.#schedule(Math.max(0, this.#due - Date.now())));
  }

  /** Calls at once, in the place of a call that is under way. */
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

  /** Whether it goes on by itself; refresh() works all the same. */
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
