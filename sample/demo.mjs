// The demo: uploads raw files, orchestrates, shows what was collected and where it lies. It ends
// with exit code 0 only if everything came out as it should.
//
//   node sample/demo.mjs                              the sample, on the sample web: expected.json
//                                                     says what must come out
//   LIVE=1 RAW="a.json b.json" node sample/demo.mjs   these raw files, on the real web: every
//                                                     domain must end with a document
//   KEEP=1 node sample/demo.mjs                       goes on after the first results, to be looked
//                                                     at in the dashboard, until Ctrl-C
//   PORT=9000 KEEP=1 node sample/demo.mjs             the same at this port, rather than at 8787 if that is free
//   TOKENS=1 KEEP=1 node sample/demo.mjs              the same with a token of each kind, which it prints
//
// What the sample run stored stays in build/demo. A second run with the same engine and sample finds
// nothing left to send, also if it is interrupted.
import { createHash, randomBytes } from "node:crypto";
import { existsSync, mkdirSync, readFileSync, readdirSync, rmSync, writeFileSync } from "node:fs";
import { join, relative, resolve } from "node:path";
import { scheduler, setTimeout as sleep } from "node:timers/promises";
import { contradictions, differences, outcome } from "./outcome.mjs";
import { freePort, root, sampleVars, sampleWeb, startEngine } from "./local.mjs";
import { endProgress, failure, findings, good, plural, progress, results, step, table } from "./report.mjs";
import { contentOf } from "./web/origin.mjs";
import { startProxy } from "./web/proxy.mjs";

const live = process.env.LIVE === "1";
const keep = process.env.KEEP === "1";
const usualPort = 8787; // seedctl and the clients look there
const proxyPort = 8790; // as of make web
const { PORT: named = "" } = process.env;
const cronSeconds = 10; // of KEEP=1; deployed, the cron runs every minute
const sample = join(root, "sample");
const tokenUses = {
  API_TOKEN: "may do everything",
  READ_TOKEN: "may read: dashboards, Prometheus",
  SCRAPER_TOKEN: "may lease pages and report them",
};

// The real web is asked as politely as in production; only what waits for a recovery is shorter.
const liveVars = { FETCH_RETRY_BASE_MS: "250", RETRY_DELAY_SECONDS: "1" };

const stalled = live ? 300_000 : 60_000; // milliseconds without progress after which a run has failed

/** The run did not come out as it should; the message is for the user. */
class Unexpected extends Error {}

let dir; // generated configuration, state and log of this run
let engine;
let earlierLetters; // keys of the dead letters of earlier runs, which their user handles or leaves

let leave = () => process.exit(130); // this ends the engine too
for (const signal of ["SIGINT", "SIGTERM"]) process.once(signal, () => leave());
try {
  await main();
} catch (err) {
  failure(err instanceof Unexpected ? err.message : err.stack, dir && join(dir, "worker.log"));
  if (dir) setComplete(false);
  process.exitCode = 1;
} finally {
  await engine?.stop();
}
if (dir) {
  if (!process.exitCode) setComplete(true);
  rmSync(join(dir, "pid"), { force: true });
}
process.exit(); // a site that never answers a scraper must not hold this up

