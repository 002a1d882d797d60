// Plays the providers of the Info service for its demo, all but the Seed Engine: Naver, NewsData.io and six feeds.
// Each request finds a few articles more than the one before, the newest a few seconds old.
const minute = 60_000;
let began; // at the first request: before it, the platform's clock stands at 0
let requests = 0;

const topics = [
  ["환경부, 분리배출 기준 개편", "Landfill ban takes effect", "재활용 선별장 현장"],
  ["태양광 발전 역대 최대", "Battery storage tender draws bids", "제주 풍력 출력제어"],
  ["생성형 AI 데이터센터 전력", "Language model reads labels", "인공지능 반도체 경쟁"],
  ["지역 축제 개막", "Football league resumes", "주말 날씨 전망"],
];

// Article i of a source: the first ones lie in the past, a minute apart; those that came since are recent.
function article(source, i, known) {
  const at = i < known ? began - (known - i) * minute : Math.min(began + (i - known) * 1000, Date.now());
  const titles = topics[i % topics.length];
  return {
    url: `https://${source}.example/articles/${i}`,
    title: `${titles[i % titles.length]} ${i}`,
    snippet: `${source}의 ${i}번째 기사. Article ${i}.`,
    at: new Date(Math.floor(at / 1000) * 1000), // whole seconds: many ties between sources
  };
}

/** The newest of a source. */
function newest(source, known, count) {
  const total = known + requests;
  return Array.from({ length: Math.min(count, total) }, (_, n) => article(source, total - 1 - n, known));
}

const two = (n) => String(n).padStart(2, "0");
const plain = (at) =>
  `${at.getUTCFullYear()}-${two(at.getUTCMonth() + 1)}-${two(at.getUTCDate())} ${two(at.getUTCHours())}:${two(at.getUTCMinutes())}:${two(at.getUTCSeconds())}`;

function naver() {
  const items = newest("naver", 80, 100).map(({ url, title, snippet, at }) => ({
    title: `<b>${title}</b> &amp; more`,
    originallink: url,
    link: url,
    description: snippet,
    pubDate: at.toUTCString().replace("GMT", "+0000"),
  }));
  return Response.json({ items });
}

function newsdata() {
  const results = newest("newsdata", 10, 10).map(({ url, title, snippet, at }, i) => ({
    article_id: `${Number(url.split("/").pop())}`.padStart(32, "0"),
    link: url,
    title,
    description: snippet,
    content: "ONLY AVAILABLE IN PAID PLANS",
    ai_tag: "ONLY AVAILABLE IN PROFESSIONAL AND CORPORATE PLANS",
    category: [i % 2 ? "environment" : "top"],
    pubDate: plain(at),
    pubDateTZ: "UTC",
    source_name: "NewsData sample",
  }));
  return Response.json({ status: "success", results, nextPage: null });
}

function feed(name) {
  const items = newest(name, 75, 90).map(
    ({ url, title, snippet, at }) =>
      `<item><title>${title}</title><link>${url}</link><description>${snippet}</description><pubDate>${at.toUTCString()}</pubDate></item>`,
  );
  return new Response(`<rss version="2.0"><channel><title>${name}</title>${items.join("")}</channel></rss>`);
}

export default {
  fetch(request) {
    const url = new URL(request.url);
    began ??= Date.now();
    requests++;
    if (url.hostname === "openapi.naver.com") return naver();
    if (url.hostname === "newsdata.io") return newsdata();
    const name = /^(feed\d)\.example$/.exec(url.hostname)?.[1];
    if (name && url.pathname === "/rss") return feed(name);
    // The page of an article, which is asked for a picture.
    const image = `<meta property="og:image" content="https://images.example${url.pathname}.jpg">`;
    return new Response(`<!doctype html><head>${image}</head>`, { headers: { "content-type": "text/html" } });
  },
};
