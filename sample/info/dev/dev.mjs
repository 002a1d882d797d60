// A local run of the Info service: readers at http://localhost:8788, operators at the next port (make dev-info PORT=9000
// takes others); with POSTGRES=1 (make dev-info-postgres) on PostgreSQL and Redis servers of its own. It is one run of wrangler, for two cannot open the same simulated D1, and wrangler listens at one port.
import { spawn, spawnSync } from "node:child_process";
import { existsSync, readFileSync } from "node:fs";
import { connect, createServer } from "node:net";
import { join } from "node:path";
import { root } from "../../local.mjs";
import { startServers } from "./servers.mjs";
import { lostLines } from "./vars.mjs";

const readers = Number(process.env.PORT ?? 8788);
const operators = readers + 1;
const state = ["--persist-to", process.env.STATE ?? ".wrangler/state"];
const command = (...args) => [
  process.execPath,
  [join(root, "node_modules/wrangler/bin/wrangler.js"), ...args, ...state],
  { cwd: root, stdio: "inherit" },
];

for (const name of ["info/collector/.dev.vars", "info/api/.dev.vars"].filter((name) => existsSync(join(root, name)))) {
  const lost = lostLines(readFileSync(join(root, name), "utf8"));
  if (lost.length === 0) continue;
  console.error(`${name}: wrangler drops ${lost.join(", ")}. Put a value of several lines in quotes: FEEDS="…\\n…"`);
  process.exit(1);
}

const servers = process.env.POSTGRES ? await startServers() : undefined;
if (!servers) {
  const collector = ["-c", "info/collector/wrangler.jsonc"];
  const { status } = spawnSync(...command("d1", "migrations", "apply", "INFO_DB", "--local", ...collector));
  if (status) process.exit(status);
}
const workers = servers?.configs ?? ["info/api/wrangler.jsonc", "info/collector/wrangler.jsonc"];
const configs = ["sample/info/dev/wrangler.jsonc", ...workers].flatMap((config) => ["-c", config]);
const ports = ["--port", String(readers), "--inspector-port", "0", "--var", `OPERATORS:${operators}`];
const wrangler = spawn(...command("dev", ...configs, ...ports));
const second = createServer((socket) => {
  const onward = connect(readers, "127.0.0.1");
  for (const [one, other] of [
    [socket, onward],
    [onward, socket],
  ])
    one.pipe(other).on("error", () => one.destroy());
});
second.on("error", (error) => {
  console.error(`port ${operators}: ${error.message}`);
  process.exitCode = 1;
  wrangler.kill();
});
second.listen(operators, "127.0.0.1", () =>
  console.log(`readers: http://localhost:${readers}, operators: http://localhost:${operators}`),
);
for (const signal of ["SIGINT", "SIGTERM"]) process.on(signal, () => wrangler.kill(signal));
wrangler.on("close", async (code) => {
  second.close();
  process.exitCode ||= code ?? 0;
  await servers?.remove();
});
