// The dead letters, and buttons to replay or discard one, the selected ones,
// the matching ones, or all.
import { get } from "../api.js";
import { h } from "../dom.js";
import { choice, errorTypes, filterForm, partitionFields, text } from "../filters.js";
import { label, number, t } from "../i18n.js";
import { actionButton, code, empty, foreign, muted, partitionText, since, stateBadge } from "../pieces.js";
import { resolve } from "../resolve.js";
import { pick, to } from "../routes.js";
import { pager, table } from "../table.js";

const filterOf = (route) => pick(route.query, "queue", "error_type", "country", "category", "date", "domain");

/** By default only unresolved ones: operators come for them. */
const stateOf = (route) => route.query.state ?? "stored";

export default {
  title: () => t("nav.dead-letters"),

  async load({ route, state, signal }) {
    const data = await get(
      "/api/v1/dlq",
      { ...filterOf(route), state: stateOf(route) === "any" ? "" : stateOf(route), cursor: route.query.cursor },
      signal,
    );
    const here = new Set(data.dead_letters.filter((letter) => letter.state === "stored").map((letter) => letter.id));
    state.selected = new Set([...(state.selected ?? [])].filter((id) => here.has(id)));
    return data;
  },

  render({ data, route, state, app, status }) {
    const fields = [
      choice("queue", "queue", ["seed", "domain", "webhook"]),
      choice("error_type", "error", errorTypes),
      ...partitionFields(),
      text("domain", { size: 14 }),
    ];
    const stored = status?.dead_letters?.stored;
    return [
      states(route, status),
      h("div", { class: "toolbar", key: "toolbar" }, filterForm(route, fields, app.go)),
      stored !== 0 &&
        ["stored", "any"].includes(stateOf(route)) &&
        actions(data.dead_letters, route, state, app, stored),
      data.dead_letters.length === 0
        ? empty(t("letters.none"), h("p", { class: "muted" }, t("letters.none.why")))
        : h("div", { class: "card", key: "letters" }, deadLetterTable(data.dead_letters, route, state, app)),
      pager(route, data.cursor),
    ];
  },
};

function states(route, status) {
  const now = stateOf(route);
  return h(
    "nav",
    { class: "tabs", "aria-label": t("state"), key: "states" },
    ["stored", "replayed", "discarded", "any"].map((name) => {
      const count = status?.dead_letters?.[name];
      return h(
        "a",
        {
          href: to("dead-letters", { ...filterOf(route), state: name === "stored" ? "" : name }),
          "aria-current": name === now ? "true" : null,
        },
        name === "any" ? t("any") : label("state", name),
        count > 0 && [" ", h("span", { class: "count" }, number(count))],
      );
    }),
  );
}

function actions(rows, route, state, app, stored) {
  const open = rows.filter((row) => row.state === "stored");
  const all = open.length > 0 && open.every((row) => state.selected.has(row.id));
  const filter = filterOf(route);
  const filtered = Object.keys(filter).length > 0;
  const ids = [...state.selected];
  const chosen = rows.filter((row) => state.selected.has(row.id));
  const both = (text, choice, count, words, disabled) =>
    ["replay", "discard"].map((action) =>
      actionButton(text(action), () => resolve(app, action, choice, count, words), {
        kind: action === "discard" ? "danger-text" : "",
        disabled,
      }),
    );
  const names = h(
    "ul",
    { class: "names" },
    chosen.slice(0, 10).map((row) => h("li", null, subject(row))),
    chosen.length > 10 && h("li", null, "…"),
  );
  return h(
    "div",
    { class: "toolbar actions", key: "actions", role: "group", "aria-label": t("letters.actions") },
    h(
      "label",
      { class: "check" },
      h("input", {
        type: "checkbox",
        checked: all,
        indeterminate: !all && ids.length > 0,
        disabled: open.length === 0,
        on: { change: (event) => select(open, event.target.checked, state, app) },
      }),
      h("span", null, t("letters.select.all")),
    ),
    both((action) => t(`${action}.selected`, ids.length), { ids }, ids.length, names, ids.length === 0),
    h("span", { class: "separator", "aria-hidden": "true" }),
    filtered
      ? both(
          (action) => t(`${action}.filter`),
          { filter },
          undefined,
          h("p", null, described(filter)),
          rows.length === 0,
        )
      : both((action) => t(`${action}.all`, stored), { all: true }, stored, null, false),
  );
}

