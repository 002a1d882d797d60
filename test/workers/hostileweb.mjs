// A hostile web. A host FAULT-at-PLACE.sg is an honest site but for the document at that place
// (robots, sitemap, home, feed; others: all but robots; everything), which is served with the fault of that
// name. Any other host is a small healthy site. https://control.invalid/ lists every request, with
// its cookie and the outcome of a body that must not be read to its end.
import anysite from "./anysite.mjs";

const HOUR = 3_600_000;
const MiB = 1 << 20;
const TOO_MUCH = 10_000 * MiB; // length of an endless body

/** Where a redirect must never lead. */
const forbidden = [
  "http://169.254.169.254/latest/meta-data/",
  "http://localhost/",
  "http://[::1]/",
  "http://[::ffff:169.254.169.254]/",
  "http://2130706433/",
  "http://0x7f.1/",
  "http://metadata.google.internal/",
  "//10.0.0.1/",
  "https://news.sg:8443/",
  "https://user:secret@news.sg/",
  "ftp://news.sg/",
  "file:///etc/passwd",
];

/** A sitemap as large as the protocol allows, 50,000 URLs and 50 MB, in chunks. */
function* largeSitemap(host) {
  yield encode(
    '<?xml version="1.0" encoding="UTF-8"?>\n<urlset xmlns="http://www.sitemaps.org/schemas/sitemap/0.9">\n',
  );
  const entry = (i) => {
    const start = `<url><loc>https://${host}/${String(i).padStart(7, "0")}/`;
    const end = "</loc><lastmod>2026-01-28</lastmod></url>\n";
    return start + "a".repeat(1048 - start.length - end.length) + end;
  };
  for (let i = 0; i < 50_000; i += 500) yield encode(Array.from({ length: 500 }, (_, k) => entry(i + k)).join(""));
  yield encode("</urlset>\n");
}

const encode = (text) => new TextEncoder().encode(text);
const xml = '<?xml version="1.0" encoding="UTF-8"?>';

/** The documents of an honest site, with the text that an endless one repeats. */
const documents = (origin) => ({
  "/robots.txt": {
    place: "robots",
    type: "text/plain",
    body: `User-agent: *\nDisallow: /private\nSitemap: ${origin}/map.xml\n`,
    more: "# and so on\n",
  },
  "/map.xml": {
    place: "sitemap",
    type: "application/xml",
    body: `${xml}<urlset><url><loc>${origin}/a</loc></url><url><loc>${origin}/b</loc></url></urlset>`,
    more: `<url><loc>${origin}/c</loc></url>`,
  },
  "/": {
    place: "home",
    type: "text/html",
    body: '<!doctype html><link rel="alternate" type="application/rss+xml" href="/rss"><title>x</title>',
    more: "<p>and so on</p>",
  },
  "/rss": {
    place: "feed",
    type: "application/rss+xml",
    body: `${xml}<rss version="2.0"><channel><title>News</title><item><title>A</title><link>${origin}/a</link></item></channel></rss>`,
    more: `<item><title>B</title><link>${origin}/b</link></item>`,
  },
});

function respond(body, { type, status = 200, headers, encodeBody }) {
  return new Response(body, {
    status,
    encodeBody,
    headers: { "content-type": type, server: "hostile", "set-cookie": "session=hostile; Path=/", ...headers },
  });
}

const redirect = (location) => respond("", { type: "text/plain", status: 302, headers: { location } });

/** A body of a generator's chunks. */
function stream(chunks, entry) {
  entry.sent = 0;
  return new ReadableStream({
    async pull(controller) {
      await scheduler.wait(0); // lets the reader's timeout fire
      const { value, done } = await chunks.next();
      if (done) return controller.close();
      entry.sent += value.length;
      controller.enqueue(value);
    },
    cancel: () => void (entry.cancelled = true),
  });
}

function* endless(start, again) {
  yield encode(start);
  const chunk = encode(again.repeat(Math.ceil(65_536 / again.length)));
  for (let n = 0; n < TOO_MUCH; n += chunk.length) yield chunk.slice();
}

async function* half(body, andThen) {
  yield encode(body.slice(0, body.length / 2));
  await andThen();
}

async function* slowly(body) {
  for (const character of body) {
    await scheduler.wait(1000);
    yield encode(character);
  }
}

async function gzip(bytes) {
  return new Uint8Array(
    await new Response(new Blob([bytes]).stream().pipeThrough(new CompressionStream("gzip"))).arrayBuffer(),
  );
}

/** A document that begins well and goes on for 10 GB, in gzip members of 10 MiB. */
async function bomb(d) {
  const member = await gzip(encode(d.more.repeat((10 * MiB) / d.more.length)));
  return new Uint8Array(await new Blob([await gzip(encode(open(d))), ...Array(1000).fill(member)]).arrayBuffer());
}

