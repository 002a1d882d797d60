// A crawl of the frontier natively, with a clock of its own: node bench/frontier/crawl.mjs [--quick]
//
// 200 scrapers fetch 1,000,000 URLs of 50,000 hosts, and some scrapers die. Fails if any request was
// impolite, or a figure misses its goal.
import { spawnSync } from "node:child_process";
import { resolve } from "node:path";
import { fileURLToPath } from "node:url";
import { Rows } from "../rows.mjs";

const root = resolve(fileURLToPath(new URL("../..", import.meta.url)));
const quick = process.argv.includes("--quick"); // the crawl that is a test, without figures

function go(...args) {
  const { status, stdout, stderr } = spawnSync(
    "go",
    ["test", "./frontier/shard", "-count=1", "-timeout=60m", ...args],
    {
      cwd: root,
      encoding: "utf8",
    },
  );
  if (status !== 0) throw new Error(`go test ${args.join(" ")}: ${stdout}${stderr}`);
  return stdout;
}

/** The measurements: unit in the benchmark, name here, and maximum (null without one). */
const goals = [
  ["violations", "requests that were impolite", 0],
  ["oldest-wait-s", "longest wait of a host that was ready, seconds", null],
  ["lease100-ms", "lease of 100 URLs of 100 hosts, ms", 10],
  ["lease100-p95-ms", "its 95 %, ms", null],
  ["report-ms", "its report, ms", null],
  ["bytes/URL", "bytes stored a URL", 100],
  ["rows/URL", "rows written a URL leased and reported; every other scraper takes five of a host", 2.2],
];

const rows = quick ? [] : simulated();
const counted = go("-v", "-run", quick ? "TestRows|TestSimulation" : "TestRows");
for (const [, what, got, most] of counted.matchAll(/: (rows [^:\n]*): ([\d.]+) \(at most ([\d.]+)\)/g))
  rows.push([what, Number(got), Number(most)]);
if (rows.length === 0) throw new Error(`nothing was measured: ${counted}`);

const measured = new Map(rows.map(([what, got]) => [what, got]));
if (!quick) {
  const table = new Rows("crawl");
  const of = (unit) => measured.get(goals.find(([name]) => name === unit)[1]);
  const urls = "1,000,000 URLs on 50,000 hosts, 200 scrapers";
  table.report(`a lease of 100 URLs natively, of ${urls}`, "≤ 10 ms", { engine_ms: of("lease100-ms") });
  table.report("impolite requests in this run", "≤ 0", { engine: of("violations") });
  table.report("rows written for each of these URLs, leased and reported", "≤ 2.2", { engine: of("rows/URL") });
  table.report("bytes stored for each of them", "≤ 100", { engine: of("bytes/URL") });
  table.finish({ quick });
}
console.log("| what | measured | goal |\n| --- | --- | --- |");
for (const [what, got, most] of rows) {
  const missed = most !== null && got > most;
  if (missed) process.exitCode = 1;
  console.log(`| ${what} | ${got} | ${most === null ? "–" : `≤ ${most}${missed ? ": missed" : ""}`} |`);
}

function simulated() {
  const output = go("-run", "^$", "-bench", "^BenchmarkSimulation$", "-benchtime", "1x");
  console.log(`${output.match(/\d+ leases .*/)[0]}\n`);
  const figures = new Map(
    [...output.match(/^BenchmarkSimulation.*$/m)[0].matchAll(/([\d.]+) (\S+)/g)].map(([, n, unit]) => [
      unit,
      Number(n),
    ]),
  );
  return goals.map(([unit, what, most]) => [what, figures.get(unit), most]);
}
