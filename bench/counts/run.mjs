// Platform operations of one news site and one raw file, counted on workerd for the engine and the peer, and the
// cost of a million domains: make bench-counts. Beside them what probes take, the pages that are read to learn the types of
// others. JSON=1 prints one JSON object instead of tables.
import { execFileSync } from "node:child_process";
import { join } from "node:path";
import { buildEngine } from "../../worker/build.mjs";
import { root, Rows } from "../rows.mjs";
import { count, countProbes, pagesOfADomain, prices, startCounted } from "../../test/e2e/counts.mjs";

buildEngine();

const { log } = console;
if (process.env.JSON) console.log = console.info = console.error; // what the harness says
const engine = await startCounted();
let ours, theirs, ofKeys;
try {
  const worker = engine.harness.getWorker("peer");
  ours = await count(engine, engine.worker, engine.env);
  theirs = await count(engine, worker, await worker.getEnv());
  ofKeys = await countProbes(engine);
} finally {
  await engine.close();
}

/** The CPU time in ms to choose, read and judge three pages of 128 KB, in WebAssembly. */
function msOfProbes() {
  const goroot = execFileSync("go", ["env", "GOROOT"], { encoding: "utf8" }).trim();
  const output = execFileSync(
    "go",
    ["test", "-exec", join(goroot, "lib/wasm/go_js_wasm_exec")].concat([
      "./discovery",
      "-run",
      "^$",
      "-bench",
      "^BenchmarkProbes$",
      "-benchtime",
      "200x",
    ]),
    { cwd: root, encoding: "utf8", env: { ...process.env, GOOS: "js", GOARCH: "wasm" } },
  );
  return Number(/([\d.]+) ms\/domain/.exec(output)[1]);
}

const probes = { ...ofKeys, cpu_ms: msOfProbes() };
const rows = new Rows("counts");
rows.report(`operations of a million news sites of ${pagesOfADomain} pages, at published prices`, "≤ 30 USD", {
  engine_usd: ours.domain.usd_per_million_domains,
  peer_usd: theirs.domain.usd_per_million_domains,
});

const labels = {
  requests: "requests to its hosts",
  probes: "probes among them",
  worker_requests: "events of the Worker",
  subrequests: "subrequests",
  r2_class_a: "R2 class A",
  r2_class_b: "R2 class B",
  d1_queries: "D1 statements",
  d1_rows_written: "D1 rows written",
  d1_rows_read: "D1 rows read",
  queue_operations: "queue operations",
  do_requests: "Durable Object requests",
  do_rows_written: "Durable Object rows written",
  do_rows_read: "Durable Object rows read",
  crossings: "calls from Go into JavaScript",
  bytes_to_go: "bytes to Go",
  bytes_from_go: "bytes from Go",
  usd_per_million_domains: "**USD a million domains**",
};

if (process.env.JSON) {
  log(
    JSON.stringify({
      ...ours.domain,
      file: ours.file,
      undecided: probes,
      peer: { ...theirs.domain, file: theirs.file },
      prices: prices(),
    }),
  );
} else {
  const cell = (counts, name) => (counts[name] === undefined ? "–" : counts[name].toLocaleString("en"));
  log(`A news site of ${pagesOfADomain} pages, and a raw file without its domains.\n`);
  log("| | domain | the peer's way | file | the peer's way |\n| --- | --- | --- | --- | --- |");
  for (const [name, label] of Object.entries(labels))
    log(
      `| ${label} | ${[ours.domain, theirs.domain, ours.file, theirs.file].map((counts) => cell(counts, name)).join(" | ")} |`,
    );
  log(
    `\nOf a site of ${pagesOfADomain} pages whose URLs do not show their types: ${probes.requests} requests, of which ${probes.probes} are probes. ` +
      `Three probes of 128 KB take ${probes.cpu_ms.toFixed(0)} ms of CPU in WebAssembly.`,
  );
  const { read, ...price } = prices();
  const list = Object.entries(price).map(([name, usd]) => `${labels[name]} ${usd}`);
  log(`\nUSD a million, as published on ${read} (docs/scale.md): ${list.join(", ")}. CPU time is not in it.`);
}
rows.finish({ quick: false });
