// Counts a Worker's calls of its bindings, by binding, method and the first segment of the key or the operation of
// a shard; the rows that D1 and the shards report as read and written; and the crossings of its Go program into JavaScript,
// with their bytes. Import it before the modules to count.

export const counts = {};
export const add = (name, n = 1) => (counts[name] = (counts[name] ?? 0) + n);

const place = (key) => {
  const parts = key.split("/");
  return parts.length > 2 ? `${parts[0]}/…/${parts.at(-1).replace(/\d+/, "N")}` : key;
};

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

const bucket = (binding) =>
  watched(binding, (method, key) => add(`R2.${method} ${place(typeof key === "string" ? key : (key?.prefix ?? ""))}`));

const queue = (name, binding) =>
  watched(binding, (method, messages) => {
    add(`${name}.calls`);
    add(`${name}.messages`, method === "sendBatch" ? messages.length : 1);
  });

const database = (binding) =>
  watched(
    binding,
    (method) => method === "batch" && add("D1.calls"),
    (results) => {
      add("D1.queries", results.length);
      for (const { meta } of results) {
        add("D1.read", meta.rows_read);
        add("D1.written", meta.rows_written);
      }
    },
  );

const shards = (namespace) => ({
  getByName: (name) => ({
    call: (operation, request) => (add(`FRONTIER.${operation}`), namespace.getByName(name).call(operation, request)),
  }),
});

const published = new WeakSet(); // chunks of the engine's own files

// Every instance reads the classifier's model once. How many are started depends on the machine, so those bytes are
// counted apart.
const files = (binding) => ({
  async fetch(...args) {
    const response = await binding.fetch(...args);
    const content = new Uint8Array(await response.arrayBuffer());
    published.add(content);
    const body = new ReadableStream({ start: (stream) => (stream.enqueue(content), stream.close()) });
    return new Response(body, response);
  },
});

/** Paths of single items of the sites of anysite.mjs: articles of news sites, and what has a key. */
const item = /^\/(\w+\/\d{4}\/\d\d\/\d\d|zz[a-d]q)\//;

/** The bindings of a Worker, counted. */
export const counted = (env) => ({
  ...env,
  ...(env.FRONTIER && { FRONTIER: shards(env.FRONTIER) }),
  ...(env.ASSETS && { ASSETS: files(env.ASSETS) }),
  ...(env.METADATA_DB && { METADATA_DB: database(env.METADATA_DB) }),
  DATASETS_BUCKET: bucket(env.DATASETS_BUCKET),
  SEED_QUEUE: queue("SEED_QUEUE", env.SEED_QUEUE),
  DOMAIN_QUEUE: queue("DOMAIN_QUEUE", env.DOMAIN_QUEUE),
  EGRESS: watched(env.EGRESS, (method, request) => {
    add("requests");
    if (item.test(new URL(request.url ?? request).pathname)) add("items");
  }),
});

/** The Worker, counted; GET https://inside.invalid/ lists the counts. */
export const countedWorker = (worker) => ({
  fetch: (request, env, ctx) =>
    new URL(request.url).hostname === "inside.invalid"
      ? Response.json(counts)
      : worker.fetch(request, counted(env), ctx),
  queue: (batch, env, ctx) => (
    add(`events ${/seed|domain|dlq/.exec(batch.queue)[0]}`),
    worker.queue(batch, counted(env), ctx)
  ),
  scheduled: (event, env, ctx) => worker.scheduled(event, counted(env), ctx),
});

/**
 * A class of shards that counts its rows. Local shards share the Worker's isolate, and so its counts. Alarms do nothing:
 * they come with time, so a slow machine would count snapshots of shards among the work for domains.
 */
export const countedShards = (Shard) =>
  class extends Shard {
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
      for (const { rowsWritten, rowsRead } of this.#cursors.splice(0)) {
        add(`shards.written ${operation}`, rowsWritten);
        add(`shards.read ${operation}`, rowsRead);
      }
      return answer;
    }

    alarm() {}
  };

// For the imports in worker/pool.mjs: the arguments that are lengths of data from Go.
const lengths = { respond: [2, 4], ask: [2, 4], write: [2], sql: [1, 3], answer: [3], print: [1] };

const crossing = (name, call) =>
  function (...args) {
    if (!name.startsWith("runtime.")) add("crossings"); // the number of clock reads depends on the machine
    for (const i of lengths[name] ?? []) add("bytes from Go", args[i]);
    return call.apply(this, args);
  };

const { Instance } = WebAssembly;
WebAssembly.Instance = function (module, imports) {
  const instance = new Instance(
    module,
    Object.fromEntries(
      Object.entries(imports).map(([from, calls]) => [
        from,
        Object.fromEntries(Object.entries(calls).map(([name, call]) => [name, crossing(name, call)])),
      ]),
    ),
  );
  buffers.push(new WeakRef(instance.exports.mem));
  return instance;
};
WebAssembly.Instance.prototype = Instance.prototype; // for instanceof

const buffers = []; // memories of Go programs: bytes copied there are received by Go
const { set } = Uint8Array.prototype;
Uint8Array.prototype.set = function (source, at) {
  if (buffers.some((memory) => memory.deref()?.buffer === this.buffer))
    add(published.has(source) ? "bytes of files to Go" : "bytes to Go", source.length);
  return set.call(this, source, at);
};
