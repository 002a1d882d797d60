// A small engine in memory with as many files and domains as the documents' example, for tests of the
// dashboard: it counts, filters, pages and resolves as the API describes.
import { contract, unreachable } from "./document.mjs";
import { frontier } from "./frontier.mjs";

const HOUR = 3_600_000;
const day = (ms) => new Date(ms).toISOString().slice(0, 10);
const iso = (ms) => new Date(ms).toISOString().replace(/\.\d+/, "");

/** What goes wrong, with messages as the engine words them. */
const reasons = [
  ["timeout_error", "https://www.{domain}/robots.txt: no answer within 10 s"],
  ["network_error", "https://{domain}/robots.txt: connection refused"],
  ["network_error", "{domain}: the name does not resolve"],
  ["storage_error", "r2.Put prod/…/{domain}/domain_metadata.json: 429 Too Many Requests"],
];

const names = [
  "harbour-times",
  "city-council",
  "daily-herald",
  "labour-office",
  "port-authority",
  "evening-post",
  "health-board",
  "rail-news",
  "energy-week",
  "statistics-office",
];

/** 150 files and 1,250 domains over eight partitions: 142 and 1,180 processed, 3 and 25 failed. */
export function world(now = Date.now()) {
  const places = ["sg", "kr", "gb", "jp"].flatMap((country) =>
    ["news", "government"].map((category) => ({ country, category, date: day(now) })),
  );
  const files = Array.from({ length: 150 }, (_, i) => ({
    partition_info: places[i % 8],
    name: `raw_${String(i + 1).padStart(4, "0")}`,
    state: i < 142 ? "processed" : i < 145 ? "failed" : "pending",
  }));
  const domains = Array.from({ length: 1250 }, (_, i) => domain(i, places[i % 8], now));
  const deadLetters = domains
    .filter((record) => record.error_type === "storage_error")
    .map((record, i) => letter(`m-${String(i + 1).padStart(3, "0")}`, record, now - i * 7 * 60_000))
    .concat(
      files
        .filter((file) => file.state === "failed")
        .map((file, i) => fileLetter(`f-${i + 1}`, file, now - (i + 1) * HOUR)),
    );
  return new World({
    now,
    files,
    domains,
    deadLetters,
    exclusions: [],
    frontier: frontier(domains, now),
    pipeline: { paused: false, since: null, by: null, reason: null },
  });
}

/** An engine to which nothing was uploaded. */
export const emptyWorld = (now = Date.now()) =>
  new World({
    now,
    files: [],
    domains: [],
    deadLetters: [],
    exclusions: [],
    frontier: frontier([], now),
    pipeline: { paused: false, since: null, by: null, reason: null },
  });

function domain(i, partition_info, now) {
  const name = `${names[i % 10]}-${i + 1}.example`;
  const state = i % 50 === 7 ? "failed" : i >= 1204 ? "pending" : "processed";
  const [error_type, error_message] = state === "failed" ? reasons[Math.floor(i / 50) % 4] : [null, null];
  const done = state !== "pending";
  const spread = (i - Math.floor((i + 42) / 50)) * 477; // an order of the 1,180 processed ones that looks random
  return {
    domain: name,
    partition_info,
    state,
    robots_exists: state === "processed" ? spread % 1180 < 1050 : done ? false : null,
    sitemap_exists: state === "processed" ? (spread * 3) % 1180 < 890 : done ? false : null,
    processing_duration_ms: done ? Math.round(500 + 3747 * ((spread % 1180) / 1179) ** 4) : null,
    collected_at: done ? iso(now - minutesAgo((i * 131) % 1430) * 60_000) : null,
    queued_at: iso(now - 2 * HOUR - i * 1_000),
    crawling_allowed: state === "processed" ? i % 100 !== 31 : null,
    barrier: state === "processed" ? ({ 31: "forbidden", 32: "refuses", 33: "nothing" }[i % 100] ?? null) : null,
    barrier_reason: state === "processed" && i % 100 === 32 ? "HTTP 403" : null,
    retry: state === "pending" && i % 2 ? retry(i, now) : null,
    error_type,
    error_message: error_message?.replace("{domain}", name) ?? null,
  };
}

