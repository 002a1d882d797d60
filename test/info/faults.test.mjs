// Both Workers of the Info service on workerd while their dependencies fail and recover: PostgreSQL and
// Redis, D1, the collector itself.
import assert from "node:assert/strict";
import { join } from "node:path";
import { after, test } from "node:test";
import { isDeepStrictEqual } from "node:util";
import { root } from "../e2e/engine.mjs";
import { harnessOf } from "../harness.mjs";
import { build } from "../../worker/build.mjs";
import { setTimeout as sleep } from "node:timers/promises";
import { missing, startPostgres, startRedis } from "./servers.mjs";

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

/** Repeats a request until its response is as expected, for as long as a reader may take to notice. */
async function eventually(ask, expected) {
  for (const end = Date.now() + 15_000; ; await sleep(200)) {
    const answer = await ask();
    if (isDeepStrictEqual(answer, expected)) return;
    if (Date.now() > end) assert.deepEqual(answer, expected);
  }
}

/** Starts both Workers, or one, with the given bindings and variables. */
async function start(bindings, vars = {}, names = ["api", "collector"]) {
  const shared = { compatibility_date: "2026-11-01", rules: [{ type: "CompiledWasm", globs: ["**/*.wasm"] }] };
  const worker = (name) => ({
    ...{ name, main: join(root, `build/info-${name}/entry.mjs`), ...shared, ...bindings },
    vars: { ENVIRONMENT: "development", FEEDS: `https://${feed}`, API_TOKEN: "token", ...vars },
    services: [{ binding: "EGRESS", service: "newsweb" }],
  });
  const web = {
    name: "newsweb",
    main: join(root, "test/workers/newsweb.mjs"),
    compatibility_date: "2026-11-01",
    vars: { PAGES: "{}" },
  };
  const harness = harnessOf(...names.map(worker), web);
  let closed;
  const stop = () => (closed ??= harness.close());
  after(stop);
  await harness.listen();
  const newsweb = harness.getWorker("newsweb");
  const [api, collector] = ["api", "collector"].map((name) => names.includes(name) && harness.getWorker(name));
  return {
    api,
    collector,
    stop,
    async page(query = "") {
      const answer = await api.fetch(`https://info.example/api/v1/info/news${query}`);
      const body = await answer.json();
      return { status: answer.status, titles: body.articles?.map((a) => a.title).join(" "), ...body.meta };
    },
    publish: (pages) => newsweb.fetch("https://control.example/", { method: "POST", body: JSON.stringify(pages) }),
    async collections(source) {
      const answer = await collector.fetch("https://collector.example/api/v1/info/collect", {
        method: "POST",
        headers: { authorization: "Bearer token", "content-type": "application/json" },
        body: JSON.stringify({ source }),
      });
      const { data } = await answer.json();
      return { status: answer.status, list: data?.collections ?? [] };
    },
    async collect(titles) {
      if (titles) await this.publish({ [feed]: { body: rss(titles) } });
      const { status, list } = await this.collections();
      return { status, ...list[0] };
    },
  };
}

test("PostgreSQL and Redis fail and recover", { skip: missing }, async () => {
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
  // The cache has the whole page, and the readers' Worker notices that it might be stale.
  await eventually(seen, { ...good, is_stale: true });
  assert.equal((await info.page("?q=two")).status, 503);
  assert.match((await info.collect(["zero", "one", "two"])).error, /database/);
  assert.deepEqual(await seen(), { ...good, is_stale: true });
  await redis.stop();
  assert.equal((await info.page()).status, 503);

  await postgres.start();
  await eventually(seen, { ...good, source: "postgres" }); // it recovers first
  const collected = await info.collect();
  assert.deepEqual([collected.status, collected.error], [200, undefined]);
  assert.deepEqual(await seen(), { ...good, titles: "zero one two", source: "postgres" });
  await redis.start();
  await info.collect(); // fills the cache, though nothing changed
  // Readers try it again once its pause is over.
  await eventually(seen, { ...good, titles: "zero one two" });

  // Servers that accept and do not answer.
  const within = async (ms, ask, what) => {
    const began = Date.now();
    const answer = await ask();
    assert.ok(Date.now() - began < ms, `${what} took ${Date.now() - began} ms`);
    return answer;
  };
  redis.freeze();
  await within(4_000, seen, "the first page without Redis");
  const pages = () => Promise.all(Array.from({ length: 20 }, seen));
  for (const page of await within(8_000, pages, "20 pages without Redis"))
    assert.deepEqual(page, { ...good, titles: "zero one two", source: "postgres" });
  redis.thaw();
  await eventually(seen, { ...good, titles: "zero one two" });
  postgres.freeze();
  const search = async () => (await info.page("?q=two")).status;
  assert.equal(await within(8_000, search, "the first search without PostgreSQL"), 503);
  const searches = () => Promise.all(Array.from({ length: 20 }, search));
  assert.deepEqual(new Set(await within(8_000, searches, "20 searches without PostgreSQL")), new Set([503]));
  await within(4_000, seen, "a page without PostgreSQL");
  await eventually(seen, { ...good, titles: "zero one two", is_stale: true });
  postgres.thaw();
  await eventually(search, 200);
});

