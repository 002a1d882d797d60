// Bad input and faults on workerd that involve the platform: its queues, content types, missing
// bindings and streams. engine/ tests all others.
import assert from "node:assert/strict";
import { after, before, describe, test } from "node:test";
import Ajv2020 from "ajv/dist/2020.js";
import { domainMessage, fixture, partition, prod, quick, raw, startEngine, until } from "./engine.mjs";

const letter = new Ajv2020({ strict: false, validateFormats: false }).compile(
  JSON.parse(fixture("contract/schemas/dead_letter.schema.json")),
);
const seedMessage = (n, extra = {}) => ({ file_path: raw(n), partition_info: partition, ...extra });

/** Waits for the dead letter whose original message matches. */
async function deadLetter(engine, fits, what) {
  return until(
    async () => {
      for (const key of await engine.keys("dlq/")) {
        const found = await engine.json(key);
        assert.ok(letter(found), JSON.stringify(letter.errors));
        if (fits(found.original_message)) return { key, ...found };
      }
    },
    `the dead letter of ${what}`,
    60,
  );
}

describe("bad input", () => {
  let engine;
  before(async () => (engine = await startEngine()));
  after(() => engine?.close());

  test("ends as a dead letter with the reason, whatever its content type", async () => {
    await engine.put(raw(100), '[{"url":"https://mom.gov.sg/a"},{"url":"htt');
    await engine.env.SEED_QUEUE.send(seedMessage(100));
    await engine.env.DOMAIN_QUEUE.send({ foo: "domain" });
    await engine.env.SEED_QUEUE.send("plain text", { contentType: "text" });
    for (const [fits, queue, kind, retries] of [
      [(m) => m.file_path === raw(100), "newsfork-seed-dev", "parse_error", 0], // the same bytes would fail again
      [(m) => m.foo === "domain", "newsfork-domain-dev", "validation_error", 3],
      [(m) => m === "plain text", "newsfork-seed-dev", "validation_error", 3],
    ]) {
      const found = await deadLetter(engine, fits, queue);
      assert.deepEqual(
        [found.error_info.error_type, found.error_info.retry_count, found.context.queue_name],
        [kind, retries, queue],
        JSON.stringify(found),
      );
      assert.match(found.key, new RegExp(`^dlq/queue=${queue}/date=\\d{4}-\\d\\d-\\d\\d/[^/]+\\.json$`));
    }
    const failures = await engine.rows("SELECT attempt, error_message FROM failures WHERE work = ?", raw(100));
    assert.deepEqual(failures, [
      { attempt: 1, error_message: "line 1, column 44, byte 43: the JSON ends unfinished; upload the whole file" },
    ]);
  });

  test("an R2 event notification starts the file, one of another key does nothing", async () => {
    await engine.put(raw(3), JSON.stringify([{ url: "https://ica.gov.sg/x" }]));
    const event = (key) => ({
      account: "a",
      action: "PutObject",
      bucket: "newsfork-datasets-dev",
      object: { key, size: 10, eTag: "e" },
      eventTime: "2026-01-28T10:00:00Z",
    });
    await engine.env.SEED_QUEUE.send(event("raw/country=sg/notes.txt"));
    await engine.env.SEED_QUEUE.send(event(raw(3)));
    await engine.env.SEED_QUEUE.send(event(raw(3)));
    await until(() => engine.env.DATASETS_BUCKET.head(`${raw(3)}.success`), "the checkpoint");
  });
});

describe("deliveries", () => {
  let engine;
  before(async () => (engine = await startEngine({ vars: { ...quick, RETRY_DELAY_SECONDS: "10" } })));
  after(() => engine?.close());

  test("in a batch of five with one failing domain, the other four are collected once", async () => {
    const domains = ["mom.gov.sg", "ica.gov.sg", "refused-post.sg", "slowport.sg", "www.gov.sg"];
    const messages = domains.map((d, i) => ({ id: `m${i}`, body: domainMessage(d, [`https://${d}/x`]) }));
    const result = await engine.deliver("newsfork-domain-dev", messages);
    assert.deepEqual(result.acked.toSorted(), ["m0", "m1", "m3", "m4"]);
    assert.deepEqual(
      result.retried.map((r) => [r.msgId, r.delaySeconds]),
      [["m2", 10]],
    );
    for (const d of ["mom.gov.sg", "ica.gov.sg", "slowport.sg", "www.gov.sg"]) {
      assert.notEqual(await engine.json(prod(d)), null, d);
      assert.equal((await engine.json(prod(d))).revision, 1, d);
    }
    assert.equal(await engine.json(prod("refused-post.sg")), null);

    const last = await engine.deliver("newsfork-domain-dev", [{ ...messages[2], attempts: 4 }]);
    assert.deepEqual(last.acked, ["m2"]);
    const document = await engine.json(prod("refused-post.sg"));
    assert.equal(document.reachable, false);
    assert.equal(
      (await engine.env.DATASETS_BUCKET.head(prod("refused-post.sg", "domain_metadata.json.success"))).size,
      0,
    );
  });
});

