// Texts, numbers and dates in the operator's language.
import { language } from "./preferences.js";
import en from "./lang/en.js";
import ko from "./lang/ko.js";

const texts = { en, ko };

/**
 * The text of a key. Texts with values in them are functions, which get numbers formatted for the language. A text
 * whose words depend on a count has a form for each plural category of the language (Intl.PluralRules); the first number
 * among the values is the count.
 */
export function t(key, ...values) {
  const text = formOf(texts[language()][key], values);
  return typeof text === "function"
    ? text(...values.map((value) => (typeof value === "number" ? number(value, 1) : value)))
    : text;
}

function formOf(text, values) {
  if (typeof text !== "object") return text;
  const count = values.find((value) => typeof value === "number");
  return text[format(Intl.PluralRules).select(count)] ?? text.other;
}

/** The text for a value of the API, such as an error type; a value without a text is returned as it is. */
export function label(kind, value) {
  const key = `${kind}.${value}`;
  return Object.hasOwn(en, key) ? t(key) : String(value);
}

const made = new Map();

function format(Type, options) {
  const key = `${language()} ${Type.name} ${JSON.stringify(options)}`;
  if (!made.has(key)) made.set(key, new Type(language(), options));
  return made.get(key);
}

const DASH = "–";

export const number = (n, digits = 0) =>
  Number.isFinite(n) ? format(Intl.NumberFormat, { maximumFractionDigits: digits }).format(n) : DASH;

/** A share of 1 in percent. Only exactly 1 is 100 %, and only 0 is 0 %. */
export function percent(share, digits = share > 0 && share < 0.1 ? 1 : 0) {
  if (!Number.isFinite(share)) return DASH;
  const shown = share > 0.99 && share < 1 ? 0.99 : share;
  return format(Intl.NumberFormat, { style: "percent", maximumFractionDigits: digits }).format(shown);
}

const unit = (name, n, digits = 0, unitDisplay = "short") =>
  format(Intl.NumberFormat, { style: "unit", unit: name, unitDisplay, maximumFractionDigits: digits }).format(n);

/** A duration in a suitable unit. */
export function duration(ms) {
  if (!Number.isFinite(ms)) return DASH;
  if (ms < 1_000) return unit("millisecond", ms);
  if (ms < 120_000) return unit("second", ms / 1_000, ms < 10_000 ? 2 : 0);
  if (ms < 7_200_000) return unit("minute", ms / 60_000);
  if (ms < 172_800_000) return unit("hour", ms / 3_600_000, 1);
  return unit("day", ms / 86_400_000, 1);
}

export function bytes(n) {
  if (!Number.isFinite(n)) return DASH;
  if (n < 1_000) return unit("byte", n, 0, "long"); // the short form would be "66 byte"
  if (n < 1_000_000) return unit("kilobyte", n / 1_000, 1);
  return unit("megabyte", n / 1_000_000, 1);
}

const isTime = (time) => Boolean(time) && !Number.isNaN(Date.parse(time));

export const date = (time) =>
  isTime(time)
    ? format(Intl.DateTimeFormat, { dateStyle: "medium", timeStyle: "medium", hourCycle: "h23" }).format(new Date(time))
    : DASH;
export const timeOfDay = (time) =>
  isTime(time) ? format(Intl.DateTimeFormat, { timeStyle: "medium", hourCycle: "h23" }).format(new Date(time)) : DASH;
export const clock = (time) =>
  isTime(time)
    ? format(Intl.DateTimeFormat, { hour: "2-digit", minute: "2-digit", hourCycle: "h23" }).format(new Date(time))
    : DASH;
export const dayAndHour = (time) =>
  isTime(time)
    ? format(Intl.DateTimeFormat, {
        month: "short",
        day: "numeric",
        hour: "2-digit",
        minute: "2-digit",
        hourCycle: "h23",
      }).format(new Date(time))
    : DASH;

/** A time relative to now. */
export function ago(time, now = Date.now()) {
  if (!isTime(time)) return DASH;
  const seconds = Math.round((Date.parse(time) - now) / 1_000);
  const [name, size] = [
    ["day", 86_400],
    ["hour", 3_600],
    ["minute", 60],
  ].find(([, size]) => Math.abs(seconds) >= size) ?? ["second", 1];
  return format(Intl.RelativeTimeFormat, { numeric: "auto" }).format(Math.trunc(seconds / size), name);
}
