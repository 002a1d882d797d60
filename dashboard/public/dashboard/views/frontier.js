// The frontier: pending URLs by shard and by host, the state of one URL, and the operators'
// decisions about a host.
import { ApiError, get, post } from "../api.js";
import { foundChart, tile } from "../charts.js";
import { ask } from "../dialog.js";
import { h } from "../dom.js";
import { choice, filterForm } from "../filters.js";
import { why } from "../why.js";
import { ago, date, duration, label, number, t } from "../i18n.js";
import {
  actionButton,
  badge,
  card,
  domainLink,
  empty,
  failureText,
  foreign,
  hostText,
  moment,
  muted,
  properties,
  since,
  stateBadge,
  urlText,
  yesNo,
} from "../pieces.js";
import { language } from "../preferences.js";
import { pick, to, urlOf } from "../routes.js";
import { pager, table } from "../table.js";

const LATE = 3_600_000; // milliseconds after which a due URL is late, as in the alarm
const BLOCKS = [1, 6, 24, 7 * 24, 30 * 24]; // hours
const hostPath = (host) => `/api/v1/frontier/hosts/${encodeURIComponent(host)}`;

export default {
  title: () => t("nav.frontier"),

  // Each refresh queries all shards, and each sorts its hosts.
  every: 15_000,

  async load({ route, signal }) {
    const [stats, hosts, url, host] = await Promise.all([
      get("/api/v1/frontier/stats", {}, signal),
      orFailure(get("/api/v1/frontier/hosts", pick(route.query, "sort", "blocked", "cursor"), signal)),
      route.query.url ? orFailure(get("/api/v1/frontier/url", { url: route.query.url }, signal)) : null,
      route.query.host ? orFailure(get(hostPath(route.query.host), {}, signal)) : null,
    ]);
    return { stats, hosts, url, host };
  },

  render({ data: { stats, hosts, url, host }, route, state, app }) {
    return [
      stats.unavailable.length > 0 &&
        h(
          "div",
          { class: "banner bad", key: "unavailable" },
          h("p", null, t("frontier.unavailable", stats.unavailable.join(", "))),
        ),
      totals(stats),
      stats.found && found(stats.found, state, app), // missing in earlier versions of the engine
      h(
        "div",
        { class: "grid halves", key: "finders" },
        finder(route, app, { name: "url", read: urlOf, example: "https://www.example.com/news/1" }),
        finder(route, app, { name: "host", read: hostIn, example: "www.example.com" }),
      ),
      route.query.url && urlCard(url, hosts, app),
      route.query.host && hostCard(route.query.host, host, app),
      hostsCard(hosts, route, app),
      stats.scrapers?.length > 0 && scrapers(stats.scrapers),
      shards(stats),
    ].filter(Boolean);
  },
};

/** The result of a call, or {failure}: one failing shard must not hide the others. */
const orFailure = (asked) =>
  asked.catch((error) => {
    if (!(error instanceof ApiError) || error.status === 401) throw error;
    return { failure: error };
  });

const failed = (error) => h("p", { class: "failure", role: "alert" }, failureText(error));

const totals = (stats) =>
  h(
    "section",
    { class: "card", "aria-label": t("frontier.totals"), key: "totals" },
    h(
      "dl",
      { class: "tiles" },
      tile(t("frontier.hosts"), number(stats.hosts), t("frontier.hosts.note", stats.shards.length)),
      tile(t("frontier.urls"), number(stats.urls), t("frontier.urls.note")),
      tile(t("frontier.due"), number(stats.due), t("frontier.due.note")),
      tile(t("frontier.leased"), number(stats.leased), t("frontier.leased.note")),
      stats.scheduled !== undefined && // missing in earlier versions of the engine
        tile(t("frontier.revisited"), number(stats.revisited), t("frontier.revisited.note", stats.scheduled)),
      tile(t("frontier.oldest"), dueSince(stats.oldest_due), t("frontier.oldest.note")),
    ),
  );

/** The URLs added to the feed in the last hours. They show whether the engine is alive. */
function found(hours, state, app) {
  const look = (at) => {
    if (state.hour === at) return;
    state.hour = at;
    app.redraw();
  };
  return card(
    t("found.title"),
    hours.some((hour) => hour.count > 0)
      ? foundChart(hours, state.hour ?? -1, look, (type) => label("type", type))
      : empty(t("found.none")),
  );
}

/** The due time of the oldest item, highlighted if it is late. */
const dueSince = (time) => (time && Date.now() - Date.parse(time) > LATE ? badge("bad", since(time)) : since(time));

