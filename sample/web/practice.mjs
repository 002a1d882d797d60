// everyday-news.sg: a paper for those who write scrapers. It has what they meet: pages with navigation and text in five
// languages, validators, answers that ask for patience, redirects, a paywall, copies of one text, a section and an
// article that change, a slow page and an endless one. docs/sample-web.md lists them.
import { page, redirect, robots, rss, sitemapIndex, urlset } from "./documents.mjs";

export const practiceHost = "everyday-news.sg";
const home = `https://${practiceHost}/`;

const MINUTE = 60_000;
const MAINTENANCE = MINUTE; // for which /en/maintenance answers 503, from the first request to the site on
const CORRECTION = 10 * MINUTE; // after which /en/budget-figures is corrected

/** By language: the words of its pages. */
const languages = {
  en: {
    title: "Everyday News",
    subjects: [
      "The harbour opens a new bridge",
      "A library for the night",
      "Rain fills the reservoirs",
      "Schools try shorter days",
    ],
    text: "Residents had waited for years, and the council promised again last spring. On Monday morning the doors stood open, and the first visitors came early. What it cost is known only in part: the books are to be closed in June.",
  },
  ko: {
    title: "에브리데이 뉴스",
    subjects: ["새 다리가 열린 항구", "밤에 여는 도서관", "비가 채운 저수지", "짧은 수업을 시험하는 학교"],
    text: "주민들은 몇 해를 기다렸고, 지난봄 구청은 다시 약속했다. 월요일 아침 문이 열리자 첫 손님들이 일찍부터 찾아왔다. 비용은 아직 일부만 알려져 있으며, 결산은 6월에 나온다.",
  },
  ja: {
    title: "エブリデイ・ニュース",
    subjects: ["港に新しい橋が開通", "夜に開く図書館", "雨が貯水池を満たす", "短い授業を試す学校"],
    text: "住民は何年も待ち、区は昨年の春にもう一度約束した。月曜の朝に扉が開くと、最初の人々が早くから訪れた。費用はまだ一部しか分からず、決算は六月に出る。",
  },
  zh: {
    title: "每日新闻",
    subjects: ["港口新桥通车", "夜间开放的图书馆", "雨水充满水库", "学校试行短课"],
    text: "居民等了多年，市政府去年春天再次承诺。星期一早晨大门打开，第一批客人很早就来了。费用目前只公布了一部分，决算将在六月完成。",
  },
  ms: {
    title: "Berita Harian Kita",
    subjects: [
      "Pelabuhan membuka jambatan baharu",
      "Perpustakaan untuk waktu malam",
      "Hujan memenuhi takungan",
      "Sekolah mencuba hari yang lebih pendek",
    ],
    text: "Penduduk telah menunggu bertahun-tahun, dan majlis berjanji sekali lagi pada musim lalu. Pada pagi Isnin pintunya dibuka, dan pengunjung pertama datang awal. Kosnya hanya diketahui sebahagian; akaun akan ditutup pada bulan Jun.",
  },
};

const slugs = ["harbour-bridge", "night-library", "rain", "shorter-days"]; // of the subjects, in every language
const published = "2026-01-27T08:00:00Z"; // of all that does not change

