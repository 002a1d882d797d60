// The engine, whose queue events can be killed: after PUT https://inside.invalid/kill the events under way run no
// more code, neither in JavaScript nor in Go, as when the platform ends an event; GET returns their number. Their
// messages are not settled, so the queue redelivers them.
import engine from "../../build/worker/entry.mjs";
export { Frontier } from "../../build/worker/entry.mjs";

let orders = 0; // number of kill requests
let killed = 0;

export default {
  ...engine,
  fetch(request, env, ctx) {
    if (new URL(request.url).hostname !== "inside.invalid") return engine.fetch(request, env, ctx);
    if (request.method === "PUT") orders++;
    return Response.json(killed);
  },
  async queue(batch, env, ctx) {
    const before = orders;
    let done = false;
    const event = engine.queue(batch, env, ctx).finally(() => (done = true));
    while (orders === before && !done) await scheduler.wait(5);
    if (!done) {
      killed++;
      ctx.abort(new Error("killed"));
    }
    return event;
  },
};