/** The scrapers by name. Those without one are counted together. */
const scrapers = (rows) =>
  card(
    t("frontier.scrapers"),
    h("p", { class: "muted small" }, t("frontier.scrapers.note")),
    table({
      caption: t("frontier.scrapers"),
      rows,
      key: (row) => row.name,
      columns: [
        { head: t("frontier.scraper"), cell: (row) => (row.name ? foreign(row.name) : t("frontier.scraper.nameless")) },
        { head: t("frontier.scraper.leased"), number: true, cell: (row) => number(row.leased) },
        { head: t("frontier.scraper.fetched"), number: true, cell: (row) => number(row.fetched) },
        { head: t("frontier.scraper.failed"), number: true, cell: (row) => number(row.failed) },
        { head: t("frontier.scraper.last"), cell: (row) => since(row.last_seen_at) },
      ],
    }),
  );

const shards = (stats) =>
  card(
    t("frontier.shards"),
    table({
      caption: t("frontier.shards"),
      rows: stats.shards,
      key: (row) => row.name,
      columns: [
        { head: t("frontier.shard"), cell: (row) => foreign(row.name) },
        { head: t("frontier.hosts"), number: true, cell: (row) => number(row.hosts) },
        { head: t("frontier.urls"), number: true, cell: (row) => number(row.urls) },
        { head: t("frontier.due"), number: true, cell: (row) => number(row.due) },
        { head: t("frontier.leased"), number: true, cell: (row) => number(row.leased) },
        { head: t("frontier.oldest"), cell: (row) => dueSince(row.oldest_due) },
      ],
    }),
  );

/** Looks up a URL or a host: read returns what is looked up from what was typed. */
function finder(route, app, { name, read, example }) {
  const title = t(name === "url" ? "frontier.url" : "frontier.findHost");
  const submit = (event) => {
    event.preventDefault();
    const value = read(new FormData(event.currentTarget).get(name));
    app.go(to("frontier", { ...route.query, [name]: value }));
  };
  return h(
    "form",
    { class: "filters finder", role: "search", "aria-label": title, key: `find ${name}`, on: { submit } },
    h(
      "div",
      { class: "field grow" },
      h("label", { for: `frontier-${name}` }, title),
      h("input", {
        id: `frontier-${name}`,
        name,
        type: "text",
        inputmode: "url",
        value: route.query[name] ?? "",
        placeholder: example,
        autocomplete: "off",
        spellcheck: "false",
        autocapitalize: "none",
      }),
    ),
    h("button", { type: "submit" }, t("frontier.url.do")),
    route.query[name] &&
      h("a", { class: "button plain", href: to("frontier", { ...route.query, [name]: "" }) }, t("filter.clear")),
  );
}

/** The host, with its port, in a pasted host or URL. */
const hostIn = (text) => hostOf(urlOf(text)) || text.trim();

/** All about one host. */
function hostCard(name, host, app) {
  const title = t("frontier.host");
  if (!host) return card(title, muted(t("loading")));
  if (host.failure) {
    const { status, field } = host.failure;
    if (status === 404) return card(title, empty(t("frontier.host.unknown", name)));
    return card(
      title,
      status === 400 && field === "host" ? empty(t("frontier.host.whole", name)) : failed(host.failure),
    );
  }
  return card(
    title,
    h("p", null, h("strong", null, hostText(host.host)), " ", hostState(host)),
    properties(
      [t("domain"), domainLink(host.domain)],
      [t("frontier.urls"), number(host.urls)],
      [t("frontier.due"), number(host.due)],
      [t("frontier.done"), number(host.done)],
      [t("frontier.failed"), number(host.failed)],
      [t("frontier.traps"), number(host.traps)],
      [t("frontier.delay"), duration(host.delay_seconds * 1_000)],
      [t("frontier.dueAt"), moment(host.due_at)],
      host.failures > 0 && [t("frontier.failures"), number(host.failures)],
      host.refusals > 0 && [t("frontier.refusals"), number(host.refusals)],
      host.last_failure && [
        t("frontier.lastFailure"),
        [moment(host.last_failure.at), " ", failureOf(host.last_failure)],
      ],
      [t("frontier.revisited"), t("frontier.scheduled", host.revisits.scheduled)],
      host.of_domain.mirror_of && [t("frontier.mirrorOf"), domainLink(host.of_domain.mirror_of)],
    ),
    host.leased.length > 0 &&
      h(
        "details",
        null,
        h("summary", null, t("frontier.leasedOf", host.leased.length)),
        h(
          "ul",
          { class: "names" },
          host.leased.map((url) => h("li", null, urlText(url))),
        ),
      ),
    h("div", { class: "actions" }, actions(host, app)),
  );
}

