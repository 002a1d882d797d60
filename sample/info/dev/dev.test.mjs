// make dev-info as people run it, at ports of its own.
import assert from "node:assert/strict";
import { spawn } from "node:child_process";
import { rmSync, mkdtempSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, test } from "node:test";
import { setTimeout as sleep } from "node:timers/promises";
import { fileURLToPath } from "node:url";
import "../../../test/home.mjs";
import { freePort } from "../../local.mjs";

const state = mkdtempSync(join(tmpdir(), "dev-info-"));
after(() => rmSync(state, { recursive: true, force: true, maxRetries: 5 }));

async function freePair() {
  for (let port = 20_000 + (process.pid % 20_000); ; port += 2)
    if ((await freePort(port)) && (await freePort(port + 1))) return port;
}

test("make dev-info serves readers and operators until Ctrl-C", { timeout: 300_000 }, async () => {
  const port = await freePair();
  const child = spawn(process.execPath, [fileURLToPath(new URL("dev.mjs", import.meta.url))], {
    env: { ...process.env, PORT: port, STATE: state },
    stdio: ["ignore", "pipe", "pipe"],
  });
  let output = "";
  for (const stream of [child.stdout, child.stderr])
    stream.setEncoding("utf8").on("data", (chunk) => (output += chunk));
  const ended = new Promise((done) => child.once("close", done));
  const ask = async (which, path, init) => {
    const answer = await fetch(`http://127.0.0.1:${port + which}${path}`, init);
    return [answer.status, await answer.json()];
  };
  try {
    for (const began = Date.now(); ; await sleep(500)) {
      assert.equal(child.exitCode, null, output);
      assert.ok(Date.now() - began < 240_000, output);
      const [status] = await ask(0, "/api/v1/info/health").catch(() => []);
      if (status === 200) break;
    }
    const [read, page] = await ask(0, "/api/v1/info/news");
    assert.deepEqual([read, page.articles, page.has_more], [200, [], false]);
    const json = { "content-type": "application/json" };
    const [collected, answer] = await ask(1, "/api/v1/info/collect", { method: "POST", headers: json });
    assert.equal(collected, 400, JSON.stringify(answer)); // no source is on
    assert.match(answer.error.message, /FEEDS/);
    const [, status] = await ask(1, "/api/v1/info/status");
    assert.equal(status.data.sources.length, 4);
    const builds = output.split("[custom build] Running").length;
    await sleep(5_000);
    assert.equal(output.split("[custom build] Running").length, builds, "it builds again and again");
  } finally {
    child.kill("SIGINT");
  }
  await ended;
  assert.ok((await freePort(port)) && (await freePort(port + 1)), "a port stays taken");
});
