import assert from "node:assert/strict";
import { beforeEach, test } from "node:test";
import { eventually, start } from "./harness.mjs";

const fixture = await start();

beforeEach(() => fixture.rules());

// The platform's report of a batch: acknowledged messages, and retried ones with their delays.
const deliver = (...bodies) => deliverTo("runtime-queue", ...bodies);

async function deliverTo(queue, ...bodies) {
  const { outcome, ackAll, retryBatch, explicitAcks, retryMessages } = await fixture.deliverTo(queue, ...bodies);
  assert.equal(outcome, "ok", "the queue entry threw");
  assert.deepEqual({ ackAll, retry: retryBatch.retry }, { ackAll: false, retry: false });
  return {
    acked: explicitAcks,
    retried: Object.fromEntries(retryMessages.map(({ msgId, delaySeconds }) => [msgId, delaySeconds])),
  };
}

const ack = { do: "ack" };

test("messages reach the consumer through the platform's queue", async () => {
  await (await fixture.env()).QUEUE.send({ do: "store", key: "from-queue" });
  assert.ok(await eventually(async () => (await fixture.bucket()).head("from-queue")));
});

test("messages are settled one by one", async () => {
  assert.deepEqual(await deliver(ack, { do: "retry" }, { do: "leave" }, ack), {
    acked: ["m0", "m3"],
    retried: { m1: 7, m2: 5 },
  });
});

test("the delay of messages left unsettled follows RETRY_DELAY_SECONDS and the attempts", async () => {
  const { retryMessages } = await fixture.deliver(
    { do: "leave", attempts: 1 },
    { do: "leave", attempts: 3 },
    { do: "leave", attempts: 100 },
  );
  assert.deepEqual(
    retryMessages.map((message) => message.delaySeconds),
    [5, 20, 86_400],
  );
});

test("a whole batch can be settled at once, and the first decision on a message counts", async () => {
  assert.deepEqual(await deliver({ do: "retry" }, { do: "ack-all" }, { do: "retry" }), {
    acked: ["m1", "m2"],
    retried: { m0: 7 },
  });
});

test("a panic in the consumer keeps what was acknowledged, and is logged and counted", async () => {
  await deliver(ack);
  const before = await fixture.stats();
  fixture.clearLogs();
  assert.deepEqual(await deliver(ack, ack, { do: "panic" }, ack), { acked: ["m0", "m1"], retried: { m2: 5, m3: 5 } });
  const now = await fixture.stats();
  assert.equal(now.recovered.consumer, (before.recovered.consumer ?? 0) + 1);
  assert.deepEqual(
    { created: now.created, dropped: now.dropped },
    { created: before.created, dropped: before.dropped },
  );
  const [line] = await eventually(() => fixture.logged("consumer_failed"));
  assert.equal(line.message, "consumer broke");
  assert.match(line.stack, /fixture\/main\.go/);
});

for (const [what, reason] of [
  ["exit", "exited"],
  ["panic-elsewhere", "exited"],
  ["overflow", "exception"],
]) {
  test(`when the program ends by ${what}, the other messages are redelivered at once`, async () => {
    await deliver(ack);
    const before = await fixture.stats();
    fixture.clearLogs();
    const began = Date.now();
    assert.deepEqual(await deliver(ack, { do: what }, ack), { acked: ["m0"], retried: { m1: 5, m2: 5 } });
    assert.ok(Date.now() - began < 3000);
    assert.equal((await fixture.stats()).dropped[reason], (before.dropped[reason] ?? 0) + 1);
    const [line] = await eventually(() => fixture.logged("batch_failed"));
    assert.deepEqual(
      { queue: line.queue_name, unsettled: line.unsettled, type: line.error_type },
      { queue: "runtime-queue", unsettled: 2, type: "internal_error" },
    );
    assert.deepEqual(await deliver(ack), { acked: ["m0"], retried: {} });
  });
}

test("a timer left behind by another event does not stop the timers of a batch", async () => {
  await fixture.rules({ queueDeadline: 5000 });
  await fixture.text("/leave-timer?ms=1000");
  const began = Date.now();
  assert.deepEqual(await deliver({ do: "sleep", ms: 1500 }, ack), { acked: ["m1"], retried: { m0: 5 } });
  assert.ok(Date.now() - began >= 1490);
});

test("a program broken inside a call from Go does not run on", async () => {
  fixture.clearLogs();
  await deliver({ do: "overflow" });
  assert.ok(await eventually(() => fixture.logged("instance_failed").length));
  assert.deepEqual(
    fixture.logs().filter((line) => !line.startsWith("{")),
    [],
  );
});

test("a deadlock ends at the deadline, and the messages are redelivered", async () => {
  await fixture.rules({ queueDeadline: 600 });
  fixture.clearLogs();
  const began = Date.now();
  assert.deepEqual(await deliver(ack, { do: "deadlock" }), { acked: ["m0"], retried: { m1: 5 } });
  const took = Date.now() - began;
  assert.ok(took >= 590 && took < 2500, `${took} ms`);
  const [line] = await eventually(() => fixture.logged("batch_failed"));
  assert.equal(line.error_type, "timeout_error");
});

test("requests and batches have their own deadlines", async () => {
  await fixture.rules({ httpDeadline: 200 });
  assert.deepEqual(await deliver({ do: "wait", ms: 500 }, ack), { acked: ["m1"], retried: { m0: 5 } });
});

