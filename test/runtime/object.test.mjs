// Calls of Durable Objects. Each is one synchronous run of Go and one transaction.
import assert from "node:assert/strict";
import { before, beforeEach, test } from "node:test";
import { eventually, start } from "./harness.mjs";

const fixture = await start();

before(() => fixture.call("a", "write"));

beforeEach(async () => {
  await fixture.rules();
  await fixture.failStart("");
  fixture.clearLogs();
});

const count = async (name) => JSON.parse(await fixture.call(name, "count")).answer;

/** The number of instances dropped while work ran, by reason. */
async function dropped(work) {
  const before = await fixture.stats();
  await work();
  const after = await fixture.stats();
  assert.equal(after.live, 0, "an instance is still leased");
  return Object.fromEntries(
    Object.entries(after.dropped)
      .map(([reason, n]) => [reason, n - (before.dropped[reason] ?? 0)])
      .filter(([, n]) => n),
  );
}

test("writes of a call persist, per object", async () => {
  const rows = await count("a");
  assert.equal(await fixture.call("a", "write"), `{"answer":${rows + 1}}`);
  assert.equal(await fixture.call("b", "write"), '{"answer":1}');
  assert.equal(await count("a"), rows + 1);
});

test("an object has a name", async () => {
  assert.equal(await fixture.call("shard-7", "name"), "shard-7");
});

test("requests and answers pass unchanged", async () => {
  for (const request of ["", "\n\n", "줄\n바꿈 \\ \u0000", "x".repeat(3_000_000)])
    assert.equal(await fixture.call("a", "echo", request), request);
});

test("a request that is too large does not reach the program", async () => {
  const { error } = JSON.parse(await fixture.call("a", "echo", "x".repeat((16 << 20) + 1)));
  assert.equal(error.code, "validation_error");
});

const instance = { error: { code: "internal_error", message: "The request failed unexpectedly." } };

for (const [operation, { answer = JSON.stringify(instance), drops = {}, log }] of Object.entries({
  refuse: { answer: /^\{"answer":\d+\}$/ },
  sql: { answer: /^frontier.DB: .*no such table: missing/ },
  panic: { log: "object_failed" },
  "panic-elsewhere": { drops: { exited: 1 }, log: "instance_failed" },
  exit: { drops: { exited: 1 }, log: "instance_failed" },
  overflow: { drops: { exception: 1 }, log: "instance_failed" },
  channel: { drops: { waited: 1 }, log: "instance_failed" },
  sleep: { drops: { waited: 1 }, log: "instance_failed" },
  promise: { drops: { waited: 1 }, log: "instance_failed" },
})) {
  test(`${operation} in the middle of a call: nothing is written, and the next call is good`, async () => {
    const rows = await count("a");
    const lost = await dropped(async () => {
      const given = await fixture.call("a", operation);
      if (answer instanceof RegExp) assert.match(given, answer);
      else assert.equal(given, answer);
    });
    assert.deepEqual(lost, drops);
    if (log) assert.ok(await eventually(() => fixture.logged(log).length), `no ${log}`);
    assert.equal(await count("a"), rows);
    assert.equal(await fixture.call("a", "write"), `{"answer":${rows + 1}}`);
    assert.equal(await fixture.text("/health"), "ok");
  });
}

test("a panic is counted, and costs no instance", async () => {
  const before = await fixture.stats();
  await fixture.call("a", "panic");
  const after = await fixture.stats();
  assert.equal(after.recovered.object, (before.recovered.object ?? 0) + 1);
  assert.equal(after.created, before.created);
});

test("a call that leaves a goroutine succeeds, and costs the instance", async () => {
  const rows = await count("a");
  assert.deepEqual(await dropped(() => fixture.call("a", "goroutine")), { goroutines: 1 });
  assert.equal(await count("a"), rows + 1);
});

