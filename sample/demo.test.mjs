// The demo is what people run first, so it is run here as they do.
import assert from "node:assert/strict";
import { execFileSync, spawn } from "node:child_process";
import { get } from "node:http";
import { cpSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { createServer } from "node:net";
import { dirname, join } from "node:path";
import { text } from "node:stream/consumers";
import { after, test } from "node:test";
import { fileURLToPath } from "node:url";
import { freePort } from "./local.mjs";

const scratch = mkdtempSync(join(tmpdir(), "demo-"));
after(() => rmSync(scratch, { recursive: true }));

/** Runs the demo to its end. see(child, output) is called whenever it printed more. */
const demo = (env, see) => run("demo.mjs", env, see);

async function run(name, env, see = () => {}) {
  const script = fileURLToPath(new URL(name, import.meta.url));
  const child = spawn(process.execPath, [script], {
    env: { ...process.env, ...env },
    stdio: ["ignore", "pipe", "pipe"],
  });
  let output = "";
  for (const stream of [child.stdout, child.stderr])
    stream.setEncoding("utf8").on("data", (chunk) => see(child, (output += chunk)));
  const code = await new Promise((done) => child.once("close", done));
  return { code, output };
}

const throughProxy = (proxy, url) =>
  new Promise((done, failed) => get(proxy, { path: url }, (answer) => done(text(answer))).on("error", failed));

test("the sample comes out as expected", { timeout: 600_000 }, async () => {
  const { code, output } = await demo({});
  assert.equal(code, 0, output);
  assert.match(output, /^again +3 raw files found, 0 sent, 3 skipped$/m);
  assert.match(output, /^force +3 raw files found, 3 sent, 0 skipped$/m);
  const { partitions } = JSON.parse(readFileSync(new URL("expected.json", import.meta.url)));
  for (const domain of Object.values(partitions).flatMap((p) => Object.keys(p.domains))) {
    assert.match(output, new RegExp(`^${domain.replaceAll(".", "\\.")} `, "m"));
  }
  // Top URLs and entry points, two lines a domain.
  const found = output.slice(output.indexOf("top URLs"), output.indexOf("results")).split("\n");
  const ministry = found.findIndex((line) => line.startsWith("mom.gov.sg "));
  assert.match(found[ministry], /^mom\.gov\.sg +0\.\d\d press_release \/newsroom\/.*\+\d+$/);
  assert.match(found[ministry + 1], /^ +rss [\d,]+ \/rss\/press-releases\.xml, sitemap [\d,]+ \/sitemap\.xml/);
  for (const line of found) assert.ok(line.length <= 100, line);
});

test(
  "a second run has nothing left to send; KEEP=1 shows the dashboard, a token of each kind, and a proxy to the sample web",
  { timeout: 600_000 },
  async () => {
    let seen;
    const look = async (url, proxy, tokens) => {
      const page = await (await fetch(url)).text();
      const status = async (method, path, body, token) => {
        const headers = {
          ...(body && { "content-type": "application/json" }),
          ...(token && { authorization: `Bearer ${token}` }),
        };
        return (await fetch(new URL(`/api/v1/${path}`, url), { method, headers, body })).status;
      };
      const allowed = async (token) => [
        await status("GET", "seeds/status", undefined, token),
        await status("POST", "frontier/lease", '{"max":1,"lease_seconds":10}', token),
        await status("POST", "seeds/orchestrate", "{}", token),
      ];
      return {
        page,
        proxied: await throughProxy(proxy, "http://plain-http.sg/page-1"),
        statuses: await Promise.all([allowed(), ...tokens.map(allowed)]),
        second: await demo({}),
      };
    };
    const port = await freePort();
    let process; // of the demo
    const { code, output } = await demo({ KEEP: "1", TOKENS: "1", PORT: String(port) }, (child, printed) => {
      process = child.pid;
      const proxy = printed.match(/^proxy +(\S+) leads to the sample web/m)?.[1];
      const tokens = [...printed.matchAll(/^token +(?:API|READ|SCRAPER)_TOKEN=([0-9a-f]{32}) /gm)].map((m) => m[1]);
      const url = printed.match(/^dashboard +(\S+), with one of the tokens; Ctrl-C ends it$/m)?.[1];
      if (url) seen ??= look(url, proxy, tokens).finally(() => child.kill("SIGINT"));
    });
    assert.equal(code, 0, output);
    const { page, proxied, statuses, second } = await seen;
    assert.match(output, /^proxy +http:\/\/127\.0\.0\.1:(8790 leads .*-k\)|\d+ leads .*\(port 8790 is taken\))$/m);
    assert.match(output, new RegExp(`^seedctl +export SEED_API_URL=http://127\\.0\\.0\\.1:${port}$`, "m"));
    assert.equal(second.code, 1);
    const stop = `process ${process} runs a demo in build/demo/sample-[0-9a-f]+: .* end it with kill ${process}$`;
    assert.match(second.output, new RegExp(stop, "m"));
    assert.match(page, /<title>Seed Engine/);
    assert.match(proxied, /<title>page 1</);
    assert.deepEqual(statuses, [
      [401, 401, 401],
      [200, 200, 200], // API_TOKEN
      [200, 403, 403], // READ_TOKEN
      [200, 200, 403], // SCRAPER_TOKEN
    ]);
    assert.match(output, /^orchestrate +3 raw files found, 0 sent, 3 skipped$/m);
  },
);

