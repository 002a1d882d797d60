// The Info service: its sources, their remaining quotas, failures and dead letters.
import { get, post } from "../api.js";
import { score } from "../charts.js";
import { ask } from "../dialog.js";
import { h } from "../dom.js";
import { ago, date, duration, label, number, t } from "../i18n.js";
import { actionButton, badge, card, code, empty, foreign, muted, since } from "../pieces.js";
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

  render({ data, app }) {
    return [
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
        h("p", { class: "muted" }, cacheLine(data.cache)),
      ),
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
  `${label("info.source", source)}: ${t("info.alarm.line", label("alarm", name), amount(value, unit), amount(threshold, unit))}`;

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
    cell: (row) => (row.last ? t("info.last.counts", row.last.articles, row.last.inserted) : muted("–")),
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
