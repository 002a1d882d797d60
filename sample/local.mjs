// A local run of the engine: wrangler dev with R2, queues and D1 simulated, in a process group of
// its own that ends with this program.
import { spawn } from "node:child_process";
import { createWriteStream, mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { createServer } from "node:net";
import { join, resolve } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { fileURLToPath } from "node:url";

export const root = resolve(fileURLToPath(new URL("..", import.meta.url)));

// So that a run takes seconds: the sample web needs no politeness, and nothing there recovers.
export const sampleVars = {
  REQUEST_INTERVAL_MS: "20",
  MAX_CRAWL_DELAY_MS: "3000",
  ROBOTS_TIMEOUT_MS: "1000",
  SITEMAP_TIMEOUT_MS: "1000",
  PAGE_TIMEOUT_MS: "1000",
  FETCH_RETRIES: "1",
  FETCH_RETRY_BASE_MS: "20",
  RETRY_DELAY_SECONDS: "0",
};

/** The Worker of the sample web, for startEngine. */
export const sampleWeb = { name: "newsfork-sample-web", config: join(root, "sample/web/wrangler.jsonc") };

const node = join(root, "node_modules/.bin/node");
const wrangler = join(root, "node_modules/wrangler/bin/wrangler.js");

/**
 * Starts the engine with its development configuration, changed: vars are set, and with web (the
 * name and wrangler file of a Worker) every outbound request goes there. dir takes the generated
 * configuration, the contents of R2, queues and D1 (state) and the log (worker.log). It listens at
 * port, or at another one if that is taken.
 */
export async function startEngine({ dir, vars, web, port: wanted = 0 }) {
  mkdirSync(dir, { recursive: true });
  const config = join(dir, "wrangler.json");
  const settings = developmentConfig(vars, web);
  writeFileSync(config, JSON.stringify(settings, null, 2));
  const state = ["--persist-to", join(dir, "state")];
  const log = new Log(join(dir, "worker.log"));

  await run(["d1", "migrations", "apply", "METADATA_DB", "--local", ...state, "-c", config], dir, log);
  const port = (await freePort(wanted)) ?? (await freePort());
  const configs = ["-c", config, ...(web ? ["-c", web.config] : [])];
  const dev = start(
    ["dev", ...configs, ...state, "--ip", "127.0.0.1", "--port", port, "--inspector-port", "0"],
    dir,
    log,
  );
  const engine = new Engine(`http://127.0.0.1:${port}`, settings.r2_buckets[0].bucket_name, log, dev);
  engine.token = vars.API_TOKEN;
  try {
    await engine.ready();
  } catch (err) {
    await engine.stop();
    throw err;
  }
  return engine;
}

class Engine {
  #dev;
  #crons;
  token; // of callers who may everything, if it has one

  constructor(url, bucket, log, dev) {
    Object.assign(this, { url, bucket, log });
    this.#dev = dev;
  }

  /** Waits until the engine answers. */
  async ready() {
    for (const began = Date.now(); ;) {
      if (Date.now() - began > 60_000) throw new Error("wrangler dev did not answer within a minute");
      const ended = this.#ended();
      if (ended) throw new Error(ended);
      try {
        if ((await this.#fetch("/health")).ok) return;
      } catch {
        // not listening yet
      }
      await sleep(200);
    }
  }

  /** How wrangler dev has ended, if it has. */
  #ended() {
    const { exitCode, signalCode } = this.#dev;
    if (exitCode === null && signalCode === null) return undefined;
    return `wrangler dev ended with ${signalCode ?? `exit code ${exitCode}`}`;
  }

  /** Calls the API; the answer's status and its JSON. */
  async api(method, path, body) {
    const response = await this.#fetch(path, {
      method,
      headers: {
        ...(method !== "GET" && { "content-type": "application/json" }),
        ...(this.token && { authorization: `Bearer ${this.token}` }),
      },
      body: body instanceof Uint8Array || !body ? body : JSON.stringify(body),
    });
    return { status: response.status, ...(await response.json()) };
  }

  /** Runs the cron every so many seconds until the engine stops: wrangler dev runs none by itself. */
  everyFew(seconds) {
    this.#crons = setInterval(() => runCron(this.url), seconds * 1000);
  }

  /** Waits until the engine has ended by itself, or hangs as when wrangler starts a new runtime; returns what it saw. */
  async lost() {
    for (let failures = 0; ; await sleep(2000, null, { ref: false })) {
      const ended = this.#ended();
      if (ended) return ended;
      try {
        await (await fetch(`${this.url}/health/live`, { signal: AbortSignal.timeout(20_000) })).arrayBuffer();
        failures = 0;
      } catch {
        if (++failures === 3) return "it does not answer any more";
      }
    }
  }

  /** All objects under a prefix: {key, etag, size, last_modified, custom_metadata}, in order of keys. */
  async list(prefix) {
    const objects = [];
    for (let cursor = ""; ;) {
      const query = new URLSearchParams({ prefix, per_page: "1000", ...(cursor && { cursor }) });
      const { result, result_info: info } = await (await this.#r2(`objects?${query}`)).json();
      objects.push(...result);
      if (info.is_truncated !== "true") return objects;
      cursor = info.cursor;
    }
  }

  /** The JSON of an object. */
  async json(key) {
    return JSON.parse(Buffer.from(await this.read(key)));
  }

  /** The bytes of an object, or null. */
  async read(key) {
    const response = await this.#r2(`objects/${encodeURIComponent(key)}`);
    return response && new Uint8Array(await response.arrayBuffer());
  }

  // Objects are read through Wrangler; a second process must not open the files of the simulated buckets.
  async #r2(path) {
    const response = await this.#fetch(`/cdn-cgi/local/explorer/api/r2/buckets/${this.bucket}/${path}`);
    if (response.ok) return response;
    if (response.status === 404) return null;
    throw new Error(`R2 answered ${response.status} for ${path}: ${await response.text()}`);
  }

  // Without a limit, a runtime that hangs would hang the caller.
  #fetch(path, init) {
    return fetch(this.url + path, { ...init, signal: AbortSignal.timeout(60_000) });
  }

  /** Ends wrangler and the runtime it started. */
  async stop() {
    clearInterval(this.#crons);
    await end(this.#dev);
  }

  /** The same at once, as a machine that fails: nothing is brought to its end. */
  async kill() {
    const ended = new Promise((done) => this.#dev.once("exit", done));
    kill(this.#dev, "SIGKILL");
    await ended;
  }
}

/** What the Worker and wrangler print, kept in a file and here. */
class Log {
  #lines = [];
  #file;
  #partial = ""; // a line without its end

  constructor(path) {
    this.path = path;
    this.#file = createWriteStream(path);
  }

  take(chunk) {
    this.#file.write(chunk);
    const lines = (this.#partial + chunk).split("\n");
    this.#partial = lines.pop();
    this.#lines.push(...lines);
  }

  /** The log events of that name, oldest first. Wrangler puts the Worker's name before its lines. */
  events(name) {
    return this.#lines
      .filter((line) => line.includes(`"${name}"`) && line.endsWith("}"))
      .map((line) => JSON.parse(line.slice(line.indexOf("{"))))
      .filter((line) => line.event === name);
  }
}

function developmentConfig(vars, web) {
  const text = readFileSync(join(root, "wrangler.jsonc"), "utf8");
  const { $schema, env, build, ...config } = parseJSONC(text); // eslint-disable-line no-unused-vars
  return {
    ...config,
    main: join(root, config.main),
    assets: { ...config.assets, directory: join(root, config.assets.directory) },
    vars: { ...config.vars, ...vars },
    d1_databases: config.d1_databases.map((d) => ({ ...d, migrations_dir: join(root, d.migrations_dir) })),
    ...(web && { services: [{ binding: "EGRESS", service: web.name }] }),
  };
}

/** JSON with comments and trailing commas. */
export function parseJSONC(text) {
  const plain = text.replace(/("(?:\\.|[^"\\])*")|\/\/.*|\/\*[^]*?\*\//g, "$1");
  return JSON.parse(plain.replace(/("(?:\\.|[^"\\])*")|,(?=\s*[}\]])/g, "$1"));
}

const running = new Set();
process.on("exit", () => running.forEach((child) => kill(child, "SIGKILL")));

function start(args, dir, log) {
  const home = join(dir, "home"); // wrangler keeps files of its own there
  const child = spawn(node, [wrangler, ...args.map(String)], {
    cwd: root,
    detached: true, // a process group, so that the runtime ends with wrangler
    stdio: ["ignore", "pipe", "pipe"],
    env: {
      ...process.env,
      HOME: home,
      XDG_CONFIG_HOME: home,
      WRANGLER_SEND_METRICS: "false",
      NO_COLOR: "1",
      FORCE_COLOR: "0",
    },
  });
  running.add(child);
  child.once("exit", () => running.delete(child));
  for (const stream of [child.stdout, child.stderr]) stream.setEncoding("utf8").on("data", (chunk) => log.take(chunk));
  return child;
}

async function run(args, dir, log) {
  const child = start(args, dir, log);
  const code = await new Promise((done) => child.once("close", done));
  if (code !== 0) throw new Error(`wrangler ${args.slice(0, 3).join(" ")} ended with exit code ${code}`);
}

async function end(child) {
  if (child.exitCode !== null || child.signalCode !== null) return;
  const ended = new Promise((done) => child.once("exit", () => done(true)));
  kill(child, "SIGTERM");
  await Promise.race([ended, sleep(5000, null, { ref: false })]);
  kill(child, "SIGKILL"); // any process left in the group
}

function kill(child, signal) {
  try {
    process.kill(-child.pid, signal);
  } catch (err) {
    if (err.code !== "ESRCH") throw err;
  }
}

/** Runs the cron of a Worker in wrangler dev, as the platform does every minute. Returns "ok", or what went wrong. */
export async function runCron(url) {
  const cron = new URLSearchParams({ format: "json", cron: "* * * * *" });
  try {
    const answer = await fetch(`${url}/cdn-cgi/local/scheduled?${cron}`, { signal: AbortSignal.timeout(60_000) });
    return (await answer.json()).outcome;
  } catch (error) {
    return error.message;
  }
}

/** The port if nobody listens there, else undefined; for 0 any free one. */
export async function freePort(wanted = 0) {
  const server = createServer();
  const free = await new Promise((done) =>
    server.once("error", () => done(false)).listen(wanted, "127.0.0.1", () => done(true)),
  );
  if (!free) return undefined;
  const { port } = server.address();
  await new Promise((done) => server.close(done));
  return port;
}
