// Creates what an environment needs beside the Worker: node deploy/setup.mjs staging. It leaves alone what exists, so it
// may be repeated. First it prints the commands that it would run on an empty account; with DRY=1 that is all.
import { checkLogin, chosen, quietly, setUp, token } from "./account.mjs";

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

/** Throws, saying what to do, if the account cannot have the resources. */
function checkAccount() {
  checkLogin();
  const { ok, output } = quietly(["r2", "bucket", "list"]);
  if (!ok && output.includes("[code: 10042]"))
    throw new Error("R2 is not enabled for this account: enable it in the dashboard, under R2, and run this again");
  if (!ok) throw new Error(`wrangler r2 bucket list failed:\n${output}`);
}

const place = chosen("setup");
setUp(resources(place), checkAccount, () => console.log(`Now: make deploy-${place.env}`));
