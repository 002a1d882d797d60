// The engine, and at https://inside.invalid/ the D1 statements since the last request for them: [[sql, parameters]].
import engine from "../../build/worker/entry.mjs";
export { Frontier } from "../../build/worker/entry.mjs";

let statements = [];

const observed = (db) => ({
  prepare(sql) {
    const statement = db.prepare(sql);
    return {
      bind(...parameters) {
        statements.push([sql, parameters]);
        return statement.bind(...parameters);
      },
    };
  },
  batch: (list) => db.batch(list),
});

export default {
  fetch(request, env, ctx) {
    if (new URL(request.url).hostname !== "inside.invalid")
      return engine.fetch(request, { ...env, METADATA_DB: observed(env.METADATA_DB) }, ctx);
    const executed = statements;
    statements = [];
    return Response.json(executed);
  },
};
