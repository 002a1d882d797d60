// A domain with more pages than may wait at once, on workerd: when half of them are fetched, its shard's alarm requests
// more, and a consumer puts the next best stored pages.
import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import { setTimeout as sleep } from "node:timers/promises";
import { domainMessage, prod, quick, startEngine } from "./engine.mjs";

const domain = "ica.gov.sg";
let engine; // whose alarms come a ninetieth of MIN_REFRESH_SECONDS apart

before(async () => {
  engine = await startEngine({ vars: { ...quick, FRONTIER_URLS_PER_DOMAIN: "4", MIN_REFRESH_SECONDS: "90" } });
});
after(() => engine?.close());

test("all that is stored of it is fetched, a few at a time, without another request to it", async () => {
  const { acked } = await engine.deliver("newsfork-domain-dev", [
    { id: domain, body: domainMessage(domain, [`https://${domain}/`]) },
  ]);
  assert.equal(acked.length, 1);
  const listed = (await engine.text(prod(domain, "sitemap.xml"))).match(/(?<=<loc>)[^<]+/g);
  assert.ok(listed.length >= 9, `${listed.length} URLs`);
  const requests = async () => (await engine.control("GET", `/log?host=${domain}`)).requests.length;
  const before = await requests();

  const fetched = new Set();
  for (const began = Date.now(); !listed.every((url) => fetched.has(url)); await sleep(100)) {
    assert.ok(Date.now() - began < 60_000, `${fetched.size} of ${listed.length} pages in a minute`);
    const lease = await engine.api("POST", "/api/v1/frontier/lease", { max: 1, lease_seconds: 60 });
    if (!lease.data.items?.length) continue;
    const waiting = (await engine.api("GET", `/api/v1/frontier/hosts/${domain}`)).data;
    assert.ok(waiting.of_domain.urls <= 4, `${waiting.of_domain.urls} wait`);
    for (const item of lease.data.items) {
      assert.ok(!fetched.has(item.url), `${item.url} came twice`);
      fetched.add(item.url);
    }
    const results = lease.data.items.map(({ id }) => ({ id, status: 200 }));
    await engine.api("POST", "/api/v1/frontier/report", { lease_id: lease.data.lease_id, results });
  }
  assert.equal(await requests(), before);
  assert.deepEqual(await engine.keys("dlq/"), []);
});
