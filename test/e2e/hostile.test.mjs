// Origins that hang, lie and flood, on workerd. Each is one domain in a batch of five. The other four
// are collected in time, and the document of the fifth reports the fault.
import assert from "node:assert/strict";
import { createHash } from "node:crypto";
import { after, before, describe, test } from "node:test";
import Ajv2020 from "ajv/dist/2020.js";
import { domainMessage, fixture, partition, prod, quick, raw, root, startEngine } from "./engine.mjs";
import web from "../workers/hostileweb.mjs";

const valid = new Ajv2020({ strict: false, validateFormats: false }).compile(
  JSON.parse(fixture("contract/schemas/domain_metadata.schema.json")),
);
const MiB = 1 << 20;

/** The engine with the hostile web behind EGRESS. */
class World {
  batches = 0;

  /**
   * limits are the milliseconds until the healthy domains of a batch are collected, and until the batch ends. The first
   * batch, of healthy domains alone, compiles the engine and has no limit.
   */
  static async start(vars, limits) {
    const world = new World();
    world.limits = limits;
    world.engine = await startEngine({
      web: {
        name: "hostileweb",
        main: `${root}/test/workers/hostileweb.mjs`,
        compatibility_date: "2026-11-01",
        // As for the sample web: its exceptions must be thrown in the engine.
        no_bundle: true,
        find_additional_modules: true,
        rules: [{ type: "ESModule", globs: ["anysite.mjs", "newssite.mjs"] }],
      },
      vars: { ...quick, ...vars },
      change: (config) => ({ ...config, main: `${root}/test/workers/inside.mjs` }),
    });
    const first = world.healthyDomains();
    const { acked } = await world.deliver(first);
    assert.deepEqual(acked.toSorted(), first);
    return world;
  }

  /** All requests so far. */
  async log() {
    return (await this.engine.web.fetch("https://control.invalid/")).json();
  }

  async asked(host) {
    return (await this.log()).filter(({ url }) => new URL(url).host === host);
  }

  async inside(path) {
    return (await this.engine.worker.fetch(`https://inside.invalid/${path}`)).json();
  }

  /** The names of four healthy domains that no batch had yet. */
  healthyDomains() {
    const batch = this.batches++;
    return [1, 2, 3, 4].map((n) => `healthy${batch}-${n}.sg`);
  }

  deliver(domains, attempts = 4) {
    return this.engine.deliver(
      "newsfork-domain-dev",
      domains.map((d) => ({ id: d, body: domainMessage(d, [`https://${d}/x`]), attempts })),
    );
  }

  /** Delivers a batch of the hostile domain and four healthy ones, and checks what holds for every batch. */
  async batch(name, { attempts = 4 } = {}) {
    const hostile = `${name}.sg`;
    const place = this.batches % 5;
    const healthy = this.healthyDomains();
    const domains = healthy.toSpliced(place, 0, hostile);
    const began = Date.now();
    const result = await this.deliver(domains, attempts);
    const took = Date.now() - began;
    assert.ok(took < this.limits.batch, `the batch took ${took} ms`);

    for (const domain of healthy) {
      assert.ok(result.acked.includes(domain), JSON.stringify(result));
      const { uploaded } = await this.engine.env.DATASETS_BUCKET.head(prod(domain, "domain_metadata.json.success"));
      assert.ok(uploaded - began < this.limits.healthy, `${domain} was done after ${uploaded - began} ms`);
      const document = await this.engine.json(prod(domain));
      assert.deepEqual([document.reachable, document.partial, document.sitemap.url_count], [true, false, 3], domain);
    }

    const asked = await this.asked(hostile);
    const document = await this.engine.json(prod(hostile));
    if (document) {
      assert.ok(valid(document), JSON.stringify(valid.errors));
      const { robots_txt, sitemap_xml, server_info, mirror_of } = document.technical_metadata;
      // A mirror's original is asked too: its robots.txt, an article and its home page.
      const elsewhere = server_info.requests - asked.length;
      assert.ok(elsewhere >= 0 && elsewhere <= (mirror_of ? 3 : 0), `${elsewhere} requests to other sites`);
      for (const [evidence, file] of [
        [robots_txt, "robots.txt"],
        [sitemap_xml, "sitemap.xml"],
      ]) {
        assert.deepEqual(
          await this.inside(`digest?key=${prod(hostile, file)}`),
          evidence.exists ? { size: evidence.size, sha256: evidence.sha256 } : null,
          file,
        );
      }
    }
    return { hostile, document, asked, result };
  }

  /** Checks what holds for all batches together, and stops the engine. */
  async close() {
    try {
      for (const { url, cookie, sent, cancelled } of await this.log()) {
        assert.match(new URL(url).host, /^(healthy\d+-\d|\w+-at-\w+)\.sg$/, url);
        assert.equal(cookie, null, url);
        assert.ok(!(sent > 64 * MiB), `${url} gave ${sent} bytes`);
        assert.ok(!(sent > MiB) || cancelled || url.includes("large"), `${url} was read to its end`);
      }
      const { live, dropped, recovered, memory } = await this.inside("pool");
      // The pool drops an instance that grew over a large document: that is expected.
      const faults = Object.keys(dropped).filter((why) => why !== "memory" && why !== "idle_memory");
      assert.deepEqual([live, faults, recovered], [0, [], {}]);
      assert.ok(Math.max(0, ...memory) <= 36 * MiB, `${memory} bytes`);
    } finally {
      await this.engine.close();
    }
  }
}

