// The frame around the views: header, navigation, what concerns the whole engine, and the refreshing.
// A view is an object: title(route) names it; load({route, state, signal}) gets its data, again and
// again; render({data, route, state, app, status}) describes it; news(data, before) gives a text for
// screen readers when a refresh brought something worth telling. state is the view's own, for as long
// as it is shown.
import * as api from "./api.js";
import { h, patch } from "./dom.js";
import { date, label, number, t, timeOfDay } from "./i18n.js";
import { badge, button, failureText, since } from "./pieces.js";
import { pipelineButton } from "./pipeline.js";
import { Poller } from "./poll.js";
import { applyTheme, chooseLanguage, chooseTheme, language, languages, theme, themes } from "./preferences.js";
import { parse, to } from "./routes.js";
import { signIn, tryToken } from "./signin.js";
import alarms from "./views/alarms.js";
import deadLetter from "./views/deadletter.js";
import deadLetters from "./views/deadletters.js";
import domain from "./views/domain.js";
import domains from "./views/domains.js";
import exclusions from "./views/exclusions.js";
import missing from "./views/missing.js";
import overview from "./views/overview.js";

const views = { overview, domains, domain, "dead-letters": deadLetters, "dead-letter": deadLetter, alarms, exclusions };
const BUSY = 3_000;
const IDLE = 15_000;

const root = document.getElementById("app");

let route = parse(location.hash);
let view = missing;
let shown = fresh();
let status = null; // GET /api/v1/seeds/status of the whole engine
let pipeline = null; // who paused it and why, while it is paused
let about = null; // name, version and environment
let signingIn = null; // null, or what the form shows: {failure, busy}
let notice = null; // what the last action did
let spoken = ""; // to screen readers

function fresh() {
  return { data: undefined, failure: null, retryIn: 0, at: null, state: {} };
}

const poller = new Poller(load, failed);

/** What views may do. */
const app = {
  redraw,
  refresh: () => poller.refresh(),
  go(hash) {
    location.hash = hash;
  },
  /** Tells what an action did, and refreshes. null means that nothing was done. */
  tell(text) {
    if (!text) return;
    notice = spoken = text;
    redraw();
    poller.refresh();
  },
};

async function load(signal) {
  const mine = shown;
  const current = { view, route };
  const [own, whole] = await Promise.allSettled([
    current.view.load?.({ route: current.route, state: mine.state, signal }),
    api.get("/api/v1/seeds/status", {}, signal),
  ]);
  const paused = whole.value?.paused ? await api.get("/api/v1/pipeline", {}, signal).catch(() => null) : null;
  if (signal.aborted) return IDLE;
  status = whole.value ?? null;
  pipeline = paused;
  if (own.status === "rejected") throw own.reason;
  if (whole.status === "rejected" && whole.reason.status === 401) throw whole.reason;
  const news = current.view.news?.(own.value, mine.data);
  if (news) spoken = news;
  Object.assign(mine, { data: own.value, failure: null, at: new Date().toISOString() });
  redraw();
  return running() ? BUSY : IDLE;
}

function running() {
  const p = status?.processing_stats;
  return Boolean(p) && !status.paused && p.files_pending + p.domains_pending > 0;
}

function failed(error, next) {
  if (error.status === 401) return signOut(api.token.get() ? t("signin.refused") : "");
  Object.assign(shown, { failure: error, retryIn: next });
  redraw();
}

/** Forgets the token and everything that was read with it, and asks for one. */
function signOut(failure = "") {
  poller.stop();
  api.token.clear();
  shown = fresh();
  status = pipeline = notice = null;
  signingIn = { failure, busy: false };
  redraw();
  document.getElementById("token").focus();
}

async function signInWith(value) {
  signingIn = { failure: "", busy: true };
  redraw();
  const failure = await tryToken(value);
  signingIn = failure ? { failure, busy: false } : null;
  redraw();
  if (failure) return document.getElementById("token").focus();
  focusTitle();
  poller.refresh();
}

function navigate() {
  const before = route;
  route = parse(location.hash);
  const samePage = route.view === before.view && route.id === before.id;
  view = Object.hasOwn(views, route.view) ? views[route.view] : missing;
  notice = null;
  if (!samePage) shown = fresh();
  redraw();
  if (signingIn) return;
  if (!samePage || route.query.cursor !== before.query.cursor) {
    scrollTo(0, 0);
    focusTitle();
  }
  poller.refresh();
}

const focusTitle = () => root.querySelector("h1")?.focus({ preventScroll: true });

function redraw() {
  document.documentElement.lang = language();
  document.title = `${signingIn ? t("signin") : view.title(route)} · ${t("product")}`;
  const focused = document.activeElement;
  patch(root, [
    h("a", { class: "skip", href: "#main", on: { click: skip } }, t("skip")),
    header(),
    signingIn ? signIn(signingIn, signInWith) : page(),
    footer(),
    h("div", { class: "unseen", role: "status", key: "spoken" }, spoken),
  ]);
  // An element that moved has lost the focus; for one that is gone the title takes it.
  if (focused === document.activeElement || focused === document.body) return;
  if (focused.isConnected) focused.focus({ preventScroll: true });
  else focusTitle();
}

