// The Seed Engine's frontier (docs/frontier.md) as what a Crawlee crawler takes its requests from: copy this file.
import { AsyncLocalStorage } from "node:async_hooks";
import { createHash } from "node:crypto";
import { lookup, type LookupAddress, type LookupOptions } from "node:dns";
import { BlockList, isIP } from "node:net";
import { setTimeout as sleep } from "node:timers/promises";
import {
  GotScrapingHttpClient,
  ProxyConfiguration,
  Request,
  type CheerioCrawlerOptions,
  type CheerioCrawlingContext,
  type IRequestManager,
  type RequestProvider,
} from "@crawlee/cheerio";
import robotsParser from "robots-parser";

const DAY = 24 * 3_600_000;
const MARGIN = 30_000; // ms before the end of a lease in which no request begins
const MAX_LINKS = 200; // reported of one page
const MAX_PAGE = 5_000_000; // bytes
const MAX_REDIRECTS = 5;
const MAX_REPORT = 900_000; // characters; the engine takes 1 MB
const MAX_ROBOTS = 512_000; // bytes; what comes after them is not read (RFC 9309)
const MAX_KEPT = 10_000; // robots.txt files, and hosts with the time of their last answer
const MAX_LEASE = 500; // items
const MIN_TEXT = 200; // characters of a text that says which page it is
const RENEW = 30_000; // ms before a lease runs short at which it is renewed
const TIMEOUT = 20_000; // ms
const STOP = 5000; // ms for which the pages under way are waited for when the program is stopped
const URL_LENGTH = 2083; // bytes

// Networks that are not public (IANA's special-purpose registries), by family: a list of both would find IPv4 in ::/3.
const RESERVED = {
  ipv4: networks(
    ...["0.0.0.0/8", "10.0.0.0/8", "100.64.0.0/10", "127.0.0.0/8", "169.254.0.0/16", "172.16.0.0/12", "192.0.0.0/24"],
    ...["192.0.2.0/24", "192.168.0.0/16", "198.18.0.0/15", "198.51.100.0/24", "203.0.113.0/24", "224.0.0.0/3"],
  ),
  ipv6: networks("::/3", "2001::/23", "2001:db8::/32", "2002::/16", "3fff::/20", "4000::/2", "8000::/1"),
};

export interface FrontierOptions {
  /** Which URLs it wants. */
  country?: string;
  category?: string;
  types?: string[];
  kinds?: ("page" | "entry")[];
  /** How many hosts are asked at once, each one request at a time. */
  hosts?: number;
  perHost?: number;
  leaseSeconds?: number;
  /** How long a robots.txt is good for, a day at most. */
  robotsSeconds?: number;
  /** Whether to end when nothing is left to fetch in the next half minute. */
  untilIdle?: boolean;
  proxyUrl?: string;
}

interface Item {
  id: string;
  url: string;
  host: string;
  etag: string | null;
  last_modified: string | null;
  crawl_delay_seconds: number;
  user_agent: string;
}

interface Leased {
  lease_id: string;
  expires_at: string;
  items: Item[];
  retry_after_seconds: number;
}

/** A lease: until when requests may begin, by this machine's clock, which need not agree with the engine's. */
interface Lease {
  id: string;
  expiresAt: string; // by the engine's
  ends: number;
  hosts: number; // that are not reported
}

type Result = { id: string } & Record<string, unknown>;
type Rules = ReturnType<typeof robotsParser>;
type Headers = Record<string, string | string[] | undefined>;

/** An item on its way through the crawler. */
interface Page {
  item: Item;
  request: Request;
  lease: Lease;
  links: Set<string>;
  result: Record<string, unknown>;
  settle: () => void;
}

/** Gives a CheerioCrawler the pages that it leases, when their hosts may be asked, and reports what became of them. */
export class Frontier implements IRequestManager {
  readonly #options: FrontierOptions;
  readonly #engine = (process.env.SEED_API_URL ?? "http://localhost:8787").replace(/\/$/, "");
  readonly #client = new Client();
  readonly #rules = new Map<string, { read: number; rules: Rules }>(); // by origin
  readonly #asked = new Map<string, number>(); // by host: when it answered last
  readonly #texts = new Map<string, string>(); // by digest: the page that showed the text first
  readonly #leases = new Set<Lease>();
  readonly #ready: Page[] = [];
  readonly #pages = new Map<string, Page>(); // under way, by the request's key
  readonly #current = new AsyncLocalStorage<Page>(); // the page whose handler runs
  #visits = 0;
  #counts = { leased: 0, handled: 0 };
  #running?: Promise<void>;
  #over = false;
  #stopping = false;
  #refused?: Error;

