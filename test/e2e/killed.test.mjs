// An event that dies between a request to a site and writing its document: alone, as when the platform
// ends it, or with the whole runtime. The log of a site that outlives both is checked.
import assert from "node:assert/strict";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { createServer } from "node:http";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { describe, test } from "node:test";
import { setTimeout as sleep } from "node:timers/promises";
import { startEngine as startLocally } from "../../sample/local.mjs";
import { domainMessage, prod, quick, root, startEngine, until } from "./engine.mjs";

const domain = "site1.sg";
const interval = 1000;
const lease = 30_000; // of a collection, renewed every 10 s
const margin = 30_000; // for the jitter of a requeue, the collection and a slow machine
const vars = {
  ...quick,
  REQUEST_INTERVAL_MS: String(interval),
  ROBOTS_TIMEOUT_MS: "10000", // no host hangs here, and under load a second can be too short
  SITEMAP_TIMEOUT_MS: "10000",
  PAGE_TIMEOUT_MS: "10000",
};
const relay = (origin) => ({
  name: "relay",
  main: `${root}/test/workers/relay.mjs`,
  compatibility_date: "2026-11-01",
  vars: { ORIGIN: origin },
});

const pages = {
  "/robots.txt": ["text/plain", `User-agent: *\nDisallow: /private\nSitemap: https://${domain}/sitemap.xml\n`],
  "/sitemap.xml": [
    "application/xml",
    `<?xml version="1.0"?><urlset xmlns="http://www.sitemaps.org/schemas/sitemap/0.9"><url><loc>https://${domain}/news</loc></url></urlset>`,
  ],
  "/": ["text/html", `<!doctype html><title>${domain}</title><p>Hello</p>`],
};

/** A site that answers after 300 ms. It logs the path, start and end of each request. */
async function startSite(t) {
  const log = [];
  const server = createServer((request, response) => {
    const { hostname, pathname } = new URL(request.headers["x-url"]);
    const visit = { host: hostname, path: pathname, start: Date.now(), end: Date.now() };
    log.push(visit);
    setTimeout(() => {
      visit.end = Date.now();
      const [type, body] = pages[pathname] ?? ["text/plain", "not found"];
      response.writeHead(pages[pathname] ? 200 : 404, { "content-type": type }).end(body);
    }, 300);
  });
  await new Promise((done) => server.listen(0, "127.0.0.1", done));
  t.after(() => server.close());
  return { log, url: `http://127.0.0.1:${server.address().port}/` };
}

/** Waits until robots.txt was read and something else is being fetched. */
const halfway = (log) => until(() => log.length >= 2, "its second request", 120);

/**
 * Asserts that the site got no requests while the dead event might have sent some, and was then collected once: by an
 * event that could start at resumed.
 */
function assertTakenOver(log, before, died, resumed) {
  const [first] = log.slice(before);
  const since = first.start - died;
  assert.ok(since >= lease / 2, `another event asked ${first.path} ${since} ms after the death, within the lease`);
  const late = Date.now() - Math.max(died + lease, resumed);
  assert.ok(late <= margin, `its document came ${late} ms after the lease was over`);
  log.forEach(({ host, path, start }, i) => {
    assert.equal(host, domain);
    const pause = i > 0 ? start - log[i - 1].end : interval;
    assert.ok(pause >= interval, `${path} was asked for ${pause} ms after the request before it`);
  });
  assert.equal(log.filter(({ path }) => path === "/robots.txt").length, 2, JSON.stringify(log));
}

function assertWhole(document, keys) {
  assert.equal(document.revision, 1);
  assert.equal(document.partial, false);
  assert.equal(document.technical_metadata.sitemap_xml.url_count, 1);
  assert.equal(keys.filter((key) => key.endsWith("/domain_metadata.json")).length, 1);
  assert.deepEqual(
    keys.filter((key) => key.startsWith("dlq/")),
    [],
  );
}

describe("killed half-way through a domain", { concurrency: true }, () => {
  test("an event: the queue redelivers its message to an event that waits for the lease", async (t) => {
    const { log, url } = await startSite(t);
    const engine = await startEngine({
      web: relay(url),
      vars,
      change: (config) => ({ ...config, main: `${root}/test/workers/mortal.mjs` }),
    });
    t.after(() => engine.close());
    const kill = async (method) => (await engine.worker.fetch("https://inside.invalid/kill", { method })).json();

    await engine.env.DOMAIN_QUEUE.send(domainMessage(domain, [`https://${domain}/a`]));
    await halfway(log);
    const died = Date.now();
    await kill("PUT");
    await until(async () => (await kill("GET")) === 1, "its death");
    await sleep(500); // a response might be under way
    const before = log.length;
    assert.equal(await engine.text(prod(domain)), null);

    await until(
      () => engine.text(prod(domain, "domain_metadata.json.success")).then((text) => text !== null),
      "its document",
      120,
    );
    assertTakenOver(log, before, died, died);
    assertWhole(await engine.json(prod(domain)), await engine.keys(""));
    assert.equal(engine.events("domain_collector_start").length, 2);
    assert.ok(engine.events("domain_busy").length > 0, "the redelivery did not find the domain leased");
  });

  test("the runtime: restarted on the same storage, it waits for the dead one's lease", async (t) => {
    const { log, url } = await startSite(t);
    const dir = mkdtempSync(join(tmpdir(), "killed-"));
    const config = join(dir, "relay.json");
    writeFileSync(config, JSON.stringify(relay(url)));
    let engine;
    t.after(async () => {
      await engine?.stop(); // first, since it writes to the directory while it runs
      rmSync(dir, { recursive: true, force: true, maxRetries: 5 });
    });
    const start = async () => {
      engine = await startLocally({ dir, vars, web: { name: "relay", config } });
    };

    await start();
    const raw = [{ url: `https://${domain}/a`, title: "A", source_type: "gov" }];
    const { status } = await engine.api("PUT", "/api/v1/datasets/sg/news/2026-01-28/raw_0001?orchestrate=true", raw);
    assert.equal(status, 201);
    await halfway(log);
    const died = Date.now();
    await engine.kill();
    const before = log.length;

    await start();
    const resumed = Date.now();
    assert.equal(await engine.read(prod(domain)), null);
    // A real queue delivers the message again; the simulated one died with the runtime, so it is sent again.
    await engine.api("POST", "/api/v1/seeds/orchestrate", { force: true });
    await until(() => engine.read(prod(domain, "domain_metadata.json.success")), "its document", 120);
    assertTakenOver(log, before, died, resumed);
    assertWhole(
      await engine.json(prod(domain)),
      (await engine.list("")).map(({ key }) => key),
    );
    assert.ok(engine.log.events("domain_busy").length > 0, "the domain was not found leased");
  });
});
