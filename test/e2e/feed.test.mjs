// The feed and the changes as followers read them from the Worker, while others write, a shard is frozen, and writes to R2
// fail. That nothing is left out over ten thousand pages is tested in frontier/.
import assert from "node:assert/strict";
import { join } from "node:path";
import { after, before, test } from "node:test";
import { domainMessage, partition, prod, quick, root, startEngine, until } from "./engine.mjs";

let engine;
before(async () => {
  engine = await startEngine({
    vars: { ...quick, FRONTIER_SHARDS: "4" },
    change: (config) => ({ ...config, main: join(root, "test/workers/shards.mjs") }),
  });
});
after(() => engine?.close());

/** A follower of a list. Each entry must appear once. */
class Follower {
  cursor = "";
  pages = 0;

  constructor(path, take) {
    Object.assign(this, { path, take });
  }

  async next(limit) {
    const { status, data, error } = await engine.api("GET", `${this.path}?limit=${limit}&cursor=${this.cursor}`);
    assert.equal(status, 200, JSON.stringify(error));
    assert.equal(data.expired, false);
    for (const item of data.items) this.take(item);
    this.cursor = data.next_cursor;
    this.pages++;
    return data;
  }

  async end() {
    while ((await this.next(200)).has_more);
  }
}

const inside = (path, method = "POST", body = "{}") =>
  engine.worker.fetch(`https://inside.invalid/${path}`, { method, body });

// The shard that has a URL.
async function shardOf(url) {
  for (const name of ["shard-0", "shard-1", "shard-2", "shard-3"]) {
    const { answer } = await (await inside(`${name}/url`, "POST", JSON.stringify({ URL: url }))).json();
    if (answer && answer.State !== "unknown") return name;
  }
  throw new Error(`no shard has ${url}`);
}

test("pages are read to the end while others write: nothing is missing or repeated", async () => {
  const pages = 250;
  const found = new Set();
  const revisions = new Map(); // revisions read so far
  const feed = new Follower("/api/v1/feed", ({ url }) => {
    assert.ok(!found.has(url), `${url} came twice`);
    found.add(url);
  });
  const changes = new Follower("/api/v1/seeds/changes", ({ domain, revision }) => {
    assert.ok(revision > (revisions.get(domain) ?? 0), `${domain}: ${revision} after ${revisions.get(domain)}`);
    revisions.set(domain, revision);
  });

  const written = new Set();
  const newest = new Map();
  let reading = true;
  async function write(writer) {
    for (let n = 0; reading; n++) {
      if (written.size - found.size > 60) {
        await new Promise((resolve) => setTimeout(resolve, 20));
        continue;
      }
      const domain = `press-${writer}-${n % 5}.sg`;
      const lastmod = new Date().toISOString();
      const urls = [0, 1, 2].map((i) => ({ url: `https://${domain}/news/${n}-${i}`, lastmod }));
      const put = { urls: [...urls, urls[0]], partition_info: partition };
      const answer = await engine.api("POST", "/api/v1/frontier/urls", put);
      assert.equal(answer.status, 200, JSON.stringify(answer));
      for (const { url } of urls) written.add(url);
      const revision = (newest.get(domain) ?? 0) + 1;
      const change = { Domain: domain, Changes: [{ Partition: partition, Revision: revision, ChangedAt: Date.now() }] };
      const { error } = await (
        await inside(`${await shardOf(urls[0].url)}/changed`, "POST", JSON.stringify(change))
      ).json();
      assert.equal(error, undefined);
      newest.set(domain, revision);
    }
  }
  const writers = [1, 2].map(write);
  try {
    while (feed.pages < pages) await Promise.all([feed.next(1 + (feed.pages % 5)), changes.next(1 + (feed.pages % 5))]);
  } finally {
    reading = false;
  }
  await Promise.all(writers);
  await Promise.all([feed.end(), changes.end()]);
  assert.deepEqual([...found].sort(), [...written].sort());
  assert.deepEqual([...revisions].sort(), [...newest].sort());
  assert.ok(found.size > pages, `${found.size} URLs`);
});

test("a frozen shard is named, and its entries appear once it answers again", async () => {
  const found = [];
  const feed = new Follower("/api/v1/feed", ({ url }) => found.push(url));
  await feed.end();
  const before = found.length;
  const urls = Array.from({ length: 24 }, (_, n) => ({
    url: `https://frozen-${n}.sg/news/1`,
    lastmod: new Date().toISOString(),
  }));
  assert.equal(
    (await engine.api("POST", "/api/v1/frontier/urls", { urls, partition_info: partition })).data.accepted,
    24,
  );
  await inside("shard-1/freeze");
  const page = await feed.next(200);
  assert.deepEqual(page.unavailable, ["shard-1"]);
  const without = found.length - before;
  assert.ok(without > 0 && without < 24, `${without} URLs`);
  const lines = await engine.worker.fetch(`/api/v1/feed?cursor=${feed.cursor}`, {
    headers: { accept: "application/x-ndjson" },
  });
  assert.deepEqual([lines.headers.get("x-unavailable-shards"), await lines.text()], ["shard-1", ""]);
  await inside("shard-1/thaw");
  assert.deepEqual((await feed.next(200)).unavailable, []);
  assert.deepEqual(found.slice(before).sort(), urls.map(({ url }) => url).sort());
});

test("a collection whose document was not written is repeated, and its URLs are in the feed once", async () => {
  const domain = "daily-press.sg"; // has published before it is collected
  const found = [];
  const feed = new Follower("/api/v1/feed", (item) => item.domain === domain && found.push(item));
  await feed.end();
  await inside(`lose?n=100&end=${domain}/domain_metadata.json`, "PUT");
  const message = { id: domain, body: domainMessage(domain, [`https://${domain}/`]) };
  const first = await engine.deliver("newsfork-domain-dev", [message]);
  assert.equal(first.acked.length, 0, JSON.stringify(first));
  await feed.end();
  const early = found.length;
  assert.ok(early > 0, "what was found is in the feed before there is a document");
  assert.equal(await engine.json(prod(domain)), null);
  await inside("lose?n=0&end=", "PUT");
  for (let twice = 0; twice < 2; twice++) {
    const again = await engine.deliver("newsfork-domain-dev", [{ ...message, attempts: 2 + twice }]);
    assert.equal(again.acked.length, 1, JSON.stringify(again));
  }
  assert.ok(await engine.json(prod(domain)));
  await feed.end();
  const urls = found.map(({ url }) => url);
  assert.equal(new Set(urls).size, urls.length);
  const changes = await until(
    async () =>
      (await engine.api("GET", "/api/v1/seeds/changes?limit=200")).data.items.filter((c) => c.domain === domain),
    "the change",
  );
  assert.equal(changes.length, 1);
});