/** The failed attempt of a pending domain. */
const retry = (i, now) => ({
  attempt: 1 + (i % 4),
  of: 4,
  error_type: "storage_error",
  error_message: "the object store failed",
  failed_at: iso(now - 60_000),
  next_at: i % 4 === 3 ? null : iso(now + 3_600_000),
});

/** Spreads moments of a day so that it has busy and quiet hours. */
const minutesAgo = (minute) => Math.max(0, Math.round(minute + 70 * Math.sin((minute / 1430) * 4 * Math.PI)));

function letter(id, record, failedAt) {
  const message = {
    domain: record.domain,
    domain_id: `media:${record.partition_info.country}:${record.domain}`,
    domain_url: `https://${record.domain}/`,
    registrable_domain: record.domain,
    authority: "media",
    urls: [{ url: `https://${record.domain}/news`, title: "News", path: "/news" }],
    partition_info: record.partition_info,
    source_file_path: rawPath(record.partition_info, "raw_0001"),
  };
  return dead(
    id,
    "domain",
    `${message.source_file_path} ${record.domain} 0`,
    record.partition_info,
    record.domain,
    record,
    message,
    failedAt,
  );
}

function fileLetter(id, file, failedAt) {
  const path = rawPath(file.partition_info, file.name);
  const error = {
    error_type: "parse_error",
    error_message: `${path}: is not JSON: invalid character '<' looking for beginning of value`,
  };
  return dead(
    id,
    "seed",
    path,
    file.partition_info,
    null,
    error,
    { file_path: path, partition_info: file.partition_info },
    failedAt,
  );
}

const rawPath = (p, name) => `raw/country=${p.country}/category=${p.category}/date=${p.date}/${name}.json`;

function dead(id, queue_role, work, partition_info, domain, { error_type, error_message }, message, failedAt) {
  const queue_name = `newsfork-${queue_role}-dev`;
  const context = { queue_name, worker_version: "1.0.0", processing_duration_ms: 840 };
  const info = { error_type, error_message, retry_count: 3, failed_at: iso(failedAt) };
  return {
    record: {
      id,
      state: "stored",
      resolved_at: null,
      resolved_by: null,
      work,
      queue_role,
      partition_info,
      domain,
      key: `dlq/queue=${queue_name}/date=${day(failedAt)}/${id}.json`,
      ...info,
      ...context,
    },
    letter: { original_message: message, error_info: info, context },
    attempts: [1, 2, 3, 4].map((attempt) => ({
      message_id: id,
      attempt,
      error_type,
      error_message,
      failed_at: iso(failedAt - (4 - attempt) * 40_000),
      duration_ms: 700 + attempt * 35,
      worker_version: "1.0.0",
    })),
  };
}

export class World {
  constructor(state) {
    Object.assign(this, state);
  }

  /** The raw files of a partition. */
  chunks(place) {
    return this.files
      .filter(({ partition_info: p }) => Object.keys(place).every((field) => p[field] === place[field]))
      .map(({ partition_info, name, state }, i) => ({
        chunk: name,
        key: rawPath(partition_info, name),
        size: 48_000 + 1_000 * i,
        md5: null,
        uploaded_at: iso(this.now - 3 * HOUR),
        state,
        processed_at: state === "processed" ? iso(this.now - 2 * HOUR) : null,
        error_type: state === "failed" ? "parse_error" : null,
        error_message: state === "failed" ? "line 1, column 1, byte 0: expected a value, found '<'" : null,
        records_total: state === "processed" ? 66 : null,
        records_rejected: state === "processed" ? i % 3 : null,
        rejections: [],
      }));
  }

  differing = new Set(); // names of raw files that are uploaded with other content than what is there

  /** Whether a raw file was new. */
  upload(place, name) {
    if (this.chunks(place).some(({ chunk }) => chunk === name)) return false;
    this.files.push({ partition_info: place, name, state: "pending" });
    return true;
  }

