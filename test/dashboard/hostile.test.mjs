/* global document */
// The dashboard shows all content of websites, raw files and messages as text: payloads in every
// string of every response, in every view, run nothing, load nothing and link nowhere.
import assert from "node:assert/strict";
import { after, before, describe, test } from "node:test";
import { openPage, settled, skip, startBrowser } from "./browser.mjs";
import { startFake } from "./fakeapi.mjs";
import { lively, show, views } from "./views.mjs";
import { world } from "./world.mjs";

const payloads = [
  "<img src=x onerror=window.struck=1>",
  "<script>window.struck=1</script>",
  '"><svg onload=window.struck=1>',
  "'-window.struck=1-'",
  "</title><script>window.struck=1</script>",
  "javascript:window.struck=1//",
  "data:text/html,<script>parent.struck=1</script>",
  "<style>*{display:none}</style>",
  "<iframe srcdoc='<script>parent.struck=1</script>'>",
  "{{constructor.constructor('window.struck=1')()}}${window.struck=1}",
  "<a href=javascript:window.struck=1>x</a>",
  "‮gnp.exe\u0000‏",
  "__proto__",
  "W".repeat(600),
];

/** Strings that the engine itself sets. They keep their values, so that views take the same paths as with real data. */
const own = new Set(
  "state error_type queue_name queue_role country category date collected_at queued_at failed_at resolved_at since updated_at hour created_at id cursor kind name unit environment oldest".split(
    " ",
  ),
);

/** Copies a response with payloads in its strings, starting with the given one: in strings from sites, or in all. */
function poisoned(everything, first = 0) {
  let next;
  const strike = (value, key) => {
    if (Array.isArray(value)) return value.map((one) => strike(one, key));
    if (value && typeof value === "object")
      return Object.fromEntries(
        Object.entries(value).map(([name, inner]) => [
          everything && name === "content_signals" ? name : name,
          strike(inner, name),
        ]),
      );
    if (typeof value !== "string" || (!everything && own.has(key))) return value;
    const payload = payloads[next++ % payloads.length];
    return /^(https?|javascript):/.test(value) && next % 2 ? `${value}${payload}` : payload;
  };
  return (data) => {
    next = first;
    return strike(data);
  };
}

describe("hostile content", { skip }, () => {
  let browser;
  before(async () => (browser = await startBrowser()));
  after(() => browser?.close());

  for (const [what, everything] of [
    ["what comes from outside", false],
    ["every string", true],
  ]) {
    for (const width of [1280, 320]) {
      test(`in ${what}, at ${width} pixels`, async (t) => {
        const fake = await startFake(lively(world()), { alter: poisoned(everything), rows: 20 });
        t.after(() => fake.close());
        const page = await openPage(browser, fake.url, { width });
        await page.addInitScript(() =>
          document.addEventListener("securitypolicyviolation", (event) =>
            console.error(`violation of ${event.violatedDirective}`),
          ),
        );
        await page.reload();
        await settled(page);
        for (const view of views.filter((view) => !everything || !view.open)) {
          await show(page, view);
          await page.waitForTimeout(50);
          const found = await page.evaluate(() => ({
            struck: globalThis.struck,
            foreign: [
              ...document.querySelectorAll(
                "#app img, #app iframe, #app style, #app script, #app object, #app embed, #app [onerror], #app [onload], #app [style], #app [srcdoc]",
              ),
            ].length,
            links: [...document.querySelectorAll("a[href]")]
              .map((a) => a.getAttribute("href"))
              .filter((href) => !/^(https?:\/\/|#)/.test(href)),
            opens: [...document.querySelectorAll("a[target]")].filter((a) => !a.rel.includes("noopener")).length,
            wide: document.documentElement.scrollWidth,
            hidden: document.querySelector("h1").getBoundingClientRect().width === 0,
          }));
          assert.deepEqual(
            found,
            { struck: undefined, foreign: 0, links: [], opens: 0, wide: width, hidden: false },
            view.name,
          );
          if (view.open) await page.keyboard.press("Escape");
        }
        assert.deepEqual(page.wrongs, []);
        await page.context().close();
      });
    }
  }

  test("in the first strings of every answer, at 320 pixels", async (t) => {
    let first = 0;
    const fake = await startFake(world(), { alter: (data) => poisoned(true, first)(data) });
    t.after(() => fake.close());
    const page = await openPage(browser, fake.url, { width: 320 });
    for (; first < payloads.length; first++) {
      await page.reload();
      await settled(page);
      assert.equal(await page.evaluate(() => document.documentElement.scrollWidth), 320, payloads[first]);
    }
    await page.context().close();
  });

  test("the payloads are shown as text", async (t) => {
    const fake = await startFake(world(), { alter: poisoned(false) });
    t.after(() => fake.close());
    const page = await openPage(browser, fake.url, { hash: "#/domain/city-council-2.example" });
    await settled(page);
    const text = await page.evaluate(() => document.body.textContent);
    for (const payload of payloads)
      assert.ok(
        text.includes(payload.replace("\u0000", "")) ||
          text.includes(payload) ||
          text.includes(JSON.stringify(payload).slice(1, -1)),
        payload,
      );
    await page.context().close();
  });

  test("in the address", async (t) => {
    const fake = await startFake(world());
    t.after(() => fake.close());
    for (const hash of [
      "#/<img src=x onerror=window.struck=1>",
      "#/domain/<svg onload=window.struck=1>",
      '#/domains?cursor="><script>window.struck=1</script>&state=<b>',
      '#/exclusions?add=domain&value="><script>window.struck=1</script>',
      "#/__proto__",
      "#/constructor",
    ]) {
      const page = await openPage(browser, fake.url, { hash });
      await page.getByRole("heading", { level: 1 }).waitFor();
      assert.equal(await page.evaluate(() => globalThis.struck), undefined, hash);
      assert.deepEqual(page.wrongs, [], hash);
      await page.context().close();
    }
  });
});
