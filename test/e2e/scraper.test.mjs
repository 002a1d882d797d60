// The scraper of docs/frontier.md with the engine on workerd and a small web.
import assert from "node:assert/strict";
import { spawn } from "node:child_process";
import { createServer } from "node:http";
import { join } from "node:path";
import { after, before, test } from "node:test";
import { json, text } from "node:stream/consumers";
import { setTimeout as sleep } from "node:timers/promises";
import { quick, root, startEngine } from "./engine.mjs";

const INTERVAL = 300; // ms between two requests to a host
const API = { authorization: "Bearer operator" };
const partition_info = { country: "sg", category: "news", date: "2026-01-28" };

const page = (...links) => [200, {}, links.map((link) => `<p><a class="x" href="${link}">more</a></p>`).join("")];
const sites = {
  "www.a.example/robots.txt": [
    200,
    {},
    "User-agent: *\nDisallow: /\n\nUser-agent: NewsforkBot\nDisallow: /private # not for us\n",
  ],
  "www.a.example/": page(
    "/1",
    "2?utm_source=x#top",
    "/private/x",
    "https://b.example/start",
    "mailto:editor@a.example",
  ),
  "www.a.example/1": page("/", "/2"),
  "www.a.example/2": page(),
  "www.a.example/moved": [301, { location: "https://b.example/target" }, ""],
  "www.a.example/old": [301, { location: "/new" }, ""],
  "www.a.example/new": page(),
  "b.example/start": page("https://www.a.example/1"),
  "b.example/target": page(),
  "busy.example/limited": () => (asked("busy.example/limited") > 1 ? page() : [429, { "retry-after": "2" }, ""]),
  "down.example/robots.txt": [503, {}, ""],
  "elsewhere.example/robots.txt": [301, { location: "https://c.example/robots.txt" }, ""],
  "elsewhere.example/x": page(),
  "renamed.example/robots.txt": [301, { location: "/rules" }, ""],
  "renamed.example/rules": [200, {}, "User-agent: *\nDisallow: /private\n"],
  "renamed.example/x": page("/private/y"),
};
const fetched = [
  "www.a.example/",
  "www.a.example/1",
  "www.a.example/2",
  "www.a.example/new",
  "b.example/start",
  "b.example/target",
  "busy.example/limited",
  "renamed.example/x",
];

const log = []; // {url, host, agent, began, ended}
const asked = (url) => log.filter((one) => one.url === url).length;

/** Plays every website; a header holds the original address. */
const web = createServer((request, response) => {
  const { host, pathname, search } = new URL(request.headers["x-url"]);
  const url = host + pathname + search;
  const entry = { url, host, agent: request.headers["user-agent"], began: performance.now() };
  log.push(entry);
  const site = sites[url] ?? [404, {}, ""];
  const [status, headers, body] = typeof site === "function" ? site() : site;
  setTimeout(() => {
    entry.ended = performance.now(); // before the scraper can have the answer, however long this process rests then
    response.writeHead(status, { ...headers, connection: "close" }).end(body);
  }, 20);
});

let engine, address, sitesAddress;
before(async () => {
  engine = await startEngine({
    vars: { ...quick, REQUEST_INTERVAL_MS: String(INTERVAL), API_TOKEN: "operator", SCRAPER_TOKEN: "reader" },
  });
  address = (await engine.harness.listen()).url.origin;
  await new Promise((listening) => web.listen(0, "127.0.0.1", listening));
  sitesAddress = `http://127.0.0.1:${web.address().port}/`;
});
after(async () => {
  web.close();
  await engine?.close();
});

/** Redirects the scraper's process to the small web; the engine is called by fetch. */
const detour = `
  import dns from "node:dns";
  import http from "node:http";
  import https from "node:https";
  import { syncBuiltinESMExports } from "node:module";
  const addresses = { "inside.example": ["93.184.216.34", "10.0.0.7"], "mapped.example": ["::ffff:127.0.0.1"], "gone.example": null };
  dns.lookup = (host, options, done) => {
    const found = addresses[host]?.map((address) => ({ address, family: address.includes(":") ? 6 : 4 }));
    done(found ? null : Object.assign(new Error("no address"), { code: "ENOTFOUND" }), found);
  };
  const real = http.request;
  http.request = https.request = (url, options, done) => {
    const { hostname } = new URL(url);
    if (hostname in addresses) return real("http://" + hostname, options, done);
    return real(process.env.SITES, { ...options, headers: { ...options.headers, "x-url": String(url) } }, done);
  };
  syncBuiltinESMExports();`;

