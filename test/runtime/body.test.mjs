import assert from "node:assert/strict";
import { test } from "node:test";
import { start } from "./harness.mjs";

const fixture = await start();

test("an R2 object is read byte for byte, at any length", async () => {
  const bucket = await fixture.bucket();
  for (const length of [0, 1, 256 << 10, (256 << 10) + 1, 3_000_000]) {
    const bytes = Uint8Array.from({ length }, (_, i) => (i * 7 + (i >> 8)) % 253);
    await bucket.put("body", bytes);
    const answer = await fixture.get("/download?key=body");
    assert.deepEqual(Buffer.compare(Buffer.from(await answer.arrayBuffer()), bytes), 0, `${length} bytes`);
  }
});

test("buffers are reused within a body and by the next one", async () => {
  await (await fixture.bucket()).put("long", new Uint8Array(3_000_000));
  await fixture.text("/download?key=long");
  const { buffers } = await fixture.stats();
  for (let i = 0; i < 3; i++) await fixture.text("/download?key=long");
  assert.equal((await fixture.stats()).buffers, buffers);
  assert.ok(buffers > 0);
});

test("a stream other than a byte stream can be read", async () => {
  assert.equal(await fixture.text("/chunks"), "one two three");
});

test("a broken stream returns its data, then its error", async () => {
  assert.equal(await fixture.text("/broken"), "one two / Error: stream broke");
});

test("closing a body part-way cancels it and leaves the instance good", async () => {
  const bucket = await fixture.bucket();
  await bucket.put("long", new Uint8Array(2_000_000));
  const before = await fixture.stats();
  const began = Date.now();
  for (const source of ["key=long", "path=drip", "path=objects"]) {
    assert.equal(await fixture.text(`/abandon?${source}`), "io: read/write on closed pipe", source);
  }
  assert.ok(Date.now() - began < 2000, "the next chunk was awaited");
  const { dropped, live } = await fixture.stats();
  assert.deepEqual({ dropped, live }, { dropped: before.dropped, live: 0 });
});

test("a signal fires after its time, and when its context ends", async () => {
  assert.equal(await fixture.text("/fetch?ms=200"), "TimeoutError");
  assert.equal(await fixture.text("/fetch?ms=60000&cancel=200"), "AbortError");
  assert.match(await fixture.text("/fetch?ms=400&path=drip"), /^\0{262144,}TimeoutError$/);
  assert.match(await fixture.text("/fetch?ms=60000&cancel=400&path=drip"), /^\0{262144,}AbortError$/);
  assert.equal(await fixture.text("/fetch?ms=60000&path=objects"), "one two three");
});
