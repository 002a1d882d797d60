// Delivers batches to the engine's queue handler through a service binding, as the platform would:
// several at once on request, with any number of attempts, and returns acks and retries. GET /keys?prefix= lists
// the bucket; another GET is passed on to the engine as Workers send it, without headers.
export default {
  async fetch(request, env) {
    const { pathname, searchParams } = new URL(request.url);
    if (pathname === "/keys") return Response.json(await keys(env.DATASETS_BUCKET, searchParams.get("prefix")));
    if (request.method === "GET") return env.ENGINE.fetch(`https://engine.internal${pathname}`);
    const { queue, messages } = await request.json();
    const batch = messages.map(({ id, body, attempts = 1 }) => ({ id, timestamp: new Date(), body, attempts }));
    const { outcome, ackAll, retryBatch, explicitAcks, retryMessages } = await env.ENGINE.queue(queue, batch);
    return Response.json({ outcome, ackAll, retryBatch, acked: explicitAcks, retried: retryMessages });
  },
};

async function keys(bucket, prefix) {
  const found = [];
  for (let cursor; ;) {
    const page = await bucket.list({ prefix, cursor });
    found.push(...page.objects.map(({ key }) => key));
    if (!page.truncated) return found;
    cursor = page.cursor;
  }
}
