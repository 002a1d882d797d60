// One request at a time a host, with the pause between, whatever the number of events: told by the
// origin's own log.
import assert from "node:assert/strict";
import { describe, test } from "node:test";
import { domainMessage, partition, quick, raw, root, startEngine, until } from "./engine.mjs";

const interval = 200;
const web = {
  name: "anysite",
  main: `${root}/test/workers/anysite.mjs`,
  compatibility_date: "2026-11-01",
  vars: { LATENCY_MS: "20" },
};
const other = { ...partition, category: "finance" };
const document = (p, domain) =>
  `prod/country=${p.country}/category=${p.category}/date=${p.date}/${domain}/domain_metadata.json`;

const visits = async (engine) => (await engine.web.fetch("https://control.invalid/")).json();

function assertPolite(log) {
  const last = {};
  for (const { host, path, start, end } of log.toSorted((a, b) => a.start - b.start)) {
    if (last[host])
      assert.ok(
        start - last[host] >= interval,
        `${host}${path} was asked for ${start - last[host]} ms after the request before it`,
      );
    last[host] = end;
  }
}

describe("politeness across events", () => {
  test("forty hosts in two partitions, messages shuffled and doubled, six events at once", async () => {
    const budget = 6;
    const engine = await startEngine({
      web,
      vars: { ...quick, REQUEST_INTERVAL_MS: String(interval), MAX_REQUESTS_PER_DOMAIN: String(budget) },
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
      // A fixed shuffle: the same run every time.
      messages.forEach((_, i) => {
        const k = (i * 7919) % messages.length;
        [messages[i], messages[k]] = [messages[k], messages[i]];
      });
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
        150,
      );
      for (const key of keys) {
        const document = await engine.json(key);
        assert.equal(document.technical_metadata.sitemap_xml.url_count, 3, JSON.stringify(document.sitemap));
      }
      assert.deepEqual(await engine.keys("dlq/"), []);
      assert.ok(engine.events("domain_busy").length > 0, "no domain was ever busy");
      const log = await visits(engine);
      assertPolite(log);
      assert.ok(
        log.length <= keys.length * budget,
        `${log.length} requests for ${keys.length} documents of at most ${budget}`,
      );
      for (const host of hosts) {
        const collections = log.filter((visit) => visit.host === host && visit.path === "/robots.txt").length;
        assert.equal(collections, 1, `${host} was collected ${collections} times for its two documents`);
      }
    } finally {
      await engine.close();
    }
  });
});
