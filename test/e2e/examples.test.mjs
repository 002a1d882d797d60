// The example scrapers in Scrapy and Crawlee, run as their READMEs say, with the engine on workerd and the sample
// web, which logs the requests of both. With HOUR=1, "three scrapers" goes on for an hour: of each site up to 80 pages
// wait at a time, and an operator wants 40 seconds between two requests.
import assert from "node:assert/strict";
import { spawn, spawnSync } from "node:child_process";
import {
  copyFileSync,
  cpSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readFileSync,
  readdirSync,
  rmSync,
  writeFileSync,
} from "node:fs";
import { createServer } from "node:http";
import { tmpdir } from "node:os";
import { dirname, join, resolve } from "node:path";
import { json, text } from "node:stream/consumers";
import { after, before, describe, test } from "node:test";
import { setTimeout as sleep } from "node:timers/promises";
import { answerOf } from "../../sample/web/origin.mjs";
import { startProxy } from "../../sample/web/proxy.mjs";
import { sites } from "../../sample/web/sites.mjs";
import { partition, quick, root, startEngine, until } from "./engine.mjs";

const HOUR = process.env.HOUR === "1";
const INTERVAL = 300; // ms between two requests to a host
const delays = { "merlion-post.com.sg": 2000 }; // Crawl-delay of robots.txt
const API = { authorization: "Bearer operator" };
const scratch = mkdtempSync(join(tmpdir(), "examples-"));
after(() => rmSync(scratch, { recursive: true }));

// Collected before the scraper runs; the frontier takes the best six pages of each.
const collected = [
  ...["mom.gov.sg", "www.moh.gov.sg", "merlion-post.com.sg", "harbour-times.sg", "flaky-wire.sg", "bigmap.com.au"],
  ...["plain-http.sg", "closed-gazette.sg", "picky-daily.sg", "straits-wire.sg", "slowport.sg"],
];
// Put by hand, without reading robots.txt.
const forbidden = [
  ...["https://www.mom.gov.sg/eservices/login", "https://closed-gazette.sg/notice-1"],
  ...["https://picky-daily.sg/story-1", "https://straits-wire.sg/wire-1"],
];
const put = [
  ...forbidden,
  "https://new-name.sg/story-1", // no collection has seen its robots.txt
  "https://new-name.sg/missing",
  "http://new-name.sg/story-2", // redirects to https
  "https://old-name.sg/story-3", // its robots.txt belongs to another host
  "https://refused-post.sg/a",
  "https://slowport.sg/shipping-7", // answers 429 once
  "https://ica.gov.sg/news-and-publications/media-release-1", // excluded
];

/** The commands in an example's README: the indented lines, without comments. */
function commands(example) {
  const readme = readFileSync(join(root, "examples", example, "README.md"), "utf8");
  return readme
    .split("\n")
    .filter((line) => /^ {4}\S/.test(line))
    .map((line) => line.trim());
}

/** A function that does its work the first time. */
function once(work) {
  let done;
  return () => (done ??= work());
}

/** Runs a command of a README in the example's directory, with the sample web behind the proxy. */
async function run(command, example, env, meanwhile = () => {}) {
  const child = spawn("bash", ["-c", command], {
    cwd: resolve(root, "examples", example),
    timeout: HOUR ? 2 * 3_600_000 : 300_000,
    env: { ...process.env, PATH: `${dirname(process.execPath)}:${process.env.PATH}`, ...env },
  });
  const ended = new Promise((done, failed) => child.on("close", done).on("error", failed));
  meanwhile(child);
  const [out, errors, code] = await Promise.all([text(child.stdout), text(child.stderr), ended]);
  return { code, output: out + errors };
}

/** The paths of a host that robots.txt allows, by the engine's own matcher, which the scrapers do not use. */
function allowed(host, paths) {
  const site = sites[host];
  const robots = site && answerOf(site, new URL(`${site.https === "refused" ? "http" : "https"}://${host}/robots.txt`));
  if (!robots || robots.mode || robots.status >= 500) return [];
  if (robots.status >= 300) return paths;
  const judged = spawnSync(join(root, "build/seedctl"), ["robots", "--json", "-", ...paths], { input: robots.body });
  const { urls } = JSON.parse(judged.stdout);
  return urls.filter((one) => one.allowed).map((one) => one.url);
}

async function crawl(run) {
  const { runs, ...others } = await crawlTogether([run]);
  return { ...others, ...runs[0] };
}

/**
 * Runs scrapers side by side on one engine, each {example, command, env} behind a proxy of its own. What it returns has
 * the exit code of each, its output, and what it was answered.
 */
