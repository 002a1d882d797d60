// The slow bindings of bench/latency: their measurements are valid only if no more operations are under way at once than
// on the platform, and each takes as long as the table says.
import assert from "node:assert/strict";
import { test } from "node:test";
import { Connections, maxConnections, slow } from "../bench/latency/slow.mjs";

/** A bucket that counts its operations under way. */
function bucket() {
  const seen = { now: 0, most: 0, keys: [] };
  const get = async (key) => {
    seen.most = Math.max(seen.most, ++seen.now);
    await new Promise((resolve) => setTimeout(resolve, 5));
    seen.now--;
    seen.keys.push(key);
    return { key };
  };
  return { seen, get };
}

test("six operations of an event run at once, over all bindings; the others wait their turn", async () => {
  const { seen, get } = bucket();
  const binding = { get, put: get };
  const env = slow({ DATASETS_BUCKET: binding, EGRESS: { fetch: get }, DELAYS: '{"R2.get": 0, "R2.put": 0}' });
  const calls = Array.from({ length: 20 }, (_, i) =>
    i % 2 ? env.DATASETS_BUCKET.get(i) : i % 4 ? env.EGRESS.fetch(i) : env.DATASETS_BUCKET.put(i),
  );
  await Promise.all(calls);
  assert.equal(seen.most, maxConnections);
  assert.deepEqual(
    seen.keys.toSorted((a, b) => a - b),
    Array.from({ length: 20 }, (_, i) => i),
  );
});

test("each event has its own connections", async () => {
  const { seen, get } = bucket();
  const events = [0, 1].map(() => slow({ DATASETS_BUCKET: { get }, DELAYS: '{"R2.get": 0}' }));
  await Promise.all(events.flatMap((env) => Array.from({ length: 8 }, () => env.DATASETS_BUCKET.get("key"))));
  assert.equal(seen.most, 2 * maxConnections);
});

test("an operation starts after its delay, and a failed one frees its connection", async () => {
  const env = slow({ METADATA_DB: { batch: async () => "rows" }, DELAYS: '{"D1.batch": 50}' });
  const began = performance.now();
  assert.equal(await env.METADATA_DB.batch([]), "rows");
  assert.ok(performance.now() - began >= 49);
  const connections = new Connections();
  for (let i = 0; i < 2 * maxConnections; i++)
    await assert.rejects(
      connections.on(0, () => Promise.reject(new Error("away"))),
      /away/,
    );
});
