// The engine, and what it asked of its bindings so far: GET https://inside.invalid/ lists the calls by
// binding, method and the first segment of the key or the operation of a shard, and what D1 and the shards
// say they wrote.
import engine, { Frontier as Shard } from "../../build/worker/entry.mjs";

const counts = {};
const add = (name, n = 1) => (counts[name] = (counts[name] ?? 0) + n);

const place = (key) => {
  const parts = key.split("/");
  return parts.length > 2 ? `${parts[0]}/…/${parts.at(-1).replace(/\d+/, "N")}` : key;
};
const r2 = (name) => (method, key) =>
  add(`${name}.${method} ${place(typeof key === "string" ? key : (key?.prefix ?? ""))}`);
const queue = (name) => (method, messages) => add(`${name}.messages`, method === "sendBatch" ? messages.length : 1);

function watched(binding, note, settled = () => {}) {
  return new Proxy(binding, {
    get(target, property) {
      const value = Reflect.get(target, property, target);
      if (typeof value !== "function") return value;
      return (...args) => {
        note(property, args[0]);
        const result = value.apply(target, args);
        if (property === "batch") return result.then((results) => (settled(results), results));
        return result;
      };
    },
  });
}

/** A shard that counts its rows. Locally it shares the Worker's isolate, and so its counts. */
export class Frontier extends Shard {
  #cursors = [];

  constructor(ctx, env) {
    super(ctx, env);
    const { sql } = ctx.storage;
    const exec = sql.exec.bind(sql);
    sql.exec = (...args) => {
      const cursor = exec(...args);
      this.#cursors.push(cursor);
      return cursor;
    };
  }

  call(operation, request) {
    const answer = super.call(operation, request);
    for (const { rowsWritten } of this.#cursors.splice(0)) add(`shards.written ${operation}`, rowsWritten);
    return answer;
  }
}

const shards = (namespace) => ({
  getByName: (name) => ({
    call: (operation, request) => (add(`FRONTIER.${operation}`), namespace.getByName(name).call(operation, request)),
  }),
});

const counted = (env) => ({
  ...env,
  FRONTIER: shards(env.FRONTIER),
  DATASETS_BUCKET: watched(env.DATASETS_BUCKET, r2("R2")),
  SEED_QUEUE: watched(env.SEED_QUEUE, queue("SEED_QUEUE")),
  DOMAIN_QUEUE: watched(env.DOMAIN_QUEUE, queue("DOMAIN_QUEUE")),
  EGRESS: watched(env.EGRESS, () => add("requests")),
  METADATA_DB: watched(
    env.METADATA_DB,
    () => {},
    (results) => {
      for (const { meta } of results) {
        add("D1.read", meta.rows_read);
        add("D1.written", meta.rows_written);
      }
    },
  ),
});

export default {
  fetch: (request, env, ctx) =>
    new URL(request.url).hostname === "inside.invalid"
      ? Response.json(counts)
      : engine.fetch(request, counted(env), ctx),
  queue: (batch, env, ctx) => (add(`events ${batch.queue}`), engine.queue(batch, counted(env), ctx)),
  scheduled: (event, env, ctx) => engine.scheduled(event, counted(env), ctx),
};
