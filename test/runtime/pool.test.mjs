import assert from "node:assert/strict";
import { beforeEach, test } from "node:test";
import { eventually, pause, start } from "./harness.mjs";

const fixture = await start();
const MiB = 1 << 20;

beforeEach(async () => {
  await fixture.rules();
  await fixture.failStart("");
});

/** The change of the pool's counters while work runs. */
async function change(work) {
  const before = await fixture.stats();
  await work();
  const now = await eventually(async () => {
    const stats = await fixture.stats();
    return stats.live === 0 && stats;
  });
  assert.ok(now, "an instance is still leased");
  return {
    created: now.created - before.created,
    reused: now.reused - before.reused,
    waited: now.waited - before.waited,
    refused: difference(before.refused, now.refused),
    dropped: difference(before.dropped, now.dropped),
    now,
  };
}

/** What was counted since, by reason. */
function difference(before, now) {
  const more = Object.entries(now).map(([reason, n]) => [reason, n - (before[reason] ?? 0)]);
  return Object.fromEntries(more.filter(([, n]) => n));
}

async function failsWith(answer, status, code) {
  assert.equal(answer.status, status);
  assert.match(answer.headers.get("x-request-id"), /^[\w-]{6,}$/);
  const { success, error } = await answer.json();
  assert.deepEqual({ success, code: error.code }, { success: false, code });
  assert.match(error.message, /^[A-Z].*\.$/);
}

const all = (n, work) => Promise.all(Array.from({ length: n }, (_, i) => work(i)));

test("an instance serves one event after another", async () => {
  await fixture.text("/health");
  const { created, reused } = await change(() => fixture.text("/health").then(() => fixture.text("/health")));
  assert.deepEqual({ created, reused }, { created: 0, reused: 2 });
});

test("32 concurrent events with R2, queue and fetch", async () => {
  const { now } = await change(async () => {
    const answers = await all(32, (i) => fixture.text(`/io?id=${i}`));
    answers.forEach((answer, i) => assert.equal(answer, `stored ${i}, peer says /${i}`));
  });
  assert.equal(now.dropped.pending_promise ?? 0, 0);
});

test("at most ten instances; further events wait", async () => {
  await fixture.rules({ eventBytes: 1 });
  const { now, created, waited } = await change(async () => {
    const answers = await all(30, () => fixture.text("/wait?ms=200"));
    assert.deepEqual(new Set(answers), new Set(["waited"]));
  });
  assert.ok(created <= 10 && now.memory.length <= 10, `${created} created`);
  assert.equal(waited, 20);
});

test("events wait for memory, and each gets it", async () => {
  await fixture.rules({ eventBytes: 20 * MiB, maxBytes: 50 * MiB });
  let live = 0;
  const { waited, refused } = await change(async () => {
    const answers = all(6, () => fixture.text("/wait?ms=300"));
    const looked = eventually(async () => {
      const stats = await fixture.stats();
      live = Math.max(live, stats.live);
      assert.ok(stats.reserved <= 50 * MiB, `${stats.reserved} bytes`);
      return stats.live === 0 && live > 0;
    });
    assert.deepEqual(new Set(await answers), new Set(["waited"]));
    await looked;
  });
  assert.deepEqual([live, waited, refused], [2, 4, {}]);
});

test("an event that is alone gets an instance, whatever it may need; a second one is refused", async () => {
  await fixture.rules({ eventBytes: 200 * MiB, httpWait: 300 });
  const { refused } = await change(async () => {
    const first = fixture.text("/wait?ms=1000");
    await eventually(async () => (await fixture.stats()).live === 1);
    const second = await fixture.get("/health?second");
    assert.equal(second.headers.get("retry-after"), "5");
    await failsWith(second, 503, "busy");
    assert.equal(await first, "waited");
  });
  assert.deepEqual(refused, { memory: 1 });
});

