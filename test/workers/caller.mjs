// Delivers batches to the engine's queue handler through a service binding, as the platform would:
// several at once on request, with any number of attempts, and returns acks and retries. A
// GET is passed on to the engine as Workers send it, without headers.
export default {
  async fetch(request, env) {
    if (request.method === "GET") return env.ENGINE.fetch(`https://engine.internal${new URL(request.url).pathname}`);
    const { queue, messages } = await request.json();
    const batch = messages.map(({ id, body, attempts = 1 }) => ({ id, timestamp: new Date(), body, attempts }));
    const { outcome, ackAll, retryBatch, explicitAcks, retryMessages } = await env.ENGINE.queue(queue, batch);
    return Response.json({ outcome, ackAll, retryBatch, acked: explicitAcks, retried: retryMessages });
  },
};
