// What the engine asks of its bindings, against the table of docs/operations.md, "Cost": those who pay
// multiply by it.
import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import { fixture, raw, root, startEngine, until } from "./engine.mjs";

const web = { name: "anysite", main: `${root}/test/workers/anysite.mjs`, compatibility_date: "2026-11-01" };
const table = /^## Cost$(.*?)^## /ms.exec(fixture("docs/operations.md").toString())[1];
const documented = (row) => Number(new RegExp(`^\\| ${row} \\| (\\d+)`, "m").exec(table)?.[1]);

let engine;
before(
  async () =>
    (engine = await startEngine({
      web,
      change: (config) => ({ ...config, main: `${root}/test/workers/counting.mjs` }),
    })),
);
after(() => engine?.close());

const counted = async () => (await engine.worker.fetch("https://inside.invalid/")).json();
const sum = (counts, pattern) =>
  Object.entries(counts).reduce((all, [name, n]) => all + (pattern.test(name) ? n : 0), 0);

/** What was counted while a file with so many new domains went through. */
async function run(n, domains) {
  const earlier = await counted();
  await engine.put(
    raw(n),
    JSON.stringify(Array.from({ length: domains }, (_, i) => ({ url: `https://site${n}-${i}.sg/news`, title: "x" }))),
  );
  const { status } = await engine.api("POST", "/api/v1/seeds/orchestrate", {});
  assert.equal(status, 200);
  // The ledger is the last to hear of a domain.
  await until(
    async () =>
      (
        await engine.rows("SELECT COUNT(*) AS n FROM domains WHERE domain LIKE ? AND state = 'processed'", `site${n}-%`)
      )[0].n === domains,
    "the domains",
    60,
  );
  const later = await counted();
  return Object.fromEntries(Object.entries(later).map(([name, count]) => [name, count - (earlier[name] ?? 0)]));
}

test("a domain and a file cost what the table says", async () => {
  await engine.api("GET", "/api/v1/frontier/stats"); // every shard makes its tables
  const small = await run(1, 10);
  const large = await run(2, 30);
  const domain = (pattern) => (sum(large, pattern) - sum(small, pattern)) / 20;
  const about = (got, row) =>
    assert.ok(Math.abs(got - documented(row)) <= 1, `${row}: ${got}, the table says ${documented(row)}`);
  assert.equal(domain(/^requests$/), documented("Requests to its hosts"));
  assert.equal(3 * domain(/^DOMAIN_QUEUE\.messages$/), documented("Queues"));
  assert.equal(domain(/^R2\.(put|list|createMultipartUpload) prod/), documented("R2 class A"));
  assert.equal(domain(/^R2\.(get|head) prod/), documented("R2 class B"));
  assert.equal(domain(/^FRONTIER\./), documented("Durable Object requests"), JSON.stringify(large));
  about(domain(/^shards\.written/), "Durable Object rows written");
  about(domain(/^D1\.written$/), "D1 rows written");
  about(domain(/^D1\.read$/), "D1 rows read");
  for (const counts of [small, large]) {
    assert.equal(sum(counts, /^R2\.(put|createMultipartUpload) raw/), 1, JSON.stringify(counts));
    assert.equal(sum(counts, /^R2\.(get|head) raw/), 2, JSON.stringify(counts));
    assert.equal(sum(counts, /^R2\.list/), 1, JSON.stringify(counts));
    assert.equal(sum(counts, /^SEED_QUEUE/), 1, JSON.stringify(counts));
    assert.equal(sum(counts, /^R2\.\w+ control/), sum(counts, /^events/), JSON.stringify(counts));
  }
  assert.ok(sum(small, /^D1\.written$/) - 10 * documented("D1 rows written") < 15, JSON.stringify(small));
});

test("the cron reads a few rows, and writes only the first time: the alarms, and what the shards of the frontier said", async () => {
  for (let n = 0; n < 2; n++) {
    const earlier = await counted();
    assert.equal(
      (await engine.worker.scheduled({ cron: "* * * * *", scheduledTime: new Date("2026-01-28T10:30:00Z") })).outcome,
      "ok",
    );
    const later = await counted();
    const [read, written] = ["D1.read", "D1.written"].map((name) => later[name] - earlier[name]);
    assert.ok(read > 0 && read < 50 && written <= (n === 0 ? 8 : 0), `${read} rows read, ${written} written`);
  }
});
