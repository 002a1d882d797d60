// A scraper that works from the Seed Engine's frontier, in nothing but Node 22 or later; docs/frontier.md
// explains each step. It prints a line of JSON for each page that it fetched.
//
//   SEED_API_URL=https://seed.example.com SEED_API_TOKEN=… node docs/scraper.mjs [--until-idle]
import { createHash } from "node:crypto";
import { lookup } from "node:dns";
import { request as requestHTTP } from "node:http";
import { request as requestHTTPS } from "node:https";
import { BlockList, isIP } from "node:net";
import { pipeline } from "node:stream";
import { setTimeout as sleep } from "node:timers/promises";
import { createBrotliDecompress, createGunzip, createInflate } from "node:zlib";

const engine = process.env.SEED_API_URL ?? "http://localhost:8787";
const untilIdle = process.argv.includes("--until-idle");
const MAX_PAGE = 5_000_000; // bytes
const MAX_LINKS = 200; // reported of one page
const MAX_FOUND = 5000; // links of one report
const MAX_REPORT = 900_000; // bytes of one report; the engine takes 1 MB
const MAX_REDIRECTS = 5; // of a robots.txt
const MAX_TEXTS = 10_000; // whose pages are remembered
const MIN_TEXT = 200; // characters of a text that says which page it is
const LEASE = Number(process.env.LEASE_SECONDS ?? 300);
const MAX_LEASE = 900;
const MARGIN = 30_000; // ms before the end of a lease in which no request begins
const HOST_ERRORS = { ENOTFOUND: "unresolved", EPRIVATE: "private_address" }; // by code: errors of a host, not of a page
const DECODERS = { br: createBrotliDecompress, deflate: createInflate, gzip: createGunzip };

// Networks that are not public (IANA's special-purpose registries), by family: a list of both would find IPv4 in ::/3.
const RESERVED = {
  ipv4: networks(
    ...["0.0.0.0/8", "10.0.0.0/8", "100.64.0.0/10", "127.0.0.0/8", "169.254.0.0/16", "172.16.0.0/12", "192.0.0.0/24"],
    ...["192.0.2.0/24", "192.168.0.0/16", "198.18.0.0/15", "198.51.100.0/24", "203.0.113.0/24", "224.0.0.0/3"],
  ),
  ipv6: networks("::/3", "2001::/23", "2001:db8::/32", "2002::/16", "3fff::/20", "4000::/2", "8000::/1"),
};

const texts = new Map(); // by digest: the page that showed the text first
let lease; // with what is done and not reported yet
let stopping = false;
for (const signal of ["SIGINT", "SIGTERM"])
  process.once(signal, async () => {
    stopping = true;
    if (lease?.lease_id) {
      await report();
      await call(`lease/${lease.lease_id}/release`, {}); // others need not wait for its end
    }
    process.exit();
  });

for (;;) {
  const sent = Date.now();
  lease = await call("lease", { max: 50, per_host: 5, lease_seconds: LEASE });
  // By this machine's clock, which need not agree with the engine's.
  Object.assign(lease, { ends: sent + LEASE * 1000, done: [], accepted: 0, added: 0 });
  if (lease.items.length === 0) {
    console.error(`nothing to fetch for ${lease.retry_after_seconds} s`);
    if (untilIdle && lease.retry_after_seconds > 30) break;
    await sleep(lease.retry_after_seconds * 1000);
    continue;
  }
  // Hosts side by side, the pages of one host one after another.
  const hosts = Map.groupBy(lease.items, (item) => item.host).values();
  await Promise.all(Array.from(hosts, visit));
  await report();
  console.error(`${lease.items.length} leased, ${lease.accepted} reported, ${lease.added} new URLs found`);
}

/** Divides results into reports that the engine takes. */
function divide(results) {
  const parts = [];
  let [found, bytes] = [Infinity, Infinity];
  for (const result of results) {
    const links = result.urls?.length ?? 0;
    const size = Buffer.byteLength(JSON.stringify(result)) + 1;
    if (found + links > MAX_FOUND || bytes + size > MAX_REPORT) {
      parts.push([]);
      [found, bytes] = [0, 100];
    }
    found += links;
    bytes += size;
    parts.at(-1).push(result);
  }
  return parts;
}