async function crawlTogether(scrapers) {
  const engine = await startEngine({
    vars: {
      ...quick,
      REQUEST_INTERVAL_MS: String(INTERVAL),
      FRONTIER_URLS_PER_DOMAIN: HOUR ? "80" : "6",
      API_TOKEN: "operator",
      SCRAPER_TOKEN: "reader",
    },
  });
  const proxies = [];
  try {
    const ok = async (method, path, body) => {
      const { success, data, error } = await engine.api(method, path, body, API);
      assert.ok(success, `${method} ${path}: ${JSON.stringify(error)}`);
      return data;
    };
    const records = collected.map((domain) => ({ url: `https://${domain}/`, source_type: "media" }));
    await ok("PUT", "/api/v1/datasets/sg/news/2026-01-28/raw_0001?orchestrate=true", records);
    await until(() => engine.events("domain_collector_complete").length >= collected.length, "the collections", 120);
    await ok("POST", "/api/v1/frontier/urls", {
      urls: put.map((url) => ({ url, priority: 1 })),
      partition_info: partition,
    });
    await ok("PUT", "/api/v1/exclusions/domain/ica.gov.sg", { reason: "asked by the owner" });
    if (HOUR)
      for (const { host } of (await ok("GET", "/api/v1/frontier/hosts?limit=100")).hosts)
        await ok("POST", `/api/v1/frontier/hosts/${host}`, { delay_seconds: 40 });
    const fault = { host: "slowport.sg", path: "/shipping-7", mode: "status", status: 429, times: 1, retry_after: 2 };
    await engine.control("POST", "/fault", fault);
    const before = (await engine.control("GET", "/log")).requests.length;

    const address = (await engine.harness.listen()).url.origin;
    const started = scrapers.map(() => Promise.withResolvers());
    const all = Promise.all(started.map(({ promise }) => promise));
    const scrape = async ({ example, command, env }, i) => {
      const received = []; // URLs of pages that were answered with 200
      const robots = []; // URLs of robots.txt files that were asked for
      const proxy = await startProxy(async (url, init) => {
        // Nobody is answered before all ask something: the first to start would take everything.
        started[i].resolve();
        await Promise.race([all, sleep(10_000, null, { ref: false })]);
        const { pathname } = new URL(url);
        if (pathname === "/robots.txt") robots.push(url);
        const answer = await engine.web.fetch(url, init);
        if (answer.status === 200 && pathname !== "/robots.txt") received.push(url);
        return answer;
      });
      proxies.push(proxy);
      const ended = await run(HOUR ? `timeout --preserve-status -s INT 3600 ${command.trim()}` : command, example, {
        ...env,
        SEED_API_URL: address,
        SEED_API_TOKEN: "reader",
        http_proxy: proxy.url,
        https_proxy: proxy.url,
        no_proxy: new URL(address).hostname,
      });
      return { ...ended, received, robots };
    };
    const runs = await Promise.all(scrapers.map(scrape));
    const { requests } = await engine.control("GET", "/log");
    const state = async (url) => (await ok("GET", `/api/v1/frontier/url?url=${encodeURIComponent(url)}`)).state;
    const states = Object.fromEntries(await Promise.all(put.map(async (url) => [url, await state(url)])));
    return { runs, requests, scraped: requests.slice(before), states };
  } finally {
    for (const proxy of proxies) proxy.stop();
    await engine.close();
  }
}

