// A shard of the frontier as a Durable Object on workerd: node bench/frontier/run.mjs [--quick]
//
// Fails when half of the leases of 100 URLs take more than 10 ms, or half of the puts of 500 URLs more than 30,
// or when a put of 500 of which 20 have newer dates writes more than 12 rows.
import { join } from "node:path";
import { build } from "../../worker/build.mjs";
import { harnessOf } from "../../test/harness.mjs";
import { root, Rows } from "../rows.mjs";
import { shards, worker } from "../workers.mjs";

const quick = process.argv.includes("--quick"); // a smaller run, to see that it works
const domains = quick ? 500 : 5000;
const each = 20; // URLs of a domain
const rounds = quick ? 20 : 200;
const maxLease = 10; // ms
const listed = 500; // URLs of a sitemap that is put again
const maxListed = 30; // ms
const sites = quick ? 5 : 40; // that give 20 of their pages newer dates
const maxRows = 12; // of such a put

build(root, join(root, "build/worker"));
const harness = harnessOf(
  worker("engine", "bench/frontier/inside.mjs", {
    vars: { REQUEST_INTERVAL_MS: "0", FRONTIER_SHARDS: "1" },
    ...shards,
  }),
);
await harness.listen();
const engine = harness.getWorker("engine");
const times = { put: [], listed: [], dated: [], lease: [], report: [], mixed: [] };
let mostRows = 0; // of a put of pages of which some have newer dates

async function call(operation, request, as = operation) {
  const answer = await engine.fetch(`https://inside.invalid/${operation}`, {
    method: "POST",
    body: JSON.stringify(request),
  });
  const { answer: data, error } = await answer.json();
  if (error) throw new Error(`${operation}: ${error.message}`);
  times[as]?.push(Number(answer.headers.get("x-ms")));
  if (as === "dated") mostRows = Math.max(mostRows, Number(answer.headers.get("x-rows")));
  return data;
}

const partition = { country: "kr", category: "news", date: "2026-01-28" };

function pages(domain, count = each) {
  return Array.from({ length: count }, (_, n) => ({
    URL: `https://www.${domain}/news/2026/01/${n}/an-article-about-something-${n}.html`,
    Type: "news",
    Priority: ((n * 37) % 100) / 100,
  }));
}

const share = (list, part) => [...list].sort((a, b) => a - b)[Math.floor((list.length - 1) * part)];

const seconds = () => Math.floor(Date.now() / 1000);
const yesterday = seconds() - 86_400;

/** All pages have dates: a site that renews most of its dated pages at once is not believed. */
const dated = (n) => ({
  Domain: `dated${n}.example`,
  Partition: partition,
  Pages: pages(`dated${n}.example`, listed).map((page) => ({ ...page, LastMod: yesterday })),
});

try {
  for (let n = 0; n < sites; n++) await call("put", dated(n), "");
  for (let fetched = 0; fetched < sites * listed;) {
    const { ID, Items } = await call("lease", { Max: 500, PerHost: 20, Seconds: 60 }, "");
    if (!Items?.length) throw new Error(`${fetched} URLs were leased, not ${sites * listed}`);
    fetched += Items.length;
    await call("report", { Lease: ID, Results: Items.map((item) => ({ ID: item.ID, Status: 200 })) }, "");
  }
  for (let n = 0; n < domains; n++) {
    const domain = `site${n}.example`;
    await call("put", { Domain: domain, Partition: partition, Pages: pages(domain) });
  }
  for (let n = 0; n < rounds; n++) {
    const Domain = `listed${n}.example`;
    const put = (count, as) => call("put", { Domain, Partition: partition, Pages: pages(Domain, count) }, as);
    await put(listed - 20, "");
    await put(listed, "listed");
  }
  let leased = 0;
  for (let n = 0; n < rounds; n++) {
    const { ID, Items } = await call("lease", { Max: 100, Seconds: 60 });
    leased += Items.length;
    await call("report", { Lease: ID, Results: Items.map((item) => ({ ID: item.ID, Status: 200 })) });
  }
  await call("later", 26 * 3_600_000); // many of those pages are due again
  let revisits = 0;
  for (let n = 0; n < rounds; n++) {
    const { ID, Items } = await call("lease", { Max: 100, Seconds: 60 }, "mixed");
    revisits += Items.filter(({ Visits }) => Visits > 0).length;
    await call("report", { Lease: ID, Results: Items.map((item) => ({ ID: item.ID, Status: 200 })) }, "");
  }
  await call("later", 2 * 3_600_000);
  for (let n = 0; n < sites; n++) {
    const put = dated(n);
    for (const page of put.Pages.slice(0, 20)) page.LastMod = seconds() + 28 * 3600 - 60;
    const { Added } = await call("put", put, "dated");
    if (Added !== 20) throw new Error(`${Added} of 20 URLs with newer dates came back`);
  }
  if (revisits < 10 * rounds) throw new Error(`${revisits} URLs were leased again, not ${10 * rounds}`);
  if (leased !== 100 * rounds) throw new Error(`${leased} URLs were leased, not ${100 * rounds}`);
  const again = `a put of ${listed} URLs of which 20 are new`;
  const newer = `a put of ${listed} URLs of which 20 have newer dates`;
  const what = {
    put: `a put of ${each} URLs`,
    listed: again,
    dated: newer,
    lease: "a lease of 100",
    report: "its report",
  };
  what.mixed = `a lease of 100, of which ${Math.round(revisits / rounds)} were fetched before`;
  console.log(`A shard with ${domains * each} URLs of ${domains} hosts\n`);
  console.log("| what | median | 95 % |\n| --- | --- | --- |");
  for (const [operation, list] of Object.entries(times))
    console.log(`| ${what[operation]} | ${share(list, 0.5).toFixed(1)} ms | ${share(list, 0.95).toFixed(1)} ms |`);
  const rows = new Rows("frontier");
  rows.report(
    `a lease of 100 URLs from a shard of the frontier with ${(domains * each).toLocaleString("en")}`,
    `< ${maxLease} ms`,
    {
      engine_ms: share(times.lease, 0.5),
    },
  );
  rows.report(`${again}, in WebAssembly`, `≤ ${maxListed} ms`, { engine_ms: share(times.listed, 0.5) });
  rows.report(`${newer}, in WebAssembly`, `≤ ${maxListed} ms`, { engine_ms: share(times.dated, 0.5) });
  rows.report("a lease of 100 with pages that come back among them", `≤ ${maxLease} ms`, {
    engine_ms: share(times.mixed, 0.5),
  });
  rows.finish({ quick });
  const leases = Math.max(share(times.lease, 0.5), share(times.mixed, 0.5));
  console.log(`${newer} wrote ${mostRows} rows at most`);
  if (mostRows > maxRows) {
    console.error(`${newer} wrote more than ${maxRows} rows`);
    process.exitCode = 1;
  }
  if (!quick && (leases > maxLease || Math.max(share(times.listed, 0.5), share(times.dated, 0.5)) > maxListed)) {
    console.error(`a lease of 100 takes more than ${maxLease} ms, or a put of ${listed} more than ${maxListed}`);
    process.exitCode = 1;
  }
} finally {
  await harness.close();
}
