import assert from "node:assert/strict";
import { after, before, beforeEach, test } from "node:test";
import { fileURLToPath } from "node:url";
import { gunzipSync } from "node:zlib";
import { createTestHarness } from "wrangler";
import { contentOf } from "./origin.mjs";
import { sites } from "./sites.mjs";

const CONTROL = "https://control.sample.invalid";
const here = (name) => fileURLToPath(new URL(name, import.meta.url));

const server = createTestHarness({
  workers: [
    {
      config: {
        name: "caller",
        main: here("../../test/workers/webcaller.mjs"),
        compatibility_date: "2026-11-01",
        services: [{ binding: "EGRESS", service: "newsfork-sample-web" }],
      },
    },
    { configPath: here("wrangler.jsonc") },
  ],
});

before(() => server.listen());
after(() => server.close());
beforeEach(async () => {
  await control("DELETE", "/log");
  await control("DELETE", "/fault");
});

async function control(method, path, body) {
  const response = await server
    .getWorker("newsfork-sample-web")
    .fetch(CONTROL + path, { method, body: body && JSON.stringify(body) });
  const text = await response.text();
  return method === "GET" ? JSON.parse(text) : { status: response.status, text };
}

/** Fetches at once, all from one event. */
async function calls(...requests) {
  const body = JSON.stringify(requests.map((r) => (typeof r === "string" ? { url: r } : r)));
  return (await server.fetch("/", { method: "POST", body })).json();
}

const call = async (request) => (await calls(request))[0];
const bytes = (result) => Buffer.from(result.body, "latin1");
const count = (result, tag) => bytes(result).toString().split(tag).length - 1;

test("www.mom.gov.sg is the site of the example document", async () => {
  const [apex, robots, sitemap, home, feed] = await calls(
    "https://mom.gov.sg/robots.txt",
    "https://www.mom.gov.sg/robots.txt",
    "https://www.mom.gov.sg/sitemap.xml",
    "https://www.mom.gov.sg/",
    "https://www.mom.gov.sg/rss/press-releases.xml",
  );
  assert.deepEqual([apex.status, apex.headers.location], [301, "https://www.mom.gov.sg/robots.txt"]);

  assert.deepEqual([robots.status, bytes(robots).length], [200, 1024]);
  assert.equal(robots.headers.etag, '"5f3a"');
  assert.equal(new Date(robots.headers["last-modified"]).toISOString(), "2026-01-15T09:00:00.000Z");
  assert.equal(robots.headers.server, "nginx/1.18.0");
  assert.equal(robots.headers["content-encoding"], "gzip");
  assert.match(robots.body, /^Content-Signal: search=yes, ai-train=no$/m);
  assert.match(robots.body, /^Sitemap: https:\/\/www\.mom\.gov\.sg\/sitemap\.xml$/m);

  assert.deepEqual([sitemap.status, bytes(sitemap).length, count(sitemap, "<url>")], [200, 20480, 156]);
  assert.equal(sitemap.headers.etag, undefined);
  assert.equal(new Date(sitemap.headers["last-modified"]).toISOString(), "2026-01-20T14:30:00.000Z");
  const dates = sitemap.body.match(/(?<=<lastmod>)[^<]+/g).map((d) => new Date(d));
  assert.equal(new Date(Math.max(...dates)).toISOString(), "2026-01-20T14:30:00.000Z");

  assert.match(
    home.body,
    /<link rel="alternate" type="application\/rss\+xml" title="Press Releases" href="\/rss\/press-releases\.xml">/,
  );
  assert.equal(count(feed, "<item>"), 20);
  assert.match(feed.body, /<title>Press Releases<\/title>/);
  const published = feed.body.match(/(?<=<pubDate>)[^<]+/g).map((d) => new Date(d));
  assert.equal(new Date(Math.max(...published)).toISOString(), "2026-01-27T08:00:00.000Z");
});

