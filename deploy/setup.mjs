// Creates what an environment needs beside the Worker: node deploy/setup.mjs staging. It leaves alone what exists, so it
// may be repeated. First it prints the commands that it would run on an empty account; with DRY=1 that is all.
import { randomBytes } from "node:crypto";
import { chosen, exists, quietly, wrangler } from "./account.mjs";

const minToken = 16; // characters; settings/settings.go refuses shorter ones

/** Each resource: the command that looks for it, what its output shows if it exists, and the command that creates it. */
function resources({ env, location, buckets, databases, queues, seedQueue }) {
  const placed = ["--location", location, "--update-config=false"]; // wrangler.jsonc has the bindings already
  return [
    ...buckets.map((name) => ({
      look: ["r2", "bucket", "info", name, "--json"],
      create: ["r2", "bucket", "create", name, ...placed],
    })),
    ...databases.map((name) => ({
      look: ["d1", "info", name, "--json"],
      create: ["d1", "create", name, ...placed],
    })),
    ...queues.map((name) => ({ look: ["queues", "info", name], create: ["queues", "create", name] })),
    {
      look: ["secret", "list", "--env", env],
      shown: (output) => output.includes('"API_TOKEN"'),
      create: ["secret", "put", "API_TOKEN", "--env", env],
      input: token,
    },
    ...buckets.map((name) => ({
      look: ["r2", "bucket", "notification", "list", name],
      shown: (output) => output.includes(seedQueue),
      create: ["r2", "bucket", "notification", "create", name].concat(
        ["--event-type", "object-create", "--queue", seedQueue],
        ["--prefix", "raw/", "--suffix", ".json"], // checkpoints start nothing
      ),
    })),
  ];
}

/** The secret: from the variable API_TOKEN, else a new one, which is shown this once. */
function token() {
  if (process.env.API_TOKEN) return process.env.API_TOKEN;
  const made = randomBytes(32).toString("base64url");
  console.log(`API_TOKEN is ${made}\nKeep it: it cannot be read again.`);
  return made;
}

/** Throws, saying what to do, if the account cannot have the resources. */
function checkAccount() {
  if (!quietly(["whoami"]).output.includes("logged in"))
    throw new Error("wrangler is not logged in: make login, or set CLOUDFLARE_API_TOKEN and CLOUDFLARE_ACCOUNT_ID");
  const { ok, output } = quietly(["r2", "bucket", "list"]);
  if (!ok && output.includes("[code: 10042]"))
    throw new Error("R2 is not enabled for this account: enable it in the dashboard, under R2, and run this again");
  if (!ok) throw new Error(`wrangler r2 bucket list failed:\n${output}`);
}

function create({ create: args, input }) {
  console.log(`+ wrangler ${args.join(" ")}`);
  const { ok } = wrangler(args, { input: input?.(), stdio: [input ? "pipe" : "inherit", "inherit", "inherit"] });
  if (!ok) throw new Error(`wrangler ${args.join(" ")} failed; mend the cause and run this again`);
}

const place = chosen("setup");
const all = resources(place);
console.log("Commands, each run only if its resource is missing:");
for (const { create } of all) console.log(`  wrangler ${create.join(" ")}`);
if (process.env.DRY !== "1") {
  try {
    const given = process.env.API_TOKEN;
    if (given && given.length < minToken)
      throw new Error(
        `API_TOKEN has ${given.length} characters; give it at least ${minToken}, or none to have one made`,
      );
    checkAccount();
    for (const resource of all)
      if (exists(resource.look, resource.shown)) console.log(`= ${resource.look.join(" ")}: exists`);
      else create(resource);
    console.log(`Now: make deploy-${place.env}`);
  } catch (failure) {
    console.error(failure.message);
    process.exit(1);
  }
}
