// The frame around the views: header, navigation and the state of the engine. It describes the
// model of an App (app.js) and calls the App for the operator's actions.
import { token } from "./api.js";
import { h } from "./dom.js";
import { date, label, number, t, timeOfDay } from "./i18n.js";
import { badge, button, failureText, readOnlyTitle, since } from "./pieces.js";
import { pipelineButton } from "./pipeline.js";
import { chooseLanguage, chooseTheme, language, languages, theme, themes } from "./preferences.js";
import { to } from "./routes.js";
import { signIn } from "./signin.js";

/** Describes everything on the page. */
export function frame(model, app) {
  return [
    skipLink(app),
    header(model, app),
    model.signingIn ? signIn(model.signingIn, (value) => app.signIn(value)) : main(model, app),
    footer(model),
    h("div", { class: "unseen", role: "status", key: "spoken" }, model.spoken),
  ];
}

/** The skip link moves the focus by script, because the hash of the address belongs to the views. */
function skipLink(app) {
  const skip = (event) => {
    event.preventDefault();
    app.focusTitle();
  };
  return h("a", { class: "skip", href: "#main", on: { click: skip } }, t("skip"));
}

function header({ about, menu, page, signingIn, site, status }, app) {
  const escape = (event) => {
    if (!menu || event.key !== "Escape") return;
    event.currentTarget.querySelector(".menu").focus(); // the focused link is about to be hidden
    app.toggleMenu();
  };
  return h(
    "header",
    { class: menu ? "top open" : "top", key: "header", on: { keydown: escape } },
    brand(site, about),
    !signingIn && menuButton(menu, status, app),
    !signingIn && navigation(site, about, page.route.view, status),
    h(
      "div",
      { class: "preferences" },
      languageChoice(app),
      themeChoice(app),
      !signingIn && token.readOnly && badge("quiet", h("span", readOnlyTitle(), t("readOnly"))),
      !signingIn && token.get() && button(t("signout"), () => app.signOut(), { kind: "plain" }),
    ),
  );
}

function brand(site, about) {
  return h(
    "div",
    { class: "brand" },
    h("strong", null, t(site.name)),
    about && badge(about.environment === "production" ? "bad" : "quiet", label("environment", about.environment)),
  );
}

/** Opens the navigation on narrow screens, and shows the number of firing alarms. */
function menuButton(open, status, app) {
  const firing = firingOf(status);
  return h(
    "button",
    {
      type: "button",
      class: "menu",
      key: "menu",
      "aria-expanded": String(open),
      "aria-controls": "navigation",
      on: { click: () => app.toggleMenu() },
    },
    t("menu"),
    firing > 0 && [" ", counter(firing, "count bad")],
  );
}

const firingOf = (status) => status?.alarms?.filter((alarm) => alarm.state === "firing").length ?? 0;

/** The navigation entry of views that have none of their own. */
const sections = { domain: "domains", "dead-letter": "dead-letters" };

function navigation(site, about, view, status) {
  const deadLetters = status?.dead_letters?.stored ?? 0;
  const counts = { "dead-letters": counter(deadLetters, "count"), alarms: counter(firingOf(status), "count bad") };
  const current = sections[view] ?? view;
  return h(
    "nav",
    { id: "navigation", "aria-label": t("nav") },
    h(
      "ul",
      null,
      site.views.map((name) =>
        h(
          "li",
          { key: name },
          h(
            "a",
            { href: to(name), "aria-current": name === current ? "page" : null },
            t(`nav.${name}`),
            counts[name] && [" ", counts[name]],
          ),
        ),
      ),
      about?.info_dashboard && h("li", { key: "info" }, h("a", { href: about.info_dashboard }, t("info"))),
    ),
  );
}

const counter = (n, kind) => n > 0 && h("span", { class: kind }, number(n));

function languageChoice(app) {
  const options = Object.entries(languages).map(([tag, name]) => h("option", { value: tag, lang: tag }, name));
  return preference(t("language"), language(), options, chooseLanguage, app);
}

function themeChoice(app) {
  const options = themes.map((name) => h("option", { value: name }, t(`theme.${name}`)));
  return preference(t("theme"), theme(), options, chooseTheme, app);
}

function preference(name, value, options, choose, app) {
  const change = (event) => {
    choose(event.target.value);
    app.redraw();
  };
  return h("select", { "aria-label": name, value, on: { change } }, options);
}

function main({ notice, page, pipeline, status }, app) {
  const { route, view } = page;
  return h(
    "main",
    { id: "main", key: `main ${route.view} ${route.id}` },
    status?.paused && pausedBanner(pipeline, app),
    notice && noticeBanner(notice, app),
    h(
      "div",
      { class: "title", key: "title" },
      h("h1", { tabindex: "-1" }, view.heading?.(route, page.data) ?? view.title(route, page.data)),
      view.load && freshness(page.at, app),
    ),
    page.failure && failureBanner(page, app),
    content(page, status, app),
  );
}

function content({ data, failure, route, state, view }, status, app) {
  if (data !== undefined || !view.load) return view.render({ data, route, state, app, status });
  return !failure && h("p", { class: "loading", key: "loading" }, t("loading"));
}

function pausedBanner(pipeline, app) {
  const reason = pipeline?.reason && [": ", h("bdi", null, pipeline.reason)];
  return h(
    "div",
    { class: "banner waiting", key: "paused" },
    h(
      "p",
      null,
      h("strong", null, t("paused")),
      " ",
      pipeline && [
        pipeline.by && t("paused.by", pipeline.by),
        pipeline.by && pipeline.since && ", ",
        pipeline.since && since(pipeline.since),
        reason,
      ],
    ),
    pipelineButton(true, app),
  );
}

function noticeBanner(notice, app) {
  return h(
    "div",
    { class: "notice", key: "notice" },
    h("span", null, notice),
    button("×", () => app.dismissNotice(), { kind: "plain", label: t("dismiss") }),
  );
}

/** When the data was loaded, and when it will be reloaded. */
function freshness(at, app) {
  const toggle = () => (app.live = !app.live);
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
    button([h("span", { class: app.live ? "dot on" : "dot", "aria-hidden": "true" }), t("live")], toggle, {
      kind: "plain",
      pressed: app.live,
    }),
    button(t("refresh"), () => app.refresh(), { kind: "plain" }),
  );
}

function failureBanner({ data, failure, retryIn }, app) {
  return h(
    "div",
    { class: "banner bad", role: "alert", key: "failure" },
    h(
      "p",
      null,
      h("strong", null, data === undefined ? t("failure") : t("failure.stale")),
      " ",
      failureText(failure),
      " ",
      app.live && t("failure.retry", Math.round(retryIn / 1_000)),
    ),
    button(t("failure.now"), () => app.refresh()),
  );
}

function footer({ about, site }) {
  return h(
    "footer",
    { class: "muted small", key: "footer" },
    t(site.name),
    about && ` ${about.version}`,
    " · ",
    h("a", { href: "https://newsfork.com/bot" }, "NewsforkBot"),
  );
}