/** The site. Its clock begins with the first request. */
export function practice() {
  let began;
  const age = () => Date.now() - (began ??= Date.now());
  const at = (ms) => new Date(began + ms).toISOString().replace(/\.\d+/, "");
  const corrected = () => age() >= CORRECTION;
  const update = () => Math.floor(age() / MINUTE); // number of the newest entry of /en/live

  const article = (lang, path, title, { text = languages[lang].text, modified = published, head = "" } = {}) => ({
    type: "text/html; charset=utf-8",
    body: `<!doctype html>
<html lang="${lang}"><head><meta charset="utf-8"><title>${title} | ${languages[lang].title}</title>
<link rel="canonical" href="${home}${path}"><meta property="og:type" content="article">
<meta property="article:published_time" content="${published}"><meta property="article:modified_time" content="${modified}">${head}
</head><body><nav>${links(navigation(lang))}</nav>
<main><article><p class="breadcrumb"><a href="/">Home</a> &gt; <a href="/${lang}">${languages[lang].title}</a></p>
<h1>${title}</h1><time datetime="${modified}">${modified.slice(0, 10)}</time>
<p>${text}</p>
<aside>${links(slugs.map((slug, i) => ({ href: `/${lang}/${slug}`, text: languages[lang].subjects[i] })))}</aside></article></main></body></html>
`,
    etag: `"${path}@${modified}"`,
    lastModified: modified,
    links: slugs.map((slug) => `${home}${lang}/${slug}`),
  });

  const paths = {
    "/robots.txt": robots([
      "User-agent: *",
      "Crawl-delay: 1",
      "Disallow: /private/",
      "Content-Signal: search=yes, ai-train=no",
      "",
      `Sitemap: ${home}sitemap.xml`,
    ]),
    "/": page({
      title: "Everyday News",
      feeds: [{ href: "/feed.xml", title: "Everyday News" }],
      links: Object.entries(languages).map(([lang, { title }]) => ({ href: `/${lang}`, text: title })),
    }),
    "/private/draft": article("en", "private/draft", "Not for robots"),
    "/en/notices": page({
      title: "Notices",
      links: ["/en/night-library", "/en/copies/print", "/en/old-address", "/private/draft"].map((href) => ({
        href,
        text: href,
      })),
    }),

    // The newest entry is a minute old at most.
    "/en/live": () =>
      article("en", "en/live", "The council's meeting, minute by minute", {
        text: `Entry ${update()}. ${languages.en.text}`,
        modified: at(update() * MINUTE),
      }),
    // Corrected after ten minutes, when the sitemap has a newer date for it.
    "/en/budget-figures": () =>
      corrected()
        ? article("en", "en/budget-figures", "Correction: the budget grows by 4 percent", { modified: at(CORRECTION) })
        : article("en", "en/budget-figures", "The budget grows by 40 percent"),
    // Each has the same text, and names the first as its canonical URL.
    ...Object.fromEntries(
      ["copies", "copies/print", "copies/mobile"].map((path) => [
        `/en/${path}`,
        article("en", "en/copies", "One text, three addresses"),
      ]),
    ),
    "/en/subscribers-only": article("en", "en/subscribers-only", "What the accounts really say", {
      text: "The first lines are free. Subscribe to read on.",
      head: `<script type="application/ld+json">{"@context":"https://schema.org","@type":"NewsArticle","isAccessibleForFree":false}</script>`,
    }),

    "/en/old-address": redirect(`${home}en/night-library`, 301),
    "/en/elsewhere": redirect("https://new-name.sg/story-1"),
    "/en/round-and-round": redirect(`${home}en/round-and-round`),
    "/en/maintenance": () =>
      age() < MAINTENANCE
        ? {
            status: 503,
            type: "text/plain",
            body: "maintenance\n",
            retryAfter: Math.ceil((MAINTENANCE - age()) / 1000),
          }
        : article("en", "en/maintenance", "The site was down for a minute"),
    "/en/gone": { status: 410, type: "text/plain", body: "gone\n" },
    "/en/slow": { ...article("en", "en/slow", "Worth waiting for"), delay: 5000 },
    "/en/endless": { mode: "flood" },
  };
  for (const [lang, { title, subjects }] of Object.entries(languages)) {
    const stories = slugs.map((slug, i) => ({ href: `/${lang}/${slug}`, text: subjects[i] }));
    for (const { href, text } of stories) paths[href] = article(lang, href.slice(1), text);
    paths[`/${lang}`] = page({ title, lang, links: [...navigation(lang), ...stories] });
  }

  const moving = ["/en/live", "/en/budget-figures"];
  const listed = Object.keys(paths).filter(
    (path) => !moving.includes(path) && !/\.txt$|^\/private|round-and-round/.test(path),
  );
  return {
    lang: "en",
    faults: [{ path: "/en/rain", mode: "status", status: 429, retry_after: 5, times: 1 }],
    paths: {
      ...paths,
      "/sitemap.xml": sitemapIndex([`${home}sitemap-pages.xml`, `${home}sitemap-moving.xml`]),
      "/sitemap-pages.xml": urlset(listed.map((path) => ({ loc: home + path.slice(1), lastmod: published }))),
      "/sitemap-moving.xml": () =>
        urlset([
          { loc: `${home}en/live`, lastmod: at(update() * MINUTE) },
          { loc: `${home}en/budget-figures`, lastmod: corrected() ? at(CORRECTION) : published },
        ]),
      "/feed.xml": () =>
        rss({
          title: "Everyday News",
          link: home,
          items: [
            { title: "The council's meeting, minute by minute", link: `${home}en/live`, date: at(update() * MINUTE) },
            ...slugs.map((slug, i) => ({
              title: languages.en.subjects[i],
              link: `${home}en/${slug}`,
              date: published,
            })),
          ],
        }),
    },
  };
}

const links = (list) => list.map(({ href, text }) => `<a href="${href}">${text}</a>`).join(" ");

const navigation = (lang) => [
  { href: "/", text: "Home" },
  { href: `/${lang}`, text: languages[lang].title },
  ...Object.keys(languages)
    .filter((other) => other !== lang)
    .map((other) => ({ href: `/${other}`, text: other })),
];