test("timers and garbage of a call cost nothing", async () => {
  for (const operation of ["timer", "garbage", "garbage"])
    assert.deepEqual(await dropped(() => fixture.call("a", operation)), {}, operation);
  assert.equal(await fixture.text("/sleep?ms=20"), "slept");
});

test("a program that does not start: nothing is written", async () => {
  const rows = await count("a");
  await fixture.failStart("exit");
  for (let i = 0; i < 20; i++) await fixture.call("a", "exit"); // until no instance is idle
  assert.equal(await fixture.call("a", "write"), JSON.stringify(instance));
  await fixture.failStart("");
  assert.equal(await count("a"), rows);
});

test("objects answer 30 events that hold all permits", async () => {
  const began = Date.now();
  const { waited } = await fixture.stats();
  const answers = await Promise.all(
    Array.from({ length: 30 }, () => fixture.text("/object?name=nested&operation=write&n=5")),
  );
  assert.ok(Date.now() - began < 5000, `${Date.now() - began} ms`);
  assert.deepEqual(
    answers.map((text) => JSON.parse(text).answer).filter((n) => !(n >= 5 && n <= 150)),
    [],
  );
  assert.equal(await count("nested"), 150);
  assert.ok((await fixture.stats()).waited > waited, "no event waited for a permit");
});

test("an event that calls an object needs only one permit", async () => {
  await fixture.rules({ maxLive: 1 });
  assert.equal(await fixture.text("/object?name=one&operation=write&n=3"), '{"answer":3}');
});

test("calls of an object take turns", async () => {
  await Promise.all(Array.from({ length: 40 }, () => fixture.call("turns", "write")));
  assert.equal(await count("turns"), 40);
});

test("an object that does not answer is a timeout, and costs no instance", async () => {
  assert.deepEqual(
    await dropped(async () =>
      assert.match(
        await fixture.text("/object?binding=FROZEN&name=a&operation=count"),
        /^timeout_error .*no answer within 5000 ms/,
      ),
    ),
    {},
  );
});

// Alarms go off once their object is put where the platform's clock says so: time cannot be moved.
const hour = 3_600_000;
const alarm = (name) => fixture.method(name, "alarmTime");
const near = (time, ms) => Math.abs(time - Date.now() - ms) < 20_000;
const plan = (name, tick) => fixture.call(name, "plan", JSON.stringify({ messages: [], ...tick }));

test("the first call of an object sets its alarm; others only have it go off earlier", async () => {
  await fixture.call("alarm", "write");
  const first = await alarm("alarm");
  assert.ok(near(first, 60_000), `in ${first - Date.now()} ms`);
  await fixture.call("alarm", "wake", String(Date.now() + hour));
  await fixture.call("alarm", "wake and refuse", String(Date.now() + 30_000));
  assert.equal(await alarm("alarm"), first);
  const sooner = Date.now() + 30_000;
  await fixture.call("alarm", "wake", String(sooner));
  assert.equal(await alarm("alarm"), sooner);
  await fixture.evict("alarm");
  await fixture.call("alarm", "write");
  assert.equal(await alarm("alarm"), sooner);
});

test("an alarm sends due messages in valid batches, and goes off again at the program's time", async () => {
  const small = Array.from({ length: 250 }, (_, n) => ({ n }));
  const large = Array.from({ length: 5 }, (_, n) => ({ n, text: "줄".repeat(30_000) }));
  await plan("sender", { messages: [...small, ...large], alarm_at: Date.now() + hour });
  await fixture.method("sender", "goOff");
  await eventually(async () => (await fixture.method("sender", "sent")).messages.length === 255);
  const { batches, messages } = await fixture.method("sender", "sent");
  assert.deepEqual(batches, [100, 100, 52, 2, 1]);
  assert.deepEqual(messages.map(JSON.parse), [...small, ...large]);
  assert.ok(await eventually(async () => near(await alarm("sender"), hour)));
});

