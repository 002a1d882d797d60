// The Info service's other pair of store and cache in a local run: PostgreSQL and Redis.
import { readFileSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { startPostgres, startRedis } from "../../../test/info/servers.mjs";
import { parseJSONC, root } from "../../local.mjs";

const workers = ["info/api", "info/collector"];
const file = "wrangler.postgres.json";

/** A Worker's configuration for development with PostgreSQL and Redis in place of D1 and KV. */
export function configOf(text, postgres, redis) {
  const { $schema, env, d1_databases, kv_namespaces, ...config } = parseJSONC(text); // eslint-disable-line no-unused-vars
  return {
    ...config,
    vars: { ...config.vars, REDIS_URL: redis },
    hyperdrive: [{ binding: "HYPERDRIVE", id: "dev", localConnectionString: postgres }],
  };
}

/** Starts both servers, empty, and writes configurations that name them; remove() ends and deletes all of it. */
export async function startServers() {
  const [postgres, redis] = await Promise.all([startPostgres(), startRedis()]);
  await postgres.migrate();
  const configs = workers.map((dir) => `${dir}/${file}`);
  for (const [i, dir] of workers.entries()) {
    const text = readFileSync(join(root, dir, "wrangler.jsonc"), "utf8");
    writeFileSync(join(root, configs[i]), JSON.stringify(configOf(text, postgres.url, redis.url), null, 2));
  }
  console.log(`PostgreSQL: ${postgres.url}\nRedis: ${redis.url}`);
  return {
    configs,
    async remove() {
      for (const config of configs) rmSync(join(root, config), { force: true });
      await Promise.all([postgres.remove(), redis.remove()]);
    },
  };
}