describe("failing stores", () => {
  test("D1 absent: readiness reports it, and the pipeline continues", async () => {
    const engine = await startEngine({ change: ({ d1_databases, ...config }) => (assert.ok(d1_databases), config) });
    try {
      const ready = await engine.api("GET", "/health/ready");
      assert.equal(ready.status, 503);
      assert.deepEqual(ready.data.checks, { r2: "ok", d1: "failed" });
      await engine.put(raw(1), JSON.stringify([{ url: "https://mom.gov.sg/a" }]));
      await engine.api("POST", "/api/v1/seeds/orchestrate", {});
      await until(
        () => engine.env.DATASETS_BUCKET.head(prod("mom.gov.sg", "domain_metadata.json.success")),
        "mom.gov.sg",
      );
    } finally {
      await engine.close();
    }
  });

  test("an invalid setting is an error that names it, and messages are kept", async () => {
    const engine = await startEngine({ vars: { ...quick, FETCH_RETRIES: "many" } });
    try {
      const answer = await engine.api("GET", "/health");
      assert.equal(answer.status, 500);
      assert.deepEqual([answer.error.code, answer.error.field], ["validation_error", "FETCH_RETRIES"]);
      const queues = ["seed", "domain", "dlq"].map((role) => `newsfork-${role}-dev`);
      for (const queue of queues) {
        const { acked } = await engine.deliver(queue, [{ id: "a", body: seedMessage(1), attempts: 4 }]);
        assert.deepEqual(acked, ["a"], queue);
      }
      const refused = engine.events("batch_refused");
      assert.deepEqual(
        refused.map((line) => [line.queue_name, line.resent]),
        queues.map((queue) => [queue, 1]),
      );
      assert.ok(
        refused.every((line) => line.reason.includes("FETCH_RETRIES")),
        JSON.stringify(refused),
      );
    } finally {
      await engine.close();
    }
  });
});

