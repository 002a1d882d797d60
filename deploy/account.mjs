// What both set-up and tear-down know: the resources of an environment by the names of wrangler.jsonc, and wrangler.
import { spawnSync } from "node:child_process";
import { randomBytes } from "node:crypto";
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
const missing =
  /\[code: (10006|10007|10090|11015|11000|7404)\]|Queue ".*" does not exist|Worker ".*" .*not found|Couldn't find a D1 DB/i;

/** Reports whether something exists, by the command that looks for it; what it prints may have to show it. */
export function exists(look, shown = () => true) {
  const { ok, output } = quietly(look);
  if (!ok && !missing.test(output)) throw new Error(`wrangler ${look.join(" ")} failed:\n${output}`);
  return ok && shown(output);
}

const minToken = 16; // characters; settings/settings.go refuses shorter ones

/** The secret: from the variable API_TOKEN, else a new one, which is shown this once. */
export function token() {
  if (process.env.API_TOKEN) return process.env.API_TOKEN;
  const made = randomBytes(32).toString("base64url");
  console.log(`API_TOKEN is ${made}\nKeep it: it cannot be read again.`);
  return made;
}

/** Throws, saying what to do, if wrangler has no account. */
export function checkLogin() {
  if (!quietly(["whoami"]).output.includes("logged in"))
    throw new Error("wrangler is not logged in: make login, or set CLOUDFLARE_API_TOKEN and CLOUDFLARE_ACCOUNT_ID");
}

function create({ create: args, input }) {
  console.log(`+ wrangler ${args.join(" ")}`);
  const { ok } = wrangler(args, { input: input?.(), stdio: [input ? "pipe" : "inherit", "inherit", "inherit"] });
  if (!ok) throw new Error(`wrangler ${args.join(" ")} failed; mend the cause and run this again`);
}

/**
 * Creates the resources that are missing, each {look, shown, create, input}: the command that looks for it, what its output shows if
 * it exists, the command that creates it, and its input. First it prints all commands; with DRY=1 that is all.
 */
export function setUp(resources, checkAccount, then) {
  console.log("Commands, each run only if its resource is missing:");
  for (const { create } of resources) console.log(`  wrangler ${create.join(" ")}`);
  if (process.env.DRY === "1") return;
  try {
    const given = process.env.API_TOKEN;
    if (given && given.length < minToken)
      throw new Error(
        `API_TOKEN has ${given.length} characters; give it at least ${minToken}, or none to have one made`,
      );
    checkAccount();
    for (const resource of resources)
      if (exists(resource.look, resource.shown)) console.log(`= ${resource.look.join(" ")}: exists`);
      else create(resource);
    then();
  } catch (failure) {
    console.error(failure.message);
    process.exit(1);
  }
}
