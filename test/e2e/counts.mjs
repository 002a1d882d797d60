// Platform operations of one domain like the median of real ones (test/workers/newssite.mjs) and one raw file, for the engine and the peer of the benchmarks, counted on
// workerd: equal on every machine. test/e2e/cost.test.mjs caps the numbers, and `make bench-counts`
// prints them.
import { setTimeout as sleep } from "node:timers/promises";
import { fixture, raw, root, startEngine, until } from "./engine.mjs";
import { assets } from "../../worker/build.mjs";

export const pagesOfADomain = 200;
const few = 10;
const many = 70; // blocks of the feed fill up with some six domains: fewer would be a matter of luck

const web = {
  name: "anysite",
  main: `${root}/test/workers/anysite.mjs`,
  compatibility_date: "2026-11-01",
};

const files = {
  name: "files",
  main: `${root}/test/workers/files.mjs`,
  compatibility_date: "2026-11-01",
  assets: { ...assets, binding: "FILES" },
};

const peer = {
  name: "peer",
  main: `${root}/test/workers/countingpeer.mjs`,
  compatibility_date: "2026-11-01",
  r2_buckets: [{ binding: "DATASETS_BUCKET", bucket_name: "peer" }],
  services: [{ binding: "EGRESS", service: "anysite" }],
  queues: {
    producers: ["seed", "domain"].map((queue) => ({ binding: `${queue.toUpperCase()}_QUEUE`, queue: `peer-${queue}` })),
    consumers: [
      { queue: "peer-seed", max_batch_size: 1, max_batch_timeout: 1 },
      { queue: "peer-domain", max_batch_size: 5, max_batch_timeout: 1 },
    ],
  },
};

/** Starts the engine and the peer, counted, on a web of healthy domains. */
export const startCounted = () =>
  startEngine({
    web,
    others: [peer, files],
    change: (config) => ({
      ...config,
      main: `${root}/test/workers/counting.mjs`,
      services: [...config.services, { binding: assets.binding, service: files.name }],
    }),
  });

/** A Worker's counts so far. */
export const counted = async (worker) => (await worker.fetch("https://inside.invalid/")).json();

/** The sum of the counts whose names match. */
export const sum = (counts, pattern) =>
  Object.entries(counts).reduce((all, [name, n]) => all + (pattern.test(name) ? n : 0), 0);

const less = (later, earlier) =>
  Object.fromEntries(Object.entries(later).map(([name, n]) => [name, n - (earlier[name] ?? 0)]));

/** The counts of a raw file with n new domains of a kind. */
async function run(engine, worker, { DATASETS_BUCKET: bucket }, n, domains, kind = "news") {
  const earlier = await counted(worker);
  const records = Array.from({ length: domains }, (_, i) => {
    const domain = `${kind}${pagesOfADomain}-${n}-${i}.sg`;
    return { url: `https://${domain}/news`, title: "x", registrable_domain: domain, domain_id: `gov:sg:${domain}` };
  });
  await bucket.put(raw(n), JSON.stringify(records));
  const filter = { country: "sg", category: "news", date: "2026-01-28" };
  const answer = await worker.fetch("/api/v1/seeds/orchestrate", {
    method: "POST",
    headers: { "content-type": "application/json" },
    body: JSON.stringify(filter),
  });
  if (answer.status !== 200) throw new Error(await answer.text());
  const made = `R2.put prod/…/domain_metadata.json.success`;
  await until(
    async () => (await counted(worker))[made] - (earlier[made] ?? 0) === domains,
    `${domains} domains of ${worker === engine.worker ? "the engine" : "the peer"}`,
    120,
  );
  // The ledger is the last to hear of a domain.
  if (worker === engine.worker)
    await until(async () => {
      const sql = "SELECT COUNT(*) AS n FROM domains WHERE domain LIKE ? AND state = 'processed'";
      return (await engine.rows(sql, `${kind}${pagesOfADomain}-${n}-%`))[0].n === domains;
    }, "the ledger");
  await sleep(200); // leases are released
  return less(await counted(worker), earlier);
}

