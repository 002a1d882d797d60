// What operators see of a run on workerd: the workflow document's own example, the same numbers after a
// run without D1, and alarms.
import assert from "node:assert/strict";
import { after, before, describe, test } from "node:test";
import { quick, root, startEngine, until } from "./engine.mjs";

const compatibility_date = "2026-11-01";
const web = {
  name: "plannedweb",
  main: `${root}/test/workers/plannedweb.mjs`,
  compatibility_date,
  // As the sample web, and for the same reason: what it throws must be thrown in the engine.
  no_bundle: true,
};
const day = { country: "sg", category: "news", date: "2026-01-28" };
const nextDay = { ...day, date: "2026-01-29" };
const upload = ({ country, category, date }, n) => `/api/v1/datasets/${country}/${category}/${date}/raw_${String(n).padStart(4, "0")}`;
const name = (kind, n) => `${kind}-${n}.sg`;

/** Domains by kind, in an order in which the kinds are mixed. */
function domains(plan) {
  const list = Object.entries(plan).flatMap(([kind, n]) => Array.from({ length: n }, (_, i) => ({ at: (i + 0.5) / n, domain: name(kind, i) })));
  return list.sort((a, b) => a.at - b.at).map(({ domain }) => domain);
}

/** The contents of as many raw files: the domains, dealt out. */
function datasets(list, files) {
  const contents = Array.from({ length: files }, () => []);
  list.forEach((domain, i) => contents[i % files].push({ url: `https://${domain}/news/${i}`, title: `Headline ${i}`, source_type: "media" }));
  return contents.map((records) => JSON.stringify(records));
}

async function ask(engine, method, path, body) {
  const answer = await engine.api(method, path, body);
  assert.ok(answer.success, `${method} ${path}: ${JSON.stringify(answer.error)}`);
  return answer.data;
}

