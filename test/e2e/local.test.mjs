// An engine without a token answers the machine it runs on, but no page of another site. A
// deployed Worker without a token answers nobody.
import assert from "node:assert/strict";
import { after, before, describe, test } from "node:test";
import { root, startEngine } from "./engine.mjs";
import { setDevelopersToken } from "../harness.mjs";

const status = "/api/v1/seeds/status";
const ray = { "cf-ray": "8d1f0a2b3c4d5e6f-SIN" };

describe("a local run without a token", () => {
  let engine;
  before(async () => (engine = await startEngine()));
  after(() => engine?.close());

  // Like a browser or curl: the test's API client would add a content type.
  const send = async (path, init = {}) => {
    const response = await engine.worker.fetch(path, init);
    const { error } = await response.json();
    return [response.status, error?.code];
  };
  const paused = async () => (await engine.api("GET", "/api/v1/pipeline")).data.paused;

  test("answers under any host, and a Worker that is bound to it", async () => {
    for (const url of [status, `https://seed.example${status}`, `http://192.0.2.7:8787${status}`])
      assert.deepEqual(await send(url), [200, undefined], url);
    const bound = await engine.caller.fetch(status);
    assert.deepEqual([bound.status, (await bound.json()).success], [200, true]);
  });

  test("refuses requests through Cloudflare's network", async () => {
    assert.deepEqual(await send(status, { headers: ray }), [503, "token_not_configured"]);
    assert.deepEqual(await send("/health", { headers: ray }), [200, undefined]);
  });

  test("lets no page of another site change anything", async () => {
    const json = { "content-type": "application/json" };
    const origin = "https://evil.example";
    for (const [headers, code] of [
      [{}, "unsupported_media_type"],
      [{ origin }, "unsupported_media_type"],
      [{ "content-type": "text/plain" }, "unsupported_media_type"],
      [{ "content-type": "application/x-www-form-urlencoded", origin }, "unsupported_media_type"],
      [{ ...json, origin }, "foreign_origin"],
      [{ ...json, origin: "null" }, "foreign_origin"],
    ]) {
      const answer = await send("/api/v1/pipeline/pause", { method: "POST", headers });
      assert.equal(answer[1], code, JSON.stringify(headers));
      assert.equal(await paused(), false);
    }
    const preflight = await engine.worker.fetch("/api/v1/pipeline/pause", {
      method: "OPTIONS",
      headers: { origin, "access-control-request-method": "POST", "access-control-request-headers": "content-type" },
    });
    assert.equal(preflight.ok, false);
    assert.deepEqual(
      [...preflight.headers].filter(([name]) => name.startsWith("access-control")),
      [],
    );

    for (const [verb, headers] of [
      ["pause", json],
      ["resume", { ...json, origin: "http://localhost:8787" }],
    ]) {
      assert.deepEqual(await send(`/api/v1/pipeline/${verb}`, { method: "POST", headers }), [200, undefined]);
      assert.equal(await paused(), verb === "pause");
    }
  });
});

test("a development Worker that was deployed answers nobody without a token", async () => {
  const engine = await startEngine({
    change: (config) => ({ ...config, main: `${root}/test/workers/frozenclock.mjs` }),
  });
  try {
    for (const headers of [{}, ray]) {
      const { status: code, error } = await engine.api("GET", status, undefined, headers);
      assert.deepEqual([code, error?.code], [503, "token_not_configured"]);
    }
    const paused = await engine.api("POST", "/api/v1/pipeline/pause", {});
    assert.deepEqual([paused.status, paused.error?.code], [503, "token_not_configured"]);
    const bound = await engine.caller.fetch(status);
    assert.equal(bound.status, 503);
    await bound.body.cancel();
    assert.equal((await engine.api("GET", "/health")).status, 200);
  } finally {
    await engine.close();
  }
});

test("tests do not use the secrets of make dev", async (t) => {
  setDevelopersToken(t);
  const engine = await startEngine();
  t.after(() => engine.close());
  assert.equal((await engine.api("GET", status)).status, 200);
});
