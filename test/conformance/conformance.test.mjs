// Runs the conformance suites of the stores against the bindings on workerd, and tests what only
// the bindings have: streams that never enter Go, missing bindings, and an instance left clean.
import assert from "node:assert/strict";
import { createHash } from "node:crypto";
import { once } from "node:events";
import { mkdtempSync, rmSync } from "node:fs";
import { connect } from "node:net";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { after, suite, test } from "node:test";
import { setTimeout as sleep } from "node:timers/promises";
import { fileURLToPath } from "node:url";
import { build } from "../../worker/build.mjs";

const fixture = join(dirname(fileURLToPath(import.meta.url)), "fixture");
build(fixture, join(fixture, "../../../build/conformance"));

// wrangler writes settings and logs into the home directory; keep it out of the real one.
const home = mkdtempSync(join(tmpdir(), "conformance-"));
Object.assign(process.env, {
  HOME: home,
  XDG_CONFIG_HOME: home,
  WRANGLER_SEND_METRICS: "false",
  WRANGLER_LOG: "error",
});
const { createTestHarness } = await import("wrangler");

const harness = createTestHarness({ root: fixture, workers: [{ configPath: "wrangler.jsonc" }] });
const { url } = await harness.listen();
after(async () => {
  await harness.close();
  rmSync(home, { recursive: true, force: true });
});
const worker = harness.getWorker("conformance");
await worker.applyD1Migrations("DB");
const { BUCKET } = await worker.getEnv();

async function call(path, init) {
  const answer = await worker.fetch(`http://fixture${path}`, init);
  const text = await answer.text();
  assert.equal(answer.status, 200, text);
  return JSON.parse(text);
}

const cases = await call("/cases");
for (const name of new Set(cases.map((c) => c.suite))) {
  suite(name, () => {
    for (const c of cases.filter((c) => c.suite === name)) {
      test(c.name, async () => assert.deepEqual(await call(`/run/${c.suite}/${encodeURIComponent(c.name)}`), []));
    }
  });
}

/** Bytes in which no two parts are alike. */
function bytes(length) {
  const data = new Uint8Array(length);
  for (let i = 0, x = 1; i < length; i++) {
    x ^= x << 13;
    x ^= x >>> 17;
    x ^= x << 5;
    data[i] = x;
  }
  return data;
}

const md5 = (data) => createHash("md5").update(data).digest("hex");
const put = (key, body, headers = {}) => call(`/stream/${key}`, { method: "PUT", body, headers, duplex: "half" });

/** Sends the beginning of a request and closes the connection. */
async function hangUp(text) {
  const socket = connect(Number(url.port), url.hostname);
  await once(socket, "connect");
  socket.write(text);
  await sleep(300);
  socket.destroy();
  await sleep(300);
}

suite("streams", () => {
  test("a body of any length is stored as it is, and only once", async () => {
    for (const length of [0, 1, 300_000, 20_000_000]) {
      const key = `stream-${length}`;
      const data = bytes(length);
      assert.deepEqual(await put(key, data, { "content-type": "application/json" }), { size: length, etag: md5(data) });
      assert.equal((await BUCKET.head(key)).httpMetadata.contentType, "application/json");
      assert.deepEqual(await put(key, bytes(10)), { error: "exists" });
      assert.equal((await BUCKET.head(key)).etag, md5(data));
    }
  });

  test("an upload refused before its body was read leaves the instance good", async () => {
    await put("refused", bytes(10));
    assert.deepEqual(await put("refused", bytes(20_000_000)), { error: "exists" });
  });

  test("a body of unknown length is refused, and one that breaks off is not stored", async () => {
    const endless = new Blob([bytes(1000)]).stream();
    assert.deepEqual(await put("chunked", endless), { error: "storage_error" });
    await hangUp("PUT /stream/broken HTTP/1.1\r\nHost: fixture\r\nContent-Length: 1000\r\n\r\n0123456789");
    for (const key of ["chunked", "broken"]) assert.equal(await BUCKET.head(key), null, key);
  });

  test("a large body costs no memory in Go", async () => {
    await put("large", bytes(50_000_000));
    const { memory } = await call("/stats");
    assert.ok(Math.max(...memory) < 32 * 2 ** 20, `linear memory of ${memory} bytes`);
  });

  test("an object is copied in pieces and in parts", async () => {
    for (const length of [0, 5 * 2 ** 20, 5 * 2 ** 20 + 1, 12_000_000]) {
      const data = bytes(length);
      await BUCKET.put("copied", data);
      const { size } = await call("/copy/copied");
      assert.equal(size, length);
      const copy = await BUCKET.get("copied.copy");
      assert.equal(md5(new Uint8Array(await copy.arrayBuffer())), md5(data));
    }
  });
});

test("a shard answers calls from another Worker", async () => {
  const refused = (field) => ({ kind: "validation_error", field });
  const got = await call("/shard");
  assert.deepEqual(got, [2, true, true, 0, true, 1, 1, refused("domain"), refused("lease_seconds"), [1, 1], 0]);
});

test("Workers and shards of adjacent versions work together, or report that they cannot", async () => {
  assert.deepEqual(await call("/versions"), {
    "a field of a later version": 2,
    "an operation of a later version": { kind: "storage_error", unknown: true, newer: false },
    "a shard that a later version migrated": { kind: "storage_error", unknown: false, newer: true },
  });
});

test("a delay is whole seconds, rounded up", async () => {
  const milliseconds = await call("/delayed");
  assert.ok(milliseconds >= 1900 && milliseconds < 8000, `${milliseconds} ms`);
});

test("the backlog of a queue counts its waiting messages", async () => {
  const started = Date.now();
  const { before, after, errors } = await call("/backlog");
  assert.deepEqual(before, { messages: 0, bytes: 0, oldest: null });
  assert.equal(after.messages, 3);
  assert.ok(after.bytes >= 30, `${after.bytes} bytes`);
  assert.ok(Math.abs(Date.parse(after.oldest) - started) < 5000, after.oldest);
  assert.deepEqual(
    errors,
    [false, true, false],
    "of the first two queues, which were asked together, one is not bound",
  );
});

test("stores that are not bound give storage errors that name the binding", async () => {
  const errors = await call("/unbound");
  assert.equal(Object.keys(errors).length, 11);
  for (const [what, error] of Object.entries(errors))
    assert.match(error, /^storage_error: .*there is no (R2|queue|D1) binding NONE$/, what);
});

test("none of these tests cost an instance", async () => {
  const { dropped, recovered } = await call("/stats");
  delete dropped.memory; // of cases that read large objects whole
  assert.deepEqual({ dropped, recovered }, { dropped: {}, recovered: {} });
});
