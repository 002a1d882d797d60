// A web outside the runtime, at ORIGIN, which outlives it: each request goes there with its URL as a header.
export default {
  fetch: (request, env) => fetch(env.ORIGIN, { method: request.method, headers: { "x-url": request.url } }),
};
