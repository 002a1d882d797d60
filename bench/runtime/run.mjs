// Latency of a warm GET /health on one workerd, over HTTP on keep-alive connections:
//
//   pooled  this repository's runtime
//   peer    a Worker in plain JavaScript with the same answer
//   stock   the entry of github.com/syumai/workers with the same Go handler
//
// and, once main.go exists, the engine itself. node bench/runtime/run.mjs [rounds]
import { execFileSync, spawn } from "node:child_process";
import { cpSync, existsSync, mkdirSync, readdirSync, rmSync, statSync, writeFileSync } from "node:fs";
import { Agent, get } from "node:http";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";
import workerd from "workerd";
import { Rows } from "../rows.mjs";
import { build, compile } from "../../worker/build.mjs";

const here = dirname(fileURLToPath(import.meta.url));
const root = join(here, "../..");
const out = join(root, "build/bench-runtime");
const rounds = Number(process.argv[2] ?? 100);
const requestsPerRound = 40;
const warmUp = 10; // requests at the start of a turn that do not count

const sides = {
  pooled: { entry: "entry.mjs", make: (dir) => build(join(here, "pooled"), dir) },
  peer: { entry: "peer.mjs", make: (dir) => cpSync(join(here, "peer.mjs"), join(dir, "peer.mjs")) },
  stock: { entry: "worker.mjs", make: makeStock },
};
if (existsSync(join(root, "main.go"))) sides.engine = { entry: "entry.mjs", make: (dir) => build(root, dir) };

function makeStock(dir) {
  // The generator empties the directory and writes the entry module and its support code as the library ships them.
  execFileSync("go", ["run", "github.com/syumai/workers/cmd/workers-assets-gen", "-mode=go", "-o", dir], {
    cwd: root,
    stdio: "inherit",
  });
  compile(join(here, "stock"), join(dir, "app.wasm"));
}

const kind = (file) => ({ mjs: "esModule", js: "esModule", wasm: "wasm" })[file.split(".").pop()];

function config(names) {
  const worker = ([name, { entry }]) => {
    const others = readdirSync(join(out, name)).filter((file) => file !== entry && kind(file));
    const list = [entry, ...others].map((file) => `(name = "${file}", ${kind(file)} = embed "${name}/${file}")`);
    return `(name = "${name}", worker = (compatibilityDate = "2026-11-01", modules = [${list.join(", ")}],
      bindings = [(name = "ENVIRONMENT", text = "development")]))`;
  };
  const all = Object.entries(sides).filter(([name]) => names.includes(name));
  return `using Workerd = import "/workerd/workerd.capnp";
const config :Workerd.Config = (
  services = [${all.map(worker).join(",\n")}],
  sockets = [${all.map(([name]) => `(name = "${name}", address = "127.0.0.1:0", http = (), service = "${name}")`).join(",\n")}],
);
`;
}

const binary = workerd.default ?? workerd;

/**
 * Compiles a configuration of some of the sides. Otherwise workerd reads the modules from text: as much time as it takes
 * to compile the program, and none that the platform spends.
 */
function configure(...names) {
  const text = join(out, "config.capnp");
  writeFileSync(text, config(names));
  const path = join(out, `${names.join("-")}.bin`);
  writeFileSync(path, execFileSync(binary, ["compile", "--config-only", text], { maxBuffer: 1 << 28 }));
  rmSync(text);
  return path;
}

// Starts workerd with a configuration of some of the sides and resolves to its process and their ports.
async function serve(path, ...names) {
  const child = spawn(binary, ["serve", "--binary", "--control-fd=3", path], {
    stdio: ["ignore", "inherit", "inherit", "pipe"],
  });
  const ports = {};
  let text = "";
  await new Promise((resolve, reject) => {
    child.on("exit", (code) => reject(new Error(`workerd ended with ${code}`)));
    child.stdio[3].on("data", (data) => {
      const lines = (text += data).split("\n");
      text = lines.pop();
      for (const line of lines) {
        const { socket, port } = JSON.parse(line);
        ports[socket] = port;
      }
      if (Object.keys(ports).length === names.length) resolve();
    });
  });
  const stop = () => {
    child.removeAllListeners("exit");
    child.kill();
  };
  return { stop, ports };
}

