// The results of a collection on workerd: pages and entry points in the frontier, evidence that other partitions
// reuse, and exclusions that apply to both.
import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import { partition, root, startEngine, until } from "./engine.mjs";

const web = { name: "anysite", main: `${root}/test/workers/anysite.mjs`, compatibility_date: "2026-11-01" };
const hosts = ["alpha.sg", "beta.sg", "gamma.sg"];
const days = ["2026-01-26", "2026-01-27", "2026-01-28"];
const dir = (date, domain) =>
  `prod/country=${partition.country}/category=${partition.category}/date=${date}/${domain}/`;

let engine;
before(async () => (engine = await startEngine({ web })));
after(() => engine?.close());

const ok = async (method, path, body) => {
  const answer = await engine.api(method, path, body);
  assert.ok(answer.success, `${method} ${path}: ${JSON.stringify(answer)}`);
  return answer.data;
};
const state = async (url) => (await ok("GET", `/api/v1/frontier/url?url=${encodeURIComponent(url)}`)).state;

test("partitions of three days are one collection of each domain", async () => {
  for (const date of days)
    await engine.put(
      `raw/country=${partition.country}/category=${partition.category}/date=${date}/raw_0001.json`,
      JSON.stringify(hosts.map((host) => ({ url: `https://${host}/news/of-${date}`, title: `Of ${date}` }))),
    );
  await ok("POST", "/api/v1/seeds/orchestrate", {});
  const keys = days.flatMap((date) => hosts.map((host) => dir(date, host)));
  await until(
    async () => (await engine.keys("prod/")).filter((key) => key.endsWith(".success")).length === keys.length,
    "every domain",
    120,
  );
  const log = await (await engine.web.fetch("https://control.invalid/")).json();
  for (const host of hosts)
    for (const path of ["/robots.txt", "/sitemap.xml", "/"])
      assert.equal(log.filter((entry) => entry.host === host && entry.path === path).length, 1, host + path);
  for (const host of hosts) {
    const documents = await Promise.all(days.map((date) => engine.json(dir(date, host) + "domain_metadata.json")));
    const source = documents.findIndex((document) => document.technical_metadata.reused_from === null);
    for (const [i, document] of documents.entries()) {
      if (i !== source)
        assert.equal(document.technical_metadata.reused_from, dir(days[source], host) + "domain_metadata.json");
      assert.deepEqual(
        document.urls.map((entry) => entry.url),
        [`https://${host}/news/of-${days[i]}`],
      );
      assert.equal(document.sitemap.url_count, 3);
      assert.equal(document.technical_metadata.mirror_of, null, "sites with titles of their own are no mirrors");
      assert.equal(document.discovery_state, documents[source].discovery_state);
      for (const name of ["robots.txt", "sitemap.xml"])
        assert.deepEqual(
          await engine.bytes(dir(days[i], host) + name),
          await engine.bytes(dir(days[source], host) + name),
          `${name} of ${days[i]}`,
        );
    }
  }
});

test("the frontier has the pages of all partitions, and leases them", async () => {
  for (const host of hosts) {
    for (const path of ["/news/1", "/news/2", ...days.map((date) => `/news/of-${date}`)])
      assert.equal(await state(`https://${host}${path}`), "due", host + path);
    assert.equal(await state(`https://${host}/sitemap.xml`), "waiting");
  }
  const lease = await ok("POST", "/api/v1/frontier/lease", { max: 50, lease_seconds: 60, per_host: 1 });
  assert.deepEqual(lease.items.map((item) => item.domain).sort(), hosts);
  for (const item of lease.items) {
    assert.equal(item.type, "news");
    assert.equal(item.kind, "page");
  }
  await ok("POST", "/api/v1/frontier/report", {
    lease_id: lease.lease_id,
    results: lease.items.map((item) => ({ id: item.id, status: 200 })),
  });
});

test("excluded pages are not leased until the exclusion is removed", async () => {
  await ok("PUT", "/api/v1/exclusions/domain/alpha.sg", { reason: "asked by the owner" });
  assert.equal(await state("https://alpha.sg/news/of-2026-01-26"), "excluded");
  const leased = async () =>
    (await ok("POST", "/api/v1/frontier/lease", { max: 50, lease_seconds: 10, per_host: 1 })).items.map(
      (item) => item.domain,
    );
  assert.ok(!(await leased()).includes("alpha.sg"));
  await ok("DELETE", "/api/v1/exclusions/domain/alpha.sg");
  await until(async () => (await leased()).includes("alpha.sg"), "alpha.sg to be given out again");
});

test("reconcile restores nothing that exists", async () => {
  const done = await ok("POST", "/api/v1/seeds/reconcile", { ...partition, date: days[0] });
  assert.equal(done.done, false);
  let cursor = done.cursor;
  let domains = done.domains;
  let added = done.frontier_added;
  while (cursor) {
    const next = await ok("POST", "/api/v1/seeds/reconcile", { ...partition, date: days[0], cursor });
    ({ cursor } = next);
    domains += next.domains;
    added += next.frontier_added;
  }
  assert.equal(domains, hosts.length);
  assert.equal(added, 0);
});
