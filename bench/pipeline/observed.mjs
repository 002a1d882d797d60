// The engine, and at /pool the counters of its pool of instances and what it sent to the queue of domains.
import engine from "../../build/worker/entry.mjs";
export { Frontier } from "../../build/worker/entry.mjs";
import { stats } from "../../build/worker/pool.mjs";

const sent = { batches: 0, messages: 0, characters: 0 };

/** A producer that counts. */
const counted = (queue) => ({
  send: (...message) => queue.send(...message),
  metrics: () => queue.metrics(),
  sendBatch(messages) {
    sent.batches++;
    sent.messages += messages.length;
    for (const { body } of messages) sent.characters += body.length;
    return queue.sendBatch(messages);
  },
});

export default {
  ...engine,
  fetch(request, env, ctx) {
    if (new URL(request.url).pathname !== "/pool") return engine.fetch(request, env, ctx);
    const answer = Response.json({ ...stats(), sent });
    Object.assign(sent, { batches: 0, messages: 0, characters: 0 });
    return answer;
  },
  queue: (batch, env, ctx) => engine.queue(batch, { ...env, DOMAIN_QUEUE: counted(env.DOMAIN_QUEUE) }, ctx),
};
