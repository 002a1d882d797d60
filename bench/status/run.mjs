// The operators' routes with many rows in D1, on workerd: node bench/status/run.mjs [--quick]
//
// Fails if a status takes 50 ms or more, or a statement scans a table
// that grows with files, domains or dead letters.
import { join } from "node:path";
import { build } from "../../worker/build.mjs";
import { harnessOf } from "../../test/harness.mjs";
import { root, Rows } from "../rows.mjs";
import { ledger, shards, stores, worker } from "../workers.mjs";

const quick = process.argv.includes("--quick"); // a smaller run, to see that it works
const domains = quick ? 50_000 : 1_000_000;
const partitions = 1000;
const rounds = quick ? 20 : 100;
const maxStatus = 50; // ms

build(root, join(root, "build/worker"));
const harness = harnessOf(
  worker("engine", "bench/status/observed.mjs", { ...stores("status"), ...ledger("status"), ...shards }),
);
await harness.listen();
const engine = harness.getWorker("engine");
await engine.applyD1Migrations("METADATA_DB");
const { METADATA_DB: db } = await engine.getEnv();

/** Fills the ledger through its own triggers: of a hundred domains 95 processed, 3 failed, 2 pending. */
async function fill() {
  const each = domains / partitions;
  const now = Date.now();
  const numbers = "WITH RECURSIVE n(i) AS (SELECT 0 UNION ALL SELECT i + 1 FROM n WHERE i < ?2 - 1)";
  for (let p = 0; p < partitions; p++) {
    const date = new Date(now - Math.floor(p / 20) * 86_400_000);
    const country = p % 2 ? "sg" : "kr";
    const at = now - Math.floor((p / partitions) * 50 * 86_400_000);
    const row = await db
      .prepare("INSERT INTO partitions (country, category, date) VALUES (?, ?, ?) RETURNING id")
      .bind(country, `category${Math.floor(p / 2) % 10}`, date.toISOString().slice(0, 10))
      .first();
    await db.batch([
      db
        .prepare(
          `${numbers} INSERT INTO domains (partition, domain, queued_at, needed_at, collected_at, met_at, gave_up_at, excluded_at, reachable, robots, sitemap, duration_ms, error_type, error_message)
SELECT ?1, 'site-' || CAST(i * 7919 % ?2 AS INTEGER) || '-' || CAST(?1 % 50 AS INTEGER) || '.example', ?3 - 60000, 0, iif(i % 100 < 98, ?3 + i, 0), iif(i % 100 < 98, ?3 + i, 0), 0, 0,
  iif(i % 100 < 98, i % 100 < 95, NULL), iif(i % 100 < 98, i % 100 < 80, NULL), iif(i % 100 < 98, i % 100 < 70, NULL), iif(i % 100 < 98, 100 + i * 31 % 5000, NULL),
  iif(i % 100 BETWEEN 95 AND 97, iif(i % 2, 'network_error', 'timeout_error'), NULL), iif(i % 100 BETWEEN 95 AND 97, 'no answer', NULL) FROM n`,
        )
        .bind(row.id, each, at),
      db
        .prepare(
          `${numbers} INSERT INTO files (partition, name, queued_at, needed_at, processed_at, met_at, gave_up_at, duration_ms, error_type, error_message)
SELECT ?1, printf('raw_%04d', i + 1), ?3 - 60000, 0, iif(i > 0, ?3, 0), iif(i > 0, ?3, 0), iif(i > 0, 0, ?3), 400, iif(i > 0, NULL, 'parse_error'), iif(i > 0, NULL, 'not JSON') FROM n`,
        )
        .bind(row.id, 20, at),
      db
        .prepare(
          `${numbers} INSERT INTO dead_letters (message_id, queue_name, work, error_type, error_message, retry_count, failed_at, worker_version, processing_duration_ms, r2_key, country, category, date, domain, state)
SELECT CAST(?1 AS INTEGER) || '-' || i, 'newsfork-domain-dev', 'work-' || i, 'storage_error', 'put failed', 3, ?3, 'v1', 10, 'dlq/x', 'sg', 'news', '2026-01-28', 'site-' || i || '.example', iif(i % 2, 'stored', 'replayed') FROM n`,
        )
        .bind(row.id, 10, at),
    ]);
  }
}

// Tables that may be scanned: partitions and their error counts, which a status sums, and tables of a few rows.
const small = new Set(["p", "e", "alarms", "dead_letter_counts", "feed_delivery"]);

