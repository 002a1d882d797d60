// Raw files at full size on workerd: nothing is lost, and memory does not grow with the file.
import assert from "node:assert/strict";
import { describe, test } from "node:test";
import { partition, prod, quick, raw, root, startEngine, until } from "./engine.mjs";

const MiB = 2 ** 20;
const web = { name: "anysite", main: `${root}/test/workers/anysite.mjs`, compatibility_date: "2026-11-01" };
const seed = (n) => ({ file_path: raw(n), partition_info: partition });

/** All URLs of a document, inline and in its files. */
async function urls(engine, document) {
  const lists = await Promise.all(document.urls_files.map((key) => engine.json(key)));
  return [document.urls, ...lists].flat();
}

describe("scale", () => {
  test("20 domains of 2,000 URLs and one of 50,000 come through with nothing lost", async () => {
    const engine = await startEngine({ web });
    try {
      const sizes = Object.fromEntries([...Array.from({ length: 20 }, (_, i) => [`site${i}.sg`, 2000]), ["large.sg", 50_000]]);
      const records = Object.entries(sizes).flatMap(([domain, n]) =>
        Array.from({ length: n }, (_, i) => ({ url: `https://www.${domain}/news/2026/${i}/a-headline-of-usual-length`, title: `Headline ${i} — "quoted" & more`, source_type: "media" })),
      );
      // Records of one domain do not stand together.
      records.sort((a, b) => (a.url.slice(-40) < b.url.slice(-40) ? -1 : 1));
      const content = JSON.stringify(records);
      await engine.put(raw(1), content);
      await engine.env.SEED_QUEUE.send(seed(1));
      const done = async () => (await engine.keys("prod/")).filter((key) => key.endsWith("domain_metadata.json.success")).length;
      await until(async () => (await done()) === 21, "all domains", 120);
      // The messages of a large domain are merged one after another.
      await until(async () => (await engine.json(prod("large.sg"))).processing_metadata.total_urls === 50_000, "the large domain", 120);
      for (const [domain, n] of Object.entries(sizes)) {
        const document = await engine.json(prod(domain));
        const all = await urls(engine, document);
        assert.equal(document.processing_metadata.total_urls, n, domain);
        assert.equal(document.urls.length, Math.min(n, 5000), domain);
        assert.equal(new Set(all.map((u) => u.url)).size, n, domain);
        assert.equal(all.length, n, domain);
        assert.ok(all.every((u, i) => i === 0 || all[i - 1].url < u.url), `${domain}: not sorted`);
        assert.ok(all.every((u) => u.title.startsWith("Headline ")), domain);
      }
      assert.deepEqual(await engine.keys("dlq/"), []);
    } finally {
      await engine.close();
    }
  });

  test("linear memory stays under 48 MiB over a file of 200 MB", async () => {
    const config = (c) => ({
      ...c,
      main: `${root}/test/workers/inside.mjs`,
      // What is sent on is dropped: the file alone is looked at.
      queues: { producers: c.queues.producers, consumers: c.queues.consumers.filter((q) => !q.queue.includes("-domain-")) },
    });
    const driver = {
      name: "driver",
      main: `${root}/bench/pipeline/driver.mjs`,
      compatibility_date: "2026-11-01",
      r2_buckets: [{ binding: "engine_BUCKET", bucket_name: "newsfork-datasets-dev" }],
    };
    const engine = await startEngine({ web, vars: quick, change: config, others: [driver] });
    try {
      const query = new URLSearchParams({ side: "engine", key: raw(1), bytes: String(200 * MiB), domains: "5000" });
      const { bytes, records } = await (await engine.harness.getWorker("driver").fetch(`/generate?${query}`)).json();
      assert.ok(bytes > 199 * MiB);
      const result = await engine.deliver("newsfork-seed-dev", [{ id: "a", body: seed(1) }]);
      // Linear memory never shrinks: what it is after the file is the most that it was.
      const { largest } = await (await engine.worker.fetch("https://inside.invalid/pool")).json();
      assert.deepEqual(result.acked, ["a"]);
      assert.ok(largest > 0 && largest <= 48 * MiB, `linear memory reached ${largest / MiB} MiB`);
      const [extracted] = engine.events("domains_extracted");
      assert.deepEqual([extracted.total_records, extracted.unique_domains, extracted.bad_records], [records, 5000, 0]);
    } finally {
      await engine.close();
    }
  });
});
