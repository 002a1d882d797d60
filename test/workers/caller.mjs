// Delivers batches to the engine's queue handler through a service binding, as the platform would:
// several at once if the test wants, with any number of attempts, and with acks and retries shown. A
// GET is passed on to the engine as a Worker sends one, without any header.
export default {
  async fetch(request, env) {
    if (request.method === "GET") return env.ENGINE.fetch(`https://engine.internal${new URL(request.url).pathname}`);
    const { queue, messages } = await request.json();
    const batch = messages.map(({ id, body, attempts = 1 }) => ({ id, timestamp: new Date(), body, attempts }));
    const { outcome, ackAll, retryBatch, explicitAcks, retryMessages } = await env.ENGINE.queue(queue, batch);
    return Response.json({ outcome, ackAll, retryBatch, acked: explicitAcks, retried: retryMessages });
  },
};