describe("the API on workerd", () => {
  let engine;
  const token = "a-token-of-production";
  before(async () => (engine = await startEngine({ vars: { ...quick, ENVIRONMENT: "production", API_TOKEN: token } })));
  after(() => engine?.close());
  const authorization = { authorization: `Bearer ${token}` };

  test("requests without the token are refused", async () => {
    for (const [method, path] of [
      ["POST", "/api/v1/seeds/orchestrate"],
      ["GET", "/api/v1/datasets/sg/news/2026-01-28"],
      ["PUT", "/api/v1/datasets/sg/news/2026-01-28/raw_0001"],
    ]) {
      const answer = await engine.api(method, path, method === "GET" ? undefined : "[]");
      assert.equal(answer.status, 401, path);
      assert.equal(answer.error.code, "unauthorized");
      assert.ok(answer.headers.get("x-request-id"));
    }
    assert.equal((await engine.api("GET", "/health")).status, 200);
  });

  test("an upload streams into R2 unchanged, once", async () => {
    const content = JSON.stringify(
      Array.from({ length: 50_000 }, (_, i) => ({ url: `https://mom.gov.sg/${i}`, title: "Ü".repeat(20) })),
    );
    const first = await engine.api("PUT", "/api/v1/datasets/sg/news/2026-01-28/raw_0001", content, authorization);
    assert.equal(first.status, 201, JSON.stringify(first));
    assert.equal(first.data.size, Buffer.byteLength(content));
    assert.equal(await engine.text(raw(1)), content);
    const second = await engine.api("PUT", "/api/v1/datasets/sg/news/2026-01-28/raw_0001", "[]", authorization);
    assert.deepEqual([second.status, second.error.code, second.data.same], [409, "already_exists", false]);
    // Again, and with one byte changed: the digest decides, not the size.
    for (const [body, same] of [
      [content, true],
      [content.replace("/49999", "/49998"), false],
    ]) {
      const again = await engine.api("PUT", "/api/v1/datasets/sg/news/2026-01-28/raw_0001", body, authorization);
      assert.deepEqual([again.status, again.error.code, again.data.same], [409, "already_exists", same]);
    }
    assert.equal(await engine.text(raw(1)), content);
  });

  test("a broken raw file is discarded, replaced, and another one deleted", async () => {
    const route = "/api/v1/datasets/sg/news/2026-01-28/raw_0007";
    const call = async (method, path, body) => {
      const answer = await engine.api(method, path, body, authorization);
      assert.ok(answer.success, `${method} ${path}: ${answer.status} ${JSON.stringify(answer.error)}`);
      return answer.data;
    };
    const file = async () =>
      (await call("GET", "/api/v1/datasets/sg/news/2026-01-28")).files.find(({ chunk }) => chunk === "raw_0007");
    await call("PUT", `${route}?orchestrate=true`, '[{"url":"https://ica.gov.sg/a"},\n{"url" "https://ica.gov.sg/b"}]');
    const stored = async () => (await call("GET", "/api/v1/dlq?state=stored&error_type=parse_error")).dead_letters[0];
    const letter = await until(stored, "the dead letter");
    assert.match(letter.error_message, /^line 2, column 8, byte \d+: expected ':' after a key/);
    assert.equal(letter.retry_count, 0);
    assert.equal((await file()).state, "failed");

    const discarded = await call("POST", "/api/v1/dlq/discard", JSON.stringify({ ids: [letter.id.slice(0, 12)] }));
    assert.deepEqual([discarded.done, discarded.failed], [1, []]);
    assert.equal((await file()).state, "discarded");
    const place = '"country":"sg","category":"news","date":"2026-01-28"';
    await call("DELETE", "/api/v1/datasets/sg/news/2026-01-28/raw_0001");
    const again = await call("POST", "/api/v1/seeds/orchestrate", `{${place},"force":true}`);
    assert.deepEqual([again.files_found, again.sent, again.skipped], [1, 0, 1]);
    const status = await call("GET", "/api/v1/seeds/status");
    assert.deepEqual([status.files_discarded, status.processing_stats.files_total], [1, 0]);

    const replaced = await call("PUT", `${route}?replace=true&orchestrate=true`, '[{"url":"https://ica.gov.sg/a"},{}]');
    assert.deepEqual([replaced.replaced, replaced.queued], [true, true]);
    const processed = await until(async () => {
      const now = await file();
      return now.state === "processed" && now;
    }, "the replaced file");
    assert.deepEqual([processed.records_total, processed.records_rejected], [2, 1]);
    assert.deepEqual(processed.rejections, [{ record: 2, offset: 32, reason: "has no url" }]);
    const late = await engine.api("DELETE", route, undefined, authorization);
    assert.deepEqual([late.status, late.error.code], [409, "already_processed"]);
    assert.deepEqual((await call("GET", "/api/v1/seeds/status")).rejections[0].reason, "has no url");
  });

  test("wrong requests say what to send instead", async () => {
    for (const [method, path, body, headers, status] of [
      ["POST", "/api/v1/seeds/orchestrate", '{"date":"2026-02-30"}', {}, 400],
      ["POST", "/api/v1/seeds/orchestrate", '{"country":"sg"', {}, 400],
      ["POST", "/api/v1/seeds/orchestrate", "a=b", { "content-type": "text/plain" }, 415],
      ["POST", "/api/v1/seeds/orchestrate", JSON.stringify({ country: "x".repeat(70_000) }), {}, 413],
      ["GET", "/api/v1/seeds/orchestrate", undefined, {}, 405],
      ["GET", "/nowhere", undefined, {}, 404],
    ]) {
      const answer = await engine.api(method, path, body, { ...authorization, ...headers });
      assert.equal(answer.status, status, `${method} ${path}`);
      assert.equal(answer.success, false);
      assert.ok(answer.error.code && answer.error.message.length > 10);
    }
  });
});