function urlCard(url, hosts, app) {
  const title = t("frontier.url");
  if (!url) return card(title, muted(t("loading")));
  if (url.failure) return card(title, failed(url.failure));
  const host = hostOf(url.url);
  const row = hosts.hosts?.find((one) => one.host === host) ?? { host };
  return card(
    title,
    h("p", null, stateBadge(url.state), " ", urlText(url.url)),
    h("p", { class: "muted" }, label("frontier.about", url.state)),
    properties(
      url.why && [t("frontier.why"), reasonOf(url)],
      url.stopped_by && [t("frontier.stoppedBy"), stopText(url.stopped_by)],
      url.score_why && [t("frontier.score"), [`${url.priority} = `, h("span", { lang: "en" }, url.score_why)]],
      url.attempts > 0 && [t("frontier.attempts"), number(url.attempts)],
      url.last_fetched_at && [t("frontier.lastFetched"), moment(url.last_fetched_at)],
      url.due_at && [t("frontier.dueAt"), moment(url.due_at)],
      url.lease_until && [t("frontier.leaseUntil"), moment(url.lease_until)],
      url.last_status && [t("frontier.lastStatus"), number(url.last_status)],
      url.last_failure && [t("frontier.lastFailure"), [moment(url.last_failure.at), " ", failureOf(url.last_failure)]],
      url.entry && [t("entryPoints.method"), foreign(label("method", url.entry.method))],
      url.entry && [t("entryPoints.interval"), duration(url.entry.interval_seconds * 1_000)],
      url.entry && [t("frontier.changedAt"), moment(url.entry.changed_at)],
      url.entry?.failures > 0 && [t("frontier.failures"), number(url.entry.failures)],
    ),
    url.checks.length > 0 && checks(url.checks),
    host && url.state !== "unknown" && h("div", { class: "actions" }, actions(row, app)),
  );
}

/** Why a URL is in its state: in the operator's language without the details, else in the engine's words. */
const reasonOf = ({ why: said, why_code: code }) => why[language()]?.[code] ?? h("span", { lang: "en" }, said);

/** What keeps a URL from being given, whose decision it is, and why. */
const stopText = (stop) => [
  label("frontier.stop", stop.kind),
  stop.rule && h("div", null, foreign(stop.rule)),
  stop.by && h("div", { class: "small" }, t("frontier.stop.by"), " ", foreign(stop.by)),
  stop.since && h("div", { class: "small" }, t("frontier.stop.since"), " ", moment(stop.since)),
  stop.until && h("div", { class: "small" }, t("frontier.stop.until"), " ", moment(stop.until)),
  stop.reason && h("div", { class: "small" }, foreign(stop.reason)),
];

const checks = (list) =>
  table({
    caption: t("frontier.checks"),
    rows: list.toReversed(),
    key: (row) => row.at,
    columns: [
      { head: t("frontier.checked"), cell: (row) => moment(row.at) },
      { head: t("httpStatus"), number: true, cell: (row) => (row.status ? number(row.status) : muted(t("noAnswer"))) },
      { head: t("frontier.changed"), cell: (row) => yesNo(row.changed) },
    ],
  });

const hostOf = (url) => (URL.canParse(url) ? new URL(url).host : "");

function hostsCard(hosts, route, app) {
  const title = t("frontier.hosts");
  const fields = [choice("sort", "sort", ["due", "size"], "sort.none"), choice("blocked", "blocked", ["true"])];
  const filters = h("div", { class: "toolbar" }, filterForm(route, fields, app.go));
  if (hosts.failure) return card(title, filters, failed(hosts.failure));
  return card(
    title,
    filters,
    hosts.hosts.length === 0
      ? empty(t(route.query.blocked ? "frontier.hosts.noneBlocked" : "frontier.hosts.none"))
      : table({
          caption: title,
          rows: hosts.hosts,
          key: (row) => row.host,
          columns: [
            {
              head: t("frontier.host"),
              wide: true,
              cell: (row) => [
                h(
                  "a",
                  { class: "alone", href: to("frontier", { ...route.query, host: row.host }) },
                  hostText(row.host),
                ),
                h(
                  "div",
                  { class: "small" },
                  h("a", { class: "alone", href: to("domain", {}, row.domain) }, hostText(row.domain)),
                ),
              ],
            },
            { head: t("state"), cell: (row) => [hostState(row), trouble(row)] },
            { head: t("frontier.urls"), number: true, cell: (row) => number(row.urls) },
            { head: t("frontier.due"), number: true, cell: (row) => number(row.due) },
            { head: t("frontier.traps"), number: true, cell: (row) => number(row.traps) },
            { head: t("frontier.delay"), number: true, cell: (row) => duration(row.delay_seconds * 1_000) },
            { head: t("frontier.dueAt"), cell: (row) => since(row.due_at) },
            { head: t("actions"), cell: (row) => h("div", { class: "actions" }, actions(row, app)) },
          ],
        }),
    pager(route, hosts.next_cursor),
  );
}

const ahead = (time) => Boolean(time) && Date.parse(time) > Date.now();
const isBlocked = (row) => ahead(row.blocked_until);

