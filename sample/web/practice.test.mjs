// everyday-news.sg and `make web`, as docs/sample-web.md describes them.
import assert from "node:assert/strict";
import { spawn } from "node:child_process";
import { readFileSync } from "node:fs";
import { request } from "node:http";
import { mock, test } from "node:test";
import { scheduler } from "node:timers/promises";
import { fileURLToPath } from "node:url";

globalThis.scheduler ??= scheduler; // workerd has it
const { default: web } = await import("./web.mjs");
const get = (path, headers = {}) => web.fetch(new Request(`https://everyday-news.sg${path}`, { headers }));
const documented = readFileSync(new URL("../../docs/sample-web.md", import.meta.url), "utf8");

mock.timers.enable({ apis: ["Date"], now: Date.parse("2026-03-01T09:00:00Z") });
await get("/"); // its clock begins

test("every path of the document exists", async () => {
  const [, table] = /^## everyday-news\.sg$(.*?)^## /ms.exec(documented);
  const paths = [...table.matchAll(/^\|(.*?)\|/gm)].flatMap(([, cell]) =>
    [...cell.matchAll(/`(\/[^`]*)`/g)].map(([, path]) => path),
  );
  assert.ok(paths.length > 15);
  for (const path of paths) {
    const answer = await get(path);
    assert.notEqual(answer.status, 404, path);
    await answer.body?.cancel();
  }
});

test("an article answers its validators with 304, and has its language's words", async () => {
  const first = await get("/ko/night-library");
  assert.match(await first.text(), /<html lang="ko">[^]*밤에 여는 도서관/);
  for (const headers of [
    { "if-none-match": first.headers.get("etag") },
    { "if-modified-since": first.headers.get("last-modified") },
  ])
    assert.equal((await get("/ko/night-library", headers)).status, 304);
});

test("copies have the same text and the same canonical URL", async () => {
  const texts = await Promise.all(["", "/print", "/mobile"].map(async (end) => (await get(`/en/copies${end}`)).text()));
  assert.equal(new Set(texts).size, 1);
  assert.match(texts[0], /rel="canonical" href="https:\/\/everyday-news\.sg\/en\/copies"/);
});

test("redirects lead within the host, to another, and in circles", async () => {
  const to = async (path) => (await get(path)).headers.get("location");
  assert.equal(await to("/en/old-address"), "https://everyday-news.sg/en/night-library");
  assert.equal(await to("/en/elsewhere"), "https://new-name.sg/story-1");
  assert.equal(await to("/en/round-and-round"), "https://everyday-news.sg/en/round-and-round");
});

test("a minute of maintenance, an entry each minute, a correction after ten", async () => {
  const sitemap = async () => await (await get("/sitemap-moving.xml")).text();
  const down = await get("/en/maintenance");
  assert.deepEqual([down.status, down.headers.get("retry-after")], [503, "60"]);
  const [live, budget, dates] = [
    await get("/en/live"),
    await (await get("/en/budget-figures")).text(),
    await sitemap(),
  ];
  assert.match(budget, /<h1>The budget grows by 40 percent/);

  mock.timers.tick(61_000);
  assert.equal((await get("/en/maintenance")).status, 200);
  assert.equal((await get("/en/live", { "if-none-match": live.headers.get("etag") })).status, 200);
  assert.notEqual(await sitemap(), dates);

  mock.timers.tick(600_000);
  assert.match(await (await get("/en/budget-figures")).text(), /<h1>Correction: the budget grows by 4 percent/);
  assert.match(await sitemap(), /budget-figures<\/loc><lastmod>2026-03-01T09:10:00Z/);
});

test("make web's program answers for the web's hosts, and for no other", async (t) => {
  const program = spawn(process.execPath, [fileURLToPath(new URL("serve.mjs", import.meta.url))], {
    env: { ...process.env, PORT: "0" },
    stdio: ["ignore", "pipe", "inherit"],
  });
  t.after(() => program.kill());
  let port;
  for await (const text of program.stdout) {
    port = /127\.0\.0\.1:(\d+)/.exec(text)[1];
    break;
  }
  const status = (path) =>
    new Promise((resolve, reject) =>
      request({ host: "127.0.0.1", port, path }, (answer) => resolve(answer.resume().statusCode))
        .on("error", reject)
        .end(),
    );
  assert.equal(await status("http://plain-http.sg/page-1"), 200);
  assert.equal(await status("http://everyday-news.sg/en"), 301);
  await assert.rejects(status("http://www.example.com/"), { code: "ECONNRESET" });
});
