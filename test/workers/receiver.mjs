// A web with only a receiver of deliveries, at https://receiver.invalid/, whose behaviour is set by
// PUT https://control.invalid/?do=… , where do=refuse:TEXT refuses bodies with that text; GET https://control.invalid/ returns the posts since then.
let doing = "take";
let posted = [];

const megabyte = new Uint8Array(1 << 20);

function answer(body) {
  const [, refused] = doing.match(/^refuse:(.+)$/) ?? [];
  if (refused && body.includes(refused)) return new Response("cannot be read", { status: 400 });
  switch (doing) {
    case "fail":
      return new Response("broken", { status: 500 });
    case "redirect":
      return Response.redirect("https://elsewhere.invalid/", 307);
    case "hang":
      return new Promise((resolve) => setTimeout(() => resolve(new Response(null, { status: 204 })), 14_000));
    case "endless": // a body without an end, behind a good status
      return new Response(new ReadableStream({ pull: (c) => c.enqueue(megabyte) }), { status: 200 });
    case "reset":
      throw new Error("connection reset");
  }
  return new Response(null, { status: 204 });
}

export default {
  async fetch(request) {
    const { hostname, searchParams } = new URL(request.url);
    if (hostname === "control.invalid") {
      const before = posted;
      if (request.method === "PUT") {
        doing = searchParams.get("do");
        posted = [];
      }
      return Response.json(before);
    }
    const body = await request.text();
    if (request.method === "POST")
      posted.push({ host: hostname, headers: Object.fromEntries(request.headers), body, doing });
    return hostname === "receiver.invalid" ? answer(body) : new Response("not found", { status: 404 });
  },
};
