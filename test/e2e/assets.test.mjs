// The engine as deployed, with its static files beside the bundle.
import assert from "node:assert/strict";
import { join } from "node:path";
import { after, before, describe, test } from "node:test";
import { domainMessage, fixture, prod, quick, root, startEngine } from "./engine.mjs";
import { unstable_readConfig as readConfig } from "wrangler";

describe("the static files of a deployment", () => {
  const model = `/classify/${fixture("classify/model.sum").toString().trim()}.model`;
  const deliver = (domains, attempts) =>
    engine.deliver(
      "newsfork-domain-dev",
      domains.map((d) => ({ id: d, body: domainMessage(d, [`https://${d}/x`]), attempts })),
    );
  const set = (failing) => files.fetch("https://files.invalid/", { method: "POST", body: JSON.stringify({ failing }) });
  const asked = async () => (await files.fetch("https://files.invalid/asked")).json();
  let engine, files;

  before(async () => {
    const { main, assets } = readConfig(
      { config: join(root, "wrangler.jsonc"), env: "production" },
      { hideWarnings: true },
    );
    engine = await startEngine({
      // A Worker with static files of its own takes no batches through a service binding.
      change: (config) => ({
        ...config,
        main,
        services: [...config.services, { binding: assets.binding, service: "files" }],
      }),
      vars: { ...quick, RETRY_DELAY_SECONDS: "10" },
      others: [
        {
          name: "files",
          main: join(root, "test/workers/files.mjs"),
          compatibility_date: "2026-11-01",
          assets: { directory: join(root, assets.directory), binding: "FILES", run_worker_first: true },
        },
      ],
    });
    files = engine.harness.getWorker("files");
  });
  after(() => engine?.close());

  test("while they cannot be read, domains are not fetched and messages wait, but readiness and leases work", async () => {
    await set(true);
    const domains = ["ica.gov.sg", "mom.gov.sg"];
    const { acked, retried } = await deliver(domains, 1);
    assert.deepEqual(acked, []);
    assert.deepEqual(
      retried.map((r) => `${r.msgId} ${r.delaySeconds}`).toSorted(),
      domains.map((d) => `${d} 10`),
    );
    for (const d of domains) {
      assert.equal(await engine.json(prod(d)), null, d);
      assert.deepEqual((await engine.control("GET", `/log?host=${d}`)).requests, [], d);
    }
    assert.equal((await engine.api("GET", "/health/ready")).status, 200);
    assert.equal((await engine.api("POST", "/api/v1/frontier/lease", { max: 1, lease_seconds: 60 })).status, 200);
    const description = await engine.api("GET", "/openapi.json");
    assert.deepEqual([description.status, description.error.code], [503, "storage_error"]);
  });

  test("concurrent collections read the model once", async () => {
    await set(false);
    const before = (await asked())[model];
    const domains = ["mom.gov.sg", "ica.gov.sg", "slowport.sg", "www.gov.sg"];
    const { acked } = await deliver(domains, 2);
    assert.deepEqual(acked.toSorted(), domains.toSorted());
    for (const d of domains) assert.equal((await engine.json(prod(d))).reachable, true, d);
    assert.equal((await asked())[model], before + 1);
  });

  test("the description of the API and the schemas are those of the repository", async () => {
    for (const [path, source] of [
      ["/openapi.json", "contract/openapi.json"],
      ["/schemas/domain_metadata.schema.json", "contract/schemas/domain_metadata.schema.json"],
    ]) {
      const answer = await engine.worker.fetch(path);
      assert.equal(answer.status, 200);
      assert.equal(answer.headers.get("cache-control"), "public, max-age=3600");
      assert.equal(await answer.text(), fixture(source).toString(), path);
    }
  });
});
