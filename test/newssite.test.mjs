// The news sites of the benchmarks on workerd serve what those of the native tests do (engine/enginetest).
import assert from "node:assert/strict";
import { createHash } from "node:crypto";
import { readFileSync } from "node:fs";
import { test } from "node:test";
import { newsSite } from "./workers/newssite.mjs";

const { host, urls, now, digests } = JSON.parse(
  readFileSync(new URL("../engine/enginetest/testdata/newssite.json", import.meta.url), "utf8"),
);

test("a news site serves the bytes of its twin", () => {
  for (const [path, digest] of Object.entries(digests)) {
    const [, body] = newsSite(host, urls, Date.parse(now), path);
    assert.equal(createHash("sha256").update(body).digest("hex"), digest, path);
  }
  assert.equal(newsSite(host, urls, Date.parse(now), "/missing"), undefined);
});
