// The rows of the benchmarks: what was measured, and against which goal. The programs of the benchmarks report them, and
// bench/document.mjs makes the table of docs/benchmarks.md from them.
import { spawnSync } from "node:child_process";
import { existsSync, mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { cpus } from "node:os";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";

export const root = dirname(dirname(fileURLToPath(import.meta.url)));
const latest = join(root, "build/bench");

/** The benchmarks in the order of the table, by the names of their directories or programs. */
export const parts = [
  "runtime",
  "routes",
  "pipeline",
  "latency",
  "parsers",
  "status",
  "frontier",
  "crawl",
  "counts",
  "module",
];

/** How the values of a row are written, by the ends of their names: engine_ms, peer_ms. */
const units = {
  ms: (n) => (n >= 1000 ? `${round(n / 1000)} s` : `${round(n)} ms`),
  us: (n) => `${round(n)} µs`,
  mib: (n) => `${round(n)} MiB`,
  kib: (n) => `${round(n).toLocaleString("en")} KiB`,
  mbs: (n) => `${round(n)} MB/s`,
  usd: (n) => `${n} USD`,
  rate: (n) => `${round(n).toLocaleString("en")} a second`,
  "": (n) => String(round(n)),
};

/** Three digits, as many as a measurement deserves. */
const round = (n) => (Math.abs(n) >= 100 ? Math.round(n) : Number(n.toPrecision(3)));

/** What the units of goals are compared with. */
const measured = {
  "×": (row) => row.ratio,
  ms: (row) => row.engine_ms,
  s: (row) => row.engine_ms / 1000,
  µs: (row) => row.engine_us,
  MiB: (row) => row.linear_mib ?? row.engine_mib,
  KiB: (row) => row.engine_kib,
  "MB/s": (row) => row.engine_mbs,
  USD: (row) => row.engine_usd,
  "a second": (row) => row.engine_rate,
  "": (row) => row.engine,
};
const holds = {
  "≤": (a, b) => a <= b,
  "≥": (a, b) => a >= b,
  "<": (a, b) => a < b,
};

/**
 * Reports whether a row meets its goal, such as "≤ 0.1 × the peer" or "≤ 15 s, linear memory ≤ 48 MiB"; true where there is
 * none. A goal that it cannot read is an error.
 */
export function meets(row) {
  if (row.goal === "–") return true;
  return row.goal.split(", ").every((term) => {
    const [, relation, number, unit] = /([≤≥<]) ([\d.]+(?:,\d{3})*) ?(×|\D*)/.exec(term) ?? [];
    const value = measured[unit?.trim()]?.(row);
    if (typeof value !== "number" || Number.isNaN(value))
      throw new Error(`${row.what}: the goal ${term} cannot be judged`);
    return holds[relation](value, Number(number.replaceAll(",", "")));
  });
}

/** The values of a row that begin with a name, as text. */
function cell(row, name) {
  return Object.entries(row)
    .filter(([key, value]) => (key === name || key.startsWith(`${name}_`)) && typeof value === "number")
    .map(([key, value]) => units[key.slice(name.length + 1)](value))
    .join(", ");
}

/** Rows as the lines of a table. note gives what is to stand behind a row's name. */
export function table(rows, note = () => "") {
  const lines = rows.map((row) => {
    const engine = [cell(row, "engine"), row.linear_mib && `linear memory ${cell(row, "linear")}`].filter(Boolean);
    const goal = row.goal === "–" ? "" : row.goal + (meets(row) ? "" : " (missed)");
    const cells = [row.what.trim() + note(row), engine.join(", "), cell(row, "peer"), row.ratio ?? "", goal];
    return `| ${cells.join(" | ")} |`.replace(/\s+/g, " ");
  });
  return ["| what | engine | peer | ratio | goal |", "| --- | --- | --- | --- | --- |", ...lines].join("\n");
}

/** Returns the abbreviated commit of a directory, or "none" if it has none, such as an unpacked archive. */
export function commitOf(directory) {
  const git = spawnSync("git", ["rev-parse", "--short", "HEAD"], { cwd: directory, encoding: "utf8" });
  return git.status === 0 ? git.stdout.trim() : "none";
}

/** The rows of one part of the benchmarks, as they come in. */
export class Rows {
  #part;
  #dir;
  #rows = [];

  /** part is one of parts; dir is where the rows are left. */
  constructor(part, dir = latest) {
    if (!parts.includes(part)) throw new Error(`${part} is no part of the benchmarks`);
    this.#part = part;
    this.#dir = dir;
  }

  /** Adds a row: what was measured, its goal ("–" for none), and values such as engine_ms, peer_ms, ratio. */
  report(what, goal, values) {
    const row = { what: what.trim(), goal, ...values };
    meets(row);
    this.#rows.push(row);
    console.error(`  ${what}: ${JSON.stringify(values)}`);
  }

  /**
   * Prints the rows and leaves them for the table, beside those of the run before if this one repeated only some of
   * its part. Those of a quick run are only printed.
   */
  finish({ quick, complete = true }) {
    console.log(table(this.#rows));
    if (quick) return;
    const commit = commitOf(root);
    const run = {
      date: new Date().toISOString().slice(0, 10),
      machine: `${cpus()[0].model}, ${cpus().length} cores`,
      commit,
    };
    mkdirSync(this.#dir, { recursive: true });
    const rows = this.#rows.map((row) => ({ part: this.#part, ...row, ...run }));
    const all = followed(runOf(this.#part, this.#dir), { complete, rows });
    writeFileSync(join(this.#dir, `${this.#part}.json`), JSON.stringify(all, null, 2));
  }
}

/** What the last runs of a part left, or undefined. */
function runOf(part, dir) {
  const file = join(dir, `${part}.json`);
  return existsSync(file) ? JSON.parse(readFileSync(file, "utf8")) : undefined;
}

/** A run after another of the same part, which it replaces if it was complete. */
const followed = (before, run) =>
  run.complete || !before ? run : { complete: before.complete, rows: repeated(before.rows, run.rows) };

/** Rows with later ones in the place of those of the same name, and what is new behind them. */
function repeated(rows, later) {
  const byName = new Map(later.map((row) => [row.what, row]));
  const fresh = later.filter(({ what }) => !rows.some((row) => row.what === what));
  return [...rows.map((row) => byName.get(row.what) ?? row), ...fresh];
}

/** What runs since then left, by their parts. */
export const latestRuns = (dir = latest) =>
  Object.fromEntries(parts.map((part) => [part, runOf(part, dir)]).filter(([, run]) => run));

/**
 * Rows with those of later runs, by their parts: a run that was complete replaces all of its part, another those that it
 * repeated. Each row keeps the date, machine and commit of its own run.
 */
export const merge = (rows, runs) =>
  parts.flatMap((part) => {
    const before = { complete: true, rows: rows.filter((row) => row.part === part) };
    return (runs[part] ? followed(before, runs[part]) : before).rows;
  });