describe("the dashboard example of the workflow document", () => {
  // Its numbers agree with each other: every total is the sum of its parts, and the rates are shares of
  // domains_total, to two decimals.
  const documented = {
    processing_stats: {
      files_total: 150,
      files_processed: 142,
      files_failed: 3,
      files_pending: 5,
      domains_total: 1250,
      domains_processed: 1180,
      domains_failed: 25,
      domains_pending: 45,
    },
    collection_stats: {
      robots_txt_found: 1050,
      robots_txt_rate: 0.84,
      sitemap_xml_found: 890,
      sitemap_xml_rate: 0.71,
      avg_processing_time_ms: 1250,
    },
  };
  const plan = { full: 840, robots: 210, map: 50, plain: 80, down: 12, hang: 8, broken: 5, queued: 45 };
  const broken = [31, 77, 123]; // raw files
  let engine;
  let messages; // of DOMAIN_QUEUE, by kind

  before(async () => {
    engine = await startEngine({
      web,
      vars: {
        ...quick,
        ROBOTS_TIMEOUT_MS: "2000", // beyond what a busy machine needs for an answer that is there
        SITEMAP_TIMEOUT_MS: "5000",
        PAGE_TIMEOUT_MS: "5000",
        MAX_REQUESTS_PER_DOMAIN: "6", // nothing but time would be spent on more
        FAULTS: JSON.stringify([{ binding: "DATASETS_BUCKET", method: "put", match: "/broken-" }]),
      },
      change: (config) => ({
        ...config,
        main: `${root}/test/workers/plannedengine.mjs`,
        // The test delivers: domains one by one, so that the time that passes is one domain's, and some
        // not at all.
        queues: { ...config.queues, consumers: config.queues.consumers.filter((q) => !q.queue.includes("-domain-")) },
      }),
      others: [
        {
          name: "catcher",
          main: `${root}/test/workers/catcher.mjs`,
          compatibility_date,
          queues: { consumers: [{ queue: "newsfork-domain-dev", max_batch_size: 100, max_batch_timeout: 1 }] },
        },
      ],
    });
  });
  after(() => engine?.close());

  const status = (query = "") => ask(engine, "GET", `/api/v1/seeds/status${query}`);

  test("150 raw files are uploaded and 145 of them orchestrated; three are broken", async () => {
    const contents = datasets(domains(plan), 142);
    for (const n of broken) contents.splice(n - 1, 0, '[{"url":"https://cut-off.sg/');
    for (const [i, content] of contents.entries()) await ask(engine, "PUT", upload(day, i + 1), content);
    for (let n = 1; n <= 5; n++) await ask(engine, "PUT", upload(nextDay, n), '[{"url":"https://tomorrow.sg/"}]');
    assert.deepEqual(await ask(engine, "POST", "/api/v1/seeds/orchestrate", { date: day.date }), { files_found: 145, sent: 145, skipped: 0 });
    await until(async () => {
      const { files_processed, files_failed } = (await status()).processing_stats;
      return files_processed === 142 && files_failed === 3;
    }, "the files", 120);
    const caught = await until(async () => {
      const list = await (await engine.harness.getWorker("catcher").fetch("/")).json();
      return list.length === 1250 && list;
    }, "the messages of their domains");
    messages = Object.groupBy(caught, ({ body }) => JSON.parse(body).domain.split("-")[0]);
    assert.equal((await status()).processing_stats.domains_pending, 1250);
  });

  /** Delivers a batch as the platform does: what is to be retried again, then to the dead-letter queue. */
  async function deliver(batch) {
    for (let attempts = 1; batch.length > 0; attempts++) {
      assert.ok(attempts <= 5, `nobody takes ${batch.map(({ id }) => id)}`);
      const queue = attempts > 4 ? "newsfork-dlq-dev" : "newsfork-domain-dev";
      const { acked, retried } = await engine.deliver(queue, batch.map((m) => ({ ...m, attempts: queue.includes("dlq") ? 1 : attempts })));
      assert.equal(acked.length + retried.length, batch.length);
      batch = batch.filter(({ id }) => retried.some(({ msgId }) => msgId === id));
    }
  }

  test("domains are collected, or fail as planned", async () => {
    const { full, robots, map, plain, down, hang, broken: unwritten } = messages;
    const failing = async () => {
      for (const kind of [down, hang, unwritten]) for (let i = 0; i < kind.length; i += 5) await deliver(kind.slice(i, i + 5));
    };
    const healthy = async () => {
      for (const message of [...full, ...robots, ...map, ...plain]) await deliver([message]);
    };
    await Promise.all([failing(), healthy()]);
  });

  test("the status is the documented one", async () => {
    const { processing_stats, collection_stats, ...others } = await status("?by=error_type&by=partition");
    assert.deepEqual({ processing_stats, collection_stats }, documented);
    assert.deepEqual(others.errors, [
      { error_type: "network_error", files: 0, domains: 12 },
      { error_type: "timeout_error", files: 0, domains: 8 },
      { error_type: "storage_error", files: 0, domains: 5 },
      { error_type: "parse_error", files: 3, domains: 0 },
    ]);
    assert.deepEqual(others.dead_letters, { stored: 8, replayed: 0, discarded: 0 });
    assert.deepEqual(others.partitions.map((p) => [p.partition_info.date, p.processing_stats.files_total, p.processing_stats.domains_total]), [["2026-01-29", 5, 0], ["2026-01-28", 145, 1250]]);
    assert.deepEqual(others.alarms.map(({ name: alarm, state, value }) => [alarm, state, value]), [
      ["file_failures", "ok", 2.1],
      ["domain_failures", "ok", 2.1],
      ["slow_domains", "ok", 1250],
      ["dead_letters", "ok", 8],
    ]);
  });
});

