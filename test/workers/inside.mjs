// The engine, and at https://inside.invalid/ its internals for tests: /pool, the statistics of the
// instance pool, and /digest?key=…, size and SHA-256 of a stored object of any size.
import engine from "../../build/worker/entry.mjs";
export { Frontier } from "../../build/worker/entry.mjs";
import { stats } from "../../build/worker/pool.mjs";

async function digest(bucket, key) {
  const object = await bucket.get(key);
  if (!object) return null;
  const sum = new crypto.DigestStream("SHA-256");
  await object.body.pipeTo(sum);
  return { size: object.size, sha256: new Uint8Array(await sum.digest).toHex() };
}

export default {
  ...engine,
  async fetch(request, env, ctx) {
    const { hostname, pathname, searchParams } = new URL(request.url);
    if (hostname !== "inside.invalid") return engine.fetch(request, env, ctx);
    return Response.json(pathname === "/pool" ? stats() : await digest(env.DATASETS_BUCKET, searchParams.get("key")));
  },
};
