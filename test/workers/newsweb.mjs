// Plays the upstreams of the Info service, behind EGRESS: env.PAGES maps "host/path" to what is answered,
// and POST https://control.example/ merges other pages into it. GET https://control.example/ tells what was asked.
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
    return new Response(page.body, { status: page.status ?? 200, headers: page.headers });
  },
};