async function main() {
  const files = live ? namedFiles(process.env.RAW ?? "") : sampleFiles();
  const expected = live ? null : JSON.parse(readFileSync(join(sample, "expected.json"))).partitions;
  const port = await enginePort();
  dir = directory();
  const tokens = process.env.TOKENS === "1" ? newTokens() : {};
  step("start", "wrangler dev, with simulated R2, queues and D1");
  engine = await startEngine({
    dir,
    vars: { ...(live ? liveVars : sampleVars), ...tokens },
    web: live ? undefined : sampleWeb,
    port,
  });
  step("engine", `${engine.url}; it asks ${live ? "the real web" : "the sample web"}`);

  earlierLetters = new Set((await engine.list("dlq/")).map((o) => o.key));
  for (const file of files) await upload(file);
  await orchestrate("orchestrate", {});
  const documents = await read();
  table(documents, expected);
  findings(documents);
  const keys = (await engine.list("prod/")).map((o) => o.key);
  results(`R2 bucket ${engine.bucket}, simulated in ${relative(root, join(dir, "state"))}`, keys, documents);
  await complete(files);
  setComplete(true);
  if (keep) {
    const proxy = live ? null : await startProxy(await webInThisProcess(), await freePort(proxyPort));
    if (proxy) {
      const taken = proxy.url.endsWith(`:${proxyPort}`) ? "" : ` (port ${proxyPort} is taken)`;
      const about = "for the scrapers of examples/ (its certificate is signed by nobody: curl -k)";
      step("proxy", `${proxy.url} leads to the sample web, ${about}${taken}`);
    }
    if (!engine.url.endsWith(`:${usualPort}`))
      step("seedctl", `export SEED_API_URL=${engine.url}${named ? "" : ` (port ${usualPort} is taken)`}`);
    for (const [name, token] of Object.entries(tokens)) step("token", `${name}=${token}  ${tokenUses[name]}`);
    step("crons", `run every ${cronSeconds} seconds`);
    engine.everyFew(cronSeconds);
    const token = tokens.API_TOKEN ? "with one of the tokens" : "without a token";
    step("dashboard", `${engine.url}/dashboard, ${token}; Ctrl-C ends it`);
    const lost = await Promise.race([new Promise((asked) => (leave = () => asked())), engine.lost()]);
    proxy?.stop();
    if (lost) throw new Unexpected(`the engine has ended: ${lost}; the next run begins anew`);
    return;
  }
  if (live) return;

  await judge(documents, expected);
  const before = await stored();
  await orchestrate("again", {}, { sent: 0, skipped: files.length });
  await sleep(2000); // in which a message that should not be there would arrive
  if ((await stored()) !== before) throw new Unexpected("the second orchestration changed what is stored");
  good("a second orchestration sends nothing and changes nothing");

  setComplete(false); // force does everything again: what it leaves half done is of no use

  await orchestrate("force", { force: true }, { sent: files.length, skipped: 0 });
  judgeFiles(expected);
  const redone = await read();
  await judge(redone, expected);
  for (const [dir, document] of redone) {
    if (document.revision <= documents.get(dir).revision)
      throw new Unexpected(`${dir} is still revision ${document.revision}: force did not redo it`);
  }
  good(`force redoes all ${redone.size} documents`);
  await refreshes();
}

/** The sample web once more: Wrangler lets nobody but the engine reach the one beside it. */
async function webInThisProcess() {
  globalThis.scheduler ??= scheduler; // workerd has it
  const { default: web } = await import("./web/web.mjs");
  return (url, init) => web.fetch(new Request(url, init));
}

// ---- what goes on by itself

/**
 * A second engine, whose entry points are asked again after seconds: of a paper that publishes four articles a second each
 * article must be in the feed once; one that is silent must cost answers without content, ever more rarely.
 */
