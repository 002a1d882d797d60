// What both set-up and tear-down know: the resources of an environment by the names of wrangler.jsonc, and wrangler.
import { spawnSync } from "node:child_process";
import { join, resolve } from "node:path";
import { fileURLToPath } from "node:url";
import { unstable_readConfig as readConfig } from "wrangler";

export const root = resolve(fileURLToPath(new URL("..", import.meta.url)));

/** The names of what an environment consists of, and where it is placed. */
export function environment(env) {
  const config = readConfig({ config: join(root, "wrangler.jsonc"), env }, { hideWarnings: true });
  return {
    env,
    worker: config.name,
    location: config.vars.LOCATION ?? "apac",
    buckets: config.r2_buckets.map((b) => b.bucket_name),
    databases: config.d1_databases.map((d) => d.database_name),
    queues: config.queues.producers.map((q) => q.queue),
    seedQueue: config.queues.producers.find((q) => q.binding === "SEED_QUEUE").queue,
  };
}

/** Returns the environment that the command line names, or ends the program. */
export function chosen(program) {
  const env = process.argv[2];
  if (["staging", "production"].includes(env)) return environment(env);
  console.error(`usage: node deploy/${program}.mjs staging|production`);
  return process.exit(2);
}

/** Runs wrangler. The top level of wrangler.jsonc is development, so commands about a Worker name their environment. */
export function wrangler(args, options) {
  const run = spawnSync("wrangler", args, { cwd: root, encoding: "utf8", ...options });
  if (run.error) throw run.error;
  return { ok: run.status === 0, output: `${run.stdout ?? ""}${run.stderr ?? ""}` };
}

/** Runs wrangler and keeps what it prints. */
export const quietly = (args) => wrangler(args, { stdio: ["ignore", "pipe", "pipe"] });

// How the platform says that something does not exist; any other failure is one. By its codes: bucket 10006, Worker 10007
// and 10090, notifications 11015, queue 11000, D1 7404. Where wrangler looks a name up in a list, by wrangler's words.
const missing = /\[code: (10006|10007|10090|11015|11000|7404)\]|Queue ".*" does not exist|Worker ".*" .*not found|Couldn't find a D1 DB/i;

/** Reports whether something exists, by the command that looks for it; what it prints may have to show it. */
export function exists(look, shown = () => true) {
  const { ok, output } = quietly(look);
  if (!ok && !missing.test(output)) throw new Error(`wrangler ${look.join(" ")} failed:\n${output}`);
  return ok && shown(output);
}
