// robots.txt of hosts: the engine's copy while it is fresh, else the host's own, each read once a day.
import robotsParser from "robots-parser";
import { retryAfter } from "./http.mjs";

const DAY = 86_400; // seconds
const MAX_KEPT = 10_000;
const MAX_REDIRECTS = 5;
const MAX_BYTES = 512_000; // what comes after them is not read (RFC 9309)

/** The rules of one origin. */
class Rules {
  #parsed;
  #agent;

  constructor(url, text, agent) {
    this.#parsed = robotsParser(url, text);
    this.#agent = agent;
  }

  allows(url) {
    return this.#parsed.isAllowed(url, this.#agent) !== false;
  }

  /** Seconds; undefined if it does not ask for a delay. */
  get delay() {
    const delay = Number(this.#parsed.getCrawlDelay(this.#agent));
    return delay > 0 && Number.isFinite(delay) ? Math.min(delay, 86_400) : undefined;
  }
}

export class Robots {
  #engine;
  #fetch;
  #age; // ms
  #copies = new Map(); // the engine's texts, by host
  #read = new Map(); // Rules that were read at the host, by origin

  /** A robots.txt is used for some seconds, a day at most. */
  constructor(engine, fetch, seconds = DAY) {
    this.#engine = engine;
    this.#fetch = fetch;
    this.#age = Math.min(seconds, DAY) * 1000;
  }

  /**
   * The rules for a URL of a host. `of` is what the lease says of the host's robots.txt; `asking` is called around each
   * request to the host. Resolves to {rules}, or to {retryAfter} when the host's robots.txt cannot be read, or is on
   * another host, which nobody gave to this scraper.
   */
  async for(url, host, agent, of, asking) {
    const product = agent.split("/")[0];
    const { origin } = new URL(url);
    const file = `${origin}/robots.txt`;
    const copy = await this.#copy(host, of);
    if (copy !== null) return { rules: new Rules(file, copy, product) };
    const kept = this.#read.get(origin);
    if (kept && Date.now() < kept.until) return { rules: kept.rules };
    const { text, ...failure } = await this.#readAt(file, host, agent, asking);
    if (text === undefined) return failure;
    const rules = new Rules(file, text, product);
    keep(this.#read, origin, { rules, until: Date.now() + this.#age });
    return { rules };
  }

  async #copy(host, of) {
    const kept = this.#copies.get(host);
    if (kept && Date.now() < kept.until) return kept.text;
    const until = Date.parse(of?.expires_at ?? "");
    if (of?.status !== "fresh" || !of.url || !(until > Date.now())) return null;
    const text = await this.#engine.robots(of.url);
    if (text !== null) keep(this.#copies, host, { text, until: Math.min(until, Date.now() + this.#age) });
    return text;
  }

  async #readAt(file, host, agent, asking) {
    let from = file;
    for (let i = 0; ; i++) {
      const { status, headers, body } = await asking(() => this.#fetch(from, { "User-Agent": agent }));
      if (status < 200 || status === 429 || status >= 500) return { retryAfter: retryAfter(headers["retry-after"]) };
      if (status < 300 || status >= 400) return { text: body.subarray(0, MAX_BYTES).toString() };
      if (!URL.canParse(headers.location ?? "", from)) return {};
      const target = new URL(headers.location, from);
      if (target.hostname !== host.replace(/:\d+$/, "") || i === MAX_REDIRECTS) return {};
      from = target.href;
    }
  }
}

/** Puts a value into a cache of bounded size, as its newest. */
export function keep(cache, key, value, most = MAX_KEPT) {
  cache.delete(key);
  cache.set(key, value);
  if (cache.size > most) cache.delete(cache.keys().next().value);
}
