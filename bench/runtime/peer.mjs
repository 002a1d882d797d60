// The plain-JavaScript peer: the same answer from a Worker without Go.
export default {
  fetch(request) {
    const { pathname } = new URL(request.url);
    if (request.method !== "GET" || pathname !== "/health") return new Response("not found", { status: 404 });
    const id = request.headers.get("x-request-id") ?? crypto.randomUUID();
    return Response.json(
      { success: true, data: { status: "ok", service: "newsfork-seed-engine" } },
      { headers: { "x-request-id": id } },
    );
  },
};