function start(token = "reader", engineAddress = address, env = {}) {
  return spawn(
    process.execPath,
    ["--import", `data:text/javascript,${encodeURIComponent(detour)}`, join(root, "docs/scraper.mjs"), "--until-idle"],
    {
      timeout: 60_000,
      env: { ...process.env, SEED_API_URL: engineAddress, SEED_API_TOKEN: token, SITES: sitesAddress, ...env },
    },
  );
}

async function scrape(token, engineAddress, env) {
  const scraper = start(token, engineAddress, env);
  const ended = new Promise((done) => scraper.on("close", done));
  const [out, errors, code] = await Promise.all([text(scraper.stdout), text(scraper.stderr), ended]);
  return { out, errors, code };
}

const state = async (url) => {
  const answer = await engine.api("GET", `/api/v1/frontier/url?url=${encodeURIComponent(url)}`, undefined, API);
  return answer.data.state;
};

test("the documented scraper fetches every page politely, and nothing else", { timeout: 120_000 }, async () => {
  const first = [
    "www.a.example/",
    "www.a.example/missing",
    "www.a.example/moved",
    "www.a.example/old",
    "busy.example/limited",
    "gone.example/x",
    "down.example/x",
    "elsewhere.example/x",
    "renamed.example/x",
    "inside.example/admin",
    "mapped.example/admin",
  ];
  const put = await engine.api(
    "POST",
    "/api/v1/frontier/urls",
    { urls: first.map((url) => ({ url: `https://${url}` })), partition_info },
    API,
  );
  assert.equal(put.data?.accepted, first.length, JSON.stringify(put));

  const { out, errors, code } = await scrape();
  assert.equal(code, 0, errors);
  const lines = out
    .trim()
    .split("\n")
    .map((line) => JSON.parse(line));
  assert.deepEqual(lines.map((line) => line.url).sort(), fetched.map((url) => `https://${url}`).sort(), errors);

  assert.ok(
    log.every((one) => one.agent.startsWith("NewsforkBot/")),
    "all by the engine's name",
  );
  assert.equal(asked("www.a.example/private/x"), 0, "robots.txt is obeyed");
  assert.equal(asked("down.example/x"), 0, "no robots.txt, no fetch");
  assert.equal(asked("elsewhere.example/x"), 0, "nor where it is on a host that nobody gave");
  assert.equal(asked("c.example/robots.txt"), 0, "which is not asked for it");
  assert.equal(asked("renamed.example/private/y"), 0, "a redirect on the same host is followed");
  for (const url of fetched) assert.equal(asked(url), url === "busy.example/limited" ? 2 : 1, url);
  for (const host of new Set(log.map((one) => one.host))) {
    const requests = log.filter((one) => one.host === host);
    assert.ok(requests[0].url.endsWith("/robots.txt"), `${host}: robots.txt first`);
    for (let i = 1; i < requests.length; i++) {
      const pause = requests[i].began - requests[i - 1].ended;
      assert.ok(pause >= INTERVAL - 5, `${requests[i].url} came ${pause} ms after ${requests[i - 1].url}`);
    }
  }
  const limited = log.filter((one) => one.url === "busy.example/limited");
  assert.ok(limited[1].began - limited[0].ended >= 2000 - 5, "Retry-After is obeyed");

  for (const [url, expected] of [
    ...fetched.map((url) => [url, "fetched"]),
    ["www.a.example/missing", "gone"],
    ["www.a.example/moved", "fetched"],
    ["www.a.example/private/x", "gone"],
  ])
    assert.equal(await state(`https://${url}`), expected, url);
  for (const host of ["inside.example", "mapped.example"])
    assert.ok(!log.some((one) => one.host === host), `${host} leads to a private network, and is not asked`);
  for (const url of ["gone.example/x", "down.example/x", "elsewhere.example/x", "inside.example/admin"])
    assert.equal(await state(`https://${url}`), "waiting", url);
});

