// The engine, and at https://inside.invalid/{operation} a call of shard-0 with the body of the request: its answer,
// and in the headers x-ms how long it took and x-rows the rows that it wrote. https://inside.invalid/later moves the clock
// on by the body, in ms; https://inside.invalid/bytes returns the bytes of the shard's tables.
import engine from "../../build/worker/entry.mjs";
import { Frontier as Shard } from "../../build/worker/entry.mjs";

const cursors = [];

export class Frontier extends Shard {
  constructor(ctx, env) {
    super(ctx, env);
    const { sql } = ctx.storage;
    const exec = sql.exec.bind(sql);
    sql.exec = (...args) => {
      const cursor = exec(...args);
      cursors.push(cursor);
      return cursor;
    };
  }

  /** The bytes of its tables, with 12 or more for each row. */
  bytes() {
    const sum = (table, size) => this.ctx.storage.sql.exec(`SELECT total(${size}) AS bytes FROM ${table}`).one().bytes;
    return (
      sum("hosts", "length(record) + length(host) + 30") +
      sum("parts", "length(data) + 12") +
      sum("queue", "length(data) + 12")
    );
  }
}

const now = Date.now;
let later = 0;
Date.now = () => now() + later;

export default {
  ...engine,
  async fetch(request, env, ctx) {
    const { host, pathname } = new URL(request.url);
    if (host !== "inside.invalid") return engine.fetch(request, env, ctx);
    if (pathname === "/bytes") return Response.json({ answer: await env.FRONTIER.getByName("shard-0").bytes() });
    if (pathname === "/later") return Response.json({ answer: (later += await request.json()) });
    const body = new Uint8Array(await request.arrayBuffer());
    cursors.length = 0;
    const began = performance.now();
    const answer = await env.FRONTIER.getByName("shard-0").call(pathname.slice(1), body);
    const ms = performance.now() - began;
    const rows = cursors.reduce((sum, { rowsWritten }) => sum + rowsWritten, 0); // shards are local: one isolate
    return new Response(answer, { headers: { "x-ms": ms, "x-rows": rows } });
  },
};