async function refreshes() {
  const [live, still] = ["daily-press.sg", "still-gazette.sg"];
  const wanted = 40;
  await engine.stop();
  const home = join(dir, "alive");
  rmSync(home, { recursive: true, force: true, maxRetries: 5 });
  engine = await startEngine({
    dir: home,
    vars: { ...sampleVars, MIN_REFRESH_SECONDS: "2", MAX_REFRESH_SECONDS: "8" },
    web: sampleWeb,
  });
  step("refresh", `${live} publishes four articles a second, ${still} nothing; asked again after 2 to 8 seconds`);
  const body = [live, still].map((domain) => ({ url: `https://${domain}/`, source_type: "media" }));
  const { status, error } = await engine.api("PUT", "/api/v1/datasets/sg/live/2026-01-28/raw_0001", body);
  if (status !== 201) throw new Unexpected(`upload of the papers: ${status} ${error?.message}`);
  await orchestrate("orchestrate", {}, { sent: 1 });

  const asked = () => engine.log.events("refresh_complete").filter((e) => e.registrable_domain === still);
  const found = new Map(); // when, by URL
  for (let cursor = "", began = Date.now(); found.size < wanted || asked().length < 3; await sleep(500)) {
    if (Date.now() - began > stalled) throw new Unexpected(`only ${plural(found.size, "article")} in the feed`);
    const { data } = await engine.api("GET", `/api/v1/feed?limit=200&cursor=${cursor}`);
    for (const item of data.items) {
      if (found.has(item.url)) throw new Unexpected(`${item.url} is in the feed twice`);
      if (item.domain !== live) throw new Unexpected(`${item.url} is in the feed, but is not new`);
      found.set(item.url, Date.parse(item.found_at) - Date.parse(item.lastmod));
    }
    cursor = data.next_cursor;
    if (data.items.length) progress(`${plural(found.size, "article")} in the feed`);
  }
  endProgress();
  const late = [...found.values()].sort((a, b) => a - b)[found.size >> 1];
  good(`${found.size} articles are in the feed, each once, half of them within ${Math.ceil(late / 1000)} s`);
  const checks = asked();
  if (checks.some((e) => e.status !== 304)) throw new Unexpected(`${still} answered a refresh with content`);
  good(
    `${still} was asked ${plural(checks.length, "time")} and sent nothing, next after ${checks.at(-1).interval_seconds} s`,
  );
  await noDeadLetters();
}

// ---- input

function sampleFiles() {
  return readdirSync(join(sample, "raw"), { recursive: true })
    .filter((path) => path.endsWith(".json"))
    .sort()
    .map((path) => rawFile(join(sample, "raw", path)));
}

function namedFiles(list) {
  const paths = list.split(/\s+/).filter(Boolean);
  if (paths.length === 0) throw new Unexpected('name the raw files: LIVE=1 RAW="file.json …"');
  for (const path of paths) if (!existsSync(path)) throw new Unexpected(`${path} is not there; RAW lists raw files`);
  return paths.map((path, i) => rawFile(resolve(path), i + 1));
}

/** A file's place in the bucket: what its path says, else a partition for trials. */
function rawFile(path, number) {
  const said = path.match(/country=([a-z]{2})\/category=([^/]+)\/date=([^/]+)\/(raw_\d+)\.json$/);
  const [country, category, date, chunk] = said?.slice(1) ?? [
    "zz",
    "live",
    new Date().toISOString().slice(0, 10),
    `raw_${String(number).padStart(4, "0")}`,
  ];
  return {
    path,
    chunk,
    partition: `country=${country}/category=${category}/date=${date}`,
    route: `/api/v1/datasets/${country}/${category}/${date}`,
  };
}

/** The port of the engine: the one that was asked for, else one that startEngine may change. */
async function enginePort() {
  if (!named) return keep ? usualPort : 0;
  const port = Number(named);
  if (!/^[0-9]+$/.test(named) || port < 1 || port > 65535)
    throw new Unexpected(`PORT=${named} is no port; 9000 is one`);
  if (!(await freePort(port))) throw new Unexpected(`port ${port} is taken: make demo PORT=9000 takes another`);
  return port;
}

/**
 * Where this run keeps its files. A complete run of the same engine and sample is continued;
 * what other runs left is removed.
 */
function directory() {
  const home = join(root, "build/demo");
  const kind = live ? "live" : "sample-";
  const name = live ? kind : kind + fingerprint();
  for (const old of existsSync(home) ? readdirSync(home).filter((d) => d.startsWith(kind)) : []) {
    const { complete, running } = stateOf(join(home, old));
    if (running && old === name)
      throw new Unexpected(
        `process ${running} runs a demo in build/demo/${name}: wait for its end, or end it with kill ${running}`,
      );
    if (running || (!live && old === name && complete)) continue;
    if (old === name && !live) step("start", "the last run was interrupted half-way: begun anew");
    rmSync(join(home, old), { recursive: true, force: true, maxRetries: 5 });
  }
  mkdirSync(join(home, name), { recursive: true });
  writeFileSync(join(home, name, "pid"), String(process.pid));
  return join(home, name);
}