test("it gives back what it has leased when it is stopped", { timeout: 60_000 }, async () => {
  sites["slow.example/robots.txt"] = [200, {}, "User-agent: *\nCrawl-delay: 30\n"];
  sites["slow.example/1"] = sites["slow.example/2"] = page();
  const urls = ["https://slow.example/1", "https://slow.example/2"];
  await engine.api("POST", "/api/v1/frontier/urls", { urls: urls.map((url) => ({ url })), partition_info }, API);
  const scraper = start();
  const ended = new Promise((done) => scraper.on("close", done));
  while (!asked("slow.example/robots.txt")) await sleep(20);
  for (const url of urls) assert.equal(await state(url), "leased", url);
  scraper.kill("SIGTERM");
  assert.equal(await ended, 0);
  for (const url of urls) assert.match(await state(url), /^(due|waiting)$/, url);
});

test("it reports an invalid token", async () => {
  const { errors, code } = await scrape("guess");
  assert.equal(code, 1);
  assert.match(
    errors,
    /lease refused with 401: the token is not valid here; SEED_API_TOKEN, or the option token, must hold/,
  );
});

test("it renews a short lease, sends conditions, reports 304, and names copies", { timeout: 60_000 }, async () => {
  const words = "The same story, word by word. ".repeat(10);
  const body = (path) => `<nav>${path} ${asked(`twice.example${path}`)}</nav><p>${words}</p>`;
  for (const path of ["/a", "/b"]) sites[`twice.example${path}`] = () => [200, { etag: `"${path}"` }, body(path)];
  sites["twice.example/d"] = [304, { etag: '"old"' }, ""];
  const conditions = [];
  const note = (request) => conditions.push([request.headers["x-url"], request.headers["if-none-match"]]);
  web.on("request", note);
  const item = (path, more) => ({
    ...{ id: path, url: `https://twice.example${path}`, host: "twice.example", domain: "twice.example", kind: "page" },
    ...{ crawl_delay_seconds: 0.3, user_agent: "NewsforkBot/1.0", etag: null, last_modified: null, ...more },
  });
  const again = {
    etag: '"old"',
    last_modified: "Wed, 28 Jan 2026 09:00:00 GMT",
    last_fetched_at: "2026-01-28T10:00:00Z",
  };
  const items = [item("/a", { visit: 1, reason: "new" }), item("/b", { ...again, visit: 2, reason: "lastmod" })];
  items.push(item("/c"), item("/d", { ...again, visit: 3, reason: "revisit" }));
  const calls = [];
  let leased = false;
  // The engine gives a lease of 31 s, by a clock that is an hour ahead, and renews it once.
  const expiry = (seconds) => new Date(Date.now() + 3_600_000 + seconds * 1000).toISOString();
  const short = createServer(async (request, response) => {
    if (request.url.startsWith("/api/v1/seeds/status")) return response.end("{}");
    const sent = await json(request);
    const operation = request.url.split("/").at(-1);
    calls.push([operation, sent]);
    let data = { accepted: sent.results?.length, added: 0 };
    if (operation === "lease")
      data = {
        lease_id: "1",
        expires_at: expiry(sent.lease_seconds),
        items: leased ? [] : items,
        retry_after_seconds: 60,
      };
    leased = true;
    const renewals = calls.filter(([one]) => one === "renew").length;
    if (operation === "renew") {
      const error = { code: "lease_over", field: null, message: "the lease is over" };
      if (renewals > 1) return response.writeHead(409).end(JSON.stringify({ success: false, error }));
      data = { expires_at: expiry(sent.lease_seconds) };
    }
    response.end(JSON.stringify({ success: true, data }));
  });
  await new Promise((listening) => short.listen(0, "127.0.0.1", listening));
  sites["twice.example/robots.txt"] = [200, {}, "User-agent: *\nCrawl-delay: 1\n"];
  try {
    const { out, errors, code } = await scrape("reader", `http://127.0.0.1:${short.address().port}`, {
      LEASE_SECONDS: "31",
    });
    assert.equal(code, 0, errors);
    const results = calls.filter(([one]) => one === "report").flatMap(([, sent]) => sent.results);
    assert.deepEqual(results.map(({ id, status, error }) => [id, status ?? error]).sort(), [
      ["/a", 200],
      ["/b", 200],
      ["/c", 404],
      ["/d", 304],
    ]);
    const { sha256, text_sha256, urls } = results.find(({ id }) => id === "/d");
    assert.deepEqual([sha256, text_sha256, urls], [undefined, undefined, undefined], "nothing was read");
    const printed = out
      .trim()
      .split("\n")
      .map((line) => JSON.parse(line));
    assert.deepEqual(
      printed.map(({ url, reason, visit }) => [url, reason, visit]),
      [
        ["https://twice.example/a", "new", 1],
        ["https://twice.example/b", "lastmod", 2],
      ],
    );
    const [a, b] = ["/a", "/b"].map((id) => results.find((one) => one.id === id));
    assert.equal(a.text_sha256, b.text_sha256, "the navigation differs, the text does not");
    assert.notEqual(a.sha256, b.sha256);
    assert.deepEqual([a.duplicate_of, b.duplicate_of], [undefined, "https://twice.example/a"]);
    assert.deepEqual(
      conditions.filter(([url]) => /\/[bd]$/.test(url)),
      [
        ["https://twice.example/b", '"old"'],
        ["https://twice.example/d", '"old"'],
      ],
    );
    assert.ok(
      calls.some(([one]) => one === "renew"),
      JSON.stringify(calls),
    );
    assert.equal(a.crawl_delay_seconds, 1);
  } finally {
    web.off("request", note);
    short.closeAllConnections();
    short.close();
  }
});

