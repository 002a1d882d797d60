// Bad input and faults on workerd: what must be refused is refused with its reason, and nothing is lost.
import assert from "node:assert/strict";
import { after, before, describe, test } from "node:test";
import Ajv2020 from "ajv/dist/2020.js";
import { domainMessage, fixture, partition, prod, quick, raw, root, startEngine, until } from "./engine.mjs";

const letter = new Ajv2020({ strict: false, validateFormats: false }).compile(JSON.parse(fixture("contract/schemas/dead_letter.schema.json")));
const seedMessage = (n, extra = {}) => ({ file_path: raw(n), partition_info: partition, ...extra });

/** Waits for the dead letter whose original message fits. */
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

  const bad = [
    ["missing", undefined, "validation_error", "there is no object"],
    ["empty", "", "parse_error", ""],
    ["truncated", '[{"url":"https://mom.gov.sg/a"},{"url":"htt', "parse_error", ""],
    ["not JSON", "<html></html>", "parse_error", ""],
    ["of the wrong shape", '{"items":[]}', "parse_error", ""],
    ["a string", '"https://mom.gov.sg/"', "parse_error", ""],
  ];
  test("raw files that cannot be read end as dead letters with the reason", async () => {
    for (const [i, [, content]] of bad.entries()) if (content !== undefined) await engine.put(raw(100 + i), content);
    for (const i of bad.keys()) await engine.env.SEED_QUEUE.send(seedMessage(100 + i));
    for (const [i, [what, , kind, message]] of bad.entries()) {
      const found = await deadLetter(engine, (m) => m.file_path === raw(100 + i), what);
      assert.equal(found.error_info.error_type, kind, `${what}: ${JSON.stringify(found.error_info)}`);
      assert.ok(found.error_info.error_message.includes(message), `${what}: ${found.error_info.error_message}`);
      assert.equal(found.error_info.retry_count, 3, what);
      assert.equal(found.context.queue_name, "newsfork-seed-dev");
      assert.match(found.key, /^dlq\/queue=newsfork-seed-dev\/date=\d{4}-\d\d-\d\d\/[^/]+\.json$/);
      assert.equal(await engine.text(`${raw(100 + i)}.success`), null, what);
    }
    const rows = await until(async () => {
      const rows = await engine.rows("SELECT * FROM dead_letters WHERE queue_name = ?", "newsfork-seed-dev");
      return rows.length === bad.length && rows;
    }, "the rows of the dead letters");
    assert.ok(rows.every((row) => row.state === "stored" && row.retry_count === 3));
    const failures = await engine.rows("SELECT attempt FROM failures WHERE work = ? ORDER BY attempt", raw(100));
    assert.deepEqual(failures.map((f) => f.attempt), [1, 2, 3, 4]);
  });

  test("queue messages of the wrong shape end as dead letters with the reason", async () => {
    await engine.env.SEED_QUEUE.send({ foo: "seed" });
    await engine.env.DOMAIN_QUEUE.send({ foo: "domain" });
    await engine.env.SEED_QUEUE.send("plain text", { contentType: "text" });
    for (const [fits, queue] of [
      [(m) => m.foo === "seed", "newsfork-seed-dev"],
      [(m) => m.foo === "domain", "newsfork-domain-dev"],
      [(m) => m === "plain text", "newsfork-seed-dev"],
    ]) {
      const found = await deadLetter(engine, fits, queue);
      assert.equal(found.error_info.error_type, "validation_error");
      assert.equal(found.context.queue_name, queue, JSON.stringify(found));
      assert.equal(found.error_info.retry_count, 3);
    }
  });

  test("bad records are left out, the rest of the file goes on", async () => {
    const records = [
      { url: "https://mom.gov.sg/a", title: "A" },
      { title: "no URL" },
      { url: "javascript:alert(1)" },
      { url: "http://192.168.0.1/admin" },
      { url: "http://localhost/" },
      { url: "https://한국뉴스.kr/뉴스", title: "IDN" },
      5,
      { url: "https://mom.gov.sg/a", title: "again" },
    ];
    await engine.put(raw(1), `\uFEFF${JSON.stringify(records)}`);
    await engine.env.SEED_QUEUE.send(seedMessage(1));
    await until(() => engine.text(`${raw(1)}.success`), "the file's checkpoint").catch((err) => assert.fail(err));
    const mom = await until(() => engine.json(prod("mom.gov.sg")), "mom.gov.sg");
    assert.deepEqual(mom.urls.map((u) => u.url), ["https://mom.gov.sg/a"]);
    await until(() => engine.json(prod("xn--3e0bj9ghtquur.kr")), "the IDN host");
    const extracted = engine.events("domains_extracted").find((line) => line.file_path === raw(1));
    assert.deepEqual([extracted.total_records, extracted.unique_domains, extracted.bad_records, extracted.duplicates], [8, 2, 5, 1]);
  });

  test("an array without records is a success without domains", async () => {
    await engine.put(raw(2), "[]");
    await engine.env.SEED_QUEUE.send(seedMessage(2));
    await until(() => engine.env.DATASETS_BUCKET.head(`${raw(2)}.success`), "the checkpoint");
  });

  test("an R2 event notification starts the file, one of another key does nothing", async () => {
    await engine.put(raw(3), JSON.stringify([{ url: "https://ica.gov.sg/x" }]));
    const event = (key) => ({ account: "a", action: "PutObject", bucket: "newsfork-datasets-dev", object: { key, size: 10, eTag: "e" }, eventTime: "2026-01-28T10:00:00Z" });
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
  const requests = async (host) => (await engine.control("GET", `/log?host=${host}`)).requests;

  test("of a batch of five with one failing domain the other four are done once", async () => {
    const domains = ["mom.gov.sg", "ica.gov.sg", "refused-post.sg", "slowport.sg", "www.gov.sg"];
    const messages = domains.map((d, i) => ({ id: `m${i}`, body: domainMessage(d, [`https://${d}/x`]) }));
    const result = await engine.deliver("newsfork-domain-dev", messages);
    assert.deepEqual(result.acked.toSorted(), ["m0", "m1", "m3", "m4"]);
    assert.deepEqual(result.retried.map((r) => [r.msgId, r.delaySeconds]), [["m2", 10]]);
    for (const d of ["mom.gov.sg", "ica.gov.sg", "slowport.sg", "www.gov.sg"]) {
      assert.notEqual(await engine.json(prod(d)), null, d);
      assert.equal((await engine.json(prod(d))).revision, 1, d);
    }
    assert.equal(await engine.json(prod("refused-post.sg")), null);

    const last = await engine.deliver("newsfork-domain-dev", [{ ...messages[2], attempts: 4 }]);
    assert.deepEqual(last.acked, ["m2"]);
    const document = await engine.json(prod("refused-post.sg"));
    assert.equal(document.reachable, false);
    assert.equal((await engine.env.DATASETS_BUCKET.head(prod("refused-post.sg", "domain_metadata.json.success"))).size, 0);
  });

  test("delivered twice it is done once", async () => {
    await engine.control("DELETE", "/log");
    const body = domainMessage("bigmap.com.au", ["https://bigmap.com.au/x"]);
    for (const id of ["a", "b"]) assert.deepEqual((await engine.deliver("newsfork-domain-dev", [{ id, body }])).acked, [id]);
    assert.equal((await requests("bigmap.com.au")).filter((r) => r.path === "/robots.txt").length, 1);
    assert.equal((await engine.json(prod("bigmap.com.au"))).revision, 1);
  });

  test("killed between document and checkpoint it is done again, to the same end", async () => {
    const body = domainMessage("mislabelled.sg", ["https://mislabelled.sg/x"]);
    await engine.deliver("newsfork-domain-dev", [{ id: "a", body }]);
    const first = await engine.json(prod("mislabelled.sg"));
    await engine.env.DATASETS_BUCKET.delete(prod("mislabelled.sg", "domain_metadata.json.success"));
    assert.deepEqual((await engine.deliver("newsfork-domain-dev", [{ id: "b", body }])).acked, ["b"]);
    const second = await engine.json(prod("mislabelled.sg"));
    assert.equal(second.revision, 2);
    assert.deepEqual(second.urls, first.urls);
    assert.ok(await engine.env.DATASETS_BUCKET.head(prod("mislabelled.sg", "domain_metadata.json.success")));
  });

  test("concurrent batches of one domain end in one document with all URLs", async () => {
    const batches = [1, 2, 3, 4].map((n) =>
      engine.deliver("newsfork-domain-dev", [
        { id: `c${n}`, body: domainMessage("exampleton.gov.uk", [`https://exampleton.gov.uk/${n}`, "https://exampleton.gov.uk/all"], { source_file_path: raw(n) }) },
      ]),
    );
    for (const result of await Promise.all(batches)) assert.equal(result.acked.length, 1, JSON.stringify(result));
    // One event asks the domain; the messages of the others come again when its lease may be over.
    const document = await until(async () => {
      const document = await engine.json(prod("exampleton.gov.uk"));
      return document?.processing_metadata.total_urls === 5 && document;
    }, "the URLs of all four messages", 90);
    assert.deepEqual(document.urls.map((u) => u.url), [1, 2, 3, 4, "all"].map((p) => `https://exampleton.gov.uk/${p}`));
    assert.equal(document.urls.at(-1).source_file, "raw_0001");
    assert.deepEqual(document.source.raw_file_paths, [1, 2, 3, 4].map(raw));
  });
});

