/* global document, innerWidth */
// The operators' page of the Info service in Chromium, as its collector serves it on workerd.
import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { after, before, describe, test } from "node:test";
import { harnessOf } from "../harness.mjs";
import { languages } from "../../dashboard/public/dashboard/preferences.js";
import { build } from "../../worker/build.mjs";
import { openPage, root, settled, shots, skip, startBrowser, violations } from "./browser.mjs";
import { startFake } from "./fakeapi.mjs";
import { world } from "./world.mjs";
import { unstable_readConfig as readConfig } from "wrangler";

const rss = `<rss><channel><title>P</title><item><title>Solar power</title><link>https://press.example/1</link><pubDate>${new Date().toUTCString()}</pubDate></item></channel></rss>`;
const pages = {
  "openapi.naver.com/v1/search/news.json": {
    body: readFileSync(join(root, "info/testdata/naver_page1_ok.json"), "utf8"),
  },
  "feeds.example/one": { body: rss },
};

function configuration() {
  build(join(root, "info/collector"), join(root, "build/info-collector"));
  const config = readConfig({ config: join(root, "info/collector/wrangler.jsonc") }, { hideWarnings: true });
  const { name, main, compatibility_date, rules, kv_namespaces, assets } = config;
  return {
    ...{ name, main, compatibility_date, rules, kv_namespaces },
    assets: { ...assets, directory: join(root, "dashboard/public") },
    d1_databases: config.d1_databases.map((db) => ({ ...db, migrations_dir: join(root, "info/store/migrations") })),
    services: [{ binding: "EGRESS", service: "newsweb" }],
    vars: {
      ENVIRONMENT: "development",
      FEEDS: "https://feeds.example/one\nhttps://feeds.example/two",
      NAVER_CLIENT_ID: "id",
      NAVER_CLIENT_SECRET: "sesame",
      NAVER_QUERIES: "환경",
      NAVER_DAILY_LIMIT: "2",
      API_TOKEN: "secret",
    },
  };
}

