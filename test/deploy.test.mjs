// The deployed configuration: both environments have every binding, queue setting and limit. Wrangler
// exits with 0 even if an environment lacks its bindings, so the test reads its table.
import assert from "node:assert/strict";
import { spawnSync } from "node:child_process";
import { existsSync, mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { registerHooks } from "node:module";
import { join, resolve } from "node:path";
import { describe, test } from "node:test";
import { fileURLToPath } from "node:url";
import { publish } from "../worker/build.mjs";
import { producerOf } from "../worker/refused.mjs";
import { home } from "./home.mjs";
import { unstable_readConfig as readConfig } from "wrangler";

const root = resolve(fileURLToPath(new URL("..", import.meta.url)));

// Each consumed queue has the producer through which the entry module requeues its messages.
function sendsAgain({ queues }) {
  const bound = Object.fromEntries(queues.producers.map(({ binding, queue }) => [binding, queue]));
  for (const { queue } of queues.consumers) assert.equal(producerOf(queue, bound), queue);
}

// With new_classes instead of new_sqlite_classes a dry-run succeeds, and the first call fails. The class is the Worker's own.
function shardsInSQLite({ durable_objects, migrations }) {
  assert.deepEqual(durable_objects.bindings, [{ name: "FRONTIER", class_name: "Frontier" }]);
  assert.deepEqual(migrations, [{ tag: "v1", new_sqlite_classes: ["Frontier"] }]);
}

const environments = { staging: "staging", production: "prod" };

// The flags of test fixtures are those with which the runtime is tested, so a deployed Worker needs them as well. The last
// is the harness's own.
const harnessFlags = ["service_binding_extra_handlers"];
const deployedConfigs = ["wrangler.jsonc", "info/api/wrangler.jsonc", "info/collector/wrangler.jsonc"];
const fixtureConfigs = ["test/runtime/fixture/wrangler.jsonc", "test/conformance/fixture/wrangler.jsonc"];

test("what is deployed has the compatibility flags and date of the fixtures, and no preview URLs", () => {
  const read = (config, env) => readConfig({ config: join(root, config), env }, { hideWarnings: true });
  for (const fixture of fixtureConfigs.map((config) => read(config)))
    for (const name of deployedConfigs)
      for (const env of [undefined, ...Object.keys(environments)]) {
        const deployed = read(name, env);
        const flags = fixture.compatibility_flags.filter((flag) => !harnessFlags.includes(flag));
        assert.deepEqual(deployed.compatibility_flags, flags, `${name}, ${env ?? "development"}`);
        assert.equal(deployed.compatibility_date, fixture.compatibility_date, name);
        assert.equal(deployed.preview_urls, false, `${name}, ${env ?? "development"}`);
      }
});

// An object settles where it is first called from, and never moves; local runs ignore the hint.
test("objects are placed by LOCATION, like buckets and databases", async () => {
  const source = "export const connect = undefined;";
  const hooks = registerHooks({
    resolve: (name, context, next) =>
      name === "cloudflare:sockets" ? { url: name, shortCircuit: true } : next(name, context),
    load: (url, context, next) =>
      url === "cloudflare:sockets" ? { format: "module", source, shortCircuit: true } : next(url, context),
  });
  const { helpers } = await import("../worker/helpers.mjs");
  hooks.deregister();
  const calls = [];
  const call = async (LOCATION) => {
    const FRONTIER = { getByName: (...args) => (calls.push(args), { call: async () => "answer" }) };
    const data = new Uint8Array();
    assert.equal(
      await helpers.objectCall({ env: { FRONTIER, LOCATION }, data }, "FRONTIER", "shard-3", "tick", "1000"),
      "answer",
    );
    return calls.pop();
  };
  assert.deepEqual(await call("weur"), ["shard-3", { locationHint: "weur" }]);
  assert.deepEqual(await call(undefined), ["shard-3", { locationHint: "apac" }]);
});

test("the workflow deploys what was tested, with the project's own wrangler", () => {
  const workflow = readFileSync(join(root, ".github/workflows/deploy.yml"), "utf8");
  assert.match(workflow, /needs: test\n/);
  const tests = readFileSync(join(root, ".github/workflows/test.yml"), "utf8");
  for (const [, action] of (workflow + tests).matchAll(/uses: (\S+)/g))
    assert.match(action, /^(\.\/|actions\/[\w-]+@[0-9a-f]{40}$)/, `${action}: a tag can be moved, a commit cannot`);
  for (const target of ["deploy-staging", "deploy-production", "deploy-info-staging", "deploy-info-production"])
    assert.match(readFileSync(join(root, "Makefile"), "utf8"), new RegExp(`^[^\\t#]*\\b${target}\\b`, "m"), target);
});

for (const [env, suffix] of Object.entries(environments)) {
  describe(`wrangler deploy --env ${env}`, () => {
    const config = readConfig({ config: join(root, "wrangler.jsonc"), env }, { hideWarnings: true });

    test("would upload the Worker with all bindings", () => {
      const { stdout, stderr } = spawnSync(
        join(root, "node_modules/.bin/node"),
        [
          join(root, "node_modules/wrangler/bin/wrangler.js"),
          "deploy",
          "--dry-run",
          "--env",
          env,
          "--outdir",
          join(home, env),
        ],
        { cwd: root, encoding: "utf8", env: { ...process.env, NO_COLOR: "1" }, stdio: ["ignore", "pipe", "pipe"] },
      );
      const output = stdout + stderr;
      for (const [binding, resource] of [
        ["DATASETS_BUCKET", `newsfork-datasets-${suffix}`],
        ["SEED_QUEUE", `newsfork-seed-${suffix}`],
        ["DOMAIN_QUEUE", `newsfork-domain-${suffix}`],
        ["DLQ", `newsfork-dlq-${suffix}`],
        ["METADATA_DB", `newsfork-metadata-${suffix}`],
        ["ENVIRONMENT", env],
        ["VERSION_METADATA", ""],
        ["FRONTIER", "Frontier"],
        ["ASSETS", "Assets"],
      ]) {
        const line = output.split("\n").find((l) => l.includes(`env.${binding} `));
        assert.ok(line?.includes(resource), `${binding}: ${line ?? output}`);
      }
      const size = Number(/Total Upload: ([\d.]+) KiB/.exec(output)[1]);
      assert.ok(size <= 14 * 1024, `the Worker has ${size} KiB, more than 14 MiB`);
      assert.ok(!/WARNING|not inherited|EGRESS/.test(output), output);
    });

    test("has the documented consumers", () => {
      const consumer = (role) => config.queues.consumers.find((c) => c.queue === `newsfork-${role}-${suffix}`);
      const limits = (c) => [c.max_batch_size, c.max_batch_timeout, c.max_retries, c.dead_letter_queue];
      assert.deepEqual(limits(consumer("seed")), [1, 30, 3, `newsfork-dlq-${suffix}`]);
      assert.deepEqual(limits(consumer("domain")), [5, 60, 3, `newsfork-dlq-${suffix}`]);
      assert.deepEqual(limits(consumer("dlq")), [10, 30, 3, undefined]);
      assert.equal(config.queues.consumers.length, 3);
    });

    test("can send messages of every queue again", () => sendsAgain(config));

    test("has the shards of the frontier in SQLite", () => shardsInSQLite(config));

    test("has name, CPU limit, observability and crons", () => {
      assert.equal(config.name, `newsfork-seed-engine-${env}`);
      assert.equal(config.limits.cpu_ms, 300000);
      assert.equal(config.observability.enabled, true);
      assert.equal(config.observability.logs.invocation_logs, env === "staging");
      assert.equal(config.vars.LOG_SAMPLE, env === "staging" ? "100" : "10");
      assert.deepEqual(config.triggers.crons, ["* * * * *"]);
      assert.equal(config.d1_databases[0].migrations_dir, "ledger/migrations");
    });
  });
}

// A text embedded by mistake would be deployed twice and enlarge the module.
test("the model, the description of the API and the schemas are static files, and not in the module", () => {
  const { assets } = readConfig({ config: join(root, "wrangler.jsonc") }, { hideWarnings: true });
  const module = readFileSync(join(root, "build/deploy/app.wasm"));
  const model = readFileSync(join(root, "classify/model.sum"), "utf8").trim();
  for (const [path, source] of Object.entries({
    [`classify/${model}.model`]: "classify/embedded/classifier.model",
    "openapi.json": "contract/openapi.json",
    "schemas/domain_metadata.schema.json": "contract/schemas/domain_metadata.schema.json",
    "schemas/dead_letter.schema.json": "contract/schemas/dead_letter.schema.json",
    "dashboard/index.html": "dashboard/public/dashboard/index.html",
    _headers: "dashboard/public/_headers",
  })) {
    const text = readFileSync(join(root, source));
    assert.deepEqual(readFileSync(join(root, assets.directory, path)), text, path);
    assert.equal(module.indexOf(text.subarray(text.length / 2, text.length / 2 + 100)), -1, path);
  }
});

test("deleted static files are not deployed again", () => {
  const directory = join(home, "assets");
  mkdirSync(join(directory, "classify"), { recursive: true });
  writeFileSync(join(directory, "classify/0123456789abcdef.model"), "the model of an earlier build");
  publish(directory);
  assert.ok(!existsSync(join(directory, "classify/0123456789abcdef.model")));
  assert.ok(existsSync(join(directory, "openapi.json")));
});

// Values in vars are in the repository, and `wrangler deploy` prints them.
test("no environment has a secret among its variables", () => {
  const [, list] = /^var Secrets = \[\]string\{([^}]*)\}$/m.exec(
    readFileSync(join(root, "settings/settings.go"), "utf8"),
  );
  const secrets = list.match(/\w+/g);
  assert.ok(secrets.includes("API_TOKEN") && secrets.includes("ALERT_WEBHOOK_URL"), list);
  for (const env of [undefined, ...Object.keys(environments)]) {
    const { vars } = readConfig({ config: join(root, "wrangler.jsonc"), env }, { hideWarnings: true });
    assert.ok(vars.ENVIRONMENT, env);
    assert.deepEqual(
      Object.keys(vars).filter((name) => secrets.includes(name)),
      [],
      env,
    );
  }
});