test("make demo-webhook shows signed deliveries until it is interrupted", { timeout: 600_000 }, async () => {
  const { code, output } = await run("webhook.mjs", {}, (child, printed) => {
    if (/^delivery .*[^]*^ +new https:\/\/daily-press\.sg\/news\//m.test(printed)) child.kill("SIGINT");
  });
  assert.equal(code, 0, output);
  assert.match(output, /^delivery +[0-9a-f]+: \d+ items?(, more to come)?, signature genuine$/m);
  assert.doesNotMatch(output, /^refused/m);
});

test("docs/quickstart.md leads to the first page", { timeout: 600_000 }, async () => {
  const quickstart = readFileSync(new URL("../docs/quickstart.md", import.meta.url), "utf8");
  const commands = [...quickstart.matchAll(/^ {4}(\S.*)$/gm)].map(([, command]) => command);
  assert.ok(commands.length <= 9, "at most eight commands, and one that changes nothing");
  assert.equal(commands[1], "make demo KEEP=1");
  const scraper = commands.slice(2, 6);
  assert.match(scraper.at(-1), /scraper\.mjs/);

  let scraped;
  const { code, output } = await demo({ KEEP: "1" }, (child, printed) => {
    const engine = printed.match(/^engine +\S+:(\d+);/m)?.[1];
    const proxy = printed.match(/^proxy +\S+:(\d+) leads/m)?.[1];
    if (!printed.includes("Ctrl-C ends it")) return;
    const script = scraper.map((command) => command.replaceAll("PORT", engine).replaceAll("PROXY", proxy)).join("\n");
    scraped ??= refetch(`http://127.0.0.1:${engine}`)
      .then(() => firstLine(script))
      .finally(() => child.kill("SIGINT"));
  });
  assert.equal(code, 0, output);
  const page = JSON.parse(await scraped);
  assert.match(page.url, /^https?:\/\//);
  assert.ok(page.bytes > 0);
});

/** Gives a page once more: an earlier run of this test, whose state the demo keeps, may have fetched all. */
async function refetch(engine) {
  const answer = await fetch(`${engine}/api/v1/frontier/urls`, {
    method: "POST",
    headers: { "content-type": "application/json" },
    body: JSON.stringify({
      urls: [{ url: "https://everyday-news.sg/en/harbour-bridge", refetch: true }],
      partition_info: { country: "sg", category: "news", date: "2026-01-28" },
    }),
  });
  assert.equal(answer.status, 200, await answer.text());
}

/**
 * The first line of JSON that a script prints, which is stopped then. It has a copy of what it needs of the project: it
 * installs the package, beside other tests that use it.
 */
async function firstLine(script) {
  for (const name of ["clients/node", "docs/scraper.mjs"])
    cpSync(fileURLToPath(new URL(`../${name}`, import.meta.url)), join(scratch, name), {
      recursive: true,
      filter: (path) => !path.includes("node_modules"),
    });
  const child = spawn("bash", ["-ec", `export PATH="${dirname(process.execPath)}:$PATH"\n${script}`], {
    cwd: scratch,
    stdio: ["ignore", "pipe", "pipe"],
    detached: true,
  });
  let output = "";
  let errors = "";
  child.stderr.setEncoding("utf8").on("data", (chunk) => (errors += chunk));
  for await (const chunk of child.stdout.setEncoding("utf8")) {
    const line = (output += chunk).split("\n").find((text) => /^\{.*\}$/.test(text));
    if (!line) continue;
    process.kill(-child.pid, "SIGTERM");
    return line;
  }
  throw new Error(`no page: ${output}${errors}`);
}

test("where no one answers, LIVE=1 ends with every domain unreachable", { timeout: 600_000 }, async () => {
  // Names under .example never resolve (RFC 6761, 6.5), with a network or without.
  const file = join(scratch, "live.json");
  writeFileSync(
    file,
    JSON.stringify(["one", "two", "three"].map((name) => ({ url: `https://www.${name}.example/news`, title: name }))),
  );
  const { code, output } = await demo({ LIVE: "1", RAW: file });
  assert.equal(code, 0, output);
  for (const name of ["one", "two", "three"])
    assert.match(output, new RegExp(`^${name}\\.example +1 +- +.*nobody$`, "m"));
  assert.match(output, /3 domains: 0 reachable, 3 unreachable/);
});

test("a named port is taken, or refused", async () => {
  const holder = createServer();
  await new Promise((done) => holder.listen(0, "127.0.0.1", done));
  const { port } = holder.address();
  for (const [wanted, message] of [
    [String(port), `port ${port} is taken: make demo PORT=9000 takes another`],
    ["80O0", "PORT=80O0 is no port; 9000 is one"],
    ["65536", "PORT=65536 is no port; 9000 is one"],
  ]) {
    const { code, output } = await demo({ PORT: wanted });
    assert.equal(code, 1);
    assert.ok(output.includes(message), output);
  }
  holder.close();
});

test("LIVE=1 says what to send when the raw files are missing", async () => {
  for (const [raw, message] of [
    ["", /name the raw files: LIVE=1 RAW="file\.json …"/],
    [join(scratch, "nothing.json"), /nothing\.json is not there; RAW lists raw files/],
  ]) {
    const { code, output } = await demo({ LIVE: "1", RAW: raw });
    assert.equal(code, 1);
    assert.match(output, message);
  }
});

// The last one: the demo begins anew after it.
test("KEEP=1 ends with a message when its engine has ended", { timeout: 600_000 }, async () => {
  let killed;
  const { code, output } = await demo({ KEEP: "1" }, (child, printed) => {
    if (!killed && printed.includes("Ctrl-C ends it")) killed = killRuntimes(child.pid);
  });
  assert.equal(code, 1, output);
  assert.ok(killed > 0);
  assert.match(output, /^failed +the engine has ended: .+; the next run begins anew$/m);
});

/** Kills the workerd processes under a process; returns how many. */
function killRuntimes(ancestor) {
  const rows = execFileSync("ps", ["-e", "-o", "pid=,ppid=,comm="], { encoding: "utf8" })
    .trim()
    .split("\n")
    .map((row) => row.trim().split(/\s+/));
  const below = new Set([String(ancestor)]);
  for (let size = 0; size < below.size;) {
    size = below.size;
    for (const [pid, parent] of rows) if (below.has(parent)) below.add(pid);
  }
  const runtimes = rows.filter(([pid, , name]) => below.has(pid) && name === "workerd");
  for (const [pid] of runtimes) process.kill(Number(pid), "SIGKILL");
  return runtimes.length;
}
