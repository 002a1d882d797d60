// A web of home pages, in which hosts named down-… refuse connections, and a webhook at https://hooks.invalid/.
// https://control.invalid/ returns the posts; PUT https://control.invalid/?refuse=n refuses the next n.
let refuse = 0;
const posted = [];

async function hook(request) {
  const taken = refuse === 0;
  if (!taken) refuse--;
  posted.push({
    key: request.headers.get("idempotency-key"),
    agent: request.headers.get("user-agent"),
    taken,
    body: await request.json(),
  });
  return new Response(null, { status: taken ? 204 : 503 });
}

export default {
  async fetch(request) {
    const { hostname, pathname, searchParams } = new URL(request.url);
    if (hostname === "hooks.invalid") return hook(request);
    if (hostname === "control.invalid") {
      if (request.method === "PUT") refuse = Number(searchParams.get("refuse"));
      return Response.json(posted);
    }
    if (hostname.startsWith("down-")) throw new Error("connect ECONNREFUSED");
    if (pathname === "/")
      return new Response(`<!doctype html><title>${hostname}</title>`, { headers: { "content-type": "text/html" } });
    return new Response("not found", { status: 404 });
  },
};