const round = (n) => Math.round(n * 100) / 100;

/** Billed operations, under the names that bench-counts prints. */
const operations = (counts) => ({
  requests: round(sum(counts, /^requests$/)),
  probes: round(sum(counts, /^items$/)),
  worker_requests: round(sum(counts, /^events/)),
  r2_class_a: round(sum(counts, /^R2\.(put|list|createMultipartUpload|completeMultipartUpload|uploadPart) /)),
  r2_class_b: round(sum(counts, /^R2\.(get|head) /)),
  d1_queries: round(sum(counts, /^D1\.queries$/)),
  d1_rows_written: round(sum(counts, /^D1\.written$/)),
  d1_rows_read: round(sum(counts, /^D1\.read$/)),
  queue_operations: round(3 * sum(counts, /^(SEED|DOMAIN)_QUEUE\.messages$/)), // written, read, deleted
  do_requests: round(sum(counts, /^FRONTIER\./)),
  do_rows_written: round(sum(counts, /^shards\.written/)),
  do_rows_read: round(sum(counts, /^shards\.read/)),
  subrequests: round(sum(counts, /^(requests$|R2\.|D1\.calls|(SEED|DOMAIN)_QUEUE\.calls|FRONTIER\.)/)),
  crossings: round(sum(counts, /^crossings$/)),
  bytes_to_go: round(sum(counts, /^bytes to Go$/)),
  bytes_from_go: round(sum(counts, /^bytes from Go$/)),
});

/** The prices of docs/scale.md, USD a million, and the day on which they were read. */
export function prices() {
  const page = fixture("docs/scale.md").toString();
  const [, table] = /^## Prices$(.*?)^## /ms.exec(page);
  const of = (resource) => Number(new RegExp(`^\\| ${resource} \\| 1,000,000 \\| ([\\d.]+)`, "m").exec(table)[1]);
  return {
    read: /Read on (\d{4}-\d\d-\d\d)/.exec(table)[1],
    worker_requests: of("Workers requests"),
    r2_class_a: of("R2 class A"),
    r2_class_b: of("R2 class B"),
    d1_rows_written: of("D1 rows written"),
    d1_rows_read: of("D1 rows read"),
    queue_operations: of("Queues operations"),
    do_requests: of("Durable Objects requests"),
    do_rows_written: of("Durable Objects rows written"),
    do_rows_read: of("Durable Objects rows read"),
  };
}

/** The price of a million times these operations in USD, without CPU time and object duration, which depend on the machine. */
export const usdPerMillion = (operations, price = prices()) =>
  round(Object.entries(operations).reduce((usd, [name, n]) => usd + n * (price[name] ?? 0), 0));

/**
 * Counts the operations of a domain and a file: { domain, file }. The counts of a domain are the difference between two
 * files, so they contain nothing done once per file or event, or only the first time.
 */
export async function count(engine, worker, env) {
  if (worker === engine.worker) await engine.api("GET", "/api/v1/frontier/stats"); // every shard creates its tables
  await run(engine, worker, env, 1, 60); // programs are started, and every shard writes its first state
  const small = await run(engine, worker, env, 2, few);
  const large = await run(engine, worker, env, 3, many);
  const names = Object.keys({ ...small, ...large });
  const each = Object.fromEntries(
    names.map((name) => [name, ((large[name] ?? 0) - (small[name] ?? 0)) / (many - few)]),
  );
  const left = Object.fromEntries(names.map((name) => [name, Math.max((small[name] ?? 0) - few * each[name], 0)]));
  const domain = operations(each);
  return { domain: { ...domain, usd_per_million_domains: usdPerMillion(domain) }, file: operations(left) };
}

/** Requests to the hosts of a domain whose URLs do not show their types, and the probes among them. */
export async function countProbes(engine) {
  const domains = 5;
  const counts = await run(engine, engine.worker, engine.env, 4, domains, "keys");
  const { requests, probes } = operations(counts);
  return { requests: round(requests / domains), probes: round(probes / domains) };
}
