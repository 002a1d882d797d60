// Filter forms: fields that become the query of the view's address.
import { countryCode, countryName } from "./countries.js";
import { h } from "./dom.js";
import { label, t } from "./i18n.js";
import { to } from "./routes.js";

export const errorTypes = [
  "validation_error",
  "parse_error",
  "network_error",
  "timeout_error",
  "storage_error",
  "internal_error",
];

export const text = (name, props = {}) => ({
  name,
  control: (value) =>
    h("input", { name, id: `filter-${name}`, type: "text", value, autocomplete: "off", spellcheck: "false", ...props }),
});

/** A select of values, the current one if it is not among them, and none; kind selects their labels. */
export const choice = (name, kind, values, none = "any") => ({
  name,
  control: (value) =>
    h(
      "select",
      { name, id: `filter-${name}`, value },
      h("option", { value: "" }, t(none)),
      [...new Set([...values, ...(value ? [value] : [])])].map((v) => h("option", { value: v }, label(kind, v))),
    ),
});

/** A field for a country's code or name; read returns the code. */
const country = () => ({
  name: "country",
  control: (value) =>
    text("country", {
      size: 10,
      title: /^[a-z]{2}$/i.test(value) ? countryName(value) : t("filter.country.hint"),
      on: {
        input: ({ target }) =>
          target.setCustomValidity(
            target.value.trim() && !countryCode(target.value) ? t("filter.country.unknown") : "",
          ),
      },
    }).control(value),
  read: countryCode,
});

export const partitionFields = () => [
  country(),
  text("category", { size: 10, maxlength: 64 }),
  text("date", {
    size: 10,
    maxlength: 10,
    pattern: "\\d{4}-\\d{2}-\\d{2}",
    placeholder: "YYYY-MM-DD",
    title: t("filter.date.hint"),
  }),
];

/** The values of a form's fields, in the API's formats. */
export function valuesOf(form, fields) {
  const values = new FormData(form);
  return Object.fromEntries(
    fields.map(({ name, read = (value) => value }) => [name, read((values.get(name) ?? "").trim())]),
  );
}

/**
 * The form; go(hash) opens the filtered view. Parts of the query without a field stay, except the cursor. rules are
 * checks across fields, [{name, broken(values), text}]: if one is broken, the field of that name shows the text.
 */
export function filterForm(route, fields, go, rules = []) {
  const own = new Set(["cursor", ...fields.map((field) => field.name)]);
  const others = Object.fromEntries(Object.entries(route.query).filter(([name]) => !own.has(name)));
  const filtered = fields.some((field) => route.query[field.name]);
  const submit = (event) => {
    event.preventDefault();
    const values = valuesOf(event.currentTarget, fields);
    const rule = rules.find(({ broken }) => broken(values));
    if (rule) return complain(event.currentTarget.elements[rule.name], rule.text);
    go(to(route.view, { ...others, ...values }, route.id));
  };
  const forgive = ({ currentTarget: form }) => {
    for (const { name } of rules) form.elements[name].setCustomValidity("");
  };
  return h(
    "form",
    { class: "filters", role: "search", "aria-label": t("filter"), key: "filters", on: { submit, input: forgive } },
    fields.map((field) =>
      h(
        "div",
        { class: "field" },
        h("label", { for: `filter-${field.name}` }, t(`filter.${field.name}`)),
        field.control(route.query[field.name] ?? ""),
      ),
    ),
    h("button", { type: "submit" }, t("filter.apply")),
    filtered && h("a", { class: "button plain", href: to(route.view, others, route.id) }, t("filter.clear")),
  );
}

function complain(control, text) {
  control.setCustomValidity(text);
  control.reportValidity();
}
