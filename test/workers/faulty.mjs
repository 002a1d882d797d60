// The engine with bindings that fail as the variable FAULTS says, a JSON array of
// {"binding", "method", "match"?, "times"?}: calls of that method whose first argument contains match
// fail so many times, or always.
import engine from "../../build/worker/entry.mjs";

let faults;

function wrap(name, binding) {
  return new Proxy(binding, {
    get(target, property) {
      const value = Reflect.get(target, property, target);
      if (typeof value !== "function") return value;
      return (...args) => {
        const fault = faults.find((f) => f.binding === name && f.method === property && String(args[0]).includes(f.match ?? "") && f.times !== 0);
        if (!fault) return value.apply(target, args);
        if (fault.times) fault.times--;
        return Promise.reject(new Error(`${property} fails, as the test wants it`));
      };
    },
  });
}

const faultyEnv = (env) => {
  faults ??= JSON.parse(env.FAULTS ?? "[]");
  const names = new Set(faults.map((f) => f.binding));
  return { ...env, ...Object.fromEntries([...names].map((name) => [name, wrap(name, env[name])])) };
};

export default {
  fetch: (request, env, ctx) => engine.fetch(request, faultyEnv(env), ctx),
  queue: (batch, env, ctx) => engine.queue(batch, faultyEnv(env), ctx),
  scheduled: (event, env, ctx) => engine.scheduled(event, faultyEnv(env), ctx),
};