const fine = {
  reachable: true,
  partial: false,
  robots: [200, true, null],
  sitemap: [200, true, null],
  truncated: false,
  feeds: 1,
};
const unreachable = (kind) => ({ reachable: false, robots: [0, false, kind], sitemap: [404, false, kind], feeds: 0 });
const closed = (status, kind) => ({
  robots: [status, false, kind],
  sitemap: [404, false, "robots_disallowed"],
  feeds: 0,
});

function view({ reachable, partial, robots, sitemap, technical_metadata: { sitemap_xml, feeds } }) {
  return {
    reachable,
    partial,
    robots: [robots.status_code, robots.exists, robots.error_type],
    sitemap: [sitemap.status_code, sitemap.exists, sitemap.error_type],
    truncated: sitemap_xml.truncated,
    feeds: feeds.length,
  };
}

/** Tests by host name, with the differences from the document of a healthy site. */
function documents(world, table) {
  for (const [name, differs] of Object.entries(table)) {
    test(name, async () => {
      const { document, result } = await world().batch(name);
      assert.equal(result.acked.length, 5, JSON.stringify(result));
      assert.deepEqual(view(document), { ...fine, ...differs }, JSON.stringify(document, null, 1));
    });
  }
}

// These tests only wait, so several batches are delivered at once. The times are long enough for a machine that does
// other work too: twenty domains at once may need some seconds of it.
describe("origins that hang", { concurrency: 4 }, () => {
  const vars = {
    ROBOTS_TIMEOUT_MS: "6000",
    SITEMAP_TIMEOUT_MS: "7000",
    PAGE_TIMEOUT_MS: "5000",
    DOMAIN_DEADLINE_MS: "17000",
  };
  let world;
  before(async () => (world = await World.start(vars, { healthy: 12_000, batch: 22_000 })));
  after(() => world?.close());

  documents(() => world, {
    "hang-at-others": { partial: true, sitemap: [404, false, "timeout_error"], feeds: 0 },
    "hang-at-everything": unreachable("timeout_error"),
    "hang-at-robots": unreachable("timeout_error"),
    "hang-at-sitemap": { partial: true, sitemap: [404, false, "timeout_error"] },
    "hang-at-home": { partial: true, feeds: 0 },
    "hang-at-feed": { partial: true, feeds: 0 },
    "stall-at-robots": closed(200, "timeout_error"),
    "stall-at-sitemap": { partial: true, sitemap: [200, false, "timeout_error"] },
    "stall-at-home": { partial: true, feeds: 0 },
    "stall-at-feed": { partial: true, feeds: 0 },
    "drip-at-robots": closed(200, "timeout_error"),
    "drip-at-sitemap": { partial: true, sitemap: [200, false, "timeout_error"] },
    "drip-at-home": { partial: true, feeds: 0 },
  });
});

// Timeouts for tests in which nothing must time out, even on a busy machine.
const patient = { ROBOTS_TIMEOUT_MS: "10000", SITEMAP_TIMEOUT_MS: "50000", PAGE_TIMEOUT_MS: "10000" };

