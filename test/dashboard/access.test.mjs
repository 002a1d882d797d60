/* global document, getComputedStyle, innerWidth */
// The dashboard for everyone: no violations that axe-core finds, no sideways scrolling at 320 px
// (1,280 px at 400 %), and everything by keyboard. Screenshots of every view stay in build/dashboard.
import assert from "node:assert/strict";
import { join } from "node:path";
import { after, before, describe, test } from "node:test";
import { languages } from "../../dashboard/public/dashboard/preferences.js";
import { openPage, settled, shots, skip, startBrowser, violations } from "./browser.mjs";
import { startFake } from "./fakeapi.mjs";
import { lively, show, views } from "./views.mjs";
import { emptyWorld, world } from "./world.mjs";

describe("the dashboard for everyone", { skip }, () => {
  let browser, fake;

  before(async () => {
    browser = await startBrowser();
    fake = await startFake(lively(world()), { rows: 10 });
  });
  after(async () => {
    await browser?.close();
    await fake?.close();
  });

  // Colours do not depend on the language: each is seen in one scheme, each scheme in one language.
  describe("axe-core finds nothing", { concurrency: 2 }, () => {
    for (const [language, colorScheme] of [
      ["en", "light"],
      ["ko", "dark"],
    ])
      test(`${language}, ${colorScheme}`, async () => {
        const page = await openPage(browser, fake.url, { language, colorScheme });
        await settled(page);
        for (const view of views) {
          await show(page, view);
          await page.screenshot({
            path: join(shots, `${view.name}-${language}-${colorScheme}.png`),
            fullPage: !view.open,
          });
          assert.deepEqual(await violations(page), [], view.name);
          if (view.open) await page.keyboard.press("Escape");
        }
        assert.deepEqual(page.wrongs, []);
        await page.context().close();
      });
  });

  test("axe-core finds planted faults", async () => {
    const page = await openPage(browser, fake.url);
    await settled(page);
    await page.evaluate(() => {
      document.querySelector("label[for=filter-category]").remove();
      document.documentElement.removeAttribute("lang");
    });
    assert.deepEqual((await violations(page)).map((line) => line.split(":")[0]).sort(), ["html-has-lang", "label"]);
    await page.context().close();
  });

  test("axe-core finds nothing in the form for the token, in failures and in an engine without files", async (t) => {
    const bare = await startFake(emptyWorld());
    t.after(() => bare.close());
    for (const colorScheme of ["light", "dark"]) {
      const page = await openPage(browser, bare.url, { token: "wrong", colorScheme });
      await page.getByText("This token is not accepted.").waitFor();
      await page.screenshot({ path: join(shots, `token-en-${colorScheme}.png`) });
      assert.deepEqual(await violations(page), []);
      await page.getByLabel("API token").fill("secret");
      await page.keyboard.press("Enter");
      await page.getByText("No raw files yet.").waitFor();
      assert.deepEqual(await violations(page), []);
      bare.failing = [503, { success: false, error: { code: "storage_error", message: "the storage did not answer" } }];
      await page.getByRole("button", { name: "Refresh" }).click();
      await page.getByText("Could not refresh").waitFor();
      assert.deepEqual(await violations(page), []);
      bare.failing = null;
      await page.context().close();
    }
  });

  for (const language of Object.keys(languages)) {
    test(`320 pixels are wide enough: ${language}`, async () => {
      const page = await openPage(browser, fake.url, { width: 320, height: 640, language });
      await settled(page);
      for (const view of views) {
        await show(page, view);
        await page.screenshot({ path: join(shots, `${view.name}-${language}-320.png`), fullPage: !view.open });
        const wide = await page.evaluate(() => {
          const clipped = (node) => node.closest(".unseen, thead") !== null;
          const over = [...document.querySelectorAll("#app *, dialog *")].filter(
            (node) => !clipped(node) && node.getBoundingClientRect().right > innerWidth + 1,
          );
          const scrolls = [...document.querySelectorAll("#app *, dialog, dialog *")].filter(
            (node) =>
              !clipped(node) &&
              node.scrollWidth > node.clientWidth + 1 &&
              ["auto", "scroll"].includes(getComputedStyle(node).overflowX),
          );
          return {
            page: document.documentElement.scrollWidth,
            over: over.map((node) => node.outerHTML.slice(0, 120)),
            scrolls: scrolls.map((node) => node.outerHTML.slice(0, 120)),
          };
        });
        assert.deepEqual(wide, { page: 320, over: [], scrolls: [] }, view.name);
        if (view.open) await page.keyboard.press("Escape");
      }
      await page.context().close();
    });
  }

  describe("by keyboard only", () => {
    const focused = (page) =>
      page.evaluate(() => ({
        name: document.activeElement.getAttribute("aria-label") ?? document.activeElement.innerText ?? "",
        tag: document.activeElement.tagName,
        outline: getComputedStyle(document.activeElement).outlineStyle,
        shown: document.activeElement.getBoundingClientRect().width > 8,
      }));

    /** Presses Tab until the focus is on what is wanted; every stop must be visible. */
    async function tabTo(page, wanted) {
      for (let i = 0; i < 120; i++) {
        await page.keyboard.press("Tab");
        const now = await focused(page);
        assert.ok(
          now.shown && (now.outline !== "none" || now.tag === "BODY"),
          `the focus cannot be seen on ${JSON.stringify(now)}`,
        );
        if (wanted.test(now.name)) return now;
      }
      throw new Error(`Tab never reaches ${wanted}`);
    }

    test("a dead letter is found and replayed", async (t) => {
      const engine = await startFake(world());
      t.after(() => engine.close());
      const page = await openPage(browser, engine.url);
      await settled(page);
      await page.keyboard.press("Tab");
      assert.match((await focused(page)).name, /Skip to content/);
      await page.keyboard.press("Enter");
      assert.equal((await focused(page)).tag, "H1");
      await page.keyboard.press("Shift+Tab");
      await tabTo(page, /^(Sign out)$/);
      await page.reload();
      await settled(page);
      await tabTo(page, /^Dead letters/);
      await page.keyboard.press("Enter");
      await page.getByRole("heading", { name: "Dead letters" }).waitFor();
      await settled(page);
      assert.equal((await focused(page)).tag, "H1", "a new view begins at its title");
      await tabTo(page, /^Replay rail-news-358\.example$/);
      await page.keyboard.press("Enter");
      await page.getByRole("dialog").waitFor();
      assert.match((await focused(page)).name, /^Replay$/);
      for (let i = 0; i < 6; i++) {
        await page.keyboard.press("Tab");
        assert.ok(
          await page.evaluate(
            () => document.activeElement === document.body || document.activeElement.closest("dialog") !== null,
          ),
          "the focus stays in the dialog",
        );
      }
      await page.keyboard.press("Escape");
      await page.getByRole("dialog").waitFor({ state: "detached" });
      assert.equal((await focused(page)).name, "Replay rail-news-358.example", "the focus is back where it was");
      assert.equal(engine.calls.filter((call) => call.method === "POST").length, 0);
      await page.keyboard.press("Enter");
      await page.keyboard.press("Enter");
      await page.locator(".notice", { hasText: "1 dead letter replayed." }).waitFor();
      assert.deepEqual(
        engine.calls.filter((call) => call.method === "POST").map((call) => call.body),
        [{ ids: ["m-002"] }],
      );
      await page.context().close();
    });

    test("every control of every view is reached, and none traps the focus", async () => {
      const page = await openPage(browser, fake.url);
      await settled(page);
      for (const view of views.filter((view) => !view.open)) {
        await show(page, view);
        await page.evaluate(() => {
          for (const node of document.querySelectorAll("[data-reached]")) delete node.dataset.reached;
          document.querySelector(".skip").focus();
        });
        const stops = await page.evaluate(
          () => document.querySelectorAll("a[href], button, input, select, summary, [tabindex='0']").length,
        );
        for (let i = 0; i < stops; i++) {
          await page.keyboard.press("Tab");
          const last = await page.evaluate(() => {
            document.activeElement.dataset.reached = "yes";
            return document.activeElement.closest("footer") !== null;
          });
          if (last) break;
        }
        const missed = await page.evaluate(() =>
          [
            ...document.querySelectorAll(
              "header :is(a, button, select), main :is(a[href], button:not(:disabled), input:not(:disabled), select, summary, [tabindex='0']), footer a",
            ),
          ]
            .filter((node) => node.checkVisibility() && !node.dataset.reached)
            .map((node) => node.outerHTML),
        );
        assert.deepEqual(missed, [], view.name);
      }
      assert.equal(await page.evaluate(() => location.hash), "#/nowhere");
      await page.context().close();
    });
  });

  test("there is no movement for users who prefer none", async () => {
    const page = await openPage(browser, fake.url, { reducedMotion: "reduce" });
    await settled(page);
    const seconds = () => page.evaluate(() => getComputedStyle(document.querySelector(".bar rect")).transitionDuration);
    assert.equal(await seconds(), "0s");
    await page.emulateMedia({ reducedMotion: "no-preference" });
    assert.notEqual(await seconds(), "0s");
    await page.context().close();
  });
});
