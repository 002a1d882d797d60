// The deployed configuration of the Info service: both Workers in both environments, with their shared bindings.
import assert from "node:assert/strict";
import { execFileSync } from "node:child_process";
import { join, resolve } from "node:path";
import { describe, test } from "node:test";
import { fileURLToPath } from "node:url";
import { home } from "../home.mjs";
import { unstable_readConfig as readConfig } from "wrangler";

const root = resolve(fileURLToPath(new URL("../..", import.meta.url)));
const environments = { staging: "staging", production: "prod" };
const path = (worker) => join(root, `info/${worker}/wrangler.jsonc`);
const config = (worker, env) => readConfig({ config: path(worker), env }, { hideWarnings: true });

for (const worker of ["collector", "api"]) {
  for (const [env, suffix] of Object.entries(environments)) {
    test(`wrangler deploy --env ${env} -c info/${worker}/wrangler.jsonc`, () => {
      const { name, triggers, observability } = config(worker, env);
      assert.equal(name, `newsfork-info-${worker}-${suffix}`);
      assert.deepEqual(
        triggers.crons ?? [],
        worker === "collector" ? ["*/5 * * * *", "*/30 * * * *", "17 3 * * *"] : [],
      );
      assert.ok(observability.enabled);
      const output = execFileSync(
        join(root, "node_modules/.bin/node"),
        [
          join(root, "node_modules/wrangler/bin/wrangler.js"),
          ...["deploy", "--dry-run", "--env", env, "-c", path(worker)],
          ...["--outdir", join(home, `${worker}-${env}`)],
        ],
        { cwd: root, encoding: "utf8", env: { ...process.env, NO_COLOR: "1" }, stdio: ["ignore", "pipe", "pipe"] },
      );
      for (const [binding, resource] of [
        ["INFO_DB", `newsfork-info-${suffix}`],
        ["INFO_CACHE", ""],
        ["ENVIRONMENT", env],
      ]) {
        const line = output.split("\n").find((l) => l.includes(`env.${binding} `));
        assert.ok(line?.includes(resource), `${binding}: ${line ?? output}`);
      }
      const size = Number(/Total Upload: ([\d.]+) KiB/.exec(output)[1]);
      assert.ok(size <= 14 * 1024, `the Worker has ${size} KiB, more than 14 MiB`);
      assert.ok(!/not inherited|EGRESS|SEED_ENGINE/.test(output), output);
    });
  }
}

test("make deploy-info-… applies the migrations first, then deploys the collector and the API", () => {
  for (const env of Object.keys(environments)) {
    const commands = execFileSync("make", ["-n", `deploy-info-${env}`], { cwd: root, encoding: "utf8" })
      .split("\n")
      .map((line) => line.split("wrangler.js ")[1])
      .filter(Boolean);
    assert.deepEqual(commands, [
      `d1 migrations apply INFO_DB --remote --env ${env} -c info/collector/wrangler.jsonc`,
      `deploy --env ${env} -c info/collector/wrangler.jsonc`,
      `deploy --env ${env} -c info/api/wrangler.jsonc`,
    ]);
  }
});

describe("both Workers", () => {
  for (const env of [undefined, ...Object.keys(environments)]) {
    test(`name the same database and cache in ${env ?? "development"}`, () => {
      const [collector, api] = ["collector", "api"].map((worker) => config(worker, env));
      assert.deepEqual(collector.d1_databases, api.d1_databases);
      assert.deepEqual(collector.kv_namespaces, api.kv_namespaces);
    });
  }

  test("serve readers only through the platform's cache", () => {
    assert.equal(config("api", "production").cache?.enabled, true);
    assert.equal(config("collector", "production").cache, undefined);
  });
});
