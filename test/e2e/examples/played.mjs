// An engine that is played, whose answers get lost, and what every scraper does then.
import assert from "node:assert/strict";
import { createServer } from "node:http";
import { join } from "node:path";
import { json } from "node:stream/consumers";
import { until } from "../engine.mjs";
import { run, scratch } from "./run.mjs";

/** A fake engine with scripted answers, and the proxy to the one site that it leases. */
export async function playEngine(
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
export async function assertPatient(example, commandOf, env = {}) {
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
export async function assertVisits(example, command, received, env = {}) {
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