  constructor(options: FrontierOptions = {}) {
    this.#options = { proxyUrl: process.env.https_proxy ?? process.env.HTTPS_PROXY, ...options };
    for (const signal of ["SIGINT", "SIGTERM"] as const)
      process.once(signal, () => void this.#stop().finally(() => process.exit()));
  }

  /**
   * The options of a crawler. The handler is given each HTML or XML page that was received with 200; links that it
   * enqueues are reported, and come back as leases when their time has come.
   */
  options(handler: (context: CheerioCrawlingContext) => Promise<void> | void): CheerioCrawlerOptions {
    const { hosts = 16, proxyUrl } = this.#options;
    return {
      // Of the queue the crawler uses what an IRequestManager has.
      requestQueue: this as unknown as RequestProvider,
      httpClient: this.#client,
      ...(proxyUrl && { proxyConfiguration: new ProxyConfiguration({ proxyUrls: [proxyUrl] }) }),
      // Hosts set the pace, not the load of this machine.
      minConcurrency: hosts,
      maxConcurrency: hosts,
      autoscaledPoolOptions: { maybeRunIntervalSecs: 0.1 },
      navigationTimeoutSecs: TIMEOUT / 1000,
      // A failure is the frontier's to repeat, and its answers are wanted as they are.
      maxRequestRetries: 0,
      maxSessionRotations: 0,
      useSessionPool: false,
      additionalMimeTypes: ["*/*"],
      ignoreHttpErrorStatusCodes: Array.from({ length: 100 }, (_, i) => 500 + i),
      requestHandler: async (context) => {
        const page = this.#pages.get(context.request.uniqueKey);
        if (!page || context.response.statusCode !== 200) return;
        page.result.sha256 = createHash("sha256").update(context.body).digest("hex");
        if (/html/.test(context.contentType.type)) {
          // What changes though the page does not is left out.
          const text = context.$("body").clone();
          text.find("script, style, nav, header, footer, aside, iframe").remove();
          const plain = text.text().replace(/\s+/g, " ").trim();
          const digest = createHash("sha256").update(plain).digest("hex");
          page.result.text_sha256 = digest;
          page.result.duplicate_of = this.#original(plain, digest, page.item.url);
        }
        if (/html|xml/.test(context.contentType.type)) await this.#current.run(page, async () => handler(context));
      },
    };
  }

  // ---- what the crawler asks

  async fetchNextRequest<T extends Record<string, unknown>>(): Promise<Request<T> | null> {
    for (let page; (page = this.#ready.shift());) {
      if (Date.now() < page.lease.ends) {
        this.#client.onAnswer(page.item.url, page.result);
        return page.request as Request<T>;
      }
      page.result.error = "not_fetched";
      this.#settle(page);
    }
    return null;
  }

  async isEmpty(): Promise<boolean> {
    this.#running ??= this.#run().catch((error) => {
      this.#refused = error;
    });
    return this.#ready.length === 0;
  }

