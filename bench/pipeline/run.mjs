// The pipeline against the peer, on one workerd in one run:
// node bench/pipeline/run.mjs [--quick] [--only=orchestrate|file|domains|huge] [--domains=200]
import { execFileSync } from "node:child_process";
import { mkdirSync, readFileSync, readdirSync, writeFileSync } from "node:fs";
import { cpus } from "node:os";
import { join, resolve } from "node:path";
import { fileURLToPath } from "node:url";
import { build } from "../../worker/build.mjs";
import "../../test/home.mjs";
import { createTestHarness } from "wrangler";

const root = resolve(fileURLToPath(new URL("../..", import.meta.url)));
const quick = process.argv.includes("--quick"); // a smaller run, to see that it works
const option = (name) => process.argv.find((arg) => arg.startsWith(`--${name}=`))?.split("=")[1];
const files = quick ? 200 : 2000;
const fileBytes = (quick ? 2 : 20) * 2 ** 20;
const hugeBytes = (quick ? 50 : 1024) * 2 ** 20;
const domains = Number(option("domains") ?? (quick ? 20 : 200));
const rounds = quick ? 3 : 7;

build(root, join(root, "build/worker"));

const dir = "raw/country=sg/category=news/date=2026-01-28/";
const partition = { country: "sg", category: "news", date: "2026-01-28" };
const date = "2026-11-01";
const bucket = (name) => [{ binding: "DATASETS_BUCKET", bucket_name: `bench-${name}` }];
// No consumers: the driver delivers, and what the steps send on is dropped.
const producers = (name) => ({
  producers: ["SEED", "DOMAIN", "DLQ"].map((q) => ({
    binding: q === "DLQ" ? q : `${q}_QUEUE`,
    queue: `${name}-${q.toLowerCase()}`,
  })),
});
const side = (name, main, more = {}) => ({
  name,
  main: join(root, main),
  compatibility_date: date,
  rules: [{ type: "CompiledWasm", globs: ["**/*.wasm"] }],
  r2_buckets: bucket(name),
  queues: producers(name),
  services: [{ binding: "EGRESS", service: "web" }],
  vars: { REQUEST_INTERVAL_MS: "0" },
  ...more,
});
const d1 = [
  {
    binding: "METADATA_DB",
    database_name: "bench",
    database_id: "bench",
    migrations_dir: join(root, "ledger/migrations"),
  },
];
const shards = {
  durable_objects: { bindings: [{ name: "FRONTIER", class_name: "Frontier" }] },
  migrations: [{ tag: "v1", new_sqlite_classes: ["Frontier"] }],
};

const harness = createTestHarness({
  root,
  workers: [
    { config: side("engine", "bench/pipeline/observed.mjs", { d1_databases: d1, ...shards }) },
    { config: side("peer", "bench/pipeline/peer.mjs") },
    {
      config: {
        name: "driver",
        main: join(root, "bench/pipeline/driver.mjs"),
        compatibility_date: date,
        compatibility_flags: ["service_binding_extra_handlers"],
        r2_buckets: ["engine", "peer"].map((name) => ({ binding: `${name}_BUCKET`, bucket_name: `bench-${name}` })),
        services: ["engine", "peer"].map((service) => ({ binding: service, service })),
      },
    },
    {
      config: {
        name: "web",
        main: join(root, "test/workers/anysite.mjs"),
        compatibility_date: date,
        vars: { LATENCY_MS: "100" },
      },
    },
  ],
});
await harness.listen();
const workers = Object.fromEntries(["engine", "peer", "driver"].map((name) => [name, harness.getWorker(name)]));
await workers.engine.applyD1Migrations("METADATA_DB");
const workerd = process_();

const drive = async (path, query, body) => {
  const response = await workers.driver.fetch(`${path}?${new URLSearchParams(query)}`, {
    method: "POST",
    body: body && JSON.stringify(body),
  });
  if (!response.ok) throw new Error(`${path}: ${await response.text()}`);
  return response.json();
};
const deliver = async (name, queue, bodies) => {
  const result = await drive("/deliver", { side: name }, { queue, bodies });
  if (result.outcome !== "ok" || result.retried) throw new Error(`${name}: ${JSON.stringify(result)}`);
};
const remove = async (name, key) => (await workers[name].getEnv()).DATASETS_BUCKET.delete(key);