// Go retries messages, and the entry module those that Go did not see: both with the same delay.
test("the deployed retry delay outlasts an outage of minutes, and is documented", () => {
  const value = (path, pattern) => Number(pattern.exec(readFileSync(join(root, path), "utf8"))?.[1]);
  const seconds = value("settings/settings.go", /"RETRY_DELAY_SECONDS", (\d+)/);
  assert.equal(value("worker/entry.mjs", /^const defaultRetryDelay = (\d+);/m), seconds);
  assert.equal(value("docs/settings.md", /^\| `RETRY_DELAY_SECONDS` \| (\d+) /m), seconds);
  assert.ok(seconds + 2 * seconds + 4 * seconds >= 10 * 60, `three retries are over after ${7 * seconds} s`);
  for (const env of Object.keys(environments))
    assert.equal(
      readConfig({ config: join(root, "wrangler.jsonc"), env }, { hideWarnings: true }).vars.RETRY_DELAY_SECONDS,
      String(seconds),
      `${env} has it, since wrangler warns of variables that only the top level has`,
    );
  assert.equal(
    readConfig({ config: join(root, "wrangler.jsonc") }, { hideWarnings: true }).vars.RETRY_DELAY_SECONDS,
    "10",
    "a local run does not wait for minutes",
  );
});

test("development has the same sizes and retries, with short timeouts", () => {
  const { queues, name, ...others } = readConfig({ config: join(root, "wrangler.jsonc") }, { hideWarnings: true });
  sendsAgain({ queues });
  shardsInSQLite(others);
  assert.equal(name, "newsfork-seed-engine-dev");
  assert.deepEqual(
    queues.consumers.map((c) => [c.queue, c.max_batch_size, c.max_batch_timeout, c.max_retries]),
    [
      ["newsfork-seed-dev", 1, 1, 3],
      ["newsfork-domain-dev", 5, 1, 3],
      ["newsfork-dlq-dev", 10, 1, 3],
    ],
  );
});