/** Checks for every scraper: the origin's log, and the outcome of the URLs. */
function assertObedient({ code, output, requests, scraped, states }) {
  assert.equal(code, 0, output);
  const hosts = Map.groupBy(requests, (one) => one.host);
  for (const [host, log] of hosts) {
    const paths = log.map((one) => one.path).filter((path) => path !== "/robots.txt");
    const fine = new Set(allowed(host, paths));
    assert.deepEqual([...new Set(paths.filter((path) => !fine.has(path)))], [], `forbidden on ${host}`);
    log.sort((a, b) => a.at - b.at);
    for (let i = 1; i < log.length; i++) {
      const pause = log[i].at - log[i - 1].at;
      assert.ok(
        pause >= (delays[host] ?? INTERVAL),
        `${log[i].url} came ${pause} ms after ${log[i - 1].url}\n${output}`,
      );
      assert.equal(log[i].open, 1, `${log[i].url} came while another request was under way`);
    }
  }
  for (const { url, user_agent: agent } of scraped) assert.match(agent, /^NewsforkBot\//, url);

  const pages = scraped.filter((one) => one.path !== "/robots.txt");
  const urls = pages.map((one) => one.url);
  // Both refuse connections by https, and are asked once more after a minute's rest: a scraper that ends when it is idle
  // waits for that.
  const refuses = (url) => /^https:\/\/(refused-post|plain-http)\.sg\//.test(url);
  const again = urls.filter((url, i) => urls.indexOf(url) !== i && !refuses(url));
  assert.deepEqual(again, ["https://slowport.sg/shipping-7"], "once each, but what was answered with 429");
  // The https of plain-http.sg has a robots.txt that cannot be read. From when that is asked, its other pages wait.
  const plain = pages.filter((one) => one.host === "plain-http.sg");
  assert.ok(plain.length >= 3, `${plain.length} pages of plain-http.sg\n${output}`);
  assert.ok(
    pages.length - plain.length >= 37,
    `${pages.length} pages of ${new Set(pages.map((one) => one.host)).size} hosts\n${output}`,
  );
  assert.ok(!urls.some((url) => url.includes("ica.gov.sg")), "excluded");
  const [first, second] = pages.filter((one) => one.path === "/shipping-7");
  assert.ok(second.at - first.at >= 2000, "Retry-After");
  const robots = scraped.filter((one) => one.url === "https://www.mom.gov.sg/robots.txt");
  assert.ok(robots.length <= 1, "robots.txt is kept between leases");

  for (const [url, expected] of Object.entries({
    "https://www.mom.gov.sg/eservices/login": "forbidden",
    "https://closed-gazette.sg/notice-1": "forbidden",
    "https://picky-daily.sg/story-1": "forbidden",
    "https://straits-wire.sg/wire-1": "waiting", // its robots.txt may be readable later
    "https://new-name.sg/story-1": "fetched",
    "https://new-name.sg/missing": "gone",
    "http://new-name.sg/story-2": "fetched",
    "https://old-name.sg/story-3": "waiting",
    "https://refused-post.sg/a": "waiting",
    "https://slowport.sg/shipping-7": "fetched",
    "https://ica.gov.sg/news-and-publications/media-release-1": "excluded",
  }))
    assert.equal(states[url], expected, url);
  // The redirect was followed.
  assert.ok(urls.includes("https://new-name.sg/story-2"), urls.join("\n"));
}

/** The items that a program printed, a line each. */
function printedItems(output) {
  return Array.from(output.matchAll(/^item (.*)$/gm), ([, item]) => JSON.parse(item));
}

/** Checks that the items of a run are the pages that it was answered with 200; one of a host has a title. */
function assertItems(items, { received, output }, host = "mom.gov.sg") {
  assert.deepEqual(items.map((item) => item.url).sort(), received.sort(), output);
  assert.ok(
    items.some(({ url, title }) => url.includes(host) && title),
    JSON.stringify(items),
  );
}

function readDataset(storage) {
  const dataset = join(storage, "datasets/default");
  const names = readdirSync(dataset).filter((name) => /^\d+\.json$/.test(name));
  return names.map((name) => JSON.parse(readFileSync(join(dataset, name), "utf8")));
}

function readLines(file) {
  const lines = readFileSync(file, "utf8").trim().split("\n");
  return lines.map((line) => JSON.parse(line));
}

for (const [example, file] of [
  ["node", "news.mjs"],
  ["python", "news.py"],
  ["scrapy", "news.py"],
  ["crawlee", "news.ts"],
])
  test(`examples/${example}: a scraper of ten lines, which its README shows`, () => {
    const readme = readFileSync(join(root, "examples", example, "README.md"), "utf8");
    const shown = /^```\w+\n([^]*?)^```$/m.exec(readme)[1];
    assert.equal(shown, readFileSync(join(root, "examples", example, file), "utf8"));
    assert.ok(shown.split("\n").filter(Boolean).length <= 10, shown);
  });

/** A fake engine with scripted answers, and the proxy to the one site that it leases. */
async function playEngine(
  leases,
  faults,
  { renewals = 0, seconds = 300, delay = 0.3, body = "<title>A page</title>", unchanged = "", visits = {} } = {},
) {
  const played = { asked: [], calls: [], reports: [], leased: 0, released: [] };
  const expiry = (s) => new Date(Date.now() + 3_600_000 + s * 1000).toISOString(); // by a clock of its own
  const server = createServer(async (request, response) => {
    if (request.url.startsWith("/api/v1/seeds/status")) return response.end("{}");
    if (request.method === "GET") {
      const path = new URL(request.url).pathname; // a proxy is sent the whole URL
      const { "if-none-match": etag, "if-modified-since": since } = request.headers;
      played.asked.push({ path, at: Date.now(), etag, since });
      const robots = path === "/robots.txt";
      if (path === unchanged && etag === `"${path}"`) return response.writeHead(304, { etag }).end();
      const validators = { etag: `"${path}, now"`, "last-modified": "Thu, 29 Jan 2026 01:00:00 GMT" };
      response.writeHead(200, { "content-type": robots ? "text/plain" : "text/html", ...validators });
      return response.end(robots ? "User-agent: *\nDisallow: /private\n" : body);
    }
    const operation = request.url.split("/").at(-1);
    const sent = await json(request);
    played.calls.push(operation);
    const fault = faults[operation]?.shift();
    if (fault === "lost") return request.socket.destroy(); // after it was processed
    if (fault) return response.writeHead(fault).end("<h1>no JSON</h1>");
    if (operation === "report") played.reports.push(sent);
    if (operation === "release") played.released.push(request.url.split("/").at(-2));
    if (operation === "renew" && renewals-- <= 0) {
      const error = { code: "lease_over", field: null, message: "the lease is over" };
      return response.writeHead(409).end(JSON.stringify({ success: false, error }));
    }
    const out = operation === "lease" && played.leased > played.reports.length; // the host is leased
    const paths = operation === "lease" && !out ? (leases.shift() ?? []) : [];
    if (paths.length > 0) played.leased++;
    const items = paths.map((path) => ({
      ...{ id: path, url: `http://patient.example${path}`, host: "patient.example", domain: "patient.example" },
      ...{
        kind: "page",
        crawl_delay_seconds: delay,
        user_agent: "NewsforkBot/1.0",
        etag: `"${path}"`,
        last_modified: null,
      },
      ...visits[path],
    }));
    const again = items.length ? null : out ? 1 : 60;
    const data = { lease_id: `lease-${leases.length}`, expires_at: expiry(seconds), items, retry_after_seconds: again };
    const others = { accepted: sent.results?.length, unknown: 0, added: 0, expires_at: expiry(300), released: 0 };
    const answer = operation === "lease" ? data : others;
    response
      .writeHead(200, { "content-type": "application/json" })
      .end(JSON.stringify({ success: true, data: answer }));
  });
  await new Promise((listening) => server.listen(0, "127.0.0.1", listening));
  played.url = `http://127.0.0.1:${server.address().port}`;
  played.close = () => (server.closeAllConnections(), server.close());
  return played;
}

/** A scraper whose engine loses answers; command runs it with a robots.txt that expires at once. */
async function assertPatient(example, commandOf, env = {}) {
  const leases = [["/a", "/private/x", "/b"], ["/c"]];
  const engine = await playEngine(leases, { lease: [503, "lost"], report: ["lost", 502] });
  const envOf = ({ url }) => ({
    ...env,
    ...{ SEED_API_URL: url, SEED_API_TOKEN: "", CRAWLEE_STORAGE_DIR: join(scratch, "patient") },
    ...{ http_proxy: url, https_proxy: url, no_proxy: "127.0.0.1" },
  });
  try {
    const { code, output } = await run(commandOf({}), example, envOf(engine));
    assert.equal(code, 0, output);
    assert.deepEqual(
      engine.asked.map(({ path }) => path),
      ["/robots.txt", "/a", "/b", "/robots.txt", "/c"],
      "each once, and robots.txt again once it has expired",
    );
    for (const [i, { at, path }] of engine.asked.entries())
      assert.ok(i === 0 || at - engine.asked[i - 1].at >= 300, `${path} came early`);
    const results = engine.reports.flatMap((report) => report.results);
    assert.deepEqual(
      results.map(({ id, status, error }) => [id, status ?? error]),
      [
        ["/a", 200],
        ["/private/x", "robots_disallowed"],
        ["/b", 200],
        ["/c", 200],
      ],
      output,
    );
    assert.ok(engine.calls.filter((call) => call === "report").length >= 4, "lost reports are repeated");
  } finally {
    engine.close();
  }

  // A lease of 33 s leaves three for requests. Items that do not fit are returned, and nothing is fetched after its end.
  const short = await playEngine([Array.from({ length: 15 }, (_, i) => `/${i}`)], {});
  try {
    const { code, output } = await run(commandOf({ short: true }), example, envOf(short));
    assert.equal(code, 0, output);
    const [first, last] = [short.asked[0].at, short.asked.at(-1).at];
    assert.ok(short.asked.length >= 2 && last - first <= 3200, JSON.stringify(short.asked));
    const results = short.reports.flatMap((report) => report.results);
    assert.equal(results.length, 15);
    const back = results.filter(({ error }) => error === "not_fetched");
    assert.equal(back.length, 15 - (short.asked.length - 1), output);
  } finally {
    short.close();
  }

  // The same lease is renewed, so that all of it is fetched, with the tags of the last time. All pages have one text,
  // but one that has not changed since.
  const story = `<body><p>${"The same story, word by word. ".repeat(10)}</p></body>`;
  const paths = ["/0", "/1", "/2", "/3"];
  const renewed = await playEngine([paths], {}, { renewals: 1, seconds: 33, delay: 1, body: story, unchanged: "/2" });
  try {
    const { code, output } = await run(commandOf({ short: true }), example, envOf(renewed));
    assert.equal(code, 0, output);
    assert.ok(renewed.calls.includes("renew"), output);
    const pages = renewed.asked.filter(({ path }) => path !== "/robots.txt");
    assert.deepEqual(
      pages.map(({ path, etag }) => [path, etag]),
      paths.map((path) => [path, `"${path}"`]),
      output,
    );
    const results = renewed.reports.flatMap((report) => report.results);
    const first = "http://patient.example/0";
    assert.deepEqual(
      results.map(({ id, status, duplicate_of: of }) => [id, status, of]),
      [
        ["/0", 200, undefined],
        ["/1", 200, first],
        ["/2", 304, undefined],
        ["/3", 200, first],
      ],
      output,
    );
    const read = results.filter(({ status }) => status === 200);
    assert.equal(new Set(read.map((one) => one.text_sha256)).size, 1);
  } finally {
    renewed.close();
  }

  // A scraper that is stopped reports what it has fetched, and releases the rest.
  const stopped = await playEngine([["/0", "/1"]], {}, { delay: 20 });
  try {
    const ended = run(`exec ${commandOf({})}`, example, envOf(stopped), (child) =>
      until(() => stopped.asked.length >= 1, "a request", 60).then(() => child.kill("SIGTERM")),
    );
    const { output } = await ended;
    assert.deepEqual(stopped.released, ["lease-0"], output);
    assert.ok(stopped.asked.length <= 2, output);
  } finally {
    stopped.close();
  }

  // One whose calls the engine does not answer ends as well.
  for (const operation of ["lease", "report"]) {
    const deaf = await playEngine([["/0"]], { [operation]: Array(99).fill(503) });
    let began;
    try {
      const { output } = await run(`exec ${commandOf({})}`, example, envOf(deaf), (child) =>
        until(() => deaf.calls.includes(operation), `a ${operation}`, 60).then(() => {
          began = Date.now();
          child.kill("SIGTERM");
        }),
      );
      assert.ok(Date.now() - began < 15_000, `${operation}: ${Date.now() - began} ms after SIGTERM\n${output}`);
    } finally {
      deaf.close();
    }
  }
}

/**
 * Why a page is leased, and what is known of the fetch before, is at hand to a scraper's author; the page is asked for
 * with its validators, and reported with those of now, or as unchanged. received returns the items that the author saw.
 */
async function assertVisits(example, command, received, env = {}) {
  const never = { reason: "new", visit: 1, last_fetched_at: null, etag: null, last_modified: null };
  const last_modified = "Wed, 28 Jan 2026 01:00:00 GMT";
  const fetched = { visit: 2, last_fetched_at: "2026-01-28T02:00:00Z", last_modified };
  const visits = {
    "/new": never,
    "/dated": { ...fetched, reason: "lastmod" },
    "/asked": { ...fetched, reason: "requested", visit: 7 },
    "/again": { ...fetched, reason: "revisit" },
  };
  const paths = Object.keys(visits);
  const engine = await playEngine([paths], {}, { visits, unchanged: "/again" });
  try {
    const { code, output } = await run(command, example, {
      ...env,
      ...{ SEED_API_URL: engine.url, SEED_API_TOKEN: "" },
      ...{ http_proxy: engine.url, https_proxy: engine.url, no_proxy: "127.0.0.1" },
    });
    assert.equal(code, 0, output);
    assert.deepEqual(
      engine.asked.map(({ path, etag, since }) => [path, etag, since]),
      [
        ["/robots.txt", undefined, undefined],
        ["/new", undefined, undefined],
        ...paths.slice(1).map((path) => [path, `"${path}"`, last_modified]),
      ],
      output,
    );
    assert.deepEqual(
      received(output).map(({ id, reason, visit, last_fetched_at }) => [id, reason, visit, last_fetched_at]),
      paths.slice(0, 3).map((path) => [path, visits[path].reason, visits[path].visit, visits[path].last_fetched_at]),
      output,
    );
    const results = engine.reports.flatMap((report) => report.results);
    assert.deepEqual(
      results.map(({ id, status, etag, last_modified }) => [id, status, etag, last_modified]),
      [
        ...paths.slice(0, 3).map((path) => [path, 200, `"${path}, now"`, "Thu, 29 Jan 2026 01:00:00 GMT"]),
        ["/again", 304, undefined, undefined],
      ],
      output,
    );
    assert.ok(results.slice(0, 3).every(({ sha256, text_sha256: text }) => /^[0-9a-f]{64}$/.test(sha256) && text));
    assert.ok(!results[3].sha256 && !results[3].text_sha256, "of a 304 there is no text");
  } finally {
    engine.close();
  }
}

const nodeDirectory = join(scratch, "node");
const installed = once(async () => {
  mkdirSync(nodeDirectory);
  copyFileSync(join(root, "examples/node/news.mjs"), join(nodeDirectory, "news.mjs"));
  const install = commands("node").find((line) => line.startsWith("npm install"));
  writeFileSync(join(scratch, "package.json"), "{}"); // npm without a package.json takes that of a directory above
  const command = `${install.replace("../../", `${root}/`)} --prefer-offline --no-audit --no-fund`;
  const { code, output } = await run(command, nodeDirectory, {});
  assert.equal(code, 0, output);
  assert.equal(readFileSync(join(scratch, "package.json"), "utf8"), "{}");
  assert.ok(!existsSync(join(scratch, "node_modules")), "nothing is installed above the example");
});

describe("examples/node, with the package as it is published", () => {
  const directory = nodeDirectory;
  before(installed);

  test("fetches what there is, nothing forbidden, nothing early", { timeout: 480_000 }, async () => {
    const command = commands("node").find((line) => line.includes("> news.jsonl"));
    const env = { NODE_TLS_REJECT_UNAUTHORIZED: "0" }; // nobody has signed the certificate of the sample web
    const result = await crawl({ example: directory, command, env });
    assertObedient(result);
    assertItems(readLines(join(directory, "news.jsonl")), result);
    const robots = result.scraped.filter((one) => one.path === "/robots.txt").map((one) => one.host);
    assert.ok(!robots.includes("www.mom.gov.sg"), `the engine's copy is used: ${robots}`);
  });

  test("repeats what gets lost, reads robots.txt again, and stops in time", { timeout: 180_000 }, async () => {
    await assertPatient(directory, ({ short }) => {
      const options = { untilIdle: true, ...(short ? { leaseSeconds: 33 } : { robotsSeconds: 0 }) };
      const program = `
        import { Frontier } from "newsfork";
        await new Frontier(${JSON.stringify(options)}).run();`;
      return `node --input-type=module -e '${program}'`;
    });
  });

  test("says why a page is leased, and reports whether it changed", { timeout: 60_000 }, async () => {
    const program = `
      import { Frontier } from "newsfork";
      const frontier = new Frontier({ untilIdle: true });
      await frontier.run(({ item }) => console.log("item " + JSON.stringify(item)));`;
    await assertVisits(directory, `node --input-type=module -e '${program}'`, printedItems);
  });
});

// Debian's Python, which has Protego by test/packages.sh.
const python = "/usr/bin/python3";

const wheel = join(scratch, "newsfork-1.0.0-py3-none-any.whl");
const built = once(async () => {
  cpSync(join(root, "clients/python"), join(scratch, "source"), { recursive: true });
  const build = `${python} -c "from setuptools import build_meta; build_meta.build_wheel('..')"`;
  const { code, output } = await run(build, join(scratch, "source"), {});
  assert.equal(code, 0, output);
});

const hasPython = spawnSync(python, ["-c", "import protego, setuptools, wheel"]).status === 0;
describe(
  "examples/python, with the package as it is published",
  { skip: !hasPython && process.env.CI !== "true" && "Protego or setuptools is not installed: run make packages" },
  () => {
    const directory = join(scratch, "python");
    const env = { PYTHONPATH: wheel };
    before(() => (mkdirSync(directory), built()));

    test("fetches what there is, nothing forbidden, nothing early", { timeout: 480_000 }, async () => {
      const program = readFileSync(join(root, "examples/python/news.py"), "utf8");
      // Nobody has signed the certificate of the sample web.
      writeFileSync(join(directory, "news.py"), program.replace('country="sg"', 'country="sg", verify=False'));
      const command = commands("python").find((line) => line.includes("> news.jsonl"));
      const result = await crawl({ example: directory, command: command.replace("python3", python), env });
      assertObedient(result);
      assertItems(readLines(join(directory, "news.jsonl")), result);
    });

    test("repeats what gets lost, reads robots.txt again, and stops in time", { timeout: 180_000 }, async () => {
      const commandOf = ({ short }) => {
        const options = short ? "lease_seconds=33" : "robots_seconds=0";
        return `${python} -c "import newsfork; newsfork.Frontier(until_idle=True, ${options}).run()"`;
      };
      await assertPatient(directory, commandOf, env);
    });

    test("says why a page is leased, and reports whether it changed", { timeout: 60_000 }, async () => {
      const program = `import json, newsfork
show = lambda page: print("item", json.dumps(page.item), flush=True)
newsfork.Frontier(until_idle=True).run(show)`;
      await assertVisits(directory, `${python} -c '${program}'`, printedItems, env);
    });

    test("finds the same text in a page as the package for Node", async () => {
      const { readPage } = await import("../../clients/node/index.mjs");
      const pages = [
        "<p>AT&amp;T, caf&eacute;<b>s</b> and <!-- not --> te<!-- -->xt</p><nav>menu</nav><p>two\u00a0\ufeff words",
        "<div><header>a menu that ends with its parent<p>of it</div>the story</p></section> goes<br/>on</br>here",
        "<script>a < b</script><title>Not of the text</title><h1>뉴스 <em>속</em>보</h1><aside/>all of this is aside",
        "<p>1 < 2 &lt; 3 &nosuch; &#x41;&#0;</p><style>p{}</style><ul><li>one<li>two</ul><template>x</template>end",
        ...["https://www.mom.gov.sg/", "https://merlion-post.com.sg/", "https://everyday-news.sg/"].map(
          (url) => answerOf(sites[new URL(url).host], new URL(url)).body,
        ),
      ];
      const program = `import json, sys, newsfork
print(json.dumps([newsfork.read_page(page, "https://a.example/")[0] for page in json.load(sys.stdin)]))`;
      const read = spawnSync(python, ["-c", program], {
        input: JSON.stringify(pages),
        env: { ...process.env, PYTHONPATH: join(root, "clients/python") },
      });
      assert.equal(read.status, 0, String(read.stderr));
      const texts = pages.map((page) => readPage(page, "https://a.example/").text);
      assert.ok(
        texts.every((text) => text.length > 5),
        JSON.stringify(texts),
      );
      assert.deepEqual(JSON.parse(read.stdout), texts);
    });
  },
);

const scrapy = spawnSync("scrapy", ["version"]).status === 0;
describe(
  "examples/scrapy",
  { skip: !scrapy && process.env.CI !== "true" && "Scrapy is not installed: run make packages" },
  () => {
    const env = { PYTHONPATH: wheel };
    before(built);

    test("fetches what there is, nothing forbidden, nothing early", { timeout: 480_000 }, async () => {
      const command = commands("scrapy").find((line) => line.includes("UNTIL_IDLE"));
      const items = join(scratch, "news.jsonl");
      const quiet = "-s REQUEST_FINGERPRINTER_IMPLEMENTATION=2.7"; // without it, Scrapy 2.8 warns of its own default
      const result = await crawl({
        ...{ example: "scrapy", env },
        command: `${command.replace("news.jsonl", items)} ${quiet}`,
      });
      assertObedient(result);
      assert.doesNotMatch(result.output, /WARNING|ERROR|Traceback/);
      assertItems(readLines(items), result);
    });

    test("repeats what gets lost, reads robots.txt again, and stops in time", { timeout: 180_000 }, async () => {
      const command = "scrapy runspider news.py -s NEWSFORK_UNTIL_IDLE=1";
      const commandOf = ({ short }) => `${command} -s NEWSFORK_${short ? "LEASE_SECONDS=33" : "ROBOTS_SECONDS=0"}`;
      await assertPatient("scrapy", commandOf, env);
    });

    test("says why a page is leased, and reports whether it changed", { timeout: 60_000 }, async () => {
      const spider = join(scratch, "why.py");
      writeFileSync(
        spider,
        `import scrapy


class Why(scrapy.Spider):
    name = "why"
    custom_settings = {"SCHEDULER": "newsfork.scrapy.Scheduler", "NEWSFORK_UNTIL_IDLE": True}

    def parse(self, response):
        yield response.meta["newsfork"]
`,
      );
      const items = join(scratch, "why.jsonl");
      await assertVisits("scrapy", `scrapy runspider ${spider} -o ${items}`, () => readLines(items), env);
    });
  },
);

const crawlee = existsSync(join(root, "examples/crawlee/node_modules"));
describe(
  "examples/crawlee",
  { skip: !crawlee && process.env.CI !== "true" && "Crawlee is not installed: run make packages" },
  () => {
    test("is sound TypeScript, and so are the types of the package", async () => {
      const tsc = "node node_modules/typescript/bin/tsc";
      const types = "--noEmit --strict --module nodenext --target es2022 --types node ../../clients/node/index.d.ts";
      const { code, output } = await run(`${tsc} && ${tsc} ${types}`, "crawlee", {});
      assert.equal(code, 0, output);
    });

    test("runs on Node 20, which knows no TypeScript", { timeout: 120_000 }, async () => {
      const engine = await playEngine([["/a"]], {});
      try {
        const command = commands("crawlee").find((line) => line.startsWith("node news.ts"));
        const [build, start] = command.split("# Node 20: ")[1].split(" && ");
        const node = process.env.NODE20 ?? "node --no-strip-types"; // a later one, as ignorant
        const env = {
          ...{ SEED_API_URL: engine.url, SEED_API_TOKEN: "", CRAWLEE_STORAGE_DIR: join(scratch, "node20") },
          ...{ http_proxy: engine.url, https_proxy: engine.url, no_proxy: "127.0.0.1" },
        };
        const line = `${build} && ${start.replace("node", node)} --until-idle`;
        const { code, output } = await run(line, "crawlee", env);
        assert.equal(code, 0, output);
        assert.deepEqual(
          engine.reports.flatMap(({ results }) => results).map(({ id, status }) => [id, status]),
          [["/a", 200]],
          output,
        );
      } finally {
        engine.close();
      }
    });

    test("fetches what there is, nothing forbidden, nothing early", { timeout: 480_000 }, async () => {
      const command = commands("crawlee").find((line) => line.includes("until-idle"));
      const storage = join(scratch, "storage");
      const result = await crawl({ example: "crawlee", command, env: { CRAWLEE_STORAGE_DIR: storage } });
      assertObedient(result);
      assertItems(readDataset(storage), result);
    });

    test("repeats what gets lost, reads robots.txt again, and stops in time", { timeout: 180_000 }, async () => {
      await assertPatient("crawlee", ({ short }) => {
        const options = { untilIdle: true, ...(short ? { leaseSeconds: 33 } : { robotsSeconds: 0 }) };
        const program = `
          import { CheerioCrawler } from "@crawlee/cheerio";
          import { Frontier } from "./frontier.ts";
          await new CheerioCrawler(new Frontier(${JSON.stringify(options)}).options(() => {})).run();`;
        return `node --input-type=module -e '${program}'`;
      });
    });

    test("says why a page is leased, and reports whether it changed", { timeout: 60_000 }, async () => {
      const storage = join(scratch, "why");
      const program = `
        import { CheerioCrawler } from "@crawlee/cheerio";
        import { Frontier } from "./frontier.ts";
        const options = new Frontier({ untilIdle: true }).options(({ request, pushData }) => pushData(request.userData.item));
        await new CheerioCrawler(options).run();`;
      const env = { CRAWLEE_STORAGE_DIR: storage };
      await assertVisits("crawlee", `node --input-type=module -e '${program}'`, () => readDataset(storage), env);
    });
  },
);

test(
  "three scrapers of three kinds side by side: each page once, nothing forbidden, nothing early",
  {
    timeout: HOUR ? 2 * 3_600_000 : 480_000,
    skip: !(scrapy && crawlee) && process.env.CI !== "true" && "run make packages",
  },
  async () => {
    const storage = join(scratch, "together");
    const items = { node: join(scratch, "node.jsonl"), scrapy: join(scratch, "scrapy.jsonl") };
    await Promise.all([installed(), built()]);
    // Each takes few hosts, so that all have some.
    const few = JSON.stringify({ hosts: 4, perHost: 1, untilIdle: true });
    const show = "({ url, title }) => console.log(JSON.stringify({ url, title }))";
    const forNode = `import { Frontier } from "newsfork"; await new Frontier(${few}).run(${show});`;
    const forCrawlee = `
      import { CheerioCrawler } from "@crawlee/cheerio";
      import { Frontier } from "./frontier.ts";
      const options = new Frontier(${few}).options(({ request, $, pushData, enqueueLinks }) =>
        pushData({ url: request.url, title: $("title").text() }).then(() => enqueueLinks({ strategy: "all" })));
      await new CheerioCrawler(options).run();`;
    const settings = "-s NEWSFORK_HOSTS=4 -s NEWSFORK_PER_HOST=1 -s NEWSFORK_UNTIL_IDLE=1";
    const result = await crawlTogether([
      {
        example: nodeDirectory,
        command: `node --input-type=module -e '${forNode}' > ${items.node}`,
        env: { NODE_TLS_REJECT_UNAUTHORIZED: "0" },
      },
      {
        example: "scrapy",
        command: `scrapy runspider news.py -o ${items.scrapy} ${settings}`,
        env: { PYTHONPATH: wheel },
      },
      {
        example: "crawlee",
        command: `node --input-type=module -e '${forCrawlee}'`,
        env: { CRAWLEE_STORAGE_DIR: storage },
      },
    ]);
    const output = result.runs.map((one) => one.output).join("\n");
    assertObedient({ ...result, output, code: Math.max(...result.runs.map((one) => one.code)) });
    const found = [readLines(items.node), readLines(items.scrapy), readDataset(storage)];
    for (const [i, run] of result.runs.entries()) {
      assertItems(found[i], run, "");
      // That of new-name.sg by http leads to that by https, so this is asked for twice; in an hour also what was not there.
      const again = ["new-name.sg", ...(HOUR ? ["old-name.sg", "refused-post.sg"] : [])];
      const once = run.robots.filter((url) => !again.includes(new URL(url).host));
      assert.deepEqual([...new Set(once)].sort(), once.sort(), "robots.txt once a host");
      assert.ok(!once.includes("https://www.mom.gov.sg/robots.txt"), "the engine's copy is used");
    }
  },
);

test(
  "idle is who finds nothing twice while nothing is collected or paused",
  { timeout: 120_000, skip: !hasPython && "run make packages" },
  async () => {
    const item = { id: "1", url: "https://late.example/", host: "late.example", domain: "late.example", kind: "page" };
    const page = { ...item, crawl_delay_seconds: 0, user_agent: "NewsforkBot/1.0", etag: null, last_modified: null };
    const paused = { kind: "pause", by: "main", reason: "a new disk" };
    // What the engine expects, in seconds, or that it is paused; a page that was put meanwhile; and how many domains are
    // collected, when asked.
    const play = async () => {
      const expected = [60, 60, 1, page, 60, paused, 60, 60];
      const collecting = [2, 0, 0, 0, 0, 0];
      const played = { expected, collecting, leases: [], status: [], leased: false };
      const server = createServer(async (request, response) => {
        const answer = (data) => response.end(JSON.stringify({ success: true, data }));
        if (request.method === "GET") {
          played.status.push(request.url);
          return answer({ processing_stats: { domains_pending: collecting.shift() } });
        }
        await json(request);
        // The scraper is done with the host a moment after its report.
        if (request.url.endsWith("/report")) setTimeout(() => (played.leased = false), 500);
        if (!request.url.endsWith("/lease")) return answer({ accepted: 1, added: 0 });
        const next = played.leased ? 1 : expected.shift(); // the host is leased
        if (next === page) played.leased = true;
        else if (!played.leased) played.leases.push([next, Date.now()]);
        const expires_at = new Date(Date.now() + 300_000).toISOString();
        const items = next === page ? [page] : [];
        const stopped_by = next === paused ? paused : null;
        answer({
          ...{ lease_id: "1", expires_at, items, stopped_by },
          retry_after_seconds: items.length ? null : stopped_by ? 60 : next,
        });
      });
      await new Promise((listening) => server.listen(0, "127.0.0.1", listening));
      return Object.assign(played, { url: `http://127.0.0.1:${server.address().port}`, close: () => server.close() });
    };
    const forPython = `
import sys
from email.message import Message
import newsfork
from newsfork.web import Answer
newsfork.Frontier(url=sys.argv[1], country="sg", until_idle=True, fetch=lambda *_: Answer(404, Message(), b"")).run()`;
    const [node, other] = [await play(), await play()];
    try {
      const { Frontier } = await import("../../clients/node/index.mjs");
      const fetch = async () => ({ status: 404, headers: {}, body: Buffer.alloc(0) });
      const log = [];
      const options = { url: node.url, country: "sg", untilIdle: true, signals: [], fetch };
      const env = { PYTHONPATH: join(root, "clients/python") };
      const [, ended] = await Promise.all([
        new Frontier({ ...options, log: (message) => log.push(message) }).run(),
        run(`${python} -c '${forPython}' ${other.url}`, "python", env),
      ]);
      assert.equal(ended.code, 0, ended.output);
      for (const [played, output] of [
        [node, log.join("\n")],
        [other, ended.output],
      ]) {
        assert.deepEqual([played.expected, played.collecting], [[], []], output);
        assert.ok(
          played.status.every((url) => url === "/api/v1/seeds/status?country=sg"),
          played.status,
        );
        assert.match(output, /^nothing to fetch for 60 s; domains that are being collected: 2$/m);
        assert.match(output, /^nothing to fetch for 60 s; operators keep it back: pause by main, a new disk$/m);
        assert.match(output, /^1 page reported, 0 new URLs found/m);
        assert.match(output, /^ended, for nothing is left now; .* the next come within minutes$/m);
        const [[, first], [, second]] = played.leases.slice(-2);
        assert.ok(second - first >= 9_900, `${second - first} ms`);
      }
    } finally {
      node.close();
      other.close();
    }
  },
);

test("the packages send the scraper's name", { timeout: 60_000, skip: !hasPython && "run make packages" }, async () => {
  const named = [];
  const engine = createServer((request, response) => {
    named.push(request.headers["x-scraper"]);
    response.end(JSON.stringify({ success: true, data: { items: [], retry_after_seconds: 60, released: 0 } }));
  });
  await new Promise((listening) => engine.listen(0, "127.0.0.1", listening));
  try {
    const url = `http://127.0.0.1:${engine.address().port}`;
    const { Engine } = await import("../../clients/node/index.mjs");
    await new Engine({ url, scraper: "node-1" }).lease({ max: 1, lease_seconds: 60 });
    const program = `import newsfork.engine as e; e.Engine("${url}", scraper="python-1").lease(max=1); e.Engine("${url}").lease(max=1)`;
    const env = { PYTHONPATH: join(root, "clients/python"), SEED_API_URL: url };
    const { code, output } = await run(`${python} -c '${program}'`, "python", env);
    assert.equal(code, 0, output);
    assert.deepEqual(named, ["node-1", "python-1", undefined]);
    if (!scrapy) return;
    await run("timeout -s INT 20 scrapy runspider news.py -s NEWSFORK_SCRAPER=scrapy-1", "scrapy", env);
    assert.ok(named.length > 3 && named.slice(3).every((name) => name === "scrapy-1"), JSON.stringify(named));
  } finally {
    engine.close();
  }
});

test(
  "a refused token and an engine that does not answer end a program with a line that names the setting",
  { timeout: 180_000, skip: !hasPython && "run make packages" },
  async () => {
    const refusals = {
      "": [401, "unauthorized", 'send the API token as "Authorization: Bearer …"'],
      wrong: [401, "unauthorized", "the token is not valid here; send the API_TOKEN, a SCRAPER_TOKEN to scrape"],
      reading: [403, "forbidden", "READ_TOKEN may only read; send SCRAPER_TOKEN or the API token"],
      naming: [400, "validation_failed", "send letters", "X-Scraper"],
    };
    const server = createServer((request, response) => {
      const [status, code, message, field = null] = refusals[(request.headers.authorization ?? "").slice(7)];
      response.writeHead(status).end(JSON.stringify({ success: false, error: { code, field, message } }));
    });
    await new Promise((listening) => server.listen(0, "127.0.0.1", listening));
    const url = `http://127.0.0.1:${server.address().port}`;
    const setting = "SEED_API_TOKEN, or the option token, must hold the engine's SCRAPER_TOKEN or API_TOKEN";
    const lines = {
      "": `${url}: lease refused with 401: no token was sent; ${setting}`,
      wrong: `${url}: lease refused with 401: the token is not valid here; ${setting}`,
      reading: `${url}: lease refused with 403: READ_TOKEN may only read; ${setting}`,
      naming: `${url}: lease refused with 400: X-Scraper send letters`,
    };
    const noProxy = { http_proxy: "", https_proxy: "", HTTP_PROXY: "", HTTPS_PROXY: "" };
    const env = { ...noProxy, PYTHONPATH: join(root, "clients/python"), SEED_API_URL: url };
    const programs = [
      ["node", "node ../../docs/scraper.mjs"],
      ["python", `${python} news.py`],
    ];
    const lastLine = (output) => output.trim().split("\n").at(-1);
    try {
      for (const [example, command] of programs)
        for (const [token, line] of Object.entries(lines)) {
          const { code, output } = await run(command, example, { ...env, SEED_API_TOKEN: token });
          assert.deepEqual([code, output], [1, `${line}\n`], command);
        }
      const wrong = { ...env, SEED_API_TOKEN: "wrong" };
      if (scrapy) {
        const { output } = await run("scrapy runspider news.py", "scrapy", wrong);
        assert.ok(output.includes(`[news] ERROR: ${lines.wrong}\n`), output);
        assert.doesNotMatch(output, /Traceback/);
      }
      if (crawlee) {
        const { code, output } = await run("NO_COLOR=1 node news.ts", "crawlee", {
          ...wrong,
          CRAWLEE_STORAGE_DIR: join(scratch, "refused"),
        });
        assert.ok(output.includes(lines.wrong), output);
        assert.doesNotMatch(output, /^ +at /m);
        assert.equal(code, 1, output);
      }

      // A program can catch it, and its own errors keep their stacks.
      const { Frontier, EngineError } = await import("../../clients/node/index.mjs");
      const refused = await new Frontier({ url, token: "wrong", signals: [] }).run().catch((error) => error);
      assert.ok(refused instanceof EngineError);
      assert.deepEqual([refused.status, refused.code, refused.message], [401, "unauthorized", lines.wrong]);
      const caught = `import newsfork
try:
    newsfork.Frontier("${url}", "wrong").run()
except newsfork.EngineError as error:
    print(error.status, error.code)
raise ValueError("of its own")`;
      const { output } = await run(`${python} -c '${caught}'`, "python", env);
      assert.match(output, /^401 unauthorized\nTraceback[^]*ValueError: of its own\n$/);

      // An engine that was never there is asked for 15 s. What is no address is not asked at all.
      server.close();
      await Promise.all(
        programs.map(async ([example, command]) => {
          const unreached = await run(command, example, wrong);
          const expected = `^${url} does not answer \\(.*refused.*\\); SEED_API_URL, or the option url, must be the engine's address$`;
          assert.match(lastLine(unreached.output), new RegExp(expected, "i"), unreached.output);
          assert.doesNotMatch(unreached.output, /^ +(at|File) /m);
          assert.equal(unreached.code, 1);
          const { code, output } = await run(command, example, { ...wrong, SEED_API_URL: "localhost:8787" });
          const expectedURL =
            "localhost:8787 is not an http or https URL; SEED_API_URL, or the option url, must be the engine's address";
          assert.deepEqual([code, output], [1, `${expectedURL}\n`]);
        }),
      );
    } finally {
      server.close();
    }
  },
);
