// One request at a time per host, with the delay between, whatever the number of events and scrapers: checked in the
// origin's log. Hosts that the frontier does not lease are not fetched, and nothing is lost.
import assert from "node:assert/strict";
import { after, before, describe, test } from "node:test";
import { setTimeout as sleep } from "node:timers/promises";
import { domainMessage, partition, quick, raw, root, startEngine, until } from "./engine.mjs";

const interval = 200;
const web = {
  name: "anysite",
  main: `${root}/test/workers/anysite.mjs`,
  compatibility_date: "2026-11-01",
  vars: { LATENCY_MS: "20" },
};
// No host hangs here, and under load a second can be too short.
const patient = { ROBOTS_TIMEOUT_MS: "10000", SITEMAP_TIMEOUT_MS: "10000", PAGE_TIMEOUT_MS: "10000" };
const other = { ...partition, category: "finance" };
const document = (p, domain) =>
  `prod/country=${p.country}/category=${p.category}/date=${p.date}/${domain}/domain_metadata.json`;

const visits = async (engine) => (await engine.web.fetch("https://control.invalid/")).json();

function assertPolite(log) {
  const last = {};
  for (const visit of log.toSorted((a, b) => a.start - b.start)) {
    const { host, path, start } = visit;
    if (last[host])
      assert.ok(
        start - last[host].end >= interval,
        `${host}${path} was asked for ${start - last[host].end} ms after ${JSON.stringify(last[host])}: ${JSON.stringify(visit)}`,
      );
    last[host] = visit;
  }
}

/** Leases pages over HTTP, fetches and reports them, until over() is true. Returns their number. */
async function scrape(engine, over) {
  const ask = async (path, body) => {
    const { status, data, error } = await engine.api("POST", `/api/v1/frontier/${path}`, body);
    assert.equal(status, 200, JSON.stringify(error));
    return data;
  };
  for (let fetched = 0; ;) {
    if (over()) return fetched;
    const { lease_id, expires_at, items } = await ask("lease", { max: 5, lease_seconds: 20 });
    const results = [];
    for (const { id, url } of items) {
      if (Date.now() >= Date.parse(expires_at)) break; // on a slow machine: others may fetch from the hosts now
      const response = await engine.web.fetch(url);
      await response.arrayBuffer();
      results.push({ id, status: response.status });
      fetched++;
    }
    if (results.length > 0) await ask("report", { lease_id, results });
    else await sleep(200);
  }
}

describe("politeness across events", () => {
  test("forty hosts in two partitions, messages shuffled and doubled, six events and four scrapers at once", async () => {
    const budget = 6;
    const engine = await startEngine({
      web,
      vars: { ...quick, ...patient, REQUEST_INTERVAL_MS: String(interval), MAX_REQUESTS_PER_DOMAIN: String(budget) },
    });
    try {
      const hosts = Array.from({ length: 40 }, (_, i) => `site${i}.sg`);
      const messages = [partition, other].flatMap((p) =>
        hosts.flatMap((host) =>
          Array(2).fill(
            domainMessage(host, [`https://${host}/a`], {
              partition_info: p,
              source_file_path: raw(1).replace("category=news", `category=${p.category}`),
            }),
          ),
        ),
      );
      // A fixed shuffle makes every run the same.
      messages.forEach((_, i) => {
        const k = (i * 7919) % messages.length;
        [messages[i], messages[k]] = [messages[k], messages[i]];
      });
      for (const host of hosts) {
        const urls = Array.from({ length: 30 }, (_, n) => ({ url: `https://${host}/page/${n}` }));
        const { status } = await engine.api("POST", "/api/v1/frontier/urls", { urls, partition_info: partition });
        assert.equal(status, 200);
      }
      let collected = false;
      const scrapers = Array.from({ length: 4 }, () => scrape(engine, () => collected));
      const batches = [];
      for (let i = 0; i < messages.length; i += 5)
        batches.push(messages.slice(i, i + 5).map((body, k) => ({ id: `m${i + k}`, body })));
      await Promise.all(
        Array.from({ length: 6 }, async () => {
          for (let batch; (batch = batches.shift());) {
            const result = await engine.deliver("newsfork-domain-dev", batch);
            assert.equal(result.acked.length, 5, JSON.stringify(result));
          }
        }),
      );
      const keys = [partition, other].flatMap((p) => hosts.map((host) => document(p, host)));
      await until(
        async () => (await engine.keys("prod/")).filter((key) => key.endsWith(".success")).length === keys.length,
        "every domain",
        240,
      );
      collected = true;
      const fetched = await Promise.all(scrapers);
      assert.ok(Math.min(...fetched) > 0, `the scrapers fetched ${fetched} pages`);
      for (const key of keys) {
        const document = await engine.json(key);
        assert.equal(document.technical_metadata.sitemap_xml.url_count, 3, JSON.stringify(document.sitemap));
      }
      assert.deepEqual(await engine.keys("dlq/"), []);
      assert.ok(engine.events("domain_busy").length > 0, "no domain was ever busy");
      const log = await visits(engine);
      assertPolite(log);
      const asked = log.filter(({ path }) => !path.startsWith("/page/") && !path.startsWith("/news")).length;
      assert.ok(asked <= hosts.length * budget, `${asked} requests for ${hosts.length} hosts of at most ${budget}`);
      for (const host of hosts) {
        const collections = log.filter((visit) => visit.host === host && visit.path === "/robots.txt").length;
        assert.equal(collections, 1, `${host} was collected ${collections} times for its two documents`);
      }
    } finally {
      await engine.close();
    }
  });
});

