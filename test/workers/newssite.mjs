// The twin of NewsSites (engine/enginetest/newssite.go) for workerd: news sites like the median of real ones. Both serve
// the same bytes; engine/enginetest/testdata/newssite.json has their digests.
const items = 20; // of the feed
const links = 120; // of the home page
const bytes = 60_000; // of the home page
const sections = "politics economy world culture sport science opinion local".split(" ");
const topics =
  "minister budget harbour election school river climate market festival hospital railway energy parliament museum court".split(
    " ",
  );
const verbs = "opens delays wins approves rejects plans reviews".split(" ");
const ends = "bridge reform season programme inquiry talks record deal strike vote tower".split(" ");
const pages = "about contact privacy imprint advertise jobs subscribe help newsletter archive".split(" ");
const minute = 60_000;
const html = "text/html; charset=utf-8";
const text = '<p class="filler">A paragraph of the page that says nothing about any other page of the site.</p>\n';

const upper = (word) => word[0].toUpperCase() + word.slice(1);
const rfc3339 = (at) => new Date(at).toISOString().replace(".000Z", "Z");
const declaration = '<?xml version="1.0" encoding="UTF-8"?>\n';
const namespace = 'xmlns="http://www.sitemaps.org/schemas/sitemap/0.9"';

/** Returns [content type, body] of a path of a site, or undefined. now is in ms. */
export function newsSite(host, urls, now, path) {
  now -= now % minute;
  const recent = Math.floor((urls + 4) / 5);
  const articles = urls - Math.floor(urls / 8);
  const at = (n) =>
    now - (n < recent ? Math.floor((n * 2880) / recent) * minute : 2 * 1440 * minute + (n - recent) * 420 * minute);
  const title = (n) => `${upper(topics[n % 15])} ${verbs[n % 7]} ${ends[n % 11]} number ${n}`;
  const link = (n) => {
    if (n >= articles) {
      n -= articles;
      return n < pages.length ? `https://${host}/${pages[n]}` : `https://${host}/tag/${topics[n % 15]}-${n}`;
    }
    const day = rfc3339(at(n)).slice(0, 10).replaceAll("-", "/");
    return `https://${host}/${sections[n % 8]}/${day}/${title(n).toLowerCase().replaceAll(" ", "-")}`;
  };
  const list = (from, to, line) => Array.from({ length: Math.max(0, to - from) }, (_, i) => line(from + i)).join("");
  const urlset = (from, to) =>
    `${declaration}<urlset ${namespace}>\n${list(from, to, (n) => `<url><loc>${link(n)}</loc><lastmod>${rfc3339(at(n)).slice(0, 10)}</lastmod><changefreq>weekly</changefreq></url>\n`)}</urlset>\n`;

  const robots = () =>
    `${"AdsBot BadBot ScrapeAll ImageGrabber"
      .split(" ")
      .map((agent) => `User-agent: ${agent}\nDisallow: /\n\n`)
      .join("")}User-agent: *\nAllow: /wp-admin/admin-ajax.php\n${topics
      .map(
        (topic, n) =>
          `Disallow: /internal/${topic}/\nDisallow: /*?preview=${topic}&page=${n}\nDisallow: /search/${topic}$\nDisallow: /*/print/${topic}.html$\n`,
      )
      .join("")}\nSitemap: https://${host}/sitemap.xml\n`;
  const index = () =>
    `${declaration}<sitemapindex ${namespace}>\n${["news", "articles", "pages"]
      .map(
        (name) =>
          `<sitemap><loc>https://${host}/sitemap-${name}.xml</loc><lastmod>${rfc3339(now)}</lastmod></sitemap>\n`,
      )
      .join("")}</sitemapindex>\n`;
  const news = () =>
    `${declaration}<urlset ${namespace} xmlns:news="http://www.google.com/schemas/sitemap-news/0.9">\n${list(0, recent, (n) => `<url><loc>${link(n)}</loc><news:news><news:publication><news:name>${host}</news:name><news:language>en</news:language></news:publication><news:publication_date>${rfc3339(at(n))}</news:publication_date><news:title>${title(n)}</news:title></news:news></url>\n`)}</urlset>\n`;
  const feed = () =>
    `${declaration}<rss version="2.0"><channel><title>${host}</title><link>https://${host}/</link><language>en</language>\n${list(0, Math.min(items, articles), (n) => `<item><title>${title(n)}</title><link>${link(n)}</link><pubDate>${new Date(at(n)).toUTCString()}</pubDate><description>${title(n)}, as readers of the paper already know from its first page.</description></item>\n`)}</channel></rss>\n`;
  const home = () => {
    const begin = `<!doctype html><html lang="en"><head><title>${host}</title><link rel="alternate" type="application/rss+xml" href="/feed.xml"></head><body><nav>\n${sections.map((section) => `<a href="/${section}">${upper(section)}</a>\n`).join("")}</nav><main>\n${list(0, Math.min(links - sections.length, urls), (n) => `<article><h2><a href="${link(n)}">${title(n)}</a></h2><p>${title(n)}, as readers know.</p></article>\n`)}</main><footer>\n`;
    return `${begin}${text.repeat(Math.max(0, bytes - begin.length) / text.length)}</footer></body></html>\n`;
  };

  const made = {
    "/robots.txt": ["text/plain", robots],
    "/sitemap.xml": ["application/xml", index],
    "/sitemap-news.xml": ["application/xml", news],
    "/sitemap-articles.xml": ["application/xml", () => urlset(recent, articles)],
    "/sitemap-pages.xml": ["application/xml", () => urlset(articles, urls)],
    "/feed.xml": ["application/rss+xml", feed],
    "/": [html, home],
  }[path];
  if (made) return [made[0], made[1]()];
  const first = path.split("/")[1];
  if (!sections.includes(first) && !pages.includes(first)) return undefined;
  return [
    html,
    `<!doctype html><html lang="en"><head><title>${path}</title></head><body><h1>${path}</h1>\n${text.repeat(20)}</body></html>\n`,
  ];
}
