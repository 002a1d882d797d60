// A web that does as it is planned. A host is KIND-N.sg, and its kind says what the domain is: full (robots.txt
// and a sitemap), robots, map, plain (neither), down (refuses), hang (never answers). The home page says
// that it took 750 ms where N is even, else 1,750. https://control.invalid/ tells which hosts were asked, and what
// was posted to https://hooks.invalid/; PUT https://control.invalid/?refuse=n has the next n posts refused, ?up=host brings a host that is down up.
let refuse = 0;
const posted = [];
const asked = new Set();
const up = new Set();

const page = (type, body, took = 0) => new Response(body, { headers: { "content-type": type, server: "planned", "x-took": String(took) } });

function control(url, request) {
  if (request.method === "PUT") {
    refuse = Number(url.searchParams.get("refuse"));
    up.add(url.searchParams.get("up"));
  }
  return Response.json({ posted, asked: [...asked] });
}

async function hook(request) {
  const body = await request.json();
  const taken = refuse === 0;
  if (!taken) refuse--;
  posted.push({ key: request.headers.get("idempotency-key"), taken, body });
  return new Response(null, { status: taken ? 204 : 503 });
}

export default {
  async fetch(request) {
    const url = new URL(request.url);
    if (url.hostname === "control.invalid") return control(url, request);
    if (url.hostname === "hooks.invalid") return hook(request);
    asked.add(url.hostname);
    const [, kind, n] = url.hostname.match(/^(\w+)-(\d+)\.sg$/);
    if (kind === "down" && !up.has(url.hostname)) throw new Error("connect ECONNREFUSED");
    if (kind === "hang") await scheduler.wait(60_000);
    if (url.pathname === "/robots.txt" && kind !== "map" && kind !== "plain") return page("text/plain", "User-agent: *\nDisallow: /private\n");
    if (url.pathname === "/sitemap.xml" && kind !== "robots" && kind !== "plain") {
      const locs = [1, 2, 3].map((n) => `<url><loc>https://${url.hostname}/news/${n}</loc></url>`).join("");
      return page("application/xml", `<?xml version="1.0"?><urlset xmlns="http://www.sitemaps.org/schemas/sitemap/0.9">${locs}</urlset>`);
    }
    if (url.pathname === "/") return page("text/html", `<!doctype html><title>${url.hostname}</title><p>Hello</p>`, n % 2 === 0 ? 750 : 1750);
    return new Response("not found", { status: 404 });
  },
};
