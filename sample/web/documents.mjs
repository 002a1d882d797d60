// The documents that sites serve: robots.txt, sitemaps, feeds and pages. Every function returns an
// answer, the description of a response that origin.mjs sends:
//
//   {type, body, status?, etag?, lastModified?, links?, gzipFile?, delay?, retryAfter?}
//
// body is a string (sent as UTF-8) or bytes; delay is in milliseconds and retryAfter in seconds; links are the URLs a document names, and those on its
// own host are pages there. Nothing depends on the time: the same document has the same bytes
// every day, so that stored evidence can be compared with it.

const encoder = new TextEncoder();

/** Bytes of an answer's body, as a client sees them after decompression. */
export function bytesOf(answer) {
  return typeof answer.body === "string" ? encoder.encode(answer.body) : answer.body;
}

/** robots.txt from its lines; with bytes, a comment fills it up to that size. */
export function robots(lines, { bytes, ...meta } = {}) {
  let body = `${lines.join("\n")}\n`;
  if (bytes) body += `# ${"-".repeat(bytes - encoder.encode(body).length - 3)}\n`;
  return { type: "text/plain; charset=utf-8", body, ...meta };
}

/**
 * A sitemap (sitemaps.org protocol 0.9). An entry is a URL or {loc, lastmod?, news?: {title, date}}.
 * With bytes, a comment fills the document up to that size.
 */
export function urlset(entries, { bytes, publication = "Sample", lang = "en", charset = "UTF-8", ...meta } = {}) {
  const news = entries.some((e) => e.news) ? ' xmlns:news="http://www.google.com/schemas/sitemap-news/0.9"' : "";
  const urls = entries.map((e) => {
    const { loc, lastmod, news: item } = typeof e === "string" ? { loc: e } : e;
    return `<url><loc>${xml(loc)}</loc>${lastmod ? `<lastmod>${lastmod}</lastmod>` : ""}${
      item
        ? `<news:news><news:publication><news:name>${xml(publication)}</news:name><news:language>${lang}</news:language>` +
          `</news:publication><news:publication_date>${item.date}</news:publication_date>` +
          `<news:title>${xml(item.title)}</news:title></news:news>`
        : ""
    }</url>\n`;
  });
  const head = `<?xml version="1.0" encoding="${charset}"?>\n<urlset xmlns="http://www.sitemaps.org/schemas/sitemap/0.9"${news}>\n`;
  let body = head + urls.join("");
  if (bytes) body += `<!-- ${" ".repeat(bytes - encoder.encode(body).length - "<!--  -->\n</urlset>\n".length)} -->\n`;
  body += "</urlset>\n";
  return {
    type: "application/xml",
    body: charset === "EUC-KR" ? eucKR(body) : body,
    links: entries.map((e) => e.loc ?? e),
    ...meta,
  };
}

/** A sitemap index. */
export function sitemapIndex(locs, meta = {}) {
  const entries = locs.map((loc) => `<sitemap><loc>${xml(loc)}</loc></sitemap>\n`).join("");
  const body = `<?xml version="1.0" encoding="UTF-8"?>\n<sitemapindex xmlns="http://www.sitemaps.org/schemas/sitemap/0.9">\n${entries}</sitemapindex>\n`;
  return { type: "application/xml", body, ...meta };
}

/** A sitemap as text: one URL a line. */
export function textSitemap(locs) {
  return { type: "text/plain; charset=utf-8", body: `${locs.join("\n")}\n`, links: locs };
}

/** A gzip file such as sitemap.xml.gz: compressed as it lies on the disk, not for the transfer. */
export function gzipFile(answer, type = "application/gzip") {
  return { ...answer, type, gzipFile: true };
}

/** An RSS 2.0 feed; an item is {title, link, date}. */
export function rss({ title, link, items, charset = "UTF-8" }) {
  const entries = items
    .map(
      (i) =>
        `<item><title>${xml(i.title)}</title><link>${xml(i.link)}</link><guid>${xml(i.link)}</guid><pubDate>${new Date(i.date).toUTCString()}</pubDate></item>\n`,
    )
    .join("");
  const body = `<?xml version="1.0" encoding="${charset}"?>\n<rss version="2.0"><channel>\n<title>${xml(title)}</title><link>${xml(link)}</link><description>${xml(title)}</description>\n${entries}</channel></rss>\n`;
  return {
    type: "application/rss+xml",
    body: charset === "EUC-KR" ? eucKR(body) : body,
    links: items.map((i) => i.link),
  };
}

/** An Atom 1.0 feed; an item is {title, link, date}. */
export function atom({ title, link, items }) {
  const entries = items
    .map(
      (i) =>
        `<entry><title>${xml(i.title)}</title><id>${xml(i.link)}</id><link href="${xml(i.link)}"/><updated>${i.date}</updated></entry>\n`,
    )
    .join("");
  const body = `<?xml version="1.0" encoding="UTF-8"?>\n<feed xmlns="http://www.w3.org/2005/Atom">\n<title>${xml(title)}</title><id>${xml(link)}</id><link href="${xml(link)}"/><updated>${items[0].date}</updated>\n${entries}</feed>\n`;
  return { type: "application/atom+xml", body, links: items.map((i) => i.link) };
}

/** A web page; feeds are {href, title, type?: rss|atom}, links are {href, text}. */
export function page({ title, lang = "en", charset = "utf-8", feeds = [], links = [] }) {
  const body = [
    "<!doctype html>",
    `<html lang="${lang}"><head><meta charset="${charset}"><title>${xml(title)}</title>`,
    ...feeds.map(
      (f) =>
        `<link rel="alternate" type="application/${f.type ?? "rss"}+xml" title="${xml(f.title)}" href="${xml(f.href)}">`,
    ),
    `</head><body><h1>${xml(title)}</h1><nav>`,
    ...links.map((l) => `<a href="${xml(l.href)}">${xml(l.text)}</a>`),
    "</nav></body></html>\n",
  ].join("\n");
  return { type: `text/html; charset=${charset}`, body: charset === "euc-kr" ? eucKR(body) : body };
}

/** A permanent redirect of every path to the same path at another origin. */
export function movedTo(origin) {
  return { status: 301, movedTo: origin };
}

/** A redirect to one URL. */
export function redirect(location, status = 302) {
  return { status, location };
}

function xml(s) {
  return s.replaceAll("&", "&amp;").replaceAll("<", "&lt;").replaceAll(">", "&gt;").replaceAll('"', "&quot;");
}

let hangul;

/** Encodes ASCII and Hangul syllables as EUC-KR; anything else is an error. */
function eucKR(text) {
  if (!hangul) {
    hangul = new Map();
    const decoder = new TextDecoder("euc-kr");
    for (let lead = 0xb0; lead <= 0xc8; lead++) {
      for (let trail = 0xa1; trail <= 0xfe; trail++)
        hangul.set(decoder.decode(Uint8Array.of(lead, trail)), [lead, trail]);
    }
  }
  return Uint8Array.from(
    [...text].flatMap((c) => {
      if (c.charCodeAt(0) < 0x80) return [c.charCodeAt(0)];
      if (!hangul.has(c)) throw new Error(`${c} has no EUC-KR bytes here`);
      return hangul.get(c);
    }),
  );
}
