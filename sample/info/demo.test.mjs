// The demo of the Info service, run as people run it, until they have seen its page.
import assert from "node:assert/strict";
import { spawn } from "node:child_process";
import { test } from "node:test";
import { fileURLToPath } from "node:url";
import { setDevelopersToken } from "../../test/harness.mjs";

test("make demo-info KEEP=1 scrolls without gap or duplicate, then shows the page", { timeout: 300_000 }, async (t) => {
  setDevelopersToken(t); // with which an engine refuses callers that send none
  const script = fileURLToPath(new URL("demo.mjs", import.meta.url));
  const child = spawn(process.execPath, [script], {
    env: { ...process.env, KEEP: "1" },
    stdio: ["ignore", "pipe", "pipe"],
  });
  let output = "";
  let page;
  for (const stream of [child.stdout, child.stderr])
    stream.setEncoding("utf8").on("data", (chunk) => {
      output += chunk;
      const url = output.match(
        /^readers +(\S+) with the page, .*\n^keep +collects every ten seconds; Ctrl-C ends it$/m,
      )?.[1];
      if (url)
        page ??= fetch(url)
          .then((answer) => answer.text())
          .finally(() => child.kill("SIGINT"));
    });
  const code = await new Promise((done) => child.once("close", done));
  assert.equal(code, 0, output);
  assert.match(output, /^seed +\d+ articles in 1 call/m);
  assert.match(output, /^ok +what the engine found is among them: \d+ articles? since the scroll began$/m);
  const [, seen] = output.match(/^ok +([\d,]+) articles, none twice, none missing, newest first; meanwhile came \d+/m);
  assert.ok(Number(seen.replace(",", "")) >= 500, seen);
  assert.match(await page, /<script type="module" src="\/reader\.js"/);
});
