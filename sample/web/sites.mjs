// The web, host by host. A host that is not here does not resolve.
//
// To add a site, add an entry:
//
//   host: {
//     paths: {path: answer},      answers are made by documents.mjs; any other path is 404, but for
//                                 the URLs that these answers link to, which are pages. A function
//                                 gives the answer of the moment: of what it links to nothing is a page
//     everywhere: answer,         instead of paths: the answer to every path
//     lang, server, gzip,         language of the pages, Server header, compressed transfer
//     delay,                      milliseconds before each answer
//     http: 'served'|'refused',   by default http redirects to https
//     https: 'refused',
//     faults: [{path, mode, …}],  that it has by nature, see control.mjs
//   }
//
// An answer {mode: …} plays a fault for good. The names are made up, but for those of the project's
// documents (mom.gov.sg, moh.gov.sg, ica.gov.sg), whose contents are made up too.
import {
  atom,
  gzipFile,
  movedTo,
  page,
  redirect,
  robots,
  rss,
  sitemapIndex,
  textSitemap,
  urlset,
} from "./documents.mjs";
import { practice, practiceHost } from "./practice.mjs";

/** A robots.txt that allows everything and names the sitemaps. */
const open = (...sitemaps) => robots(["User-agent: *", "Disallow:", "", ...sitemaps.map((s) => `Sitemap: ${s}`)]);

/** URLs under base: the words, each numbered from 1 to n. */
const numbered = (base, n, ...words) =>
  words.flatMap((w) => Array.from({ length: n }, (_, i) => `${base}${w}-${i + 1}`));

/** Feed items for URLs, one a day back from the given moment; titles come from the URLs. */
const items = (urls, newest) =>
  urls.map((link, i) => ({
    link,
    title: decodeURIComponent(link).split("/").pop().replaceAll("-", " "),
    date: new Date(Date.parse(newest) - i * 86_400_000).toISOString().replace(".000", ""),
  }));

