// The least time that any Worker needs, without computing: for a raw file, POST /?key=…&batches=… reads it and sends so many
// batches, six at once; for a domain, POST /domain?host=… makes all the engine's calls until its checkpoint, in the same order.
import { slow } from "./slow.mjs";

const interval = 1000; // between two requests to a host
const documentBytes = 10_000;

const pause = (ms) => new Promise((resolve) => setTimeout(resolve, ms));

async function file({ DATASETS_BUCKET, DOMAIN_QUEUE }, { key, batches }) {
  const { body } = await DATASETS_BUCKET.get(key);
  for await (const chunk of body) chunk.length;
  const message = { body: "x".repeat(100), contentType: "text" };
  await Promise.all(Array.from({ length: Number(batches) }, () => DOMAIN_QUEUE.sendBatch([message])));
}

/** Returns the milliseconds until the checkpoint was stored. */
async function domain({ DATASETS_BUCKET: bucket, EGRESS, FRONTIER }, { host }) {
  const dir = `prod/floor/${host}`;
  const shard = () => FRONTIER.getByName("shard-0").call("stats", new TextEncoder().encode("{}"));
  const get = async (path) => (await EGRESS.fetch(`https://${host}${path}`)).arrayBuffer();
  const began = Date.now();
  await Promise.all([bucket.head("control/pipeline.json"), bucket.head(`${dir}.success`), shard()]);
  const evidence = [];
  for (const path of ["/robots.txt", "/sitemap.xml"]) {
    const body = await get(path);
    evidence.push(bucket.put(`${dir}${path}`, body));
    await pause(interval);
  }
  await get("/");
  await Promise.all([shard(), ...evidence]);
  await bucket.put(`${dir}.json`, new Uint8Array(documentBytes));
  const { uploaded } = await bucket.put(`${dir}.success`, "");
  return uploaded.getTime() - began;
}

export default {
  async fetch(request, env) {
    const { pathname, searchParams } = new URL(request.url);
    const work = pathname === "/domain" ? domain : file;
    return Response.json((await work(slow(env), Object.fromEntries(searchParams))) ?? {});
  },
};
