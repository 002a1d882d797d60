// The reader's page in Chromium, with an API of 2,000 articles that gets new ones during scrolling.
/* global document, window, scrollTo, getComputedStyle, innerWidth */
import assert from "node:assert/strict";
import { once } from "node:events";
import { readFileSync } from "node:fs";
import { createServer } from "node:http";
import { extname, join } from "node:path";
import { after, before, test } from "node:test";
import { root, skip, startBrowser } from "../dashboard/browser.mjs";

const files = join(root, "info/api/public");
const types = { ".html": "text/html", ".js": "text/javascript", ".css": "text/css" };
const policy = /Content-Security-Policy: (.*)/
  .exec(readFileSync(join(files, "_headers"), "utf8"))[1]
  .replace("upgrade-insecure-requests; ", ""); // the test's server has no TLS
const pixel = Buffer.from("R0lGODlhAQABAIAAAAAAAP///yH5BAEAAAAALAAAAAABAAEAAAIBRAA7", "base64");

// The topics of a deployment, with one that is not the reader's own.
const names = { all: "전체", environment: "환경", energy: "에너지", ai: "AI", football: "축구" };

/** An API over articles in memory, ordered like the real one: by time, then id, both descending; what is newer, by arrival. */
class Api {
  articles = [];
  failing = false; // or how many requests succeed before one fails
  stale = false;
  patience = Infinity; // how many articles a search looks at for a page
  #n = 0;

  clear() {
    this.articles = [];
    this.#n = 0;
  }

  add(count, at = Date.now()) {
    const categories = ["environment", "energy", "ai", null];
    for (let i = 0; i < count; i++) {
      const n = this.#n++;
      this.articles.push({
        at: Math.floor((at - Math.floor(i / 3) * 60_000) / 1000) * 1000, // three of each minute
        arrived: n + 1,
        id: `a_${String(n).padStart(5, "0")}`,
        title: `기사 ${n} <b>&amp;`,
        category: categories[n % 4],
        image: n % 2 ? `https://images.example/${n}.gif` : null,
      });
    }
    this.articles.sort((a, b) => b.at - a.at || (a.id < b.id ? 1 : -1));
  }

  page(query) {
    const limit = Number(query.get("limit") ?? 10);
    if (query.get("direction") === "newer") return this.#arrivals(query, limit);
    const cursor = query.get("cursor");
    const [at, id] = cursor
      ? [Number(cursor.slice(0, cursor.indexOf("_"))), cursor.slice(cursor.indexOf("_") + 1)]
      : [];
    const behind = (a) => a.at < at || (a.at === at && a.id < id);
    const category = query.get("category");
    const q = query.get("q");
    let looked = this.articles;
    if (cursor) looked = looked.filter(behind);
    const last = q ? looked[this.patience] : undefined; // the first one that is not looked at
    if (last) looked = looked.slice(0, this.patience);
    const matching = looked.filter((a) => (!category || a.category === category) && (!q || a.title.includes(q)));
    const list = matching.slice(0, limit);
    const place = (a) => a && `${a.at}_${a.id}`;
    const more = matching.length > limit;
    const next = more ? place(list.at(-1)) : last ? `${last.at}_~` : null;
    return this.#body(list, next, q ? (place(list[0]) ?? null) : `${this.#n}`, more || Boolean(last));
  }

