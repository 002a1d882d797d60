// Deletes what set-up and deployments of an environment created: node deploy/teardown.mjs staging. It prints the commands;
// only with DELETE=newsfork-seed-engine-staging, the Worker's name, it runs them. A bucket with objects is not deleted:
// empty it first, in the dashboard or with rclone.
import { chosen, exists, wrangler } from "./account.mjs";

const place = chosen("teardown");
const { env, worker, buckets, databases, queues, seedQueue } = place;
const all = [
  ...buckets.map((name) => ({
    look: ["r2", "bucket", "notification", "list", name],
    shown: (output) => output.includes(seedQueue),
    remove: ["r2", "bucket", "notification", "delete", name, "--queue", seedQueue],
  })),
  { look: ["secret", "list", "--env", env], remove: ["delete", "--env", env, "--force"] }, // the objects go with it
  ...queues.map((name) => ({ look: ["queues", "info", name], remove: ["queues", "delete", name] })),
  ...databases.map((name) => ({
    look: ["d1", "info", name, "--json"],
    remove: ["d1", "delete", name, "--skip-confirmation"],
  })),
  ...buckets.map((name) => ({
    look: ["r2", "bucket", "info", name, "--json"],
    remove: ["r2", "bucket", "delete", name],
  })),
];

console.log("Commands, each run only if its resource exists:");
for (const { remove } of all) console.log(`  wrangler ${remove.join(" ")}`);
if (process.env.DRY === "1") process.exit(0);
if (process.env.DELETE !== worker) {
  console.error(`This deletes all data of ${worker}. To run it: make teardown-${env} DELETE=${worker}`);
  process.exit(2);
}
let failed = false;
for (const { look, shown, remove } of all) {
  if (!exists(look, shown)) continue;
  console.log(`+ wrangler ${remove.join(" ")}`);
  const { ok } = wrangler(remove, { stdio: ["ignore", "inherit", "inherit"] });
  failed ||= !ok;
}
process.exitCode = failed ? 1 : 0;