/** The order of a day's snapshot. */
const order = (day, more) => ({
  taken: 7,
  date: `${day}`,
  dir: "snapshots/",
  prefix: `snapshots/date=${day}.5.7/page-`,
  replaced: `snapshots/date=${day}.5.`,
  page: 1,
  from: 0,
  again: Date.now() + 1800_000,
  ...more,
});

test("an alarm that has no time left for all pages of a snapshot leaves the next ones to the next alarm", async () => {
  const bucket = await fixture.bucket();
  const keys = async () => (await bucket.list({ prefix: "snapshots/date=9" })).objects.map(({ key }) => key.slice(21));
  const snapshot = order(9, { keep: "snapshots/date=9", for_ms: 0 });
  await plan("slow", { snapshot: { ...snapshot, page: 2, from: 1 }, alarm_at: Date.now() + hour });
  await fixture.method("slow", "goOff");
  assert.ok(await eventually(async () => near(await alarm("slow"), 1800_000)));
  assert.deepEqual(await keys(), ["page-0002.json"]);
  await plan("slower", { snapshot: { ...snapshot, page: 3, from: 2 }, alarm_at: Date.now() + hour });
  await fixture.method("slower", "goOff");
  assert.ok(await eventually(async () => near(await alarm("slower"), hour)));
  assert.deepEqual(await keys(), ["page-0002.json", "page-0003.json"]);
  for (const key of await keys()) await bucket.delete(`snapshots/date=9.5.7/${key}`);
});

test("a page of a snapshot that cannot be stored costs only itself: the next alarm goes on there", async () => {
  const bucket = await fixture.bucket();
  const keys = async () => (await bucket.list({ prefix: "snapshots/date=8" })).objects.map(({ key }) => key.slice(21));
  const snapshot = order(8, { keep: "snapshots/date=8", for_ms: 60_000 });
  await plan("flaky", { snapshot, alarm_at: Date.now() + hour });
  await fixture.method("flaky", "fail", `${snapshot.prefix}0002.json`);
  await fixture.method("flaky", "goOff");
  assert.ok(await eventually(() => fixture.logged("alarm_failed").length));
  assert.deepEqual(await keys(), ["page-0001.json"]);
  await bucket.delete(`${snapshot.prefix}0001.json`);
  await fixture.method("flaky", "fail", "");
  await fixture.method("flaky", "goOff");
  assert.ok(await eventually(async () => near(await alarm("flaky"), hour)));
  assert.deepEqual(await keys(), ["page-0002.json", "page-0003.json"]);
  for (const key of await keys()) await bucket.delete(`snapshots/date=8.5.7/${key}`);
});

test("an alarm stores a snapshot page by page, and deletes the oldest", async () => {
  const bucket = await fixture.bucket();
  const keys = async () => (await bucket.list({ prefix: "snapshots/" })).objects.map(({ key }) => key);
  // Snapshots of the same day: one by a version that did not name its time, one of a lost database, and two to be
  // replaced, the second incomplete.
  for (const name of ["1", "2", "3", "4", "4.2.6", "4.5.5", "4.5.6"])
    await bucket.put(`snapshots/date=${name}/page-0001.json`, "{}");
  const snapshot = order(4, { keep: "snapshots/date=3", for_ms: 60_000 });
  await plan("keeper", { snapshot, alarm_at: Date.now() + hour });

  await fixture.method("keeper", "fail", "put");
  await fixture.method("keeper", "goOff");
  const [failed] = await eventually(() => fixture.logged("alarm_failed").length && fixture.logged("alarm_failed"));
  assert.deepEqual([failed.error_type, failed.shard, failed.message], ["storage_error", "keeper", "put fails"]);
  assert.ok(await eventually(async () => near(await alarm("keeper"), 60_000)));
  assert.equal((await keys()).length, 7, "what is not complete has replaced something");

  await fixture.method("keeper", "fail", "");
  await fixture.method("keeper", "goOff");
  const kept = [
    "3/page-0001",
    "4.2.6/page-0001",
    "4.5.7/page-0001",
    "4.5.7/page-0002",
    "4.5.7/page-0003",
    "4/page-0001",
  ];
  assert.ok(await eventually(async () => (await keys()).length === kept.length));
  assert.deepEqual(
    await keys(),
    kept.map((key) => `snapshots/date=${key}.json`),
  );
  const stored = await Promise.all((await keys()).slice(2, 5).map(async (key) => (await bucket.get(key)).json()));
  assert.deepEqual(stored, [{ hosts: [0], next: 1 }, { hosts: [1], next: 2 }, { hosts: [2] }]);
  assert.ok(await eventually(async () => near(await alarm("keeper"), hour)));
  await fixture.method("keeper", "goOff");
  assert.ok(await eventually(async () => near(await alarm("keeper"), 2 * hour)), "it was stored again");
});

