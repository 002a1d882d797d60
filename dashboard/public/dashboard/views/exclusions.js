// The exclusions, and forms to add and remove them.
import { get, put, remove, token } from "../api.js";
import { ask } from "../dialog.js";
import { h } from "../dom.js";
import { choice, filterForm } from "../filters.js";
import { label, t } from "../i18n.js";
import { actionButton, card, code, empty, failureText, foreign, readOnlyTitle, since } from "../pieces.js";
import { pick } from "../routes.js";
import { pager, table } from "../table.js";

const KINDS = ["domain", "host", "url"];

const path = (kind, value) => `/api/v1/exclusions/${kind}/${encodeURIComponent(value)}`;

export default {
  title: () => t("nav.exclusions"),

  load: ({ route, signal }) => get("/api/v1/exclusions", pick(route.query, "kind", "cursor"), signal),

  render({ data, route, state, app }) {
    return [
      h("p", { class: "muted", key: "how" }, t("exclusions.how")),
      card(t("exclusions.add"), form(route, state, app)),
      h("div", { class: "toolbar", key: "toolbar" }, filterForm(route, [choice("kind", "kind", KINDS)], app.go)),
      data.exclusions.length === 0
        ? empty(t("exclusions.none"))
        : h(
            "div",
            { class: "card", key: "exclusions" },
            table({
              caption: t("nav.exclusions"),
              rows: data.exclusions,
              key: (row) => `${row.kind} ${row.value}`,
              columns: [
                { head: t("filter.kind"), cell: (row) => label("kind", row.kind) },
                { head: t("exclusions.value"), wide: true, cell: (row) => code(row.value) },
                { head: t("dialog.reason"), wide: true, cell: (row) => foreign(row.reason) },
                {
                  head: t("exclusions.created"),
                  cell: (row) => [since(row.created_at), h("div", { class: "muted small" }, foreign(row.created_by))],
                },
                {
                  head: t("actions"),
                  cell: (row) =>
                    actionButton(t("exclusions.remove"), () => takeBack(row, app), {
                      kind: "danger-text",
                      label: t("exclusions.remove.of", row.value),
                    }),
                },
              ],
            }),
          ),
      pager(route, data.cursor),
    ];
  },
};

/** The form that adds an exclusion; the address may prefill it: ?add=domain&value=… */
function form(route, state, app) {
  const submit = async (event) => {
    event.preventDefault();
    const sent = event.currentTarget;
    const { kind, value, reason } = Object.fromEntries(new FormData(sent));
    try {
      await put(path(kind, value.trim()), reason.trim() ? { reason: reason.trim() } : {});
      state.failure = "";
      sent.reset();
      app.announce(t("exclusions.added", value.trim()));
    } catch (error) {
      state.failure = failureText(error);
      app.redraw();
      sent.elements.value.focus();
    }
  };
  return h(
    "form",
    { class: "filters", on: { submit } },
    h(
      "div",
      { class: "field" },
      h("label", { for: "exclude-kind" }, t("filter.kind")),
      h(
        "select",
        { id: "exclude-kind", name: "kind", value: route.query.add ?? "domain" },
        KINDS.map((kind) => h("option", { value: kind }, label("kind", kind))),
      ),
    ),
    h(
      "div",
      { class: "field grow" },
      h("label", { for: "exclude-value" }, t("exclusions.value")),
      h("input", {
        id: "exclude-value",
        name: "value",
        value: route.query.value ?? "",
        required: true,
        autocomplete: "off",
        spellcheck: "false",
        autocapitalize: "none",
        placeholder: "example.com · www.example.com · https://example.com/private/*",
        "aria-describedby": "exclude-failure",
        "aria-invalid": state.failure ? "true" : null,
      }),
    ),
    h(
      "div",
      { class: "field grow" },
      h("label", { for: "exclude-reason" }, t("dialog.reason")),
      h("input", { id: "exclude-reason", name: "reason", maxlength: "500", autocomplete: "off" }),
    ),
    h(
      "button",
      { type: "submit", class: "primary", disabled: token.readOnly, ...readOnlyTitle() },
      t("exclusions.add.do"),
    ),
    h("p", { id: "exclude-failure", class: "failure", role: "alert" }, state.failure),
  );
}

/** Asks whether to take an exclusion back, and does. */
export const takeBack = async (row, app) =>
  app.announce(
    await ask({
      title: t("exclusions.remove.title"),
      body: [
        h("p", null, label("kind", row.kind), ": ", code(row.value)),
        h("p", { class: "muted" }, t("exclusions.remove.body")),
      ],
      confirm: t("exclusions.remove"),
      danger: true,
      act: () => remove(path(row.kind, row.value)),
      done: () => t("exclusions.removed", row.value),
    }),
  );