test("an event reserves what others leave, until it ends", async () => {
  await fixture.rules({ eventBytes: 10 * MiB, maxBytes: 60 * MiB });
  await all(3, () => fixture.text("/wait?ms=200"));
  const reserve = (mb, ms = 0) => fixture.get(`/reserve?mb=${mb}&ms=${ms}`).then(({ status }) => status);
  const { dropped, refused } = await change(async () => {
    const first = reserve(30, 1000);
    assert.ok(await eventually(async () => (await fixture.stats()).reserved >= 40 * MiB));
    const { memory, reserved } = await fixture.stats();
    assert.ok(reserved + Math.min(...memory) <= 60 * MiB, "idle instances have memory that was reserved");
    assert.deepEqual([await reserve(30), await reserve(5)], [503, 200]);
    assert.equal(await first, 200);
    assert.equal(await reserve(30), 200); // the first has ended
    assert.equal(await reserve(300), 200); // it is alone
  });
  assert.deepEqual(refused, { memory: 1 });
  assert.ok(dropped.idle_memory > 0, JSON.stringify(dropped));
});

test("idle instances make room for an event that needs memory", async () => {
  await fixture.rules({ eventBytes: 1 });
  await all(3, () => fixture.text("/wait?ms=200"));
  const { idle, memory } = await fixture.stats();
  assert.ok(idle >= 3, `${idle} idle`);
  const room = Math.max(...memory) + 30 * MiB; // for one of them besides the event
  await fixture.rules({ eventBytes: 30 * MiB, maxBytes: room });
  const { dropped, created, now } = await change(() => fixture.text("/wait?ms=10"));
  assert.equal(dropped.idle_memory, idle - 2, JSON.stringify(dropped));
  assert.deepEqual([created, now.idle], [0, 2]);
});

test("a request does not wait for the memory that a batch waits for, nor do batches take all of it", async () => {
  await fixture.rules({ eventBytes: 20 * MiB, maxBytes: 70 * MiB, queueWait: 5000 });
  const batches = all(3, () => fixture.deliver({ do: "wait", ms: 700 }));
  assert.ok(await eventually(async () => (await fixture.stats()).waiting === 1));
  assert.equal((await fixture.stats()).live, 2);
  const began = Date.now();
  assert.equal(await fixture.text("/wait?ms=10"), "waited");
  assert.ok(Date.now() - began < 500, "the request waited for a batch");
  await batches;
});

test("requests that keep coming leave a batch the memory that it needs", async () => {
  await fixture.rules({ queueWait: 8000 });
  let done = false;
  const requests = (async () => {
    const answers = [];
    for (; !done; await pause(130)) answers.push(fixture.text("/wait?ms=600"));
    return Promise.all(answers);
  })();
  assert.ok(await eventually(async () => (await fixture.stats()).live > 2));
  const before = await fixture.stats();
  await fixture.deliverTo("newsfork-seed-fixture", { do: "wait", ms: 10 });
  done = true;
  assert.deepEqual(new Set(await requests), new Set(["waited"]));
  const now = await fixture.stats();
  assert.deepEqual(difference(before.refused, now.refused), {});
});

test("slow uploads leave the memory that a raw file needs", async () => {
  const slow = all(5, () => fixture.upload({ path: "/upload", size: 100_000, pieces: 10, ms: 200 }));
  assert.ok(await eventually(async () => (await fixture.stats()).live > 0));
  const began = Date.now();
  await fixture.deliverTo("newsfork-seed-fixture", { do: "wait", ms: 10 });
  assert.ok(Date.now() - began < 1500, "the batch waited for the uploads");
  for (const { status } of await slow) assert.ok(status === 200 || status === 503, `${status}`);
});

test("one idle instance is kept for calls of objects, however much memory events may need", async () => {
  await fixture.rules({ eventBytes: 28 * MiB });
  const busy = all(3, () => fixture.text("/wait?ms=1500"));
  assert.ok(await eventually(async () => (await fixture.stats()).live === 3));
  await fixture.call("kept", "echo", "1");
  const { created } = await fixture.stats();
  for (let i = 0; i < 20; i++) assert.equal(await fixture.call("kept", "echo", `${i}`), `${i}`);
  assert.equal((await fixture.stats()).created, created);
  await busy;
});

