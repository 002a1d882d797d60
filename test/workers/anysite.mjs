// A web in which every host is a healthy site: robots.txt, a sitemap, a home page. It answers after LATENCY_MS, and
// https://control.invalid/ lists the requests to each host with their times. Sites are small, unless PAGES sets the
// number of pages of each, or the host's name does: simple200-1.sg has 200, and news200-1.sg is a news site with as
// many (newssite.mjs).
import { newsSite } from "./newssite.mjs";

let log = [];

const small = ["/news", "/news/1", "/news/2"];
const sections = ["news", "press", "policy", "events"];
const many = (pages) =>
  Array.from(
    { length: pages },
    (_, i) => `/${sections[i % sections.length]}${i < sections.length ? "" : `/story-${i}`}`,
  );
const text = "<p>Home of an organisation that says enough of itself to be told from others.</p>";

const pages = (host, count) => ({
  "/robots.txt": ["text/plain", `User-agent: *\nDisallow: /private\nSitemap: https://${host}/sitemap.xml\n`],
  "/sitemap.xml": [
    "application/xml",
    `<?xml version="1.0"?><urlset xmlns="http://www.sitemaps.org/schemas/sitemap/0.9">${(count ? many(count) : small).map((page) => `<url><loc>https://${host}${page}</loc></url>`).join("")}</urlset>`,
  ],
  "/": ["text/html", `<!doctype html><title>${host}</title>${count ? text : "<p>Hello</p>"}`],
});

/** [content type, body] of a path of a host, or undefined. */
function pageOf(host, path, count) {
  const [, kind, number] = /^(news|simple)(\d+)-/.exec(host) ?? [];
  if (kind === "news") return newsSite(host, Number(number), Date.now(), path);
  return pages(host, Number(number ?? count))[path];
}

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
    const page = pageOf(hostname, pathname, env.PAGES);
    return page
      ? new Response(page[1], { headers: { "content-type": page[0], server: "anysite" } })
      : new Response("not found", { status: 404 });
  },
};
