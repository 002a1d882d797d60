// Creates what an environment needs beside the Worker: node deploy/setup.mjs staging. The names are those of
// wrangler.jsonc. What is there already is left alone, so it may be repeated. First the commands are printed that it
// would run if nothing were there; with DRY=1 that is all.
import { spawnSync } from "node:child_process";
import { randomBytes } from "node:crypto";
import { join, resolve } from "node:path";
import { fileURLToPath } from "node:url";
import { unstable_readConfig as readConfig } from "wrangler";

const root = resolve(fileURLToPath(new URL("..", import.meta.url)));

// Each resource: the command that looks for it, how its output shows that it is there (without: by succeeding), and the
// command that creates it.
function resources(env) {
  const config = readConfig({ config: join(root, "wrangler.jsonc"), env }, { hideWarnings: true });
  const seed = config.queues.producers.find((q) => q.binding === "SEED_QUEUE").queue;
  const buckets = config.r2_buckets.map((b) => b.bucket_name);
  const databases = config.d1_databases.map((d) => d.database_name);
  const queues = config.queues.producers.map((q) => q.queue);
  return [
    ...buckets.map((name) => ({
      look: ["r2", "bucket", "info", name, "--json"],
      create: ["r2", "bucket", "create", name],
    })),
    ...databases.map((name) => ({ look: ["d1", "info", name, "--json"], create: ["d1", "create", name] })),
    ...queues.map((name) => ({ look: ["queues", "info", name], create: ["queues", "create", name] })),
    {
      look: ["secret", "list", "--env", env],
      there: (output) => output.includes('"API_TOKEN"'),
      create: ["secret", "put", "API_TOKEN", "--env", env],
      input: token,
    },
    ...buckets.map((name) => ({
      look: ["r2", "bucket", "notification", "list", name],
      there: (output) => output.includes(seed),
      create: ["r2", "bucket", "notification", "create", name].concat(
        ["--event-type", "object-create", "--queue", seed],
        ["--prefix", "raw/"],
      ),
    })),
  ];
}

// The secret: from the variable API_TOKEN, else a new one, which is shown this once.
function token() {
  if (process.env.API_TOKEN) return process.env.API_TOKEN;
  const made = randomBytes(32).toString("base64url");
  console.log(`API_TOKEN is ${made}\nKeep it: it cannot be read again.`);
  return made;
}

// How wrangler says that something is not there; any other failure is one.
const missing = /does not exist|couldn't find|not found/i;

function wrangler(args, options) {
  const run = spawnSync("wrangler", args, { cwd: root, encoding: "utf8", ...options });
  if (run.error) throw run.error;
  return { ok: run.status === 0, output: `${run.stdout ?? ""}${run.stderr ?? ""}` };
}

function isThere({ look, there = () => true }) {
  const { ok, output } = wrangler(look, { stdio: ["ignore", "pipe", "pipe"] });
  if (!ok && !missing.test(output)) throw new Error(`wrangler ${look.join(" ")} failed:\n${output}`);
  return ok && there(output);
}

function create({ create: args, input }) {
  console.log(`+ wrangler ${args.join(" ")}`);
  const { ok } = wrangler(args, { input: input?.(), stdio: [input ? "pipe" : "inherit", "inherit", "inherit"] });
  if (!ok) throw new Error(`wrangler ${args.join(" ")} failed; mend the cause and run this again`);
}

const env = process.argv[2];
if (!["staging", "production"].includes(env)) {
  console.error("usage: node deploy/setup.mjs staging|production");
  process.exit(2);
}
const all = resources(env);
console.log("Commands, each run only if its resource is missing:");
for (const { create } of all) console.log(`  wrangler ${create.join(" ")}`);
if (process.env.DRY !== "1") {
  try {
    for (const resource of all)
      if (isThere(resource)) console.log(`= ${resource.look.join(" ")}: there`);
      else create(resource);
    console.log(`Now: make deploy-${env}`);
  } catch (failure) {
    console.error(failure.message);
    process.exit(1);
  }
}