test("every answer is the same bytes each time, and those of contentOf", async () => {
  const urls = Object.entries(sites).flatMap(([host, site]) =>
    Object.entries(site.paths ?? {})
      .filter(([, answer]) => answer.body && !answer.gzipFile && !answer.delay)
      .map(([path]) => `${site.https === "refused" ? "http" : "https"}://${host}${path}`),
  );
  assert.ok(urls.length > 70, `${urls.length} documents`);
  const faulty = new Set(
    Object.entries(sites).flatMap(([host, site]) => (site.faults ?? []).map((f) => host + f.path)),
  );
  for (const url of urls.filter((u) => !faulty.has(u.replace(/^https?:\/\//, "")))) {
    const [first, second] = await calls(url, url);
    assert.equal(first.body, second.body, url);
    assert.ok(bytes(first).equals(Buffer.from(contentOf(url))), url);
  }
});

test("what a document links to on its own host is a page, for GET and HEAD; other paths are not", async () => {
  const url = "https://www.mom.gov.sg/newsroom/press-releases/2026";
  const [got, head, none, query] = await calls(url, { url, method: "HEAD" }, `${url}/nothing`, `${url}?page=2`);
  assert.deepEqual([got.status, got.headers["content-type"]], [200, "text/html; charset=utf-8"]);
  assert.match(got.body, /<title>2026<\/title>/);
  assert.deepEqual([head.status, head.headers["content-type"], head.body], [200, "text/html; charset=utf-8", ""]);
  assert.deepEqual([none.status, query.status], [404, 404]);
});

test("compression follows Accept-Encoding; a gzip file stays compressed", async () => {
  const url = "https://www.mom.gov.sg/sitemap.xml";
  const [plain, coded] = await calls(
    { url, headers: { "accept-encoding": "identity" } },
    { url, headers: { "accept-encoding": "gzip, br" } },
  );
  assert.equal(plain.headers["content-encoding"], undefined);
  assert.equal(plain.headers["content-length"], "20480");
  assert.equal(coded.headers["content-encoding"], "gzip");
  assert.equal(plain.body, coded.body);

  const [file, mislabelled] = await calls(
    "https://merlion-post.com.sg/sitemap.xml.gz",
    "https://mislabelled.sg/sitemap.xml",
  );
  assert.equal(file.headers["content-type"], "application/gzip");
  assert.equal(mislabelled.headers["content-type"], "application/xml");
  for (const [result, urls] of [
    [file, 24],
    [mislabelled, 11],
  ]) {
    assert.equal(result.headers["content-encoding"], undefined);
    assert.equal(gunzipSync(bytes(result)).toString().split("<url>").length - 1, urls);
  }
});

test("a Korean site speaks EUC-KR", async () => {
  const [sitemap, home] = await calls("https://hanbit-sinmun.co.kr/sitemap-news.xml", "https://hanbit-sinmun.co.kr/");
  assert.match(new TextDecoder("euc-kr").decode(bytes(sitemap)), /encoding="EUC-KR"[^]*<news:title>정치 소식</);
  assert.equal(home.headers["content-type"], "text/html; charset=euc-kr");
  assert.match(new TextDecoder("euc-kr").decode(bytes(home)), /<title>한빛신문</);
});

test("a document that did not change is not sent again", async () => {
  const url = "https://www.mom.gov.sg/robots.txt";
  const statuses = await calls(
    { url, headers: { "if-none-match": '"5f3a"' } },
    { url, headers: { "if-none-match": '"5f3b"' } },
    { url, headers: { "if-modified-since": "Thu, 15 Jan 2026 09:00:00 GMT" } },
    { url, headers: { "if-modified-since": "Thu, 15 Jan 2026 08:59:59 GMT" } },
  );
  assert.deepEqual(
    statuses.map((r) => r.status),
    [304, 200, 304, 200],
  );
});

test("redirects, schemes and hosts that fail", async () => {
  const [http, www, privateAddress, refused, plain, unknown] = await calls(
    "http://ica.gov.sg/",
    "https://www.harbour-times.sg/sitemap_index.xml",
    "https://inward.sg/sitemap.xml",
    "https://plain-http.sg/",
    "http://plain-http.sg/",
    "https://moh.gov.sg/robots.txt",
  );
  assert.deepEqual([http.status, http.headers.location], [301, "https://ica.gov.sg/"]);
  assert.deepEqual([www.status, www.headers.location], [301, "https://harbour-times.sg/sitemap_index.xml"]);
  assert.deepEqual(
    [privateAddress.status, privateAddress.headers.location],
    [302, "http://169.254.169.254/latest/meta-data/"],
  );
  assert.deepEqual([refused.error, refused.message], ["Error", "connect ECONNREFUSED"]);
  assert.equal(plain.status, 200);
  assert.match(unknown.message, /ENOTFOUND moh\.gov\.sg/);

  const { requests } = await control("GET", "/log");
  assert.deepEqual(requests.map((r) => r.outcome).sort(), [200, 301, 301, 302, "failed", "unresolved"]);
});

test("the log lists which client asked for what, and how many at once", async () => {
  const url = "https://slowport.sg/";
  await calls(
    { url, headers: { "user-agent": "NewsforkBot/1.0" } },
    { url: `${url}robots.txt`, method: "HEAD" },
    "https://ica.gov.sg/",
  );
  const { requests } = await control("GET", "/log?host=slowport.sg");
  assert.deepEqual(
    requests.map(({ at, ...r }) => (assert.ok(Math.abs(Date.now() - at) < 60_000), r)),
    [
      { method: "GET", host: "slowport.sg", url, path: "/", user_agent: "NewsforkBot/1.0", open: 1, outcome: 200 },
      {
        method: "HEAD",
        host: "slowport.sg",
        url: `${url}robots.txt`,
        path: "/robots.txt",
        user_agent: null,
        open: 2,
        outcome: 200,
      },
    ],
  );
  assert.equal((await control("GET", "/log")).requests.length, 3);

  // A request that was given up no longer counts as under way.
  const given = await call({ url: "https://silent-harbour.sg/", timeout: 100 });
  assert.equal(given.error, "TimeoutError");
  await call({ url: "https://silent-harbour.sg/robots.txt", timeout: 100 });
  const abandoned = (await control("GET", "/log?host=silent-harbour.sg")).requests;
  assert.deepEqual(
    abandoned.map((r) => [r.open, r.outcome]),
    [
      [1, "aborted"],
      [1, "aborted"],
    ],
  );

  await control("DELETE", "/log");
  assert.deepEqual(await control("GET", "/log"), { requests: [] });
});

test("each fault does what it says, on its path and as often as asked", async () => {
  const url = "https://ica.gov.sg/sitemap.xml";
  const whole = Buffer.from(contentOf(url)).toString();
  const meet = async (fault, request) => {
    assert.deepEqual(
      await control("POST", "/fault", { host: "ica.gov.sg", path: "/sitemap.xml", times: 1, ...fault }),
      { status: 204, text: "" },
    );
    const result = await call({ url, timeout: 300, ...request });
    assert.equal((await call(url)).body, whole, `after ${fault.mode}`);
    return result;
  };
  assert.equal((await meet({ mode: "hang" })).error, "TimeoutError");
  assert.equal((await meet({ mode: "refuse" })).message, "connect ECONNREFUSED");
  assert.equal((await meet({ mode: "reset" })).message, "read ECONNRESET");
  assert.equal((await meet({ mode: "cut" })).message, "read ECONNRESET");
  assert.equal((await meet({ mode: "stall" })).error, "TimeoutError");
  assert.equal((await meet({ mode: "slow", ms: 1000 })).error, "TimeoutError");
  assert.equal((await meet({ mode: "slow", ms: 50 })).body, whole);
  const { status, headers } = await meet({ mode: "status", status: 503, retry_after: 2 });
  assert.deepEqual([status, headers["retry-after"]], [503, "2"]);
  const flood = await meet({ mode: "flood" }, { timeout: 5000, limit: 1_000_000 });
  assert.ok(flood.body.length > 1_000_000);

  await control("POST", "/fault", { host: "*", mode: "status", status: 418 });
  const both = await calls("https://ica.gov.sg/", "https://boribat.co.kr/robots.txt");
  assert.deepEqual(
    both.map((r) => r.status),
    [418, 418],
  );
  await control("DELETE", "/fault");
  assert.equal((await call("https://ica.gov.sg/")).status, 200);
});

test("sites have faults of their own: flaky-wire.sg recovers, badak.or.kr does not", async () => {
  const robots = { url: "https://flaky-wire.sg/robots.txt" };
  assert.deepEqual([(await call(robots)).status, (await call(robots)).status], [503, 200]);
  const sitemap = { url: "https://badak.or.kr/sitemap.xml" };
  assert.deepEqual([(await call(sitemap)).error, (await call(sitemap)).error], ["Error", "Error"]);
});

test("a wrong request to the control host is answered with what to send", async () => {
  for (const [fault, message] of [
    [undefined, "send one JSON object"],
    [{ host: "nowhere.sg", mode: "hang" }, "host: nowhere.sg is not a site"],
    [{ host: "*", mode: "toString" }, "mode: send one of hang, refuse"],
    [{ host: "*", mode: "slow" }, "ms: send a whole number"],
    [{ host: "*", mode: "status", status: "503" }, "status: send a whole number"],
    [{ host: "*", mode: "hang", times: 0 }, "times: send at least 1"],
  ]) {
    const { status, text } = await control("POST", "/fault", fault);
    assert.equal(status, 400);
    assert.ok(text.startsWith(message), text);
  }
  assert.equal((await control("PUT", "/log")).status, 404);
});
