// The engine refreshes by itself on workerd: the alarm of a shard queues due refreshes, and new URLs appear in the
// feed. Intervals are in seconds here.
import assert from "node:assert/strict";
import { after, before, describe, test } from "node:test";
import { setTimeout as sleep } from "node:timers/promises";
import { domainMessage, partition, prod, quick, startEngine, until } from "./engine.mjs";

const least = 2; // seconds between two refreshes of an entry point
const most = 4;

describe("a site that publishes, and one that does not", () => {
  let engine;
  const live = "daily-press.sg"; // publishes four articles a second
  const still = "still-gazette.sg";

  before(async () => {
    engine = await startEngine({
      vars: { ...quick, MIN_REFRESH_SECONDS: String(least), MAX_REFRESH_SECONDS: String(most) },
    });
  });
  after(() => engine?.close());

  const page = async (path) => {
    const answer = await engine.api("GET", path);
    assert.equal(answer.status, 200, JSON.stringify(answer));
    return answer.data;
  };

  test("200 articles are in the feed, each once and soon, though refreshes are delivered twice", async () => {
    const result = await engine.deliver(
      "newsfork-domain-dev",
      [live, still].map((d) => ({ id: d, body: domainMessage(d, [`https://${d}/`]) })),
    );
    assert.equal(result.acked.length, 2, JSON.stringify(result));

    const found = new Map(); // items by URL
    let cursor = "";
    let more = true; // after a full page: a refresh lists its articles newest first
    for (const began = Date.now(); found.size < 200 || more; await sleep(250)) {
      assert.ok(Date.now() - began < 240_000, `${found.size} articles were found in four minutes`);
      const next = await page(`/api/v1/feed?limit=20&cursor=${cursor}`);
      more = next.items.length === 20;
      for (const item of next.items) {
        assert.ok(!found.has(item.url), `${item.url} is in the feed twice`);
        found.set(item.url, item);
      }
      if (next.items.length > 0 && found.size % 7 === 0) {
        const { domain, partition_info } = next.items[0];
        await engine.env.DOMAIN_QUEUE.send({
          refresh: { domain, url: `https://${domain}/feed.xml`, method: "rss", partition_info, queued_at: Date.now() },
        });
      }
      assert.ok(next.next_cursor);
      cursor = next.next_cursor;
    }

    const late = [];
    for (const item of found.values()) {
      assert.match(item.url, /^https:\/\/daily-press\.sg\/news\/article-\d+$/);
      assert.deepEqual(
        [item.domain, item.host, item.type, item.found_by, item.partition_info],
        [live, live, "news", "feed", partition],
      );
      assert.match(item.title, /^Article \d+$/);
      late.push(Date.parse(item.found_at) - Date.parse(item.lastmod));
    }
    const numbers = [...found.keys()].map((url) => Number(url.split("-").pop())).sort((a, b) => a - b);
    assert.deepEqual(
      numbers,
      numbers.map((_, i) => numbers[0] + i),
      "no article is missing",
    );
    late.sort((a, b) => a - b);
    const median = late[late.length >> 1];
    // Two intervals, a second until the alarm, and one or two in the queue.
    assert.ok(median < 2000 * most + 4000, `half of the articles were found more than ${median} ms late`);
    assert.deepEqual(await engine.keys("dlq/"), []);
  });

  test("the other site is fetched conditionally and less and less often", async () => {
    const { requests } = await engine.control("GET", `/log?host=${still}`);
    const asked = requests.filter((r) => r.path === "/feed.xml");
    const answers = asked.map((r) => r.outcome);
    assert.ok(answers.filter((status) => status === 304).length >= 2, JSON.stringify(answers));
    const feed = await page(`/api/v1/feed?limit=200`);
    assert.ok(!feed.items.some((item) => item.domain === still));
  });

  test("changes name both contracts in their newest revision", async () => {
    for (const domain of [live, still]) {
      let [mine, revision] = [[], 0];
      for (let tries = 0; tries < 20 && mine[0]?.revision !== revision; tries++) {
        await sleep(tries && 500); // it might be rewritten between the two requests
        mine = (await page("/api/v1/seeds/changes")).items.filter((c) => c.domain === domain);
        assert.equal(mine.length, 1, JSON.stringify(mine));
        assert.equal(mine[0].key, prod(domain));
        ({ revision } = await engine.json(prod(domain)));
      }
      assert.equal(mine[0].revision, revision);
    }
  });

  test("nothing is fetched while the pipeline is paused", async () => {
    assert.equal((await engine.api("POST", "/api/v1/pipeline/pause", {})).status, 200);
    await sleep(3000); // requests under way end
    const before = (await engine.control("GET", "/log")).requests.length;
    await sleep(3 * most * 1000);
    assert.equal((await engine.control("GET", "/log")).requests.length, before);
    assert.equal((await engine.api("POST", "/api/v1/pipeline/resume")).status, 200);
    await until(
      async () => (await engine.control("GET", "/log")).requests.length > before,
      "a request after the pause",
    );
  });
});
