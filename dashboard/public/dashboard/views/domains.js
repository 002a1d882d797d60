// The domains of the ledger, filtered.
import { get } from "../api.js";
import { h } from "../dom.js";
import { choice, errorTypes, filterForm, partitionFields, text } from "../filters.js";
import { duration, label, t } from "../i18n.js";
import { actionButton, badge, domainCell, domainKey, empty, foreign, since, stateBadge, yesNo } from "../pieces.js";
import { collectFailed } from "../pipeline.js";
import { hostOf, partitionOf, pick, to } from "../routes.js";
import { pager, table } from "../table.js";

const choices = [
  "country",
  "category",
  "date",
  "state",
  "error_type",
  "barrier",
  "robots",
  "sitemap",
  "slower_than_ms",
];
const filters = [...choices, "sort", "cursor"];

export default {
  title: () => t("nav.domains"),

  load: ({ route, signal }) => get("/api/v1/seeds/domains", pick(route.query, ...filters), signal),

  render({ data, route, app }) {
    const fields = [
      ...partitionFields(),
      choice("state", "state", ["pending", "processed", "failed", "excluded"]),
      choice("error_type", "error", errorTypes),
      choice("barrier", "barrier", ["forbidden", "refuses", "nothing"]),
      choice("robots", "robots", ["true", "false"]),
      choice("sitemap", "sitemap", ["true", "false"]),
      text("slower_than_ms", { size: 6, inputmode: "numeric", pattern: "[0-9]*" }),
      choice("sort", "sort", ["domain", "duration"], "sort.none"),
    ];
    return [
      h("div", { class: "toolbar", key: "toolbar" }, finder(route, app), filterForm(route, fields, app.go, rules())),
      route.query.state === "failed" &&
        data.domains.length > 0 &&
        h(
          "div",
          { class: "toolbar actions", key: "actions" },
          actionButton(t("collectFailed.ask"), () => collectFailed(app, pick(route.query, ...choices))),
        ),
      data.domains.length === 0
        ? empty(t("domains.none"), h("p", { class: "muted" }, t("domains.none.how")))
        : h(
            "div",
            { class: "card", key: "domains" },
            table({
              caption: t("nav.domains"),
              rows: data.domains,
              key: domainKey,
              columns: [
                {
                  head: t("domain"),
                  wide: true,
                  cell: domainCell,
                },
                { head: t("state"), cell: domainState },
                { head: t("crawling"), cell: (row) => yesNo(row.crawling_allowed) },
                { head: t("sitemap"), cell: (row) => yesNo(row.sitemap_exists) },
                { head: t("time"), number: true, cell: (row) => duration(row.processing_duration_ms ?? NaN) },
                { head: t("collected"), cell: (row) => since(row.collected_at) },
                {
                  head: t("failure.reason"),
                  wide: true,
                  cell: reason,
                },
              ],
            }),
          ),
      pager(route, data.cursor),
    ];
  },
};

/** The state, or why a processed domain gives nothing; of one that is retried, which attempt failed. */
export function domainState(row) {
  if (row.excluded) return stateBadge("excluded");
  if (row.state === "processed" && row.barrier) return badge("bad", label("barrier", row.barrier));
  return row.retry
    ? [stateBadge(row.state), h("div", { class: "small" }, t("domains.attempt", row.retry.attempt, row.retry.of))]
    : stateBadge(row.state);
}

/** Why a domain failed, or why its last attempt did and when the next one is. */
function reason({ error_type, error_message, barrier_reason, retry }) {
  const type = error_type ?? retry?.error_type;
  return type
    ? [
        h("strong", null, label("error", type)),
        h("div", { class: "small clipped" }, foreign(error_message ?? retry?.error_message)),
        retry?.next_at && h("div", { class: "small muted" }, t("domains.next"), " ", since(retry.next_at)),
      ]
    : foreign(barrier_reason ?? null);
}

/** Filters that the API refuses: only failed domains have an error type, and only processed ones a time. */
const rules = () => [
  {
    name: "error_type",
    broken: ({ error_type: type, state }) => type && state && state !== "failed",
    text: t("filter.error_type.failed"),
  },
  {
    name: "sort",
    broken: ({ sort, state }) => sort === "duration" && state && state !== "processed",
    text: t("filter.sort.processed"),
  },
];

/** Opens the page of a domain by its name, a host or a URL. */
function finder(route, app) {
  const submit = (event) => {
    event.preventDefault();
    const host = hostOf(new FormData(event.currentTarget).get("domain"));
    if (host) app.go(to("domain", partitionOf(route.query), host));
  };
  return h(
    "form",
    { class: "filters finder", role: "search", "aria-label": t("domains.find"), on: { submit } },
    h(
      "div",
      { class: "field grow" },
      h("label", { for: "find-domain" }, t("domains.find")),
      h("input", {
        id: "find-domain",
        name: "domain",
        type: "text",
        placeholder: "mom.gov.sg · https://www.mom.gov.sg/news",
        autocomplete: "off",
        spellcheck: "false",
        autocapitalize: "none",
      }),
    ),
    h("button", { type: "submit" }, t("domains.find.do")),
  );
}
