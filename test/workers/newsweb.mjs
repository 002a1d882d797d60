// Plays the upstreams of the Info service, behind EGRESS: env.PAGES maps "host/path" to a response,
// its delay and its pace per byte, both in milliseconds; the pace 0 stops for ever after some bytes.
// POST https://control.example/ merges other pages into it. GET https://control.example/ lists the requests.
let pages;
let asked = [];

export default {
  async fetch(request, env) {
    pages ??= JSON.parse(env.PAGES);
    const url = new URL(request.url);
    if (url.hostname === "control.example") {
      if (request.method === "POST") Object.assign(pages, await request.json());
      const answer = Response.json(asked);
      asked = [];
      return answer;
    }
    asked.push(url.host + url.pathname);
    const page = pages[url.host + url.pathname];
    if (!page) return new Response("no such page", { status: 404 });
    if (page.delay) await scheduler.wait(page.delay);
    const body = page.pace === undefined ? page.body : slowly(page);
    return new Response(body, { status: page.status ?? 200, headers: page.headers });
  },
};

/** The body of a page, byte by byte, or some bytes and then nothing. */
function slowly({ body, pace, bytes }) {
  const encoded = new TextEncoder().encode(body);
  const { readable, writable } = new TransformStream();
  const writer = writable.getWriter();
  const write = async () => {
    if (!pace) {
      await writer.write(encoded.slice(0, bytes));
      return await scheduler.wait(3_600_000);
    }
    for (const byte of encoded) {
      await writer.write(new Uint8Array([byte]));
      await scheduler.wait(pace);
    }
  };
  write().catch(() => {}); // the caller has given up
  return readable;
}