describe("origins that lie and flood", () => {
  const cap = 8 * MiB;
  let world;
  before(
    async () =>
      (world = await World.start({ ...patient, MAX_SITEMAP_BYTES: String(cap) }, { healthy: 10_000, batch: 20_000 })),
  );
  after(() => world?.close());

  documents(() => world, {
    "reset-at-everything": unreachable("network_error"),
    "reset-at-sitemap": { partial: true, sitemap: [404, false, "network_error"] },
    "reset-at-home": { partial: true, feeds: 0 },
    "cut-at-robots": closed(200, "network_error"),
    "cut-at-sitemap": { partial: true, sitemap: [200, false, "network_error"] },
    "cut-at-home": { partial: true, feeds: 0 },
    "cut-at-feed": { partial: true, feeds: 0 },
    "loop-at-robots": { robots: [302, false, "network_error"], sitemap: [404, false, null] },
    "loop-at-sitemap": { partial: true, sitemap: [302, false, "network_error"] },
    "loop-at-home": { partial: true, feeds: 0 },
    "flood-at-everything": { truncated: true },
    "line-at-everything": { truncated: true },
    "list-at-sitemap": { truncated: true },
    "zeros-at-others": { partial: true, sitemap: [200, false, "parse_error"], feeds: 0 },
    "bomb-at-sitemap": { truncated: true },
    "twice-at-sitemap": { truncated: true },
    "encoded-at-everything": { truncated: true },
    "headers-at-everything": {},
    "charset-at-everything": {},
    "wide-at-robots": {},
    "wide-at-sitemap": {},
    "short-at-sitemap": { truncated: true },
    "more-at-sitemap": { truncated: true },
    "later-at-sitemap": { partial: true, sitemap: [503, false, "network_error"], feeds: 0 },
    "overdone-at-robots": {
      partial: true,
      robots: [429, false, null],
      sitemap: [404, false, "timeout_error"],
      feeds: 0,
    },
    "overdone-at-home": { feeds: 0 },
    ...Object.fromEntries(web.forbidden.map((_, i) => [`to${i}-at-robots`, closed(302, "validation_error")])),
    "inward-at-others": { partial: true, sitemap: [302, false, "validation_error"], feeds: 0 },
    "names-at-robots": { sitemap: [404, false, "validation_error"] },
    "names-at-sitemap": {},
    "names-at-home": { feeds: 0 },
  });

  test("of a flood no more is read than is kept", async () => {
    const { document, asked } = await world.batch("flood-at-others");
    assert.deepEqual([document.sitemap.content_length, document.technical_metadata.sitemap_xml.truncated], [cap, true]);
    for (const [path, limit] of [
      ["/map.xml", cap],
      ["/", MiB],
      ["/rss", 5 * MiB],
    ]) {
      const { sent } = asked.find(({ url }) => new URL(url).pathname === path);
      assert.ok(sent >= limit && sent < limit + MiB, `${path}: ${sent}`);
    }
  });

  test("the first 500 KiB of a robots.txt of 2 MB apply", async () => {
    const { document, hostile } = await world.batch("long-at-robots");
    const { robots, technical_metadata } = document;
    assert.deepEqual(
      [robots.content_length, robots.sitemap_urls, technical_metadata.robots_txt.allows_crawling],
      [512_000, [`https://${hostile}/map.xml`], true],
    );
  });

  test("a domain that does not answer is retried before its document says so", async () => {
    const { document, result } = await world.batch("reset-at-robots", { attempts: 1 });
    assert.equal(document, null);
    assert.deepEqual([result.acked.length, result.retried.map((r) => r.msgId)], [4, ["reset-at-robots.sg"]]);
  });
});

describe("hostile origins, with the limits of production", () => {
  let world;
  before(
    async () =>
      (world = await World.start(
        { ...patient, FETCH_RETRIES: "3", FETCH_RETRY_BASE_MS: "100" },
        { healthy: 10_000, batch: 60_000 },
      )),
  );
  after(() => world?.close());
  const limit = 52_428_800; // MAX_SITEMAP_BYTES

  test("a sitemap of 50 MB is read and kept whole", async () => {
    const { document, hostile } = await world.batch("large-at-sitemap");
    const sum = createHash("sha256");
    let size = 0;
    for (const chunk of web.largeSitemap(hostile)) {
      sum.update(chunk);
      size += chunk.length;
    }
    assert.ok(size > 52_000_000 && size <= limit);
    assert.deepEqual(view(document), fine);
    assert.equal(document.sitemap.url_count, 50_000);
    const { sha256 } = document.technical_metadata.sitemap_xml;
    assert.deepEqual([document.sitemap.content_length, sha256], [size, sum.digest("hex")]);
  });

  test("an endless sitemap is kept up to the protocol's limit", async () => {
    const { document } = await world.batch("flood-at-sitemap");
    assert.deepEqual(view(document), { ...fine, truncated: true });
    assert.equal(document.sitemap.content_length, limit);
  });

  test("a lost connection is retried, a refusal for a day is not", async () => {
    const reset = await world.batch("reset-at-sitemap");
    assert.deepEqual(view(reset.document), { ...fine, partial: true, sitemap: [404, false, "network_error"] });
    assert.equal(reset.asked.filter(({ url }) => url.endsWith("/map.xml")).length, 4);
    const later = await world.batch("later-at-robots");
    assert.equal(later.asked.length, 1);
    assert.deepEqual(view(later.document), { ...fine, ...closed(503, "network_error") });
  });

  test("a Retry-After of a day on one host does not lose the domain's other messages", async () => {
    const { hostile, document, asked } = await world.batch("overdone-at-home");
    const other = {
      partition_info: { ...partition, category: "finance" },
      source_file_path: raw(1).replace("category=news", "category=finance"),
    };
    const deliver = async (id, message) => {
      const result = await world.engine.deliver("newsfork-domain-dev", [{ id, body: message }]);
      assert.deepEqual(result.acked, [id], JSON.stringify(world.engine.events("domain_collector_failed")));
    };
    // Another partition needs no request.
    await deliver("other", domainMessage(hostile, [], other));
    const key = prod(hostile).replace("category=news", "category=finance");
    const reused = await world.engine.json(key);
    assert.equal(reused.collected_at, document.collected_at);
    // A forced collection waits until it may.
    await deliver(
      "again",
      domainMessage(hostile, [], { ...other, force: true, requested_at: new Date().toISOString() }),
    );
    const busy = world.engine.events("domain_busy").find((line) => line.registrable_domain === hostile);
    assert.ok(busy.delay_ms > 60_000, `${busy.delay_ms} ms`);
    assert.equal((await world.asked(hostile)).length, asked.length);
  });
});
