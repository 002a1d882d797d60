// Platform operations of one news site and one raw file, counted on workerd for the engine and the peer, and the
// cost of a million domains: make bench-counts. JSON=1 prints one JSON object instead of tables.
import { buildEngine } from "../../worker/build.mjs";
import { Rows } from "../rows.mjs";
import { count, pagesOfADomain, prices, startCounted } from "../../test/e2e/counts.mjs";

buildEngine();

const { log } = console;
if (process.env.JSON) console.log = console.info = console.error; // what the harness says
const engine = await startCounted();
let ours, theirs;
try {
  const worker = engine.harness.getWorker("peer");
  ours = await count(engine, engine.worker, engine.env);
  theirs = await count(engine, worker, await worker.getEnv());
} finally {
  await engine.close();
}

const rows = new Rows("counts");
rows.report(`operations of a million news sites of ${pagesOfADomain} pages, at published prices`, "≤ 30 USD", {
  engine_usd: ours.domain.usd_per_million_domains,
  peer_usd: theirs.domain.usd_per_million_domains,
});

const labels = {
  requests: "requests to its hosts",
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
  const { read, ...price } = prices();
  const list = Object.entries(price).map(([name, usd]) => `${labels[name]} ${usd}`);
  log(`\nUSD a million, as published on ${read} (docs/scale.md): ${list.join(", ")}. CPU time is not in it.`);
}
rows.finish({ quick: false });
