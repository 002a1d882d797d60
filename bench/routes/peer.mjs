// A plain JavaScript Worker that makes the same calls to D1, R2 and the queues as the engine's routes, and answers with
// their results. POST /statements?path= sets the engine's statements for a path.
const statements = new Map();

const ask = (db, path) =>
  db.batch(statements.get(path).map(([sql, parameters]) => db.prepare(sql).bind(...parameters)));

const json = (request, data) =>
  Response.json(
    { success: true, data },
    {
      headers: {
        "x-request-id": request.headers.get("x-request-id") ?? crypto.randomUUID(),
        "cache-control": "no-store",
      },
    },
  );

async function status(env, path) {
  const [results, controls, ...waiting] = await Promise.all([
    ask(env.METADATA_DB, path),
    env.DATASETS_BUCKET.head("control/pipeline.json"), // what it says was read when it changed
    ...[env.SEED_QUEUE, env.DOMAIN_QUEUE, env.DLQ].map((queue) => queue.metrics()),
  ]);
  return {
    statistics: results.map(({ results }) => results),
    paused: controls !== null,
    queues: waiting.map(({ backlogCount, backlogBytes }) => ({ messages: backlogCount, bytes: backlogBytes })),
    updated_at: new Date(),
  };
}

async function dataset(env, path) {
  const [country, category, date] = path.split("/").slice(4);
  const prefix = `raw/country=${country}/category=${category}/date=${date}/`;
  const page = await env.DATASETS_BUCKET.list({ prefix, include: ["customMetadata"] });
  const files = new Map();
  for (const { key, size, uploaded, customMetadata } of page.objects) {
    const file = files.get(key.replace(/\.success$/, ""));
    if (file) Object.assign(file, { state: "processed", processed_at: customMetadata.processed_at ?? null });
    else files.set(key, { key, size, uploaded_at: uploaded, state: "pending", processed_at: null });
  }
  // The outcome of files without a checkpoint.
  const [{ results }] = await ask(env.METADATA_DB, path);
  for (const { name, state, error_type, error_message } of results)
    Object.assign(files.get(`${prefix}${name}.json`) ?? {}, { state, error_type, error_message });
  return { files: [...files.values()], cursor: page.truncated ? page.objects.at(-1).key : null };
}

export default {
  async fetch(request, env) {
    const { pathname, searchParams } = new URL(request.url);
    if (pathname === "/statements") {
      statements.set(searchParams.get("path"), await request.json());
      return new Response();
    }
    if (pathname === "/health") return json(request, { status: "ok", service: "newsfork-seed-engine" });
    if (pathname === "/api/v1/seeds/status") return json(request, await status(env, pathname));
    if (pathname.startsWith("/api/v1/datasets/")) return json(request, await dataset(env, pathname));
    return new Response("not found", { status: 404 });
  },
};
