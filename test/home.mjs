// Keeps wrangler's own files out of the home directory: import it before wrangler. Go
// keeps using its own caches and settings.
import { execFileSync } from "node:child_process";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";

const names = ["GOENV", "GOCACHE", "GOMODCACHE", "GOPATH"];
const values = execFileSync("go", ["env", ...names], { encoding: "utf8" }).split("\n");
names.forEach((name, i) => (process.env[name] = values[i]));

export const home = mkdtempSync(join(tmpdir(), "seed-engine-"));
process.on("exit", () => rmSync(home, { recursive: true, force: true }));
Object.assign(process.env, { HOME: home, XDG_CONFIG_HOME: home, WRANGLER_SEND_METRICS: "false" });
