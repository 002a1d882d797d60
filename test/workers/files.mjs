// Replaces the binding of the engine's static files: it counts requests, and fails on demand.
// POST / with {"failing": true} or false sets that.
const asked = {};
let failing = false;

export default {
  async fetch(request, env) {
    const { pathname } = new URL(request.url);
    if (request.method === "POST") {
      ({ failing } = await request.json());
      return new Response();
    }
    if (pathname === "/asked") return Response.json(asked);
    asked[pathname] = (asked[pathname] ?? 0) + 1;
    return failing ? new Response("<h1>Not found</h1>", { status: 404 }) : env.FILES.fetch(request);
  },
};