export const sites = {
  "mom.gov.sg": { everywhere: movedTo("https://www.mom.gov.sg"), server: "nginx/1.18.0" },
  "www.mom.gov.sg": mom(),

  // Only www has an address.
  "www.moh.gov.sg": {
    server: "Apache",
    paths: {
      "/robots.txt": open("https://www.moh.gov.sg/sitemap.xml"),
      "/sitemap.xml": urlset(numbered("https://www.moh.gov.sg/", 6, "news-highlights/update", "resources/circular")),
      "/": page({ title: "Ministry of Health", links: [{ href: "/news-highlights/update-1", text: "News" }] }),
    },
  },

  // No robots.txt; the sitemap lies where crawlers look by default.
  "ica.gov.sg": {
    paths: {
      "/sitemap.xml": urlset(
        numbered("https://ica.gov.sg/", 9, "news-and-publications/media-release").map((loc, i) => ({
          loc,
          lastmod: `2026-01-0${i + 1}`,
        })),
      ),
      "/": page({
        title: "Immigration and Checkpoints",
        links: [{ href: "/news-and-publications/media-release-9", text: "Media" }],
      }),
    },
  },

  // gov.sg is a public suffix, so www.gov.sg is a registrable domain.
  "www.gov.sg": {
    gzip: true,
    paths: {
      "/robots.txt": open("https://www.gov.sg/sitemap.xml"),
      "/sitemap.xml": urlset(numbered("https://www.gov.sg/", 7, "explainers/question")),
      "/": page({
        title: "Gov.sg",
        feeds: [{ href: "/feed.atom", title: "Explainers", type: "atom" }],
        links: [{ href: "/explainers/question-1", text: "Explainers" }],
      }),
      "/feed.atom": atom({
        title: "Explainers",
        link: "https://www.gov.sg/",
        items: items(numbered("https://www.gov.sg/", 7, "explainers/question"), "2026-01-26T02:00:00Z"),
      }),
    },
  },

  // Publishes four articles a second from its first request on; its feed has the last ones. And a paper
  // whose feed never changes. Both are for the demo and tests of refreshes.
  "daily-press.sg": press("Daily Press"),
  "still-gazette.sg": {
    paths: {
      "/robots.txt": open(),
      "/": page({ title: "Still Gazette", feeds: [{ href: "/feed.xml", title: "Still Gazette" }] }),
      "/feed.xml": {
        ...rss({
          title: "Still Gazette",
          link: "https://still-gazette.sg/",
          items: items(numbered("https://still-gazette.sg/news/", 3, "notice"), "2025-06-01T02:00:00Z"),
        }),
        etag: '"still"',
      },
    },
  },

  // For those who write scrapers: practice.mjs.
  [practiceHost]: practice(),

  // A sitemap index with a news sitemap among its children, and feeds of both kinds.
  "harbour-times.sg": harbourTimes(),
  "www.harbour-times.sg": { everywhere: movedTo("https://harbour-times.sg") },

  // A compressed sitemap file, and a Crawl-delay.
  "merlion-post.com.sg": {
    paths: {
      "/robots.txt": robots([
        "User-agent: *",
        "Crawl-delay: 2",
        "Disallow: /archive/",
        "Sitemap: https://merlion-post.com.sg/sitemap.xml.gz",
      ]),
      "/sitemap.xml.gz": gzipFile(
        urlset(numbered("https://merlion-post.com.sg/", 12, "singapore/story", "world/story")),
      ),
      "/": page({ title: "Merlion Post", links: [{ href: "/singapore/story-1", text: "Singapore" }] }),
    },
  },

  // robots.txt cannot be read: RFC 9309 forbids everything.
  "straits-wire.sg": {
    paths: {
      "/robots.txt": { status: 500, type: "text/plain", body: "internal server error\n" },
      "/sitemap.xml": urlset(numbered("https://straits-wire.sg/", 3, "wire")),
      "/": page({ title: "Straits Wire" }),
    },
  },

  // Forbidden to all, and forbidden to this crawler alone.
  "closed-gazette.sg": {
    paths: {
      "/robots.txt": robots(["User-agent: *", "Disallow: /", "Sitemap: https://closed-gazette.sg/sitemap.xml"]),
      "/sitemap.xml": urlset(numbered("https://closed-gazette.sg/", 3, "notice")),
      "/": page({ title: "Closed Gazette" }),
    },
  },
  "picky-daily.sg": {
    paths: {
      "/robots.txt": robots(["User-agent: NewsforkBot", "Disallow: /", "", "User-agent: *", "Disallow:"]),
      "/sitemap.xml": urlset(numbered("https://picky-daily.sg/", 3, "story")),
      "/": page({ title: "Picky Daily" }),
    },
  },

  "slowport.sg": {
    delay: 200,
    paths: {
      "/robots.txt": open("https://slowport.sg/sitemap.xml"),
      "/sitemap.xml": urlset(numbered("https://slowport.sg/", 8, "shipping")),
      "/": page({ title: "Slowport", links: [{ href: "/shipping-1", text: "Shipping" }] }),
    },
  },

  // Accepts connections and never answers; refuses them; answers all but its sitemap.
  "silent-harbour.sg": { everywhere: { mode: "hang" }, http: "served" },
  "refused-post.sg": { http: "refused", https: "refused" },
  "half-asleep.sg": {
    paths: {
      "/robots.txt": open("https://half-asleep.sg/sitemap.xml"),
      "/sitemap.xml": { mode: "hang" },
      "/": page({ title: "Half Asleep", feeds: [{ href: "/feed", title: "Half Asleep" }] }),
      "/feed": rss({
        title: "Half Asleep",
        link: "https://half-asleep.sg/",
        items: items(numbered("https://half-asleep.sg/", 4, "dream"), "2026-01-20T22:00:00Z"),
      }),
    },
  },

  "plain-http.sg": {
    https: "refused",
    http: "served",
    paths: {
      "/robots.txt": open("http://plain-http.sg/sitemap.xml"),
      "/sitemap.xml": urlset(numbered("http://plain-http.sg/", 5, "page")),
      "/": page({ title: "Plain HTTP", links: [{ href: "/page-1", text: "First page" }] }),
    },
  },

  // Feeds and no sitemap.
  "feeds-only.sg": {
    paths: {
      "/robots.txt": open(),
      "/": page({
        title: "Feeds Only",
        feeds: [
          { href: "/rss.xml", title: "All news" },
          { href: "https://feeds-only.sg/business.atom", title: "Business", type: "atom" },
        ],
      }),
      "/rss.xml": rss({
        title: "All news",
        link: "https://feeds-only.sg/",
        items: items(numbered("https://feeds-only.sg/", 10, "news/item"), "2026-01-28T01:00:00Z"),
      }),
      "/business.atom": atom({
        title: "Business",
        link: "https://feeds-only.sg/business/",
        items: items(numbered("https://feeds-only.sg/", 3, "business/item"), "2026-01-25T06:30:00Z"),
      }),
    },
  },

  // Moved to another registrable domain.
  "old-name.sg": { everywhere: movedTo("https://new-name.sg") },
  "new-name.sg": {
    paths: {
      "/robots.txt": open("https://new-name.sg/sitemap.xml"),
      "/sitemap.xml": urlset(numbered("https://new-name.sg/", 4, "story")),
      "/": page({ title: "New Name", links: [{ href: "/story-1", text: "Story" }] }),
    },
  },

  // Sends its visitors to addresses of their own network.
  "inward.sg": {
    paths: {
      "/robots.txt": open("https://inward.sg/sitemap.xml"),
      "/sitemap.xml": redirect("http://169.254.169.254/latest/meta-data/"),
      "/": page({
        title: "Inward",
        feeds: [
          { href: "/feed.xml", title: "Inward" },
          { href: "http://localhost:8787/feed.xml", title: "Inward, local" },
        ],
      }),
      "/feed.xml": redirect("http://10.0.0.8/feed.xml", 301),
    },
  },

  // Compressed bytes that say they are XML.
  "mislabelled.sg": {
    paths: {
      "/robots.txt": open("https://mislabelled.sg/sitemap.xml"),
      "/sitemap.xml": gzipFile(urlset(numbered("https://mislabelled.sg/", 11, "story")), "application/xml"),
      "/": page({ title: "Mislabelled", links: [{ href: "/story-1", text: "Story" }] }),
    },
  },

  // Everything is the home page, robots.txt and sitemap too.
  "soft-404.sg": { everywhere: page({ title: "Oops, but welcome" }) },

  // A firewall that lets no robot in.
  "guarded-news.sg": {
    server: "cloudflare",
    everywhere: { status: 403, type: "text/html", body: "<!doctype html><title>Attention</title>\n" },
  },

  // The first answer is an error, the second is not.
  "flaky-wire.sg": {
    faults: [{ path: "/robots.txt", mode: "status", status: 503, times: 1 }],
    paths: {
      "/robots.txt": open("https://flaky-wire.sg/sitemap.xml"),
      "/sitemap.xml": urlset(numbered("https://flaky-wire.sg/", 5, "wire")),
      "/": page({ title: "Flaky Wire", links: [{ href: "/wire-1", text: "Wire" }] }),
    },
  },

  "bigmap.com.au": {
    gzip: true,
    paths: {
      "/robots.txt": open("https://bigmap.com.au/sitemap.xml"),
      "/sitemap.xml": urlset(
        numbered("https://bigmap.com.au/", 1000, "national/story", "world/story", "sport/story").map((loc, i) => ({
          loc,
          lastmod: new Date(Date.UTC(2026, 0, 27) - i * 3_600_000).toISOString().slice(0, 10),
        })),
      ),
      "/": page({ title: "Big Map", links: [{ href: "/national/story-1", text: "National" }] }),
    },
  },

  // A sitemap that is a list of lines.
  "exampleton.gov.uk": {
    server: "Microsoft-IIS/10.0",
    paths: {
      "/robots.txt": open("https://exampleton.gov.uk/sitemap.txt"),
      "/sitemap.txt": textSitemap(numbered("https://exampleton.gov.uk/", 5, "council/minutes")),
      "/": page({ title: "Exampleton Council", links: [{ href: "/council/minutes-1", text: "Minutes" }] }),
    },
  },

  // The bare domain refuses connections.
  "haneul.go.kr": { http: "refused", https: "refused" },
  "www.haneul.go.kr": {
    lang: "ko",
    server: "WebtoB",
    paths: {
      "/robots.txt": open("https://www.haneul.go.kr/sitemap.xml"),
      "/sitemap.xml": urlset(numbered("https://www.haneul.go.kr/", 10, "news/briefing", "news/notice")),
      "/": page({
        title: "하늘부",
        lang: "ko",
        feeds: [{ href: "/rss/briefing.do", title: "보도자료" }],
        links: [{ href: "/news/briefing-1", text: "보도자료" }],
      }),
      "/rss/briefing.do": rss({
        title: "보도자료",
        link: "https://www.haneul.go.kr/",
        items: items(numbered("https://www.haneul.go.kr/", 10, "news/briefing"), "2026-01-28T00:00:00Z"),
      }),
    },
  },

  // All of it in EUC-KR.
  "hanbit-sinmun.co.kr": {
    lang: "ko",
    paths: {
      "/robots.txt": open("https://hanbit-sinmun.co.kr/sitemap-news.xml"),
      "/sitemap-news.xml": urlset(
        ["정치", "경제", "사회"].map((title, i) => ({
          loc: `https://hanbit-sinmun.co.kr/article/${1001 + i}`,
          news: { title: `${title} 소식`, date: `2026-01-28T0${i}:00:00+09:00` },
        })),
        { charset: "EUC-KR", lang: "ko", publication: "한빛신문" },
      ),
      "/": page({
        title: "한빛신문",
        lang: "ko",
        charset: "euc-kr",
        feeds: [{ href: "/rss.xml", title: "전체 기사" }],
        links: [{ href: "/article/1001", text: "정치 소식" }],
      }),
      "/rss.xml": rss({
        title: "전체 기사",
        link: "https://hanbit-sinmun.co.kr/",
        charset: "EUC-KR",
        items: ["정치", "경제", "사회"].map((title, i) => ({
          title: `${title} 소식`,
          link: `https://hanbit-sinmun.co.kr/article/${1001 + i}`,
          date: `2026-01-2${7 - i}T15:00:00Z`,
        })),
      }),
    },
  },

  // 한국뉴스.kr
  "xn--3e0bj9ghtquur.kr": idn("xn--3e0bj9ghtquur.kr"),

  // An index of which one child is gone and one is broken.
  "dokkebi-ilbo.kr": {
    lang: "ko",
    paths: {
      "/robots.txt": open("https://dokkebi-ilbo.kr/sitemap.xml"),
      "/sitemap.xml": sitemapIndex(numbered("https://dokkebi-ilbo.kr/", 3, "map").map((u) => `${u}.xml`)),
      "/map-1.xml": urlset(numbered("https://dokkebi-ilbo.kr/", 6, "news")),
      "/map-3.xml": { status: 500, type: "text/plain", body: "internal server error\n" },
      "/": page({ title: "도깨비일보", lang: "ko", links: [{ href: "/news-1", text: "뉴스" }] }),
    },
  },

  // The connection breaks half-way through the sitemap.
  "badak.or.kr": {
    lang: "ko",
    paths: {
      "/robots.txt": open("https://badak.or.kr/sitemap.xml"),
      "/sitemap.xml": urlset(numbered("https://badak.or.kr/", 20, "sori")),
      "/": page({ title: "바닥소리", lang: "ko", links: [{ href: "/sori-1", text: "소리" }] }),
    },
    faults: [{ path: "/sitemap.xml", mode: "cut" }],
  },

  // An index at the second place where crawlers look.
  "boribat.co.kr": {
    lang: "ko",
    paths: {
      "/robots.txt": open(),
      "/sitemap_index.xml": sitemapIndex(["https://boribat.co.kr/post-sitemap.xml"]),
      "/post-sitemap.xml": urlset(numbered("https://boribat.co.kr/", 13, "post")),
      "/": page({ title: "보리밭", lang: "ko", links: [{ href: "/post-1", text: "글" }] }),
    },
  },
};

