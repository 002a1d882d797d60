import type { LookupAddress, LookupOptions } from "node:dns";

/** A URL that the engine leased; docs/frontier.md explains the fields. */
export interface Item {
  id: string;
  url: string;
  host: string;
  domain: string;
  kind: "page" | "entry";
  method: string | null;
  type: string;
  priority: number;
  title: string | null;
  lastmod: string | null;
  reason: string | null;
  visit: number | null;
  last_fetched_at: string | null;
  etag: string | null;
  last_modified: string | null;
  crawl_delay_seconds: number;
  user_agent: string;
  partition_info: { country: string; category: string; date: string };
  usage: Usage | null;
}

/** What a site says about the use of a page; null where it says nothing. */
export interface Usage {
  /** Content-Signal: `search`, `ai-input`, `ai-train`. */
  content_signals: Record<string, "yes" | "no">;
  noai: boolean;
  noimageai: boolean;
  tdm_reserved: boolean | null;
  tdm_policy: string | null;
}

/** What the engine has of a host's robots.txt. */
export interface RobotsCopy {
  status: "fresh" | "partial" | "unread";
  expires_at: string | null;
  url: string | null;
}

export interface LeaseAnswer {
  lease_id: string | null;
  expires_at: string | null;
  items: Item[];
  hosts: Record<string, { delay: number; robots: RobotsCopy }>;
  retry_after_seconds: number | null;
}

export interface LeaseRequest {
  max: number;
  lease_seconds: number;
  per_host?: number;
  max_hosts?: number;
  country?: string;
  category?: string;
  types?: string[];
  kinds?: ("page" | "entry")[];
  domain?: string;
  host?: string;
  min_score?: number;
}

export interface Link {
  url: string;
  title?: string;
}

/** What a page says about itself: the `page` of a report. */
export interface Evidence {
  title: string;
  h1: string;
  headings: string[];
  text: string;
  words: number;
  links: number;
  forms: number;
  documents: number;
  lang: string;
  canonical: string;
  noindex: boolean;
  published?: string;
  modified?: string;
}

/** A page that was received with 200. */
export interface Page {
  url: string;
  item: Item;
  status: number;
  headers: Record<string, string | string[] | undefined>;
  body: Buffer;
  sha256: string;
  /** Those to http and https, with their texts; none unless it is HTML. */
  links: Link[];
  /** Decoded. This and what follows is undefined unless the page is HTML. */
  html?: string;
  /** Its heading, else its title. */
  title?: string;
  /** Without menus and advertisements. */
  text?: string;
  evidence?: Evidence;
}

/** What a handler may say of a page, for its report. */
export interface Told {
  /** Instead of all links of the page. */
  urls?: Link[];
  type?: string;
  paywalled?: boolean;
  duplicate_of?: string;
}

/** What a website answers, in place of this package's own request. */
export interface Answer {
  status: number;
  /** Names in lower case. */
  headers: Record<string, string | string[] | undefined>;
  /** Empty unless the status is 200. */
  body: Buffer;
  /** As what a handler returns. */
  told?: Told;
}

export interface FrontierOptions {
  /** The engine's address; SEED_API_URL unless it is given. */
  url?: string;
  /** SCRAPER_TOKEN or API_TOKEN; SEED_API_TOKEN unless it is given. */
  token?: string;
  /** A name by which the engine counts what this scraper leases and fetches. */
  scraper?: string;
  country?: string;
  category?: string;
  types?: string[];
  kinds?: ("page" | "entry")[];
  domain?: string;
  host?: string;
  minScore?: number;
  /** How many hosts are asked at once (16), each one request at a time. */
  hosts?: number;
  /** Items of one host in a lease (5). */
  perHost?: number;
  /** 300. A lease that runs short is renewed. */
  leaseSeconds?: number;
  /** How long a robots.txt is used that was read at its host: a day, and no longer. */
  robotsSeconds?: number;
  /** Whether to end when nothing is left: in leases ten seconds apart, for the next 50 s, and in collections. */
  untilIdle?: boolean;
  /**
   * Sends a request in place of this package, for an item, or for a robots.txt without one. Headers without a value are
   * left out. An error's code ENOTFOUND or EPRIVATE says that the host has no address, or none that is public.
   */
  fetch?: (url: string, headers: Record<string, string | null>, item?: Item) => Promise<Answer>;
  /** At which the program reports, releases and exits: SIGINT and SIGTERM. */
  signals?: NodeJS.Signals[];
  /** console.error */
  log?: (message: string) => void;
}

export class Frontier {
  constructor(options?: FrontierOptions);
  run(handler?: (page: Page) => Told | void | Promise<Told | void>): Promise<void>;
  stop(): Promise<void>;
}

export interface EngineOptions {
  url?: string;
  token?: string;
  scraper?: string;
  log?: (message: string) => void;
}

/** The routes of the frontier. What got no answer is repeated until close(), but for 15 s if the engine never answered. */
export class Engine {
  constructor(options?: EngineOptions);
  lease(wanted: LeaseRequest): Promise<LeaseAnswer>;
  renew(leaseId: string, seconds: number): Promise<string | null>;
  release(leaseId: string): Promise<number>;
  report(
    leaseId: string,
    results: ({ id: string } & Record<string, unknown>)[],
  ): Promise<{ accepted: number; late: number; unknown: number; added: number }>;
  robots(path: string): Promise<string | null>;
  collecting(country?: string, category?: string): Promise<number>;
  close(): void;
}

/** The engine refused a call, or is not there (without a status, code "unreachable"). The message says what to set. */
export class EngineError extends Error {
  status?: number;
  code?: string;
  field?: string;
}

/** A `lookup` for connections (net.connect): of names that have public addresses only. */
export function lookupPublic(
  host: string,
  options: LookupOptions,
  done: (error: Error | null, found?: string | LookupAddress[], family?: number) => void,
): void;

/** Throws where a URL has an address for a host that is not public. */
export function refusePrivate(url: string): void;

export function readPage(html: string, url: string): { text: string; links: Link[]; evidence: Evidence };