describe("failing stores", () => {
  const faulty = (faults, change = (c) => c) =>
    startEngine({ vars: { ...quick, FAULTS: JSON.stringify(faults) }, change: (config) => change({ ...config, main: `${root}/test/workers/faulty.mjs` }) });

  test("R2 put fails: the message is retried and ends well", async () => {
    const engine = await faulty([
      { binding: "DATASETS_BUCKET", method: "put", match: "mom.gov.sg/domain_metadata.json", times: 3 },
      { binding: "DATASETS_BUCKET", method: "put", match: "raw_0001.json.success", times: 2 },
      { binding: "DOMAIN_QUEUE", method: "sendBatch", times: 1 },
    ]);
    try {
      await engine.put(raw(1), JSON.stringify([{ url: "https://mom.gov.sg/a" }]));
      await engine.env.SEED_QUEUE.send(seedMessage(1));
      await until(() => engine.env.DATASETS_BUCKET.head(`${raw(1)}.success`), "the file's checkpoint");
      await until(() => engine.env.DATASETS_BUCKET.head(prod("mom.gov.sg", "domain_metadata.json.success")), "the domain's checkpoint", 60);
      assert.equal((await engine.json(prod("mom.gov.sg"))).urls.length, 1);
      assert.deepEqual(await engine.keys("dlq/"), []);
      assert.deepEqual(engine.events("file_processing_failed").map((line) => [line.attempt, line.error_type]), [1, 2, 3].map((n) => [n, "storage_error"]));
    } finally {
      await engine.close();
    }
  });

  test("D1 fails on every call: the pipeline ends with all checkpoints", async () => {
    const engine = await faulty([{ binding: "METADATA_DB", method: "batch" }]);
    try {
      await engine.put(raw(1), JSON.stringify([{ url: "https://mom.gov.sg/a" }, { url: "https://ica.gov.sg/a" }]));
      await engine.put(raw(2), "broken");
      await engine.api("POST", "/api/v1/seeds/orchestrate", {});
      for (const d of ["mom.gov.sg", "ica.gov.sg"]) await until(() => engine.env.DATASETS_BUCKET.head(prod(d, "domain_metadata.json.success")), d);
      const found = await deadLetter(engine, (m) => m.file_path === raw(2), "the broken file");
      assert.equal(found.error_info.error_message, "the reason was not recorded");
      assert.equal(found.context.queue_name, "newsfork-seed-dev");
    } finally {
      await engine.close();
    }
  });

  test("D1 absent: readiness says so, and the pipeline goes on", async () => {
    const engine = await startEngine({ change: ({ d1_databases, ...config }) => (assert.ok(d1_databases), config) });
    try {
      const ready = await engine.api("GET", "/health/ready");
      assert.equal(ready.status, 503);
      assert.deepEqual(ready.data.checks, { r2: "ok", d1: "failed" });
      await engine.put(raw(1), JSON.stringify([{ url: "https://mom.gov.sg/a" }]));
      await engine.api("POST", "/api/v1/seeds/orchestrate", {});
      await until(() => engine.env.DATASETS_BUCKET.head(prod("mom.gov.sg", "domain_metadata.json.success")), "mom.gov.sg");
    } finally {
      await engine.close();
    }
  });

  test("a wrong setting is an error that names it, and keeps the messages", async () => {
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
      assert.deepEqual(refused.map((line) => [line.queue_name, line.resent]), queues.map((queue) => [queue, 1]));
      assert.ok(refused.every((line) => line.reason.includes("FETCH_RETRIES")), JSON.stringify(refused));
    } finally {
      await engine.close();
    }
  });
});

