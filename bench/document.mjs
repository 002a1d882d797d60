// Adds the latest measurements to bench/results.json, and writes the table of docs/benchmarks.md from it:
// node bench/document.mjs
import { readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { latestRuns, meets, merge, root, table } from "./rows.mjs";

const results = join(root, "bench/results.json");
const begin = "<!-- bench: table -->\n";
const end = "<!-- end -->";

const when = ({ date, machine }) => `${date}, ${machine}`;

/** The table with its sentences. Rows of another day or machine than most are marked. */
export function section(rows) {
  const runs = Map.groupBy(rows, when);
  const [usual] = [...runs].toSorted(([, a], [, b]) => b.length - a.length)[0];
  const missed = rows.filter((row) => !meets(row)).length;
  const goals = rows.filter(({ goal }) => goal !== "–").length;
  const sentence = missed
    ? `${missed} of ${goals} goals are missed; their rows say so.`
    : `All ${goals} goals are met.`;
  return `Measured on ${usual}, where a row does not say otherwise.\n\n${table(rows, (row) => (when(row) === usual ? "" : ` (${when(row)})`))}\n\n${sentence}\n`;
}

/** Returns a page with a text between the marks. */
export function fillIn(page, text) {
  const from = page.indexOf(begin);
  const to = page.indexOf(end, from);
  if (from < 0 || to < 0) throw new Error(`there is no ${begin.trim()} … ${end}`);
  return page.slice(0, from + begin.length) + text + page.slice(to);
}

export const recorded = () => JSON.parse(readFileSync(results, "utf8"));
export const path = join(root, "docs/benchmarks.md");
export const page = () => readFileSync(path, "utf8");

if (process.argv[1] === fileURLToPath(import.meta.url)) {
  const rows = merge(recorded(), latestRuns());
  writeFileSync(results, `[\n${rows.map((row) => `  ${JSON.stringify(row)}`).join(",\n")}\n]\n`);
  writeFileSync(path, fillIn(page(), section(rows)));
}
