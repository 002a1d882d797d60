// The reader's page: scrolls through the API by cursor. An article is on the screen once, whatever comes
// meanwhile: what has arrived is announced, and shown on request at its place.
import { texts } from "./texts.js";

const pageSize = 20;
const lookEvery = 60_000; // ms between two looks for what is new
const mostPages = 20; // of new articles in one look; the next one goes on

const byId = (id) => document.getElementById(id);

/** Makes an element with attributes and children. */
function element(name, attributes, ...children) {
  const made = document.createElement(name);
  for (const [key, value] of Object.entries(attributes)) if (value !== undefined) made.setAttribute(key, value);
  made.append(...children);
  return made;
}

/** What a visitor chose, kept where the browser allows it. */
class Preferences {
  get(name) {
    try {
      return localStorage.getItem(name);
    } catch {
      return null;
    }
  }

  set(name, value) {
    try {
      localStorage.setItem(name, value);
    } catch {
      // then it holds for this visit
    }
  }
}

/** An answer other than success. */
class Refusal extends Error {
  constructor(status) {
    super(`status ${status}`);
    this.status = status;
  }
}

/** The place of an article, which is that of its cursor; places are compared like cursors. */
const placeOf = ({ published_at, id }) => [Date.parse(published_at), id];

/** The place that a cursor names. */
function parseCursor(cursor) {
  const [ms] = cursor.split("_", 1);
  return [Number(ms), cursor.slice(ms.length + 1)];
}

/** Compares places for sorting, the newest first. */
function byPlace([at, id], [otherAt, otherId]) {
  if (at !== otherAt) return otherAt - at;
  return id === otherId ? 0 : id > otherId ? -1 : 1;
}

/** A feed: one category or search, from its newest article down. */
class Feed {
  constructor(query) {
    this.query = query;
    this.seen = new Set();
    this.next = null; // cursor
    this.over = false;
    this.earliest = null; // the earliest position, in the order of arrival, of the pages that were read
    this.looked = null; // up to this position everything that arrived was read
    this.arrived = new Map(); // articles that arrived and are not shown, by id
  }

  async #get(path, parameters) {
    const url = new URL(`/api/v1/info/${path}`, location.origin);
    for (const [name, value] of Object.entries({ ...this.query, ...parameters }))
      if (value) url.searchParams.set(name, value);
    const answer = await fetch(url, { headers: { accept: "application/json" } });
    if (!answer.ok) throw new Refusal(answer.status);
    return answer.json();
  }

  #unseen(articles) {
    for (const { id } of articles) this.arrived.delete(id);
    return articles.filter(({ id }) => !this.seen.has(id) && this.seen.add(id));
  }

  // Pages come from caches, so that a later page can be the older one; then arrivals are read again from there.
  #position(cursor) {
    if (!cursor || (this.earliest && parseCursor(this.earliest)[0] <= parseCursor(cursor)[0])) return;
    this.earliest = this.looked = cursor;
  }

  /** The articles below those that are shown. */
  async more() {
    const page = await this.#get("news", { limit: pageSize, cursor: this.next });
    if (!this.query.q) this.#position(page.prev_cursor);
    this.next = page.next_cursor;
    this.over = !page.has_more;
    return { articles: this.#unseen(page.articles), stale: page.meta.is_stale };
  }

  /** Reads what has arrived since. Whatever fails, the next look goes on where this one stopped. */
  async look() {
    for (let pages = 0, more = Boolean(this.looked); more && pages < mostPages; pages++) {
      const from = this.looked;
      const page = await this.#get("news", { limit: 50, cursor: from, direction: "newer" });
      for (const article of page.articles) if (!this.seen.has(article.id)) this.arrived.set(article.id, article);
      if (this.looked === from) this.looked = page.prev_cursor;
      more = page.has_more;
    }
  }

  /** The articles that arrived above the last one shown, newest first. */
  get fresh() {
    const end = this.over || !this.next ? null : parseCursor(this.next);
    return [...this.arrived.values()]
      .filter((article) => !end || byPlace(placeOf(article), end) <= 0)
      .sort((a, b) => byPlace(placeOf(a), placeOf(b)));
  }

  /** Takes the fresh ones. */
  take() {
    return this.#unseen(this.fresh);
  }
}

