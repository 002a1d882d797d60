// The Info service: node bench/info/run.mjs [--quick] [--pages | --costs]
//
// With 500,000 articles each. Fails if a warm GET /news takes more than 1.5 times as long as a plain-JavaScript Worker
// with the same D1 and KV, if a search in D1 takes more than 5 times as long as a page behind the cache, or
// if the databases alone are too slow (info/store, TestSearch_Cost).
import { spawnSync } from "node:child_process";
import { join, resolve } from "node:path";
import { fileURLToPath } from "node:url";
import { build } from "../../worker/build.mjs";
import { harnessOf } from "../../test/harness.mjs";

const root = resolve(fileURLToPath(new URL("../..", import.meta.url)));
const quick = process.argv.includes("--quick"); // a smaller run, to see that it works
const most = 1.5; // times the peer
const rounds = quick ? 10 : 30;
const inARow = 40;
const mostSearch = 5; // times a page
const searchRounds = quick ? 3 : 11;
const searchesInARow = 5;
const articles = quick ? 20_000 : 500_000;
const aRequest = 20_000; // articles stored in one

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
  const worker = (name, main, more = {}) => ({ name, main: join(root, main), ...shared, ...more });
  const harness = harnessOf(
    worker("driver", "bench/info/driver.mjs", {
      services: [
        { binding: "go", service: "api" },
        { binding: "peer", service: "peer" },
      ],
    }),
    worker("api", "build/info-api/entry.mjs"),
    worker("peer", "bench/info/peer.mjs"),
    worker("fill", "build/bench-info-fill/entry.mjs"),
  );
  await harness.listen();
  try {
    const fill = harness.getWorker("fill");
    await fill.applyD1Migrations("INFO_DB");
    const began = Date.now();
    let deep, searches;
    for (let first = 0; first < articles; first += aRequest) {
      const part = { articles, first, last: Math.min(first + aRequest, articles), newest: began };
      const answer = await (await fill.fetch(`/?${new URLSearchParams(part)}`)).json();
      if (answer.inserted !== part.last - first) throw new Error(`${JSON.stringify(part)}: ${JSON.stringify(answer)}`);
      ({ deep, searches } = answer);
    }
    console.log(`${articles} articles stored in ${Math.round((Date.now() - began) / 1000)} s.\n`);
    const driver = harness.getWorker("driver");
    const { missed, request } = await compare(driver);
    return { missed: (await search(driver, searches, deep)) || missed, request };
  } finally {
    await harness.close();
  }
}

const news = "/api/v1/info/news";
const median = (list) => list.toSorted((a, b) => a - b)[list.length >> 1];

const asker = (driver) => async (side, path, times) => {
  const answer = await driver.fetch("/", { method: "POST", body: JSON.stringify({ side, path, times }) });
  if (answer.status !== 200) throw new Error(`${side} ${path}: ${answer.status} ${await answer.text()}`);
  return await answer.json();
};

// behindCache is the cursor of the first page that is not cached.
async function behindCache(ask) {
  let cursor = (await ask("go", `${news}?limit=50`, 1)).page.next_cursor;
  for (let i = 0; i < 4; i++) cursor = (await ask("go", `${news}?limit=50&cursor=${cursor}`, 1)).page.next_cursor;
  return cursor;
}

async function compare(driver) {
  const ask = asker(driver);
  const { page: first } = await ask("go", `${news}?limit=50`, 1);
  const deep = await behindCache(ask);
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

const fewPass = "&source=seed&has_image=true";

// search compares whole requests, at the beginning and near the end of all articles, with those for a page
// behind the cache, with which they take turns.
async function search(driver, searches, deep) {
  const ask = asker(driver);
  const page = `${news}?cursor=${await behindCache(ask)}`;
  console.log(
    `\n| search in ${articles} articles | at the beginning, ms | near the end, ms | times a page (goal ${mostSearch}) |\n| --- | --- | --- | --- |`,
  );
  let missed = false;
  const pages = [];
  for (const words of searches) {
    for (const filter of ["", fewPass]) {
      const path = `${news}?q=${encodeURIComponent(words)}${filter}`;
      const places = [path, `${path}&cursor=${deep}`];
      const times = new Map([page, ...places].map((p) => [p, []]));
      for (let round = -1; round < searchRounds; round++) {
        for (const [p, list] of times) {
          const { ms, page: got } = await ask("go", p, searchesInARow);
          if (got.meta.source !== "d1") throw new Error(`${p}: from ${got.meta.source}`);
          if (round >= 0) list.push(ms / searchesInARow);
        }
      }
      const [base, first, last] = [...times.values()].map(median);
      const ratio = Math.max(first, last) / base;
      missed ||= ratio > mostSearch;
      pages.push(base);
      console.log(
        `| ${words}${filter.replaceAll("&", " ")} | ${first.toFixed(2)} | ${last.toFixed(2)} | ${ratio.toFixed(1)}${ratio > mostSearch ? ": missed" : ""} |`,
      );
    }
  }
  console.log(`\nA page took ${median(pages).toFixed(2)} ms.`);
  return missed;
}

const only = (half) => !process.argv.some((arg) => ["--pages", "--costs"].includes(arg) && arg !== half);

function costs(request) {
  console.log("\nPages and searches on SQLite with D1's tables, and on PostgreSQL:\n");
  const cost = ["test", "./info/store", "-run", "^TestSearch_Cost$", "-count=1", "-v", "-timeout", "60m", "-args"];
  const size = quick ? ["-articles", "20000"] : ["-articles", "500000", "-timed"];
  const around = request ? ["-request", `${request}ms`] : [];
  return spawnSync("go", [...cost, ...size, ...around], { cwd: root, stdio: "inherit" }).status !== 0;
}

const { missed, request } = only("--pages") ? await latency() : {};
const dear = only("--costs") && costs(request);
process.exitCode = missed || dear ? 1 : 0;