  status(query) {
    const match = within(query);
    const answer = {
      ...this.stats(match),
      dead_letters: Object.fromEntries(
        ["stored", "replayed", "discarded"].map((state) => [
          state,
          this.deadLetters.filter(({ record }) => record.state === state).length,
        ]),
      ),
      alarms: this.alarms(),
      alarm_webhook: { enabled: true, signed: false, refused: this.refused ?? null },
      queues: {
        seed: backlog(this.files, this.now),
        domain: backlog(this.domains, this.now),
        dlq: backlog([], this.now),
      },
      paused: this.pipeline.paused,
      updated_at: iso(Date.now()),
      rejections: this.files
        .filter((one) => match(one) && one.state === "processed")
        .slice(-3)
        .map(({ partition_info, name }, i) => ({
          partition_info,
          chunk: name,
          record: 7 * (i + 1),
          offset: 1204 * (i + 1),
          reason: ["has no url", "url is not an absolute http or https URL", "url has no host"][i],
        })),
    };
    const by = query.getAll("by");
    if (by.includes("partition")) {
      const places = new Map(
        [...this.files, ...this.domains].filter(match).map(({ partition_info: p }) => [JSON.stringify(p), p]),
      );
      answer.partitions = [...places.values()].map((p) => ({
        partition_info: p,
        ...this.stats((one) => one.partition_info === p),
        updated_at: iso(this.now - 90_000),
      }));
    }
    if (by.includes("error_type")) {
      const failed = this.domains.filter((one) => match(one) && one.state === "failed");
      const files = this.files.filter((one) => match(one) && one.state === "failed").length;
      const types = [...new Set(failed.map((one) => one.error_type))].map((error_type) => ({
        error_type,
        files: 0,
        domains: failed.filter((one) => one.error_type === error_type).length,
      }));
      answer.errors = [...types, ...(files ? [{ error_type: "parse_error", files, domains: 0 }] : [])].sort(
        (a, b) => b.domains + b.files - a.domains - a.files,
      );
    }
    if (query.get("trend")) answer.trend = this.trend(Number(query.get("trend")), match);
    return answer;
  }

  stats(match) {
    const files = this.files.filter(match);
    const domains = this.domains.filter(match);
    const count = (list, state) => list.filter((one) => one.state === state).length;
    const done = domains.filter((one) => one.state === "processed");
    const robots = done.filter((one) => one.robots_exists).length;
    const sitemap = done.filter((one) => one.sitemap_exists).length;
    const total = domains.length - count(domains, "excluded");
    const rate = (n) => (total ? Math.round((n / total) * 100) / 100 : 0);
    return {
      processing_stats: {
        files_total: files.length,
        files_processed: count(files, "processed"),
        files_failed: count(files, "failed"),
        files_pending: count(files, "pending"),
        domains_total: total,
        domains_processed: done.length,
        domains_failed: count(domains, "failed"),
        domains_pending: count(domains, "pending"),
      },
      collection_stats: {
        robots_txt_found: robots,
        robots_txt_rate: rate(robots),
        sitemap_xml_found: sitemap,
        sitemap_xml_rate: rate(sitemap),
        avg_processing_time_ms: average(done),
      },
      domains_excluded: count(domains, "excluded"),
      domains_barred: Object.fromEntries(
        ["forbidden", "refuses", "nothing"].map((why) => [why, domains.filter((one) => one.barrier === why).length]),
      ),
      files_discarded: 0,
      records_total: 240 * count(files, "processed"),
      records_rejected: 3 * count(files, "processed"),
      avg_file_time_ms: count(files, "processed") && 840,
    };
  }

  alarms() {
    const p = this.stats(() => true).processing_stats;
    const failed = p.domains_total ? (p.domains_failed / p.domains_total) * 100 : null;
    const deadLetters = this.deadLetters.filter(({ record }) => record.state === "stored").length;
    const alarm = (name, value, threshold, unit, window_minutes) => ({
      name,
      state: value !== null && value > threshold ? "firing" : "ok",
      value,
      threshold,
      unit,
      window_minutes,
      since: iso(this.now - 40 * 60_000),
    });
    return [
      alarm("file_failures", this.files.length ? 2 : null, 5, "percent", 60),
      alarm("domain_failures", failed, 10, "percent", 60),
      alarm("slow_domains", p.domains_processed ? 1250 : null, 5000, "ms", 60),
      alarm("dead_letters", deadLetters, 100, "count", null),
      alarm("frontier_behind", 420_000, 3_600_000, "ms", null),
      alarm("refresh_failures", 3, 20, "percent", 60),
      alarm("refresh_ceiling", 12, 80, "percent", null),
      alarm("frontier_damaged", 0, 0, "count", null),
      alarm("frontier_full", 4.1, 70, "percent", null),
      alarm("feed_webhook", 0, 3_600_000, "ms", null),
    ];
  }

