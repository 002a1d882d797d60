// Tables of data. On narrow screens each row becomes a card whose cells carry
// the names of their columns; roles keep it a table for screen readers.
import { h } from "./dom.js";
import { t } from "./i18n.js";
import { to } from "./routes.js";

/**
 * columns are [{head, cell(row), number?, wide?}]: number aligns to the right, wide takes the remaining width.
 * key(row) identifies a row.
 */
export function table({ caption, columns, rows, key }) {
  const many = columns.length > 3;
  return h(
    "div",
    { class: many && "many-room" },
    h(
      "table",
      { role: "table", class: many && "many" },
      h("caption", { class: "unseen" }, caption),
      h(
        "thead",
        { role: "rowgroup" },
        h(
          "tr",
          { role: "row" },
          columns.map((column) => h("th", { role: "columnheader", scope: "col", class: classes(column) }, column.head)),
        ),
      ),
      h(
        "tbody",
        { role: "rowgroup" },
        rows.map((row) =>
          h(
            "tr",
            { role: "row", key: String(key(row)) },
            columns.map((column) =>
              h(
                "td",
                {
                  role: "cell",
                  class: classes(column),
                  "data-head": typeof column.head === "string" ? column.head : null,
                },
                h("div", null, column.cell(row)),
              ),
            ),
          ),
        ),
      ),
    ),
  );
}

const classes = (column) =>
  [column.number && "number", column.wide && "wide", column.narrow && "narrow"].filter(Boolean).join(" ") || null;

/** Links to the first and the next page; the browser's back button leads to the previous page. */
export function pager(route, cursor) {
  if (!cursor && !route.query.cursor) return null;
  const { cursor: current, ...query } = route.query;
  return h(
    "nav",
    { class: "pager", "aria-label": t("pages") },
    current && h("a", { class: "button", href: to(route.view, query, route.id) }, t("pages.first")),
    cursor && h("a", { class: "button", href: to(route.view, { ...query, cursor }, route.id) }, t("pages.next")),
  );
}
