// The engine, and at https://inside.invalid/{operation} a call of shard-0 with the body of the request: its answer,
// and in the header x-ms how long it took.
import engine from "../../build/worker/entry.mjs";
export { Frontier } from "../../build/worker/entry.mjs";

export default {
  ...engine,
  async fetch(request, env, ctx) {
    const { host, pathname } = new URL(request.url);
    if (host !== "inside.invalid") return engine.fetch(request, env, ctx);
    const body = new Uint8Array(await request.arrayBuffer());
    const began = performance.now();
    const answer = await env.FRONTIER.getByName("shard-0").call(pathname.slice(1), body);
    return new Response(answer, { headers: { "x-ms": performance.now() - began } });
  },
};