function select(rows, on, state, app) {
  for (const { id } of rows) on ? state.selected.add(id) : state.selected.delete(id);
  app.redraw();
}

const described = (filter) =>
  Object.entries(filter).map(([name, value]) => [
    h(
      "span",
      { class: "badge quiet" },
      `${t(`filter.${name}`)}: ${name === "error_type" ? label("error", value) : name === "queue" ? label("queue", value) : value}`,
    ),
    " ",
  ]);

/** The domain of a dead letter, unless it is about one of the domain's URLs. */
const domainOf = (letter) => (letter.queue_role === "webhook" ? null : letter.domain);

/** The subject of a dead letter: its domain, else its raw file, else the recorded work. */
export const subject = (letter) =>
  domainOf(letter) ? h("bdi", null, letter.domain) : code(letter.work.match(/raw_\d+\.json$/)?.[0] ?? letter.work);

function deadLetterTable(rows, route, state, app) {
  return table({
    caption: t("nav.dead-letters"),
    rows,
    key: (row) => row.id,
    columns: [
      {
        head: h("span", { class: "unseen" }, t("letters.select")),
        narrow: true,
        cell: (row) =>
          row.state === "stored" &&
          h("input", {
            type: "checkbox",
            "aria-label": t("letters.select.one", domainOf(row) ?? row.work),
            checked: state.selected.has(row.id),
            on: { change: (event) => select([row], event.target.checked, state, app) },
          }),
      },
      {
        head: t("letters.subject"),
        wide: true,
        cell: (row) => [
          h("a", { href: to("dead-letter", {}, row.id) }, subject(row)),
          h(
            "div",
            { class: "muted small" },
            partitionText(row.partition_info),
            row.domain && [
              " · ",
              h(
                "a",
                {
                  href: to("domain", row.partition_info ?? {}, row.domain),
                  "aria-label": t("letters.domain.of", row.domain),
                },
                t("letters.domain"),
              ),
            ],
          ),
        ],
      },
      {
        head: t("failure.reason"),
        wide: true,
        cell: (row) => [
          h("strong", null, label("error", row.error_type)),
          h("div", { class: "small clipped" }, foreign(row.error_message)),
        ],
      },
      { head: t("queue.name"), cell: (row) => foreign(label("queue", row.queue_role ?? row.queue_name)) },
      { head: t("retries"), number: true, cell: (row) => number(row.retry_count) },
      { head: t("failed"), cell: (row) => since(row.failed_at) },
      stateOf(route) !== "stored" && {
        head: t("state"),
        cell: (row) => [
          stateBadge(row.state),
          row.excluded && stateBadge("excluded"),
          row.resolved_at && h("div", { class: "muted small" }, since(row.resolved_at), " ", foreign(row.resolved_by)),
        ],
      },
      {
        head: t("actions"),
        cell: (row) =>
          row.state === "stored"
            ? h(
                "div",
                { class: "actions" },
                offered(row).map((action) =>
                  actionButton(t(action), () => resolve(app, action, { ids: [row.id] }, 1, summary(row)), {
                    kind: action === "discard" ? "danger-text" : "",
                    label: t(`${action}.of`, domainOf(row) ?? row.work),
                  }),
                ),
              )
            : muted("–"),
      },
    ].filter(Boolean),
  });
}

/**
 * The actions for a dead letter, best first: an unreadable file would fail again, an excluded domain is not fetched, and
 * what the webhook skipped is not replayed.
 */
export const offered = (row) =>
  row.excluded || row.queue_role === "webhook"
    ? ["discard"]
    : row.error_type === "parse_error"
      ? ["discard", "replay"]
      : ["replay", "discard"];

/** A dead letter in a confirmation dialog. */
export const summary = (row) =>
  h(
    "p",
    null,
    h("strong", null, subject(row)),
    h("br"),
    h("span", { class: "muted" }, label("error", row.error_type), ": ", foreign(row.error_message)),
  );