test("pages of many links are reported in several reports", { timeout: 60_000 }, async () => {
  // An engine that refuses a report of more than 5,000 found URLs; 50 pages have 120 each.
  const items = Array.from({ length: 50 }, (_, i) => ({
    ...{ id: `${i}`, url: `https://long${i}.example/`, host: `long${i}.example`, domain: `long${i}.example` },
    ...{ kind: "page", crawl_delay_seconds: 0, user_agent: "NewsforkBot/1.0", etag: null, last_modified: null },
  }));
  const urls = Array.from({ length: 120 }, (_, i) => `/${i}`);
  for (const { host } of items) sites[`${host}/`] = page(...urls);
  const reports = [];
  let leased = false;
  const strict = createServer(async (request, response) => {
    if (request.url.startsWith("/api/v1/seeds/status")) return response.end("{}");
    const body = await json(request);
    const expires_at = new Date(Date.now() + 300_000).toISOString();
    let data = { lease_id: "1", expires_at, items: leased ? [] : items, retry_after_seconds: 60 };
    if (request.url.endsWith("/lease")) leased = true;
    else {
      const found = body.results.flatMap((result) => result.urls).length;
      const error = { code: "validation_error", field: "results", message: `${found} found URLs are too many` };
      if (found > 5000) return response.writeHead(400).end(JSON.stringify({ success: false, error }));
      reports.push(body.results);
      data = { accepted: body.results.length, added: 0 };
    }
    response.end(JSON.stringify({ success: true, data }));
  });
  await new Promise((listening) => strict.listen(0, "127.0.0.1", listening));
  try {
    const { errors, code } = await scrape("reader", `http://127.0.0.1:${strict.address().port}`);
    assert.equal(code, 0, errors);
    const results = reports.flat();
    assert.deepEqual(
      results.map(({ id }) => Number(id)).sort((a, b) => a - b),
      items.map(({ id }) => Number(id)),
    ); // each once
    for (const { id, urls: found } of results) assert.equal(found.length, 120, id);
    assert.equal(reports.length, 2);
  } finally {
    strict.closeAllConnections();
    strict.close();
  }
});