test("an event that was cancelled while it waited does not keep others waiting", async () => {
  await fixture.rules({ eventBytes: 20 * MiB, maxBytes: 50 * MiB, httpWait: 500 });
  const busy = all(2, () => fixture.text("/wait?ms=4000"));
  assert.ok(await eventually(async () => (await fixture.stats()).live === 2));
  await fixture.hangUp("/wait?ms=10", 100, { "x-test-no-wait-until": "1" });
  await pause(1700); // it has waited for longer than it would, and a second more
  await fixture.get("/health?swept");
  assert.equal((await fixture.stats()).waiting, 0);
  await busy;
});

test("waiting events are served in order of arrival", async () => {
  await fixture.rules({ maxLive: 1 });
  const began = Date.now();
  const order = [];
  const jobs = [];
  for (let i = 0; i < 5; i++) {
    jobs.push(fixture.text("/wait?ms=150").then(() => order.push(i)));
    await pause(30);
  }
  await Promise.all(jobs);
  assert.deepEqual(order, [0, 1, 2, 3, 4]);
  assert.ok(Date.now() - began < 2000, "an instance that came free was not handed on at once");
});

test("an event that waits too long is refused with 503", async () => {
  await fixture.rules({ maxLive: 1, httpWait: 300 });
  const { refused } = await change(async () => {
    const first = fixture.text("/wait?ms=1000");
    await pause(50);
    const began = Date.now();
    const answer = await fixture.get("/health");
    await failsWith(answer, 503, "busy");
    assert.ok(Date.now() - began < 800);
    assert.ok(Number(answer.headers.get("retry-after")) > 0);
    assert.equal(await first, "waited");
  });
  assert.deepEqual(refused, { busy: 1 });
});

test("each event has its own variables and bindings", async () => {
  const ask = (value) =>
    fixture.text("/env?name=SECRET", value && { headers: { "x-test-vars": JSON.stringify({ SECRET: value }) } });
  assert.equal(await ask("one"), "one");
  assert.equal(await ask("two"), "two");
  assert.equal(await ask(), "<undefined>");
});

test("a timer left behind does not stop later timers", async () => {
  const { dropped } = await change(async () => {
    await fixture.text("/leave-timer?ms=3000");
    const began = Date.now();
    assert.equal(await fixture.text("/sleep?ms=5000"), "slept");
    const took = Date.now() - began;
    assert.ok(took >= 4990 && took < 6500, `slept ${took} ms`);
  });
  assert.deepEqual(dropped, {});
});

test("a timer left behind fires in a later event", async () => {
  await fixture.text("/leave-timer?ms=300");
  await pause(500);
  const began = Date.now();
  assert.equal(await fixture.text("/sleep?ms=100"), "slept");
  assert.ok(Date.now() - began < 1000);
});

test("a timer left behind does not run one event in the name of another", async () => {
  await fixture.text("/leave-timer?ms=800&open=3000");
  assert.equal(await fixture.text("/sleep-then-read?ms=1200"), "peer says /x");
});

test("a stopped timer does not stop later timers", async () => {
  await fixture.text("/stopped-timer?ms=60000");
  assert.equal(await fixture.text("/sleep?ms=50"), "slept");
});

test("an instance that still waits for a promise is dropped", async () => {
  const { dropped } = await change(async () => {
    assert.equal(await fixture.text("/leave-await"), "1");
    assert.equal(await fixture.text("/health"), "ok");
    await pause(3000); // the read settles after its event has ended
    assert.equal(await fixture.text("/io?id=1"), "stored 1, peer says /1");
  });
  assert.deepEqual(dropped, { pending_promise: 1 });
});

test("an instance with goroutines left is dropped, also while waitUntil keeps its event open", async () => {
  const { dropped } = await change(async () => {
    await fixture.text("/leave-sender?open=500");
    assert.equal(await fixture.text("/health"), "ok");
    await fixture.text("/leave-goroutine");
    assert.equal(await fixture.text("/io?id=1"), "stored 1, peer says /1");
  });
  assert.deepEqual(dropped, { goroutines: 2 });
});