const results = [];
const report = (what, goal, values) => {
  results.push({ what, goal, ...values });
  console.error(`  ${what}: ${JSON.stringify(values)}`);
};
const median = (list) => list.toSorted((a, b) => a - b)[list.length >> 1];
const timed = async (work) => {
  const began = performance.now();
  await work();
  return performance.now() - began;
};

/** Runs work for both sides in turn, the first round not counted. */
async function alternate(work, n = rounds) {
  const times = { engine: [], peer: [] };
  for (let round = -1; round < n; round++) {
    for (const name of round % 2 ? ["engine", "peer"] : ["peer", "engine"]) {
      const ms = await work(name);
      if (round >= 0) times[name].push(ms);
    }
  }
  return {
    engine_ms: round1(median(times.engine)),
    peer_ms: round1(median(times.peer)),
    ratio: ratio(median(times.engine), median(times.peer)),
  };
}
const round1 = (n) => Math.round(n * 10) / 10;
const ratio = (a, b) => Math.round((a / b) * 1000) / 1000;

async function orchestrate() {
  for (const name of ["engine", "peer"]) await drive("/finished", { side: name, n: files, prefix: dir });
  const body = JSON.stringify(partition);
  report(
    `orchestrate ${files} finished files, warm`,
    "≤ 0.1 × the peer",
    await alternate((name) =>
      timed(async () => {
        const answer = await (
          await workers[name].fetch("/api/v1/seeds/orchestrate", {
            method: "POST",
            body,
            headers: { "content-type": "application/json" },
          })
        ).json();
        if (answer.data.skipped !== files) throw new Error(`${name}: ${JSON.stringify(answer)}`);
      }),
    ),
  );
}

async function file() {
  const key = `${dir.replace("01-28", "01-29")}raw_0001.json`;
  const seed = { file_path: key, partition_info: { ...partition, date: "2026-01-29" } };
  for (const name of ["engine", "peer"]) await drive("/generate", { side: name, key, bytes: fileBytes, domains: 2000 });
  const growth = { engine: [], peer: [] };
  const times = await alternate(async (name) => {
    await remove(name, `${key}.success`);
    const before = workerd.resetPeak();
    const ms = await timed(() => deliver(name, `newsfork-seed-${name}`, [seed]));
    growth[name].push(workerd.peak() - before);
    return ms;
  });
  report(`a ${fileBytes >> 20} MB raw file, 2,000 domains`, "≤ 0.35 × the peer", times);
  report("  its growth of the runtime's memory", "≤ 0.167 × the peer", {
    engine_mib: round1(median(growth.engine) / 2 ** 20),
    peer_mib: round1(median(growth.peer) / 2 ** 20),
    ratio: ratio(median(growth.engine), median(growth.peer)),
  });
}

async function manyDomains() {
  const collect = async (name, round) => {
    const cpu = workerd.cpu();
    const ms = await timed(async () => {
      for (let i = 0; i < domains; i += 5) {
        const bodies = Array.from({ length: 5 }, (_, k) => {
          const domain = `round${round}site${i + k}.sg`;
          return {
            domain,
            domain_id: `media:sg:${domain}`,
            urls: [{ url: `https://${domain}/a`, title: "A", path: "/a" }],
            partition_info: partition,
            source_file_path: `${dir}raw_0001.json`,
          };
        });
        await deliver(name, `newsfork-domain-${name}`, bodies);
      }
    });
    return { ms, cpu: workerd.cpu() - cpu };
  };
  const rates = { engine: [], peer: [] };
  for (let round = 0; round < (quick ? 1 : 2); round++) {
    for (const name of ["engine", "peer"]) {
      await collect(name, `warm${name}${round}`.slice(0, 5) + round); // the first batches warm both up
      rates[name].push(await collect(name, `x${name}${round}`));
    }
  }
  const best = (name) => rates[name].toSorted((a, b) => a.ms - b.ms)[0];
  const perSecond = (name) => round1((domains / best(name).ms) * 1000);
  report(`${domains} domains at 100 ms, 3 requests each, domains a second`, "≥ 4.5 × the peer", {
    engine: perSecond("engine"),
    peer: perSecond("peer"),
    ratio: ratio(best("peer").ms, best("engine").ms),
  });
  report("  their CPU time a domain", "≤ 1.2 × the peer", {
    engine_ms: round1(best("engine").cpu / domains),
    peer_ms: round1(best("peer").cpu / domains),
    ratio: ratio(best("engine").cpu, best("peer").cpu),
  });
}

