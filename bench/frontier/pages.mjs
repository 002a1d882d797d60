// What a page costs a shard of the frontier on workerd: node bench/frontier/pages.mjs [--quick]
//
// Prints bytes a page before and after its first fetch, and rows for each fetch, and fails above the ceilings.
import { createHash } from "node:crypto";
import { join } from "node:path";
import { build } from "../../worker/build.mjs";
import { harnessOf } from "../../test/harness.mjs";
import { root } from "../rows.mjs";
import { shards, worker } from "../workers.mjs";

const sites = process.argv.includes("--quick") ? 4 : 20;
const each = 500; // pages of a site
const total = sites * each;
const maxNew = 85; // bytes of a page that was never fetched
const maxAgain = 0.05; // rows for a page that comes back, more than for a new one
const day = 86_400_000;
const cases = [
  { name: "off the schedule", perDay: 0, most: 12 },
  { name: "on schedule", perDay: 1_000_000, most: 60 },
  { name: "on schedule, with ETags", perDay: 1_000_000, most: 100, etags: true },
];

const sha256 = (text) => createHash("sha256").update(text).digest("hex");

/** A page as sitemaps name it. */
function page(domain, n) {
  const path = `/news/2026/01/${String((n % 28) + 1).padStart(2, "0")}/article-about-something-${n}.html`;
  return { URL: `https://www.${domain}${path}`, Type: "policy", Priority: ((n * 37) % 100) / 100 };
}

async function measure({ name, perDay, most, etags }) {
  const vars = { REQUEST_INTERVAL_MS: "0", FRONTIER_SHARDS: "1", REVISITS_PER_DAY: String(perDay) };
  const harness = harnessOf(worker("pages", "bench/frontier/inside.mjs", { vars, ...shards }));
  await harness.listen();
  const engine = harness.getWorker("pages");
  let rows = 0;
  async function call(operation, request) {
    const body = JSON.stringify(request);
    const answer = await engine.fetch(`https://inside.invalid/${operation}`, { method: "POST", body });
    const { answer: data, error } = await answer.json();
    if (error) throw new Error(`${operation}: ${error.message}`);
    rows += Number(answer.headers.get("x-rows"));
    return data;
  }
  /** Leases and reports until nothing is left, and returns rows and pages. */
  async function scrape() {
    rows = 0;
    for (let pages = 0; ;) {
      const { ID, Items } = await call("lease", { Max: 100, PerHost: 5, Seconds: 60 });
      if (!Items?.length) return { rows, pages };
      pages += Items.length;
      const Results = Items.map((item) => {
        const TextSHA256 = sha256(item.URL);
        return { ID: item.ID, Status: 200, TextSHA256, ETag: etags ? `"${TextSHA256.slice(0, 32)}"` : "" };
      });
      await call("report", { Lease: ID, Results });
    }
  }
  const bytes = async () => (await call("bytes", {})) / total;
  const failures = [];
  const check = (what, got, ceiling) => {
    console.log(`| ${name}: ${what} | ${got.toFixed(3)} | ${ceiling} |`);
    if (got > ceiling) failures.push(`${name}: ${what} is ${got}, more than ${ceiling}`);
  };
  try {
    for (let n = 0; n < sites; n++) {
      const Domain = `site${n}.example`;
      const Pages = Array.from({ length: each }, (_, i) => page(Domain, i));
      await call("put", { Domain, Partition: { country: "kr", category: "news", date: "2026-01-28" }, Pages });
    }
    check("bytes of a page that was never fetched", await bytes(), maxNew);
    const first = await scrape();
    if (first.pages !== total) throw new Error(`${first.pages} of ${total} pages were leased`);
    check("bytes of one that was fetched", await bytes(), most);
    const again = { rows: 0, pages: 0 };
    for (let days = 0; perDay > 0 && again.pages < 2 * total; days++) {
      if (days > 60) throw new Error(`${again.pages} pages came back in 60 days`);
      await call("later", day);
      const came = await scrape();
      again.rows += came.rows;
      again.pages += came.pages;
    }
    if (perDay > 0) {
      const more = again.rows / again.pages - first.rows / first.pages;
      check("rows for a page that comes back, more than for a new one", more, maxAgain);
    }
  } finally {
    await harness.close();
  }
  return failures;
}

build(root, join(root, "build/worker"));
console.log(`A shard with ${total} pages of ${sites} hosts\n\n| what | measured | at most |\n| --- | --- | --- |`);
for (const one of cases)
  for (const failure of await measure(one)) {
    console.error(failure);
    process.exitCode = 1;
  }