  /** Throws when the engine refuses what it is sent, for want of a token, say. */
  async isFinished(): Promise<boolean> {
    if (this.#refused) throw this.#refused;
    return this.#over;
  }

  async markRequestHandled(request: Request): Promise<null> {
    const page = this.#pages.get(request.uniqueKey);
    if (!page) return null;
    const { status, broken } = page.result;
    delete page.result.broken;
    if (status === undefined || broken) {
      delete page.result.status;
      const why = String(broken ?? request.errorMessages.at(-1) ?? "no answer");
      page.result.error = why.includes("ENOTFOUND") ? "unresolved" : why.split("\n")[0]!.slice(0, 200);
    }
    this.#settle(page);
    return null;
  }

  /** The frontier repeats what has to be repeated. */
  async reclaimRequest(request: Request): Promise<null> {
    return this.markRequestHandled(request);
  }

  /** Notes a link of the page whose handler runs. */
  async addRequest(source: string | { url?: string }) {
    const url = typeof source === "string" ? source : source.url;
    const links = this.#current.getStore()?.links;
    if (links && url && links.size < MAX_LINKS && Buffer.byteLength(url) <= URL_LENGTH) links.add(url);
    return { requestId: "", wasAlreadyPresent: false, wasAlreadyHandled: false, uniqueKey: url ?? "" } as never;
  }

  async addRequestsBatched(sources: Iterable<string | object> | AsyncIterable<string | object>) {
    for await (const source of sources) await this.addRequest(source);
    return { addedRequests: [], waitForAllRequestsToBeAdded: Promise.resolve([]) };
  }

  async handledCount() {
    return this.#counts.handled;
  }

  getTotalCount() {
    return this.#counts.leased;
  }

  getPendingCount() {
    return this.#counts.leased - this.#counts.handled;
  }

  async *[Symbol.asyncIterator]() {
    for (let request; (request = await this.fetchNextRequest());) yield request;
  }

  /** The page that showed the same text first: another one, or undefined. Many pages have next to no text. */
  #original(text: string, digest: string, url: string) {
    if (text.length < MIN_TEXT) return undefined;
    const first = this.#texts.get(digest) ?? url;
    keep(this.#texts, digest, first);
    return first === url ? undefined : first;
  }

  #settle(page: Page) {
    this.#pages.delete(page.request.uniqueKey);
    this.#counts.handled++;
    page.settle();
  }

  // ---- leases

  async #run() {
    const { hosts = 16, perHost = 5, leaseSeconds = 300, untilIdle } = this.#options;
    const { country, category, types, kinds } = this.#options;
    for (;;) {
      if (this.#refused || this.#stopping) return;
      const spare = hosts - this.#visits;
      if (spare * 4 < hosts) {
        await sleep(1000); // too few for a call
        continue;
      }
      const sent = Date.now();
      const wanted = { country, category, types, kinds };
      const limits = { max: Math.min(spare * perHost, MAX_LEASE), per_host: perHost, lease_seconds: leaseSeconds };
      const visits = this.#visits;
      const {
        lease_id: id,
        expires_at: expiresAt,
        items,
        retry_after_seconds: again,
      } = await this.#call<Leased>("lease", {
        ...wanted,
        ...limits,
      });
      const groups = [...Map.groupBy(items, (item) => item.host).values()];
      const lease = { id, expiresAt, ends: sent + leaseSeconds * 1000 - MARGIN, hosts: groups.length };
      if (groups.length > 0) {
        this.#leases.add(lease);
        this.#keep(lease).catch((error) => (this.#refused = error));
      }
      for (const group of groups) {
        this.#visits++;
        this.#visit(lease, group)
          .catch((error) => (this.#refused = error))
          .finally(() => {
            this.#visits--;
            if (--lease.hosts === 0) this.#leases.delete(lease);
          });
      }
      if (items.length > 0) await sleep(1000);
      else if (visits > 0) await sleep(Math.min(again, 5) * 1000);
      else if (untilIdle && again > 30) break;
      else await sleep(again * 1000);
    }
    this.#over = true;
  }

