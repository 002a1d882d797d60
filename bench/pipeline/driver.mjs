// Fills the buckets of both sides, and delivers batches to their queue handlers.
const record = (i, domains) => {
  const domain = `site${i % domains}.sg`;
  const url = `https://www.${domain}/news/2026/01/${i}/a-headline-of-usual-length-for-an-article`;
  return JSON.stringify({
    url,
    title: `Headline number ${i} of the day - ${domain}`,
    domain: `www.${domain}`,
    registrable_domain: domain,
    domain_id: `media:sg:${domain}`,
    source_type: "media",
    content_type: "text/html",
    language: "en",
    country: "sg",
    discovered_at: "2026-01-28T10:00:00Z",
    discovery_method: "google_search",
  });
};

/** Writes a raw file of at least that many bytes as a multipart upload, never whole in memory. */
async function generate(bucket, key, bytes, domains) {
  const part = 10 * 2 ** 20;
  const upload = await bucket.createMultipartUpload(key);
  const parts = [];
  const buffer = new Uint8Array(part);
  const encoder = new TextEncoder();
  let used = 0;
  let total = 0;
  const flush = async () => {
    parts.push(await upload.uploadPart(parts.length + 1, buffer.slice(0, used)));
    used = 0;
  };
  const write = async (text) => {
    for (let left = encoder.encode(text); left.length;) {
      const n = Math.min(left.length, part - used);
      buffer.set(left.subarray(0, n), used);
      used += n;
      total += n;
      left = left.subarray(n);
      if (used === part) await flush();
    }
  };
  let records = 0;
  let block = "[";
  while (total + block.length < bytes) {
    block += `${records ? "," : ""}\n${record(records++, domains)}`;
    if (block.length > 65536) {
      await write(block);
      block = "";
    }
  }
  await write(`${block}\n]\n`);
  if (used) await flush();
  await upload.complete(parts);
  return { bytes: total, records };
}

/** Writes a raw file as the engine's PUT does, with one put: objects uploaded in parts are read differently. */
async function generateWhole(bucket, key, bytes, domains) {
  const inParts = `${key}.parts`;
  const made = await generate(bucket, inParts, bytes, domains);
  await bucket.put(key, (await bucket.get(inParts)).body);
  await bucket.delete(inParts);
  return made;
}

export default {
  async fetch(request, env) {
    const { pathname, searchParams } = new URL(request.url);
    const side = searchParams.get("side");
    const bucket = env[`${side}_BUCKET`];
    switch (pathname) {
      case "/generate":
        return Response.json(
          await (searchParams.has("whole") ? generateWhole : generate)(
            bucket,
            searchParams.get("key"),
            Number(searchParams.get("bytes")),
            Number(searchParams.get("domains")),
          ),
        );
      case "/read": {
        // Reads a whole object, as a JavaScript Worker that works on its bytes would, and if asked sends as many batches
        // meanwhile.
        const [batches, messages, characters] = ["batches", "messages", "characters"].map((name) =>
          Number(searchParams.get(name)),
        );
        const batch = Array.from({ length: Math.round(messages / batches || 0) }, () => ({
          body: "x".repeat(characters / messages),
          contentType: "text",
        }));
        const { size, body } = await bucket.get(searchParams.get("key"));
        let bytes = 0;
        let sent = 0;
        const sending = new Set();
        for await (const chunk of body) {
          bytes += chunk.length;
          for (; sent < batches * (bytes / size); sent++) {
            if (sending.size === 6) await Promise.race(sending);
            const send = env.QUEUE.sendBatch(batch).finally(() => sending.delete(send));
            sending.add(send);
          }
        }
        await Promise.all(sending);
        return Response.json(bytes);
      }
      case "/finished": {
        // Finished raw files, for the orchestrator to skip.
        const n = Number(searchParams.get("n"));
        const prefix = searchParams.get("prefix");
        for (let i = 0; i < n; i++) {
          const key = `${prefix}raw_${String(i).padStart(5, "0")}.json`;
          const { etag } = await bucket.put(key, "[]");
          await bucket.put(`${key}.success`, etag);
        }
        return Response.json(n);
      }
      case "/deliver": {
        const { queue, bodies } = await request.json();
        const batch = bodies.map((body, i) => ({ id: `m${i}`, timestamp: new Date(), body, attempts: 1 }));
        const { outcome, retryMessages } = await env[side].queue(queue, batch);
        return Response.json({ outcome, retried: retryMessages.length });
      }
    }
    return new Response("not found", { status: 404 });
  },
};