const d1AndKV = {
  d1_databases: [
    {
      binding: "INFO_DB",
      database_name: "info",
      database_id: "info",
      migrations_dir: join(root, "info/store/migrations"),
    },
  ],
  kv_namespaces: [{ binding: "INFO_CACHE", id: "info" }],
};

test("D1 fails, and the collector with it", async () => {
  const info = await start(d1AndKV);
  await info.collector.applyD1Migrations("INFO_DB");
  const { INFO_DB: db, INFO_CACHE: kv } = await info.api.getEnv();
  const titles = Array.from({ length: 30 }, (_, i) => `t${i}`);
  await info.collect(titles);
  assert.equal((await info.page("?limit=5")).source, "kv");
  await db.exec("ALTER TABLE news_articles RENAME TO away");

  // Cached pages are served, and marked once that is noticed; other pages fail and say when to
  // retry.
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

  // KV is empty, or holds garbage.
  for (const nonsense of [null, "", "{}", "no JSON\nx y z", `${value.slice(0, 40)}`]) {
    await (nonsense === null ? kv.delete("news:feed:all") : kv.put("news:feed:all", nonsense));
    const { status, source, titles: shown } = await info.page("?limit=2");
    assert.deepEqual([status, source, shown], [200, "d1", "new t0"], JSON.stringify(nonsense));
    // The reader that missed the cache fills it; later readers may once a minute.
    if (nonsense === null) await eventually(async () => (await info.page("?limit=2")).source, "kv");
  }
});

test("upstreams are slow: silent, late, trickling, stuck in the middle", async () => {
  const slow = ["silent", "trickling", "stuck"].map((name) => `${name}.example/rss`);
  const feeds = [...slow, feed, "late.example/rss"].map((at) => `https://${at}`);
  const naver = "naver.example/news.json";
  const info = await start(d1AndKV, {
    FEEDS: feeds.join("\n"),
    ...{ NAVER_CLIENT_ID: "i", NAVER_CLIENT_SECRET: "s", NAVER_QUERIES: "a", NAVER_BASE_URL: `https://${naver}` },
  });
  await info.collector.applyD1Migrations("INFO_DB");
  const article = (title) => ({
    title,
    link: `https://press.example/${title}`,
    pubDate: minutesAgo(3),
    description: "",
  });
  const answer = JSON.stringify({ items: [article("naver")] });
  await info.publish({
    [feed]: { body: rss(["one"]) },
    "late.example/rss": { body: rss(["two"]), delay: 5_000 },
    "silent.example/rss": { body: rss(["never"]), delay: 3_600_000 },
    "trickling.example/rss": { body: rss(["never"]), pace: 500 },
    "stuck.example/rss": { body: rss(["never"]), pace: 0, bytes: 200 },
    [naver]: { body: answer, pace: 3_000 },
  });
  const began = Date.now();
  const [fromNaver, fromFeeds] = await Promise.all(["naver", "feed"].map((source) => info.collections(source)));
  assert.deepEqual([fromNaver.status, fromFeeds.status], [200, 200]);
  assert.ok(Date.now() - began < 50_000, `it took ${Date.now() - began} ms, not the 20 seconds that each is given`);
  assert.match(fromNaver.list[0].error, /no answer within 20000 ms/);
  const { error, counts } = fromFeeds.list[0];
  assert.deepEqual([error, counts.inserted, counts.failed_requests], [undefined, 2, 3]);
  const shown = async () => (await info.page()).titles.split(" ").sort();
  assert.deepEqual(await shown(), ["one", "two"]);

  const letters = await info.collector.fetch("https://collector.example/api/v1/info/dead-letters", {
    headers: { authorization: "Bearer token" },
  });
  const { data } = await letters.json();
  assert.deepEqual(
    data.dead_letters.map(({ source, request }) => `${source} ${request}`).sort(),
    ["naver a", ...slow.map((at) => `feed https://${at}`)].sort(),
  );

  // Nothing is lost: once the upstreams answer, the failed requests succeed.
  await info.publish(Object.fromEntries(slow.map((at) => [at, { body: rss([at.split(".")[0]]) }])));
  await info.publish({ [naver]: { body: answer } });
  const replayed = await info.collector.fetch("https://collector.example/api/v1/info/dead-letters/replay", {
    method: "POST",
    headers: { authorization: "Bearer token", "content-type": "application/json" },
  });
  assert.deepEqual((await replayed.json()).data, { succeeded: 4, failed: 0, inserted: 4 });
  assert.equal((await info.collections("feed")).list[0].counts.failed_requests, 0);
  assert.deepEqual(await shown(), ["naver", "one", "silent", "stuck", "trickling", "two"]);
});