/** What became of the run in a directory: whether all its domains have their documents, and its process if it goes on. */
function stateOf(dir) {
  const complete = existsSync(join(dir, "complete"));
  try {
    const running = Number(readFileSync(join(dir, "pid"), "utf8"));
    process.kill(running, 0);
    return { complete, running };
  } catch {
    return { complete, running: null }; // no file, or no such process
  }
}

/** Says whether another run can go on from what is stored now. */
function setComplete(complete) {
  const mark = join(dir, "complete");
  if (complete) writeFileSync(mark, "");
  else rmSync(mark, { force: true });
}

/** A token of each kind, new in every run. */
function newTokens() {
  return Object.fromEntries(Object.keys(tokenUses).map((name) => [name, randomBytes(16).toString("hex")]));
}

/** Changes with the engine and the sample. */
function fingerprint() {
  const hash = createHash("sha256").update(readFileSync(join(root, "wrangler.jsonc")));
  for (const dir of ["sample", "build/worker", "ledger/migrations"]) {
    for (const entry of readdirSync(join(root, dir), { recursive: true, withFileTypes: true }).filter((e) =>
      e.isFile(),
    )) {
      const path = join(entry.parentPath, entry.name);
      if (!path.includes(".wrangler")) hash.update(path).update(readFileSync(path));
    }
  }
  return hash.digest("hex").slice(0, 8);
}

// ---- the run

async function upload({ path, partition, route, chunk }) {
  const body = readFileSync(path);
  const { status, error } = await engine.api("PUT", `${route}/${chunk}`, body);
  if (status !== 201 && status !== 409) throw new Unexpected(`upload of ${path}: ${status} ${error?.message}`);
  step(
    "upload",
    `raw/${partition}/${chunk}.json  ${body.length.toLocaleString("en")} bytes${status === 409 ? "  (is there already)" : ""}`,
  );
}

/** Runs step 1, checks what it answers, and waits until all that it started is done. */
async function orchestrate(name, body, wanted = {}) {
  const start = work();
  const { status, data, error } = await engine.api("POST", "/api/v1/seeds/orchestrate", body);
  if (status !== 200) throw new Unexpected(`${name}: ${status} ${error?.message}`);
  step(name, `${plural(data.files_found, "raw file")} found, ${data.sent} sent, ${data.skipped} skipped`);
  const wrong = differences(wanted, data);
  if (wrong.length) throw new Unexpected(`${name}: ${wrong.join("; ")}`);
  if (data.sent === 0) return;

  let last;
  for (let changed = Date.now(); ; await sleep(500)) {
    const now = work();
    const [files, sent, done] = [now.files - start.files, now.sent - start.sent, now.done - start.done];
    const line = `${files} of ${plural(data.sent, "file")}, ${done} of ${plural(sent, "domain message")}`;
    if (line !== last) {
      last = line;
      changed = Date.now();
      progress(line);
    }
    if (files >= data.sent && done >= sent) break;
    await noDeadLetters();
    if (Date.now() - changed > stalled) throw new Unexpected(`nothing happened for ${stalled / 1000} s after ${line}`);
  }
  endProgress();
  await noDeadLetters();
}

/** Progress according to the log: files, messages sent for their domains, messages processed. */
function work() {
  const processed = engine.log.events("file_processing_complete");
  return {
    files: processed.length,
    sent: processed.reduce((n, e) => n + e.domains_sent, 0),
    done: engine.log.events("domain_collector_complete").length,
  };
}

async function noDeadLetters() {
  const [first, ...more] = (await engine.list("dlq/")).filter((o) => !earlierLetters.has(o.key));
  if (!first) return;
  const { error_info: why } = await engine.json(first.key);
  throw new Unexpected(
    `${plural(more.length + 1, "message")} given up; the first as ${first.key}: ${why.error_message}`,
  );
}

