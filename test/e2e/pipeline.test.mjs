// The whole pipeline on workerd, on the sample's raw files and web.
import assert from "node:assert/strict";
import { after, before, describe, test } from "node:test";
import Ajv2020 from "ajv/dist/2020.js";
import { differences, outcome } from "../../sample/outcome.mjs";
import { fixture, quick, startEngine, until } from "./engine.mjs";

const expected = JSON.parse(fixture("sample/expected.json"));
const validate = new Ajv2020({ strict: false, validateFormats: false }).compile(
  JSON.parse(fixture("contract/schemas/domain_metadata.schema.json")),
);

const files = Object.entries(expected.partitions).flatMap(([dir, { files }]) =>
  Object.keys(files).map((name) => ({ dir, name })),
);
const domains = Object.entries(expected.partitions).flatMap(([dir, { domains }]) =>
  Object.entries(domains).map(([domain, want]) => ({ dir, domain, want })),
);
const dirOf = ({ dir, domain }) => `prod/${dir}/${domain}/`;

const checkpoints = async (engine) => (await engine.keys("")).filter((key) => key.endsWith(".success"));
const finished = (engine, seconds) =>
  until(async () => (await checkpoints(engine)).length === files.length + domains.length, "all checkpoints", seconds);

describe("the pipeline on the sample", () => {
  let engine, visits;
  const uploadedAt = {};

  before(async () => {
    engine = await startEngine({ vars: { ...quick, FETCH_RETRIES: "1" } });
    for (const { dir, name } of files) {
      const path = dir.replaceAll(/[a-z]+=/g, "");
      const answer = await engine.api(
        "PUT",
        `/api/v1/datasets/${path}/${name}`,
        fixture(`sample/raw/${dir}/${name}.json`).toString(),
      );
      assert.equal(answer.status, 201, JSON.stringify(answer));
    }
    const answer = await engine.api("POST", "/api/v1/seeds/orchestrate", {});
    assert.deepEqual(answer.data, { files_found: files.length, sent: files.length, skipped: 0 });
    await finished(engine, 90);
    visits = (await engine.control("GET", "/log")).requests;
    for (const key of await checkpoints(engine))
      uploadedAt[key] = (await engine.env.DATASETS_BUCKET.head(key)).uploaded.getTime();
  });
  after(() => engine?.close());

  test("every domain's document matches the sample web", async () => {
    for (const d of domains) {
      const document = await engine.json(`${dirOf(d)}domain_metadata.json`);
      assert.deepEqual(differences(d.want, outcome(document)), [], d.domain);
    }
  });

  test("every document is valid by the published schema", async () => {
    for (const d of domains) {
      const document = await engine.json(`${dirOf(d)}domain_metadata.json`);
      assert.ok(validate(document), `${d.domain}: ${JSON.stringify(validate.errors)}`);
    }
    const published = await (await engine.worker.fetch("/schemas/domain_metadata.schema.json")).json();
    assert.deepEqual(published, JSON.parse(fixture("contract/schemas/domain_metadata.schema.json")));
  });

  test("nothing else is written", async () => {
    const allowed = [
      "discovery.json",
      "domain_metadata.json",
      "domain_metadata.json.success",
      "robots.txt",
      "sitemap.xml",
      "sitemap_urls.txt",
    ];
    const expected = new Set(domains.map(dirOf));
    for (const key of await engine.keys("prod/")) {
      const cut = key.lastIndexOf("/") + 1;
      assert.ok(expected.has(key.slice(0, cut)) && allowed.includes(key.slice(cut)), key);
    }
    assert.deepEqual(await engine.keys("dlq/"), []);
  });

  test("evidence exists exactly where the document says, byte for byte", async () => {
    for (const d of domains) {
      const document = await engine.json(`${dirOf(d)}domain_metadata.json`);
      const { robots_txt: robots, sitemap_xml: sitemap } = document.technical_metadata;
      for (const [name, said] of [
        ["robots.txt", robots],
        ["sitemap.xml", sitemap],
      ]) {
        const stored = await engine.bytes(dirOf(d) + name);
        assert.equal(stored !== null, said.exists, `${d.domain}/${name}`);
        if (!stored) continue;
        const digest = Buffer.from(await crypto.subtle.digest("SHA-256", stored)).toString("hex");
        assert.equal(digest, said.sha256, `${d.domain}/${name}`);
        assert.equal(stored.length, said.size, `${d.domain}/${name}`);
      }
      if (robots.exists) {
        const host = document.technical_metadata.server_info.effective_host;
        const scheme = document.technical_metadata.server_info.supports_https ? "https" : "http";
        let url = `${scheme}://${host}/robots.txt`;
        let response;
        for (; (response = await engine.web.fetch(url, { redirect: "manual" })).status >= 300;)
          url = new URL(response.headers.get("location"), url).href;
        assert.deepEqual(
          await engine.bytes(`${dirOf(d)}robots.txt`),
          new Uint8Array(await response.arrayBuffer()),
          d.domain,
        );
      }
    }
  });

  test("checkpoints name their maker; a raw file's holds the ETag of the file, a domain's nothing", async () => {
    for (const key of await checkpoints(engine)) {
      const object = await engine.env.DATASETS_BUCKET.head(key);
      const file = key.startsWith("raw/") && (await engine.env.DATASETS_BUCKET.head(key.replace(/\.success$/, "")));
      assert.equal(await engine.text(key), file ? file.etag : "", key);
      assert.equal(object.customMetadata.processor, "seed-engine", key);
      assert.ok(!Number.isNaN(Date.parse(object.customMetadata.processed_at)), key);
      assert.ok(object.customMetadata.version, key);
    }
  });

  test("no host had two requests at once", () => {
    assert.ok(visits.length > 100);
    for (const r of visits)
      assert.ok(r.open === 1 && r.user_agent === "NewsforkBot/1.0 (+https://newsfork.com/bot)", JSON.stringify(r));
  });

  test("robots.txt was fetched first on every host", () => {
    const read = new Set();
    for (const { url } of visits) {
      const { origin, pathname } = new URL(url);
      if (pathname === "/robots.txt") read.add(origin);
      assert.ok(read.has(origin), `${url} was asked for before ${origin}/robots.txt`);
    }
  });

  test("the ten documented log events have the documented fields", () => {
    const file = "raw/country=sg/category=news/date=2026-01-28/raw_0001.json";
    const mom = { domain_id: "gov:sg:mom.gov.sg" };
    const has = (name, fields) => {
      const lines = engine.events(name);
      assert.ok(lines.length > 0, `no ${name}`);
      const match = lines.find((line) =>
        Object.entries(fields).every(([k, v]) => JSON.stringify(line[k]) === JSON.stringify(v)),
      );
      assert.ok(match, `${name} with ${JSON.stringify(fields)} among ${JSON.stringify(lines.slice(0, 3))}`);
      assert.ok(
        ["info", "warn", "error"].includes(match.level) && !Number.isNaN(Date.parse(match.ts)),
        JSON.stringify(match),
      );
    };
    has("orchestrator_start", { partition_info: { country: null, category: null, date: null } });
    has("files_found", { count: files.length });
    has("queue_messages_sent", { count: files.length });
    has("file_processor_start", { file_path: file });
    has("domains_extracted", { file_path: file, total_records: 23, unique_domains: 15 });
    has("file_processing_complete", { file_path: file, domains_sent: 15 });
    has("domain_collector_start", { ...mom, registrable_domain: "mom.gov.sg" });
    has("robots_fetched", { ...mom, status: 200, content_length: 1024 });
    has("sitemap_fetched", { ...mom, status: 200, content_length: 20480, url_count: 156 });
    has("domain_collector_complete", { ...mom, robots_exists: true, sitemap_exists: true });
  });

  test("the stages of collections are timed, in the log and in the metrics", async () => {
    const logged = engine.events("domain_collector_complete").filter((line) => line.stages_ms);
    assert.ok(logged.length > 0 && logged.every((line) => "robots" in line.stages_ms && "document" in line.stages_ms));
    const metrics = await (await engine.worker.fetch("/metrics")).text();
    const value = (sample) =>
      Number(
        metrics
          .split("\n")
          .find((line) => line.startsWith(sample))
          ?.split(" ")
          .at(-1),
      );
    assert.ok(value("newsfork_seed_collections_timed_total") >= logged.length, metrics);
    for (const stage of ["robots", "sitemaps", "frontier", "document"])
      assert.ok(value(`newsfork_seed_collection_stage_seconds_total{stage="${stage}"}`) > 0, `${stage}: ${metrics}`);
  });

  test("a second orchestration sends nothing and fetches nothing", async () => {
    await engine.control("DELETE", "/log");
    const answer = await engine.api("POST", "/api/v1/seeds/orchestrate", {});
    assert.deepEqual(answer.data, {
      files_found: files.length,
      sent: 0,
      skipped: files.length,
      finished: files.length,
    });
    assert.deepEqual((await engine.control("GET", "/log")).requests, []);
  });

  test("the state of the raw files can be listed", async () => {
    const answer = await engine.api("GET", "/api/v1/datasets/sg/news/2026-01-28");
    assert.deepEqual(
      answer.data.files.map(({ chunk, state }) => [chunk, state]),
      [
        ["raw_0001", "processed"],
        ["raw_0002", "processed"],
      ],
    );
  });

  test("with force every file and domain is processed again, each domain once", async () => {
    await engine.control("DELETE", "/log");
    const evidence = async () => {
      const dir = dirOf(domains.find((d) => d.domain === "mom.gov.sg"));
      const heads = ["robots.txt", "sitemap.xml"].map((name) => engine.env.DATASETS_BUCKET.head(dir + name));
      return (await Promise.all(heads)).map((object) => object.uploaded.getTime());
    };
    const stored = await evidence();
    const answer = await engine.api("POST", "/api/v1/seeds/orchestrate", { force: true });
    assert.deepEqual(answer.data, { files_found: files.length, sent: files.length, skipped: 0 });
    await until(
      async () => {
        for (const [key, before] of Object.entries(uploadedAt)) {
          if ((await engine.env.DATASETS_BUCKET.head(key)).uploaded.getTime() <= before) return false;
        }
        return true;
      },
      "every checkpoint to be written again",
      90,
    );
    for (const d of domains) {
      const document = await engine.json(`${dirOf(d)}domain_metadata.json`);
      assert.ok(document.revision > 1, d.domain);
      assert.deepEqual(differences(d.want, outcome(document)), [], d.domain);
    }
    assert.deepEqual(await evidence(), stored, "files that have not changed were stored again");
    const { requests } = await engine.control("GET", "/log");
    // moh.gov.sg is in two raw files of its partition: it is collected once and merged once.
    assert.equal(requests.filter((r) => r.url === "https://www.moh.gov.sg/sitemap.xml").length, 1);
  });
});
