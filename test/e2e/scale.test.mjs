// A raw file at full size on workerd: memory does not grow with the file.
import assert from "node:assert/strict";
import { describe, test } from "node:test";
import { partition, quick, raw, root, startEngine } from "./engine.mjs";

const MiB = 2 ** 20;
const web = { name: "anysite", main: `${root}/test/workers/anysite.mjs`, compatibility_date: "2026-11-01" };
const seed = (n) => ({ file_path: raw(n), partition_info: partition });

describe("scale", () => {
  test("linear memory stays under 48 MiB over a file of 200 MB", async () => {
    const config = (c) => ({
      ...c,
      main: `${root}/test/workers/inside.mjs`,
      // Messages are dropped: only the file matters here.
      queues: {
        producers: c.queues.producers,
        consumers: c.queues.consumers.filter((q) => !q.queue.includes("-domain-")),
      },
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
      // Linear memory never shrinks, so its size after the file is its peak.
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
