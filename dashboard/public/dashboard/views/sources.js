// The Info service: its sources, their remaining quotas, failures and dead letters.
import { get, post, remove } from "../api.js";
import { score } from "../charts.js";
import { ask } from "../dialog.js";
import { h } from "../dom.js";
import { ago, date, duration, label, number, t } from "../i18n.js";
import { actionButton, badge, card, code, empty, failureText, foreign, muted, outside, since } from "../pieces.js";
import { table } from "../table.js";
import { amount } from "./alarms.js";

const NEAR = 0.8; // the share of a quota at which its alarm fires

export default {
  title: () => t("info.sources"),

  async load({ signal }) {
    const [status, { dead_letters: letters }] = await Promise.all([
      get("/api/v1/info/status", {}, signal),
      get("/api/v1/info/dead-letters", {}, signal),
    ]);
    return { ...status, letters };
  },

  render({ data, state, app }) {
    return [
      data.cache.error &&
        h(
          "div",
          { class: "banner bad", key: "cache" },
          h("p", null, t("info.cache.fault"), " ", foreign(data.cache.error)),
        ),
      data.alarms.map((alarm) =>
        h(
          "div",
          { class: "banner bad", key: `${alarm.name} ${alarm.source}` },
          h("p", null, alarmLine(alarm), alarm.since && [" ", muted(t("alarm.since"), " ", ago(alarm.since))]),
        ),
      ),
      card(
        t("info.sources"),
        table({ caption: t("info.sources"), rows: data.sources, key: (row) => row.name, columns: columns(app) }),
        data.sources.some((source) => source.on) && actionButton(t("info.collect.all"), () => collect(app)),
        h("p", { class: "muted" }, data.cache.error ? null : cacheLine(data.cache), " ", sizeLine(data.database)),
      ),
      feeds(data.sources),
      articles(state, app),
      letters(data.letters, app),
    ];
  },

  news(data, before) {
    const known = new Set(before?.alarms.map((alarm) => `${alarm.name} ${alarm.source}`));
    return before
      ? data.alarms
          .filter((alarm) => !known.has(`${alarm.name} ${alarm.source}`))
          .map(alarmLine)
          .join(" ")
      : "";
  },
};

const alarmLine = ({ name, source, value, unit, threshold }) =>
  `${source ? label("info.source", source) : t("info")}: ${t("info.alarm.line", label("alarm", name), amount(value, unit), amount(threshold, unit))}`;

const columns = (app) => [
  {
    head: t("info.source"),
    cell: (row) => [
      h("strong", null, label("info.source", row.name)),
      " ",
      row.on ? state(row) : badge("quiet", t("info.off")),
    ],
  },
  { head: t("info.succeeded"), cell: (row) => since(row.succeeded_at) },
  {
    head: t("info.last"),
    cell: (row) =>
      row.last
        ? [
            t("info.last.counts", row.last.articles, row.last.inserted),
            row.last.gaps > 0 && h("div", null, badge("bad", t("info.gaps", row.last.gaps))),
          ]
        : muted("–"),
  },
  {
    head: t("info.error"),
    wide: true,
    cell: (row) =>
      row.error || row.not_before
        ? [
            h("div", null, foreign(row.error)),
            row.not_before && muted(t("info.rests"), " ", h("time", { datetime: row.not_before }, ago(row.not_before))),
          ]
        : muted("–"),
  },
  { head: t("info.quota"), cell: (row) => (row.quotas.length ? row.quotas.map(quota) : muted("–")) },
  {
    head: t("actions"),
    cell: (row) =>
      row.on
        ? actionButton(t("info.collect"), () => collect(app, row.name), {
            label: t("info.collect.of", label("info.source", row.name)),
          })
        : muted("–"),
  },
];

const state = (row) =>
  row.failures
    ? badge("bad", t("info.failures", row.failures))
    : row.succeeded_at
      ? badge("good", t("state.ok"))
      : null;

function quota({ period, used, allowed, ends_at: ends }) {
  const [kind] = period.split(":");
  const window = kind === "day" ? t("info.day") : duration(Number.parseInt(kind, 10) * 1_000);
  const share = allowed > 0 ? used / allowed : 1;
  return h(
    "div",
    { key: period },
    score(share, 1, "", share >= NEAR ? "bad" : "good"),
    h(
      "div",
      { class: "small", title: date(ends) },
      `${t("of", used, allowed)} · ${window}, ${t("info.renewed", ago(ends))}`,
    ),
  );
}

const cacheLine = ({ changed_at: changed, refreshed_at: refreshed }) =>
  changed && !(Date.parse(refreshed) >= Date.parse(changed)) ? t("info.cache.behind", ago(changed)) : t("info.cache");

const sizeLine = (database) =>
  database?.bytes ? t("info.size", Math.round(database.bytes / 1e6), Math.round(database.limit_bytes / 1e6)) : "";

/** A row for each feed: one that fails does not hide among the others. */
function feeds(sources) {
  const rows = sources.flatMap((source) => source.feeds ?? []);
  return (
    rows.length > 0 &&
    card(
      t("info.feeds"),
      table({
        caption: t("info.feeds"),
        rows,
        key: (row) => row.url,
        columns: [
          {
            head: t("info.feed"),
            wide: true,
            cell: (row) => [row.error ? badge("bad", t("info.feed.failing")) : null, " ", code(row.url)],
          },
          { head: t("info.succeeded"), cell: (row) => since(row.succeeded_at) },
          { head: t("info.items"), number: true, cell: (row) => number(row.items) },
          {
            head: t("info.error"),
            wide: true,
            cell: (row) => (row.error ? [since(row.failed_at), " ", foreign(row.error)] : muted("–")),
          },
        ],
      }),
    )
  );
}

