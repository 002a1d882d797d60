// A web in which every host is one small healthy site: robots.txt, a sitemap, a home page. It answers
// after LATENCY_MS, and lists at https://control.invalid/ when each host was asked for what.
let log = [];

const pages = (host) => ({
  "/robots.txt": ["text/plain", `User-agent: *\nDisallow: /private\nSitemap: https://${host}/sitemap.xml\n`],
  "/sitemap.xml": [
    "application/xml",
    `<?xml version="1.0"?><urlset xmlns="http://www.sitemaps.org/schemas/sitemap/0.9">${["", "/1", "/2"].map((page) => `<url><loc>https://${host}/news${page}</loc></url>`).join("")}</urlset>`,
  ],
  "/": ["text/html", `<!doctype html><title>${host}</title><p>Hello</p>`],
});

export default {
  async fetch(request, env) {
    const { hostname, pathname } = new URL(request.url);
    if (hostname === "control.invalid") {
      const requests = log;
      if (request.method === "DELETE") log = [];
      return Response.json(requests);
    }
    const entry = { host: hostname, path: pathname, start: Date.now() };
    log.push(entry);
    if (Number(env.LATENCY_MS)) await scheduler.wait(Number(env.LATENCY_MS));
    entry.end = Date.now();
    const page = pages(hostname)[pathname];
    return page
      ? new Response(page[1], { headers: { "content-type": page[0], server: "anysite" } })
      : new Response("not found", { status: 404 });
  },
};
