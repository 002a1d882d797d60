// The engine, and under https://observe.invalid/ the D1 statements for a path: [[sql, parameters]].
import engine from "../../build/worker/entry.mjs";
export { Frontier } from "../../build/worker/entry.mjs";

const observed = (db, statements) => ({
  prepare: (sql) => ({
    bind(...parameters) {
      statements.push([sql, parameters]);
      return db.prepare(sql).bind(...parameters);
    },
  }),
  batch: (list) => db.batch(list),
});

export default {
  async fetch(request, env, ctx) {
    if (!request.url.startsWith("https://observe.invalid/")) return engine.fetch(request, env, ctx);
    const statements = [];
    const answer = await engine.fetch(request, { ...env, METADATA_DB: observed(env.METADATA_DB, statements) }, ctx);
    await answer.arrayBuffer();
    return Response.json(statements);
  },
};