/** A search for articles, each with a button that takes it down or restores it. */
function articles(state, app) {
  const search = async (q) => {
    state.searching?.abort(); // its answer could arrive after this one's
    const { signal } = (state.searching = new AbortController());
    state.q = q;
    try {
      const { articles } = await get("/api/v1/info/articles", { q }, signal);
      Object.assign(state, { found: articles, failure: "" });
    } catch (error) {
      if (signal.aborted) return;
      Object.assign(state, { found: null, failure: failureText(error) });
    }
    app.redraw();
  };
  const submit = (event) => {
    event.preventDefault();
    return search(new FormData(event.currentTarget).get("q").trim());
  };
  const change = async (row) => {
    app.announce(await takedown(row));
    await search(state.q);
  };
  return card(
    t("info.articles"),
    h(
      "form",
      { class: "filters", on: { submit } },
      h(
        "div",
        { class: "field grow" },
        h("label", { for: "info-article" }, t("info.articles.which")),
        h("input", { id: "info-article", name: "q", required: true, autocomplete: "off", spellcheck: "false" }),
      ),
      h("button", { type: "submit" }, t("info.articles.find")),
      h("p", { class: "failure", role: "alert" }, state.failure),
    ),
    state.found?.length === 0 && empty(t("info.articles.none")),
    state.found?.length > 0 &&
      table({
        caption: t("info.articles"),
        rows: state.found,
        key: (row) => row.id,
        columns: [
          {
            head: t("info.article"),
            wide: true,
            cell: (row) => [
              h("div", null, foreign(row.title), " ", row.is_deleted ? badge("bad", t("info.article.down")) : null),
              outside(row.url),
            ],
          },
          { head: t("info.source"), cell: (row) => foreign(row.source_name) },
          { head: t("info.published"), cell: (row) => since(row.published_at) },
          {
            head: t("actions"),
            cell: (row) =>
              actionButton(t(row.is_deleted ? "info.restore" : "info.remove"), () => change(row), {
                kind: row.is_deleted ? "" : "danger-text",
                label: t(row.is_deleted ? "info.restore.of" : "info.remove.of", row.title),
              }),
          },
        ],
      }),
  );
}

/** Asks, then takes an article down, or restores it. */
function takedown({ id, title, is_deleted: deleted }) {
  const path = `/api/v1/info/news/${encodeURIComponent(id)}`;
  return ask({
    title: t(deleted ? "info.restore.title" : "info.remove.title"),
    body: [
      h("p", null, foreign(title)),
      h("p", { class: "muted" }, t(deleted ? "info.restore.body" : "info.remove.body")),
    ],
    confirm: t(deleted ? "info.restore" : "info.remove"),
    danger: !deleted,
    act: () => (deleted ? post(`${path}/restore`, {}) : remove(path)),
    done: ({ refreshed }) =>
      [t(deleted ? "info.restored" : "info.removed"), refreshed ? "" : t("info.refreshed.later")].join(" ").trim(),
  });
}

/** Asks, then collects from one source, or from all enabled ones. */
async function collect(app, source) {
  app.announce(
    await ask({
      title: source ? t("info.collect.of", label("info.source", source)) : t("info.collect.all"),
      body: h("p", { class: "muted" }, t("info.collect.body")),
      confirm: t("info.collect"),
      act: () => post("/api/v1/info/collect", source ? { source } : {}),
      done: ({ collections }) => collections.map(collected).join(" ") || t("info.collected.none"),
    }),
  );
  app.refresh();
}

const collected = ({ source, skipped, error, counts }) => {
  const name = label("info.source", source);
  if (error) return t("info.collected.failed", name, error);
  if (skipped) return t("info.collected.skipped", name, label("info.class", skipped));
  return t("info.collected", name, counts.articles, counts.inserted);
};

function letters(list, app) {
  if (list.length === 0) return card(t("nav.dead-letters"), empty(t("info.letters.none")));
  return card(
    t("nav.dead-letters"),
    h("p", { class: "muted" }, t("info.letters.about")),
    table({
      caption: t("nav.dead-letters"),
      rows: list,
      key: (row) => `${row.source} ${row.request}`,
      columns: [
        { head: t("info.source"), cell: (row) => label("info.source", row.source) },
        { head: t("info.request"), wide: true, cell: (row) => code(row.request) },
        {
          head: t("info.error"),
          wide: true,
          cell: (row) => [badge("bad", label("info.class", row.error_class)), " ", foreign(row.error)],
        },
        { head: t("info.attempts"), number: true, cell: (row) => number(row.attempts) },
        { head: t("info.failed"), cell: (row) => since(row.last_at) },
        {
          head: t("actions"),
          cell: (row) =>
            actionButton(t("discard"), () => discard(app, row), {
              kind: "danger-text",
              label: t("discard.of", row.request),
            }),
        },
      ],
    }),
    actionButton(t("info.replay", list.length), () => replay(app)),
  );
}

/** Asks, then retries the failed requests. */
async function replay(app) {
  app.announce(
    await ask({
      title: t("info.replay.all"),
      body: h("p", { class: "muted" }, t("info.replay.body")),
      confirm: t("replay"),
      act: () => post("/api/v1/info/dead-letters/replay", {}),
      done: (sum) => t("info.replayed", sum.inserted, sum.succeeded, sum.failed),
    }),
  );
  app.refresh();
}

async function discard(app, { source, request }) {
  app.announce(
    await ask({
      title: t("discard.many", 1),
      body: [code(request), h("p", { class: "muted" }, t("info.discard.body"))],
      confirm: t("discard"),
      danger: true,
      act: () => post("/api/v1/info/dead-letters/discard", { source, request }),
      done: () => t("discard.done", 1),
    }),
  );
  app.refresh();
}
