// A web that notes the header fields of each request: https://control.invalid/ lists them. Hosts are healthy sites, but
// for old.sg, which redirects to new.sg, and plain.sg, which answers over http only.
const log = [];
const site = {
  "/robots.txt": ["text/plain", "User-agent: *\nDisallow: /private\n"],
  "/": ["text/html", "<!doctype html><title>Home</title><p>Home of an organisation</p>"],
};

export default {
  fetch(request) {
    const { protocol, hostname, pathname } = new URL(request.url);
    if (hostname === "control.invalid") return Response.json(log);
    log.push({ url: request.url, method: request.method, fields: [...request.headers] });
    if (hostname === "plain.sg" && protocol === "https:") throw new Error("connect ECONNREFUSED");
    if (hostname === "old.sg") return Response.redirect(`https://new.sg${pathname}`, 301);
    const page = site[pathname];
    return page ? new Response(page[1], { headers: { "content-type": page[0] } }) : new Response("", { status: 404 });
  },
};