  /** Renews a lease shortly before it runs short, as long as pages of it are left; the engine does that for an hour. */
  async #keep(lease: Lease) {
    const { leaseSeconds = 300 } = this.#options;
    for (;;) {
      await pause(Math.max(lease.ends - RENEW - Date.now(), 0));
      if (!this.#leases.has(lease) || this.#stopping) return;
      const renewed = await this.#call<{ expires_at: string }>(`lease/${lease.id}/renew`, {
        lease_seconds: leaseSeconds,
      }).catch((error: Error) => {
        if (error.cause !== 409) throw error; // it is over
      });
      const more = renewed ? Date.parse(renewed.expires_at) - Date.parse(lease.expiresAt) : 0;
      if (!renewed || more < 1000) return;
      lease.expiresAt = renewed.expires_at;
      lease.ends += more;
    }
  }

  /** Reports what was fetched, and gives the rest back, so that others need not wait for the end of the leases. */
  async #stop() {
    this.#stopping = true;
    const leases = [...this.#leases];
    for (const lease of leases) lease.ends = 0;
    const reported = (async () => {
      while (this.#visits > 0) await sleep(50);
    })();
    await Promise.race([reported, sleep(STOP)]);
    await Promise.all(leases.map(({ id }) => this.#call(`lease/${id}/release`, {})));
  }

  /** Fetches the items of one host one after another, and reports them together. */
  async #visit(lease: Lease, items: Item[]) {
    const host = new Host(items[0]!, lease, this.#asked);
    const results: Result[] = [];
    for (const item of items) {
      const result = await this.#obtain(item, host, lease);
      if (!result) break;
      results.push(result);
      if (result.status === 429 || result.status === 503) break; // it wants to be left alone
    }
    const left = items.slice(results.length).map(({ id }) => ({ id, error: "not_fetched" }));
    await this.#report(
      lease.id,
      [...results, ...left].map((result) => ({ ...result, crawl_delay_seconds: host.crawlDelay })),
    );
  }

  /** Fetches an item as robots.txt allows it and the host's delay. Null when the lease is over. */
  async #obtain(item: Item, host: Host, lease: Lease): Promise<Result | null> {
    let target: string | undefined;
    for (let i = 0; ; i++) {
      const page = { ...item, url: target ?? item.url };
      const rules = await this.#robots(page, host);
      if (rules === "unreadable") return { id: item.id, error: "robots_unknown" };
      if (rules?.isDisallowed(page.url, host.product)) return { id: item.id, error: "robots_disallowed" };
      host.lengthen(rules?.getCrawlDelay(host.product) ?? 0);
      if (!(await host.turn())) return null;
      const { location, ...result } = await this.#fetch(page, lease);
      host.asked();
      // A redirect on the same host is followed: http and https of a page are the same to the frontier, so to report it as
      // a link would lose it. Another host's is a link: the frontier says when that host may be asked.
      const leads = typeof location === "string" ? location : undefined;
      if (leads && leads !== page.url && new URL(leads).hostname === item.host && i < MAX_REDIRECTS) {
        target = leads;
        continue;
      }
      return { ...result, ...(leads && { urls: [{ url: leads }] }), redirected_to: target } as Result;
    }
  }

  /** Has the crawler fetch a page, and waits for what becomes of it. */
  async #fetch(item: Item, lease: Lease): Promise<Result> {
    const headers = { "If-None-Match": item.etag, "If-Modified-Since": item.last_modified };
    const sent = Object.entries(headers).filter((header): header is [string, string] => Boolean(header[1]));
    const request = new Request({
      url: item.url,
      uniqueKey: item.id,
      headers: { "User-Agent": item.user_agent, ...Object.fromEntries(sent) },
    });
    const { promise, resolve } = Promise.withResolvers<void>();
    const page: Page = { item, request, lease, links: new Set(), result: {}, settle: resolve };
    this.#pages.set(item.id, page);
    this.#ready.push(page);
    this.#counts.leased++;
    await promise;
    return { id: item.id, ...page.result, urls: Array.from(page.links, (url) => ({ url })) };
  }

  async #report(lease: string, results: Result[]) {
    let part: Result[] = [];
    let size = 0;
    for (const result of results) {
      const { length } = Buffer.from(JSON.stringify(result));
      if (part.length > 0 && size + length > MAX_REPORT) {
        await this.#call("report", { lease_id: lease, results: part });
        part = [];
        size = 0;
      }
      part.push(result);
      size += length;
    }
    await this.#call("report", { lease_id: lease, results: part });
  }

  /** Calls the frontier. A call that got no answer, or 503, is repeated: that does no harm. */
  async #call<T>(operation: string, body: object): Promise<T> {
    for (let wait = 1; ; wait = Math.min(wait * 2, 60)) {
      const answer = await fetch(`${this.#engine}/api/v1/frontier/${operation}`, {
        method: "POST",
        headers: { "Content-Type": "application/json", Authorization: `Bearer ${process.env.SEED_API_TOKEN ?? ""}` },
        body: JSON.stringify(body),
        signal: AbortSignal.timeout(60_000),
      }).catch((error: Error) => error);
      if (answer instanceof Response) {
        const { success, data, error } = await answer.json().catch(() => ({}));
        if (success) return data;
        if (![429, 502, 503, 504].includes(answer.status))
          throw new Error(`${operation}: ${answer.status} ${error?.field ?? ""} ${error?.message ?? ""}`, {
            cause: answer.status,
          });
      }
      await sleep(wait * 1000);
    }
  }

  // ---- robots.txt

  /** The rules for an item, read at most a day ago; null where there is no file, or the lease is over. */
  async #robots(item: Item, host: Host): Promise<Rules | "unreadable" | null> {
    const { origin } = new URL(item.url);
    if (host.unreadable.has(origin)) return "unreadable";
    const known = this.#rules.get(origin);
    const good = Math.min((this.#options.robotsSeconds ?? Infinity) * 1000, DAY);
    if (known && (Date.now() - known.read < good || host.read.has(origin))) return known.rules;
    let text: string | null = null;
    let url = `${origin}/robots.txt`;
    for (let i = 0; i <= MAX_REDIRECTS; i++) {
      if (!(await host.turn())) return null;
      const answer = await this.#client
        .text(url, { proxyUrl: this.#options.proxyUrl, headers: { "User-Agent": item.user_agent } })
        .catch(() => null);
      host.asked();
      const location = answer && redirect(answer.statusCode, answer.headers, url);
      if (location && new URL(location).hostname === new URL(url).hostname) {
        url = location; // another host was not given to this visit
        continue;
      }
      if (answer?.statusCode === 200) text = answer.body;
      else if (answer && answer.statusCode >= 400 && answer.statusCode < 500 && answer.statusCode !== 429) text = "";
      break;
    }
    if (text === null) {
      host.unreadable.add(origin);
      return "unreadable";
    }
    const rules = robotsParser(`${origin}/robots.txt`, text);
    host.read.add(origin);
    keep(this.#rules, origin, { read: Date.now(), rules });
    return rules;
  }
}

/** A host that was leased: when it may be asked, and until when. */
class Host {
  readonly product: string; // by which robots.txt names the crawler
  readonly unreadable = new Set<string>(); // origins
  readonly read = new Set<string>(); // origins whose robots.txt was read in this visit
  readonly #host: string;
  readonly #lease: Lease;
  readonly #answered: Map<string, number>;
  crawlDelay: number | undefined; // seconds, of robots.txt
  #delay: number; // ms

  constructor(
    { host, user_agent: agent, crawl_delay_seconds: delay }: Item,
    lease: Lease,
    answered: Map<string, number>,
  ) {
    this.product = agent.split("/")[0]!;
    this.#host = host;
    this.#delay = delay * 1000;
    this.#lease = lease;
    this.#answered = answered;
  }

  lengthen(seconds: number) {
    if (seconds > 0) this.crawlDelay = seconds;
    this.#delay = Math.max(this.#delay, seconds * 1000);
  }

  asked() {
    keep(this.#answered, this.#host, Date.now());
  }

  /**
   * Waits until it may be asked. False when the lease is over by then, at its end: nobody could ask the host sooner, and
   * it would only be leased once more.
   */
  async turn(): Promise<boolean> {
    const free = (this.#answered.get(this.#host) ?? 0) + this.#delay;
    const until = () => Math.min(free, this.#lease.ends); // which a renewal puts off
    while (Date.now() < until()) await sleep(Math.min(until() - Date.now() + 1, 1000));
    return Date.now() < this.#lease.ends;
  }
}

/** Waits, without keeping the program alive. */
function pause(ms: number) {
  return sleep(ms, undefined, { ref: false });
}

/** Puts a value into a cache of bounded size, as its newest. */
function keep<V>(cache: Map<string, V>, key: string, value: V) {
  cache.delete(key);
  cache.set(key, value);
  if (cache.size > MAX_KEPT) cache.delete(cache.keys().next().value!);
}

/** Sends requests as the frontier wants them: to public addresses, by its name, redirects not followed, bounded. */
class Client extends GotScrapingHttpClient {
  readonly #answers = new Map<string, Record<string, unknown>>(); // what is noted of the answer to a URL

  /** Has what the answer to a URL says written into result. */
  onAnswer(url: string, result: Record<string, unknown>) {
    this.#answers.set(url, result);
  }

  override async stream(...[request, onRedirect]: Parameters<GotScrapingHttpClient["stream"]>) {
    const url = String(request.url);
    const result = this.#answers.get(url) ?? {};
    this.#answers.delete(url);
    const plain = { followRedirect: false, useHeaderGenerator: false, throwHttpErrors: false, retry: { limit: 0 } };
    const host = new URL(url).hostname.replace(/^\[|\]$/g, "");
    if (isIP(host) && !isPublic(host)) throw new Error(`the address ${host} is not public`); // it is not looked up
    // A proxy looks names up itself, and has to refuse addresses itself.
    const resolved = request.proxyUrl ? {} : { dnsLookup: lookupPublic };
    const response = await super.stream({ ...request, ...plain, ...resolved }, onRedirect);
    Object.assign(result, noted(response.statusCode, response.headers), {
      location: redirect(response.statusCode, response.headers, url),
    });
    response.stream.on("error", (error) => (result.broken = error.message));
    response.stream.on("downloadProgress", ({ transferred }: { transferred: number }) => {
      if (transferred > MAX_PAGE) response.stream.destroy(new Error("the page is too large"));
    });
    return response;
  }

  /** The beginning of a text. */
  async text(url: string, options: { proxyUrl?: string | undefined; headers: Headers }) {
    const { proxyUrl, headers } = options;
    const https = { rejectUnauthorized: false }; // as CheerioCrawler does unless it is told otherwise
    const {
      statusCode,
      headers: answered,
      stream,
    } = await this.stream({
      url,
      headers,
      https,
      timeout: { request: TIMEOUT },
      ...(proxyUrl && { proxyUrl }),
    });
    const chunks: Buffer[] = [];
    let size = 0;
    for await (const chunk of stream) {
      chunks.push(Buffer.from(chunk));
      if ((size += chunk.length) > MAX_ROBOTS) break;
    }
    return { statusCode, headers: answered, body: Buffer.concat(chunks).toString() };
  }
}

type LookupDone = (error: Error | null, found?: string | LookupAddress[], family?: number) => void;

/**
 * Looks up a host for a connection. Whoever controls a name can have it lead into your network, and change it at any
 * time: what is checked must be the addresses that the connection uses, and all of them.
 */
function lookupPublic(host: string, options: LookupOptions, done: LookupDone) {
  lookup(host, { ...options, all: true }, (error, found) => {
    const inside = found?.find(({ address }) => !isPublic(address));
    if (error || inside) done(error ?? new Error(`${host} has the address ${inside!.address}, which is not public`));
    else if (options.all) done(null, found);
    else done(null, found[0]!.address, found[0]!.family);
  });
}

function isPublic(address: string): boolean {
  const family = isIP(address) === 6 ? "ipv6" : "ipv4";
  return !RESERVED[family].check(address.split("%")[0]!, family);
}

function networks(...ranges: string[]): BlockList {
  const list = new BlockList();
  for (const range of ranges) {
    const [address, bits] = range.split("/") as [string, string];
    list.addSubnet(address, Number(bits), isIP(address) === 6 ? "ipv6" : "ipv4");
  }
  return list;
}

/** What the frontier wants to know of an answer. */
function noted(status: number, headers: Headers) {
  const one = (name: string) => [headers[name]].flat()[0] ?? "";
  return {
    status,
    retry_after_seconds: retryAfter(one("retry-after")),
    ...(status === 200 && { etag: one("etag"), last_modified: one("last-modified") }),
  };
}

/** Where a redirect leads. */
function redirect(status: number, headers: Headers, url: string): string | undefined {
  const location = [headers["location"]].flat()[0];
  if (status < 300 || status >= 400 || !location) return undefined;
  const target = URL.parse(location, url);
  return target && target.protocol.startsWith("http") && target.href.length <= URL_LENGTH ? target.href : undefined;
}

/** Retry-After in seconds: it is a number or a date. */
function retryAfter(value: string): number | undefined {
  const seconds = /^\d+$/.test(value) ? Number(value) : Math.ceil((Date.parse(value) - Date.now()) / 1000);
  return seconds > 0 ? seconds : undefined;
}
