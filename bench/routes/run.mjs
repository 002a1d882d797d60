// Warm routes compared with a plain JavaScript Worker that makes the same calls to D1, R2 and the queues, and the first
// request of an isolate: node bench/routes/run.mjs [--quick]
import { buildEngine } from "../../worker/build.mjs";
import { harnessOf } from "../../test/harness.mjs";
import { median, ratio, round1, runningWorkerd } from "../pipeline/world.mjs";
import { Rows } from "../rows.mjs";
import { ledger, shards, sides, stores, worker } from "../workers.mjs";

const quick = process.argv.includes("--quick"); // a smaller run, to see that it works
const rounds = quick ? 4 : 40;
const requests = 25; // of a round
const files = 100; // of the partition that is listed, half of them finished

buildEngine();
const side = (name, more) =>
  worker(name, `bench/routes/${name}.mjs`, { ...stores("routes"), ...ledger("routes"), ...more });
const harness = harnessOf(
  side("engine", shards),
  side("peer"),
  worker("driver", "bench/routes/driver.mjs", { services: sides("engine", "peer") }),
);
await harness.listen();
const [engine, peer, driver] = ["engine", "peer", "driver"].map((name) => harness.getWorker(name));
const workerd = runningWorkerd();
await engine.applyD1Migrations("METADATA_DB");

const ask = async (name, path, n) => {
  const answer = await driver.fetch(`https://driver.invalid/?${new URLSearchParams({ side: name, path, n })}`);
  if (!answer.ok) throw new Error(`${name} ${path}: ${await answer.text()}`);
  return (await answer.json()) / n;
};

const partition = "sg/news/2026-01-28";
const status = "/api/v1/seeds/status";
const rows = new Rows("routes");
try {
  const { DATASETS_BUCKET: bucket } = await engine.getEnv();
  for (let n = 1; n <= files; n++) {
    const key = `raw/country=sg/category=news/date=2026-01-28/raw_${String(n).padStart(4, "0")}.json`;
    await bucket.put(key, "[]");
    if (n % 2) await bucket.put(`${key}.success`, "", { customMetadata: { processed_at: "2026-01-28T10:00:00Z" } });
  }
  const dataset = `/api/v1/datasets/${partition}`;
  for (const path of [status, dataset]) {
    const statements = await (await engine.fetch(`https://observe.invalid${path}`)).text();
    await peer.fetch(`https://peer.invalid/statements?${new URLSearchParams({ path })}`, {
      method: "POST",
      body: statements,
    });
  }

  for (const [what, path, goal] of [
    ["`GET /health`, from another Worker", "/health", "–"],
    ["`GET /api/v1/seeds/status`, warm, beside the same calls to D1, R2 and the queues", status, "≤ 1.5 ×"],
    [`\`GET /api/v1/datasets/…\` of ${files} files, warm, beside the same calls to R2 and D1`, dataset, "≤ 1.5 ×"],
  ]) {
    const times = { engine: [], peer: [] };
    const cpu = { engine: 0, peer: 0 };
    for (let round = -2; round < rounds; round++)
      for (const name of round % 2 ? ["engine", "peer"] : ["peer", "engine"]) {
        const before = workerd.cpu();
        const ms = await ask(name, path, requests);
        if (round < 0) continue;
        times[name].push(ms);
        cpu[name] += workerd.cpu() - before;
      }
    const [ours, theirs] = [median(times.engine), median(times.peer)];
    rows.report(what, goal, { engine_ms: ours, peer_ms: theirs, ratio: ratio(ours, theirs) });
    rows.report("  CPU time of that, with the stores'", "–", {
      engine_ms: round1(cpu.engine / rounds / requests),
      peer_ms: round1(cpu.peer / rounds / requests),
      ratio: ratio(cpu.engine, cpu.peer),
    });
  }
} finally {
  await harness.close();
}
rows.finish({ quick });
