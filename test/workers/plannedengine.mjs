// The engine with faults as in faulty.mjs, a clock of its own, and a D1 that can be taken away.
//
// Time passes only with what an answer of the web says it took, in the header x-took (ms). So what the
// engine measures is what was planned, however fast or busy the machine is. Timeouts are the platform's
// and take their time.
//
// After PUT https://inside.invalid/?d1=away every call of D1 fails, until ?d1=here; both answer how many
// calls failed so far.
import engine from "./faulty.mjs";

let passed = 0;
performance.now = () => passed;

const timed = (web) => ({
  async fetch(...args) {
    const answer = await web.fetch(...args);
    const took = Number(answer.headers.get("x-took"));
    if (took) passed += took + 0.5; // in Go the clock counts to about 0.001 ms, and durations are cut to whole ms
    return answer;
  },
});

let away = false;
let failed = 0;

const fail = () => {
  failed++;
  return Promise.reject(new Error("D1 is away, as the test wants it"));
};
const statement = { bind: () => statement, first: fail, run: fail, all: fail, raw: fail };
const absent = { prepare: () => statement, batch: fail, exec: fail, dump: fail, withSession: () => absent };

const planned = (env) => ({ ...env, EGRESS: timed(env.EGRESS), METADATA_DB: away ? absent : env.METADATA_DB });

export default {
  fetch(request, env, ctx) {
    const { hostname, searchParams } = new URL(request.url);
    if (hostname !== "inside.invalid") return engine.fetch(request, planned(env), ctx);
    away = searchParams.get("d1") === "away";
    return Response.json(failed);
  },
  queue: (batch, env, ctx) => engine.queue(batch, planned(env), ctx),
  scheduled: (event, env, ctx) => engine.scheduled(event, planned(env), ctx),
};
