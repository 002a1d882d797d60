// Building blocks of views.
import { token } from "./api.js";
import { h } from "./dom.js";
import { ago, date, label, t } from "./i18n.js";
import { readableHost, readableURL } from "./names.js";
import { partitionOf, to } from "./routes.js";

export const card = (title, ...children) =>
  h("section", { class: "card", "aria-label": title, key: `card ${title}` }, h("h2", null, title), children);

export const badge = (tone, text) => h("span", { class: `badge ${tone}` }, text);

const stateTones = {
  processed: "good",
  failed: "bad",
  pending: "waiting",
  excluded: "quiet",
  stored: "bad",
  replayed: "good",
  discarded: "quiet",
  due: "waiting",
  waiting: "quiet",
  leased: "good",
  done: "good",
  ok: "good",
  firing: "bad",
};

export const stateBadge = (state) =>
  badge(Object.hasOwn(stateTones, state) ? stateTones[state] : "quiet", label("state", state));

export const yesNo = (value) =>
  typeof value !== "boolean" ? nothing() : value ? badge("good", t("yes")) : badge("quiet", t("no"));

/** Stands for what is missing. */
const nothing = () => h("span", { class: "muted nothing" }, "–");

export const muted = (...children) => h("span", { class: "muted" }, children);

/** Text from a site, in any script and direction, or missing. */
export const foreign = (text) =>
  text === null || text === undefined || text === "" ? nothing() : h("bdi", null, String(text));

export const code = (text) => h("code", null, h("bdi", null, String(text)));

/** A time relative to now, with the date as its title. */
export const since = (time) => (time ? h("time", { datetime: time, title: date(time) }, ago(time)) : nothing());

/** A date and a time of day. A line breaks only between the two. */
export const moment = (time) =>
  time ? h("time", { datetime: time }, date(time).replaceAll(/ (?=.* )/g, "\u00a0")) : nothing();

/** A host or domain, decoded if it is international, with its A-labels beside. */
export const hostText = (host) => withOriginal(readableHost(host), host);

/** A URL, its host and path decoded, with the A-labels of an international host beside. */
export function urlText(url) {
  const host = String(url ?? "").match(/^https?:\/\/([^/?#]+)/)?.[1];
  return host ? withOriginal(readableURL(url), readableHost(host) === host ? null : host) : foreign(url);
}

const withOriginal = (readable, original) => [
  h("bdi", null, readable),
  original && original !== readable && [" ", h("bdi", { class: "muted small" }, original)],
];

/** A link to a site if it is a URL, else its text. */
export function outside(url) {
  if (!/^https?:\/\//i.test(url ?? "")) return foreign(url);
  return h(
    "a",
    { href: url, target: "_blank", rel: "noopener noreferrer", class: "outside" },
    urlText(url),
    h("span", { class: "unseen" }, ` ${t("newTab")}`),
  );
}

export const partitionText = (p) => (p ? [p.country, p.category, p.date].filter(Boolean).join(" / ") : "–");

export const domainLink = (domain, partition) =>
  h("a", { href: to("domain", partitionOf(partition), domain) }, hostText(domain));

/** The cells for a row's domain and partition, and the row's key. */
export const domainCell = (row) => [
  domainLink(row.domain, row.partition_info),
  h("div", { class: "muted small" }, partitionText(row.partition_info)),
];
export const domainKey = (row) => `${row.domain} ${partitionText(row.partition_info)}`;

/** A list of names and values: [[name, value], …]; false pairs are left out. */
export const properties = (...pairs) =>
  h(
    "dl",
    { class: "properties" },
    pairs.filter(Boolean).map(([name, value]) => h("div", null, h("dt", null, name), h("dd", null, value))),
  );

export const empty = (title, ...children) =>
  h("div", { class: "empty" }, h("p", null, h("strong", null, title)), children);

export const button = (text, click, { kind = "", disabled = false, label: spoken = null, pressed } = {}) =>
  h(
    "button",
    {
      type: "button",
      class: kind || null,
      disabled,
      "aria-label": spoken,
      "aria-pressed": pressed === undefined ? null : String(pressed),
      on: { click },
    },
    text,
  );

/** A button that changes something: disabled with a read-only token. */
export const actionButton = (text, click, options = {}) => {
  const described = button(text, click, { ...options, disabled: options.disabled || token.readOnly });
  return { ...described, props: { ...described.props, ...readOnlyTitle() } };
};

/** The attributes of a control that is disabled because the token is read-only. */
export const readOnlyTitle = () => (token.readOnly ? { title: t("readOnly.why") } : {});

/** Why a call failed, in words, with the request id for the log if it is the engine's fault. */
export function failureText(error) {
  const text = label("failure", error.code);
  const said =
    text === error.code
      ? error.message
      : [text, error.code === "unauthorized" ? "" : error.message].filter(Boolean).join(" ");
  return [
    error.field && `${label("filter", error.field)}: `,
    said,
    error.status >= 500 && error.requestId && ` (${t("requestId")} ${error.requestId})`,
  ]
    .filter(Boolean)
    .join("");
}

/** Indented JSON. */
export const json = (value) =>
  h("pre", { tabindex: "0", role: "region", "aria-label": "JSON" }, JSON.stringify(value, null, 2));

/** A link that saves a value as a file. The blob is made on demand. */
export function download(name, value, text) {
  const save = (event) => {
    event.preventDefault();
    const link = document.createElement("a");
    link.href = URL.createObjectURL(new Blob([JSON.stringify(value, null, 2)], { type: "application/json" }));
    link.download = name;
    link.click();
    setTimeout(() => URL.revokeObjectURL(link.href), 1_000);
  };
  return h("button", { type: "button", on: { click: save } }, text);
}
