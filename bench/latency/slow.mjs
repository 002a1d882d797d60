// Simulates the platform's remote stores on one machine: a delay before every operation of a
// binding, and the limit of an event's waiting connections
// (developers.cloudflare.com/workers/platform/limits/#simultaneous-open-connections).

/** Milliseconds before an operation; EGRESS is delayed in the origin. The variable DELAYS, as JSON, changes them. */
export const delays = {
  "R2.put": 120,
  "R2.delete": 120,
  "R2.head": 40,
  "R2.get": 40,
  "R2.list": 80,
  "D1.batch": 25,
  "queue.send": 30,
  "object.call": 15,
};

/** The maximum of one event's operations that wait for an answer; further ones wait their turn. */
export const maxConnections = 6;

/** The number of calls of each operation. */
export const asked = {};

/** The connections of one event. */
export class Connections {
  #free = maxConnections;
  #waiting = [];

  /** Runs call after a delay of ms, on a connection. */
  async on(ms, call) {
    if (this.#free > 0) this.#free--;
    else await new Promise((resolve) => this.#waiting.push(resolve));
    try {
      return await after(ms, call);
    } finally {
      const next = this.#waiting.shift();
      if (next) next();
      else this.#free++;
    }
  }
}

async function after(ms, call) {
  if (ms) await new Promise((resolve) => setTimeout(resolve, ms));
  return call();
}

/** A binding whose methods in the table run through how(delay, call). */
const wrapped = (binding, methods, how) =>
  new Proxy(binding, {
    get(target, property) {
      const value = Reflect.get(target, property, target);
      if (typeof value !== "function") return value;
      if (!(property in methods)) return value.bind(target);
      return (...args) => {
        asked[property] = (asked[property] ?? 0) + 1;
        return how(methods[property], () => value.apply(target, args));
      };
    },
  });

/** The bindings of one event, slow. */
export function slow(env) {
  const ms = { ...delays, ...JSON.parse(env.DELAYS ?? "{}") };
  const connections = new Connections();
  const connected = (ms, call) => connections.on(ms, call);
  const put = ms["R2.put"];
  const part = { uploadPart: put, complete: put, abort: ms["R2.delete"] };
  const object = {
    put,
    createMultipartUpload: put,
    head: ms["R2.head"],
    get: ms["R2.get"],
    list: ms["R2.list"],
    delete: ms["R2.delete"],
  };
  const bucket = (binding) =>
    wrapped(binding, object, async (delay, call) => {
      const result = await connected(delay, call);
      return result?.uploadPart ? wrapped(result, part, connected) : result;
    });
  const queue = (binding) =>
    wrapped(binding, { send: ms["queue.send"], sendBatch: ms["queue.send"], metrics: ms["queue.send"] }, connected);
  // The platform does not count calls of objects as connections.
  const shards = (namespace) => ({
    getByName: (name) => ({
      call: (...args) => after(ms["object.call"], () => namespace.getByName(name).call(...args)),
    }),
  });
  const changed = { ...env };
  for (const [name, binding] of Object.entries(env)) {
    if (/_BUCKET$/.test(name)) changed[name] = bucket(binding);
    else if (/^DLQ$|_QUEUE$/.test(name)) changed[name] = queue(binding);
    else if (/_DB$/.test(name)) changed[name] = wrapped(binding, { batch: ms["D1.batch"] }, connected);
    else if (name === "FRONTIER") changed[name] = shards(binding);
    else if (name === "EGRESS") changed[name] = wrapped(binding, { fetch: 0 }, connected);
  }
  return changed;
}

/** A Worker on slow bindings; GET https://inside.invalid/ lists its calls. */
export const slowWorker = (worker) => ({
  fetch: (request, env, ctx) =>
    new URL(request.url).hostname === "inside.invalid" ? Response.json(asked) : worker.fetch(request, slow(env), ctx),
  queue: (batch, env, ctx) => worker.queue(batch, slow(env), ctx),
});
