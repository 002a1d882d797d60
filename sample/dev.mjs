// make dev: the Worker of the top level of wrangler.jsonc at http://localhost:8787, rebuilt when a source changes, with simulated
// R2, queues and D1 that stay in .wrangler/state. PORT=9000 takes another port, STATE another directory. wrangler dev runs no
// crons, so this does, every minute as the platform, or every CRON_SECONDS.
import { spawn, spawnSync } from "node:child_process";
import { join } from "node:path";
import { freePort, root, runCron } from "./local.mjs";

const port = Number(process.env.PORT ?? 8787);
const state = ["--persist-to", process.env.STATE ?? ".wrangler/state"];
const wrangler = join(root, "node_modules/wrangler/bin/wrangler.js");
const options = { cwd: root, stdio: "inherit" };

// wrangler would take the next free port in silence, which may be that of the Info service's readers.
if (!(await freePort(port))) {
  console.error(`port ${port} is taken; PORT=9000 make dev takes another`);
  process.exit(1);
}
const migrations = ["d1", "migrations", "apply", "METADATA_DB", "--local", ...state];
const { status } = spawnSync(process.execPath, [wrangler, ...migrations], options);
if (status) process.exit(status);

const dev = spawn(process.execPath, [wrangler, "dev", "--port", String(port), ...state], options);
const seconds = Number(process.env.CRON_SECONDS ?? 60);
let last; // outcome
const crons = setInterval(async () => {
  const outcome = await runCron(`http://localhost:${port}`);
  if (!last && outcome !== "ok") return; // it is starting
  if (outcome !== last) console.log(`cron: ${outcome}, again every ${seconds} s`);
  last = outcome;
}, seconds * 1000);
let stopped = false;
for (const signal of ["SIGINT", "SIGTERM"])
  process.on(signal, () => {
    stopped = true;
    dev.kill(signal);
  });
dev.on("close", (code) => {
  clearInterval(crons);
  process.exitCode = stopped ? 0 : (code ?? 1);
});
