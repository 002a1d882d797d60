// New URLs as the Worker's cron posts them to the feed's webhook, and the receiver of docs/feed.md. engine/ tests
// retries and that nothing is lost.
import assert from "node:assert/strict";
import { spawn } from "node:child_process";
import { createHmac } from "node:crypto";
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, before, test } from "node:test";
import { freePort } from "../../sample/local.mjs";
import { partition, quick, root, startEngine, until } from "./engine.mjs";

const secret = "the-secret-of-these-tests";
const web = {
  name: "receiver",
  main: `${root}/test/workers/receiver.mjs`,
  compatibility_date: "2026-11-01",
  no_bundle: true,
};

let engine;
before(async () => {
  const vars = { ...quick, FEED_WEBHOOK_URL: "https://receiver.invalid/new", FEED_WEBHOOK_SECRET: secret };
  engine = await startEngine({ web, vars });
});
after(() => engine?.close());

const tell = async (doing) =>
  (await engine.web.fetch(`https://control.invalid/?do=${doing}`, { method: "PUT" })).json();

let written = 0;
async function write(n) {
  const urls = Array.from({ length: n }, () => ({
    url: `https://press-${written % 7}.sg/news/${written++}`,
    lastmod: new Date().toISOString(),
  }));
  const answer = await engine.api("POST", "/api/v1/frontier/urls", { urls, partition_info: partition });
  assert.equal(answer.data?.accepted, n, JSON.stringify(answer));
}

// Runs the cron as if the pause after a failure had passed.
async function run() {
  await engine.rows("UPDATE feed_delivery SET next_at = 0");
  const { outcome } = await engine.worker.scheduled({ cron: "* * * * *", scheduledTime: new Date() });
  assert.equal(outcome, "ok");
}

test("a receiver that fails in any way gets the same delivery again, and everything once", async () => {
  await write(130);
  const tried = [];
  for (const doing of ["fail", "reset", "redirect", "hang"]) {
    await tell(doing);
    const began = Date.now();
    await run();
    assert.ok(Date.now() - began < 13_000, `${doing}: ${Date.now() - began} ms`);
    const posted = await tell("take");
    assert.equal(posted.length, 1, `${doing}: ${posted.length} posts`);
    tried.push(posted[0]);
  }
  assert.deepEqual([...new Set(tried.map((p) => p.host))], ["receiver.invalid"], "a redirect was followed");
  assert.equal(new Set(tried.map((p) => p.body)).size, 1);
  const [state] = await engine.rows("SELECT failures, failing_since > 0 AS failing FROM feed_delivery");
  assert.deepEqual(state, { failures: 4, failing: 1 });

  await tell("endless"); // what it says is not read
  await run();
  const taken = await tell("take");
  const bodies = taken.map((p) => JSON.parse(p.body));
  assert.deepEqual(
    bodies.map((b) => [b.items.length, b.has_more, b.expired, b.environment]),
    [
      [100, true, false, "development"],
      [30, false, false, "development"],
    ],
  );
  assert.equal(bodies[0].id, JSON.parse(tried[0].body).id);
  assert.equal(new Set(bodies.flatMap((b) => b.items.map((i) => i.url))).size, 130);
  const page = await engine.api("GET", `/api/v1/feed?cursor=${bodies[0].cursor}`);
  assert.deepEqual(page.data.items, bodies[1].items);
  for (const { headers } of taken)
    assert.deepEqual(
      [headers["content-type"], headers["user-agent"]],
      ["application/json", "NewsforkBot/1.0 (+https://newsfork.com/bot)"],
    );
  await run();
  assert.deepEqual(await tell("take"), []);
});

test("two runs at once deliver nothing twice", async () => {
  await write(20);
  await engine.rows("UPDATE feed_delivery SET next_at = 0");
  await Promise.all(
    Array.from({ length: 4 }, () => engine.worker.scheduled({ cron: "* * * * *", scheduledTime: new Date() })),
  );
  assert.equal((await tell("take")).length, 1);
});

