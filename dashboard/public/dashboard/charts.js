// Charts as SVG elements, each with its data as text beside it. Positions are percentages, so that
// they fit any width.
import { h } from "./dom.js";
import { clock, dayAndHour, duration, number, percent, t } from "./i18n.js";
import { table } from "./table.js";

/** A bar divided into parts: [{name, value, tone}]. */
export function stackedBar(parts, { thin = false } = {}) {
  const total = parts.reduce((sum, part) => sum + part.value, 0);
  let x = 0;
  const rects = parts
    .filter((part) => part.value > 0)
    .map((part) => {
      const width = (part.value / total) * 100;
      const rect = h("rect", { class: `tone-${part.tone}`, x: `${x}%`, width: `${width}%`, y: "0", height: "100%" });
      x += width;
      return rect;
    });
  const words = parts.map((part) => `${part.name} ${number(part.value)}`).join(", ");
  return h("svg", { class: thin ? "bar thin" : "bar", role: "img", "aria-label": words }, rects);
}

/** The legend of a bar: its parts with their numbers, as links if they have an href. */
export function legend(parts) {
  return h(
    "ul",
    { class: "legend" },
    parts.map((part) =>
      h(
        "li",
        null,
        h("span", { class: `swatch tone-${part.tone}`, "aria-hidden": "true" }),
        h("span", { class: "muted" }, part.name),
        " ",
        part.href && part.value > 0
          ? h("a", { href: part.href }, number(part.value))
          : h("strong", null, number(part.value)),
      ),
    ),
  );
}

/** A number with a bar behind it that shows its share of the maximum. */
export function score(value, max = 1, text = number(value, 2), tone = "accent") {
  if (!Number.isFinite(value)) return h("span", { class: "muted" }, "–");
  const share = max > 0 ? value / max : Number(value > 0); // an alarm's limit may be 0
  const width = Math.max(0, Math.min(1, share)) * 100;
  return h(
    "span",
    { class: "score" },
    h(
      "svg",
      { class: "bar thin", "aria-hidden": "true" },
      h("rect", { class: `tone-${tone}`, width: `${width}%`, height: "100%" }),
    ),
    h("span", null, text),
  );
}

/** The last refreshes, oldest first: a column each, full if something was new, and the same as text. */
export function checksChart(checks) {
  if (checks.length === 0) return h("span", { class: "muted" }, "–");
  const failed = ({ status }) => status === null || (status !== 304 && (status < 200 || status > 299));
  const words = checks.map((check) => {
    const what = failed(check) ? "failed" : check.changed ? "changed" : "same";
    return `${t(`freshness.${what}`)}${check.status === null ? "" : ` (${check.status})`}`;
  });
  const width = 100 / 10;
  return h(
    "svg",
    { class: "checks", role: "img", "aria-label": words.join(", ") },
    checks.map((check, i) => {
      const tall = failed(check) || check.changed;
      return h("rect", {
        class: `tone-${failed(check) ? "bad" : check.changed ? "good" : "accent"}`,
        x: `${i * width}%`,
        width: `${width * 0.7}%`,
        y: tall ? "0" : "70%",
        height: tall ? "100%" : "30%",
      });
    }),
  );
}

/** The smallest even round number that is at least n. */
export function roundUp(n) {
  const power = 10 ** Math.floor(Math.log10(Math.max(1, n)));
  return [1, 1.2, 1.6, 2, 3, 4, 5, 6, 8, 10]
    .map((step) => Math.round(step * power))
    .find((top) => top >= n && top % 2 === 0);
}

/**
 * The hours of a trend: domains finished in each, and the time per domain. at is the selected
 * hour, and look(index) is called to change it.
 */
export function trendChart(hours, at, look) {
  const slowest = roundUp(Math.max(1, ...hours.map((hour) => hour.avg_processing_time_ms)));
  const total = (field) => hours.reduce((sum, hour) => sum + hour[field], 0);
  const sums = [total("domains_processed"), total("domains_failed")];
  const average = (hour) => duration(hour.domains_processed ? hour.avg_processing_time_ms : NaN);
  return h(
    "div",
    { class: "trend" },
    readout(
      hours[at],
      (hour) => t("trend.of", hour.domains_processed, hour.domains_failed, average(hour)),
      t("trend.total", ...sums, spanOf(hours)),
    ),
    hourColumns(
      hours,
      [
        { tone: "good", value: (hour) => hour.domains_processed },
        { tone: "bad", value: (hour) => hour.domains_failed },
      ],
      at,
      look,
      t("trend.label", spanOf(hours), ...sums),
    ),
    h("p", { class: "muted small plot-name" }, t("trend.average")),
    plot(
      [duration(slowest), "0"],
      h(
        "svg",
        { class: "line", viewBox: "0 0 100 100", preserveAspectRatio: "none", "aria-hidden": "true" },
        averageLine(hours, slowest),
      ),
    ),
    hourMarks(hours),
    hourTable(t("trend.title"), hours, [
      { head: t("domains.processed"), number: true, cell: (row) => number(row.domains_processed) },
      { head: t("domains.failed"), number: true, cell: (row) => number(row.domains_failed) },
      { head: t("files.processed"), number: true, cell: (row) => number(row.files_processed) },
      { head: t("files.failed"), number: true, cell: (row) => number(row.files_failed) },
      { head: t("average"), number: true, cell: average },
    ]),
  );
}

