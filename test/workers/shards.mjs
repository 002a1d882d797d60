// The engine, and at https://inside.invalid/{shard}/{operation} a call of a shard's operation with the request's body.
// The operation alarm runs its alarm and returns the time of the next one. With freeze a shard
// does not answer until thaw. PUT https://inside.invalid/lose?n=…&end=… fails the next n puts into R2 of keys with that suffix.
import engine, { Frontier as Production } from "../../build/worker/entry.mjs";

export class Frontier extends Production {
  #frozen = false;

  freeze(frozen) {
    this.#frozen = frozen;
    return frozen;
  }

  async call(...args) {
    while (this.#frozen) await scheduler.wait(100);
    return super.call(...args);
  }
}

let lost = { n: 0, end: "" };

function lose(bucket) {
  const put = (key, ...more) => {
    if (lost.n === 0 || !key.endsWith(lost.end)) return bucket.put(key, ...more);
    lost.n--;
    return Promise.reject(new Error("put: We encountered an internal error. Please try again. (10001)"));
  };
  return new Proxy(bucket, {
    get: (_, name) => (name === "put" ? put : (...values) => bucket[name](...values)),
  });
}

export default {
  ...engine,
  queue: (batch, env, ctx) => engine.queue(batch, { ...env, DATASETS_BUCKET: lose(env.DATASETS_BUCKET) }, ctx),
  async fetch(request, env, ctx) {
    const { host, pathname, searchParams } = new URL(request.url);
    if (host !== "inside.invalid") return engine.fetch(request, env, ctx);
    if (pathname === "/lose") {
      lost = { n: Number(searchParams.get("n")), end: searchParams.get("end") };
      return Response.json(lost);
    }
    const [, name, operation] = pathname.split("/");
    const shard = env.FRONTIER.getByName(name);
    if (operation === "alarm") return Response.json({ answer: await shard.tick() });
    if (operation === "freeze" || operation === "thaw")
      return Response.json({ answer: await shard.freeze(operation === "freeze") });
    return new Response(await shard.call(operation, new Uint8Array(await request.arrayBuffer())));
  },
};
