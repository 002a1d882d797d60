// The pipeline with the latency of production for every operation of a binding, simulated on one machine:
// node bench/latency/run.mjs [--quick] [--only=orchestrate|file|domains|status|lease]
// DELAYS='{"R2.put": 200}' changes delays (bench/latency/slow.mjs has them all).
import { Rows } from "../rows.mjs";
import { dir, domainMessage, median, partition, ratio, root, round1, start, timed } from "../pipeline/world.mjs";
import { delays } from "./slow.mjs";

const quick = process.argv.includes("--quick"); // a smaller run, to see that it works
const only = process.argv.find((arg) => arg.startsWith("--only="))?.split("=")[1];
const rounds = quick ? 2 : 7;
const files = quick ? 20 : 200;
const fileBytes = (quick ? 2 : 20) * 2 ** 20;
const originLatency = 100;
const interval = 1000; // between two requests to a host, as by default; the peer waits for none
const requests = 3; // of a domain, one after the other
const ofHosts = { engine: requests * originLatency + (requests - 1) * interval, peer: requests * originLatency };
const own = 300; // ms that a domain may take beside the waits and answers of its hosts

const vars = {
  REQUEST_INTERVAL_MS: String(interval),
  DELAYS: JSON.stringify({ ...delays, ...JSON.parse(process.env.DELAYS ?? "{}") }),
};
const { harness, workers, drive, deliver, bucketOf } = await start({
  mains: { engine: "bench/latency/engine.mjs", peer: "bench/latency/peer.mjs" },
  latency: originLatency,
  vars,
  others: [
    {
      name: "floor",
      main: `${root}/bench/latency/floor.mjs`,
      compatibility_date: "2026-11-01",
      vars,
      r2_buckets: [{ binding: "DATASETS_BUCKET", bucket_name: "bench-engine" }],
      queues: { producers: [{ binding: "DOMAIN_QUEUE", queue: "floor" }] },
      services: [{ binding: "EGRESS", service: "web" }],
      durable_objects: { bindings: [{ name: "FRONTIER", class_name: "Frontier", script_name: "engine" }] },
    },
  ],
});

const rows = new Rows("latency");
const report = (what, ...row) => rows.report(`slow stores: ${what}`, ...row);

/** The median time of work(round), without the first round. */
async function repeat(work, n = rounds) {
  const times = [];
  for (let round = -1; round < n; round++) {
    const ms = await work(round);
    if (round >= 0) times.push(ms);
  }
  return round1(median(times));
}

const post = (worker, path, body) =>
  worker.fetch(path, {
    method: "POST",
    body: JSON.stringify(body),
    headers: { "content-type": "application/json" },
  });

async function orchestrate() {
  const times = {};
  for (const name of ["engine", "peer"]) {
    await drive("/finished", { side: name, n: files, prefix: dir });
    times[name] = await repeat(
      () =>
        timed(async () => {
          const answer = await (await post(workers[name], "/api/v1/seeds/orchestrate", partition)).json();
          if (answer.data.skipped !== files) throw new Error(`${name}: ${JSON.stringify(answer)}`);
        }),
      name === "peer" ? 1 : rounds,
    );
  }
  report(`orchestrate ${files} finished files`, "≤ 0.1 × the peer", {
    engine_ms: times.engine,
    peer_ms: times.peer,
    ratio: ratio(times.engine, times.peer),
  });
}

const sends = async () => (await (await workers.engine.fetch("https://inside.invalid/")).json()).sendBatch ?? 0;

async function file() {
  const key = `${dir.replace("01-28", "01-29")}raw_0001.json`;
  await drive("/generate", { side: "engine", key, bytes: fileBytes, domains: 2000 });
  const bucket = await bucketOf("engine");
  const message = { file_path: key, partition_info: { ...partition, date: "2026-01-29" } };
  let batches = 0;
  const engine = await repeat(async () => {
    await bucket.delete(`${key}.success`);
    const before = await sends();
    const ms = await timed(() => deliver("engine", "newsfork-seed-engine", [message]));
    batches = (await sends()) - before;
    return ms;
  });
  const floor = await repeat(() => timed(() => drive("/", { key, batches }, undefined, workers.floor)));
  report(`a ${fileBytes >> 20} MB raw file, 2,000 domains, beside reading it and sending as many batches`, "≤ 1.5 ×", {
    engine_ms: engine,
    peer_ms: floor,
    ratio: ratio(engine, floor),
  });
}

