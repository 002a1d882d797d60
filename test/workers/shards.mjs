// The engine, and at https://inside.invalid/{shard}/{operation} an operation of a shard, with the body of the request.
// Its alarm goes off when the operation is alarm: the answer is when it wants to go off next. With freeze a shard
// answers nothing until thaw.
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

export default {
  ...engine,
  async fetch(request, env, ctx) {
    const { host, pathname } = new URL(request.url);
    if (host !== "inside.invalid") return engine.fetch(request, env, ctx);
    const [, name, operation] = pathname.split("/");
    const shard = env.FRONTIER.getByName(name);
    if (operation === "alarm") return Response.json({ answer: await shard.tick() });
    if (operation === "freeze" || operation === "thaw")
      return Response.json({ answer: await shard.freeze(operation === "freeze") });
    return new Response(await shard.call(operation, new Uint8Array(await request.arrayBuffer())));
  },
};
