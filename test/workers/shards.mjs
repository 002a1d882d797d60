// The engine, and at https://inside.invalid/{shard}/{operation} an operation of a shard, with the body of the request.
// Its alarm goes off when the operation is alarm: the answer is when it wants to go off next.
import engine from "../../build/worker/entry.mjs";
export { Frontier } from "../../build/worker/entry.mjs";

export default {
  ...engine,
  async fetch(request, env, ctx) {
    const { host, pathname } = new URL(request.url);
    if (host !== "inside.invalid") return engine.fetch(request, env, ctx);
    const [, name, operation] = pathname.split("/");
    const shard = env.FRONTIER.getByName(name);
    if (operation === "alarm") return Response.json({ answer: await shard.tick() });
    return new Response(await shard.call(operation, new Uint8Array(await request.arrayBuffer())));
  },
};
