// The demo of the Info service: both of its Workers with simulated D1 and KV, the Seed Engine on the sample web,
// whose feed they read by a service binding, and the other providers, which are played (upstreams.mjs). It collects,
// then scrolls through 500 articles and more by cursor while new ones keep coming, the engine's among them, and ends with
// exit code 0 only if none was missing and none there twice.
//
//   node sample/info/demo.mjs           ends after that
//   KEEP=1 node sample/info/demo.mjs    goes on, collecting every ten seconds, until Ctrl-C
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { harnessOf } from "../../test/harness.mjs";
import { build } from "../../worker/build.mjs";
import { root, sampleVars } from "../local.mjs";
import { endProgress, failure, good, plural, progress, step } from "../report.mjs";
import { unstable_readConfig as readConfig } from "wrangler";

const enough = 500;
const press = "daily-press.sg"; // of the sample web
const firstSeeds = 5;
const patience = 60_000; // milliseconds for what the engine finds
const crons = ["*/5 * * * *", "*/30 * * * *"];

/** The demo did not come out as it should; the message is for the user. */
class Unexpected extends Error {}

function configuration(name, vars, services = []) {
  build(join(root, "info", name), join(root, `build/info-${name}`));
  const config = readConfig({ config: join(root, `info/${name}/wrangler.jsonc`) }, { hideWarnings: true });
  const { main, compatibility_date, rules, assets, d1_databases, kv_namespaces } = config;
  const migrations_dir = join(root, "info/store/migrations");
  return {
    ...{ name: config.name, main, compatibility_date, rules, kv_namespaces },
    d1_databases: d1_databases.map((db) => ({ ...db, migrations_dir })),
    ...(assets && { assets: { ...assets, directory: join(root, "info/api/public") } }),
    vars: { ENVIRONMENT: "development", ...vars },
    services: [{ binding: "EGRESS", service: "upstreams" }, ...services],
  };
}

/** The configuration of the engine or of the sample web, without what is for other environments. */
function of(path, change) {
  const config = readConfig({ config: join(root, path) }, { hideWarnings: true });
  const { name, main, compatibility_date, compatibility_flags, no_bundle, find_additional_modules, rules } = config;
  return {
    ...{ name, main, compatibility_date, compatibility_flags, no_bundle, find_additional_modules, rules },
    ...change?.(config),
  };
}

const web = of("sample/web/wrangler.jsonc");
// What daily-press.sg publishes is found after two seconds, and is in the feed then.
const engine = of("wrangler.jsonc", ({ r2_buckets, d1_databases, queues, durable_objects, migrations, ...config }) => ({
  ...{ r2_buckets, queues, durable_objects, migrations, version_metadata: config.version_metadata },
  d1_databases: d1_databases.map((db) => ({ ...db, migrations_dir: join(root, "ledger/migrations") })),
  vars: { ENVIRONMENT: "development", ...sampleVars, MIN_REFRESH_SECONDS: "2", MAX_REFRESH_SECONDS: "8" },
  services: [{ binding: "EGRESS", service: web.name }],
}));
const api = configuration("api", {});
const collector = configuration(
  "collector",
  {
    SEED_ENGINE_ITEMS: "all",
    FEEDS: [1, 2, 3, 4, 5, 6].map((n) => `https://feed${n}.example/rss`).join("\n"),
    NAVER_CLIENT_ID: "sample",
    NAVER_CLIENT_SECRET: "sample",
    NEWSDATA_API_KEY: "sample",
  },
  [{ binding: "SEED_ENGINE", service: engine.name }],
);
const upstreams = {
  name: "upstreams",
  main: join(root, "sample/info/upstreams.mjs"),
  compatibility_date: api.compatibility_date,
};
const harness = harnessOf(api, collector, upstreams, engine, web);

let leave = () => process.exit(130); // this ends the Workers too
try {
  await main();
} catch (error) {
  failure(error instanceof Unexpected ? error.message : error.stack);
  showErrors();
  process.exitCode = 1;
} finally {
  await harness.close();
}

/** Shows the errors that the Workers logged, without which nobody knows why an event failed. */
function showErrors() {
  const errors = harness
    .getLogs()
    .filter(({ level, message }) => level === "error" || /"level":"error"/i.test(message));
  for (const { message } of errors.slice(-20)) console.error(`  ${message}`);
}

async function main() {
  step("start", "both Workers of the Info service and the Seed Engine, all that they are bound to simulated");
  const { url } = await harness.listen();
  for (const signal of ["SIGINT", "SIGTERM"]) {
    process.removeAllListeners(signal); // wrangler's, which end the process at once
    process.on(signal, () => leave());
  }
  await harness.getWorker(collector.name).applyD1Migrations("INFO_DB");
  await harness.getWorker(engine.name).applyD1Migrations("METADATA_DB");
  await startEngine();
  for (const cron of crons) await collect(cron);
  await sources();

  const before = await scroll(50); // what must not be missing later
  step("scroll", `${plural(before.length, "article")} are stored; now page by page, with new ones coming`);
  const first = await read("?limit=10");
  const seen = await scroll(10, async (pages, count) => {
    if (pages % 10) return;
    await collect(crons[pages % 20 ? 0 : 1]);
    progress(`${plural(count, "article")} on ${plural(pages, "page")}`);
  });
  endProgress();
  judge(before, seen);
  await judgeSeeds(before);
  const newer = await read(`?direction=newer&limit=50&cursor=${first.prev_cursor}`);
  if (newer.articles.length === 0) throw new Unexpected("nothing came while the pages were read");
  good(
    `${plural(seen.length, "article")}, none twice, none missing, newest first; meanwhile came ${newer.articles.length}${newer.has_more ? " and more" : ""}`,
  );
  const found = await read(`?q=${encodeURIComponent("태양광")}&limit=3`);
  if (!found.articles.every((a) => a.title.includes("태양광"))) throw new Unexpected("the search found other articles");
  good(`a search for 태양광 finds "${found.articles[0].title}", served by ${found.meta.source}`);

  if (process.env.KEEP !== "1") return step("readers", "KEEP=1 make demo-info goes on, and shows them their page");
  step("readers", `${url.origin}/ with the page, ${url.origin}/api/v1/info/news with its data`);
  step("keep", `collects every ten seconds; Ctrl-C ends it`);
  let over = false;
  leave = () => (over = true);
  while (!over) {
    for (let i = 0; i < 10 && !over; i++) await sleep(1000);
    if (!over) await collect(crons[0]);
  }
}

