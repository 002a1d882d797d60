// The loop of a scraper: lease, fetch politely, report.
import { createHash } from "node:crypto";
import { setTimeout as sleep } from "node:timers/promises";
import { Engine, tellUncaught } from "./engine.mjs";
import { decode, readPage } from "./html.mjs";
import { get, retryAfter } from "./http.mjs";
import { Robots, keep } from "./robots.mjs";

const MARGIN = 30_000; // ms before the end of a lease in which no request begins
const MAX_LEASE = 900; // seconds
const MAX_ITEMS = 500; // of a lease
const MAX_TEXTS = 10_000; // whose pages are remembered
const MIN_TEXT = 200; // characters of a text that says which page it is
const MAX_REDIRECTS = 5; // on a host
const FLUSH = 2000; // ms after which results are reported
const SOON = 50; // seconds: an engine that expects nothing so soon may have nothing left, and has nothing if
const QUIET = 10_000; // ms later it still expects nothing so soon
const STOP = 5000; // ms for which the pages under way are waited for when the program is stopped
const ENDED =
  "ended, for nothing is left now; of a site with more pages than wait at once the next come within minutes";
const HOST_ERRORS = { ENOTFOUND: "unresolved", EPRIVATE: "private_address" }; // by code: errors of a host, not of a page

/** The program was stopped before a request began. */
class Stopped extends Error {}

/** ms by a clock that nobody sets, unlike Date.now(): pauses and leases stay as long as they are. */
const now = () => performance.now();

/** A lease at work. Its end is by this machine's clock, which need not agree with the engine's. */
class Lease {
  done = []; // results that are not reported yet
  renewal;
  flushing;

  constructor(answer, seconds, sent, hosts) {
    Object.assign(this, { id: answer.lease_id, expiresAt: answer.expires_at, hosts: answer.hosts ?? {} });
    this.urls = new Map(answer.items.map(({ id, url }) => [id, url]));
    this.ends = sent + seconds * 1000;
    this.left = hosts; // that are not finished
  }

  prolong(expiresAt) {
    this.ends += Math.max(Date.parse(expiresAt) - Date.parse(this.expiresAt), 0);
    this.expiresAt = expiresAt;
  }

  fits(wait) {
    return now() + wait * 1000 < this.ends - MARGIN;
  }
}

export class Frontier {
  #options;
  #engine;
  #robots;
  #log;
  #leases = new Set();
  #asked = new Map(); // by host: when it answered last
  #texts = new Map(); // by digest: the page that showed the text first
  #visits = 0; // hosts that are asked now
  #wake = () => {};
  #failure;
  #stopping = new AbortController();

  constructor(options = {}) {
    const { hosts = 16, perHost = 5, leaseSeconds = 300, fetch = get } = options;
    const { log = (message) => console.error(message) } = options;
    this.#options = { ...options, hosts, perHost, leaseSeconds, fetch };
    this.#log = log;
    this.#engine = new Engine({ url: options.url, token: options.token, scraper: options.scraper, log });
    this.#robots = new Robots(this.#engine, fetch, options.robotsSeconds);
  }

  /**
   * Fetches what it leases, and calls the handler with each page that was received with 200. Resolves when it was stopped, or
   * with untilIdle when no domain is being collected, nobody paused the pipeline, and two leases ten seconds apart are empty
   * and expect nothing within 50 s; more pages of a large site may come later. Two are needed: one also comes while pages are
   * being put, or a host has a short rest.
   * Rejects with an EngineError when the engine refuses a call, for want of a token, say, or is not there.
   */
  async run(handler) {
    const { signals = ["SIGINT", "SIGTERM"] } = this.#options;
    const stop = () => this.stop().finally(() => process.exit());
    for (const signal of signals) process.once(signal, stop);
    try {
      await this.#loop(handler);
    } catch (error) {
      tellUncaught(error);
      throw error;
    } finally {
      for (const signal of signals) process.off(signal, stop);
    }
  }

