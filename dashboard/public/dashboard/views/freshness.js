// The last refreshes of a domain's entry points.
import { checksChart } from "../charts.js";
import { h } from "../dom.js";
import { duration, label, number, t } from "../i18n.js";
import { badge, card, empty, moment, muted, outside, since } from "../pieces.js";
import { table } from "../table.js";

/** A card for the entry points of a domain in the frontier; null if the frontier does not answer. */
export function freshness(entries) {
  if (entries === undefined) return null; // from an earlier version of the engine
  if (entries === null) return card(t("freshness"), empty(t("freshness.away")));
  if (entries.length === 0) return card(t("freshness"), empty(t("freshness.none")));
  return card(
    t("freshness"),
    h("p", { class: "muted" }, t("freshness.about")),
    table({
      caption: t("freshness"),
      rows: entries,
      key: (row) => row.url,
      columns: [
        { head: t("entryPoints.method"), cell: (row) => badge("quiet", label("method", row.method)) },
        { head: "URL", wide: true, cell: (row) => outside(row.url) },
        { head: t("freshness.checks"), cell: (row) => checksChart(row.checks) },
        { head: t("freshness.checked"), cell: (row) => (row.checked_at ? since(row.checked_at) : muted("–")) },
        { head: t("freshness.changed"), cell: (row) => (row.changed_at ? since(row.changed_at) : muted("–")) },
        { head: t("entryPoints.interval"), number: true, cell: (row) => duration(row.interval_seconds * 1_000) },
        { head: t("freshness.next"), cell: (row) => (row.next_check_at ? moment(row.next_check_at) : muted("–")) },
        {
          head: t("freshness.failures"),
          number: true,
          cell: (row) => (row.failures ? badge("bad", number(row.failures)) : muted("0")),
        },
      ],
    }),
  );
}
