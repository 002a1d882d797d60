// The Seed Engine's frontier as what a Crawlee crawler takes its requests from: copy this file.
import { AsyncLocalStorage } from "node:async_hooks";
import {
  GotScrapingHttpClient,
  ProxyConfiguration,
  Request,
  log,
  type CheerioCrawlerOptions,
  type CheerioCrawlingContext,
  type IRequestManager,
  type RequestProvider,
} from "@crawlee/cheerio";
import {
  EngineError,
  Frontier as Scraper,
  lookupPublic,
  refusePrivate,
  type Answer,
  type FrontierOptions,
  type Item,
} from "newsfork";

const MAX_LINKS = 200; // reported of one page
const MAX_PAGE = 5_000_000; // bytes
const TIMEOUT = 20; // seconds
const URL_LENGTH = 2083; // bytes

/** A request on its way through the crawler. */
interface Page {
  request: Request;
  item: Item | undefined; // none for a robots.txt
  links: Set<string>;
  answer?: { status: number; headers: Answer["headers"]; broken?: Error };
  body?: string | Buffer;
  settle: (answer: Answer | Promise<never>) => void;
}

/** Has a CheerioCrawler send the requests of the package's Frontier, which says which and when, and reports. */
export class Frontier implements IRequestManager {
  readonly #scraper: Scraper;
  readonly #proxyUrl: string | undefined;
  readonly #hosts: number;
  readonly #client = new Client();
  readonly #ready: Page[] = [];
  readonly #pages = new Map<string, Page>(); // under way, by the request's key
  readonly #current = new AsyncLocalStorage<Page>(); // the page whose handler runs
  #counts = { sent: 0, handled: 0 };
  #running?: Promise<void>;
  #over = false;
  /** Why the engine refused a call, or did not answer: an EngineError. */
  refused?: Error;

  constructor(options: FrontierOptions & { proxyUrl?: string } = {}) {
    this.#proxyUrl = options.proxyUrl ?? process.env.https_proxy ?? process.env.HTTPS_PROXY;
    this.#hosts = options.hosts ?? 16;
    const fetch = (url: string, headers: Record<string, string | null>, item?: Item) => this.#send(url, headers, item);
    this.#scraper = new Scraper({ log: (message) => log.info(message), ...options, fetch });
  }

  /**
   * The options of a crawler. The handler is given each HTML or XML page that was received with 200; links that it
   * enqueues are reported, and come back as leases when their time has come.
   */
  options(handler: (context: CheerioCrawlingContext) => Promise<void> | void): CheerioCrawlerOptions {
    return {
      // Of the queue the crawler uses what an IRequestManager has.
      requestQueue: this as unknown as RequestProvider,
      httpClient: this.#client,
      ...(this.#proxyUrl && { proxyConfiguration: new ProxyConfiguration({ proxyUrls: [this.#proxyUrl] }) }),
      // Hosts set the pace, not the load of this machine.
      minConcurrency: this.#hosts,
      maxConcurrency: this.#hosts,
      autoscaledPoolOptions: { maybeRunIntervalSecs: 0.1 },
      navigationTimeoutSecs: TIMEOUT,
      // A failure is the frontier's to repeat, and its answers are wanted as they are.
      maxRequestRetries: 0,
      maxSessionRotations: 0,
      useSessionPool: false,
      additionalMimeTypes: ["*/*"],
      ignoreHttpErrorStatusCodes: Array.from({ length: 100 }, (_, i) => 500 + i),
      requestHandler: async (context) => {
        const page = this.#pages.get(context.request.uniqueKey);
        if (!page || context.response.statusCode !== 200) return;
        page.body = context.body;
        const read = page.item && /html|xml/.test(context.contentType.type);
        if (read) await this.#current.run(page, async () => handler(context));
      },
    };
  }

  /** Resolves when the crawler has an answer. */
  #send(url: string, headers: Record<string, string | null>, item?: Item): Promise<Answer> {
    refusePrivate(url);
    const sent = Object.entries(headers).filter((header): header is [string, string] => Boolean(header[1]));
    const uniqueKey = String(++this.#counts.sent);
    const request = new Request({ url, uniqueKey, headers: Object.fromEntries(sent), userData: { item } });
    return new Promise((settle) => {
      const page = { request, item, links: new Set<string>(), settle };
      this.#pages.set(uniqueKey, page);
      this.#ready.push(page);
    });
  }

  // ---- what the crawler asks

  async fetchNextRequest<T extends Record<string, unknown>>(): Promise<Request<T> | null> {
    const page = this.#ready.shift();
    if (!page) return null;
    this.#client.expect(page);
    return page.request as Request<T>;
  }

  async isEmpty(): Promise<boolean> {
    this.#running ??= this.#scraper.run().then(
      () => void (this.#over = true),
      (error) => this.#refuse(error),
    );
    return this.#ready.length === 0;
  }

  async isFinished(): Promise<boolean> {
    return this.#over;
  }

  /** Ends the crawl, and the program with exit code 1. A crawler would show a stack where a setting is wrong. */
  #refuse(error: Error) {
    this.refused = error;
    this.#over = true;
    process.exitCode = 1;
    log.error(error instanceof EngineError ? error.message : String(error.stack));
  }

