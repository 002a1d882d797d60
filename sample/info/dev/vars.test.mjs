// Lines of .dev.vars that wrangler drops: of FEEDS without quotes only the first counts.
import assert from "node:assert/strict";
import { test } from "node:test";
import { lostLines } from "./vars.mjs";

test("lines of a value without quotes are lost, those within quotes are not", () => {
  for (const [text, lost] of [
    ["FEEDS=https://a.example/rss\nhttps://b.example/rss?x=1\n", ["https://b.example/rss?x=1"]],
    ['FEEDS="https://a.example/rss\nhttps://b.example/rss"\nAPI_TOKEN=x\n', []],
    ["FEEDS='https://a.example/rss\nhttps://b.example/rss'\nlost\n", ["lost"]],
    ['# a comment\n\nexport A=1\nB: 2\nC="x"\n', []],
  ])
    assert.deepEqual(lostLines(text), lost, text);
});
