// The parsers and the classifier, natively and in WebAssembly: node bench/parsers.mjs [--quick]
// docs/benchmarks.md has the figures in WebAssembly, to which the Worker is compiled.
import { execFileSync, spawnSync } from "node:child_process";
import { join } from "node:path";
import { root, Rows } from "./rows.mjs";

const quick = process.argv.includes("--quick"); // each benchmark once, to see that it works
const rows = new Rows("parsers");

/** Runs the benchmarks, shows their output, and returns it. */
function benchmarks(packages, env = {}, ...flags) {
  const pattern = "Parse|Allowed|Hostile|Reader|Process|Classify|Add$|Sitemap";
  const args = ["test", ...flags, "-run", "^$", "-bench", pattern, "-benchtime", quick ? "1x" : "1s", ...packages];
  const { status, stdout } = spawnSync("go", args, {
    cwd: root,
    encoding: "utf8",
    stdio: ["ignore", "pipe", "inherit"],
    env: { ...process.env, ...env },
  });
  console.log(stdout);
  if (status !== 0) throw new Error(`go ${args.join(" ")} ended with ${status}`);
  return stdout;
}

/** The results in a unit of a package's benchmarks whose names have a prefix. */
function figures(output, name, unit) {
  const lines = output.split("\n").filter((line) => line.startsWith(`Benchmark${name}`));
  const found = lines.map((line) => Number(new RegExp(`([\\d.]+) ${unit}(\\s|$)`).exec(line)?.[1]));
  if (found.length === 0 || found.some(Number.isNaN)) throw new Error(`Benchmark${name} did not print ${unit}`);
  return found;
}

const packages = ["./robots", "./sitemap", "./dataset", "./processor", "./classify", "./discovery"];
console.log("Natively:\n");
benchmarks(packages);

console.log("\nIn WebAssembly:\n");
const exec = join(execFileSync("go", ["env", "GOROOT"], { encoding: "utf8" }).trim(), "lib/wasm/go_js_wasm_exec");
const inWASM = (name) => benchmarks([name], { GOOS: "js", GOARCH: "wasm" }, "-exec", exec);
const [robots, sitemap, , classify, discovery] = packages
  .filter((name) => name !== "./processor") // needs the platform there
  .map(inWASM);

rows.report("a sitemap of 50 MB, parsed in WebAssembly", "≥ 120 MB/s", {
  engine_mbs: figures(sitemap, "Parse/urlset", "MB/s")[0],
});
rows.report("a sitemap with discovery, its URLs matched against robots.txt and analysed, in WebAssembly", "≥ 60 MB/s", {
  engine_mbs: figures(discovery, "Sitemap_WithDiscovery", "MB/s")[0],
});
rows.report("a URL of a sitemap analysed in WebAssembly", "≤ 6 µs", {
  engine_us: figures(discovery, "Add", "ns/URL")[0] / 1000,
});
rows.report("the worst robots.txt of 500 KiB, with 50,000 URLs of 1,000 bytes, in WebAssembly", "≤ 1 s", {
  engine_ms: 1000 * Math.max(...figures(robots, "Hostile", "s/domain")),
});
rows.report("a URL classified in WebAssembly, each of another host", "≥ 50,000 a second", {
  engine_rate: figures(classify, "Classify", "URLs/s")[0],
});
rows.finish({ quick });