describe("the API on workerd", () => {
  let engine;
  before(async () => (engine = await startEngine({ vars: { ...quick, ENVIRONMENT: "production", API_TOKEN: "secret" } })));
  after(() => engine?.close());
  const authorization = { authorization: "Bearer secret" };

  test("answers without the token are refused", async () => {
    for (const [method, path] of [["POST", "/api/v1/seeds/orchestrate"], ["GET", "/api/v1/datasets/sg/news/2026-01-28"], ["PUT", "/api/v1/datasets/sg/news/2026-01-28/raw_0001"]]) {
      const answer = await engine.api(method, path, method === "GET" ? undefined : "[]");
      assert.equal(answer.status, 401, path);
      assert.equal(answer.error.code, "unauthorized");
      assert.ok(answer.headers.get("x-request-id"));
    }
    assert.equal((await engine.api("GET", "/health")).status, 200);
  });

  test("an upload streams into R2 as it is, once", async () => {
    const content = JSON.stringify(Array.from({ length: 50_000 }, (_, i) => ({ url: `https://mom.gov.sg/${i}`, title: "Ü".repeat(20) })));
    const first = await engine.api("PUT", "/api/v1/datasets/sg/news/2026-01-28/raw_0001", content, authorization);
    assert.equal(first.status, 201, JSON.stringify(first));
    assert.equal(first.data.size, Buffer.byteLength(content));
    assert.equal(await engine.text(raw(1)), content);
    const second = await engine.api("PUT", "/api/v1/datasets/sg/news/2026-01-28/raw_0001", "[]", authorization);
    assert.deepEqual([second.status, second.error.code], [409, "already_exists"]);
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
