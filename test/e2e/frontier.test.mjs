// The frontier over HTTP on workerd: scrapers that lease, fetch from the sample web and report, many of them at
// once, and hostile callers.
import assert from "node:assert/strict";
import { after, before, describe, test } from "node:test";
import { domainMessage, partition, prod, quick, startEngine, until } from "./engine.mjs";

const tokens = { API_TOKEN: "the-api-token", SCRAPER_TOKEN: "the-scraper-token", READ_TOKEN: "the-read-token" };

describe("the frontier over HTTP", () => {
  let engine;

  /** Calls the frontier with a token. Returns status, headers, data and error. */
  const ask = (token, method, path, body, headers = {}) =>
    engine.api(method, `/api/v1/frontier/${path}`, body, {
      ...(token && { authorization: `Bearer ${token}` }),
      ...headers,
    });
  const operator = async (method, path, body) => {
    const answer = await ask(tokens.API_TOKEN, method, path, body);
    assert.equal(answer.status, 200, JSON.stringify(answer));
    return answer.data;
  };
  const scraper = async (path, body) => {
    const answer = await ask(tokens.SCRAPER_TOKEN, "POST", path, body);
    assert.equal(answer.status, 200, JSON.stringify(answer));
    return answer.data;
  };
  const put = (urls) => operator("POST", "urls", { urls: urls.map((url) => ({ url })), partition_info: partition });

  before(async () => {
    engine = await startEngine({ vars: { ...quick, ...tokens } });
  });
  after(() => engine?.close());

  test("found pages are leased, fetched and reported, and so are the pages they link to", async () => {
    const domains = ["ica.gov.sg", "www.gov.sg"];
    const result = await engine.deliver(
      "newsfork-domain-dev",
      domains.map((d) => ({ id: d, body: domainMessage(d, [`https://${d}/`]) })),
    );
    assert.equal(result.acked.length, domains.length, JSON.stringify(result));
    const listed = (await engine.text(prod("ica.gov.sg", "sitemap.xml"))).match(/(?<=<loc>)[^<]+/g);
    assert.ok(listed.length >= 9);

    const { country, category, date } = partition;
    const everything = await engine.api(
      "GET",
      `/api/v1/seeds/domains/ica.gov.sg/urls?partition=${country}/${category}/${date}`,
      undefined,
      { authorization: `Bearer ${tokens.READ_TOKEN}` },
    );
    assert.equal(everything.status, 200, JSON.stringify(everything));
    assert.deepEqual([everything.data.urls_omitted, everything.data.unavailable], [0, []]);
    assert.deepEqual(
      everything.data.urls.map((u) => u.url).sort(),
      [...listed, "https://ica.gov.sg/"].sort(),
      "everything that is stored of the domain",
    );

    const leased = new Map(); // round of the lease, by URL
    const foundIn = new Map(); // round in which a page linked to it, by URL
    for (let round = 1; ; round++) {
      assert.ok(round < 100, "there is no end to it");
      const lease = await scraper("lease", { max: 20, lease_seconds: 60, per_host: 5 });
      if (lease.items.length === 0) {
        assert.ok(lease.retry_after_seconds >= 1);
        assert.equal((await operator("GET", "stats")).urls, 0, "everything is reported, and yet nothing is given out");
        break;
      }
      const results = [];
      for (const item of lease.items) {
        assert.ok(!leased.has(item.url), `${item.url} came twice`);
        leased.set(item.url, round);
        assert.deepEqual(item.partition_info, partition);
        const answer = await engine.web.fetch(item.url, {
          redirect: "manual",
          headers: { "user-agent": item.user_agent },
        });
        const text = await answer.text();
        const urls = [...text.matchAll(/<a href="([^"]+)"/g)].map(([, href]) => ({
          url: new URL(href, item.url).href,
        }));
        // One page per round links to a new page that is on no list.
        if (item === lease.items[0] && round < 4)
          urls.push({ url: `https://${item.host}/found/${round}`, title: "Found" });
        for (const { url } of urls) if (!foundIn.has(url)) foundIn.set(url, round);
        results.push({ id: item.id, status: answer.status, fetched_at: new Date().toISOString(), urls });
      }
      const reported = await scraper("report", { lease_id: lease.lease_id, results });
      assert.deepEqual([reported.accepted, reported.unknown], [results.length, 0]);
      const again = await scraper("report", { lease_id: lease.lease_id, results });
      assert.deepEqual([again.accepted, again.unknown, again.added], [results.length, 0, 0], "reported twice");
    }
    for (const url of listed) assert.ok(leased.has(url), `${url} of the sitemap was never leased`);
    for (const round of [1, 2, 3]) {
      const [url] = [...foundIn].find(([url]) => url.endsWith(`/found/${round}`)) ?? [];
      if (url)
        assert.ok(leased.get(url) > round, `${url} was found in round ${round} and leased in ${leased.get(url)}`);
    }
    assert.ok([...foundIn.keys()].some((url) => url.endsWith("/found/1")));
    const stats = await operator("GET", "stats");
    assert.deepEqual([stats.leased, stats.urls, stats.done + stats.failed], [0, 0, leased.size]);
    assert.equal(stats.shards.length, 16);
    assert.deepEqual(stats.unavailable, []);
    for (const [url, state] of [
      [listed[0], "fetched"],
      ["https://ica.gov.sg/never-seen", "unknown"],
    ])
      assert.equal((await operator("GET", `url?url=${encodeURIComponent(url)}`)).state, state, url);
  });

  test("fifty concurrent leases have disjoint items of disjoint hosts", async () => {
    const hosts = Array.from({ length: 120 }, (_, i) => `crowd${i}.example`);
    const added = await put(hosts.flatMap((host) => [1, 2, 3].map((n) => `https://www.${host}/news/${n}`)));
    assert.deepEqual(added, { accepted: 360, duplicates: 0, rejected: [] });
    const leases = await Promise.all(
      Array.from({ length: 50 }, () => scraper("lease", { max: 4, lease_seconds: 120 })),
    );
    const items = leases.flatMap((lease) => lease.items);
    assert.equal(new Set(items.map((item) => item.host)).size, items.length, "a host was given out twice");
    assert.equal(new Set(items.map((item) => item.id)).size, items.length);
    assert.equal(items.length, hosts.length, "hosts are left that nobody was given");
    for (const lease of leases) assert.equal(lease.items.length > 0, lease.lease_id !== null);

    // All report at once, each twice, and also items of other leases.
    const taken = leases.filter((lease) => lease.items.length > 0);
    const report = (lease, of = lease) =>
      scraper("report", { lease_id: lease.lease_id, results: of.items.map(({ id }) => ({ id, status: 200 })) });
    const foreign = await Promise.all(taken.map((lease, i) => report(lease, taken[(i + 1) % taken.length])));
    assert.equal(
      foreign.reduce((sum, r) => sum + r.accepted + r.added, 0),
      0,
      "another's items were taken",
    );
    const own = await Promise.all([...taken, ...taken].map((lease) => report(lease)));
    assert.equal(
      own.reduce((sum, r) => sum + r.unknown, 0),
      0,
    );
    const stats = await operator("GET", "stats");
    assert.deepEqual([stats.leased, stats.urls], [0, 240]);
  });

  test("operators block a host, slow it down, empty it, and export its shard", async () => {
    await put(["https://busy.example/1", "https://busy.example/2", "https://busy.example/3"]);
    const soon = new Date(Date.now() + 60_000).toISOString();
    assert.deepEqual(await operator("POST", "hosts/busy.example", { block_until: soon, delay_seconds: 7 }), {
      host: "busy.example",
    });
    const { hosts } = await operator("GET", "hosts?blocked=true");
    assert.deepEqual(
      hosts.map((h) => [h.host, h.urls, h.delay_seconds]),
      [["busy.example", 3, 7]],
    );
    await operator("POST", "hosts/busy.example", { block_until: null, empty: true });
    assert.equal((await operator("GET", "url?url=https://busy.example/2")).state, "gone");
    const seen = new Set();
    for (const { name } of (await operator("GET", "stats")).shards)
      for (let cursor = ""; cursor !== null;) {
        const page = await operator("GET", `shards/${name}/export?cursor=${cursor}`);
        for (const h of page.snapshot.hosts) seen.add(h.host);
        cursor = page.next_cursor;
      }
    assert.ok(seen.has("busy.example") && seen.has("www.crowd7.example") && seen.size > 120);
  });

  test("hostile callers change nothing", async () => {
    const before = await operator("GET", "stats");
    for (const [token, method, path, body, status] of [
      [null, "POST", "lease", { max: 1, lease_seconds: 60 }, 401],
      ["guessed", "POST", "lease", { max: 1, lease_seconds: 60 }, 401],
      [tokens.READ_TOKEN, "POST", "urls", { urls: [{ url: "https://evil.example/" }], partition_info: partition }, 403],
      [tokens.READ_TOKEN, "POST", "hosts/www.crowd1.example", { empty: true }, 403],
      [tokens.READ_TOKEN, "GET", "shards/shard-0/export", undefined, 403],
      [tokens.READ_TOKEN, "POST", "restore", {}, 403],
      [tokens.READ_TOKEN, "POST", "lease", { max: 1, lease_seconds: 60 }, 403],
      [tokens.READ_TOKEN, "POST", "report", { lease_id: "0.1", results: [] }, 403],
      [tokens.SCRAPER_TOKEN, "DELETE", "lease", undefined, 405],
      [tokens.SCRAPER_TOKEN, "POST", "lease", "[".repeat(60_000), 400],
      [tokens.SCRAPER_TOKEN, "POST", "lease", " ".repeat(65_537), 413],
      [tokens.SCRAPER_TOKEN, "POST", "lease", { max: 1e9, lease_seconds: 60 }, 400],
      [tokens.SCRAPER_TOKEN, "POST", "report", " ".repeat((1 << 20) + 1), 413],
      [tokens.SCRAPER_TOKEN, "POST", "report", `{"lease_id":"0.1","results":${"[".repeat(500_000)}`, 400],
      [
        tokens.SCRAPER_TOKEN,
        "POST",
        "report",
        { lease_id: "0.1", results: Array(501).fill({ id: "a", status: 200 }) },
        400,
      ],
      [tokens.READ_TOKEN, "GET", `url?url=${encodeURIComponent("javascript:alert(1)")}`, undefined, 400],
      [tokens.READ_TOKEN, "GET", `url?url=https://a.example/${"x".repeat(9000)}`, undefined, 400],
      [tokens.READ_TOKEN, "GET", "hosts?cursor=W10", undefined, 400],
      [tokens.API_TOKEN, "GET", "shards/shard-16/export", undefined, 404],
      [tokens.API_TOKEN, "POST", "hosts/..%2F..", { empty: true }, 400],
    ]) {
      const answer = await ask(token, method, path, body);
      assert.equal(answer.status, status, `${method} ${path.slice(0, 50)}: ${JSON.stringify(answer.error)}`);
      assert.ok(!JSON.stringify(answer).includes("the-api-token"));
    }

    const ids = [
      "0",
      "0.",
      "0.0",
      "0.1.",
      "-1.1.1",
      "99999999999999999999.1.1",
      "0.zzzzzzzzzzzzzzzz.0000000001-000000000001",
      "'; DROP TABLE hosts; --",
      "\u0000",
      "\ud800",
      "한국",
    ];
    const bogus = await scraper("report", {
      lease_id: ids.join(","),
      results: ids.map((id) => ({ id, status: 200, urls: [{ url: "https://evil.example/" }] })),
    });
    assert.deepEqual([bogus.accepted, bogus.late, bogus.unknown, bogus.added], [0, 0, ids.length, 0]);
    assert.ok(bogus.results.every(({ outcome }) => outcome === "unknown"));

    // A leased page with all kinds of links: invalid URLs are dropped, the others are queued as text.
    const { lease_id, items } = await scraper("lease", { max: 1, lease_seconds: 60, country: "sg" });
    const reported = await scraper("report", {
      lease_id,
      results: [
        {
          id: items[0].id,
          status: 200,
          redirected_to: "file:///etc/passwd",
          etag: "x".repeat(10_000),
          urls: [
            {
              url: "https://crowd0.example/');DROP/**/TABLE/**/hosts;--",
              title: "\u0000\u202e<script>" + "x".repeat(5000),
            },
            { url: "http://127.0.0.1/" },
            { url: "http://[::1]/" },
            { url: "http://localhost/" },
            { url: "gopher://crowd0.example/" },
            { url: "https://user:password@crowd0.example/secret" },
            { url: `https://crowd0.example/${"x".repeat(3000)}` },
          ],
        },
      ],
    });
    assert.equal(reported.accepted, 1);
    assert.ok(reported.added >= 1 && reported.added <= 2, JSON.stringify(reported));

    // Many large reports at once: the engine takes those for which it has memory, and the others when they come again.
    const large = JSON.stringify({
      lease_id: "0.1",
      results: Array.from({ length: 500 }, (_, i) => ({
        id: `0.1.${i}`,
        status: 200,
        redirected_to: "x".repeat(1900),
      })),
    });
    assert.ok(large.length > 900_000);
    const answers = await Promise.all(
      Array.from({ length: 12 }, () => ask(tokens.SCRAPER_TOKEN, "POST", "report", large)),
    );
    const refused = answers.filter(({ status }) => status === 503);
    assert.ok(refused.length < answers.length);
    for (const { error } of refused) assert.deepEqual([error.code, /no memory/.test(error.message)], ["busy", true]);
    const later = [];
    while (later.length < refused.length) later.push(await ask(tokens.SCRAPER_TOKEN, "POST", "report", large));
    for (const answer of [...answers.filter((one) => !refused.includes(one)), ...later])
      assert.deepEqual(
        [answer.data?.accepted, answer.data?.unknown, answer.data?.added],
        [0, 500, 0],
        JSON.stringify(answer.error),
      );

    const stats = await operator("GET", "stats");
    assert.deepEqual(stats.unavailable, []);
    assert.equal(stats.done, before.done + 1);
    assert.equal(stats.urls, before.urls - 1 + reported.added);
    assert.deepEqual(engine.events("handler_failed"), []);
    assert.deepEqual(engine.events("object_failed"), []);
  });

  test("while the pipeline is paused scrapers get nothing", async () => {
    const pipeline = (verb) =>
      engine.api("POST", `/api/v1/pipeline/${verb}`, {}, { authorization: `Bearer ${tokens.API_TOKEN}` });
    const { paused, since, by } = (await pipeline("pause")).data;
    assert.equal(paused, true);
    const none = await scraper("lease", { max: 10, lease_seconds: 60 });
    const stopped_by = { kind: "pause", rule: null, by, reason: null, since, until: null };
    assert.deepEqual(none, {
      lease_id: null,
      expires_at: null,
      items: [],
      hosts: {},
      retry_after_seconds: 60,
      stopped_by,
    });
    assert.equal((await pipeline("resume")).data.paused, false);
    await until(async () => {
      const { items, retry_after_seconds } = await scraper("lease", { max: 10, lease_seconds: 60 });
      if (items.length > 0) return true;
      assert.ok(retry_after_seconds <= 5, "pages wait, so it is worth asking soon");
      return false;
    }, "pages after the pause");
  });
});