/** A document without its end. */
const open = (d) => d.body.replace(/(<\/channel><\/rss>|<\/urlset>)$/, "");

const nothing = () => scheduler.wait(HOUR);
const lost = () => {
  throw new Error("Network connection lost.");
};

/** The responses that replace an honest document. */
const faults = {
  hang: nothing,
  reset: lost,
  stall: (d, entry) => respond(stream(half(d.body, nothing), entry), d),
  cut: (d, entry) => respond(stream(half(d.body, lost), entry), d),
  drip: (d, entry) => respond(stream(slowly(d.body), entry), d),
  loop: (d, entry) => redirect(entry.url.endsWith("?") ? entry.url.slice(0, -1) : `${entry.url}?`),

  flood: (d, entry) => respond(stream(endless(open(d), d.more), entry), d),
  // One line, or field, without end.
  line: (d, entry) => respond(stream(endless(open(d), "a"), entry), d),
  // A sitemap in plain text.
  list: (d, entry) => respond(stream(endless("", "https://news.sg/a\n"), entry), { type: "text/plain" }),
  zeros: (d, entry) => respond(stream(endless("", "\0"), entry), d),
  bomb: async (d) => respond(await bomb(d), { type: "application/gzip" }),
  // Compressed twice more, it has a thousand bytes.
  twice: async (d) => respond(await gzip(await gzip(await bomb(d))), { type: "application/gzip" }),
  encoded: async (d) => respond(await bomb(d), { ...d, headers: { "content-encoding": "gzip" }, encodeBody: "manual" }),
  large: (d, entry) => respond(stream(largeSitemap(new URL(entry.url).hostname), entry), d),
  long: (d) => respond(`${d.body}${d.more.repeat((2 * MiB) / d.more.length)}User-agent: *\nDisallow: /\n`, d),
  // 100 KB of headers.
  headers: (d) =>
    respond(d.body, {
      ...d,
      headers: {
        "x-long": "a".repeat(50_000),
        ...Object.fromEntries(Array.from({ length: 500 }, (_, i) => [`x-${i}`, "b".repeat(100)])),
      },
    }),

  charset: (d) => respond(encode(d.body.replace("UTF-8", "x-nonsense")), { type: `${d.type}; charset=klingon` }),
  // UTF-16 that claims to be UTF-8.
  wide: (d) =>
    respond(Uint8Array.from([...d.body].flatMap((c) => [c.charCodeAt(0), 0])), { type: `${d.type}; charset=utf-8` }),
  // Less than Content-Length says, and more.
  short: (d, entry) =>
    respond(
      stream(
        half(d.body, () => {}),
        entry,
      ),
      { ...d, headers: { "content-length": String(d.body.length) } },
    ),
  more: (d, entry) =>
    respond(
      stream(
        half(d.body, () => {}),
        entry,
      ),
      { ...d, headers: { "content-length": "20" } },
    ),

  later: (d) => respond("later", { ...d, status: 503, headers: { "retry-after": "86400" } }),
  overdone: (d) => respond("too many", { ...d, status: 429, headers: { "retry-after": "86400" } }),

  ...Object.fromEntries(forbidden.map((target, i) => [`to${i}`, () => redirect(target)])),
  // Another target every time.
  inward: (d, entry) => redirect(forbidden[log.indexOf(entry) % forbidden.length]),
  // The targets named in the documents themselves.
  names: (d) =>
    respond(
      d.place === "robots"
        ? forbidden.map((target) => `Sitemap: ${target}\n`).join("")
        : d.place === "sitemap"
          ? `<sitemapindex>${forbidden.map((target) => `<sitemap><loc>${target}</loc></sitemap>`).join("")}</sitemapindex>`
          : forbidden.map((target) => `<link rel="alternate" type="application/rss+xml" href="${target}">`).join(""),
      d,
    ),
};

const log = [];

export default {
  forbidden,
  largeSitemap,
  async fetch(request, env, ctx) {
    const url = new URL(request.url);
    if (url.hostname === "control.invalid") return Response.json(log);
    const entry = { url: request.url, cookie: request.headers.get("cookie") };
    log.push(entry);
    const [, fault, place] = /^(\w+)-at-(\w+)\.sg$/.exec(url.hostname) ?? [];
    if (!fault) return anysite.fetch(request, env, ctx);
    const document = documents(url.origin)[url.pathname] ?? {
      status: 404,
      type: "text/plain",
      body: "not found",
      more: "not found",
    };
    const struck = { everything: true, others: document.place !== "robots" }[place] ?? place === document.place;
    return struck ? faults[fault](document, entry) : respond(document.body, document);
  },
};