/** Calls the frontier. A call that got no answer, or 503, is repeated: that does no harm. */
async function call(operation, body) {
  for (let wait = 1; ; wait = Math.min(wait * 2, 60)) {
    const answer = await fetch(`${engine}/api/v1/frontier/${operation}`, {
      method: "POST",
      headers: { "Content-Type": "application/json", Authorization: `Bearer ${process.env.SEED_API_TOKEN ?? ""}` },
      body: JSON.stringify(body),
      signal: AbortSignal.timeout(60_000),
    }).catch((error) => error);
    const { success, data, error } = answer instanceof Error ? { error: answer } : await answer.json();
    if (success) return data;
    if (answer.status && answer.status !== 503)
      throw Object.assign(new Error(`${operation}: ${error.field ?? ""} ${error.message}`), { status: answer.status });
    console.error(`${operation}: ${error.message}; again in ${wait} s`);
    await sleep(wait * 1000);
  }
}

/** Whether a request may begin after a wait, in seconds: a lease that runs short is renewed, if it can be. */
async function inTime(wait) {
  const fits = () => Date.now() + wait * 1000 < lease.ends - MARGIN;
  for (let i = 0; i < 2 && !fits() && wait < MAX_LEASE - 60; i++) {
    lease.renewal ??= renew(Math.max(LEASE, Math.ceil(wait) + 60));
    await lease.renewal; // another host's, perhaps, which may be too short
  }
  return fits() && !stopping;
}

/** Renews the lease, which the engine does for up to an hour. Hosts that are finished are freed before. */
async function renew(seconds) {
  try {
    await report();
    const { expires_at } = await call(`lease/${lease.lease_id}/renew`, { lease_seconds: seconds });
    lease.ends += Date.parse(expires_at) - Date.parse(lease.expires_at);
    lease.expires_at = expires_at;
  } catch (error) {
    if (error.status !== 409) throw error; // it is over
  }
  lease.renewal = undefined;
}

/** Reports what was done. */
async function report() {
  for (const part of divide(lease.done.splice(0))) {
    const counts = await call("report", { lease_id: lease.lease_id, results: part });
    lease.accepted += counts.accepted;
    lease.added += counts.added;
  }
}

/** Fetches the items of one host, a request at a time at the host's delay, and notes their results. */
async function visit(items) {
  let rules;
  let last; // result
  const done = (item, result) =>
    lease.done.push({ ...(last = result), id: item.id, crawl_delay_seconds: rules?.delay });
  try {
    rules = await robots(items[0]);
  } catch (error) {
    for (const item of items) done(item, { error: HOST_ERRORS[error.code] });
    return;
  }
  const delay = Math.max(items[0].crawl_delay_seconds, rules?.delay ?? 0); // seconds
  for (const item of items) {
    const tired = [429, 503].includes(last?.status); // the host wants to be left alone
    if (tired || last?.error === "not_fetched" || !(await inTime(delay))) {
      if (!last && !stopping) await sleep(lease.ends - MARGIN - Date.now()); // it would only be leased once more
      done(item, { error: "not_fetched" });
      continue;
    }
    await sleep(delay * 1000); // since the request before, the first of which was for robots.txt
    if (!rules) done(item, { error: "robots_unknown" });
    else if (!allowed(rules, item.url)) done(item, { error: "robots_disallowed" });
    else done(item, await follow(await fetchPage(item), item, rules, delay));
  }
}

/** Follows a redirect on the same host, as a request of its own: as a found URL, http and https of a page are one. */
async function follow(result, item, rules, delay) {
  const url = result.redirected_to;
  if (!url || !allowed(rules, url) || !(await inTime(delay))) return result;
  await sleep(delay * 1000);
  return { redirected_to: url, ...(await fetchPage({ ...item, url })) };
}

/** The text of a page without what changes though the page does not. */
function plainText(html) {
  const rest = html.replace(/<(script|style|nav|header|footer|aside|iframe)\b[^]*?<\/\1\s*>/gi, " ");
  return rest
    .replace(/<[^>]*>/g, " ")
    .replace(/\s+/g, " ")
    .trim();
}

