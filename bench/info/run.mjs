// The Info service: node bench/info/run.mjs [--quick] [--pages | --costs]
//
// Fails when a warm GET /news takes more than 1.5 times what a plain-JavaScript Worker takes that reads the same D1
// and KV, and when a request for a page or a search of 500,000 articles takes more than it may (info/store, TestCost).
import { spawnSync } from "node:child_process";
import { join, resolve } from "node:path";
import { fileURLToPath } from "node:url";
import { build } from "../../worker/build.mjs";
import "../../test/home.mjs";
import { createTestHarness } from "wrangler";

const root = resolve(fileURLToPath(new URL("../..", import.meta.url)));
const quick = process.argv.includes("--quick"); // a smaller run, to see that it works
const most = 1.5; // times the peer
const rounds = quick ? 10 : 30;
const inARow = 40;
const articles = quick ? 1_000 : 20_000;

const shared = {
  compatibility_date: "2026-11-01",
  rules: [{ type: "CompiledWasm", globs: ["**/*.wasm"] }],
  kv_namespaces: [{ binding: "INFO_CACHE", id: "bench-info" }],
  d1_databases: [
    {
      binding: "INFO_DB",
      database_name: "bench-info",
      database_id: "bench-info",
      migrations_dir: join(root, "info/store/migrations"),
    },
  ],
};

async function latency() {
  build(join(root, "info/api"), join(root, "build/info-api"));
  build(join(root, "bench/info/fill"), join(root, "build/bench-info-fill"));
  const worker = (name, main, more = {}) => ({ config: { name, main: join(root, main), ...shared, ...more } });
  const harness = createTestHarness({
    root,
    workers: [
      worker("driver", "bench/info/driver.mjs", {
        services: [
          { binding: "go", service: "api" },
          { binding: "peer", service: "peer" },
        ],
      }),
      worker("api", "build/info-api/entry.mjs"),
      worker("peer", "bench/info/peer.mjs"),
      worker("fill", "build/bench-info-fill/entry.mjs"),
    ],
  });
  await harness.listen();
  try {
    const fill = harness.getWorker("fill");
    await fill.applyD1Migrations("INFO_DB");
    const { inserted } = await (await fill.fetch(`/?articles=${articles}`)).json();
    if (inserted !== articles) throw new Error(`${inserted} articles of ${articles} were stored`);
    return await compare(harness.getWorker("driver"));
  } finally {
    await harness.close();
  }
}

async function compare(driver) {
  const ask = async (side, path, times) => {
    const answer = await driver.fetch("/", { method: "POST", body: JSON.stringify({ side, path, times }) });
    if (answer.status !== 200) throw new Error(`${side} ${path}: ${answer.status} ${await answer.text()}`);
    return await answer.json();
  };
  const news = "/api/v1/info/news";
  const { page: first } = await ask("go", `${news}?limit=50`, 1);
  let { next_cursor: deep } = first;
  for (let i = 0; i < 4; i++) deep = (await ask("go", `${news}?limit=50&cursor=${deep}`, 1)).page.next_cursor;
  const cases = [
    ["the first page, from KV", `${news}`, "kv"],
    ["50 articles, from KV", `${news}?limit=50`, "kv"],
    ["a second page of a topic, from KV", `${news}?category=ai&cursor=${first.next_cursor}`, "kv"],
    ["a page behind the cache, from KV and D1", `${news}?cursor=${deep}`, "d1"],
  ];
  console.log(`| GET /news, warm | peer ms | info/api ms | times the peer (goal ${most}) |\n| --- | --- | --- | --- |`);
  let missed = false;
  let request; // ms, for a page from D1
  for (const [what, path, source] of cases) {
    const pages = await Promise.all(["go", "peer"].map(async (side) => (await ask(side, path, 1)).page));
    if (pages.some((p) => p.meta.source !== source || !p.articles.length))
      throw new Error(`${path}: ${JSON.stringify(pages.map((p) => p.meta))}`);
    if (String(pages[0].articles.map((a) => a.id)) !== String(pages[1].articles.map((a) => a.id)))
      throw new Error(`${path}: the sides differ`);
    const times = { go: [], peer: [] };
    // The sides take turns, so that other load on the machine affects both.
    for (let round = -3; round < rounds; round++) {
      for (const side of ["peer", "go"]) {
        const { ms } = await ask(side, path, inARow);
        if (round >= 0) times[side].push(ms / inARow);
      }
    }
    const median = (list) => list.toSorted((a, b) => a - b)[list.length >> 1];
    const [go, peer] = [median(times.go), median(times.peer)];
    const ratio = go / peer;
    missed ||= ratio > most;
    if (source === "d1") request = go;
    console.log(
      `| ${what} | ${peer.toFixed(2)} | ${go.toFixed(2)} | ${ratio.toFixed(2)}${ratio > most ? ": missed" : ""} |`,
    );
  }
  return { missed, request };
}

const only = (half) => !process.argv.some((arg) => ["--pages", "--costs"].includes(arg) && arg !== half);

function costs(request) {
  console.log("\nPages and searches on SQLite with D1's tables, and on PostgreSQL:\n");
  const cost = ["test", "./info/store", "-run", "^TestCost$", "-count=1", "-v", "-timeout", "60m", "-args"];
  const size = quick ? ["-articles", "20000"] : ["-articles", "500000", "-timed"];
  const around = request ? ["-request", `${request}ms`] : [];
  return spawnSync("go", [...cost, ...size, ...around], { cwd: root, stdio: "inherit" }).status !== 0;
}

const { missed, request } = only("--pages") ? await latency() : {};
const dear = only("--costs") && costs(request);
process.exitCode = missed || dear ? 1 : 0;
