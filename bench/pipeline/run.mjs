// The pipeline compared with the peer, on one workerd in one run:
// node bench/pipeline/run.mjs [--quick] [--only=orchestrate|file|domains|huge] [--domains=200]
import { Rows } from "../rows.mjs";
import { dir, domainMessage, median, partition, ratio, round1, start, timed } from "./world.mjs";

const quick = process.argv.includes("--quick"); // a smaller run, to see that it works
const option = (name) => process.argv.find((arg) => arg.startsWith(`--${name}=`))?.split("=")[1];
const files = quick ? 200 : 2000;
const fileBytes = (quick ? 2 : 20) * 2 ** 20;
const hugeBytes = (quick ? 50 : 1024) * 2 ** 20;
const domains = Number(option("domains") ?? (quick ? 20 : 200));
const rounds = quick ? 3 : 7;
const latency = 100;

const { harness, workers, drive, deliver, bucketOf, workerd } = await start({
  mains: { engine: "bench/pipeline/observed.mjs", peer: "bench/pipeline/peer.mjs" },
  latency,
});
const remove = async (name, key) => (await bucketOf(name)).delete(key);

const rows = new Rows("pipeline");
const report = (...row) => rows.report(...row);

/** Runs work for both sides in turn, without counting the first round. */
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
  const generate = async (how) => {
    for (const side of ["engine", "peer"])
      await drive("/generate", { side, key, bytes: fileBytes, domains: 2000, ...how });
  };
  const growth = { engine: [], peer: [] };
  const process = async (name) => {
    await remove(name, `${key}.success`);
    const before = workerd.resetPeak();
    const ms = await timed(() => deliver(name, `newsfork-seed-${name}`, [seed]));
    growth[name].push(workerd.peak() - before);
    return ms;
  };
  await generate({ whole: true });
  // V8 frees memory now or a round later, so rounds vary by ten MiB: there are twice as many.
  const times = await alternate(process, 2 * rounds + 1);
  for (const list of Object.values(growth)) list.shift(); // of the round that does not count
  report(`a ${fileBytes >> 20} MB raw file, 2,000 domains`, "≤ 0.35 × the peer", times);
  report("  its growth of the runtime's memory", "≤ 0.167 × the peer", {
    engine_mib: round1(median(growth.engine) / 2 ** 20),
    peer_mib: round1(median(growth.peer) / 2 ** 20),
    ratio: ratio(median(growth.engine), median(growth.peer)),
  });
  await generate({});
  // The simulator passes each part through a stream in JavaScript: twelve times as long as the same bytes in one piece.
  report("  the same file uploaded in parts, which take the simulator longer", "–", await alternate(process));
}

/** Sites of three requests and news sites like the median of real ones, by the number of URLs in their sitemaps. */
const kinds = [
  { kind: "simple200", what: "domains of 200 URLs, 3 requests each", n: domains, rate: "≥ 4 ×", cpu: "≤ 1.3 ×" },
  { kind: "news200", what: "news sites of 200 URLs", n: 60, rate: "–", cpu: "≤ 1.5 ×", wall: "≤ 1.2 ×" },
  { kind: "simple3", what: "domains of 3 URLs, 3 requests each", n: 60, rate: "–", cpu: "–" },
  { kind: "news5000", what: "news sites of 5,000 URLs", n: 20, rate: "–", cpu: "–" },
];