describe("D1 fails on every call", () => {
  const plan = { full: 12, robots: 6, map: 4, plain: 4, down: 3 };
  let engine;
  before(async () => {
    engine = await startEngine({
      web,
      change: (config) => ({
        ...config,
        main: `${root}/test/workers/plannedengine.mjs`,
        queues: { ...config.queues, consumers: config.queues.consumers.map((q) => ({ ...q, max_batch_size: 1 })) }, // for the planned clock
      }),
    });
  });
  after(() => engine?.close());

  const d1 = async (state) => (await engine.worker.fetch(`https://inside.invalid/?d1=${state}`, { method: "PUT" })).json();
  const numbers = async ({ date }) => {
    const { processing_stats, collection_stats, domains_excluded } = await ask(engine, "GET", `/api/v1/seeds/status?date=${date}`);
    return { processing_stats, collection_stats, domains_excluded };
  };

  /** Has the partition's files processed, one of which is broken, until nothing is left to do. */
  async function run(partition) {
    const contents = [...datasets(domains(plan), 4), "[{"];
    for (const [i, content] of contents.entries()) await ask(engine, "PUT", upload(partition, i + 1), content);
    assert.equal((await ask(engine, "POST", "/api/v1/seeds/orchestrate", partition)).sent, 5);
    const { country, category, date } = partition;
    const count = async (prefix, end) => (await engine.keys(prefix)).filter((key) => key.endsWith(end)).length;
    const place = `country=${country}/category=${category}/date=${date}/`;
    await until(async () => (await count(`raw/${place}`, ".success")) === 4, "the checkpoints of the files", 60);
    await until(async () => (await count(`prod/${place}`, "/domain_metadata.json.success")) === 29, "the checkpoints of the domains", 120);
    await until(async () => {
      const letters = await Promise.all((await engine.keys("dlq/")).map((key) => engine.json(key)));
      return letters.some((l) => l.original_message.file_path?.includes(place));
    }, "the dead letter of the broken file", 60);
  }

  test("the pipeline ends with all checkpoints, and reconcile brings the same status as with D1", async () => {
    await run(day);
    const whole = await until(async () => {
      const now = await numbers(day);
      return now.processing_stats.files_failed === 1 && now.processing_stats.domains_pending === 0 && now;
    }, "the end of the run with D1");
    assert.deepEqual(whole, {
      processing_stats: { files_total: 5, files_processed: 4, files_failed: 1, files_pending: 0, domains_total: 29, domains_processed: 26, domains_failed: 3, domains_pending: 0 },
      collection_stats: { robots_txt_found: 18, robots_txt_rate: 0.62, sitemap_xml_found: 16, sitemap_xml_rate: 0.55, avg_processing_time_ms: 1250 },
      domains_excluded: 0,
    });

    assert.equal(await d1("away"), 0);
    await run(nextDay);
    const { status, error } = await engine.api("GET", "/api/v1/seeds/status");
    assert.deepEqual([status, error.code], [503, "storage_error"]);
    assert.ok((await d1("here")) > 30, "D1 was hardly called");
    assert.equal((await numbers(nextDay)).processing_stats.domains_total, 0);

    let answer;
    do answer = await ask(engine, "POST", "/api/v1/seeds/reconcile", { ...nextDay, ...(answer?.cursor && { cursor: answer.cursor }) });
    while (!answer.done);
    assert.deepEqual(await numbers(nextDay), whole);
    assert.deepEqual(await numbers(day), whole);
  });
});

