// The engine, with shards of the frontier that can be frozen: PUT https://inside.invalid/{shard} stops its answers,
// DELETE ends that, and POST …/{shard}/{operation} calls an operation with the body.
import engine from "../../build/worker/entry.mjs";
export { Frontier } from "../../build/worker/entry.mjs";

const frozen = new Set();
const never = new Promise(() => {});

const freezing = (env) => ({
  ...env,
  FRONTIER: { getByName: (name) => (frozen.has(name) ? { call: () => never } : env.FRONTIER.getByName(name)) },
});

async function inside(request, env) {
  const [, name, operation] = new URL(request.url).pathname.split("/");
  if (request.method === "POST")
    return new Response(
      await env.FRONTIER.getByName(name).call(operation, new Uint8Array(await request.arrayBuffer())),
    );
  if (request.method === "PUT") frozen.add(name);
  else frozen.delete(name);
  return Response.json([...frozen]);
}

export default {
  fetch: (request, env, ctx) =>
    new URL(request.url).hostname === "inside.invalid"
      ? inside(request, env)
      : engine.fetch(request, freezing(env), ctx),
  queue: (batch, env, ctx) => engine.queue(batch, freezing(env), ctx),
  scheduled: (event, env, ctx) => engine.scheduled(event, freezing(env), ctx),
};
