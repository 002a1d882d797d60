// make dev as people run it, at a port of its own.
import assert from "node:assert/strict";
import { spawn } from "node:child_process";
import { mkdtempSync, rmSync } from "node:fs";
import { createServer } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, test } from "node:test";
import { setTimeout as sleep } from "node:timers/promises";
import { fileURLToPath } from "node:url";
import "../test/home.mjs";
import { freePort } from "./local.mjs";

const state = mkdtempSync(join(tmpdir(), "dev-"));
after(() => rmSync(state, { recursive: true, force: true, maxRetries: 5 }));

/** Starts make dev. ended has its exit code; output what it has printed so far. */
function dev(port) {
  const child = spawn(process.execPath, [fileURLToPath(new URL("dev.mjs", import.meta.url))], {
    env: { ...process.env, PORT: port, STATE: state, CRON_SECONDS: "1" },
    stdio: ["ignore", "pipe", "pipe"],
  });
  const run = { child, output: "", ended: new Promise((done) => child.once("close", done)) };
  for (const stream of [child.stdout, child.stderr])
    stream.setEncoding("utf8").on("data", (chunk) => (run.output += chunk));
  return run;
}

test("make dev serves the Worker and runs its cron, until Ctrl-C", { timeout: 300_000 }, async () => {
  const port = await freePort();
  const run = dev(port);
  const url = `http://localhost:${port}`;
  const until = async (done) => {
    for (const began = Date.now(); !(await done()); await sleep(500)) {
      assert.equal(run.child.exitCode, null, run.output);
      assert.ok(Date.now() - began < 240_000, run.output);
    }
  };
  try {
    await until(async () => (await fetch(`${url}/health`).catch(() => ({}))).ok);
    await until(() => /^cron: ok, again every 1 s$/m.test(run.output));
  } finally {
    run.child.kill("SIGINT");
  }
  assert.equal(await run.ended, 0, run.output);
});

test("make dev stops if its port is taken", async () => {
  const other = createServer();
  await new Promise((done) => other.listen(0, "127.0.0.1", done));
  const { port } = other.address();
  try {
    const run = dev(port);
    assert.equal(await run.ended, 1);
    assert.equal(run.output, `port ${port} is taken; PORT=9000 make dev takes another\n`);
  } finally {
    other.close();
  }
});
