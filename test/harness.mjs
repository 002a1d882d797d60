// Workers on workerd for tests and benchmarks.
import { rmSync, writeFileSync } from "node:fs";
import { fileURLToPath } from "node:url";
import { home } from "./home.mjs";
import { createTestHarness } from "wrangler";

/**
 * A harness of Workers with these configurations, whose paths are absolute. Its root is not the project's root, whose
 * .dev.vars and .env hold the secrets and settings of `make dev`: every Worker would get them.
 */
export const harnessOf = (...configs) =>
  createTestHarness({ root: home, workers: configs.map((config) => ({ config })) });

/** Gives `make dev` a token while test t runs, unless a developer has secrets there already. */
export function setDevelopersToken(t) {
  const path = fileURLToPath(new URL("../.dev.vars", import.meta.url));
  try {
    writeFileSync(path, "API_TOKEN=of-make-dev\n", { flag: "wx" });
  } catch (error) {
    if (error.code === "EEXIST") return;
    throw error;
  }
  t.after(() => rmSync(path));
}
