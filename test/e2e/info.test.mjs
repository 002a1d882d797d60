// Both Workers of the Info service on workerd, with shared D1 and KV and their upstreams behind
// EGRESS.
import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { after, test } from "node:test";
import { root } from "./engine.mjs";
import { harnessOf } from "../harness.mjs";
import { build } from "../../worker/build.mjs";
import { unstable_readConfig as readConfig } from "wrangler";

const fixture = (name) => readFileSync(join(root, "info/testdata", name), "utf8");

// The deployed configuration, with a test's changes.
function worker(name, vars = {}) {
  build(join(root, "info", name), join(root, `build/info-${name}`));
  const config = readConfig({ config: join(root, `info/${name}/wrangler.jsonc`) }, { hideWarnings: true });
  const { main, compatibility_date, rules, d1_databases, kv_namespaces } = config;
  const migrations_dir = join(root, "info/store/migrations");
  return {
    ...{ name: config.name, main, compatibility_date, rules, kv_namespaces },
    d1_databases: d1_databases.map((db) => ({ ...db, migrations_dir })),
    vars: { ENVIRONMENT: "development", ...vars },
    services: [{ binding: "EGRESS", service: "newsweb" }],
  };
}

const minutesAgo = (n) => new Date(Date.now() - n * 60_000);
const rss = (titles) =>
  `<rss><channel><title>Press</title>${titles
    .map(
      (t, i) =>
        `<item><title>${t}</title><link>https://press.example/${t}</link><pubDate>${minutesAgo(i + 1).toUTCString()}</pubDate></item>`,
    )
    .join("")}</channel></rss>`;
const seedFeed = JSON.stringify({
  success: true,
  data: {
    items: [
      {
        url: "https://seed.example/solar",
        title: "Solar power grows",
        type: "news",
        lastmod: minutesAgo(30),
        found_at: minutesAgo(1),
        image: "https://seed.example/i.jpg",
      },
      { url: "https://seed.example/form", title: "A form", type: "form", lastmod: null, found_at: minutesAgo(1) },
    ],
    next_cursor: "c1",
    has_more: false,
  },
});

const pages = {
  "openapi.naver.com/v1/search/news.json": { body: fixture("naver_page1_ok.json") },
  "newsdata.io/api/1/latest": { body: fixture("newsdata_page1_free.json") },
  "feeds.example/rss": { body: rss(["one", "two"]), headers: { etag: '"1"' } },
  "engine.example/api/v1/feed": { body: seedFeed },
  "www.yna.example/view/AKR20260117050000003": {
    body: fixture("og_basic.html"),
    headers: { "content-type": "text/html" },
  },
};

const collector = worker("collector", {
  FEEDS: "https://feeds.example/rss",
  SEED_ENGINE_URL: "https://engine.example",
  NAVER_CLIENT_ID: "id",
  NAVER_CLIENT_SECRET: "sesame",
  NEWSDATA_API_KEY: "sesame",
  NAVER_QUERIES: "환경",
  NEWSDATA_QUERIES: "climate",
  API_TOKEN: "token",
  INFO_RETENTION_DAYS: "3650", // the fixtures are of January 2026
});
const api = worker("api", { CORS_ORIGINS: "https://app.example" });
const newsweb = {
  name: "newsweb",
  main: join(root, "test/workers/newsweb.mjs"),
  compatibility_date: "2026-11-01",
  vars: { PAGES: JSON.stringify(pages) },
};
const harness = harnessOf(api, collector, newsweb);
after(() => harness.close());
await harness.listen();
const reading = harness.getWorker(api.name);
const collecting = harness.getWorker(collector.name);
const web = harness.getWorker("newsweb");
await collecting.applyD1Migrations("INFO_DB");

async function read(path, headers) {
  const answer = await reading.fetch(`https://info.example${path}`, { headers });
  return { status: answer.status, headers: answer.headers, body: answer.status === 304 ? null : await answer.json() };
}

async function operate(method, path, body) {
  const answer = await collecting.fetch(`https://collector.example${path}`, {
    method,
    body: body && JSON.stringify(body),
    headers: { authorization: "Bearer token", "content-type": "application/json" },
  });
  return { status: answer.status, ...(await answer.json()) };
}

const set = (changed) => web.fetch("https://control.example/", { method: "POST", body: JSON.stringify(changed) });
const asked = async () => (await web.fetch("https://control.example/")).json();

async function scroll(query) {
  const ids = [];
  for (let cursor = ""; ;) {
    const { body } = await read(`/api/v1/info/news?${query}${cursor}`);
    ids.push(...body.articles.map((a) => a.id));
    if (!body.has_more) return ids;
    cursor = `&cursor=${body.next_cursor}`;
  }
}