  async markRequestHandled({ uniqueKey, errorMessages }: Request): Promise<null> {
    const page = this.#pages.get(uniqueKey);
    if (!page) return null;
    this.#pages.delete(uniqueKey);
    this.#counts.handled++;
    const { answer, body, item, links } = page;
    const failed = !answer || answer.broken || (answer.status === 200 && body === undefined);
    if (failed) {
      const why = answer?.broken ?? new Error((errorMessages.at(-1) ?? "no answer").split("\n")[0]);
      const code = ["ENOTFOUND", "EPRIVATE"].find((one) => (errorMessages.at(-1) ?? "").includes(one));
      page.settle(Promise.reject(Object.assign(why, code && { code })));
      return null;
    }
    const { status, headers } = answer;
    const decoded = typeof body === "string" && {
      "content-type": contentType(headers).replace(/;.*/, "; charset=utf-8"),
    };
    page.settle({
      status,
      headers: { ...headers, ...decoded },
      body: Buffer.from(body ?? ""),
      ...(item && { told: { urls: Array.from(links, (url) => ({ url })) } }),
    });
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
    return this.#counts.sent;
  }

  getPendingCount() {
    return this.#counts.sent - this.#counts.handled;
  }

  async *[Symbol.asyncIterator]() {
    for (let request; (request = await this.fetchNextRequest());) yield request;
  }
}

/** Sends requests as the frontier wants them: to public addresses, by its name, redirects not followed, bounded. */
class Client extends GotScrapingHttpClient {
  readonly #expected = new Map<string, Page>(); // by URL: a host is asked one request at a time

  /** Has what is answered to a page's request noted. */
  expect(page: Page) {
    this.#expected.set(page.request.url, page);
  }

  override async stream(...[request, onRedirect]: Parameters<GotScrapingHttpClient["stream"]>) {
    const page = this.#expected.get(String(request.url));
    this.#expected.delete(String(request.url));
    const plain = { followRedirect: false, useHeaderGenerator: false, throwHttpErrors: false, retry: { limit: 0 } };
    // A proxy looks names up itself, and has to refuse addresses itself.
    const resolved = request.proxyUrl ? {} : { dnsLookup: lookupPublic };
    const response = await super.stream({ ...request, ...plain, ...resolved }, onRedirect);
    const answer: Page["answer"] = { status: response.statusCode, headers: response.headers };
    if (page) page.answer = answer;
    response.stream.on("error", (error) => (answer.broken = error));
    response.stream.on("downloadProgress", ({ transferred }: { transferred: number }) => {
      if (transferred > MAX_PAGE) response.stream.destroy(new Error("the page is too large"));
    });
    return response;
  }
}

function contentType(headers: Answer["headers"]): string {
  return [headers["content-type"]].flat()[0] ?? "text/html";
}