function harbourTimes() {
  const home = "https://harbour-times.sg/";
  const stories = numbered(home, 20, "2026/01/singapore-story", "2026/01/business-story");
  return {
    gzip: true,
    paths: {
      "/robots.txt": robots([
        "User-agent: *",
        "Disallow: /search",
        "Content-Signal: search=yes, ai-input=yes, ai-train=no",
        `Sitemap: ${home}sitemap_index.xml`,
      ]),
      "/sitemap_index.xml": sitemapIndex(["stories", "sections", "news"].map((n) => `${home}sitemap-${n}.xml`)),
      "/sitemap-stories.xml": urlset(
        stories.map((loc, i) => ({ loc, lastmod: `2026-01-${String(27 - (i % 20)).padStart(2, "0")}` })),
      ),
      "/sitemap-sections.xml": urlset(
        ["singapore", "asia", "business", "opinion", "sport", "arts"].map((s) => home + s),
      ),
      "/sitemap-news.xml": urlset(
        stories.slice(0, 6).map((loc, i) => ({
          loc,
          news: { title: `Singapore story ${i + 1}`, date: `2026-01-27T0${i}:30:00+08:00` },
        })),
        { publication: "Harbour Times" },
      ),
      "/": page({
        title: "Harbour Times",
        feeds: [
          { href: "/feeds/all.rss", title: "Harbour Times" },
          { href: "/feeds/business.atom", title: "Harbour Times: Business", type: "atom" },
        ],
        links: ["singapore", "asia", "business", "opinion"].map((s) => ({ href: `/${s}`, text: s })),
      }),
      "/feeds/all.rss": rss({
        title: "Harbour Times",
        link: home,
        items: items(stories.slice(0, 15), "2026-01-27T09:00:00Z"),
      }),
      "/feeds/business.atom": atom({
        title: "Harbour Times: Business",
        link: home,
        items: items(stories.slice(20, 30), "2026-01-27T04:15:00Z"),
      }),
    },
  };
}