test("a panic in a handler is answered, logged and counted, and the instance stays good", async () => {
  await fixture.text("/health");
  fixture.clearLogs();
  const { created, dropped } = await change(async () => {
    const answer = await fixture.get("/panic", { headers: { "x-request-id": "test-7" } });
    assert.equal(answer.headers.get("etag"), null, "a header of the broken answer");
    await failsWith(answer, 500, "internal_error");
    assert.equal(answer.headers.get("x-request-id"), "test-7");
    const stats = JSON.parse(await fixture.text("/stats"));
    assert.equal(stats.recovered.handler, 1);
  });
  assert.deepEqual({ created, dropped }, { created: 0, dropped: {} });
  const [line] = await eventually(() => fixture.logged("handler_failed"));
  assert.equal(line.level, "error");
  assert.equal(line.error_type, "internal_error");
  assert.equal(line.message, "handler broke");
  assert.equal(line.request_id, "test-7");
  assert.match(line.stack, /fixture\/main\.go/);
});

for (const [what, path, reason] of [
  ["a panic in another goroutine", "/panic-elsewhere", "exited"],
  ["os.Exit", "/exit", "exited"],
  ["a stack overflow", "/overflow", "exception"],
  ["a stack overflow after a wait", "/overflow?ms=20", "exception"],
]) {
  test(`${what} fails its event at once and costs the instance`, async () => {
    await fixture.text("/health");
    const { dropped } = await change(async () => {
      const began = Date.now();
      await failsWith(await fixture.get(path), 500, "internal_error");
      assert.ok(Date.now() - began < 3000);
      assert.equal(await fixture.text("/io?id=1"), "stored 1, peer says /1");
    });
    assert.deepEqual(dropped, { [reason]: 1 });
  });
}

for (const [how, reason] of [
  ["exit", "exited"],
  ["panic", "exited"],
  ["overflow", "exception"],
]) {
  test(`a timer whose program ends by ${how} when the next event wakes it costs that event nothing`, async () => {
    await fixture.rules({ httpDeadline: 2000 });
    await fixture.text("/health");
    const { dropped } = await change(async () => {
      await fixture.text(`/break-later?ms=50&how=${how}`);
      await pause(200);
      const began = Date.now();
      assert.equal(await fixture.text("/io?id=1"), "stored 1, peer says /1");
      assert.ok(Date.now() - began < 1500);
    });
    assert.deepEqual(dropped, { [reason]: 1 });
  });
}

test("an event that cannot be passed to the program fails, and frees its permit", async () => {
  await fixture.rules({ maxLive: 1 });
  const { dropped } = await change(async () => {
    await failsWith(await fixture.get("/health", { headers: { "x-test-broken": "1" } }), 500, "internal_error");
    assert.equal(await fixture.text("/health"), "ok");
  });
  assert.deepEqual(dropped, { exception: 1 });
});

test("a program that does not start fails its event, and frees the permit", async () => {
  await fixture.rules({ maxLive: 1 });
  while ((await fixture.stats()).idle) await fixture.text("/exit");
  for (const how of ["exit", "block"]) {
    await fixture.failStart(how);
    const { now, dropped } = await change(async () => failsWith(await fixture.get("/health"), 500, "internal_error"));
    assert.deepEqual({ dropped, live: now.live }, { dropped: { start: 1 }, live: 0 });
  }
});

test("a deadlock ends at the deadline", async () => {
  await fixture.rules({ httpDeadline: 1000 });
  for (const init of [undefined, { headers: { "x-test-no-wait-until": "1" } }]) {
    const { dropped } = await change(async () => {
      const began = Date.now();
      await failsWith(await fixture.get("/deadlock", init), 504, "timeout_error");
      const took = Date.now() - began;
      assert.ok(took >= 990 && took < 2500, `${took} ms`);
      assert.equal(await fixture.text("/health"), "ok");
    });
    assert.deepEqual(dropped, { deadline: 1 });
  }
});

test("Go can extend the deadline", async () => {
  await fixture.rules({ httpDeadline: 300 });
  assert.equal((await fixture.get("/wait?ms=800")).status, 504);
  assert.equal(await fixture.text("/extend?ms=800"), "waited");
});

