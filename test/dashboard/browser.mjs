// Real Chromium for tests of the dashboard. Where it is absent the tests are skipped with a line that
// says why; CI=true forbids that.
/* global document, axe */
import assert from "node:assert/strict";
import { existsSync, mkdirSync, mkdtempSync, readFileSync, rmSync } from "node:fs";
import { createRequire } from "node:module";
import { tmpdir } from "node:os";
import { delimiter, join } from "node:path";
import { after, afterEach, before } from "node:test";
import { fileURLToPath } from "node:url";
import { chromium } from "playwright-core";
import { startFake } from "./fakeapi.mjs";
import { world } from "./world.mjs";

export const root = fileURLToPath(new URL("../..", import.meta.url));

const executable = ["chromium", "chromium-browser", "google-chrome"]
  .flatMap((name) => process.env.PATH.split(delimiter).map((dir) => join(dir, name)))
  .find(existsSync);

/** The skip option of tests that need a browser. */
export const skip =
  executable || process.env.CI === "true" ? false : "there is no chromium; install Debian's package chromium";

/** Where screenshots go. */
export const shots = join(root, "build/dashboard");

/** A browser with a profile of its own, until close(). */
export async function startBrowser() {
  if (!executable)
    throw new Error("there is no chromium, and CI=true forbids skipping: install Debian's package chromium");
  mkdirSync(shots, { recursive: true });
  const profile = mkdtempSync(join(tmpdir(), "seed-engine-chromium-"));
  const browser = await chromium.launch({
    executablePath: executable,
    args: [
      "--headless",
      "--no-sandbox",
      "--disable-gpu",
      "--disable-quic",
      "--no-first-run",
      "--disable-background-networking",
      "--disable-component-update",
      "--disable-sync",
    ],
    env: { ...process.env, HOME: profile },
  });
  const close = browser.close.bind(browser);
  browser.close = async () => {
    await close();
    rmSync(profile, { recursive: true, force: true, maxRetries: 5 });
  };
  return browser;
}

/**
 * A page at the dashboard. What goes wrong in it is collected in page.wrongs: exceptions, console
 * errors other than failed API calls, violations of the Content-Security-Policy, dialogs of the browser
 * and requests to elsewhere.
 */
export async function openPage(
  browser,
  url,
  { hash = "", token = "secret", width = 1280, height = 900, language = "en", colorScheme = "light", ...options } = {},
) {
  const context = await browser.newContext({
    viewport: { width, height },
    locale: language === "en" ? "en-GB" : language,
    timezoneId: "UTC",
    colorScheme,
    reducedMotion: "reduce",
    ...options,
  });
  const page = await context.newPage();
  page.setDefaultTimeout(15_000);
  page.wrongs = [];
  page.on("pageerror", (error) => page.wrongs.push(`exception: ${error.stack ?? error}`));
  page.on(
    "console",
    (message) =>
      message.type() === "error" &&
      !message.text().startsWith("Failed to load resource") &&
      page.wrongs.push(`console: ${message.text()}`),
  );
  page.on("dialog", (dialog) => (page.wrongs.push(`dialog: ${dialog.message()}`), dialog.dismiss()));
  page.on(
    "request",
    (request) =>
      !request.url().startsWith(url) &&
      !request.url().startsWith("blob:") &&
      page.wrongs.push(`request: ${request.url()}`),
  );
  if (token)
    await context.addInitScript(
      (value) =>
        sessionStorage.getItem("tried") ||
        (sessionStorage.setItem("seed-engine-token", value), sessionStorage.setItem("tried", "1")),
      token,
    );
  await page.goto(`${url}/dashboard/${hash}`);
  return page;
}

/** Waits until what is shown has been loaded. */
export const settled = (page) =>
  page.waitForFunction(() => document.querySelector("main") && !document.querySelector(".loading"));

/** The text of an element as it is read: white space is one space. */
export const said = async (locator) => (await locator.innerText()).replaceAll(/\s+/g, " ");

/**
 * The dashboard before an API that plays the engine, for the tests of the describe that calls it. open(hash, {engine, api,
 * …}) gives {page, fake}, where engine is a world, api is what startFake takes and the rest what openPage takes. It closes
 * what was open before, as the end of a test does, and nothing may have gone wrong in it. The other functions look for
 * something on the page.
 */
export function stage() {
  let browser, page, fake;
  const leave = async () => {
    const wrongs = page?.wrongs ?? [];
    await page?.context().close();
    await fake?.close();
    page = fake = null;
    assert.deepEqual(wrongs, []);
  };
  before(async () => (browser = await startBrowser()));
  after(() => browser?.close());
  afterEach(leave);
  return {
    async open(hash = "", { engine = world(), api, ...options } = {}) {
      await leave();
      fake = await startFake(engine, api);
      page = await openPage(browser, fake.url, { hash, ...options });
      await settled(page);
      return { page, fake };
    },
    goTo: (hash) => page.evaluate((to) => (location.hash = to), hash),
    card: (name) => page.getByRole("region", { name, exact: true }),
    button: (name) => page.getByRole("button", { name, exact: true }),
    dialog: () => page.getByRole("dialog"),
    notice: (text) => page.locator(".notice", { hasText: text }).waitFor(),
    sent: (method, path) => fake.calls.filter((call) => call.method === method && call.path.startsWith(path)),
  };
}

const axeSource = readFileSync(createRequire(import.meta.url).resolve("axe-core/axe.min.js"), "utf8");

/** What axe-core finds in a page: one line a violation and element. */
export async function violations(page) {
  if (!(await page.evaluate(() => "axe" in globalThis))) await page.evaluate(axeSource);
  const { violations: found } = await page.evaluate(() =>
    axe.run(document, { runOnly: ["wcag2a", "wcag2aa", "wcag21a", "wcag21aa", "wcag22aa", "best-practice"] }),
  );
  return found.flatMap(({ id, nodes }) =>
    nodes.map((node) => `${id}: ${node.target} ${node.html.slice(0, 160)} ${node.failureSummary}`),
  );
}
