// What make dev-info-postgres changes in the configurations of the Info service's Workers.
import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { test } from "node:test";
import { root } from "../../local.mjs";
import { configOf } from "./servers.mjs";

test("a Worker gets PostgreSQL and Redis, and keeps what else it has", () => {
  for (const worker of ["api", "collector"]) {
    const text = readFileSync(join(root, `info/${worker}/wrangler.jsonc`), "utf8");
    const config = configOf(text, "postgres://a@b/c", "redis://d");
    assert.equal(config.name, `newsfork-info-${worker}-dev`);
    assert.equal(config.main, `../../build/info-${worker}/entry.mjs`);
    assert.deepEqual(config.vars, { ENVIRONMENT: "development", REDIS_URL: "redis://d" });
    assert.deepEqual(config.hyperdrive, [
      { binding: "HYPERDRIVE", id: "dev", localConnectionString: "postgres://a@b/c" },
    ]);
    assert.deepEqual([config.d1_databases, config.kv_namespaces, config.env], [undefined, undefined, undefined]);
  }
});