/** The selected hour in words(hour), or the totals of all hours. */
const readout = (hour, words, all) =>
  h("p", { class: "readout" }, hour ? [h("strong", null, dayAndHour(hour.hour)), ` · ${words(hour)}`] : all);

const spanOf = (hours) => duration(hours.length * 3_600_000);

/** The numbers in a chart of hours as a table, the last hour first. */
const hourTable = (caption, hours, columns) =>
  h(
    "details",
    null,
    h("summary", null, t("trend.table")),
    table({
      caption,
      rows: hours.toReversed(),
      key: (row) => row.hour,
      columns: [{ head: t("trend.hour"), cell: (row) => dayAndHour(row.hour) }, ...columns],
    }),
  );

/**
 * The new URLs of the last hours, in total and by type; at and look are as for a trend. type names a type.
 */
export function foundChart(hours, at, look, type) {
  const total = hours.reduce((sum, hour) => sum + hour.count, 0);
  const inAll = t("found.total", total, spanOf(hours));
  const hour = hours[at];
  const types = {};
  for (const { types: some } of hour ? [hour] : hours)
    for (const [name, n] of Object.entries(some)) types[name] = (types[name] ?? 0) + n;
  const sorted = Object.entries(types).sort(([a, m], [b, n]) => n - m || (a < b ? -1 : 1));
  const most = sorted[0]?.[1] ?? 0;
  return h(
    "div",
    { class: "trend" },
    readout(hour, ({ count }) => t("found.of", count), inAll),
    hourColumns(hours, [{ tone: "good", value: (one) => one.count }], at, look, inAll),
    hourMarks(hours),
    sorted.length > 0 &&
      table({
        caption: t("found.types"),
        rows: sorted,
        key: ([name]) => name,
        columns: [
          { head: t("type"), cell: ([name]) => type(name) },
          { head: t("found.urls"), cell: ([, n]) => score(n, most, number(n)) },
        ],
      }),
    hourTable(t("found.title"), hours, [{ head: t("found.urls"), number: true, cell: (row) => number(row.count) }]),
  );
}

/** A stacked column for each hour: [{tone, value(hour)}]. */
function hourColumns(hours, parts, at, look, words) {
  const top = roundUp(Math.max(1, ...hours.map((hour) => parts.reduce((sum, part) => sum + part.value(hour), 0))));
  const step = 100 / hours.length;
  const width = step * (hours.length > 60 ? 1 : 0.8);
  const pointed = (event) => {
    const box = event.currentTarget.getBoundingClientRect();
    look(Math.max(0, Math.min(hours.length - 1, Math.floor(((event.clientX - box.left) / box.width) * hours.length))));
  };
  const columns = hours.flatMap((hour, i) => {
    const x = `${i * step + (step - width) / 2}%`;
    let y = 100;
    return parts.map(({ tone, value }) => {
      const height = (value(hour) / top) * 100;
      y -= height;
      return (
        height > 0 && h("rect", { class: `tone-${tone}`, x, width: `${width}%`, y: `${y}%`, height: `${height}%` })
      );
    });
  });
  return plot(
    [number(top), number(top / 2), "0"],
    h(
      "svg",
      {
        class: "columns",
        role: "img",
        "aria-label": words,
        on: { pointermove: pointed, pointerdown: pointed, pointerleave: () => look(-1) },
      },
      lines(),
      hours[at] && h("rect", { class: "looked", x: `${at * step}%`, width: `${step}%`, y: "0", height: "100%" }),
      columns,
    ),
  );
}

/** The first hour, the last one, and one between them. */
const hourMarks = (hours) =>
  h(
    "div",
    { class: "hours muted small", "aria-hidden": "true" },
    [0, Math.floor(hours.length / 2), hours.length - 1].map((i) =>
      h("span", null, hours.length > 24 ? dayAndHour(hours[i].hour) : clock(hours[i].hour)),
    ),
  );

const plot = (scale, chart) =>
  h(
    "div",
    { class: "plot" },
    h(
      "div",
      { class: "scale muted small", "aria-hidden": "true" },
      scale.map((mark) => h("span", null, mark)),
    ),
    chart,
  );

const lines = () => ["0.5", "50%", "100%"].map((y) => h("line", { x1: "0", x2: "100%", y1: y, y2: y }));

/** A line through the hours in which a domain was processed; an hour without neighbours is a dot. */
function averageLine(hours, top) {
  const step = 100 / hours.length;
  const has = (i) => hours[i]?.domains_processed > 0;
  let line = "";
  let dots = "";
  hours.forEach((hour, i) => {
    if (!has(i)) return;
    const point = `${((i + 0.5) * step).toFixed(2)} ${(100 - (hour.avg_processing_time_ms / top) * 100).toFixed(2)}`;
    if (has(i - 1)) line += `L${point}`;
    else if (has(i + 1)) line += `M${point}`;
    else dots += `M${point}h0.01`;
  });
  return [h("path", { d: line }), h("path", { class: "dots", d: dots })];
}

/** A tile with the name, value and base of a rate. */
export const tile = (name, value, note) =>
  h(
    "div",
    { class: "tile" },
    h("dt", null, name),
    h("dd", null, h("span", { class: "value" }, value), note && h("span", { class: "muted small" }, note)),
  );

export const share = (part, whole) => (whole > 0 ? percent(part / whole) : "–");
