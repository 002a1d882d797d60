// The routes of the frontier that a scraper calls.
import { text as readText } from "node:stream/consumers";
import { setTimeout as sleep } from "node:timers/promises";
import { proxyFor, sendThrough } from "./http.mjs";

const MAX_FOUND = 5000; // links of one report
const MAX_RESULTS = 500; // of one report
const MAX_REPORT = 900_000; // bytes of one report; the engine takes 1 MB
const TIMEOUT = 60_000; // ms
const MAX_WAIT = 60; // seconds between two attempts
const MAX_STRANGE = 8; // seconds between two attempts at an engine that has never answered: 15 s in all
const TOKEN = "SEED_API_TOKEN, or the option token, must hold the engine's SCRAPER_TOKEN or API_TOKEN";
const ADDRESS = "SEED_API_URL, or the option url, must be the engine's address";

/**
 * The engine refused a request, or is not there: status and the field of its error say why, the message also what to set.
 * An engine that is not there has no status, and the code "unreachable".
 */
export class EngineError extends Error {
  constructor(message, { status, code, field } = {}) {
    super(message);
    Object.assign(this, { name: "EngineError", status, code, field });
  }
}

/**
 * Has a program end with the message of an error that it does not catch: a stack says nothing of a setting. It has until
 * the end of this turn.
 */
export function tellUncaught(error) {
  if (!(error instanceof EngineError) || process.listenerCount("uncaughtException") > 0) return;
  const tell = (uncaught) => {
    if (uncaught !== error) throw uncaught;
    console.error(error.message);
    process.exit(1);
  };
  process.once("uncaughtException", tell);
  setImmediate(() => process.off("uncaughtException", tell));
}

/**
 * Calls the frontier. A call that got no answer, or 429 or 502 to 504, is repeated: that does no harm. An engine that has
 * never answered is given up after 15 s.
 */
export class Engine {
  #origin;
  #token;
  #scraper;
  #log;
  #answered = false;
  #ending = new AbortController();

  constructor({ url = process.env.SEED_API_URL, token = process.env.SEED_API_TOKEN, scraper, log = () => {} } = {}) {
    this.#origin = (url || "http://localhost:8787").replace(/\/$/, "");
    this.#token = token ?? "";
    this.#scraper = scraper;
    this.#log = log;
  }

  /** From now on no call is repeated. */
  close() {
    this.#ending.abort();
  }

  async lease(wanted) {
    return this.#post("lease", wanted);
  }

  /** Prolongs a lease. Resolves to its new end; null when the lease is over. */
  async renew(leaseId, seconds) {
    try {
      return (await this.#post(`lease/${leaseId}/renew`, { lease_seconds: seconds })).expires_at;
    } catch (error) {
      if (error.status !== 409) throw error;
      return null;
    }
  }

  async release(leaseId) {
    return (await this.#post(`lease/${leaseId}/release`, {})).released;
  }

  /** Reports results, in as many calls as they need. Resolves to the counts of all of them. */
  async report(leaseId, results) {
    const total = { accepted: 0, late: 0, unknown: 0, added: 0 };
    for (const part of divide(results)) {
      const counts = await this.#post("report", { lease_id: leaseId, results: part });
      for (const name in total) total[name] += counts[name] ?? 0;
    }
    return total;
  }

  /** The text of a robots.txt that the engine has, by the `url` of a lease; null if it has none any more. */
  async robots(path) {
    try {
      const { status, text } = await this.#send("GET", path);
      return status === 200 ? text : null;
    } catch {
      return null; // the host has it
    }
  }

  /** How many domains wait for their collection or are being collected; 0 if the engine does not say. */
  async collecting(country, category) {
    const wanted = new URLSearchParams(Object.entries({ country, category }).filter(([, value]) => value));
    try {
      const { text } = await this.#send("GET", `/api/v1/seeds/status?${wanted}`);
      return JSON.parse(text).data.processing_stats.domains_pending;
    } catch {
      return 0;
    }
  }

  async #post(operation, body) {
    if (!/^https?:\/\/[^/]/.test(this.#origin))
      throw new EngineError(`${this.#origin} is not an http or https URL; ${ADDRESS}`, { code: "unreachable" });
    for (let wait = 1; ; wait = Math.min(wait * 2, MAX_WAIT)) {
      const { status, data, error } = await this.#attempt(operation, body);
      if (data) return data;
      if (status && ![429, 502, 503, 504].includes(status)) throw this.#refusal(operation, status, error);
      const message = `${this.#origin}: ${error?.message ?? status}`;
      if (!this.#answered && wait > MAX_STRANGE)
        throw new EngineError(`${this.#origin} does not answer (${error.message}); ${ADDRESS}`, {
          code: "unreachable",
        });
      this.#log(`${operation}: ${message}; again in ${wait} s`);
      try {
        await sleep(wait * 1000, undefined, { signal: this.#ending.signal });
      } catch {
        throw new EngineError(`${operation}: ${message}`, { status, ...error });
      }
    }
  }

  /** Says what was refused, by whom, and what to set if it was the token. */
  #refusal(operation, status, error = {}) {
    let why = [error.field, error.message].filter(Boolean).join(" ");
    if (["unauthorized", "forbidden"].includes(error.code))
      why = `${this.#token ? why.split(";")[0] : "no token was sent"}; ${TOKEN}`;
    return new EngineError(`${this.#origin}: ${operation} refused with ${status}: ${why}`, { status, ...error });
  }

  async #attempt(operation, body) {
    let status;
    try {
      const answer = await this.#send("POST", `/api/v1/frontier/${operation}`, JSON.stringify(body));
      status = answer.status;
      const { success, data, error } = JSON.parse(answer.text);
      this.#answered = true;
      return success ? { status, data } : { status, error };
    } catch (error) {
      // An answer that is not JSON comes from something in between.
      const message = status ? `${status}, which is not the engine's JSON` : reason(error);
      return { status: status && status < 500 && status >= 400 ? status : undefined, error: { message } };
    }
  }

  async #send(method, path, body) {
    const url = this.#origin + path;
    const headers = { Authorization: `Bearer ${this.#token}`, ...(body && { "Content-Type": "application/json" }) };
    if (this.#scraper) headers["X-Scraper"] = this.#scraper;
    const signal = AbortSignal.timeout(TIMEOUT);
    const proxy = proxyFor(url);
    if (!proxy) {
      const answer = await fetch(url, { method, headers, body, signal });
      return { status: answer.status, text: await answer.text() };
    }
    if (body) headers["Content-Length"] = Buffer.byteLength(body);
    const answer = await sendThrough(proxy, url, { method, headers, signal }, body);
    return { status: answer.statusCode, text: await readText(answer) };
  }
}

/** Why a request got no answer. At a name with several addresses each has an error; that of all has no message. */
function reason(error) {
  const cause = error.cause ?? error;
  return cause.errors?.[0]?.message || cause.message || cause.code || error.message;
}

/** Divides results into reports that the engine takes. */
export function divide(results) {
  const parts = [];
  let [found, bytes] = [Infinity, Infinity];
  for (const result of results) {
    const links = result.urls?.length ?? 0;
    const size = Buffer.byteLength(JSON.stringify(result)) + 1;
    if (found + links > MAX_FOUND || bytes + size > MAX_REPORT || parts.at(-1).length === MAX_RESULTS) {
      parts.push([]);
      [found, bytes] = [0, 100];
    }
    found += links;
    bytes += size;
    parts.at(-1).push(result);
  }
  return parts;
}
