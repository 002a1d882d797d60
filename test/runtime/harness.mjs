// Starts the fixture program on workerd for a test file.
import { dirname, join } from "node:path";
import { after } from "node:test";
import { fileURLToPath } from "node:url";
import { build } from "../../worker/build.mjs";
import "../home.mjs";

const here = dirname(fileURLToPath(import.meta.url));
process.env.WRANGLER_LOG = "error"; // the fixture fails on purpose
const { createTestHarness } = await import("wrangler");

/** Starts the fixture; it stops after the tests of the file. */
export async function start() {
  build(join(here, "fixture"), join(here, "../../build/runtime-fixture"));
  const server = createTestHarness({
    root: join(here, "fixture"),
    workers: [{ configPath: "wrangler.jsonc" }, { configPath: "wrangler.peer.jsonc" }],
  });
  await server.listen();
  after(() => server.close());
  const engine = server.getWorker("runtime-fixture");
  const peer = server.getWorker("runtime-peer");
  const post = (worker, path, body) =>
    worker.fetch(`http://test${path}`, { method: "POST", body: JSON.stringify(body) }).then((answer) => answer.json());

  const fixture = {
    get: (path, init) => engine.fetch(`http://test${path}`, init),
    text: async (path, init) => (await engine.fetch(`http://test${path}`, init)).text(),
    /** Counters and state of the pool. */
    stats: () => engine.fetch("http://test/_stats").then((answer) => answer.json()),
    /** Replaces production limits by the given ones, until the next call. */
    rules: (changed = {}) => post(engine, "/_rules", changed),
    /** Makes the program fail when it starts: "exit", "block" or "". */
    failStart: (how) => post(engine, "/_start", how),
    /** Calls an object; returns its answer as text. */
    call: (name, operation, request) =>
      fixture.text("/_call", { method: "POST", body: JSON.stringify({ name, operation, request }) }),
    /** Calls another method of an object. */
    method: async (name, method, ...args) =>
      JSON.parse(await fixture.text("/_call", { method: "POST", body: JSON.stringify({ name, method, args }) })),
    evict: (name) => engine.evictDurableObject("OBJECT", { name }),
    /** Makes the program refuse batches. */
    refuse: (yes) => post(engine, "/_refuse", yes),
    /** Delivers one batch; the messages are m0, m1, … */
    deliver: (...bodies) => fixture.deliverTo("runtime-queue", ...bodies),
    deliverTo: (queue, ...bodies) => post(peer, "/_queue", { queue, bodies }),
    cron: (cron) => post(peer, "/_scheduled", { cron, scheduledTime: Date.now() }),
    env: () => engine.getEnv(),
    bucket: async () => (await engine.getEnv()).BUCKET,
    /** The JSON log lines with the given event name. */
    logged: (event) =>
      fixture
        .logs()
        .filter((line) => line.startsWith(`{"event":"${event}"`))
        .map((line) => JSON.parse(line)),
    logs: () => server.getLogs().map(({ message }) => message),
    clearLogs: () => server.clearLogs(),
    /** Sends a request and disconnects after the given time. */
    hangUp: (path, ms, headers = {}) => post(peer, "/_hang-up", { path, ms, headers }),
    /** Reads the response to path more slowly than the responses to other paths requested meanwhile. */
    readSlowly: (path, meanwhile) => post(peer, "/_read-slowly", { path, meanwhile }),
    /** Uploads a body piece by piece. */
    upload: (how) => post(peer, "/_upload", how),
    /** Sends n requests and returns the number of responses with status 200. */
    load: (path, n) => post(peer, "/_load", { path, n }),
  };
  return fixture;
}

export const pause = (ms) => new Promise((resolve) => setTimeout(resolve, ms));

/** Repeats check until it returns a true value or the time is over, and returns the last value. */
export async function eventually(check, ms = 5000) {
  const until = Date.now() + ms;
  for (;;) {
    const result = await check();
    if (result || Date.now() > until) return result;
    await pause(50);
  }
}