describe("the operators' page of the Info service", { skip }, () => {
  let browser, harness, url, web;

  before(async () => {
    browser = await startBrowser();
    const config = configuration();
    const newsweb = {
      name: "newsweb",
      main: join(root, "test/workers/newsweb.mjs"),
      compatibility_date: "2026-11-01",
      vars: { PAGES: JSON.stringify(pages) },
    };
    harness = harnessOf(config, newsweb);
    url = (await harness.listen()).url.origin;
    await harness.getWorker(config.name).applyD1Migrations("INFO_DB");
    web = harness.getWorker("newsweb");
  });
  after(async () => {
    await browser?.close();
    await harness?.close();
  });

  const open = (options) => openPage(browser, url, { hash: "info/", ...options });
  const notice = (page, text) => page.locator(".notice", { hasText: text }).waitFor();

  test("asks for a token, collects, replays and discards, by keyboard", async () => {
    const page = await open({ token: "wrong" });
    await page.getByText("This token is not accepted.").waitFor();
    await page.getByLabel("API token").fill("secret");
    await page.keyboard.press("Enter");
    await page.getByRole("row", { name: /^Naver/ }).waitFor();
    assert.match(await page.title(), /^Sources · Info service$/);
    assert.match(await page.getByRole("row", { name: /^NewsData\.io/ }).textContent(), /off/);

    await page.getByRole("button", { name: "Collect now: Naver" }).focus();
    await page.keyboard.press("Enter");
    await page.getByRole("dialog").waitFor();
    await page.keyboard.press("Escape");
    await page.getByRole("dialog").waitFor({ state: "detached" });
    await page.getByRole("button", { name: "Collect all now" }).focus();
    await page.keyboard.press("Enter");
    await page.getByRole("dialog").getByRole("button", { name: "Collect now" }).focus();
    await page.keyboard.press("Enter");
    await notice(page, /Naver: 10 articles, 10 new\. Feeds: 1 article, 1 new\./);
    const row = page.getByRole("row", { name: /^Naver/ });
    await page.waitForFunction(() => document.body.textContent.includes("1 of 2"));
    assert.match(await row.textContent(), /10 articles, 10 new/);

    // The second feed is missing: its dead letter fails again, then succeeds, then is discarded.
    const letter = page.getByRole("row", { name: /^Feeds https:\/\/feeds\.example\/two/ });
    await letter.waitFor();
    assert.match(await letter.textContent(), /refused/);
    const replay = async (what) => {
      await page.getByRole("button", { name: "Replay all (1)…" }).click();
      await page.getByRole("dialog").getByRole("button", { name: "Replay" }).click();
      await notice(page, what);
    };
    await replay(/0 replayed, 1 failed again/);
    await page.getByRole("button", { name: "Discard https://feeds.example/two" }).click();
    await page.getByRole("dialog").getByRole("button", { name: "Discard" }).click();
    await notice(page, "1 dead letter discarded.");
    await page.getByText("No failed requests.").waitFor();
    await page.getByRole("button", { name: "Collect now: Feeds" }).click();
    await page.getByRole("dialog").getByRole("button", { name: "Collect now" }).click();
    await letter.waitFor();
    await web.fetch("https://control.example/", {
      method: "POST",
      body: JSON.stringify({ "feeds.example/two": { body: rss.replace("/1<", "/2<") } }),
    });
    await replay(/1 replayed, 0 failed again; 1 new article\./);

    // The last call in Naver's daily quota fires the alarm.
    await page.getByRole("button", { name: "Collect now: Naver" }).click();
    await page.getByRole("dialog").getByRole("button", { name: "Collect now" }).click();
    await page
      .locator(".banner", { hasText: "Naver: Calls of the day that are used, 100%; the alarm fires from 80%." })
      .waitFor();
    assert.deepEqual(page.wrongs, []);
    await page.context().close();
  });

  test("shows each feed, finds an article, takes it down and restores it", async () => {
    const page = await open({ token: "secret" });
    const one = page.getByRole("row", { name: /feeds\.example\/one/ });
    await one.waitFor();
    assert.match(await one.textContent(), /now|second/);
    const find = page.getByLabel("URL, id or words of an article");
    for (const [q, found] of [
      ["http://www.press.example/1/?utm_source=x", /press\.example\/1 /],
      ["solar", /press\.example\/2 /], // and the first, of the same title
    ]) {
      await find.fill(q);
      await page.keyboard.press("Enter");
      await page.getByRole("row", { name: found }).waitFor();
    }
    const first = page.getByRole("row", { name: /press\.example\/1 / });
    await first.getByRole("button", { name: "Take down: Solar power" }).click();
    await page.getByRole("dialog").getByRole("button", { name: "Take down…" }).click();
    await notice(page, "Taken down.");
    await find.fill("https://press.example/1");
    await page.keyboard.press("Enter");
    await page.getByText("taken down", { exact: true }).waitFor();
    await page.getByRole("button", { name: "Restore: Solar power" }).click();
    await page.getByRole("dialog").getByRole("button", { name: "Restore…" }).click();
    await notice(page, "Restored.");
    await page.getByRole("button", { name: "Take down: Solar power" }).waitFor();
    await find.fill("nothing like it");
    await page.keyboard.press("Enter");
    await page.getByText("No article was found.").waitFor();
    assert.deepEqual(page.wrongs, []);
    await page.context().close();
  });

  test("shows what the last search found, whichever answer arrives last", async () => {
    const page = await open({ token: "secret" });
    const find = page.getByLabel("URL, id or words of an article");
    const slow = Promise.withResolvers();
    await page.route("**/api/v1/info/articles?q=solar", async (route) => {
      await slow.promise;
      await route.continue().catch(() => {}); // the page no longer waits for it
    });
    await find.fill("solar");
    await page.keyboard.press("Enter");
    await find.fill("nothing like it");
    await page.keyboard.press("Enter");
    await page.getByText("No article was found.").waitFor();
    slow.resolve();
    await page.unrouteAll({ behavior: "wait" });
    await page.waitForLoadState("networkidle");
    assert.equal(await page.getByRole("row", { name: /Solar power/ }).count(), 0);
    assert.deepEqual(page.wrongs, []);
    await page.context().close();
  });

  for (const language of Object.keys(languages))
    for (const colorScheme of ["light", "dark"])
      test(`axe-core finds nothing, and 320 pixels are enough: ${language}, ${colorScheme}`, async () => {
        for (const width of [1280, 320]) {
          const page = await open({ language, colorScheme, width });
          await settled(page);
          await page.getByRole("row", { name: /NewsData/ }).waitFor();
          assert.deepEqual(await violations(page), []);
          assert.ok(
            await page.evaluate(() => document.documentElement.scrollWidth <= innerWidth),
            "it scrolls sideways",
          );
          assert.equal(await page.getAttribute("html", "lang"), language);
          await page.screenshot({ path: join(shots, `info-${language}-${colorScheme}-${width}.png`), fullPage: true });
          assert.deepEqual(page.wrongs, []);
          await page.context().close();
        }
      });

  test("the collector's other routes need a token, as the engine's do", async () => {
    const answer = await fetch(`${url}/dashboard/info/`);
    assert.match(answer.headers.get("content-security-policy"), /default-src 'none'; .*connect-src 'self'/);
    assert.equal((await fetch(`${url}/api/v1/info/status`)).status, 401);
    const page = await openPage(browser, url); // the engine's page, which this is not
    await page.waitForURL(/\/dashboard\/info\/$/);
    await page.context().close();
  });

  test("the engine's page links to it if INFO_COLLECTOR_URL is set", async (t) => {
    const at = "https://info-collector.example.com/dashboard/info/";
    for (const address of [at, undefined]) {
      const fake = await startFake(world(), {
        alter: (data) => (data.endpoints ? { ...data, info_dashboard: address } : data),
      });
      t.after(() => fake.close());
      const page = await openPage(browser, fake.url);
      await settled(page);
      await page.getByText("1.0.0").waitFor(); // the answer with the address
      const link = page.getByRole("link", { name: "Info service" });
      assert.equal(await link.count(), address ? 1 : 0);
      if (address) assert.equal(await link.getAttribute("href"), address);
      assert.deepEqual(page.wrongs, []);
      await page.context().close();
    }
  });
});