/** Every raw file must be processed, and every domain have its checkpoint. */
async function complete(files) {
  for (const route of new Set(files.map((f) => f.route))) {
    const { data } = await engine.api("GET", route);
    const pending = data.files.filter((f) => f.state !== "processed");
    if (pending.length) throw new Unexpected(`${pending[0].key} is ${pending[0].state}`);
  }
  const keys = new Set((await engine.list("prod/")).map((o) => o.key));
  const dirs = new Set([...keys].map((key) => key.split("/").slice(0, 5).join("/")));
  for (const dir of dirs) {
    for (const name of ["domain_metadata.json", "domain_metadata.json.success"]) {
      if (!keys.has(`${dir}/${name}`)) throw new Unexpected(`${dir}/${name} is missing`);
    }
  }
  good(`all ${plural(files.length, "raw file")} and ${plural(dirs.size, "domain")} are done`);
}

/** All documents, by the directory they lie in. */
async function read() {
  const documents = new Map();
  for (const { key } of await engine.list("prod/")) {
    if (key.endsWith("/domain_metadata.json"))
      documents.set(key.slice(0, key.lastIndexOf("/")), await engine.json(key));
  }
  return documents;
}

/** A text that changes when any stored object is written. */
async function stored() {
  return (await engine.list("")).map((o) => `${o.key} ${o.etag} ${o.last_modified}`).join("\n");
}

// ---- what must come out

/** Compares what the log says of the raw files, when they were last processed, with the expectation. */
function judgeFiles(expected) {
  const counted = new Map(engine.log.events("domains_extracted").map((e) => [e.file_path, e]));
  const wrong = Object.entries(expected).flatMap(([partition, { files }]) =>
    Object.entries(files).flatMap(([chunk, counts]) => {
      const key = `raw/${partition}/${chunk}.json`;
      return differences(counts, counted.get(key) ?? {}, `${key}: `);
    }),
  );
  if (wrong.length) throw new Unexpected(`not as expected:\n  ${wrong.join("\n  ")}`);
  good("the raw files contain the expected records, bad records and domains");
}

/** Compares documents with the expectation, and the evidence with what the web serves. */
async function judge(documents, expected) {
  const wanted = new Map(
    Object.entries(expected).flatMap(([partition, { domains }]) =>
      Object.entries(domains).map(([domain, expectation]) => [`prod/${partition}/${domain}`, expectation]),
    ),
  );
  const wrong = [];
  for (const dir of new Set([...wanted.keys(), ...documents.keys()])) {
    if (!wanted.has(dir)) wrong.push(`${dir} is there, but nothing asked for it`);
    else if (!documents.has(dir)) wrong.push(`${dir} has no document`);
    else
      wrong.push(
        ...differences(wanted.get(dir), outcome(documents.get(dir)), `${dir}: `),
        ...contradictions(documents.get(dir)).map((line) => `${dir}: ${line}`),
        ...(await evidence(dir, documents.get(dir))),
      );
  }
  if (wrong.length) throw new Unexpected(`not as expected:\n  ${wrong.join("\n  ")}`);
  good(`${documents.size} documents say what they should, and the evidence beside them is what the origins sent`);
}

/** What is wrong with the robots.txt and sitemap.xml of a document. */
async function evidence(dir, { robots, sitemap, technical_metadata: technical }) {
  const { effective_host: host, supports_https: https } = technical.server_info;
  const files = [
    { name: "robots.txt", url: `${https ? "https" : "http"}://${host}/robots.txt`, ...technical.robots_txt, ...robots },
    { name: "sitemap.xml", ...technical.sitemap_xml, ...sitemap },
  ];
  const wrong = [];
  for (const { name, url, exists, sha256 } of files) {
    const bytes = await engine.read(`${dir}/${name}`);
    if (!exists !== !bytes)
      wrong.push(`${dir}/${name} is ${bytes ? "stored, but does not exist" : "not stored, but exists"}`);
    if (!exists || !bytes) continue;
    if (!Buffer.from(contentOf(url)).equals(bytes)) wrong.push(`${dir}/${name} is not what ${url} serves`);
    if (createHash("sha256").update(bytes).digest("hex") !== sha256)
      wrong.push(`${dir}/${name} has another SHA-256 than the document says`);
  }
  return wrong;
}
