// Operations of the engine's bindings, compared with the table in docs/operations.md, "Cost": operators
// calculate with it.
import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import { count, countProbes, counted, pagesOfADomain, startCounted, sum, usdPerMillion } from "./counts.mjs";
import { fixture } from "./engine.mjs";

const [, table] = /^## Cost$(.*?)^## /ms.exec(fixture("docs/operations.md").toString());
const documented = (row) => Number(new RegExp(`^\\| ${row} \\| ([\\d.]+)`, "m").exec(table)?.[1]);

/** Counts that are not integers, because events and statements serve several domains. */
const most = {
  d1_queries: 1.5,
  d1_rows_written: 2.5,
  do_rows_written: 7.3,
  subrequests: 31,
  crossings: 350,
  bytes_to_go: 220_000,
  bytes_from_go: 400_000,
  usd_per_million_domains: 30,
};

/** Operations per raw file, whatever its domains. */
const mostOfAFile = {
  r2_class_a: 2, // the listing that found it, its checkpoint
  r2_class_b: 3, // pause and exclusions, its checkpoint, itself
  d1_rows_written: 10,
  d1_rows_read: 60,
  queue_operations: 3,
  do_requests: 0,
  subrequests: 11,
};

let engine;
before(async () => (engine = await startCounted()));
after(() => engine?.close());

test(`a domain of ${pagesOfADomain} pages and a file cost what the table says`, async () => {
  const { domain, file } = await count(engine, engine.worker, engine.env);
  const said = JSON.stringify({ domain, file }, null, 1);
  for (const [name, row] of Object.entries({
    requests: "Requests to its hosts",
    queue_operations: "Queues",
    r2_class_a: "R2 class A",
    do_requests: "Durable Object requests",
  }))
    assert.equal(domain[name], documented(row), `${row}: ${said}`);
  assert.equal(domain.r2_class_b - domain.worker_requests, documented("R2 class B"), said);
  for (const [name, row] of Object.entries({
    do_rows_written: "Durable Object rows written",
    do_rows_read: "Durable Object rows read",
    d1_rows_written: "D1 rows written",
    d1_rows_read: "D1 rows read",
  }))
    // Buckets and blocks fill up, so runs differ by a few rows.
    assert.ok(Math.abs(domain[name] - documented(row)) <= Math.max(0.3, documented(row) / 5), `${row}: ${said}`);
  for (const [name, n] of Object.entries(most)) assert.ok(domain[name] <= n, `${name}: at most ${n}: ${said}`);
  for (const [name, n] of Object.entries(mostOfAFile))
    assert.ok(file[name] <= n, `${name} of a file: at most ${n}: ${said}`);
  assert.equal(domain.usd_per_million_domains, usdPerMillion(domain));
  assert.equal(domain.probes, 0, `its URLs show their types: ${said}`);
});

test("a domain whose URLs do not show their types costs three probes more", async () => {
  const { requests, probes } = await countProbes(engine);
  assert.equal(probes, 3);
  assert.ok(requests <= 20, `${requests} requests`);
});

test("the cron reads few rows, and writes only the first time: alarms and the shards' statistics", async () => {
  for (let n = 0; n < 2; n++) {
    const earlier = await counted(engine.worker);
    assert.equal(
      (await engine.worker.scheduled({ cron: "* * * * *", scheduledTime: new Date("2026-01-28T10:30:00Z") })).outcome,
      "ok",
    );
    const later = await counted(engine.worker);
    const [read, written] = [/^D1\.read$/, /^D1\.written$/].map((name) => sum(later, name) - sum(earlier, name));
    // The first time a row for each of the ten alarms, and the reading of the frontier.
    assert.ok(read > 0 && read < 50 && written <= (n === 0 ? 11 : 0), `${read} rows read, ${written} written`);
  }
});