describe("hosts that the frontier does not lease", () => {
  const domains = ["site1.sg", "site2.sg", "site3.sg", "site4.sg", "site5.sg"];
  let engine;
  before(async () => {
    engine = await startEngine({
      web,
      vars: { ...quick, ...patient, FRONTIER_SHARDS: "2" },
      change: (config) => ({ ...config, main: `${root}/test/workers/frozenshards.mjs` }),
    });
  });
  after(() => engine?.close());

  const inside = async (method, path, body) =>
    (
      await engine.worker.fetch(`https://inside.invalid/${path}`, { method, body: body && JSON.stringify(body) })
    ).json();
  const deliver = async (list, id) => {
    const messages = list.map((domain, n) => ({
      id: `${id}${n}`,
      body: domainMessage(domain, [`https://${domain}/a`]),
    }));
    const result = await engine.deliver("newsfork-domain-dev", messages);
    assert.equal(result.acked.length, list.length, JSON.stringify(result));
  };
  const done = async () => {
    const keys = await engine.keys("prod/");
    return domains.filter((domain) => keys.includes(`${document(partition, domain)}.success`));
  };
  const hosts = async () => new Set((await visits(engine)).map(({ host }) => host));

  test("a domain leased by a dead event is collected after the lease expires, and not before", async () => {
    const [domain] = domains;
    const request = { Domain: domain, Owner: "an event that was killed", Seconds: 8 };
    const answers = [
      await inside("POST", "shard-0/acquire", request),
      await inside("POST", "shard-1/acquire", request),
    ];
    assert.equal(answers.filter(({ answer }) => answer?.Granted).length, 1, JSON.stringify(answers));
    const over = Date.now() + 8000;
    await deliver([domain], "dead");
    await until(async () => (await done()).length === 1, "its collection", 60);
    const [first] = await visits(engine);
    assert.ok(first.start >= over - 50, `it was asked ${over - first.start} ms too early`);
    assert.ok(first.start < over + 15_000, `it was asked ${first.start - over} ms after the lease was over`);
    assert.ok(engine.events("domain_busy").length > 0);
  });

  test("while a shard is frozen nothing is fetched from its domains, and nothing is lost", async () => {
    const list = domains.slice(1);
    await inside("PUT", "shard-0");
    await deliver(list, "frozen");
    const frozen = [...new Set(engine.events("frontier_failed").map((event) => event.registrable_domain))];
    assert.ok(frozen.length > 0 && frozen.length < list.length, `frozen: ${frozen}`);
    assert.deepEqual(await done(), [domains[0], ...list.filter((domain) => !frozen.includes(domain))]);
    const asked = await hosts();
    for (const domain of frozen) assert.ok(!asked.has(domain), domain);
    await inside("DELETE", "shard-0");
    await until(async () => (await done()).length === domains.length, "the domains of the shard", 90);
    for (const domain of domains) {
      const log = (await visits(engine)).filter(({ host, path }) => host === domain && path === "/robots.txt");
      assert.equal(log.length, 1, `${domain} was collected ${log.length} times`);
    }
    assert.deepEqual(await engine.keys("dlq/"), []);
  });
});