/** The times of a side for the domains of one batch: until all are settled, and until the last checkpoint. */
async function collect(name, n, round) {
  const domains = Array.from({ length: n }, (_, i) => `round${round + 1}of${n}site${i}.sg`);
  const began = Date.now();
  const settled = await timed(() => deliver(name, `newsfork-domain-${name}`, domains.map(domainMessage)));
  const bucket = await bucketOf(name);
  const { country, category, date } = partition;
  const checkpoints = await Promise.all(
    domains.map((domain) =>
      bucket.head(`prod/country=${country}/category=${category}/date=${date}/${domain}/domain_metadata.json.success`),
    ),
  );
  return { settled, stored: Math.max(...checkpoints.map(({ uploaded }) => uploaded.getTime())) - began };
}

async function domains() {
  await workers.engine.fetch("/api/v1/frontier/stats"); // every shard is there
  for (const n of [1, 5]) {
    const stored = { engine: [], peer: [] };
    const settled = { engine: [], peer: [] };
    for (let round = -1; round < rounds; round++) {
      for (const name of ["engine", "peer"]) {
        const times = await collect(name, n, round);
        if (round < 0) continue;
        stored[name].push(times.stored);
        settled[name].push(times.settled);
      }
    }
    const beside = (times) =>
      Object.fromEntries(
        Object.entries(times).map(([name, list]) => [`${name}_ms`, round1(median(list) - ofHosts[name])]),
      );
    const what = n === 1 ? "a domain" : `${n} domains at once`;
    report(`${what}, until the checkpoint, beside what the hosts take`, `≤ ${own} ms`, beside(stored));
    report(`${what}, until the message is done, beside what the hosts take`, "–", beside(settled));
    if (n === 1) await leastOfADomain();
  }
}

/** The time of a domain's sequence of calls alone, with the simulated stores and timers. */
async function leastOfADomain() {
  const times = [];
  for (let round = -1; round < rounds; round++) {
    const ms = await drive("/domain", { host: `floor${round + 1}.sg` }, undefined, workers.floor);
    if (round >= 0) times.push(ms);
  }
  report("a domain's calls in the same order by a Worker that computes nothing, beside what the hosts take", "–", {
    peer_ms: round1(median(times) - ofHosts.engine),
  });
}

async function status() {
  const engine = await repeat(() =>
    timed(async () => {
      const answer = await workers.engine.fetch("/api/v1/seeds/status");
      if (answer.status !== 200) throw new Error(await answer.text());
      await answer.text();
    }),
  );
  report("status", "–", { engine_ms: engine });
}

async function lease() {
  const urls = Array.from({ length: 4000 }, (_, i) => ({ url: `https://leased${i}.sg/news` }));
  for (let i = 0; i < urls.length; i += 500) {
    const answer = await post(workers.engine, "/api/v1/frontier/urls", {
      urls: urls.slice(i, i + 500),
      partition_info: partition,
    });
    if (answer.status !== 200) throw new Error(await answer.text());
    await answer.text();
  }
  const engine = await repeat(() =>
    timed(async () => {
      const answer = await (
        await post(workers.engine, "/api/v1/frontier/lease", { max: 10, lease_seconds: 10 })
      ).json();
      if (answer.data?.items.length !== 10) throw new Error(JSON.stringify(answer));
    }),
  );
  report("a lease of ten URLs from the frontier", "–", { engine_ms: engine });
}

const parts = { orchestrate, file, domains, status, lease };
try {
  for (const [name, part] of Object.entries(parts)) if ([undefined, name].includes(only)) await part();
} finally {
  await harness.close();
}

console.log(
  `Before each operation, in ms: ${Object.entries(JSON.parse(vars.DELAYS))
    .map(([name, ms]) => `${name} ${ms}`)
    .join(", ")}; at most six at once.\n`,
);
rows.finish({ quick: quick || Boolean(process.env.DELAYS), complete: !only });