function request(port, agent) {
  return new Promise((resolve, reject) => {
    const began = process.hrtime.bigint();
    get({ host: "127.0.0.1", port, path: "/health", agent }, (answer) => {
      let body = "";
      answer.setEncoding("utf8").on("data", (part) => (body += part));
      answer.on("end", () => {
        const ms = Number(process.hrtime.bigint() - began) / 1e6;
        if (answer.statusCode !== 200 || !JSON.parse(body).success) reject(new Error(`${answer.statusCode} ${body}`));
        else resolve(ms);
      });
    }).on("error", reject);
  });
}

/**
 * The first requests of an isolate in its own workerd, in ms: from the start of workerd until it listens, which
 * includes that it compiles the program, and until each of two answers.
 */
async function cold(name, path) {
  const began = performance.now();
  const { stop, ports } = await serve(path, name);
  const listening = performance.now() - began;
  const agent = new Agent({ keepAlive: true, maxSockets: 1 });
  try {
    const [first, second] = [await request(ports[name], agent), await request(ports[name], agent)];
    return { listening, first, second, all: listening + first };
  } finally {
    agent.destroy();
    stop();
  }
}

/** The medians of cold starts of the engine and the peer in turn. */
async function coldStarts() {
  const seen = { engine: [], peer: [] };
  const paths = { engine: configure("engine"), peer: configure("peer") };
  for (let round = 0; round < (rounds < 100 ? 3 : 9); round++)
    for (const name of ["engine", "peer"]) seen[name].push(await cold(name, paths[name]));
  const middle = (list, what) => list.map((one) => one[what]).toSorted((a, b) => a - b)[list.length >> 1];
  return (name, what) => middle(seen[name], what);
}

const quantile = (sorted, q) => sorted[Math.min(sorted.length - 1, Math.floor(sorted.length * q))];

async function measure(ports) {
  const agent = new Agent({ keepAlive: true, maxSockets: 1 });
  const times = Object.fromEntries(Object.keys(sides).map((name) => [name, []]));
  // The sides take turns, so that other load affects all of them.
  for (let round = -5; round < rounds; round++) {
    for (const name of Object.keys(sides)) {
      for (let i = -warmUp; i < requestsPerRound; i++) {
        const ms = await request(ports[name], agent);
        if (round >= 0 && i >= 0) times[name].push(ms);
      }
    }
  }
  agent.destroy();
  return Object.fromEntries(
    Object.entries(times).map(([name, list]) => {
      list.sort((a, b) => a - b);
      return [name, { requests: list.length, median_ms: quantile(list, 0.5), p95_ms: quantile(list, 0.95) }];
    }),
  );
}

for (const [name, side] of Object.entries(sides)) {
  const dir = join(out, name);
  mkdirSync(dir, { recursive: true });
  side.make(dir);
}
const { stop, ports } = await serve(configure(...Object.keys(sides)), ...Object.keys(sides));
let results;
try {
  results = await measure(ports);
} finally {
  stop();
}

const { peer, stock } = results;
const report = {};
for (const [name, { median_ms, p95_ms, requests }] of Object.entries(results)) {
  const wasm = join(out, name, "app.wasm");
  report[name] = {
    requests,
    median_ms: Number(median_ms.toFixed(3)),
    p95_ms: Number(p95_ms.toFixed(3)),
    times_peer: Number((median_ms / peer.median_ms).toFixed(2)),
    faster_than_stock: Number((stock.median_ms / median_ms).toFixed(1)),
    wasm_bytes: existsSync(wasm) ? statSync(wasm).size : 0,
  };
}
console.table(report);
const { engine } = results;
if (engine) {
  const rows = new Rows("runtime");
  const beside = (other) => ({
    engine_ms: engine.median_ms,
    peer_ms: other.median_ms,
    ratio: Number((engine.median_ms / other.median_ms).toFixed(2)),
  });
  rows.report("a warm `GET /health` over HTTP", "≤ 1.1 ×", beside(peer));
  rows.report("the same beside the stock entry of syumai/workers", "≤ 0.1 ×", beside(stock));
  const ms = await coldStarts();
  rows.report("the first request of a cold isolate, more than the peer's: compiling, starting, answering", "≤ 110 ms", {
    engine_ms: ms("engine", "all") - ms("peer", "all"),
  });
  rows.report("of which compiling the program", "–", {
    engine_ms: ms("engine", "listening") - ms("peer", "listening"),
  });
  rows.report("of which starting it and answering", "–", {
    engine_ms: ms("engine", "first"),
    peer_ms: ms("peer", "first"),
  });
  rows.finish({ quick: rounds < 100 });
}
console.log(
  JSON.stringify({ bench: "runtime", goals: { times_peer: "<= 1.5", faster_than_stock: ">= 10" }, results: report }),
);