  #arrivals(query, limit) {
    const category = query.get("category");
    const since = this.articles
      .filter((a) => a.arrived > Number(query.get("cursor")) && (!category || a.category === category))
      .sort((a, b) => a.arrived - b.arrived);
    const list = since.slice(0, limit);
    const more = since.length > limit;
    return this.#body(list.toReversed(), null, `${more ? list.at(-1).arrived : this.#n}`, more);
  }

  #body(list, next_cursor, prev_cursor, has_more) {
    const articles = list.map((a) => ({
      id: a.id,
      title: a.title,
      url: `https://press.example/${a.id}`,
      snippet: "Text",
      source: "feed",
      source_name: "Press",
      published_at: new Date(a.at).toISOString(),
      thumbnail_url: a.image,
      category: a.category,
    }));
    const meta = { total_cached: 0, cache_expires_in: 0, source: "d1", is_stale: this.stale };
    return { articles, next_cursor, prev_cursor, has_more, meta };
  }

  answer(url) {
    if (url.pathname === "/api/v1/info/categories") {
      const name = (id) => (url.searchParams.get("language") === "ko" ? names[id] : id[0].toUpperCase() + id.slice(1));
      return [200, { categories: Object.keys(names).map((id) => ({ id, name: name(id) })) }];
    }
    if (this.failing === true || (this.failing !== false && this.failing-- <= 0)) return [503, { detail: "no" }];
    if (url.pathname !== "/api/v1/info/news") return [404, {}];
    const q = url.searchParams.get("q");
    if (q && !/[\p{L}\p{N}]/u.test(q)) return [400, { detail: `Nothing in "${q}" can be searched for.` }];
    return [200, this.page(url.searchParams)];
  }
}

const api = new Api();
let browser;
const server = createServer((request, response) => {
  const url = new URL(request.url, "http://localhost");
  if (url.pathname.startsWith("/api/")) {
    const [status, body] = api.answer(url);
    response.writeHead(status, { "content-type": "application/json" }).end(JSON.stringify(body));
    return;
  }
  const name = url.pathname === "/" ? "/index.html" : url.pathname;
  const headers = { "content-type": types[extname(name)], "content-security-policy": policy };
  response.writeHead(200, headers).end(readFileSync(join(files, name)));
});

before(async () => {
  if (skip) return;
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  browser = await startBrowser();
});
after(async () => {
  await browser?.close();
  server.close();
});

/** A page of the reader; page.wrongs collects exceptions, console errors and requests to elsewhere. */
async function open({ language = "en", colorScheme = "light", width = 1280, path = "/", ...options } = {}) {
  const context = await browser.newContext({
    viewport: { width, height: 900 },
    locale: language === "en" ? "en-GB" : language,
    timezoneId: "UTC",
    colorScheme,
    ...options,
  });
  await context.route("https://images.example/**", (route) => route.fulfill({ body: pixel, contentType: "image/gif" }));
  const page = await context.newPage();
  page.setDefaultTimeout(15_000);
  page.wrongs = [];
  const address = `http://127.0.0.1:${server.address().port}/`;
  page.on("pageerror", (error) => page.wrongs.push(`exception: ${error.stack ?? error}`));
  page.on("console", (message) => message.type() === "error" && page.wrongs.push(`console: ${message.text()}`));
  page.on("request", (request) => {
    if (![address, "https://images.example/", "data:"].some((start) => request.url().startsWith(start)))
      page.wrongs.push(`request: ${request.url()}`);
  });
  await page.goto(new URL(path, address).href);
  return page;
}

const ids = (page) => page.$$eval("#articles > article", (list) => list.map((one) => one.dataset.id));
const toEnd = async (page, stop) => {
  for (const deadline = Date.now() + 60_000; Date.now() < deadline;) {
    await page.evaluate(() => scrollTo(0, document.body.scrollHeight));
    await page.waitForTimeout(15);
    if (await stop()) return;
  }
  throw new Error("the end never came");
};

test("2,000 articles are scrolled without gap or duplicate while new ones come", { skip }, async () => {
  api.clear();
  api.add(2000);
  const first = api.page(new URLSearchParams({ limit: "2000" })).articles.map((a) => a.id);
  const page = await open();
  await page.evaluate(() => {
    window.shifts = 0;
    new PerformanceObserver((list) => {
      for (const entry of list.getEntries()) if (!entry.hadRecentInput) window.shifts += entry.value;
    }).observe({ type: "layout-shift", buffered: true });
  });
  await page.waitForSelector("#articles > article"); // articles that come before that are on the first page
  let rounds = 0;
  await toEnd(page, async () => {
    if (rounds++ % 5 === 0) api.add(3, Date.now() + rounds * 1000);
    return (await page.$eval("#end", (end) => end.dataset.state)) === "end";
  });
  assert.deepEqual(await ids(page), first);
  assert.ok((await page.evaluate(() => window.shifts)) < 0.05, "the layout jumps");

  // New articles are announced, and shown on request above the others.
  await page.evaluate(() => document.dispatchEvent(new Event("visibilitychange", { bubbles: true })));
  await page.waitForSelector("#fresh:not([hidden])");
  const all = api.page(new URLSearchParams({ limit: "5000" })).articles.map((a) => a.id);
  assert.match(await page.textContent("#fresh"), new RegExp(`${all.length - 2000} new articles`));
  await page.click("#fresh");
  await page.waitForFunction((n) => document.querySelectorAll("#articles > article").length === n, all.length);
  assert.deepEqual(await ids(page), all);
  assert.deepEqual(page.wrongs, []);
  await page.context().close();
});