describe("an operator's hand on the pipeline", () => {
  let engine;
  before(async () => {
    engine = await startEngine({
      web,
      vars: { ...quick, ALERT_WEBHOOK_URL: "https://hooks.invalid/alarms" },
      change: (config) => ({ ...config, main: `${root}/test/workers/plannedengine.mjs` }),
    });
  });
  after(() => engine?.close());

  const control = async (method = "GET", query = "") => (await engine.web.fetch(`https://control.invalid/${query}`, { method })).json();
  const numbers = async () => (await ask(engine, "GET", "/api/v1/seeds/status")).processing_stats;

  test("paused, nothing is done and nothing is lost; excluded, a domain is never asked", async () => {
    assert.equal((await ask(engine, "POST", "/api/v1/pipeline/pause", { reason: "the test" })).paused, true);
    await ask(engine, "PUT", "/api/v1/exclusions/domain/full-1.sg", { reason: "asked by its owner" });
    const [content] = datasets(domains({ full: 4, down: 1 }), 1);
    await ask(engine, "PUT", `${upload(day, 1)}?orchestrate=true`, content);
    await until(() => engine.events("messages_held_back").length >= 2 || null, "the message to be held back twice");
    assert.deepEqual(await numbers(), { files_total: 1, files_processed: 0, files_failed: 0, files_pending: 1, domains_total: 0, domains_processed: 0, domains_failed: 0, domains_pending: 0 });
    assert.deepEqual((await control()).asked, []);

    await ask(engine, "POST", "/api/v1/pipeline/resume");
    await until(async () => {
      const { domains_processed, domains_failed } = await numbers();
      return domains_processed === 3 && domains_failed === 1;
    }, "the domains", 60);
    assert.equal((await ask(engine, "GET", "/api/v1/seeds/status")).domains_excluded, 1);
    assert.deepEqual((await control()).asked.toSorted(), ["down-0.sg", "full-0.sg", "full-2.sg", "full-3.sg"]);
    assert.equal(await engine.json("prod/country=sg/category=news/date=2026-01-28/full-1.sg/domain_metadata.json"), null);
  });

  test("a domain that was down is collected again when it is up, with its URLs", async () => {
    const show = () => ask(engine, "GET", "/api/v1/seeds/domains/down-0.sg");
    const { record, document } = await show();
    assert.deepEqual([record.state, document.reachable, document.revision], ["failed", false, 1]);
    await control("PUT", "?up=down-0.sg");
    const queued = await ask(engine, "POST", "/api/v1/seeds/domains/down-0.sg/collect");
    assert.deepEqual([queued.domain, queued.partition_info], ["down-0.sg", day]);
    const found = await until(async () => {
      const now = await show();
      return now.record.state === "processed" && now;
    }, "its collection");
    assert.deepEqual([found.document.reachable, found.document.revision, found.document.technical_metadata.sitemap_xml.url_count], [true, 2, 3]);
    assert.deepEqual(found.document.urls.map(({ url, title }) => [url, title]), document.urls.map(({ url, title }) => [url, title]));
    assert.deepEqual(found.document.source, document.source);
    assert.equal((await engine.api("POST", "/api/v1/seeds/domains/full-1.sg/collect")).error.code, "excluded");
  });

  test("an alarm is told once, again where the webhook did not take it, and its end", async () => {
    const cron = async () => assert.equal((await engine.worker.scheduled({ cron: "* * * * *", scheduledTime: new Date() })).outcome, "ok");
    const told = async () => (await control()).posted.map(({ taken, body }) => [body.alarm, body.state, body.value, taken]);
    const finish = async (plan, from) => {
      const list = Object.entries(plan).flatMap(([kind, n]) => Array.from({ length: n }, (_, i) => name(kind, from + i)));
      for (let i = 0; i < list.length; i += 5) {
        const bodies = list.slice(i, i + 5).map((domain) => ({ id: domain, attempts: 4, body: { domain, urls: [{ url: `https://${domain}/` }], partition_info: day, source_file_path: "raw/country=sg/category=news/date=2026-01-28/raw_0001.json" } }));
        assert.equal((await engine.deliver("newsfork-domain-dev", bodies)).acked.length, bodies.length);
      }
    };
    await cron();
    assert.deepEqual(await told(), []); // four domains are too few to tell

    await finish({ full: 15, down: 2 }, 10); // 3 of 22 failed: down-0.sg finished twice
    await control("PUT", "?refuse=1");
    for (let i = 0; i < 3; i++) await cron();
    const firing = ["domain_failures", "firing", 13.6];
    assert.deepEqual(await told(), [[...firing, false], [...firing, true]]);
    const { posted: [first, second] } = await control();
    assert.deepEqual(first.body, second.body);
    assert.deepEqual([first.key, second.key], [first.body.id, first.body.id]);
    const { alarms } = await ask(engine, "GET", "/api/v1/seeds/status");
    assert.deepEqual(alarms.filter((a) => a.state === "firing").map((a) => a.name), ["domain_failures"]);

    await finish({ full: 10 }, 30); // 3 of 32
    for (let i = 0; i < 2; i++) await cron();
    assert.deepEqual((await told()).slice(2), [["domain_failures", "ok", 9.4, true]]);
  });
});
