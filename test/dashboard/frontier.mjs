// A frontier in memory with some shards and hosts, for tests of the dashboard: it counts, sorts, pages
// and changes hosts as the API describes.

const iso = (ms) => new Date(ms).toISOString().replace(/\.\d+/, "");

/** The hosts of the domains of a world, with queues of different lengths. */
export function frontier(domains, now, shards = 16) {
  const hosts = domains.map(({ domain }, i) => ({
    host: `www.${domain}`,
    domain,
    urls: (i * 7919) % 500,
    entries: i % 4,
    due: i % 9 === 4 ? 0 : (i * 31) % 50,
    done: (i * 13) % 2000,
    failed: i % 7,
    traps: i % 3,
    delay_seconds: [1, 2, 0.5, 30][i % 4],
    ready_at: i % 5 === 1 ? iso(now + 20_000) : null,
    due_at: i % 9 === 4 ? null : iso(now - (i % 50) * 60_000),
    leased_until: i % 5 === 2 ? iso(now + 110_000) : null,
    blocked_until: null,
    robots_expires_at: i % 6 ? iso(now + 80_000_000) : null,
    unresolved_until: i % 100 === 8 ? iso(now + 3_000_000) : null,
    excluded: i % 100 === 13,
    failures: i % 100 === 8 ? 3 : 0,
    refusals: 0,
    last_failure: i % 100 === 8 ? { at: iso(now - 60_000), status: null, error: "unresolved" } : null,
    forbids_all: false,
    robots_unreadable: false,
  }));
  return new Frontier(hosts, now, shards);
}

const nobody = { reason: null, since: null, until: null };

class Frontier {
  frozen = null; // the name of a shard that does not answer

  constructor(hosts, now, shards) {
    Object.assign(this, { hosts, now, shards });
  }

  get unavailable() {
    return this.frozen ? [this.frozen] : [];
  }

  stats() {
    const shards = Array.from({ length: this.shards }, (_, n) => {
      const here = this.hosts.filter((_, i) => i % this.shards === n);
      const due = here.filter((one) => one.due > 0).length;
      return {
        name: `shard-${n}`,
        hosts: here.length,
        urls: sum(here, "urls"),
        entries: sum(here, "entries"),
        due,
        leased: here.filter((one) => one.leased_until).length,
        done: sum(here, "done"),
        failed: sum(here, "failed"),
        oldest_due: due ? iso(this.now - (n + 1) * 420_000) : null,
        bytes: 188_416,
        quarantined: 0,
        withheld: 0,
        scheduled: sum(here, "done"),
        revisited: 51,
        revisit_threshold: 0.0021,
        answered_today: 130,
        refreshed_today: 45,
      };
    }).filter((shard) => shard.name !== this.frozen);
    const counts = ["hosts", "urls", "entries", "due", "leased", "done", "failed", "bytes", "quarantined", "withheld"];
    counts.push("scheduled", "revisited", "answered_today", "refreshed_today");
    return {
      revisit_threshold: 0.0021,
      ...Object.fromEntries(counts.map((name) => [name, sum(shards, name)])),
      oldest_due:
        shards
          .map((shard) => shard.oldest_due)
          .filter(Boolean)
          .sort()[0] ?? null,
      found: this.found(),
      scrapers: [
        {
          name: "",
          first_seen_at: "2026-01-28T00:00:00Z",
          last_seen_at: "2026-01-28T08:00:00Z",
          leased: 12,
          fetched: 10,
          failed: 0,
        },
        {
          name: "reader-1",
          first_seen_at: "2026-01-28T00:00:00Z",
          last_seen_at: "2026-01-28T09:00:00Z",
          leased: 270,
          fetched: 255,
          failed: 9,
        },
      ],
      shards,
      unavailable: this.unavailable,
    };
  }

  /** New URLs of the last 24 hours: more by day than by night, and none in an empty frontier. */
  found() {
    const last = this.now - (this.now % 3_600_000);
    return Array.from({ length: 24 }, (_, i) => {
      const n = this.hosts.length && i > 3 ? (i * 7) % 23 : 0;
      const types = { news: n, event: n >> 2, press_release: n >> 1 };
      for (const name of Object.keys(types)) if (!types[name]) delete types[name];
      return { hour: iso(last + (i - 23) * 3_600_000), count: n + (n >> 1) + (n >> 2), types };
    });
  }