/** The page that showed the same text first: another one, or undefined. */
function original(text, digest, url) {
  if (text.length < MIN_TEXT) return undefined; // many pages have next to none
  const first = texts.get(digest) ?? url;
  texts.delete(digest);
  texts.set(digest, first);
  if (texts.size > MAX_TEXTS) texts.delete(texts.keys().next().value);
  return first === url ? undefined : first;
}

/** Fetches a page and says what the frontier wants to know about it. */
async function fetchPage(item) {
  const result = { id: item.id, fetched_at: new Date().toISOString() };
  try {
    const conditions = { "If-None-Match": item.etag, "If-Modified-Since": item.last_modified };
    const answer = await ask(item.url, item.user_agent, conditions);
    const { location, etag, "last-modified": lastModified, "retry-after": again } = answer.headers;
    result.status = answer.status;
    result.retry_after_seconds = retryAfter(again);
    if (answer.status === 200) {
      result.etag = etag ?? "";
      result.last_modified = lastModified ?? "";
      result.sha256 = createHash("sha256").update(answer.text).digest("hex");
      const text = plainText(answer.text);
      result.text_sha256 = createHash("sha256").update(text).digest("hex");
      result.duplicate_of = original(text, result.text_sha256, item.url);
      result.urls = links(answer.text, item.url);
      console.log(JSON.stringify({ url: item.url, type: item.type, bytes: answer.text.length, sha256: result.sha256 }));
    } else if (location && URL.canParse(location, item.url)) {
      const target = new URL(location, item.url);
      if (target.hostname === item.host) result.redirected_to = target.href;
      else result.urls = [{ url: target.href }]; // a page of its own
    }
  } catch (error) {
    const why = HOST_ERRORS[error.code] ?? String(error.message).slice(0, 200);
    return { id: item.id, fetched_at: result.fetched_at, error: why }; // an answer that breaks off is none
  }
  return result;
}

/**
 * A request as all are sent: to a public address, with the engine's name, at most 20 s long, redirects not followed.
 * Resolves to the status, the headers, and the text of a 200.
 */
async function ask(url, agent, headers = {}) {
  const { protocol, hostname } = new URL(url);
  const host = hostname.replace(/^\[|\]$/g, "");
  if (isIP(host) && !isPublic(host)) throw privateAddress(host, host); // it is not looked up
  const wanted = Object.entries(headers).filter(([, value]) => value);
  const options = {
    headers: { "User-Agent": agent, "Accept-Encoding": "gzip, deflate, br", ...Object.fromEntries(wanted) },
    lookup: lookupPublic,
    signal: AbortSignal.timeout(20_000),
  };
  const send = protocol === "https:" ? requestHTTPS : requestHTTP;
  const answer = await new Promise((resolve, reject) => send(url, options, resolve).on("error", reject).end());
  const { statusCode: status, headers: received } = answer;
  if (status === 200) return { status, headers: received, text: await textOf(answer) };
  answer.destroy();
  return { status, headers: received };
}

/**
 * Looks up a host for a connection. Whoever controls a name can have it lead into your network, and change it at any
 * time: what is checked must be the addresses that the connection uses, and all of them.
 */
function lookupPublic(host, options, done) {
  lookup(host, { ...options, all: true }, (error, found) => {
    const inside = found?.find(({ address }) => !isPublic(address));
    if (error || inside) done(error ?? privateAddress(host, inside.address));
    else if (options.all) done(null, found);
    else done(null, found[0].address, found[0].family);
  });
}

function privateAddress(host, address) {
  return Object.assign(new Error(`${host} has the address ${address}, which is not public`), { code: "EPRIVATE" });
}

function isPublic(address) {
  const family = isIP(address) === 6 ? "ipv6" : "ipv4";
  return !RESERVED[family].check(address.split("%")[0], family);
}

function networks(...ranges) {
  const list = new BlockList();
  for (const range of ranges) {
    const [address, bits] = range.split("/");
    list.addSubnet(address, Number(bits), isIP(address) === 6 ? "ipv6" : "ipv4");
  }
  return list;
}

