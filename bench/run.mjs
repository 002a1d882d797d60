// make bench: the runtime, the parsers, the pipeline, also on slow stores, its costs, the operators' questions and the frontier, each a table.
import { spawnSync } from "node:child_process";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";

const here = dirname(fileURLToPath(import.meta.url));
const root = dirname(here);
const quick = process.argv.includes("--quick");

let failed = false;
function run(title, command, args, env = {}) {
  console.log(`\n## ${title}\n`);
  const { status } = spawnSync(command, args, { cwd: root, stdio: "inherit", env: { ...process.env, ...env } });
  failed ||= status !== 0;
}

run("Runtime: a warm GET /health on one workerd", process.execPath, [
  join(here, "runtime/run.mjs"),
  ...(quick ? ["10"] : []),
]);

run("Routes beside a plain-JavaScript Worker, and the first request of an isolate", process.execPath, [
  join(here, "routes/run.mjs"),
  ...(quick ? ["--quick"] : []),
]);

run("Parsers and the classifier", process.execPath, [join(here, "parsers.mjs"), ...(quick ? ["--quick"] : [])]);

run("What the module weighs", process.execPath, [join(here, "module.mjs")]);

run("Pipeline against the documents' own pseudo-code", process.execPath, [
  join(here, "pipeline/run.mjs"),
  ...(quick ? ["--quick"] : []),
]);

run("The pipeline on stores as far away as in production", process.execPath, [
  join(here, "latency/run.mjs"),
  ...(quick ? ["--quick"] : []),
]);

run("What a domain and a file ask of the platform", process.execPath, [join(here, "counts/run.mjs")]);

run("A shard of the frontier on workerd", process.execPath, [
  join(here, "frontier/run.mjs"),
  ...(quick ? ["--quick"] : []),
]);

run("What a page costs a shard of the frontier", process.execPath, [
  join(here, "frontier/pages.mjs"),
  ...(quick ? ["--quick"] : []),
]);

run("What operators ask, with a million domains in D1", process.execPath, [
  join(here, "status/run.mjs"),
  ...(quick ? ["--quick"] : []),
]);

run("The frontier natively: 200 scrapers, a million URLs of 50,000 hosts", process.execPath, [
  join(here, "frontier/crawl.mjs"),
  ...(quick ? ["--quick"] : []),
]);

run("The Info service against a plain-JavaScript Worker, and 500,000 articles", process.execPath, [
  join(here, "info/run.mjs"),
  ...(quick ? ["--quick"] : []),
]);

if (!quick) run("docs/benchmarks.md", process.execPath, [join(here, "document.mjs")]);

process.exitCode = failed ? 1 : 0;
