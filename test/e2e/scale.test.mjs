// A raw file at full size on workerd: memory does not grow with the file.
import assert from "node:assert/strict";
import { describe, test } from "node:test";
import { partition, quick, raw, root, startEngine } from "./engine.mjs";

const MiB = 2 ** 20;
const web = { name: "anysite", main: `${root}/test/workers/anysite.mjs`, compatibility_date: "2026-11-01" };
const seed = (n) => ({ file_path: raw(n), partition_info: partition });

const driver = {
  name: "driver",
  main: `${root}/bench/pipeline/driver.mjs`,
  compatibility_date: "2026-11-01",
  r2_buckets: [{ binding: "engine_BUCKET", bucket_name: "newsfork-datasets-dev" }],
};

/** Calls work with an engine that processes files only: messages to domains are dropped. */
async function withEngine(work) {
  const config = (c) => ({
    ...c,
    main: `${root}/test/workers/inside.mjs`,
    queues: {
      producers: c.queues.producers,
      consumers: c.queues.consumers.filter((q) => !q.queue.includes("-domain-")),
    },
  });
  const engine = await startEngine({ web, vars: quick, change: config, others: [driver] });
  try {
    await work(engine);
  } finally {
    await engine.close();
  }
}

/** Stores a raw file of some MiB with records of 5,000 domains, and returns its size and number of records. */
async function generate(engine, key, size) {
  const query = new URLSearchParams({ side: "engine", key, bytes: String(size * MiB), domains: "5000" });
  return (await engine.harness.getWorker("driver").fetch(`/generate?${query}`)).json();
}

const pool = async (engine) => (await engine.worker.fetch("https://inside.invalid/pool")).json();

describe("scale", () => {
  test("linear memory stays under 48 MiB over a file of 200 MB", () =>
    withEngine(async (engine) => {
      const { bytes, records } = await generate(engine, raw(1), 200);
      assert.ok(bytes > 199 * MiB);
      const result = await engine.deliver("newsfork-seed-dev", [{ id: "a", body: seed(1) }]);
      // Linear memory never shrinks, so its size after the file is its peak.
      const { largest } = await pool(engine);
      assert.deepEqual(result.acked, ["a"]);
      assert.ok(largest > 0 && largest <= 48 * MiB, `linear memory reached ${largest / MiB} MiB`);
      const [extracted] = engine.events("domains_extracted");
      assert.deepEqual([extracted.total_records, extracted.unique_domains, extracted.bad_records], [records, 5000, 0]);
    }));

  test("linear memory of all instances stays under 90 MiB with ten large files at once, and requests are answered", () =>
    withEngine(async (engine) => {
      const files = Array.from({ length: 10 }, (_, i) => i + 1);
      for (const n of files) await generate(engine, raw(n), 20);
      let done = false;
      const answers = [];
      const asking = (async () => {
        while (!done) answers.push((await engine.worker.fetch("/health/ready")).status);
      })();
      const results = await Promise.all(
        files.map((n) => engine.deliver("newsfork-seed-dev", [{ id: `${n}`, body: seed(n) }])),
      ).finally(() => (done = true));
      await asking;
      assert.deepEqual(
        results.map(({ acked }) => acked),
        files.map((n) => [`${n}`]),
      );
      assert.equal(engine.events("domains_extracted").length, 10);
      const { peak } = await pool(engine);
      assert.ok(peak > 0 && peak <= 90 * MiB, `all instances reached ${peak / MiB} MiB`);
      assert.deepEqual([answers.length > 0, new Set(answers)], [true, new Set([200])]);
    }));
});