  trend(hours, match) {
    const start = Math.floor(this.now / HOUR) * HOUR - (hours - 1) * HOUR;
    const finished = this.domains.filter((one) => match(one) && one.collected_at);
    return Array.from({ length: hours }, (_, i) => {
      const here = finished.filter((one) => Math.floor((Date.parse(one.collected_at) - start) / HOUR) === i);
      const done = here.filter((one) => one.state === "processed");
      return {
        hour: iso(start + i * HOUR),
        files_processed: Math.ceil(done.length / 9),
        files_failed: 0,
        domains_processed: done.length,
        domains_failed: here.length - done.length,
        avg_processing_time_ms: average(done),
      };
    });
  }

  listDomains(query, length) {
    const match = within(query);
    const wants = (name, of) => !query.get(name) || String(of) === query.get(name);
    const rows = this.domains.filter(
      (one) =>
        match(one) &&
        wants("state", one.state) &&
        wants("robots", one.robots_exists) &&
        wants("barrier", one.barrier) &&
        wants("sitemap", one.sitemap_exists) &&
        wants("error_type", one.error_type) &&
        (one.processing_duration_ms ?? 0) >= Number(query.get("slower_than_ms") ?? 0),
    );
    if (query.get("sort") === "duration")
      rows.sort((a, b) => (b.processing_duration_ms ?? -1) - (a.processing_duration_ms ?? -1));
    const { page, cursor } = paged(rows, query, length);
    return { domains: page, cursor };
  }