class Reader {
  #preferences = new Preferences();
  // Of the API; these until it answers, with the names in texts.js.
  #categories = ["all", "environment", "energy", "ai"];
  #names = {}; // of the API's, by language
  #feed;
  #loading = false;
  #list = byId("articles");
  #observer = new IntersectionObserver((states) => states.at(-1).isIntersecting && this.#more(), {
    rootMargin: "800px",
  });

  constructor() {
    const wanted = this.#preferences.get("language") ?? (navigator.language.startsWith("ko") ? "ko" : "en");
    this.language = wanted in texts ? wanted : "en";
    this.theme = this.#preferences.get("theme");
    addEventListener("popstate", () => this.open());
    byId("search").addEventListener("submit", (event) => {
      event.preventDefault();
      this.go({ q: byId("q").value.trim() });
    });
    byId("categories").addEventListener("click", (event) => {
      const link = event.target.closest("a");
      if (!link || event.ctrlKey || event.metaKey || event.shiftKey) return;
      event.preventDefault();
      this.go({ category: link.dataset.category });
    });
    byId("fresh").addEventListener("click", () => this.#showNewer());
    byId("again").addEventListener("click", () => this.#more());
    byId("language").addEventListener("click", () => this.#speak(this.language === "ko" ? "en" : "ko"));
    byId("theme").addEventListener("click", () => this.#paint(this.#dark() ? "light" : "dark"));
    this.#list.addEventListener("keydown", (event) => this.#move(event));
    setInterval(() => document.visibilityState === "visible" && this.#look(), lookEvery);
    addEventListener("visibilitychange", () => document.visibilityState === "visible" && this.#look());
    this.#speak(this.language);
    this.#paint(this.theme);
    this.open();
  }

  get #texts() {
    return texts[this.language];
  }

  #dark() {
    return this.theme ? this.theme === "dark" : matchMedia("(prefers-color-scheme: dark)").matches;
  }

  #paint(theme) {
    this.theme = theme;
    if (theme) {
      document.documentElement.dataset.theme = theme;
      this.#preferences.set("theme", theme);
    }
    byId("theme").textContent = this.#texts.theme[this.#dark() ? "light" : "dark"];
  }

  #speak(language) {
    this.language = language;
    this.#preferences.set("language", language);
    document.documentElement.lang = language;
    const t = this.#texts;
    for (const one of document.querySelectorAll("[data-text]")) one.textContent = t[one.dataset.text];
    byId("language").textContent = t.other;
    byId("language").lang = language === "ko" ? "en" : "ko";
    byId("q").placeholder = t.search;
    byId("q").setAttribute("aria-label", t.search);
    byId("categories").setAttribute("aria-label", t.nav);
    byId("again").textContent = t.again;
    byId("theme").textContent = t.theme[this.#dark() ? "light" : "dark"];
    this.#navigation();
    this.#learn(language);
    for (const time of this.#list.querySelectorAll("time")) time.textContent = this.#moment(time.dateTime);
    for (const topic of this.#list.querySelectorAll("[data-topic]"))
      topic.textContent = this.#label(topic.dataset.topic);
    if (this.#feed) this.#announce();
    this.#state(byId("end").dataset.state ?? "");
  }

  /** Learns the API's categories in a language. If it fails, those in texts.js stay. */
  async #learn(language) {
    if (this.#names[language]) return;
    try {
      const answer = await fetch(`/api/v1/info/categories?language=${language}`);
      if (!answer.ok) return;
      const list = (await answer.json()).categories;
      this.#categories = list.map(({ id }) => id);
      this.#names[language] = Object.fromEntries(list.map(({ id, name }) => [id, name]));
    } catch {
      return;
    }
    for (const topic of this.#list.querySelectorAll("[data-topic]"))
      topic.textContent = this.#label(topic.dataset.topic);
    const wanted = new URLSearchParams(location.search).get("category") ?? "all";
    if (wanted !== this.category && this.#categories.includes(wanted)) this.open();
    else this.#navigation();
  }

  #label(category) {
    return this.#names[this.language]?.[category] ?? this.#texts[category] ?? category;
  }

  #navigation() {
    const links = this.#categories.map((category) =>
      element(
        "a",
        {
          href: category === "all" ? "/" : `/?category=${category}`,
          "data-category": category,
          "aria-current": category === this.category && !this.q ? "page" : undefined,
        },
        this.#label(category),
      ),
    );
    byId("categories").replaceChildren(...links);
  }

  /** Opens another category or search, as a page of its own in the history. */
  go({ category = "all", q = "" }) {
    const url = new URL("/", location.origin);
    if (q) url.searchParams.set("q", q);
    else if (category !== "all") url.searchParams.set("category", category);
    history.pushState(null, "", url);
    this.open();
    scrollTo(0, 0);
  }

  /** Shows what the address says. */
  open() {
    const parameters = new URLSearchParams(location.search);
    const category = parameters.get("category") ?? "all";
    this.category = this.#categories.includes(category) ? category : "all";
    this.q = (parameters.get("q") ?? "").slice(0, 100);
    byId("q").value = this.q;
    this.#feed = new Feed({ category: this.category === "all" ? "" : this.category, q: this.q });
    this.#loading = false;
    this.#list.replaceChildren();
    byId("fresh").hidden = true;
    byId("notice").textContent = "";
    this.#navigation();
    this.#more();
  }

  #state(state) {
    byId("end").dataset.state = state;
    byId("end").textContent = state ? this.#texts[state] : "";
    byId("again").hidden = state !== "failed";
    this.#list.setAttribute("aria-busy", String(state === "loading"));
  }

  // One page at a time. What belongs to a feed that was left meanwhile is dropped.
  async #more() {
    const feed = this.#feed;
    if (this.#loading || feed.over) return;
    this.#loading = true;
    this.#state("loading");
    try {
      const { articles, stale } = await feed.more();
      if (feed !== this.#feed) return;
      this.#list.append(...articles.map((article) => this.#article(article)));
      byId("notice").textContent = stale ? this.#texts.stale : "";
      this.#loading = false;
      this.#state(feed.over ? (this.#list.children.length ? "end" : "none") : "");
      this.#announce();
    } catch (error) {
      if (feed !== this.#feed) return;
      this.#loading = false;
      this.#state(this.q && error.status === 400 ? "odd" : "failed");
      return;
    }
    this.#watch();
  }

  // Observed again after each page: an end that is in sight before and after says nothing in between.
  #watch() {
    this.#observer.disconnect();
    this.#observer.observe(byId("end"));
  }

  async #look() {
    const feed = this.#feed;
    try {
      await feed.look();
    } catch {
      // the next look goes on
    }
    if (feed === this.#feed) this.#announce();
  }

  // Says how many articles have arrived, and how many of them not at the top: their sources were late.
  #announce() {
    const { fresh } = this.#feed;
    const top = this.#list.firstElementChild;
    const late = top ? fresh.filter((article) => byPlace(placeOf(article), top.place) > 0).length : 0;
    byId("fresh").hidden = fresh.length === 0;
    byId("fresh").textContent = this.#texts.fresh(fresh.length, late);
  }

  #showNewer() {
    byId("fresh").hidden = true;
    let first;
    let below = this.#list.firstElementChild;
    for (const article of this.#feed.take()) {
      while (below && byPlace(below.place, placeOf(article)) < 0) below = below.nextElementSibling;
      const shown = this.#article(article, true);
      this.#list.insertBefore(shown, below);
      first ??= shown;
    }
    if (this.#list.firstElementChild) this.#state(this.#feed.over ? "end" : "");
    if (first === this.#list.firstElementChild) scrollTo(0, 0);
    else first?.scrollIntoView();
    first?.focus({ preventScroll: true });
  }

  #article(article, isNew = false) {
    const { id, title, url, snippet, source_name, published_at, thumbnail_url, category } = article;
    const link = element("a", { href: url, target: "_blank", rel: "noopener noreferrer" }, title);
    const about = element(
      "p",
      { class: "about" },
      element("bdi", {}, source_name),
      " · ",
      element("time", { datetime: published_at }, this.#moment(published_at)),
    );
    if (isNew) about.prepend(element("span", { class: "new", "data-text": "isNew" }, this.#texts.isNew), " · ");
    if (category) about.append(" · ", element("span", { "data-topic": category }, this.#label(category)));
    const parts = [element("h2", { id: `title-${id}` }, link), about];
    if (snippet) parts.push(element("p", { class: "snippet" }, snippet));
    const beside = []; // without a picture, the text has the whole width
    if (thumbnail_url) {
      const picture = element("div", { class: "picture" });
      const image = element("img", { alt: "", loading: "lazy", decoding: "async", width: "160", height: "90" });
      image.addEventListener("error", () => image.remove()); // its place stays, so that nothing jumps
      image.src = thumbnail_url.replace(/^http:/, "https:");
      picture.append(image);
      beside.push(picture);
    }
    const text = element("div", { class: "text" }, ...parts);
    const made = element(
      "article",
      { tabindex: "0", "data-id": id, "aria-labelledby": `title-${id}` },
      text,
      ...beside,
    );
    made.place = placeOf(article);
    return made;
  }

  // Keys of a feed (www.w3.org/WAI/ARIA/apg/patterns/feed/), and those that readers of feeds know.
  #move(event) {
    const step = { PageDown: 1, j: 1, PageUp: -1, k: -1 }[event.key];
    const here = event.target.closest("article");
    if (event.key === "Enter" && event.target.matches("article")) here.querySelector("a").click();
    if (!step || !here || event.ctrlKey || event.metaKey || event.altKey) return;
    const there = step > 0 ? here.nextElementSibling : here.previousElementSibling;
    there?.focus();
    event.preventDefault();
  }

  #moment(text) {
    return new Intl.DateTimeFormat(this.language, { dateStyle: "medium", timeStyle: "short" }).format(new Date(text));
  }
}

new Reader();