test("an upload goes on as long as bytes arrive", async () => {
  await fixture.rules({ httpDeadline: 600 });
  const size = 20_000_000;
  const { dropped } = await change(async () => {
    const { status, text, took } = await fixture.upload({ path: "/upload", size, pieces: 20, ms: 150 });
    assert.deepEqual([status, text], [200, `${size} http: invalid Read on closed Body`]);
    assert.ok(took > 2000, `${took} ms`);
  });
  assert.deepEqual(dropped, {});
  const stored = new Uint8Array(await (await (await fixture.bucket()).get("upload")).arrayBuffer());
  assert.equal(
    stored.findIndex((byte, i) => byte !== Math.floor(i / 1_000_000)),
    -1,
  );
});

test("a stalled upload is aborted, and nothing of it is stored", async () => {
  await fixture.rules({ httpDeadline: 600 });
  await (await fixture.bucket()).delete("upload");
  const { dropped } = await change(async () => {
    const { status, took } = await fixture.upload({
      path: "/upload",
      size: 1_000_000,
      pieces: 10,
      ms: 150,
      stall: 3000,
    });
    assert.equal(status, 504);
    assert.ok(took > 1800 && took < 3000, `${took} ms`); // 9 pieces and the deadline
  });
  assert.deepEqual(dropped, { deadline: 1 });
  await pause(1500); // its last pieces arrive
  assert.equal(await (await fixture.bucket()).head("upload"), null);
});

test("slow uploads leave instances for other requests", async () => {
  await fixture.rules({ maxLive: 3, maxUploads: 2, httpWait: 300 });
  const { dropped } = await change(async () => {
    const slow = Array.from({ length: 2 }, () =>
      fixture.upload({ path: "/upload", size: 100_000, pieces: 5, ms: 200 }),
    );
    await pause(300);
    const began = Date.now();
    assert.equal((await fixture.upload({ path: "/upload", size: 100_000, pieces: 1, ms: 0 })).status, 503);
    assert.equal(await fixture.text("/health"), "ok");
    assert.ok(Date.now() - began < 600, "others waited for the uploads");
    for (const { status } of await Promise.all(slow)) assert.equal(status, 200);
    assert.equal((await fixture.upload({ path: "/upload", size: 100_000, pieces: 1, ms: 0 })).status, 200);
  });
  assert.deepEqual(dropped, {});
});

test("after its deadline an event does nothing more", async () => {
  await fixture.rules({ httpDeadline: 300 });
  for (const how of ["promise", "timer", "callback"]) {
    await failsWith(await fixture.get(`/put-later?ms=800&open=1600&after=${how}`), 504, "timeout_error");
  }
  await pause(1000);
  assert.equal(await (await fixture.bucket()).head("too-late"), null);
});

test("work after the answer does not keep the client waiting, and costs no instance", async () => {
  const bucket = await fixture.bucket();
  await fixture.text("/health");
  for (const ms of [0, 1000]) {
    const { dropped, created } = await change(async () => {
      assert.equal(await fixture.text(`/after?id=${ms}&ms=${ms}`), "answered");
      if (ms) assert.equal(await bucket.head(`after/${ms}`), null);
      assert.ok(await eventually(() => bucket.head(`after/${ms}`)));
      assert.ok(await eventually(async () => (await fixture.stats()).live === 0));
    });
    assert.deepEqual({ dropped, created: created > 1 }, { dropped: {}, created: false });
  }
});

test("work after the answer that breaks, or takes too long, harms nobody", async () => {
  assert.equal(await fixture.text("/after?id=broken&ms=0&panic=1"), "answered");
  assert.ok(await eventually(() => fixture.logged("handler_failed").some(({ message }) => message === "work broke")));
  await fixture.rules({ afterAnswer: 300 });
  const { dropped } = await change(async () => {
    assert.equal(await fixture.text("/after?id=late&ms=60000"), "answered");
    assert.ok(await eventually(async () => (await fixture.stats()).live === 0));
  });
  assert.deepEqual(dropped, { deadline: 1 });
  assert.equal(await fixture.text("/health"), "ok");
  assert.equal(await (await fixture.bucket()).head("after/late"), null);
});

test("a client that disconnects does not cost the instance", async () => {
  await fixture.text("/health");
  const { created, dropped } = await change(() => fixture.hangUp("/wait?ms=800", 200));
  assert.deepEqual({ created, dropped }, { created: 0, dropped: {} });
});

