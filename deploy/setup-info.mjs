// Creates what an environment of the Info service needs beside its Workers, and writes the ids of database and namespace into
// the configuration of both: node deploy/setup-info.mjs staging. It leaves alone what exists, so it may be repeated.
import { readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { unstable_readConfig as readConfig } from "wrangler";
import { checkLogin, quietly, root, setUp, token } from "./account.mjs";

const [env, dir = join(root, "info")] = process.argv.slice(2);
if (!["staging", "production"].includes(env)) {
  console.error("usage: node deploy/setup-info.mjs staging|production");
  process.exit(2);
}
const files = ["collector", "api"].map((worker) => join(dir, worker, "wrangler.jsonc"));
const config = readConfig({ config: files[0], env }, { hideWarnings: true });
const database = config.d1_databases[0];
const namespace = config.kv_namespaces[0];
const name = database.database_name; // the namespace has the same one
const collector = ["--env", env, "-c", files[0]];

/** The ids of what exists now, by those in the files. */
function ids() {
  const d1 = JSON.parse(quietly(["d1", "info", name, "--json"]).output);
  const kv = JSON.parse(quietly(["kv", "namespace", "list"]).output).find(({ title }) => title === name);
  return [
    [database.database_id, d1.uuid],
    [namespace.id, kv.id],
  ];
}

function writeIds() {
  const changes = ids();
  for (const file of files) {
    let text = readFileSync(file, "utf8");
    for (const [before, id] of changes) text = text.replaceAll(`"${before}"`, `"${id}"`);
    writeFileSync(file, text);
  }
  console.log(`The ids stand in ${files.join(" and ")}: commit them. Now: make deploy-info-${env}`);
}

setUp(
  [
    {
      look: ["d1", "info", name, "--json"],
      create: ["d1", "create", name, "--location", process.env.LOCATION ?? "apac", "--update-config=false"],
    },
    {
      look: ["kv", "namespace", "list"],
      shown: (output) => output.includes(`"title": "${name}"`),
      create: ["kv", "namespace", "create", name, "--update-config=false"],
    },
    {
      look: ["secret", "list", ...collector],
      shown: (output) => output.includes('"API_TOKEN"'),
      create: ["secret", "put", "API_TOKEN", ...collector],
      input: token,
    },
  ],
  checkLogin,
  writeIds,
);