test("an alarm checks whether the pipeline is paused, and does nothing if that cannot be read", async () => {
  const bucket = await fixture.bucket();
  const goOff = async (controls, wait) => {
    if (controls) await bucket.put("control/pipeline.json", controls);
    else await bucket.delete("control/pipeline.json");
    await fixture.method("paused", "goOff");
    assert.ok(await eventually(async () => near(await alarm("paused"), wait)), controls);
    return (await fixture.method("paused", "sent")).messages.length;
  };
  await plan("paused", { messages: [{}], alarm_at: Date.now() + hour });
  assert.equal(await goOff('{"pipeline":{"paused":true},"exclusions":[]}', hour / 2), 0);
  assert.equal(await goOff("{", 60_000), 0);
  assert.equal(fixture.logged("alarm_failed").length, 1);
  assert.equal(await goOff('{"pipeline":{"paused":false},"exclusions":[]}', hour), 1);
  assert.equal(await goOff("", hour), 2);
});

test("an alarm says how old the oldest message in the queue is, also when the queue does not say it once", async () => {
  await plan("queued", { alarm_at: Date.now() + hour });
  await fixture.method("queued", "oldest", 5000);
  await fixture.method("queued", "goOff");
  assert.ok(await eventually(async () => (await fixture.method("queued", "sent")).messages.length === 1));
  await fixture.method("queued", "fail", "metrics");
  await fixture.method("queued", "goOff");
  assert.ok(await eventually(async () => (await fixture.method("queued", "sent")).messages.length === 2));
  assert.deepEqual((await fixture.method("queued", "sent")).messages, ["5000", "5000"]);
  assert.equal(fixture.logged("queue_metrics_failed").length, 1);
  await fixture.method("queued", "fail", "");
});

test("an alarm whose program breaks, or whose queue fails, goes off again", async () => {
  await fixture.call("broken", "write"); // has no plan, so its program panics
  await fixture.method("broken", "goOff");
  assert.ok(await eventually(() => fixture.logged("alarm_failed").length === 1));
  assert.equal(fixture.logged("alarm_failed")[0].error_type, "internal_error");
  assert.ok(await eventually(async () => near(await alarm("broken"), 60_000)));
  await plan("broken", { messages: [{}], alarm_at: Date.now() + hour });
  await fixture.method("broken", "fail", "sendBatch");
  await fixture.method("broken", "goOff");
  assert.ok(await eventually(() => fixture.logged("alarm_failed").length === 2));
  assert.ok(await eventually(async () => near(await alarm("broken"), 60_000)));
  await fixture.method("broken", "fail", "");
  await fixture.method("broken", "goOff");
  assert.ok(await eventually(async () => near(await alarm("broken"), hour)));
  assert.deepEqual((await fixture.method("broken", "sent")).messages, ["{}"]);
});

test("statements outside of a call, and a binding that is not there, are errors", async () => {
  assert.match(await fixture.text("/sql"), /^storage_error frontier.DB: .*no Durable Object/);
  assert.match(
    await fixture.text("/object?binding=NONE&name=a&operation=count"),
    /^storage_error .*there is no Durable Object binding NONE/,
  );
});
