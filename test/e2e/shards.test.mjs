// Frontier shards of the deployed Worker: daily snapshots in R2, and restoring from them.
import assert from "node:assert/strict";
import { join } from "node:path";
import { after, before, test } from "node:test";
import { partition, prod, quick, raw, root, startEngine, until } from "./engine.mjs";

const start = (shards) =>
  startEngine({
    vars: { ...quick, FRONTIER_SHARDS: shards },
    web: { name: "anysite", main: join(root, "test/workers/anysite.mjs"), compatibility_date: "2026-11-01" },
    change: (config) => ({ ...config, main: join(root, "test/workers/shards.mjs") }),
  });

let engine;
before(async () => {
  engine = await start("3");
});
after(() => engine?.harness.close());

const names = ["shard-0", "shard-1", "shard-2"];

/** The envelope of a shard's answer. */
async function envelope(name, operation, request = {}, of = engine) {
  const url = `https://inside.invalid/${name}/${operation}`;
  return (await of.worker.fetch(url, { method: "POST", body: JSON.stringify(request) })).json();
}

async function ask(name, operation, request) {
  const { answer, error } = await envelope(name, operation, request);
  assert.equal(error, undefined, `${operation}: ${error?.message}`);
  return answer;
}

async function stats() {
  const list = [];
  for (const name of names) list.push(await ask(name, "stats"));
  return list.map(({ Hosts, URLs }) => [Hosts, URLs]);
}

/** Puts pages of a domain into its shard. */
async function put(domain, pages) {
  const request = {
    Domain: domain,
    Partition: partition,
    Pages: Array.from({ length: pages }, (_, n) => ({ URL: `https://www.${domain}/뉴스/${n}`, Priority: 0.5 })),
  };
  const answers = [];
  for (const name of names) answers.push(await envelope(name, "put", request));
  const taken = answers.filter(({ answer }) => answer);
  assert.equal(taken.length, 1, `${domain}: ${JSON.stringify(answers)}`); // the others say that it is not theirs
}

test("a shard's daily snapshot is stored once, and restores lost hosts", async () => {
  for (let n = 0; n < 20; n++) await put(`site${n}.example`, n + 1);
  const had = await stats();
  assert.equal(
    had.reduce((sum, [, urls]) => sum + urls, 0),
    210,
  );

  const next = [];
  for (const name of names) next.push(await ask(name, "alarm"));
  for (const at of next) assert.ok(at > Date.now() && at <= Date.now() + 86_400_000, new Date(at).toISOString());
  const keys = await engine.keys("frontier/");
  const date = keys[0].split("/")[2];
  assert.match(date, /^date=20\d\d-\d\d-\d\d\.\d{13}\.\d{13}$/);
  assert.deepEqual(
    keys.map((key) => key.replace(/date=[^/]*/, "")),
    names.map((name) => `frontier/${name}//page-0001.json`),
  );
  const stored = keys[names.indexOf("shard-1")];
  const { uploaded } = await engine.env.DATASETS_BUCKET.head(stored);
  await ask("shard-1", "alarm");
  assert.deepEqual((await engine.env.DATASETS_BUCKET.head(stored)).uploaded, uploaded, "it was stored again");

  const sql = await engine.worker.getDurableObjectStorage("FRONTIER", { name: "shard-1" });
  for (const table of ["hosts", "domains", "parts", "queue", "state"]) await sql.exec(`DELETE FROM ${table}`);
  assert.deepEqual((await stats())[1], [0, 0]);
  const { data } = await engine.api("POST", "/api/v1/frontier/restore", { shard: "shard-1" });
  assert.deepEqual([data.done, data.pages, data.hosts, data.cursor], [true, 1, had[1][0], null]);
  assert.deepEqual(await stats(), had);
  assert.equal(
    (await engine.api("POST", "/api/v1/frontier/restore", {})).data.hosts,
    0,
    "there is nothing more to restore",
  );

  const { ID, Items } = await ask("shard-1", "lease", { Max: 500, Seconds: 60 });
  assert.equal(Items.length, had[1][0]);
  const results = Items.map((item) => ({ ID: item.ID, Status: 200 }));
  assert.equal((await ask("shard-1", "report", { Lease: ID, Results: results })).Accepted, Items.length);
});

test("while a shard does not answer, its domains are not fetched, and nothing is lost", async () => {
  const domains = Array.from({ length: 8 }, (_, n) => `frozen${n}.sg`);
  await ask("shard-1", "freeze");
  await engine.put(
    raw(1),
    JSON.stringify(domains.map((domain) => ({ url: `https://${domain}/news/a`, title: domain }))),
  );
  assert.equal((await engine.api("POST", "/api/v1/seeds/orchestrate", {})).data.sent, 1);

  const log = async () => (await engine.web.fetch("https://control.invalid/")).json();
  const finished = async () => {
    const keys = await engine.keys("prod/");
    return domains.filter((domain) => keys.includes(prod(domain, "domain_metadata.json.success")));
  };
  const left = () => new Set(engine.events("frontier_failed").map((event) => event.registrable_domain));
  await until(
    async () => left().size > 0 && left().size + (await finished()).length === domains.length,
    "the domains of the other shards",
    120,
  );
  const asked = new Set((await log()).map(({ host }) => host));
  assert.deepEqual(
    domains.filter((domain) => !asked.has(domain)),
    [...left()].sort(),
  );
  assert.deepEqual([...asked].sort(), await finished());

  await ask("shard-1", "thaw");
  await until(async () => (await finished()).length === domains.length, "all domains", 120);
  assert.deepEqual(await engine.keys("dlq/"), []);
  const first = (await log()).filter(({ path }) => path === "/robots.txt").map(({ host }) => host);
  assert.deepEqual(first.sort(), domains, "each was collected once");
});

test("an invalid setting stops the shards, and is named", async () => {
  const wrong = await start("many");
  try {
    const { error } = await envelope("shard-0", "stats", {}, wrong);
    assert.deepEqual([error.code, error.field], ["validation_error", "FRONTIER_SHARDS"]);
  } finally {
    await wrong.harness.close();
  }
});
