// A web in which every host is a healthy site: robots.txt, a sitemap, a home page. It answers after LATENCY_MS, and
// https://control.invalid/ lists the requests to each host with their times. Sites are small, unless PAGES sets the
// number of pages of each, or the host's name does: simple200-1.sg has 200, news200-1.sg is a news site with as many
// (newssite.mjs), and keys200-1.sg one whose URLs do not show what the pages are.
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

const key = /^\/zz[a-d]q\//;
const keys = (count) => Array.from({ length: count }, (_, i) => `/zz${"abcd"[i % 4]}q/a${10 + Math.floor(i / 4)}0101`);
const release = `<!doctype html><html lang="en"><title>Press release</title><main><h1>Press release</h1>${"<p>For immediate release: the bridge reopens on Monday, the Ministry announced today.</p>".repeat(750)}</main></html>`;

/** A site of keys: four patterns of pages of 60 KB, which are press releases. */
const keysSite = (host, count, path) =>
  key.test(path)
    ? ["text/html", release]
    : {
        ...pages(host, count),
        "/sitemap.xml": [
          "application/xml",
          `<?xml version="1.0"?><urlset xmlns="http://www.sitemaps.org/schemas/sitemap/0.9">${keys(count)
            .map((page) => `<url><loc>https://${host}${page}</loc></url>`)
            .join("")}</urlset>`,
        ],
      }[path];

/** [content type, body] of a path of a host, or undefined. */
function pageOf(host, path, count) {
  const [, kind, number] = /^(news|simple|keys)(\d+)-/.exec(host) ?? [];
  if (kind === "news") return newsSite(host, Number(number), Date.now(), path);
  if (kind === "keys") return keysSite(host, Number(number), path);
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
