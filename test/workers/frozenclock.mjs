// The engine under the clock of Cloudflare's network, which stands still while a Worker computes and
// advances only after it has waited for something. Here it advances with every event.
import engine from "../../build/worker/entry.mjs";
export { Frontier } from "../../build/worker/entry.mjs";

const Clock = Date;
let now = Clock.now();
const read = () => (now = Clock.now());

globalThis.Date = class extends Clock {
  constructor(...parts) {
    super(...(parts.length ? parts : [now]));
  }
  static now = () => now;
};
performance.now = () => now;

export default {
  fetch: (request, env, ctx) => (read(), engine.fetch(request, env, ctx)),
  queue: (batch, env, ctx) => (read(), engine.queue(batch, env, ctx)),
  scheduled: (event, env, ctx) => (read(), engine.scheduled(event, env, ctx)),
};
