// README.ko.md and README.md have the same headings, commands, tables, figures and links; docs/operations.ko.md has the
// headings and commands of its original. People keep the words in step; this test compares the rest.
import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { test } from "node:test";

const read = (name) => readFileSync(new URL(`../${name}`, import.meta.url), "utf8").split("\n");
const all = (text, pattern) => Array.from(text.matchAll(pattern), ([match]) => match);

/** A table row: its code, and the figures in its other cells. */
function row(line) {
  const words = line.replaceAll(/`[^`]*`|\]\([^)]*\)/g, "");
  return [
    ...all(line, /`[^`]*`/g),
    "|",
    ...all(words, /\d[\d,.]*/g)
      .map((figure) => figure.replace(/[.,]$/, ""))
      .sort(),
  ];
}

/** A line of a code block without its explanation: a comment, or a second column. */
const command = (line) =>
  line
    .replace(/(^|\s+)#( |$).*/, "")
    .trim()
    .split(/\s{2,}(?![-@'])/)[0];

/** The comparable parts of a section. */
function section(lines) {
  const prose = lines.filter((line) => !/^( {4}|\|)/.test(line)).join("\n");
  const tables = lines.filter((line) => line.startsWith("|"));
  return {
    level: /^#+/.exec(lines[0])[0],
    blocks: lines
      .filter((line) => line.startsWith("    "))
      .map(command)
      .filter(Boolean),
    columns: tables.map((line) => line.split(/(?<!\\)\|/).length),
    rows: tables.map(row),
    links: all(prose, /\]\([^)]+\)/g)
      .filter((link) => !link.startsWith("](README"))
      .sort(),
    code: all(prose, /`[^`]+`/g).sort(),
  };
}

function sections(name) {
  const found = [];
  for (const line of read(name)) {
    if (/^#+ /.test(line)) found.push([line]);
    else found.at(-1)?.push(line);
  }
  return found;
}

test("README.ko.md has what README.md has", () => {
  const [english, korean] = [sections("README.md"), sections("README.ko.md")];
  assert.deepEqual(
    korean.map(([heading]) => heading.match(/^#+/)[0]),
    english.map(([heading]) => heading.match(/^#+/)[0]),
    "headings",
  );
  for (const [i, lines] of english.entries())
    assert.deepEqual(section(korean[i]), section(lines), `${lines[0]}: README.ko.md (actual) and README.md (expected)`);
});

test("docs/operations.ko.md has the headings and commands of docs/operations.md", () => {
  const parts = (name) =>
    sections(name).map((lines) => {
      const { level, blocks } = section(lines);
      return { level, blocks };
    });
  assert.deepEqual(parts("docs/operations.ko.md"), parts("docs/operations.md"));
});