async function manyDomains() {
  const web = workers.web;
  const collect = async (name, prefix, n) => {
    await web.fetch("https://control.invalid/", { method: "DELETE" });
    const cpu = workerd.cpu();
    const ms = await timed(async () => {
      for (let i = 0; i < n; i += 5) {
        const bodies = Array.from({ length: 5 }, (_, k) => domainMessage(`${prefix}-${i + k}.sg`));
        await deliver(name, `newsfork-domain-${name}`, bodies);
      }
    });
    const requests = (await (await web.fetch("https://control.invalid/")).json()).length;
    return { ms, cpu: workerd.cpu() - cpu, requests };
  };
  for (const { kind, what, n: most, rate, cpu, wall } of kinds) {
    const n = Math.min(most, domains);
    const runs = { engine: [], peer: [] };
    for (let round = 0; round < (quick ? 1 : 5); round++) {
      for (const name of ["engine", "peer"]) {
        if (round === 0) await collect(name, `${kind}-warm-${name}`, Math.min(n, 20)); // the first batches warm both up
        runs[name].push(await collect(name, `${kind}-${round}-${name}`, n));
      }
    }
    const of = (name, value) => median(runs[name].map(value));
    const ms = { engine: of("engine", ({ ms }) => ms), peer: of("peer", ({ ms }) => ms) };
    const used = { engine: of("engine", ({ cpu }) => cpu), peer: of("peer", ({ cpu }) => cpu) };
    report(`${what}, at ${latency} ms: domains a second`, rate, {
      engine: round1((n / ms.engine) * 1000),
      peer: round1((n / ms.peer) * 1000),
      ratio: ratio(ms.peer, ms.engine),
    });
    report(`  ${what}: CPU time of each, the origin's included`, cpu, {
      engine_ms: round1(used.engine / n),
      peer_ms: round1(used.peer / n),
      ratio: ratio(used.engine, used.peer),
    });
    if (!wall) continue;
    // Five domains are collected side by side, and the requests of each wait for one another.
    const waiting = (of("engine", ({ requests }) => requests) * latency) / 5;
    report(`  ${what}: five at a time, beside the latencies of their requests`, wall, {
      engine_ms: round1((ms.engine / n) * 5),
      peer_ms: round1((waiting / n) * 5),
      ratio: ratio(ms.engine, waiting),
    });
  }
}

async function hugeFiles() {
  for (const [n, { names, times }] of [
    { names: 2000, times: 1.5 },
    { names: 20_000, times: 1.4 },
  ].entries()) {
    const huge = `${dir.replace("01-28", `01-3${n}`)}raw_0001.json`;
    await drive("/generate", { side: "engine", key: huge, bytes: hugeBytes, domains: names });
    const runs = { alone: [], engine: [], growth: [] };
    let largest, sent;
    // One run varies by a seventh, so these are medians of three, in turn.
    for (let round = 0; round < (quick ? 1 : 3); round++) {
      runs.alone.push(await timed(() => drive("/read", { side: "engine", key: huge })));
      await workers.engine.fetch("/pool"); // counts from here
      await remove("engine", `${huge}.success`);
      const before = workerd.resetPeak();
      runs.engine.push(
        await timed(() =>
          deliver("engine", "newsfork-seed-engine", [
            { file_path: huge, partition_info: { ...partition, date: `2026-01-3${n}` } },
          ]),
        ),
      );
      runs.growth.push(workerd.peak() - before);
      ({ largest, sent } = await (await workers.engine.fetch("/pool")).json());
    }
    const [alone, ms, growth] = [runs.alone, runs.engine, runs.growth].map(median);
    const file = `a ${hugeBytes / 2 ** 30} GB raw file`;
    if (n === 0)
      report(`${file} read by a Worker in JavaScript, which does nothing with it`, "–", { peer_ms: round1(alone) });
    report(
      `${file}, ${names.toLocaleString("en")} domains, the engine alone`,
      `≤ ${times} × reading it, linear memory ≤ 48 MiB`,
      {
        engine_ms: round1(ms),
        ratio: ratio(ms, alone),
        linear_mib: round1(largest / 2 ** 20),
        growth_mib: round1(growth / 2 ** 20),
      },
    );
    const sending = await timed(() => drive("/read", { side: "engine", key: huge, ...sent }));
    report(`  ${file}, ${names.toLocaleString("en")} domains, beside reading it and sending as many messages`, "–", {
      engine_ms: round1(ms),
      peer_ms: round1(sending),
      ratio: ratio(ms, sending),
    });
    await remove("engine", huge);
  }
}

const parts = { orchestrate, file, domains: manyDomains, huge: hugeFiles };
try {
  for (const [name, part] of Object.entries(parts)) if ([undefined, name].includes(option("only"))) await part();
} finally {
  await harness.close();
}
rows.finish({ quick: quick || Boolean(option("domains")), complete: !option("only") }); // another number of domains is another row
