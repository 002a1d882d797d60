// Runs the suites of the Info service's stores and caches on workerd: D1 and PostgreSQL, KV and Redis, each
// pair of them. PostgreSQL is reached by a Hyperdrive binding, Redis by a socket.
import assert from "node:assert/strict";
import { dirname, join, resolve } from "node:path";
import { after, suite, test } from "node:test";
import { fileURLToPath } from "node:url";
import { harnessOf } from "../harness.mjs";
import { build } from "../../worker/build.mjs";
import { missing, startPostgres, startRedis } from "./servers.mjs";

const here = dirname(fileURLToPath(import.meta.url));
const root = resolve(here, "../..");
const out = join(root, "build/info-conformance");

if (missing) test("stores and caches of the Info service", { skip: missing }, () => {});
else await conformance();

async function conformance() {
  build(join(here, "fixture"), out);
  const [postgres, redis] = await Promise.all([startPostgres(), startRedis()]);
  const config = {
    name: "info-conformance",
    main: join(out, "entry.mjs"),
    compatibility_date: "2026-11-01",
    rules: [{ type: "CompiledWasm", globs: ["**/*.wasm"] }],
    vars: { REDIS_URL: redis.url },
    d1_databases: [
      {
        binding: "INFO_DB",
        database_name: "info",
        database_id: "info",
        migrations_dir: join(root, "info/store/migrations"),
      },
    ],
    kv_namespaces: [{ binding: "INFO_CACHE", id: "info" }],
    hyperdrive: [{ binding: "HYPERDRIVE", id: "info", localConnectionString: postgres.url }],
  };
  const harness = harnessOf(config);
  after(async () => {
    await harness.close();
    await Promise.all([postgres.remove(), redis.remove()]);
  });
  await harness.listen();
  const worker = harness.getWorker(config.name);
  await worker.applyD1Migrations("INFO_DB");

  async function call(path, init) {
    const answer = await worker.fetch(`http://fixture${path}`, init);
    const text = await answer.text();
    assert.equal(answer.status, 200, text);
    return JSON.parse(text);
  }
  await call("/migrate", { method: "POST" });
  const { stores, pairs } = await call("/cases");
  const run = async (store, cache, name) =>
    assert.deepEqual(await call(`/run/${store}/${cache}/${encodeURIComponent(name)}`), []);
  for (const store of ["d1", "postgres"]) {
    suite(store, () => {
      for (const name of stores) test(name, () => run(store, "none", name));
    });
    for (const cache of ["kv", "redis"]) {
      suite(`${store} and ${cache}`, () => {
        for (const name of pairs) test(name, () => run(store, cache, name));
      });
    }
  }
}
