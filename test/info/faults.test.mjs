// Both Workers of the Info service on workerd while what they depend on goes, and comes back: PostgreSQL and
// Redis, D1, the collector itself.
import assert from "node:assert/strict";
import { join } from "node:path";
import { after, test } from "node:test";
import { isDeepStrictEqual } from "node:util";
import { root } from "../e2e/engine.mjs";
import { build } from "../../worker/build.mjs";
import { setTimeout as sleep } from "node:timers/promises";
import { missing, startPostgres, startRedis } from "./servers.mjs";
import { createTestHarness } from "wrangler";

const minutesAgo = (n) => new Date(Date.now() - n * 60_000).toUTCString();
const rss = (titles) =>
  `<rss><channel><title>Press</title>${titles
    .map(
      (t, i) =>
        `<item><title>${t}</title><link>https://press.example/${t}</link><pubDate>${minutesAgo(i + 1)}</pubDate></item>`,
    )
    .join("")}</channel></rss>`;
const feed = "feeds.example/rss";

for (const name of ["api", "collector"]) build(join(root, "info", name), join(root, `build/info-${name}`));

/** Asks again until what is answered is as expected, for so long as a reader may take to notice. */
async function eventually(ask, expected) {
  for (const end = Date.now() + 15_000; ; await sleep(200)) {
    const answer = await ask();
    if (isDeepStrictEqual(answer, expected)) return;
    if (Date.now() > end) assert.deepEqual(answer, expected);
  }
}

/** Starts both Workers, with the bindings and variables given to both. */
async function start(bindings, vars = {}) {
  const shared = { compatibility_date: "2026-11-01", rules: [{ type: "CompiledWasm", globs: ["**/*.wasm"] }] };
  const worker = (name) => ({
    config: {
      ...{ name, main: join(root, `build/info-${name}/entry.mjs`), ...shared, ...bindings },
      vars: { ENVIRONMENT: "development", FEEDS: `https://${feed}`, API_TOKEN: "token", ...vars },
      services: [{ binding: "EGRESS", service: "newsweb" }],
    },
  });
  const web = {
    config: {
      name: "newsweb",
      main: join(root, "test/workers/newsweb.mjs"),
      compatibility_date: "2026-11-01",
      vars: { PAGES: "{}" },
    },
  };
  const harness = createTestHarness({ root, workers: [worker("api"), worker("collector"), web] });
  after(() => harness.close());
  await harness.listen();
  const [api, collector, newsweb] = ["api", "collector", "newsweb"].map((name) => harness.getWorker(name));
  return {
    api,
    collector,
    async page(query = "") {
      const answer = await api.fetch(`https://info.example/api/v1/info/news${query}`);
      const body = await answer.json();
      return { status: answer.status, titles: body.articles?.map((a) => a.title).join(" "), ...body.meta };
    },
    async collect(titles) {
      if (titles)
        await newsweb.fetch("https://control.example/", {
          method: "POST",
          body: JSON.stringify({ [feed]: { body: rss(titles) } }),
        });
      const answer = await collector.fetch("https://collector.example/api/v1/info/collect", {
        method: "POST",
        headers: { authorization: "Bearer token", "content-type": "application/json" },
      });
      const { data } = await answer.json();
      return { status: answer.status, ...data?.collections[0] };
    },
  };
}

test("PostgreSQL and Redis go and come back", { skip: missing }, async () => {
  const [postgres, redis] = await Promise.all([startPostgres(), startRedis()]);
  after(() => Promise.all([postgres.remove(), redis.remove()]));
  await postgres.migrate();
  const info = await start(
    { hyperdrive: [{ binding: "HYPERDRIVE", id: "info", localConnectionString: postgres.url }] },
    { REDIS_URL: redis.url },
  );
  assert.equal((await info.collect(["one", "two"])).status, 200);
  const good = { status: 200, titles: "one two", source: "redis", is_stale: false };
  const seen = async (query) => {
    const { status, titles, source, is_stale } = await info.page(query);
    return { status, titles, source, is_stale };
  };
  assert.deepEqual(await seen(), good);
  assert.deepEqual(await seen("?q=two"), { ...good, titles: "two", source: "postgres" });

  await postgres.stop();
  // The cache has the whole page, and readers' Worker notices that it may be an old one.
  await eventually(seen, { ...good, is_stale: true });
  assert.equal((await info.page("?q=two")).status, 503);
  assert.match((await info.collect(["zero", "one", "two"])).error, /database/);
  assert.deepEqual(await seen(), { ...good, is_stale: true });
  await redis.stop();
  assert.equal((await info.page()).status, 503);

  await postgres.start();
  assert.deepEqual(await seen(), { ...good, source: "postgres" });
  const collected = await info.collect();
  assert.deepEqual([collected.status, collected.error], [200, undefined]);
  assert.deepEqual(await seen(), { ...good, titles: "zero one two", source: "postgres" });
  await redis.start();
  await info.collect(); // fills the cache, though nothing changed
  assert.deepEqual(await seen(), { ...good, titles: "zero one two" });
});

test("D1 fails, and the collector with it", async () => {
  const info = await start({
    d1_databases: [
      {
        binding: "INFO_DB",
        database_name: "info",
        database_id: "info",
        migrations_dir: join(root, "info/store/migrations"),
      },
    ],
    kv_namespaces: [{ binding: "INFO_CACHE", id: "info" }],
  });
  await info.collector.applyD1Migrations("INFO_DB");
  const { INFO_DB: db, INFO_CACHE: kv } = await info.api.getEnv();
  const titles = Array.from({ length: 30 }, (_, i) => `t${i}`);
  await info.collect(titles);
  assert.equal((await info.page("?limit=5")).source, "kv");
  await db.exec("ALTER TABLE news_articles RENAME TO away");

  // All that the cache has is served, and marked once that is noticed; what is behind it is not, and says when to
  // ask again.
  const seen = async (query) => {
    const { status, source, is_stale, titles: shown } = await info.page(query);
    return { status, source, is_stale, titles: shown };
  };
  const all = { status: 200, source: "kv", is_stale: true, titles: titles.join(" ") };
  await eventually(() => seen("?limit=50"), all);
  const value = await kv.get("news:feed:all");
  await kv.put("news:feed:all", value.replace('"complete":true', '"complete":false'));
  assert.deepEqual(await seen("?limit=50"), all);
  assert.match((await info.collect()).error, /database/);
  const answer = await info.api.fetch("https://info.example/api/v1/info/news?q=t1");
  assert.deepEqual([answer.status, answer.headers.get("retry-after")], [503, "5"]);

  await db.exec("ALTER TABLE away RENAME TO news_articles");
  assert.equal((await info.page("?q=t1")).titles, "t1");
  assert.equal((await info.collect(["new", ...titles])).error, undefined);
  await eventually(() => seen("?limit=2"), { status: 200, source: "kv", is_stale: false, titles: "new t0" });

  // KV has nothing any more, or nonsense.
  for (const nonsense of [null, "", "{}", "no JSON\nx y z", `${value.slice(0, 40)}`]) {
    await (nonsense === null ? kv.delete("news:feed:all") : kv.put("news:feed:all", nonsense));
    const { status, source, titles: shown } = await info.page("?limit=2");
    assert.deepEqual([status, source, shown], [200, "d1", "new t0"], JSON.stringify(nonsense));
    // The reader who missed it has it filled; after that one in a minute may.
    if (nonsense === null) await eventually(async () => (await info.page("?limit=2")).source, "kv");
  }
});