function idn(host) {
  const home = `https://${host}/`;
  const stories = numbered(home, 5, encodeURIComponent("정치"), encodeURIComponent("경제"));
  return {
    lang: "ko",
    paths: {
      "/robots.txt": open(`${home}sitemap.xml`),
      "/sitemap.xml": urlset(stories),
      "/": page({
        title: "한국뉴스",
        lang: "ko",
        feeds: [{ href: "/feed", title: "한국뉴스", type: "atom" }],
        links: [{ href: new URL(stories[0]).pathname, text: "정치" }],
      }),
      "/feed": atom({ title: "한국뉴스", link: home, items: items(stories, "2026-01-28T03:00:00Z") }),
    },
  };
}

/** www.mom.gov.sg as domain_metadata.example.json describes it. */
function mom() {
  const home = "https://www.mom.gov.sg/";
  const under = (dir, ...names) => names.map((n) => `${home}${dir}${n}`);
  const years = Array.from({ length: 15 }, (_, i) => 2026 - i);
  const releases = [
    ...["0127-labour-market-advance-release", "0126-progressive-wage-model-update", "0123-workplace-fatality-review"],
    ...["0122-foreign-worker-levy-rates", "0121-tripartite-standards-adopted", "0120-employment-standards-report"],
    ...["0119-retirement-age-review", "0116-skills-framework-logistics", "0115-fair-consideration-update"],
    ...[
      "0114-work-pass-integrity-actions",
      "0113-dormitory-standards",
      "0112-job-vacancies-2025",
      "0109-salary-guidelines",
    ],
    ...[
      "0108-safety-time-out",
      "0107-parental-leave-enhancement",
      "0106-part-time-employment",
      "0105-union-recognition",
    ],
    ...["0104-heat-stress-measures", "0103-local-qualifying-salary", "0102-new-year-message"],
  ].map((slug) => ({
    link: `${home}newsroom/press-releases/2026/${slug}`,
    title: slug.slice(5).replaceAll("-", " "),
    date: `2026-${slug.slice(0, 2)}-${slug.slice(2, 4)}T08:00:00Z`,
  }));
  const dated = (loc, lastmod) => ({ loc, lastmod });
  const entries = [
    // Only pages older than the sitemap have a date in it.
    ...releases.slice(0, 5).map((r) => r.link),
    dated(releases[5].link, "2026-01-20T14:30:00Z"),
    ...releases.slice(6).map((r) => dated(r.link, r.date)),
    ...years.map((y) => dated(`${home}newsroom/press-releases/${y}`, `${Math.min(y, 2025)}-12-31`)),
    ...under(
      "employment-practices/",
      ...[
        "employment-act",
        "salary",
        "hours-of-work",
        "overtime",
        "public-holidays",
        "annual-leave",
        "sick-leave",
        "retrenchment",
      ],
      ...[
        "termination",
        "contract-of-service",
        "part-time",
        "young-workers",
        "retirement",
        "re-employment",
        "flexible-work",
      ],
      ...["maternity-leave", "paternity-leave", "childcare-leave", "disputes", "fair-employment"],
    ),
    ...numbered(
      `${home}passes-and-permits/`,
      5,
      "employment-pass",
      "s-pass",
      "work-permit",
      "training-pass",
      "dependants-pass",
    ),
    ...numbered(`${home}workplace-safety-and-health/`, 5, "wsh-act", "wsh-alert", "hazard-guide", "injury-claim"),
    ...years.map((y) => dated(`${home}statistics/labour-market-report-${y}`, `${y - 1}-12-15`)),
    ...numbered(`${home}legislation/`, 10, "act").map((loc) => dated(loc, "2024-11-01")),
    ...numbered(`${home}faq/`, 10, "question"),
    ...numbered(`${home}newsroom/speeches/`, 10, "speech").map((loc, i) => dated(loc, `2025-1${i % 3}-05`)),
    ...numbered(`${home}newsroom/announcements/`, 8, "announcement").map((loc) => dated(loc, "2025-11-20")),
    ...under("", "search?q=levy&sort=date", "eservices/login", "preview/budget-2026"), // robots.txt forbids these
  ];
  return {
    server: "nginx/1.18.0",
    gzip: true,
    paths: {
      "/robots.txt": robots(
        [
          "# www.mom.gov.sg",
          "User-agent: *",
          "Content-Signal: search=yes, ai-train=no",
          "Disallow: /search",
          "Disallow: /eservices/",
          "Disallow: /preview/",
          "",
          `Sitemap: ${home}sitemap.xml`,
        ],
        { bytes: 1024, etag: '"5f3a"', lastModified: "2026-01-15T09:00:00Z" },
      ),
      "/sitemap.xml": urlset(entries, { bytes: 20480, lastModified: "2026-01-20T14:30:00Z" }),
      "/": page({
        title: "Ministry of Manpower",
        feeds: [{ href: "/rss/press-releases.xml", title: "Press Releases" }],
        links: [
          { href: "/newsroom/press-releases", text: "Press releases" },
          { href: "/newsroom/press-releases/2026", text: "Press releases 2026" },
          { href: "/employment-practices/employment-act", text: "Employment Act" },
          { href: "/eservices/login", text: "Log in" },
        ],
      }),
      "/newsroom/press-releases": page({
        title: "Press Releases - Ministry of Manpower",
        links: years.map((y) => ({ href: `/newsroom/press-releases/${y}`, text: String(y) })),
      }),
      "/rss/press-releases.xml": rss({ title: "Press Releases", link: home, items: releases }),
    },
  };
}

/** A paper that publishes four articles a second. */
function press(title) {
  const every = 250; // milliseconds
  const listed = 120; // in its feed: those of the last half minute
  let began;
  const feed = () => {
    began ??= Date.now();
    const newest = Math.floor((Date.now() - began) / every);
    const articles = Array.from({ length: Math.min(newest + 1, listed) }, (_, i) => newest - i);
    const items = articles.map((n) => ({
      title: `Article ${n}`,
      link: `https://daily-press.sg/news/article-${n}`,
      date: new Date(began + n * every).toISOString(),
    }));
    return { ...rss({ title, link: "https://daily-press.sg/", items }), etag: `"${newest}"` };
  };
  return {
    paths: {
      "/robots.txt": open(),
      "/": page({ title, feeds: [{ href: "/feed.xml", title }] }),
      "/feed.xml": feed,
    },
  };
}