test("a client that disconnects ends the context of its request", async () => {
  const bucket = await fixture.bucket();
  const { dropped } = await change(() => fixture.hangUp("/until-cancelled", 200));
  assert.deepEqual(dropped, {});
  const object = await eventually(() => bucket.get("cancelled"));
  assert.equal(await object?.text(), "context canceled");
});

test("the lease of an event that ended without notice is recovered at its deadline", async () => {
  await fixture.rules({ maxLive: 1, httpDeadline: 1500 });
  const { dropped } = await change(async () => {
    await fixture.hangUp("/wait?ms=60000", 200, { "x-test-no-wait-until": "1" });
    const began = Date.now();
    assert.equal(await fixture.text("/health"), "ok");
    assert.ok(Date.now() - began < 3000);
  });
  assert.deepEqual(dropped, { deadline: 1 });
});

test("the lease of a disconnected client is recovered once the platform has ended its event", async () => {
  await fixture.rules({ maxLive: 1, afterClient: 1000 });
  const { dropped } = await change(async () => {
    await fixture.hangUp("/wait?ms=60000", 200, { "x-test-no-wait-until": "1" });
    assert.equal(await fixture.text("/health"), "ok");
  });
  assert.deepEqual(dropped, { deadline: 1 });
});

test("a timer of a lease that another event recovered fires in vain", async () => {
  await fixture.rules({ maxLive: 1, afterClient: 0 });
  const { dropped } = await change(async () => {
    await fixture.hangUp("/sleep?ms=1000&open=3000", 200);
    assert.equal(await fixture.text("/health"), "ok");
    await pause(1200);
    assert.equal(await fixture.text("/health"), "ok");
  });
  assert.deepEqual(dropped, { deadline: 1 });
});

test("a permit given to an event that ended without notice is passed on", async () => {
  await fixture.rules({ maxLive: 1 });
  const first = fixture.text("/wait?ms=1000");
  await pause(100);
  await fixture.hangUp("/health", 200, { "x-test-no-wait-until": "1" });
  const began = Date.now();
  assert.equal(await fixture.text("/health"), "ok");
  assert.ok(Date.now() - began < 8000); // an event that finds no instance is refused after 10 s
  assert.equal(await first, "waited");
});

test("an instance that grew is dropped", async () => {
  const { dropped } = await change(async () => {
    assert.equal((await fixture.get("/allocate?mb=200")).status, 200);
    assert.equal(await fixture.text("/health"), "ok");
  });
  assert.deepEqual(dropped, { memory: 1 });
});

test("an instance that a batch of news sites grew serves another, and a raw file finds room beside it", async () => {
  const before = await change(() => fixture.text("/grow?mb=28&ms=10"));
  const grown = Math.max(...before.now.memory);
  assert.ok(grown > 32 * MiB && grown <= 36 * MiB, `${grown / MiB} MiB`);
  const { created, dropped, waited } = await change(async () => {
    const batch = fixture.deliver({ do: "wait", ms: 1000 });
    assert.ok(await eventually(async () => (await fixture.stats()).reserved >= grown));
    await fixture.deliverTo("newsfork-seed-fixture", { do: "wait", ms: 10 });
    await batch;
  });
  assert.deepEqual({ dropped, waited }, { dropped: {}, waited: 0 });
  assert.ok(created <= 1, `${created} created`); // for the file
});

test("idle instances together take at most 52 MiB", async () => {
  const { now } = await change(() => all(6, () => fixture.text("/grow?mb=12&ms=300")));
  const total = now.memory.reduce((sum, bytes) => sum + bytes, 0);
  assert.ok(now.dropped.idle_memory > 0);
  assert.ok(total <= 52 * MiB, `${total / MiB} MiB`);
  assert.equal(now.idle, now.memory.length);
});

test("memory levels off over thousands of requests", async () => {
  assert.equal(await fixture.load("/headers", 2000), 2000);
  const early = Math.max(...(await fixture.stats()).memory);
  const { created, dropped, now } = await change(async () =>
    assert.equal(await fixture.load("/headers", 10_000), 10_000),
  );
  assert.deepEqual({ created, dropped }, { created: 0, dropped: {} });
  assert.ok(Math.max(...now.memory) <= early + 2 * MiB, `${early} to ${Math.max(...now.memory)} bytes`);
});