/** The skip link moves the focus, since the address's hash belongs to the views. */
function skip(event) {
  event.preventDefault();
  focusTitle();
}

function header() {
  const firing = status?.alarms?.filter((alarm) => alarm.state === "firing").length ?? 0;
  const letters = status?.dead_letters?.stored ?? 0;
  const entries = [
    ["overview", null],
    ["domains", null],
    ["dead-letters", letters > 0 && h("span", { class: "count" }, number(letters))],
    ["alarms", firing > 0 && h("span", { class: "count bad" }, number(firing))],
    ["exclusions", null],
  ];
  const current = { domain: "domains", "dead-letter": "dead-letters" }[route.view] ?? route.view;
  return h(
    "header",
    { class: "top", key: "header" },
    h(
      "div",
      { class: "brand" },
      h("strong", null, t("product")),
      about && badge(about.environment === "production" ? "bad" : "quiet", label("environment", about.environment)),
    ),
    !signingIn &&
      h(
        "nav",
        { "aria-label": t("nav") },
        h(
          "ul",
          null,
          entries.map(([name, count]) =>
            h(
              "li",
              { key: name },
              h(
                "a",
                { href: to(name), "aria-current": name === current ? "page" : null },
                t(`nav.${name}`),
                count && [" ", count],
              ),
            ),
          ),
        ),
      ),
    h(
      "div",
      { class: "preferences" },
      h(
        "select",
        { "aria-label": t("language"), value: language(), on: { change: chosen(chooseLanguage) } },
        Object.entries(languages).map(([tag, name]) => h("option", { value: tag, lang: tag }, name)),
      ),
      h(
        "select",
        { "aria-label": t("theme"), value: theme(), on: { change: chosen(chooseTheme) } },
        themes.map((name) => h("option", { value: name }, t(`theme.${name}`))),
      ),
      !signingIn && api.token.get() && button(t("signout"), () => signOut(), { kind: "plain" }),
    ),
  );
}

const chosen = (choose) => (event) => {
  choose(event.target.value);
  redraw();
};

function page() {
  const { data, failure, at, state } = shown;
  return h(
    "main",
    { id: "main", key: `main ${route.view} ${route.id}` },
    paused(),
    notice &&
      h(
        "div",
        { class: "notice", key: "notice" },
        h("span", null, notice),
        button("×", dismiss, { kind: "plain", label: t("dismiss") }),
      ),
    h(
      "div",
      { class: "title", key: "title" },
      h("h1", { tabindex: "-1" }, view.heading?.(route) ?? view.title(route)),
      view.load && freshness(at),
    ),
    failure && failureBanner(failure, data !== undefined),
    data === undefined && view.load
      ? !failure && h("p", { class: "loading", key: "loading" }, t("loading"))
      : view.render({ data, route, state, app, status }),
  );
}

function dismiss() {
  notice = null;
  redraw();
}

function paused() {
  if (!status?.paused) return null;
  return h(
    "div",
    { class: "banner waiting", key: "paused" },
    h(
      "p",
      null,
      h("strong", null, t("paused")),
      " ",
      pipeline && [
        t("paused.by", pipeline.by ?? "–"),
        " ",
        since(pipeline.since),
        pipeline.reason && [": ", h("bdi", null, pipeline.reason)],
      ],
    ),
    pipelineButton(true, app),
  );
}

function freshness(at) {
  return h(
    "div",
    { class: "freshness" },
    at &&
      h(
        "span",
        { class: "muted small" },
        t("updated"),
        " ",
        h("time", { datetime: at, title: date(at) }, timeOfDay(at)),
      ),
    button([h("span", { class: poller.live ? "dot on" : "dot", "aria-hidden": "true" }), t("live")], switchLive, {
      kind: "plain",
      pressed: poller.live,
    }),
    button(t("refresh"), () => poller.refresh(), { kind: "plain" }),
  );
}

function switchLive() {
  poller.live = !poller.live;
  redraw();
}

function failureBanner(failure, stale) {
  return h(
    "div",
    { class: "banner bad", role: "alert", key: "failure" },
    h(
      "p",
      null,
      h("strong", null, stale ? t("failure.stale") : t("failure")),
      " ",
      failureText(failure),
      " ",
      poller.live && t("failure.retry", Math.round(shown.retryIn / 1_000)),
    ),
    button(t("failure.now"), () => poller.refresh()),
  );
}

const footer = () =>
  h(
    "footer",
    { class: "muted small", key: "footer" },
    t("product"),
    about && ` ${about.version}`,
    " · ",
    h("a", { href: "https://newsfork.com/bot" }, "NewsforkBot"),
  );

applyTheme();
addEventListener("hashchange", navigate);
navigate();
try {
  about = await api.get("/");
  redraw();
} catch {
  // the header is plainer without it
}