test("articles that arrive late are announced and shown at their places", { skip }, async () => {
  api.clear();
  api.add(60);
  const page = await open();
  await page.waitForFunction(() => document.querySelectorAll("#articles > article").length === 20);
  const shown = await ids(page);
  const look = () => page.evaluate(() => document.dispatchEvent(new Event("visibilitychange", { bubbles: true })));
  api.add(2, Date.now() + 60_000);
  api.add(130, Date.now() - 90_000); // some above the end, others below; more than two pages
  api.failing = 1; // the second page of what is new fails
  await look();
  await page.waitForSelector("#fresh:not([hidden])");
  api.failing = false;
  const everything = (count) => api.page(new URLSearchParams({ limit: `${count}` })).articles.map((a) => a.id);
  const above = everything(500).slice(0, everything(500).indexOf(shown.at(-1)) + 1);
  const announcement = `Show ${above.length - 20} new articles (${above.length - 22} further down)`;
  await look(); // goes on where the last one failed
  await page.waitForFunction((text) => document.querySelector("#fresh").textContent === text, announcement);
  await page.click("#fresh");
  await page.waitForFunction((n) => document.querySelectorAll("#articles > article").length === n, above.length);
  assert.deepEqual(await ids(page), above);
  assert.equal(await page.$$eval("#articles .new", (list) => list.length), above.length - 20);
  await toEnd(page, async () => (await page.$eval("#end", (end) => end.dataset.state)) === "end");
  assert.deepEqual(await ids(page), everything(500));
  assert.ok(await page.$eval("#fresh", (button) => button.hidden));
  assert.deepEqual(
    page.wrongs.filter((wrong) => !wrong.includes("503")),
    [],
  );
  await page.context().close();
});

test("a search without a word is no failure", { skip }, async () => {
  api.clear();
  api.add(5);
  const page = await open();
  await page.waitForSelector("#articles > article");
  await page.fill("#q", "!?");
  await page.press("#q", "Enter");
  await page.waitForSelector('#end[data-state="odd"]');
  assert.match(await page.textContent("#end"), /no word to search for/);
  assert.ok(await page.$eval("#again", (button) => button.hidden));
  await page.context().close();
});

test("the topics are those of the API", { skip }, async () => {
  api.clear();
  api.add(30);
  api.articles[0].category = "football";
  const page = await open({ path: "/?category=football" });
  await page.waitForSelector('nav a[data-category="football"][aria-current]');
  await page.waitForFunction(() => document.querySelectorAll("article").length === 1);
  assert.equal(await page.textContent('nav a[data-category="football"]'), "Football");
  await page.click("#language");
  await page.waitForFunction(() => document.querySelector('nav a[data-category="football"]').textContent === "축구");
  assert.equal(await page.textContent("[data-topic]"), "축구");
  assert.deepEqual(page.wrongs, []);
  await page.context().close();
});

test("categories, search and the way back", { skip }, async () => {
  api.clear();
  api.add(200);
  const page = await open();
  await page.waitForSelector("#articles > article");
  await page.click('nav a[data-category="energy"]');
  await page.waitForFunction(() => document.querySelectorAll("#articles > article").length >= 20);
  assert.ok(page.url().endsWith("/?category=energy"));
  const topics = await page.$$eval("#articles [data-topic]", (list) => new Set(list.map((s) => s.dataset.topic)).size);
  assert.equal(topics, 1);
  await page.fill("#q", "기사 17 ");
  await page.press("#q", "Enter");
  await page.waitForSelector('#end[data-state="end"]', { state: "attached" });
  assert.equal(await page.textContent("#articles h2"), "기사 17 <b>&amp;"); // as text
  await page.goBack();
  await page.waitForFunction(() => document.querySelectorAll("#articles > article").length >= 20);
  assert.equal(await page.getAttribute('nav a[data-category="energy"]', "aria-current"), "page");
  assert.deepEqual(page.wrongs, []);
  await page.context().close();
});

