// make setup-…: each resource is created only if it is missing, and another failure does not count as missing.
import assert from "node:assert/strict";
import { spawnSync } from "node:child_process";
import { mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { delimiter, join, resolve } from "node:path";
import { describe, test } from "node:test";
import { fileURLToPath } from "node:url";
import { home } from "./home.mjs";

const root = resolve(fileURLToPath(new URL("..", import.meta.url)));
const bin = join(home, "bin");
const log = join(home, "wrangler.log");

// Plays wrangler: it records commands, and answers from ANSWERS by the beginning of the command.
mkdirSync(bin, { recursive: true });
writeFileSync(
  join(bin, "wrangler"),
  `#!${process.execPath}
import { appendFileSync, readFileSync } from "node:fs";
const command = process.argv.slice(2).join(" ");
const input = command.startsWith("secret put") ? readFileSync(0, "utf8") : "";
appendFileSync(process.env.LOG, JSON.stringify({ command, input }) + "\\n");
for (const [start, { output, status }] of Object.entries(JSON.parse(process.env.ANSWERS)))
  if (command.startsWith(start)) {
    console.log(output);
    process.exit(status);
  }
`,
  { mode: 0o755 },
);
writeFileSync(join(bin, "package.json"), '{"type":"module"}');

// Messages of wrangler 4.164 for missing resources.
const nothing = {
  "r2 bucket info": { output: "✘ [ERROR] The specified bucket does not exist. [code: 10006]", status: 1 },
  "d1 info": { output: "✘ [ERROR] Couldn't find a D1 DB named 'newsfork-metadata-staging'", status: 1 },
  "queues info": { output: '✘ [ERROR] Queue "newsfork-seed-staging" does not exist.', status: 1 },
  "secret list": { output: "✘ [ERROR] This Worker does not exist on your account. [code: 10007]", status: 1 },
  "r2 bucket notification list": { output: "✘ [ERROR] No configuration was not found [code: 11015]", status: 1 },
};
const everything = {
  "secret list": { output: '[{ "name": "API_TOKEN", "type": "secret_text" }]', status: 0 },
  "r2 bucket notification list": { output: "queue_name: newsfork-seed-staging", status: 0 },
};

function setUp(target, { answers = nothing, ...env } = {}) {
  writeFileSync(log, "");
  const make = spawnSync("make", ["-s", `setup-${target}`, `PATH=${bin}${delimiter}${process.env.PATH}`], {
    cwd: root,
    encoding: "utf8",
    env: { ...process.env, LOG: log, ANSWERS: JSON.stringify(answers), ...env },
  });
  const calls = readFileSync(log, "utf8").trim().split("\n").filter(Boolean).map(JSON.parse);
  return { status: make.status, output: make.stdout + make.stderr, calls };
}

const looks = (command) => / (info|list) /.test(`${command} `);

describe("make setup-staging", () => {
  const creations = [
    "r2 bucket create newsfork-datasets-staging",
    "d1 create newsfork-metadata-staging",
    "queues create newsfork-seed-staging",
    "queues create newsfork-domain-staging",
    "queues create newsfork-dlq-staging",
    "secret put API_TOKEN --env staging",
    "r2 bucket notification create newsfork-datasets-staging --event-type object-create --queue newsfork-seed-staging --prefix raw/",
  ];

  test("creates all missing resources, after printing every command", () => {
    const { status, output, calls } = setUp("staging", { API_TOKEN: "given" });
    assert.equal(status, 0, output);
    assert.deepEqual(
      calls.map((c) => c.command).filter((c) => !looks(c)),
      creations,
    );
    assert.equal(calls.find((c) => c.command.startsWith("secret put")).input, "given");
    const plan = output.slice(0, output.indexOf("+ wrangler"));
    for (const command of creations) assert.ok(plan.includes(`wrangler ${command}`), command);
  });

  test("generates a token if none is given, and shows it", () => {
    const { output, calls } = setUp("staging", { API_TOKEN: "" });
    const { input } = calls.find((c) => c.command.startsWith("secret put"));
    assert.match(input, /^[\w-]{43}$/);
    assert.ok(output.includes(input));
  });

  test("leaves existing resources alone", () => {
    const { status, output, calls } = setUp("staging", { answers: everything });
    assert.equal(status, 0, output);
    assert.deepEqual(
      calls.map((c) => c.command).filter((c) => !looks(c)),
      [],
    );
    assert.equal(calls.length, creations.length);
  });

  test("creates nothing if wrangler fails for another reason", () => {
    const answers = { "d1 info": { output: "✘ [ERROR] Authentication error [code: 10000]", status: 1 } };
    const { status, output, calls } = setUp("staging", { answers });
    assert.notEqual(status, 0);
    assert.ok(output.includes("Authentication error"), output);
    assert.ok(!calls.some((c) => c.command.startsWith("d1 create")));
  });

  test("with DRY=1 prints the commands and runs none", () => {
    const { status, output, calls } = setUp("production", { DRY: "1" });
    assert.equal(status, 0, output);
    assert.deepEqual(calls, []);
    assert.ok(output.includes("wrangler queues create newsfork-domain-prod"), output);
  });
});