  list(query, length) {
    const rows = this.hosts.filter((one) => !query.get("blocked") || Date.parse(one.blocked_until ?? 0) > Date.now());
    if (query.get("sort") === "size") rows.sort((a, b) => b.urls - a.urls);
    if (query.get("sort") === "due") rows.sort((a, b) => (a.due_at ?? "~").localeCompare(b.due_at ?? "~"));
    const start = Number(query.get("cursor") ?? 0);
    const end = start + length;
    return {
      hosts: rows.slice(start, end),
      next_cursor: end < rows.length ? String(end) : null,
      unavailable: this.unavailable,
    };
  }

  /** The state of a URL: that of /news/{state}; everything else is unknown. */
  url(url) {
    const { host, pathname } = new URL(url);
    const state = this.hosts.some((one) => one.host === host) ? pathname.match(/^\/news\/(\w+)$/)?.[1] : null;
    const at = (minutes) => iso(this.now + minutes * 60_000);
    return {
      url,
      state: state ?? "unknown",
      why: state === "waiting" ? "it is an entry point, which is asked again later" : "as its state says",
      why_code: { waiting: "entry_point", unknown: "unnamed", known: "displaced" }[state ?? "unknown"] ?? state,
      stopped_by:
        state === "forbidden"
          ? { kind: "robots", rule: "Disallow: /news", by: `https://${host}/robots.txt`, ...nobody }
          : state === "excluded"
            ? { kind: "exclusion", rule: `url ${url}`, by: "kim", ...nobody, reason: "asked for", since: at(-60) }
            : null,
      reason: state === "due" ? "new" : null,
      attempts: state === "due" ? 1 : 0,
      visits: 0,
      last_fetched_at: state === "fetched" ? at(-60) : null,
      priority: state === "due" ? 0.7 : null,
      score_why: state === "due" ? "0.180 news + 0.520 learnt since then" : null,
      due_at: ["due", "waiting"].includes(state) ? at(state === "due" ? -5 : 25) : null,
      lease_until: state === "leased" ? at(2) : null,
      last_status: state === "waiting" ? 304 : null,
      last_failure: state === "due" ? { at: at(-9), status: null, error: "connection reset" } : null,
      checks:
        state === "waiting"
          ? [
              { at: at(-180), status: 200, changed: true },
              { at: at(-90), status: null, changed: false },
              { at: at(-30), status: 304, changed: false },
            ]
          : [],
      entry:
        state === "waiting"
          ? {
              method: "rss",
              interval_seconds: 5400,
              etag: '"a"',
              last_modified: null,
              changed_at: at(-180),
              failures: 0,
            }
          : null,
    };
  }

  /** All about one host, or null. */
  detail(name) {
    const host = this.hosts.find((one) => one.host === name);
    if (!host) return null;
    return {
      ...host,
      override_delay_seconds: null,
      leased: host.leased_until ? [`https://${name}/news/leased`] : [],
      revisits: {
        scheduled: host.done,
        next_at: iso(this.now + 3_600_000),
        lastmod_trusted: true,
        per_day: 12_500,
        made: 51,
        shard_scheduled: 910,
        threshold: 0.0021,
      },
      of_domain: {
        urls: host.urls,
        limit: 500,
        more_stored: [],
        owned_until: null,
        mirror_of: null,
        collected_at: iso(this.now - 3_600_000),
      },
      patterns: [],
      trap_example: host.traps ? `https://${host.host}/calendar?month=2031-07` : null,
    };
  }

  /** Changes a host, and reports whether there is one. */
  change(name, { block_until, delay_seconds, empty }) {
    const host = this.hosts.find((one) => one.host === name);
    if (!host) return null;
    if (block_until !== undefined) host.blocked_until = Date.parse(block_until) > Date.now() ? block_until : null;
    if (delay_seconds !== undefined) host.delay_seconds = delay_seconds;
    if (empty) Object.assign(host, { urls: 0, due: 0, due_at: null });
    return { host: name };
  }
}

const sum = (rows, name) => rows.reduce((all, row) => all + row[name], 0);