// Keeps the only instance busy while a batch is delivered.
async function deliverWhileBusy(queue, ...bodies) {
  await fixture.rules({ maxLive: 1, queueWait: 200, refusedDelay: 1000 });
  const first = deliver({ do: "wait", ms: 800 }, ack);
  await eventually(async () => (await fixture.stats()).live === 1);
  const settled = await deliverTo(queue, ...bodies);
  assert.deepEqual(await first, { acked: ["m1"], retried: { m0: 5 } });
  return settled;
}

test("the messages of a batch that finds no instance are requeued unchanged, at no cost of an attempt", async () => {
  const bucket = await fixture.bucket();
  await Promise.all(["resent", "text"].map((key) => bucket.delete(key)));
  fixture.clearLogs();
  const text = '{"as":"it was & is"}';
  assert.deepEqual(
    await deliverWhileBusy("newsfork-domain-fixture", { do: "store", key: "resent", attempts: 4 }, text),
    { acked: ["m0", "m1"], retried: {} },
  );
  assert.ok(await eventually(() => bucket.head("resent")), "a message with the content type json is lost");
  assert.equal(await (await eventually(() => bucket.get("text")))?.text(), text);
  const [line] = fixture.logged("batch_refused");
  assert.deepEqual(
    { queue: line.queue_name, messages: line.messages, resent: line.resent },
    { queue: "newsfork-domain-fixture", messages: 2, resent: 2 },
  );
});

test("the messages of a batch for which there is no memory are requeued too", async () => {
  const bucket = await fixture.bucket();
  await bucket.delete("resent");
  await fixture.rules({ eventBytes: 60 << 20, queueWait: 200, refusedDelay: 1000 });
  fixture.clearLogs();
  const first = deliver({ do: "wait", ms: 800 });
  await eventually(async () => (await fixture.stats()).live === 1);
  const settled = await deliverTo("newsfork-domain-fixture", { do: "store", key: "resent", attempts: 4 });
  assert.deepEqual(settled, { acked: ["m0"], retried: {} });
  await first;
  assert.ok(await eventually(() => bucket.head("resent")), "the message is lost");
  const [line] = fixture.logged("batch_refused");
  assert.deepEqual([line.reason, line.level, line.resent], ["memory", "warn", 1]);
});

test("the messages of a batch that no program could begin are requeued too", async () => {
  const bucket = await fixture.bucket();
  const queue = "newsfork-domain-fixture";
  for (const [prepare, reason] of [
    [() => fixture.refuse(true), "as the test wants it"],
    [
      async () => {
        while ((await fixture.stats()).idle) await fixture.text("/exit");
        await fixture.failStart("exit");
      },
      "the program did not start",
    ],
  ]) {
    await Promise.all(["resent", "text"].map((key) => bucket.delete(key)));
    await fixture.rules({ unableDelay: 1000 });
    await prepare();
    fixture.clearLogs();
    assert.deepEqual(await deliverTo(queue, { do: "store", key: "resent", attempts: 4 }, "plain"), {
      acked: ["m0", "m1"],
      retried: {},
    });
    await Promise.all([fixture.refuse(false), fixture.failStart("")]);
    assert.ok(await eventually(() => bucket.head("resent")), `${reason}: a message is lost`);
    assert.equal(await (await eventually(() => bucket.get("text")))?.text(), "plain");
    const [line] = fixture.logged("batch_refused");
    assert.deepEqual(
      { reason: line.reason, messages: line.messages, resent: line.resent, level: line.level },
      { reason, messages: 2, resent: 2, level: "error" },
    );
  }
});

test("messages that cannot be requeued are redelivered much later", async () => {
  for (const queue of ["newsfork-seed-fixture", "runtime-queue"]) {
    // no such binding, no queue of ours
    fixture.clearLogs();
    assert.deepEqual(await deliverWhileBusy(queue, ack, ack), { acked: [], retried: { m0: 600, m1: 600 } });
    assert.equal(fixture.logged("batch_refused")[0].resent, 0);
  }
});

test("a cron event runs its task", async () => {
  assert.equal((await fixture.cron("0 3 * * *")).outcome, "ok");
  assert.equal(await (await (await fixture.bucket()).get("cron")).text(), "0 3 * * *");
});

test("a task that fails or panics is logged and leaves the instance good", async () => {
  await fixture.cron("0 3 * * *");
  const before = await fixture.stats();
  fixture.clearLogs();
  for (const cron of ["1 * * * *", "2 * * * *"]) assert.equal((await fixture.cron(cron)).outcome, "exception");
  const now = await fixture.stats();
  assert.deepEqual(
    { created: now.created, dropped: now.dropped },
    { created: before.created, dropped: before.dropped },
  );
  assert.equal(now.recovered.cron, (before.recovered.cron ?? 0) + 1);
  const lines = await eventually(() => fixture.logged("cron_failed").length >= 2 && fixture.logged("cron_failed"));
  assert.deepEqual(
    lines.map((line) => [line.error_type, line.message]),
    [
      ["storage_error", "task: it failed"],
      ["internal_error", "task broke"],
    ],
  );
  assert.match(lines[1].stack, /fixture\/main\.go/);
});

test("a task that takes too long is ended and logged", async () => {
  await fixture.rules({ cronDeadline: 300 });
  fixture.clearLogs();
  assert.equal((await fixture.cron("3 * * * *")).outcome, "exception");
  const [line] = await eventually(() => fixture.logged("cron_failed"));
  assert.deepEqual({ type: line.error_type, cron: line.cron }, { type: "timeout_error", cron: "3 * * * *" });
});