/** Names of indexes of some rows only: those in question. */
const partial = new Set();

/** The fault in a line of a query plan, or "". */
function fault(detail, sql, plan) {
  const [, table, how] = detail.match(/^SCAN (\S+)(.*)$/) ?? [];
  if (table === "d" && sql.includes("INDEXED BY domains_slow")) return ""; // only if no slow domain is left
  if (
    !table ||
    /^[(]|^CONSTANT$/.test(table) ||
    small.has(table) ||
    how.includes("VIRTUAL TABLE") ||
    partial.has(how.match(/INDEX (\S+)/)?.[1])
  )
    return "";
  const page = sql.endsWith("LIMIT ?") && !plan.some((line) => line.detail.includes("TEMP B-TREE FOR ORDER BY"));
  return page ? "" : `reads all of ${table}`; // a page in the order of the table ends at its limit
}

const median = (list) => list.toSorted((a, b) => a - b)[list.length >> 1];
const percentile95 = (list) => list.toSorted((a, b) => a - b)[Math.floor(list.length * 0.95)];

const status = "/api/v1/seeds/status";
const list = "/api/v1/seeds/domains";
const questions = [
  [status, maxStatus],
  [`${status}?country=sg`, maxStatus],
  [`${status}?by=partition&by=error_type&trend=24`, maxStatus],
  [`${status}?country=sg&category=category3&by=error_type`, maxStatus],
  [`${list}`, null],
  [`${list}?state=failed`, null],
  [`${list}?state=pending`, null],
  [`${list}?state=pending&country=sg`, null],
  [`${list}?error_type=timeout_error`, null],
  [`${list}?robots=false`, null],
  [`${list}?sitemap=false`, null],
  [`${list}?sort=duration`, maxStatus],
  [`${list}?slower_than_ms=4000`, null],
  [`${list}/site-1-1.example`, null],
  ["/api/v1/dlq?state=stored", null],
  ["/metrics", null],
];

const rows = new Rows("status");
let wrong = 0;
try {
  const began = Date.now();
  await fill();
  const { n } = await db.prepare("SELECT count(*) AS n FROM domains").first();
  console.log(
    `${n.toLocaleString("en")} domains and ${(partitions * 20).toLocaleString("en")} files in ${partitions.toLocaleString("en")} partitions, written through the triggers in ${Math.round((Date.now() - began) / 1000)} s\n`,
  );
  const { results: indexes } = await db.prepare("SELECT name, sql FROM sqlite_master WHERE type = 'index'").all();
  for (const { name, sql } of indexes) if (/\bWHERE\b/.test(sql)) partial.add(name);
  const plans = new Map();
  console.log("| GET, warm | median ms | 95 % ms | goal |\n| --- | --- | --- | --- |");
  for (const [path, limit] of questions) {
    const times = [];
    for (let i = 0; i < rounds + 5; i++) {
      const start = performance.now();
      const answer = await engine.fetch(path);
      await answer.text();
      if (i >= 5) times.push(performance.now() - start);
      if (answer.status !== 200) throw new Error(`${path}: ${answer.status}`);
    }
    const slow = limit && median(times) >= limit;
    if (slow) wrong++;
    if (path === status)
      rows.report(`status, with ${domains.toLocaleString("en")} domains in D1`, `< ${maxStatus} ms`, {
        engine_ms: median(times),
      });
    console.log(
      `| ${path} | ${median(times).toFixed(1)} | ${percentile95(times).toFixed(1)} | ${limit ? `under ${limit}${slow ? ": missed" : ""}` : "–"} |`,
    );
    for (const [sql, parameters] of await (await engine.fetch("https://inside.invalid/")).json())
      plans.set(sql, parameters);
  }
  console.log("\nQuery plans of the statements that were run:\n");
  for (const [sql, parameters] of plans) {
    const { results } = await db
      .prepare(`EXPLAIN QUERY PLAN ${sql}`)
      .bind(...parameters)
      .all();
    console.log(`    ${sql.replaceAll(/\s+/g, " ").slice(0, 150)}`);
    for (const { detail } of results) {
      const why = fault(detail, sql, results);
      if (why) wrong++;
      console.log(`        ${detail}${why && `   <-- ${why}`}`);
    }
  }
} finally {
  await harness.close();
}
rows.finish({ quick });
process.exitCode = wrong ? 1 : 0;
