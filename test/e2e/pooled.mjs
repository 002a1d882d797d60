// The engine, and what its pool of instances did, told at https://pool.invalid/.
import engine from "../../build/worker/entry.mjs";
import { stats } from "../../build/worker/pool.mjs";

export default {
  ...engine,
  fetch: (request, env, ctx) => (new URL(request.url).hostname === "pool.invalid" ? Response.json(stats()) : engine.fetch(request, env, ctx)),
};
