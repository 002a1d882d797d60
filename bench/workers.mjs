// Configurations shared by Workers of the benchmarks. Names begin with the benchmark or the side.
import { join } from "node:path";
import { root } from "./rows.mjs";

/** A Worker, whose main is a path in the project. */
export const worker = (name, main, more = {}) => ({
  name,
  main: join(root, main),
  compatibility_date: "2026-11-01",
  rules: [{ type: "CompiledWasm", globs: ["**/*.wasm"] }],
  ...more,
});

/** R2 and the queues. They have no consumers: what is sent is dropped. */
export const stores = (name) => ({
  r2_buckets: [{ binding: "DATASETS_BUCKET", bucket_name: `bench-${name}` }],
  queues: {
    producers: ["SEED_QUEUE", "DOMAIN_QUEUE", "DLQ"].map((binding) => ({
      binding,
      queue: `${name}-${binding.toLowerCase().replace("_", "-")}`,
    })),
  },
});

export const ledger = (name) => ({
  d1_databases: [
    {
      binding: "METADATA_DB",
      database_name: name,
      database_id: name,
      migrations_dir: join(root, "ledger/migrations"),
    },
  ],
});

export const shards = {
  durable_objects: { bindings: [{ name: "FRONTIER", class_name: "Frontier" }] },
  migrations: [{ tag: "v1", new_sqlite_classes: ["Frontier"] }],
};

/** What binds a Worker to both sides of a comparison, by their names. */
export const sides = (...names) => names.map((service) => ({ binding: service, service }));