test("the collector is replaced in the middle of a collection, and no reader notices", { skip: missing }, async () => {
  const [postgres, redis] = await Promise.all([startPostgres(), startRedis()]);
  after(() => Promise.all([postgres.remove(), redis.remove()]));
  await postgres.migrate();
  const stores = { hyperdrive: [{ binding: "HYPERDRIVE", id: "info", localConnectionString: postgres.url }] };
  const silent = { naver: "naver.example/news.json", newsdata: "newsdata.example/latest" };
  const vars = {
    REDIS_URL: redis.url,
    ...{
      NAVER_CLIENT_ID: "i",
      NAVER_CLIENT_SECRET: "s",
      NAVER_QUERIES: "a",
      NAVER_BASE_URL: `https://${silent.naver}`,
    },
    ...{ NEWSDATA_API_KEY: "k", NEWSDATA_QUERIES: "a", NEWSDATA_BASE_URL: `https://${silent.newsdata}` },
  };
  // Each Worker is a process of its own, as the two are on the platform.
  const deploy = () => start(stores, vars, ["collector"]);
  const readers = await start(stores, vars, ["api"]);
  const collect = async (collector, titles) => {
    await collector.publish({ [feed]: { body: rss(titles) } });
    const { error, counts } = (await collector.collections("feed")).list[0];
    return [error, counts.inserted];
  };
  const titles = Array.from({ length: 20 }, (_, i) => `t${i}`);
  let collector = await deploy();
  assert.deepEqual(await collect(collector, titles), [undefined, titles.length]);

  let reading = true;
  let pages = 0;
  const seen = new Set();
  const reader = async (query) => {
    while (reading) {
      const there = [...titles];
      const { status, is_stale, titles: shown } = await readers.page(query);
      assert.deepEqual([status, is_stale], [200, false], query);
      const list = shown.split(" ");
      for (const title of there) assert.ok(list.includes(title), `${title} is missing in ${query}`);
      for (const title of list) seen.add(title);
      pages++;
    }
  };
  // From the cache and from the database: articles newer than an old cursor.
  const queries = ["?limit=50", "?limit=50&category=all&source=feed", "?limit=50&cursor=1&direction=newer"];
  const ended = Promise.all(queries.map(reader)).catch((error) => error);
  for (const source of Object.keys(silent)) {
    await collector.publish({ [silent[source]]: { body: "{}", delay: 3_600_000 } });
    const cut = collector.collections(source).catch(() => "cut off");
    await sleep(500);
    await collector.stop();
    assert.equal(await cut, "cut off");
    const before = pages;
    // There is no collector at all, and readers go on.
    for (const end = Date.now() + 15_000; pages === before && Date.now() < end;) await sleep(100);
    assert.ok(pages > before, `no page was read meanwhile: ${await Promise.race([ended, "readers still wait"])}`);
    collector = await deploy();
    assert.deepEqual(await collect(collector, [`after-${source}`, ...titles]), [undefined, 1]);
    titles.push(`after-${source}`); // from here on it is never missing
  }
  for (const end = Date.now() + 15_000; !seen.has(titles.at(-1)) && Date.now() < end;) await sleep(100);
  reading = false;
  const error = await ended;
  assert.ok(!(error instanceof Error), error);
  assert.ok(titles.every((title) => seen.has(title)));
});
