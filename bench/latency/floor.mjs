// The least that any Worker needs for a raw file: it reads the file, and sends as many batches, six at once.
import { slow } from "./slow.mjs";

export default {
  async fetch(request, env) {
    const { DATASETS_BUCKET, DOMAIN_QUEUE } = slow(env);
    const { searchParams } = new URL(request.url);
    const { body } = await DATASETS_BUCKET.get(searchParams.get("key"));
    for await (const chunk of body) chunk.length;
    const message = { body: "x".repeat(100), contentType: "text" };
    await Promise.all(
      Array.from({ length: Number(searchParams.get("batches")) }, () => DOMAIN_QUEUE.sendBatch([message])),
    );
    return Response.json({});
  },
};
