// The engine, and at https://inside.invalid/{operation} a call of shard-0 with the body of the request: its answer,
// and in the header x-ms how long it took. At https://inside.invalid/later the body is by how many ms the clock is moved on.
import engine from "../../build/worker/entry.mjs";
export { Frontier } from "../../build/worker/entry.mjs";

const now = Date.now;
let later = 0;
Date.now = () => now() + later;

export default {
  ...engine,
  async fetch(request, env, ctx) {
    const { host, pathname } = new URL(request.url);
    if (host !== "inside.invalid") return engine.fetch(request, env, ctx);
    if (pathname === "/later") return Response.json({ answer: (later += await request.json()) });
    const body = new Uint8Array(await request.arrayBuffer());
    const began = performance.now();
    const answer = await env.FRONTIER.getByName("shard-0").call(pathname.slice(1), body);
    return new Response(answer, { headers: { "x-ms": performance.now() - began } });
  },
};