test("each cron collects its sources, and readers get them", async () => {
  await collecting.scheduled({ cron: "*/5 * * * *" });
  const first = await asked();
  assert.ok(first.includes("openapi.naver.com/v1/search/news.json") && first.includes("feeds.example/rss"));
  assert.ok(!first.some((path) => path.startsWith("newsdata.io/")));
  const page = await read("/api/v1/info/news?limit=50");
  assert.equal(page.status, 200, JSON.stringify(page.body));
  assert.equal(page.body.articles.length, 13);
  assert.equal(page.body.meta.source, "kv");
  assert.equal(page.body.articles[0].title, "one");
  const solar = page.body.articles.find((a) => a.url === "https://seed.example/solar");
  assert.deepEqual(
    [solar.source, solar.category, solar.thumbnail_url],
    ["seed", "energy", "https://seed.example/i.jpg"],
  );
  const shown = page.body.articles.find((a) => a.url.includes("AKR20260117050000003"));
  assert.equal(shown.thumbnail_url, "https://img.example/basic.jpg");

  await collecting.scheduled({ cron: "*/30 * * * *" });
  assert.deepEqual(
    (await asked()).filter((path) => path.includes("/api/") || path.includes("/v1/")),
    // All of the first page was new, so the next one is asked for; it repeats the first. Which hosts are excluded is asked
    // before pictures are looked for.
    ["newsdata.io/api/1/latest", "newsdata.io/api/1/latest", "engine.example/api/v1/exclusions"],
  );
  assert.equal((await scroll("limit=7")).length, 23);
});

test("a cursor works with filters, search and both directions", async () => {
  const all = await scroll("limit=3");
  assert.equal(new Set(all).size, all.length);
  assert.deepEqual(await scroll("limit=50"), all);
  assert.ok((await scroll("limit=2&source=naver")).length === 10);
  const { body: found } = await read(`/api/v1/info/news?q=${encodeURIComponent("폐배터리")}`);
  assert.ok(found.articles.length >= 1 && found.meta.source === "d1", JSON.stringify(found));
  const { body: page } = await read("/api/v1/info/news?limit=2");
  await set({ "feeds.example/rss": { body: rss(["zero", "one", "two"]) } });
  await operate("POST", "/api/v1/info/collect", { source: "feed" });
  assert.deepEqual((await read(`/api/v1/info/news/count?cursor=${page.prev_cursor}`)).body.count >= 0, true);
  assert.equal((await scroll("limit=5")).length, all.length + 1);
});

test("an unchanged response, and an invalid one", async () => {
  const first = await read("/api/v1/info/news?limit=4", { origin: "https://app.example" });
  assert.equal(first.headers.get("access-control-allow-origin"), "https://app.example");
  const again = await read("/api/v1/info/news?limit=4", { "if-none-match": first.headers.get("etag") });
  assert.equal(again.status, 304);
  const wrong = await read("/api/v1/info/news?limit=51");
  assert.deepEqual([wrong.status, wrong.body.detail[0].type], [422, "less_than_equal"]);
  assert.equal((await read("/api/v1/info/news?cursor=x")).body.code, "INVALID_CURSOR_FORMAT");
});

test("a failing upstream is not called for a while, and readers do not notice", async () => {
  await set({ "feeds.example/rss": { body: "<html>", status: 500 } });
  const { data } = await operate("POST", "/api/v1/info/collect", { source: "feed" });
  assert.match(data.collections[0].error, /upstream_error, status 500/);
  await asked();
  const again = await operate("POST", "/api/v1/info/collect", { source: "feed" });
  assert.equal(again.data.collections[0].skipped, "upstream_error");
  assert.deepEqual(
    (await asked()).filter((path) => !path.startsWith("engine.example/")),
    [],
  );
  const status = await operate("GET", "/api/v1/info/status");
  const feed = status.data.sources.find((s) => s.name === "feed");
  assert.deepEqual([feed.failures, feed.dead_letters], [1, 1]);
  await set({ "feeds.example/rss": { body: rss(["late"]) } });
  assert.equal((await operate("POST", "/api/v1/info/dead-letters/replay")).data.succeeded, 1);
  assert.equal((await read("/api/v1/info/news?limit=1")).status, 200);
  assert.ok(!JSON.stringify(status).includes("sesame"));
});

test("two runs at once collect once", async () => {
  await set({ "openapi.naver.com/v1/search/news.json": { body: fixture("naver_page1_ok.json"), delay: 500 } });
  await asked();
  const runs = await Promise.all([1, 2].map(() => operate("POST", "/api/v1/info/collect", { source: "naver" })));
  const skipped = runs.map((run) => run.data.collections[0].skipped ?? "");
  assert.deepEqual(skipped.sort(), ["", "busy"]);
  assert.equal((await asked()).filter((path) => path.startsWith("openapi.naver.com")).length, 1);
});

test("a stale cache is served at once, and refreshed afterwards", async () => {
  const { INFO_CACHE: kv } = await reading.getEnv();
  const value = await kv.get("news:feed:all");
  const end = value.indexOf("\n");
  const old = Date.now() - 20 * 60_000;
  const head = { ...JSON.parse(value.slice(0, end)), refreshed_at: old, stale_at: old };
  await kv.put("news:feed:all", JSON.stringify(head) + value.slice(end), { expirationTtl: 3600 });
  const first = await read("/api/v1/info/news?limit=3");
  assert.deepEqual([first.body.meta.source, first.body.meta.is_stale], ["kv", true]);
  for (let tries = 0; ; tries++) {
    const { meta } = (await read("/api/v1/info/news?limit=3")).body;
    assert.equal(meta.source, "kv");
    if (!meta.is_stale) break; // collected a moment ago
    assert.ok(tries < 100, "the cache was not refreshed");
    await new Promise((resolve) => setTimeout(resolve, 50));
  }
});
