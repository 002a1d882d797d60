// The table of docs/benchmarks.md is made of what they recorded, and a goal counts as met only if it was read and holds.
import assert from "node:assert/strict";
import { mkdtempSync, rmSync, readFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { test } from "node:test";
import { fillIn, page, recorded, section } from "../bench/document.mjs";
import { commitOf, latestRuns, meets, merge, root, Rows, table } from "../bench/rows.mjs";

test("docs/benchmarks.md has the table of bench/results.json: run node bench/document.mjs", () => {
  const rows = recorded();
  assert.ok(rows.length >= 15, `${rows.length} rows`);
  assert.equal(page(), fillIn(page(), section(rows)));
});

test("a goal is judged by its unit", () => {
  const row = (goal, values) => meets({ what: "x", goal, ...values });
  for (const [goal, values, met] of [
    ["–", {}, true],
    ["≤ 0.1 × the peer", { engine_ms: 9, ratio: 0.1 }, true],
    ["≤ 0.1 × the peer", { engine_ms: 9, ratio: 0.101 }, false],
    ["≥ 4.5 ×", { ratio: 4.4 }, false],
    ["≤ 15 s, linear memory ≤ 48 MiB", { engine_ms: 14_999, linear_mib: 48 }, true],
    ["≤ 15 s, linear memory ≤ 48 MiB", { engine_ms: 14_999, linear_mib: 48.1 }, false],
    ["≤ 15 s, linear memory ≤ 48 MiB", { engine_ms: 15_001, linear_mib: 2 }, false],
    ["< 50 ms", { engine_ms: 50 }, false],
    ["≤ 3,072 KiB", { engine_kib: 3072.1 }, false],
    ["≥ 50,000 a second", { engine_rate: 50_001 }, true],
    ["≤ 6 µs", { engine_us: 7 }, false],
    ["≤ 2.2", { engine: 2.2 }, true],
  ])
    assert.equal(row(goal, values), met, `${goal} ${JSON.stringify(values)}`);
  for (const goal of ["fast", "≤ 5 parsecs", "", "≤ 0.1 × the peer, soon"])
    assert.throws(() => row(goal, { engine_ms: 1, ratio: 0 }), /cannot be judged/, goal);
  assert.throws(() => row("≤ 0.1 ×", { engine_ms: 1 }), /cannot be judged/, "without a ratio");
});

test("a table has values with their units, and says which goals are missed", () => {
  const rows = [
    { what: "  a file", goal: "≤ 15 s, linear memory ≤ 48 MiB", engine_ms: 16_349, linear_mib: 31.97 },
    { what: "health", goal: "≤ 1.5 ×", engine_ms: 0.2712, peer_ms: 0.24, ratio: 1.13 },
  ];
  assert.equal(
    table(rows),
    `| what | engine | peer | ratio | goal |
| --- | --- | --- | --- | --- |
| a file | 16.3 s, linear memory 32 MiB | | | ≤ 15 s, linear memory ≤ 48 MiB (missed) |
| health | 0.271 ms | 0.24 ms | 1.13 | ≤ 1.5 × |`,
  );
});

test("a complete run replaces all rows of its part, a partial run the rows it repeated", () => {
  const row = (part, what, engine) => ({ part, what, goal: "–", engine });
  const before = [row("runtime", "health", 1), row("pipeline", "file", 1), row("pipeline", "domains", 1)];
  const names = (rows) => rows.map(({ what, engine }) => `${what} ${engine}`);
  assert.deepEqual(names(merge(before, { pipeline: { complete: true, rows: [row("pipeline", "huge", 2)] } })), [
    "health 1",
    "huge 2",
  ]);
  assert.deepEqual(names(merge(before, { pipeline: { complete: false, rows: [row("pipeline", "file", 2)] } })), [
    "health 1",
    "file 2",
    "domains 1",
  ]);
  assert.throws(() => new Rows("pipelines"), /no part/);
});

test("a partial run keeps the other rows of its part", (t) => {
  const dir = mkdtempSync(join(tmpdir(), "bench-"));
  t.after(() => rmSync(dir, { recursive: true }));
  t.mock.method(console, "log", () => {});
  t.mock.method(console, "error", () => {});
  const run = (values, how) => {
    const rows = new Rows("pipeline", dir);
    for (const [what, engine] of Object.entries(values)) rows.report(what, "–", { engine });
    rows.finish(how);
  };
  const left = () => {
    const { pipeline } = latestRuns(dir);
    return [pipeline.complete, ...pipeline.rows.map(({ what, engine }) => `${what} ${engine}`)];
  };
  run({ file: 1 }, { complete: false });
  assert.deepEqual(left(), [false, "file 1"]);
  run({ domains: 2 }, { complete: false });
  assert.deepEqual(left(), [false, "file 1", "domains 2"]);
  run({ file: 3, domains: 3, huge: 3 }, {});
  assert.deepEqual(left(), [true, "file 3", "domains 3", "huge 3"]);
  run({ domains: 4, more: 4 }, { complete: false });
  assert.deepEqual(left(), [true, "file 3", "domains 4", "huge 3", "more 4"], "the part is complete still");
  run({ file: 5 }, { quick: true, complete: false });
  assert.equal(left()[1], "file 3", "a quick run leaves nothing");
  run({ file: 6 }, {});
  assert.deepEqual(left(), [true, "file 6"], "a complete run replaces all");
});

test("make bench-counts makes what wrangler.jsonc names, which a fresh tree lacks", () => {
  const program = readFileSync(join(root, "bench/counts/run.mjs"), "utf8");
  assert.match(program, /^buildEngine\(\);$/m); // build() leaves out the static files
});

test("a tree without a commit can be measured", (t) => {
  const dir = mkdtempSync(join(tmpdir(), "archive-"));
  t.after(() => rmSync(dir, { recursive: true }));
  assert.equal(commitOf(dir), "none");
  assert.match(commitOf(root), /^([0-9a-f]{7,}|none)$/);
});
