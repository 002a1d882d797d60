// The engine, its peer, a driver that fills their buckets and delivers batches, and a web in which every host is
// one site, on one workerd.
import { readFileSync, readdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { build } from "../../worker/build.mjs";
import { harnessOf } from "../../test/harness.mjs";
import { root } from "../rows.mjs";
import { ledger, shards, sides, stores, worker } from "../workers.mjs";

export { root };

const side = (name, main, vars, more) =>
  worker(name, main, {
    ...stores(name),
    services: [{ binding: "EGRESS", service: "web" }],
    vars: { REQUEST_INTERVAL_MS: "0", ...vars },
    ...more,
  });

/**
 * Starts them. mains are the entries of the engine and the peer; latency is the web's latency in ms; others are
 * the configurations of further Workers.
 */
export async function start({ mains, latency, vars = {}, others = [] }) {
  build(root, join(root, "build/worker"));
  const harness = harnessOf(
    side("engine", mains.engine, vars, { ...ledger("engine"), ...shards }),
    side("peer", mains.peer, vars),
    worker("driver", "bench/pipeline/driver.mjs", {
      compatibility_flags: ["service_binding_extra_handlers"],
      r2_buckets: ["engine", "peer"].map((name) => ({ binding: `${name}_BUCKET`, bucket_name: `bench-${name}` })),
      services: sides("engine", "peer"),
      queues: { producers: [{ binding: "QUEUE", queue: "driver" }] },
    }),
    worker("web", "test/workers/anysite.mjs", { vars: { LATENCY_MS: String(latency) } }),
    ...others,
  );
  await harness.listen();
  const names = ["engine", "peer", "driver", "web", ...others.map(({ name }) => name)];
  const workers = Object.fromEntries(names.map((name) => [name, harness.getWorker(name)]));
  await workers.engine.applyD1Migrations("METADATA_DB");

  /** Calls the driver, or another Worker of the bench. */
  const drive = async (path, query, body, worker = workers.driver) => {
    const response = await worker.fetch(`${path}?${new URLSearchParams(query)}`, {
      method: "POST",
      body: body && JSON.stringify(body),
    });
    if (!response.ok) throw new Error(`${path}: ${await response.text()}`);
    return response.json();
  };
  /** Delivers a batch to a side, and fails if a message is retried. */
  const deliver = async (name, queue, bodies) => {
    const result = await drive("/deliver", { side: name }, { queue, bodies });
    if (result.outcome !== "ok" || result.retried) throw new Error(`${name}: ${JSON.stringify(result)}`);
  };
  /** The bucket of a side. */
  const bucketOf = async (name) => (await workers[name].getEnv()).DATASETS_BUCKET;
  return { harness, workers, drive, deliver, bucketOf, workerd: runningWorkerd() };
}

export const median = (list) => list.toSorted((a, b) => a - b)[list.length >> 1];
export const round1 = (n) => Math.round(n * 10) / 10;
export const ratio = (a, b) => Math.round((a / b) * 1000) / 1000;

/** The time of work in ms. */
export async function timed(work) {
  const began = performance.now();
  await work();
  return performance.now() - began;
}

/** The driver's input for a raw file, and the message of one of its domains. */
export const partition = { country: "sg", category: "news", date: "2026-01-28" };
export const dir = "raw/country=sg/category=news/date=2026-01-28/";
export const domainMessage = (domain) => ({
  domain,
  domain_id: `media:sg:${domain}`,
  urls: [{ url: `https://${domain}/a`, title: "A", path: "/a" }],
  partition_info: partition,
  source_file_path: `${dir}raw_0001.json`,
});

/** The harness's workerd: its memory in bytes and CPU time in milliseconds. */
export function runningWorkerd() {
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
    /** Resets the peak; returns the resident memory. */
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
