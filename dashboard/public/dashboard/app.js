// Runs the dashboard: switches between views, refreshes them, and signs in and out.
//
// A view is an object. title(route, data) returns its title, and the optional heading(route, data) a different heading;
// one is true if it shows a single item, named by the route's id;
// load({route, state, signal}) fetches its data at every refresh; render({data, route, state, app, status})
// describes it; news(data, before) returns a text for screen readers if a refresh brought something
// worth announcing; every is the minimum number of milliseconds between refreshes, for views that
// cost more. state belongs to the view while it is shown. app is the App below.
import * as api from "./api.js";
import { patch } from "./dom.js";
import { frame } from "./frame.js";
import { t } from "./i18n.js";
import { Poller } from "./poll.js";
import { language } from "./preferences.js";
import { parse, partitionOf } from "./routes.js";
import { tryToken } from "./signin.js";
import { takeDrops } from "./uploads.js";

// Milliseconds between refreshes, while the engine is busy and while it is idle.
const BUSY = 3_000;
const IDLE = 15_000;

export class App {
  #root;
  #views;
  #missing;
  #site;
  #model;
  #poller = new Poller(
    (signal) => this.#load(signal),
    (error, retryIn) => this.#failed(error, retryIn),
  );

  /**
   * Draws into the element root. views maps route names to views; missing is shown for all other routes; site is
   * an object of sites.js.
   */
  constructor(root, views, missing, site) {
    this.#site = site;
    this.#root = root;
    this.#views = views;
    this.#missing = missing;
    this.#model = {
      site,
      page: this.#pageOf(parse(location.hash)),
      status: null, // GET /api/v1/seeds/status of the whole engine
      pipeline: null, // who paused it and why, while it is paused
      about: null, // name, version and environment
      signingIn: null, // null, or what the form shows: {failure, busy}
      notice: null, // what the last action did
      menu: false, // whether the navigation is open on narrow screens
      spoken: "", // text for screen readers
    };
  }

  async start() {
    addEventListener("hashchange", () => this.#navigate());
    if (this.#site.uploads) takeDrops(this, () => partitionOf(this.#model.page.route.query));
    this.redraw();
    this.refresh();
    try {
      const about = await api.get("/");
      if (about.name === this.#site.elsewhere?.name) return location.replace(this.#site.elsewhere.page);
      this.#update({ about });
    } catch {
      // the header works without it
    }
  }

  // Methods for views.

  redraw() {
    const { page, signingIn } = this.#model;
    document.documentElement.lang = language();
    document.title = `${signingIn ? t("signin") : page.view.title(page.route, page.data)} · ${t(this.#site.name)}`;
    const focused = document.activeElement;
    patch(this.#root, frame(this.#model, this));
    // An element that moved has lost the focus; if it is gone, the title gets it.
    if (focused === document.activeElement || focused === document.body) return;
    if (focused.isConnected) focused.focus({ preventScroll: true });
    else this.focusTitle();
  }

  refresh() {
    this.#poller.refresh();
  }

  // A property, because forms take it as a function.
  go = (hash) => {
    location.hash = hash;
  };

  /** Shows and speaks the result of an action, and refreshes. null means that nothing was done. */
  announce(text) {
    if (!text) return;
    this.#update({ notice: text, spoken: text });
    this.refresh();
  }

  // Methods for views and the frame.

  toggleMenu() {
    this.#update({ menu: !this.#model.menu });
  }

  dismissNotice() {
    this.#update({ notice: null });
  }

  /** Whether the view refreshes by itself. */
  get live() {
    return this.#poller.live;
  }

  set live(on) {
    this.#poller.live = on;
    this.redraw();
  }

  async signIn(token) {
    this.#update({ signingIn: { failure: "", busy: true } });
    const failure = await tryToken(token, this.#site.probe);
    this.#update({ signingIn: failure ? { failure, busy: false } : null });
    if (failure) return focusToken();
    this.focusTitle();
    this.refresh();
  }

  /** Forgets the token and all data read with it, and asks for a token. */
  signOut(failure = "") {
    this.#poller.stop();
    api.token.clear();
    this.#update({
      page: this.#pageOf(this.#model.page.route),
      status: null,
      pipeline: null,
      notice: null,
      signingIn: { failure, busy: false },
    });
    focusToken();
  }

  focusTitle() {
    this.#root.querySelector("h1")?.focus({ preventScroll: true });
  }

  #update(changes) {
    Object.assign(this.#model, changes);
    this.redraw();
  }

  /** An empty page: failure and retryIn describe the last refresh, at is the time of the last successful one. */
  #pageOf(route) {
    const named = Object.hasOwn(this.#views, route.view) ? this.#views[route.view] : this.#missing;
    const view = Boolean(named.one) === (route.id !== null) ? named : this.#missing;
    return { route, view, data: undefined, failure: null, retryIn: 0, at: null, state: {} };
  }

  #navigate() {
    const { page, signingIn } = this.#model;
    const route = parse(location.hash);
    const samePage = route.view === page.route.view && route.id === page.route.id;
    const sameData = samePage && route.query.cursor === page.route.query.cursor;
    this.#update({ page: samePage ? { ...page, route } : this.#pageOf(route), notice: null, menu: false });
    if (signingIn) return;
    if (!sameData) {
      scrollTo(0, 0);
      this.focusTitle();
    }
    this.refresh();
  }

  /** Loads the view's data. Returns the milliseconds until the next refresh. */
  async #load(signal) {
    const { page } = this.#model;
    const { route, state, view, data: before } = page;
    const [own, engine] = await Promise.allSettled([view.load?.({ route, state, signal }), this.#site.read(signal)]);
    if (signal.aborted) return IDLE;
    Object.assign(this.#model, engine.value ?? { status: null, pipeline: null });
    if (own.status === "rejected") throw own.reason;
    if (engine.reason?.status === 401) throw engine.reason;
    const data = own.value;
    Object.assign(page, { data, failure: null, at: new Date().toISOString() });
    this.#update({ spoken: view.news?.(data, before) || this.#model.spoken });
    return Math.max(view.every ?? 0, isBusy(this.#model.status) ? BUSY : IDLE);
  }

  #failed(error, retryIn) {
    if (error.status === 401) return this.signOut(api.token.get() ? t("signin.refused") : "");
    Object.assign(this.#model.page, { failure: error, retryIn });
    this.redraw();
  }
}

/** Whether the engine has work to do and is not paused. */
function isBusy(status) {
  const stats = status?.processing_stats;
  return Boolean(stats) && !status.paused && stats.files_pending + stats.domains_pending > 0;
}

const focusToken = () => document.getElementById("token").focus();