async function textOf(answer) {
  const decoder = DECODERS[answer.headers["content-encoding"]];
  const chunks = [];
  let size = 0;
  for await (const chunk of decoder ? pipeline(answer, decoder(), () => {}) : answer) {
    chunks.push(chunk);
    if ((size += chunk.length) > MAX_PAGE) break;
  }
  return Buffer.concat(chunks).toString();
}

/** Retry-After in seconds: it is a number or a date. */
function retryAfter(value) {
  const seconds = /^\d+$/.test(value ?? "") ? Number(value) : Math.ceil((Date.parse(value) - Date.now()) / 1000);
  return seconds > 0 ? seconds : undefined;
}

/** The links of a page to http(s) addresses. Use an HTML parser in earnest. */
function links(html, base) {
  return [...html.matchAll(/<a\s[^>]*?href\s*=\s*["']?([^"'\s>]+)/gi)]
    .flatMap(([, href]) => (URL.canParse(href, base) ? [new URL(href, base)] : []))
    .filter((url) => url.protocol.startsWith("http") && url.href.length <= 2083)
    .slice(0, MAX_LINKS)
    .map((url) => ({ url: url.href }));
}

/**
 * The rules of a host's robots.txt that are for us (RFC 9309); null when the host forbids everything by not
 * answering, or has it on another host, which nobody gave us. Throws HOST_ERRORS. Use a library in earnest, and ask once a day rather than
 * for every lease.
 */
async function robots({ url, host, user_agent: agent, crawl_delay_seconds: delay }) {
  try {
    let from = new URL("/robots.txt", url);
    let answer = await ask(from, agent);
    for (let i = 0; answer.status >= 300 && answer.status < 400; i++) {
      from = new URL(answer.headers.location, from);
      if (from.hostname !== host || i === MAX_REDIRECTS) return null;
      await sleep(delay * 1000);
      answer = await ask(from, agent);
    }
    if (answer.status >= 500 || answer.status === 429) return null;
    return rulesFor(answer.text ?? "", agent.split("/")[0].toLowerCase());
  } catch (error) {
    if (HOST_ERRORS[error.code]) throw error;
    return null;
  }
}

function rulesFor(text, product) {
  const groups = new Map();
  let names = [];
  let inRules = false;
  for (const line of text.split(/[\r\n]+/)) {
    const [, field, value] = /^\s*([\w-]+)\s*:\s*([^#]*)/.exec(line) ?? [];
    const name = field?.toLowerCase();
    if (name === "user-agent") {
      if (inRules) names = [];
      inRules = false;
      names.push(value.trim().toLowerCase().split("/")[0]);
      groups.set(names.at(-1), groups.get(names.at(-1)) ?? Object.assign([], { delay: 0 }));
    } else if (name === "crawl-delay") {
      for (const one of names) groups.get(one).delay = Number.parseFloat(value) || 0;
    } else if (name === "allow" || name === "disallow") {
      inRules = true;
      if (value.trim()) for (const one of names) groups.get(one).push({ allow: name === "allow", path: value.trim() });
    }
  }
  return groups.get(product) ?? groups.get("*") ?? Object.assign([], { delay: 0 });
}

/** The longest rule that matches decides; of two equally long ones, the one that allows. */
function allowed(rules, url) {
  const { pathname, search } = new URL(url);
  const matching = rules.filter(({ path }) => matches(path, pathname + search));
  const longest = Math.max(...matching.map(({ path }) => path.length));
  return matching.length === 0 || matching.some(({ allow, path }) => allow && path.length === longest);
}

/** Whether a rule matches a path: * stands for anything, $ at its end for the path's end. */
function matches(rule, path) {
  const [first, ...parts] = rule.replace(/\$$/, "").split("*");
  if (!path.startsWith(first)) return false;
  let at = first.length;
  const last = rule.endsWith("$") && parts.length ? parts.pop() : null;
  for (const part of parts) {
    const found = path.indexOf(part, at);
    if (found < 0) return false;
    at = found + part.length;
  }
  if (last !== null) return path.length - last.length >= at && path.endsWith(last);
  return !rule.endsWith("$") || at === path.length;
}