  domain(name, query) {
    const match = within(query);
    const records = this.domains.filter((one) => one.domain === name);
    const record = records.find(match);
    if (!record) return null;
    const p = record.partition_info;
    return {
      domain: name,
      partition_info: p,
      excluded: this.exclusions.some(({ kind, value }) => kind === "domain" && value === name),
      key: `prod/country=${p.country}/category=${p.category}/date=${p.date}/${name}/domain_metadata.json`,
      document: record.state === "pending" ? (this.#before.get(record) ?? null) : this.document(record),
      record,
      partitions: records.map((one) => one.partition_info),
      entry_points: entryPoints(),
      excluded_by: this.exclusions.filter(({ kind, value }) => kind === "domain" && value === name),
    };
  }

  #before = new Map(); // documents of domains that are being collected again

  /** Queues a domain that has a document. */
  collect(name, { country, category, date }) {
    const record = this.domains.find(
      (one) => one.domain === name && within(new URLSearchParams({ country, category, date }))(one),
    );
    if (!record || record.state === "pending") return null;
    this.#before.set(record, this.document(record));
    Object.assign(record, { state: "pending", queued_at: iso(Date.now()), error_type: null, error_message: null });
    return { domain: name, partition_info: record.partition_info, requested_at: record.queued_at };
  }

  document({ domain, partition_info, state, collected_at, error_message, error_type }) {
    const collected = Date.parse(collected_at);
    return state === "failed"
      ? unreachable(domain, partition_info, collected, error_message, error_type)
      : contract(domain, partition_info, collected);
  }

  listLetters(query, length) {
    const rows = this.deadLetters
      .filter(
        ({ record }) =>
          chosen(record, Object.fromEntries(query)) && (!query.get("state") || record.state === query.get("state")),
      )
      .map(({ record }) => this.#letter(record));
    const { page, cursor } = paged(rows, query, length);
    return { dead_letters: page, cursor };
  }

  /** A dead letter as it is listed. */
  #letter(record) {
    const excluded = this.exclusions.some(({ kind, value }) => kind === "domain" && value === record.domain);
    return { ...record, excluded };
  }

  letter(id) {
    const found = this.deadLetters.find(({ record }) => record.id === id);
    if (!found) return null;
    const history = this.deadLetters
      .filter(({ record }) => record.work === found.record.work && record.id !== id)
      .map(({ record }) => this.#letter(record));
    return { ...this.#letter(found.record), letter: found.letter, attempts: found.attempts, history };
  }

  /** Replays or discards; a call resolves up to limit of what a filter or all selects. */
  resolve(state, { ids, filter }, by, limit = 500) {
    const wanted = ids
      ? ids.map((id) => this.deadLetters.find(({ record }) => record.id === id))
      : this.deadLetters.filter(({ record }) => record.state === "stored" && chosen(record, filter ?? {}));
    const stored = wanted.filter((one) => one?.record.state === "stored");
    const barred = stored.filter(({ record }) => state === "replayed" && this.#letter(record).excluded);
    const able = stored.filter((one) => !barred.includes(one));
    const now = ids ? able : able.slice(0, limit);
    for (const { record } of now) {
      Object.assign(record, { state, resolved_at: iso(Date.now()), resolved_by: by });
      const domain = state === "replayed" && this.domains.find((one) => one.domain === record.domain);
      if (domain) Object.assign(domain, { state: "pending", error_type: null, error_message: null });
    }
    const missing = ids
      ? ids
          .filter((id, i) => !wanted[i])
          .map((id) => ({ id, code: "not_found", message: "there is no such dead letter" }))
      : [];
    return {
      done: now.length,
      skipped: ids ? wanted.filter(Boolean).length - stored.length : 0,
      failed: [
        ...missing,
        ...barred.map(({ record: { id, domain } }) => ({ id, code: "excluded", message: `${domain} is excluded` })),
      ],
      remaining: stored.length - now.length,
    };
  }

  /** Finishes n domains that wait. */
  work(n) {
    for (const record of this.domains.filter((one) => one.state === "pending").slice(0, n))
      Object.assign(record, {
        state: "processed",
        robots_exists: true,
        sitemap_exists: true,
        processing_duration_ms: 900,
        collected_at: iso(Date.now()),
      });
  }
}

const within = (query) => (one) =>
  ["country", "category", "date"].every(
    (name) => !query.get(name) || one.partition_info[name] === query.get(name).toLowerCase(),
  );

const chosen = (record, { queue, error_type, country, category, date, domain }) =>
  (!queue || record.queue_role === queue) &&
  (!error_type || record.error_type === error_type) &&
  (!domain || record.domain === domain) &&
  within(new URLSearchParams(Object.entries({ country, category, date }).filter(([, value]) => value)))(record);

function paged(rows, query, length) {
  const start = Number(query.get("cursor") ?? 0);
  const end = start + Number(query.get("limit") ?? length);
  return { page: rows.slice(start, end), cursor: end < rows.length ? String(end) : null };
}

const average = (done) =>
  done.length ? Math.round(done.reduce((sum, one) => sum + one.processing_duration_ms, 0) / done.length) : 0;

function backlog(list, now) {
  const waiting = list.filter((one) => one.state === "pending").length;
  return { messages: waiting, bytes: waiting * 700, oldest: waiting ? iso(now - 240_000) : null };
}

/** Entry points of a domain with a history: something new, nothing, no answer. */
function entryPoints() {
  const at = (hour) => `2026-01-28T${String(hour).padStart(2, "0")}:00:00Z`;
  const checks = [200, 304, null, 503, 200].map((status, i) => ({ at: at(i + 4), status, changed: i === 4 }));
  const entry = { interval_seconds: 8640, checked_at: at(8), changed_at: at(8), next_check_at: at(10), failures: 0 };
  return [
    { ...entry, url: "https://www.mom.gov.sg/rss", method: "rss", checks },
    {
      ...entry,
      url: "https://www.mom.gov.sg/robots.txt",
      method: "collect",
      checked_at: null,
      changed_at: null,
      failures: 2,
      checks: [],
    },
  ];
}