async function hugeFiles() {
  for (const [n, names] of [2000, 20_000].entries()) {
    const huge = `${dir.replace("01-28", `01-3${n}`)}raw_0001.json`;
    await drive("/generate", { side: "engine", key: huge, bytes: hugeBytes, domains: names });
    const before = workerd.resetPeak();
    const ms = await timed(() =>
      deliver("engine", "newsfork-seed-engine", [
        { file_path: huge, partition_info: { ...partition, date: `2026-01-3${n}` } },
      ]),
    );
    const { largest } = await (await workers.engine.fetch("/pool")).json();
    report(
      `a ${hugeBytes / 2 ** 30} GB raw file, ${names.toLocaleString("en")} domains, the engine alone`,
      "≤ 15 s, linear memory ≤ 48 MiB",
      {
        engine_ms: round1(ms),
        linear_mib: round1(largest / 2 ** 20),
        growth_mib: round1((workerd.peak() - before) / 2 ** 20),
      },
    );
    await remove("engine", huge);
  }
}

const parts = { orchestrate, file, domains: manyDomains, huge: hugeFiles };
try {
  for (const [name, part] of Object.entries(parts)) if ([undefined, name].includes(option("only"))) await part();
} finally {
  await harness.close();
}

const commit = execFileSync("git", ["rev-parse", "--short", "HEAD"], { cwd: root, encoding: "utf8" }).trim();
mkdirSync(join(root, "build"), { recursive: true });
writeFileSync(
  join(root, "build/bench-pipeline.json"),
  JSON.stringify({ commit, cpu: cpus()[0].model, cores: cpus().length, results }, null, 2),
);
console.log("| what | engine | peer | ratio | goal |\n| --- | --- | --- | --- | --- |");
for (const r of results) {
  const value = (name) =>
    Object.entries(r)
      .filter(([k]) => k === name || k.startsWith(`${name}_`))
      .map(([k, v]) => `${v} ${k.split("_")[1] ?? ""}`.trim())
      .join(", ");
  const more = r.linear_mib ? `, linear ${r.linear_mib} MiB, growth ${r.growth_mib} MiB` : "";
  console.log(`| ${r.what} | ${value("engine")}${more} | ${value("peer") || "–"} | ${r.ratio ?? "–"} | ${r.goal} |`);
}

/** The workerd that the harness started: its memory in bytes and CPU time in milliseconds. */
function process_() {
  const pids = readdirSync("/proc").filter((pid) => {
    try {
      return (
        readFileSync(`/proc/${pid}/cmdline`, "utf8").includes("workerd") &&
        readFileSync(`/proc/${pid}/stat`, "utf8").split(") ")[1].split(" ")[1] === String(process.pid)
      );
    } catch {
      return false; // it ended
    }
  });
  if (!pids.length) throw new Error("no workerd below this process");
  const status = (field) =>
    Math.max(
      ...pids.map(
        (pid) => Number(new RegExp(`${field}:\\s+(\\d+)`).exec(readFileSync(`/proc/${pid}/status`, "utf8"))[1]) * 1024,
      ),
    );
  return {
    /** Forgets the peak; gives what is resident now. */
    resetPeak() {
      for (const pid of pids) writeFileSync(`/proc/${pid}/clear_refs`, "5");
      return status("VmRSS");
    },
    peak: () => status("VmHWM"),
    cpu: () =>
      pids.reduce((sum, pid) => {
        const fields = readFileSync(`/proc/${pid}/stat`, "utf8").split(") ")[1].split(" ");
        return sum + (Number(fields[11]) + Number(fields[12])) * 10; // ticks of 10 ms
      }, 0),
  };
}