/** Who or what keeps a host from being fetched, and until when. */
function hostState(row) {
  const until = (tone, name, time, words = (when) => when) => [
    badge(tone, label("frontier.is", name)),
    " ",
    h("time", { class: "small", datetime: time, title: date(time) }, words(ago(time))),
  ];
  if (row.excluded) return badge("quiet", label("state", "excluded"));
  if (isBlocked(row)) return until("bad", "blocked", row.blocked_until);
  if (ahead(row.unresolved_until))
    return until("bad", "unresolved", row.unresolved_until, (when) => t("frontier.again", when));
  if (row.forbids_all) return badge("bad", label("frontier.is", "forbidden"));
  if (row.robots_unreadable) return badge("bad", label("frontier.is", "unreadable"));
  if (ahead(row.leased_until)) return until("good", "leased", row.leased_until);
  if (ahead(row.ready_at)) return until("quiet", "resting", row.ready_at);
  return badge(row.due > 0 ? "waiting" : "quiet", label("frontier.is", row.due > 0 ? "due" : "idle"));
}

/** How a request failed: its status, or why nothing answered. */
const failureOf = ({ status, error }) => {
  if (status) return t("frontier.httpStatus", status);
  if (error === "robots_unknown") return label("error", error);
  return [t("noAnswer"), error && [": ", foreign(label("reported", error))]];
};

/** How often a host failed or refused in a row, and how the last time. */
function trouble(row) {
  const words = [
    row.failures > 0 && `${t("frontier.failures")}: ${number(row.failures)}`,
    row.refusals > 0 && `${t("frontier.refusals")}: ${number(row.refusals)}`,
  ].filter(Boolean);
  if (words.length === 0) return null;
  return h("div", { class: "small" }, words.join(", "), row.last_failure && [" · ", failureOf(row.last_failure)]);
}

/** The actions for a host. */
function actions(row, app) {
  const one = (name, act, kind = "") =>
    actionButton(t(`frontier.${name}`), act, { kind, label: t(`frontier.${name}.of`, row.host) });
  return [
    isBlocked(row) ? one("unblock", () => unblock(row.host, app)) : one("block", () => block(row.host, app)),
    one("setDelay", () => setDelay(row, app)),
    one("empty", () => emptyHost(row, app), "danger-text"),
  ];
}

/** Asks, and sends the result of change(values). */
const change = async (app, host, question, changeOf) =>
  app.announce(
    await ask({
      ...question,
      body: [h("p", null, h("bdi", null, host)), h("p", { class: "muted" }, question.body)],
      act: (values) => post(hostPath(host), changeOf(values)),
    }),
  );

const block = (host, app) =>
  change(
    app,
    host,
    {
      title: t("frontier.block.title"),
      body: t("frontier.block.body"),
      fields: [
        h(
          "div",
          { class: "field" },
          h("label", { for: "block-hours" }, t("frontier.block.for")),
          h(
            "select",
            { id: "block-hours", name: "hours", value: "24", autofocus: true },
            BLOCKS.map((hours) => h("option", { value: String(hours) }, duration(hours * 3_600_000))),
          ),
        ),
      ],
      confirm: t("frontier.block.do"),
      done: () => t("frontier.block.done", host),
    },
    ({ hours }) => ({ block_until: new Date(Date.now() + hours * 3_600_000).toISOString() }),
  );

const unblock = (host, app) =>
  change(
    app,
    host,
    {
      title: t("frontier.unblock.title"),
      body: t("frontier.unblock.body"),
      confirm: t("frontier.unblock"),
      done: () => t("frontier.unblock.done", host),
    },
    () => ({ block_until: null }),
  );

const setDelay = ({ host, delay_seconds: now }, app) =>
  change(
    app,
    host,
    {
      title: t("frontier.setDelay.title"),
      body: t("frontier.setDelay.body"),
      fields: [
        h(
          "div",
          { class: "field" },
          h("label", { for: "host-delay" }, t("frontier.setDelay.seconds")),
          h("input", {
            id: "host-delay",
            name: "seconds",
            type: "number",
            min: "0",
            max: "86400",
            step: "any",
            required: true,
            value: String(now ?? 0),
            autofocus: true,
          }),
        ),
      ],
      confirm: t("frontier.setDelay.do"),
      done: () => t("frontier.setDelay.done", host),
    },
    ({ seconds }) => ({ delay_seconds: Number(seconds) }),
  );

const emptyHost = ({ host }, app) =>
  change(
    app,
    host,
    {
      title: t("frontier.empty.title"),
      body: t("frontier.empty.body"),
      confirm: t("frontier.empty.do"),
      danger: true,
      done: () => t("frontier.empty.done", host),
    },
    () => ({ empty: true }),
  );