  /** Begins no more requests, reports what was fetched, and gives the rest back, so that others need not wait for it. */
  async stop() {
    this.#stopping.abort();
    const ends = now() + STOP;
    while (this.#visits > 0 && now() < ends) await sleep(20);
    this.#engine.close();
    const leases = [...this.#leases];
    const given = await Promise.allSettled(
      leases.map((lease) => this.#report(lease).then(() => this.#engine.release(lease.id))),
    );
    for (const { reason } of given) if (reason) this.#log(reason.message);
  }

  async #loop(handler) {
    const { hosts, perHost, leaseSeconds, untilIdle } = this.#options;
    const { country, category, types, kinds, domain, host, minScore: min_score } = this.#options;
    const wanted = {
      country,
      category,
      types,
      kinds,
      domain,
      host,
      min_score,
      per_host: perHost,
      lease_seconds: leaseSeconds,
    };
    let idle = false; // by the lease before
    while (!this.#stopping.signal.aborted) {
      if (this.#failure) throw this.#failure;
      const spare = hosts - this.#visits;
      if (spare * 4 < hosts) {
        await this.#change(60_000); // too few for a call
        continue;
      }
      const sent = now();
      const answer = await this.#engine.lease({
        ...wanted,
        max: Math.min(spare * perHost, MAX_ITEMS),
        max_hosts: Math.min(spare, MAX_ITEMS),
      });
      const wait = answer.retry_after_seconds * 1000;
      const wasIdle = idle;
      idle = false;
      if (answer.items.length > 0) this.#begin(answer, sent, handler);
      else if (this.#visits > 0) await this.#change(wait);
      else if (!untilIdle || answer.retry_after_seconds <= SOON) {
        this.#log(`nothing to fetch for ${answer.retry_after_seconds} s${heldBack(answer)}`);
        await this.#pause(wait);
      } else {
        const collecting = await this.#engine.collecting(country, category);
        const why = collecting > 0 ? `; domains that are being collected: ${collecting}` : "";
        this.#log(`nothing to fetch for ${answer.retry_after_seconds} s${why}${heldBack(answer)}`);
        idle = collecting === 0 && answer.stopped_by?.kind !== "pause";
        if (idle && wasIdle) {
          this.#log(ENDED);
          break;
        }
        await this.#pause(QUIET);
      }
    }
    if (this.#failure) throw this.#failure;
  }

  #begin(answer, sent, handler) {
    const groups = new Map(); // by host; Map.groupBy is not in Node 20
    for (const item of answer.items) groups.set(item.host, [...(groups.get(item.host) ?? []), item]);
    const lease = new Lease(answer, this.#options.leaseSeconds, sent, groups.size);
    this.#leases.add(lease);
    // Hosts side by side, the pages of one host one after another.
    for (const items of groups.values()) {
      this.#visits++;
      this.#visit(lease, items, handler)
        .then(() => this.#finish(lease))
        .catch((error) => (this.#failure = error))
        .finally(() => {
          this.#visits--;
          this.#wake();
        });
    }
  }

  /** Reports what a lease has when its last host is finished, else soon: its hosts are free when they are reported. */
  async #finish(lease) {
    if (--lease.left === 0) {
      await lease.flushing;
      await this.#report(lease);
      if (!this.#stopping.signal.aborted) this.#leases.delete(lease); // else it is released
      return;
    }
    lease.flushing ??= this.#pause(FLUSH)
      .then(() => (lease.flushing = undefined))
      .then(() => this.#report(lease));
    lease.flushing.catch((error) => (this.#failure = error));
  }

  async #report(lease) {
    const results = lease.done.splice(0);
    if (results.length === 0) return;
    const { accepted, added } = await this.#engine.report(lease.id, results);
    this.#log(
      `${counted(accepted, "page")} reported, ${counted(added, "new URL")} found${failures(results, lease.urls)}`,
    );
  }

  /** Fetches the items of one host, a request at a time at the host's delay, and notes their results. */
  async #visit(lease, items, handler) {
    const { host, user_agent: agent } = items[0];
    const visit = { host, agent, lease, delay: items[0].crawl_delay_seconds, crawlDelay: undefined, rules: new Map() };
    let last;
    const done = (item, result) =>
      lease.done.push({ ...(last = result), id: item.id, crawl_delay_seconds: visit.crawlDelay });
    let hostError;
    for (const item of items) {
      const tired = [429, 503].includes(last?.status); // the host wants to be left alone
      if (hostError) done(item, hostError);
      else if (tired || last?.error === "not_fetched" || !(await this.#inTime(lease, this.#wait(visit)))) {
        if (this.#stopping.signal.aborted) return;
        if (!last) await this.#pause(lease.ends - MARGIN - now()); // it would only be leased once more
        done(item, { error: "not_fetched" });
      } else {
        try {
          done(item, await this.#obtain(item, visit, handler));
        } catch (error) {
          if (error instanceof Stopped) return; // what is left is released
          const why = HOST_ERRORS[error.code];
          done(item, { error: why ?? String(error.message).slice(0, 200) }); // an answer that breaks off is none
          if (why) hostError = { error: why };
        }
      }
    }
  }

  /** Fetches an item as robots.txt and the host's delay allow it. */
  async #obtain(item, visit, handler) {
    let url = item.url;
    let result; // of the request before, which was redirected
    for (let i = 0; ; i++) {
      const { rules, ...unknown } = await this.#rulesFor(url, visit);
      if (!rules) return result ?? { error: "robots_unknown", retry_after_seconds: unknown.retryAfter };
      if (!rules.allows(url)) return result ?? { error: "robots_disallowed" };
      if (rules.delay) {
        visit.crawlDelay = rules.delay;
        visit.delay = Math.max(visit.delay, rules.delay);
      }
      if (!(await this.#inTime(visit.lease, this.#wait(visit)))) return result ?? { error: "not_fetched" };
      const conditions = i === 0 ? { "If-None-Match": item.etag, "If-Modified-Since": item.last_modified } : {};
      const fetched_at = new Date().toISOString();
      const headers = { "User-Agent": visit.agent, ...conditions };
      const answer = await this.#asking(visit, () => this.#options.fetch(url, headers, item));
      result = { status: answer.status, fetched_at, retry_after_seconds: retryAfter(answer.headers["retry-after"]) };
      if (url !== item.url) result.redirected_to = url;
      if (answer.status === 200) return { ...result, ...(await this.#read(item, url, answer, handler)) };
      const { location } = answer.headers;
      if (!(answer.status >= 300 && answer.status < 400 && location && URL.canParse(location, url))) return result;
      const target = new URL(location, url);
      if (target.hostname !== new URL(item.url).hostname) return { ...result, urls: [{ url: target.href }] }; // a page of its own
      // On its host it is followed: as a found URL, http and https of a page are one.
      if (i === MAX_REDIRECTS || target.href === url) return result;
      url = result.redirected_to = target.href;
    }
  }

  /** The rules for a URL, as they were read first in this visit. */
  #rulesFor(url, visit) {
    const { origin } = new URL(url);
    if (!visit.rules.has(origin)) visit.rules.set(origin, this.#readRules(url, visit));
    return visit.rules.get(origin);
  }

  async #readRules(url, visit) {
    try {
      const of = visit.lease.hosts[visit.host]?.robots;
      return await this.#robots.for(url, visit.host, visit.agent, of, (send) => this.#asking(visit, send));
    } catch (error) {
      if (HOST_ERRORS[error.code] || error instanceof Stopped) throw error;
      this.#log(`${new URL(url).origin}/robots.txt: ${printable(error.message)}`);
      return {}; // no answer forbids everything for now
    }
  }

  /** Sends a request when the host's delay is over. */
  async #asking(visit, send) {
    do {
      await this.#pause(this.#wait(visit) * 1000);
      if (this.#stopping.signal.aborted) throw new Stopped();
    } while (this.#wait(visit) > 0); // a timer may be early
    try {
      return await send();
    } finally {
      keep(this.#asked, visit.host, now());
    }
  }

  /** Seconds until a request to the host may begin. */
  #wait({ host, delay }) {
    return Math.max((this.#asked.get(host) ?? -Infinity) / 1000 + delay - now() / 1000, 0);
  }

  /** Reads a page, has the handler see it, and says what the frontier wants to know about it. */
  async #read(item, url, answer, handler) {
    const { etag = "", "last-modified": last_modified = "", "content-type": type = "" } = answer.headers;
    const result = { etag, last_modified, sha256: sha256(answer.body) };
    const page = { url, item, status: answer.status, headers: answer.headers, body: answer.body, links: [] };
    if (!type || /html/i.test(type)) {
      page.html = decode(answer.body, type);
      const { text, links, evidence } = readPage(page.html, url);
      Object.assign(page, { text, links, evidence, title: evidence.h1 || evidence.title });
      result.text_sha256 = sha256(text);
      result.duplicate_of = this.#original(text, result.text_sha256, item.url);
      result.page = evidence;
    }
    page.sha256 = result.sha256;
    let told = answer.told ?? {};
    try {
      told = { ...told, ...(await handler?.(page)) };
    } catch (error) {
      this.#log(`${url}: ${error.stack}`); // the page was fetched
    }
    for (const name of ["type", "paywalled", "duplicate_of"]) if (told[name] !== undefined) result[name] = told[name];
    const titled = new Map(page.links.map((link) => [link.url, link]));
    const urls = told.urls?.map((link) => (link.title ? link : (titled.get(link.url) ?? link)));
    return { ...result, urls: urls ?? page.links };
  }

  /** The page that showed the same text first: another one, or undefined. */
  #original(text, digest, url) {
    if (text.length < MIN_TEXT) return undefined; // many pages have next to none
    const first = this.#texts.get(digest) ?? url;
    keep(this.#texts, digest, first, MAX_TEXTS);
    return first === url ? undefined : first;
  }

  /** Whether a request may begin after a wait, in seconds: a lease that runs short is renewed, if it can be. */
  async #inTime(lease, wait) {
    const seconds = Math.max(this.#options.leaseSeconds, Math.ceil(wait) + 60);
    for (let i = 0; i < 2 && !lease.fits(wait) && seconds <= MAX_LEASE; i++) {
      lease.renewal ??= this.#renew(lease, seconds).finally(() => (lease.renewal = undefined));
      await lease.renewal; // another host's, perhaps, which may be too short
    }
    return lease.fits(wait) && !this.#stopping.signal.aborted;
  }

  /** Renews the lease, which the engine does for up to an hour. Hosts that are finished are freed before. */
  async #renew(lease, seconds) {
    await this.#report(lease);
    const expiresAt = await this.#engine.renew(lease.id, seconds);
    if (expiresAt) lease.prolong(expiresAt);
  }

  /** Resolves when a host is finished, at the latest after some ms. */
  async #change(ms) {
    const timer = new AbortController();
    const finished = new Promise((resolve) => (this.#wake = resolve));
    await Promise.race([finished, this.#pause(ms, timer.signal)]);
    timer.abort();
  }

  /** Sleeps, but not when the program is stopped. */
  async #pause(ms, ...others) {
    if (!(ms > 0)) return;
    const signal = AbortSignal.any([this.#stopping.signal, ...others]);
    await sleep(Math.min(ms, 2 ** 31 - 1), undefined, { signal }).catch(() => {});
  }
}

const counted = (n, what) => `${n} ${what}${n === 1 ? "" : "s"}`;

/** Which pages were not received, and why, each reason with an example: the three most frequent. */
function failures(results, urls) {
  const pages = new Map(); // by reason
  for (const { id, status, error } of results) {
    if ((status >= 200 && status < 400) || error === "not_fetched") continue;
    const why = error ?? `HTTP ${status}`;
    pages.set(why, [...(pages.get(why) ?? []), urls.get(id)]);
  }
  return [...pages]
    .sort(([, a], [, b]) => b.length - a.length)
    .slice(0, 3)
    .map(([why, [url, ...others]]) => `; ${others.length + 1} not received (${printable(why)}), such as ${url}`)
    .join("");
}

/** A message that cannot control the terminal. */
function printable(text) {
  return String(text).replace(/[\p{Cc}\p{Cf}]/gu, "?");
}

function sha256(data) {
  return createHash("sha256").update(data).digest("hex");
}

/** Says who keeps everything back, as "; operators keep it back: pause by main, for maintenance", or nothing. */
function heldBack({ stopped_by: stop }) {
  if (!stop) return "";
  return `; operators keep it back: ${stop.kind}${stop.by ? ` by ${stop.by}` : ""}${stop.reason ? `, ${stop.reason}` : ""}`;
}
