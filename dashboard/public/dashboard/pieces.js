// The pieces that views are made of.
import { token } from "./api.js";
import { h } from "./dom.js";
import { ago, date, label, t } from "./i18n.js";
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
  typeof value !== "boolean" ? muted("–") : value ? badge("good", t("yes")) : badge("quiet", t("no"));

export const muted = (...children) => h("span", { class: "muted" }, children);

/** Text from outside: it may be in any script and direction, and may be missing. */
export const foreign = (text) =>
  text === null || text === undefined || text === "" ? muted("–") : h("bdi", null, String(text));

export const code = (text) => h("code", null, h("bdi", null, String(text)));

/** A moment as the time since then; the date is its title. */
export const since = (time) => (time ? h("time", { datetime: time, title: date(time) }, ago(time)) : muted("–"));

export const moment = (time) => (time ? h("time", { datetime: time }, date(time)) : muted("–"));

/** A link to the outside, if it is one; else its text. */
export function outside(url) {
  if (!/^https?:\/\//i.test(url ?? "")) return foreign(url);
  return h(
    "a",
    { href: url, target: "_blank", rel: "noopener noreferrer", class: "outside" },
    h("bdi", null, url),
    h("span", { class: "unseen" }, ` ${t("newTab")}`),
  );
}

export const partitionText = (p) => (p ? [p.country, p.category, p.date].filter(Boolean).join(" / ") : "–");

export const domainLink = (domain, partition) =>
  h("a", { href: to("domain", partitionOf(partition), domain) }, h("bdi", null, domain));

/** The domain of a row and its partition, and its key among others. */
export const domainCell = (row) => [
  domainLink(row.domain, row.partition_info),
  h("div", { class: "muted small" }, partitionText(row.partition_info)),
];
export const domainKey = (row) => `${row.domain} ${partitionText(row.partition_info)}`;

/** Names and values: [[name, value], …]; a pair that is false is left out. */
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

/** A button of what changes something: greyed out with a token that may only read. */
export const actionButton = (text, click, options = {}) => {
  const described = button(text, click, { ...options, disabled: options.disabled || token.readOnly });
  return { ...described, props: { ...described.props, ...readOnlyTitle() } };
};

/** What a control that changes something says of itself when it may not. */
export const readOnlyTitle = () => (token.readOnly ? { title: t("readOnly.why") } : {});

/** Why a call failed, for a person; with the request's number in the log where the engine is to blame. */
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

/** JSON as it is, indented. */
export const json = (value) =>
  h("pre", { tabindex: "0", role: "region", "aria-label": "JSON" }, JSON.stringify(value, null, 2));

/** A link that saves a value as a file. The blob is made when it is asked for. */
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