test("an item that the receiver refuses becomes a dead letter, and all others are delivered", async () => {
  await write(40);
  const bad = `/news/${written - 20}`;
  await tell(`refuse:${bad}"`);
  await run();
  const posted = (await tell("take")).map((p) => JSON.parse(p.body));
  const refused = posted.filter(({ items }) => items.some((i) => i.url.endsWith(bad)));
  const taken = posted.filter((p) => !refused.includes(p));
  assert.deepEqual(
    refused.slice(0, 2).map((p) => p.items.length),
    [40, 20],
  );
  assert.equal(refused.at(-1).items.length, 1);
  assert.equal(new Set(taken.flatMap((p) => p.items.map((i) => i.url))).size, 39);
  assert.equal(taken.flatMap((p) => p.items).length, 39);
  const { data } = await engine.api("GET", "/api/v1/dlq?queue=webhook");
  assert.deepEqual(
    data.dead_letters.map((l) => [l.work, l.error_message]),
    [[refused.at(-1).items[0].url, "the webhook answered 400"]],
  );
  const letter = await engine.api("GET", `/api/v1/dlq/${data.dead_letters[0].id}`);
  assert.deepEqual(letter.data.letter.original_message, refused.at(-1));
  const [state] = await engine.rows("SELECT failing_since, failures, pending FROM feed_delivery");
  assert.deepEqual(state, { failing_since: 0, failures: 0, pending: "" });
});

test("an operator skips what the receiver does not accept", async () => {
  await write(3);
  await tell("fail");
  await run();
  const [{ body }] = await tell("take");
  const { id, items } = JSON.parse(body);
  const { data: before } = await engine.api("GET", "/api/v1/feed/webhook");
  assert.deepEqual([before.held.id, before.held.attempts], [id, 1]);
  assert.deepEqual(
    before.held.urls,
    items.map((i) => i.url),
  );
  const skip = () => engine.api("POST", `/api/v1/feed/webhook/${id}/skip`, {});
  assert.equal((await skip()).data.skipped, 3);
  assert.equal((await skip()).error.code, "not_found");
  const { data } = await engine.api("GET", "/api/v1/dlq?queue=webhook&limit=3");
  assert.deepEqual(new Set(data.dead_letters.map((l) => l.work)), new Set(before.held.urls));
  await write(1);
  await run();
  const posted = await tell("take");
  assert.deepEqual(
    posted.map((p) => JSON.parse(p.body).items.length),
    [1],
  );
});

test("the receiver of docs/feed.md accepts genuine deliveries, once", async () => {
  await write(3);
  await run();
  const [{ headers, body }] = await tell("take");

  const dir = mkdtempSync(join(tmpdir(), "receiver-"));
  const file = join(dir, "receiver.mjs");
  const example = readFileSync(join(root, "docs/feed.md"), "utf8").match(/```js\n(.*?)```/s)[1];
  writeFileSync(file, example);
  const port = await freePort();
  const receiver = spawn(process.execPath, [file], {
    env: { PATH: process.env.PATH, PORT: String(port), FEED_WEBHOOK_SECRET: `the-next-secret-that-is-set ${secret}` },
    stdio: ["ignore", "pipe", "inherit"],
  });
  let shown = "";
  receiver.stdout.setEncoding("utf8").on("data", (text) => (shown += text));
  const post = async (signature, content) => {
    const sent = signature === undefined ? {} : { "x-newsfork-signature": signature };
    return (await fetch(`http://127.0.0.1:${port}/`, { method: "POST", headers: sent, body: content })).status;
  };
  try {
    await until(() => post("", "").catch(() => null), "the receiver");
    const signature = headers["x-newsfork-signature"];
    const [time, v1] = signature.match(/\d{10}|[0-9a-f]{64}/g);
    const hour = 3600;
    for (const [sent, content] of [
      [undefined, body],
      ["", body],
      [signature, body.replace("press", "Press")],
      [signature, `${body} `],
      [signature.replace(/.$/, (c) => (c === "0" ? "1" : "0")), body],
      [`t=${time},v1=${v1.slice(1)}`, body],
      [`t=${Number(time) + 1},v1=${v1}`, body],
      [sign(Number(time) - hour, body), body],
      [sign(time, body, "another-secret-of-another"), body],
    ])
      assert.equal(await post(sent, content), 401, sent);
    assert.equal(sign(time, body), signature);
    for (let twice = 0; twice < 2; twice++) assert.equal(await post(signature, body), 204);
    const { items } = JSON.parse(body);
    assert.equal(items.length, 3);
    await until(() => shown === items.map((i) => `${i.url}\n`).join("") || null, "what the receiver shows");
  } finally {
    receiver.kill();
    rmSync(dir, { recursive: true });
  }
});

const sign = (time, body, key = secret) =>
  `t=${time},v1=${createHmac("sha256", key).update(`${time}.${body}`).digest("hex")}`;
