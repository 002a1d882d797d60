// The engine, and at /pool the counters of its pool of instances.
import engine from "../../build/worker/entry.mjs";
export { Frontier } from "../../build/worker/entry.mjs";
import { stats } from "../../build/worker/pool.mjs";

export default {
  ...engine,
  fetch: (request, env, ctx) =>
    new URL(request.url).pathname === "/pool" ? Response.json(stats()) : engine.fetch(request, env, ctx),
};