test("a search that goes on over short and empty pages", { skip }, async () => {
  api.clear();
  api.add(600);
  const page = await open();
  await page.waitForSelector("#articles > article");
  api.patience = 50;
  try {
    await page.fill("#q", "기사 5"); // 5, 50 to 59, and the oldest hundred
    await page.press("#q", "Enter");
    await toEnd(page, async () => (await page.$eval("#end", (end) => end.dataset.state)) === "end");
    const all = api.articles.filter((a) => a.title.includes("기사 5")).map((a) => a.id);
    assert.equal(all.length, 111);
    assert.deepEqual(await ids(page), all);
    await page.fill("#q", "nothing");
    await page.press("#q", "Enter");
    await page.waitForSelector('#end[data-state="none"]'); // without scrolling
  } finally {
    api.patience = Infinity;
  }
  assert.deepEqual(page.wrongs, []);
  await page.context().close();
});

test("keys, languages, themes and accessibility", { skip }, async () => {
  api.clear();
  api.add(50);
  const axe = readFileSync(join(root, "node_modules/axe-core/axe.min.js"), "utf8");
  for (const [language, colorScheme, width] of [
    ["ko", "dark", 1280],
    ["en", "light", 320],
  ]) {
    const page = await open({ language, colorScheme, width, bypassCSP: true });
    await page.waitForSelector("#articles > article");
    assert.equal(await page.getAttribute("html", "lang"), language);
    await page.evaluate(axe);
    const { violations } = await page.evaluate(() => window.axe.run(document, { resultTypes: ["violations"] }));
    assert.deepEqual(
      violations.map((v) => `${v.id}: ${v.nodes.map((n) => n.html).slice(0, 2)}`),
      [],
    );
    assert.ok(await page.evaluate(() => document.documentElement.scrollWidth <= innerWidth), "it scrolls sideways");
    const narrow = () =>
      [...document.querySelectorAll("#articles article")]
        .filter((a) => !a.querySelector("img"))
        .map((a) => a.querySelector(".text").clientWidth / a.clientWidth)
        .filter((share) => share < 0.85);
    assert.deepEqual(await page.evaluate(narrow), [], "room is kept for pictures that are not there");
    await page.focus("#articles article");
    await page.keyboard.press("j");
    await page.keyboard.press("PageDown");
    assert.equal(
      await page.evaluate(() => [...document.querySelectorAll("#articles article")].indexOf(document.activeElement)),
      2,
    );
    await page.keyboard.press("k");
    assert.equal(
      await page.evaluate(() => [...document.querySelectorAll("#articles article")].indexOf(document.activeElement)),
      1,
    );
    const background = () => page.evaluate(() => getComputedStyle(document.body).backgroundColor);
    const was = await background();
    await page.click("#theme");
    assert.notEqual(await background(), was);
    await page.click("#language");
    assert.equal(await page.getAttribute("html", "lang"), language === "ko" ? "en" : "ko");
    assert.equal(await page.textContent('nav a[data-category="energy"]'), language === "ko" ? "Energy" : "에너지");
    await page.screenshot({ path: join(root, `build/dashboard/reader-${language}-${width}.png`) });
    await page.context().close();
  }
});

test("failures are shown, and can be retried", { skip }, async () => {
  api.clear();
  api.add(60);
  api.failing = true;
  const page = await open();
  await page.waitForSelector("#again:not([hidden])");
  api.failing = false;
  api.stale = true;
  await page.click("#again");
  await page.waitForSelector("#articles > article");
  assert.match(await page.textContent("#notice"), /late/);
  api.stale = false;
  api.clear();
  await page.goto(page.url());
  await page.waitForFunction(() => document.querySelector("#end").dataset.state === "none");
  await page.context().close();
});