/** Has the engine collect a paper that publishes four articles a second, and waits until what it finds is in its feed. */
async function startEngine() {
  const paper = [{ url: `https://${press}/`, source_type: "media" }];
  await askEngine("PUT", "/api/v1/datasets/sg/news/2026-01-28/raw_0001?orchestrate=true", paper);
  for (const began = Date.now(); ; await sleep(500)) {
    const { items } = await askEngine("GET", "/api/v1/feed?limit=200");
    if (items.length >= firstSeeds) break;
    if (Date.now() - began > patience)
      throw new Unexpected(`only ${plural(items.length, "article")} in the engine's feed`);
  }
  step(
    "engine",
    `it reads ${press}, which publishes four articles a second; its feed has the first ${firstSeeds} articles`,
  );
}

async function askEngine(method, path, body) {
  const answer = await harness.getWorker(engine.name).fetch(`https://engine.example${path}`, {
    method,
    headers: method === "GET" ? {} : { "content-type": "application/json" },
    body: body && JSON.stringify(body),
  });
  const { success, data, error } = await answer.json();
  if (!success) throw new Unexpected(`the engine answers ${answer.status} to ${path}: ${error?.message}`);
  return data;
}

/** What the engine found is among the articles, also what it found after those in before. */
async function judgeSeeds(before) {
  const known = new Set(before.map((a) => a.id));
  for (const began = Date.now(); ; await sleep(500)) {
    await collect(crons[0]);
    const { articles } = await read("?source=seed&limit=50");
    const wrong = articles.find((a) => new URL(a.url).hostname !== press || !/^Article \d+$/.test(a.title));
    if (wrong) throw new Unexpected(`${wrong.url} (${wrong.title}) does not come from ${press}`);
    const came = articles.filter((a) => !known.has(a.id)).length;
    if (came) return good(`what the engine found is among them: ${plural(came, "article")} since the scroll began`);
    if (Date.now() - began > patience) throw new Unexpected("nothing came from the engine's feed");
  }
}

/** Runs a cron. One that failed runs again, as it does on the platform: the engine may have been busy. */
async function collect(cron) {
  for (let tries = 3; ; tries--) {
    const { outcome } = await harness.getWorker(collector.name).scheduled({ cron });
    if (outcome === "ok") return;
    if (tries === 1) throw new Unexpected(`the collection of "${cron}" ended with ${outcome}`);
    await sleep(5_000);
  }
}

async function read(query) {
  const answer = await harness.getWorker(api.name).fetch(`https://info.example/api/v1/info/news${query}`);
  const body = await answer.json();
  if (answer.status !== 200) throw new Unexpected(`the API answers ${answer.status}: ${JSON.stringify(body)}`);
  return body;
}

async function sources() {
  const answer = await harness
    .getWorker(collector.name)
    .fetch("https://info-collector.example/api/v1/info/status", { headers: { "content-type": "application/json" } });
  const { data } = await answer.json();
  for (const { name, last, quotas } of data.sources) {
    const used = quotas.map((q) => `${q.used} of ${q.allowed} calls`).join(", ");
    step(name, `${plural(last.articles, "article")} in ${plural(last.calls, "call")}${used && `; ${used}`}`);
  }
}

/** Reads to the end; between is called after each page with the numbers of pages and articles. */
async function scroll(limit, between = () => {}) {
  const articles = [];
  let pages = 0;
  for (let cursor = ""; ;) {
    const page = await read(`?limit=${limit}${cursor}`);
    for (const a of page.articles) articles.push({ id: a.id, at: Date.parse(a.published_at) });
    if (!page.has_more) return articles;
    cursor = `&cursor=${page.next_cursor}`;
    await between(++pages, articles.length);
  }
}

function judge(before, seen) {
  const ids = new Set(seen.map((a) => a.id));
  const missing = before.filter((a) => !ids.has(a.id));
  if (missing.length) throw new Unexpected(`${missing.length} articles were on no page, such as ${missing[0].id}`);
  if (ids.size !== seen.length) throw new Unexpected(`${seen.length - ids.size} articles were on two pages`);
  if (seen.length < enough) throw new Unexpected(`only ${seen.length} articles, not ${enough}`);
  const wrong = seen.findIndex(
    (a, i) => i && (a.at > seen[i - 1].at || (a.at === seen[i - 1].at && a.id >= seen[i - 1].id)),
  );
  if (wrong > 0) throw new Unexpected(`${seen[wrong].id} does not stand behind ${seen[wrong - 1].id}`);
}
