// What the demo prints. Colours and lines that are written over are for terminals only.
import { existsSync, readFileSync } from "node:fs";

function say(text = "") {
  console.log(text);
}

function paint(code, text) {
  return process.stdout.isTTY && !process.env.NO_COLOR ? `\x1b[${code}m${text}\x1b[0m` : text;
}

/** A line about what is done now. */
export function step(name, text) {
  say(`${paint(1, name.padEnd(12))}${text}`);
}

/** A line about what came out as it should. */
export function good(text) {
  say(`${paint(32, "ok".padEnd(12))}${text}`);
}

export function plural(n, word) {
  return `${n.toLocaleString("en")} ${word}${n === 1 ? "" : "s"}`;
}

/** On a terminal the line is written over; elsewhere each change is one line. */
export function progress(line) {
  const text = `${"".padEnd(12)}${paint(2, line)}`;
  process.stdout.write(process.stdout.isTTY ? `\r\x1b[K${text}` : `${text}\n`);
}

/** Clears the last progress line, where that is possible. */
export function endProgress() {
  if (process.stdout.isTTY) process.stdout.write("\r\x1b[K");
}

/** What went wrong, and the end of the log. */
export function failure(message, log) {
  say(`\n${paint(31, "failed".padEnd(12))}${message}`);
  if (!log || !existsSync(log)) return;
  say(`\nthe last lines of ${log}:`);
  say(readFileSync(log, "utf8").trimEnd().split("\n").slice(-40).join("\n"));
}

/** A line for every domain of every partition; documents are by the directory they lie in. */
export function table(documents, expected) {
  const head = ["domain", "URLs", "robots.txt", "sitemap", "feeds", "answered by", expected ? "what it is for" : ""];
  const numbers = new Set(["URLs", "feeds"]);
  const rows = [...documents].map(([dir, document]) => {
    const [, partition, domain] = dir.match(/^prod\/(.+)\/([^/]+)$/);
    return { partition, cells: cells(document, expected?.[partition]?.domains[domain]) };
  });
  const widths = head.map((h, i) => Math.max(h.length, ...rows.map((r) => r.cells[i].length)));
  const line = (cells) =>
    cells
      .map((c, i) => (numbers.has(head[i]) ? c.padStart(widths[i]) : c.padEnd(widths[i])))
      .join("  ")
      .trimEnd();
  for (const [i, row] of rows.entries()) {
    if (row.partition !== rows[i - 1]?.partition) say(`\n${row.partition}\n${paint(1, line(head))}`);
    say(line(row.cells));
  }
  say();
}

const verdict = (blocked, { allows_crawling: allows }) => (blocked ? "site refuses" : allows ? "allows" : "forbids");

function cells(
  { domain, reachable, blocked, robots, sitemap, technical_metadata: technical, processing_metadata: processing },
  expected,
) {
  return [
    domain,
    String(processing.total_urls),
    reachable ? `${robots.status_code} ${verdict(blocked, technical.robots_txt)}` : "-",
    sitemap.exists
      ? `${technical.sitemap_xml.kind}, ${plural(sitemap.url_count, "URL")}`
      : (sitemap.error_type ?? "none"),
    String(technical.feeds.length),
    technical.server_info.effective_host ?? "nobody",
    expected?.why ?? "",
  ];
}

/**
 * What was found on every domain, at most two lines: the URLs of highest priority with their types, and the
 * entry points in the order in which to try them with the minutes between two visits.
 */
export function findings(documents) {
  const width = Math.max(...[...documents.values()].map((d) => d.domain.length));
  let last;
  for (const [dir, document] of documents) {
    const partition = dir.slice("prod/".length, dir.lastIndexOf("/"));
    if (partition !== last) {
      say(
        `${last ? "\n" : ""}${partition}\n${paint(1, `${"domain".padEnd(width)}  top URLs: priority, type; entry points: method, minutes`)}`,
      );
      last = partition;
    }
    const short = (url) => shortened(url, document.technical_metadata.server_info.effective_host);
    const top = document.intelligent_discovery.discovered_urls.map(
      (u) => `${u.priority_score.toFixed(2)} ${u.classification.primary_type} ${short(u.url)}`,
    );
    const entries = document.fetch_contract.entry_points.map(
      (e) => `${e.method} ${e.interval_minutes.toLocaleString("en")} ${short(e.url)}`,
    );
    const lines = [top, entries].filter((list) => list.length > 0).map((list) => fitting(list, 100 - width - 2));
    if (lines.length === 0) lines.push("nothing to fetch");
    for (const [i, line] of lines.entries()) say(`${(i === 0 ? document.domain : "").padEnd(width)}  ${line}`);
  }
  say();
}

/** A URL without what the line says already, and without the middle of a long one. */
function shortened(url, host) {
  const { host: its, pathname, search } = new URL(url);
  const text = (its === host ? "" : its) + pathname + search;
  return text.length <= 48 ? text : `${text.slice(0, 30)}…${text.slice(-17)}`;
}

/** As many of a list as fit a line, the first in any case. */
function fitting(list, width) {
  let line = list[0];
  for (const [i, text] of list.entries()) {
    if (i === 0) continue;
    const more = `, +${list.length - i}`;
    if (line.length + text.length + 2 + (i < list.length - 1 ? more.length : 0) > width) return line + more;
    line += `, ${text}`;
  }
  return line;
}

/** Where the results lie: how many objects of which name under each partition. */
export function results(place, keys, documents) {
  step("results", place);
  const objects = keys.map((key) => key.match(/^(?<partition>(?:[^/]+\/){4})[^/]+\/(?<name>.+)$/).groups);
  for (const partition of new Set(objects.map((o) => o.partition))) {
    const names = objects.filter((o) => o.partition === partition).map((o) => o.name);
    const counts = ["domain_metadata.json", "domain_metadata.json.success", "robots.txt", "sitemap.xml"].map(
      (name) => `${names.filter((n) => n === name).length} ${name}`,
    );
    say(`${"".padEnd(12)}${partition}{domain}/  ${counts.join(", ")}`);
  }
  const unreachable = [...documents.values()].filter((d) => !d.reachable).length;
  say(
    `${"".padEnd(12)}${plural(documents.size, "domain")}: ${documents.size - unreachable} reachable, ${unreachable} unreachable`,
  );
}
