// A web that lies outside of the runtime, at ORIGIN, and so outlives it: each request goes there with its URL as a header.
export default {
  fetch: (request, env) => fetch(env.ORIGIN, { method: request.method, headers: { "x-url": request.url } }),
};
