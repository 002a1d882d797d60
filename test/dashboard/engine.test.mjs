/* global document, MutationObserver */
// The dashboard in Chromium before the engine itself, on workerd with the sample web: static files
// beside the Worker's own routes, a run that is watched, and a failed file that is repaired and replayed.
import assert from "node:assert/strict";
import { join } from "node:path";
import { after, before, describe, test } from "node:test";
import { domainToUnicode } from "node:url";
import { unstable_readConfig as readConfig } from "wrangler";
import { fixture, quick, root, startEngine, until } from "../e2e/engine.mjs";
import { openPage, said, shots, skip, startBrowser } from "./browser.mjs";
import { staticHeaders } from "./fakeapi.mjs";

const { main, assets } = readConfig(
  { config: join(root, "wrangler.jsonc"), env: "production" },
  { hideWarnings: true },
);
const token = "a-token-of-the-tests";
const authorization = { authorization: `Bearer ${token}` };
const { partitions } = JSON.parse(fixture("sample/expected.json"));
const path = (dir) => dir.replaceAll(/[a-z]+=/g, "");

describe("the engine's dashboard", () => {
  let engine, url;

  before(async () => {
    engine = await startEngine({
      vars: { ...quick, API_TOKEN: token },
      change: (config) => ({ ...config, main, assets: { ...assets, directory: join(root, assets.directory) } }),
    });
    url = (await engine.harness.listen()).url.origin;
  });
  after(() => engine?.close());

  test("static files are public and carry their headers; every other path is the Worker's", async () => {
    const get = (route) => fetch(url + route, { redirect: "manual" });
    const moved = await get("/dashboard");
    assert.deepEqual([moved.status, moved.headers.get("location")], [307, "/dashboard/"]);
    for (const [route, type] of [
      ["/dashboard/", "text/html"],
      ["/dashboard/main.js", "text/javascript"],
      ["/dashboard/style.css", "text/css"],
      ["/dashboard/icon.svg", "image/svg+xml"],
    ]) {
      const answer = await get(route);
      assert.equal(answer.status, 200, route);
      assert.ok(answer.headers.get("content-type").startsWith(type), route);
      for (const [name, value] of Object.entries(staticHeaders()))
        assert.equal(answer.headers.get(name), value, `${route} ${name}`);
      await answer.body.cancel();
    }
    for (const route of ["/dashboard/nothing", "/dashboard/_headers", "/dashboard/../_headers"])
      assert.equal((await get(route)).status, 404, route);
    assert.equal((await (await get("/")).json()).data.name, "newsfork-seed-engine");
    assert.equal((await (await get("/health")).json()).success, true);
    for (const [route, code] of [
      ["/dashboards", "not_found"],
      ["/index.html", "not_found"],
      ["/_headers", "not_found"],
      ["/api/v1/seeds/status", "unauthorized"],
    ]) {
      assert.equal((await (await get(route)).json()).error.code, code, route);
    }
  });

  describe("in Chromium", { skip }, () => {
    let browser, page;

    before(async () => {
      browser = await startBrowser();
      page = await openPage(browser, url, { token: "" });
    });
    after(() => browser?.close());

    const goTo = (hash) => page.evaluate((to) => (location.hash = to), hash);
    const ask = async (method, route, body) => {
      const answer = await engine.api(method, route, body, authorization);
      assert.ok(answer.success, `${method} ${route}: ${JSON.stringify(answer.error)}`);
      return answer.data;
    };
    const status = () => ask("GET", "/api/v1/seeds/status");

    test("the engine refuses a wrong token and accepts its own", async () => {
      for (const [value, wanted] of [
        ["wrong", "This token is not accepted."],
        [token, "No raw files yet."],
      ]) {
        await page.getByLabel("API token").fill(value);
        await page.keyboard.press("Enter");
        await page.getByText(wanted).waitFor();
      }
    });

    test("a run is watched to its end without a reload", async () => {
      await page.evaluate(() => {
        globalThis.seen = [];
        new MutationObserver(() => {
          const now = document.querySelector("section[aria-label=Domains] .large")?.innerText.replaceAll(/\s+/g, " ");
          if (now && globalThis.seen.at(-1) !== now) globalThis.seen.push(now);
        }).observe(document.body, { subtree: true, childList: true, characterData: true });
      });
      for (const [dir, { files }] of Object.entries(partitions)) {
        for (const name of Object.keys(files))
          await ask(
            "PUT",
            `/api/v1/datasets/${path(dir)}/${name}?orchestrate=true`,
            fixture(`sample/raw/${dir}/${name}.json`).toString(),
          );
      }
      const wanted = Object.values(partitions).reduce((n, { domains }) => n + Object.keys(domains).length, 0);
      await until(
        async () => {
          const p = (await status()).processing_stats;
          return p.domains_total === wanted && p.domains_pending === 0 && p.files_pending === 0;
        },
        "the end of the run",
        120,
      );
      const p = (await status()).processing_stats;
      await page.waitForFunction((n) => globalThis.seen.at(-1)?.startsWith(`${n} / ${n} `), wanted, {
        timeout: 30_000,
      });
      const seen = await page.evaluate(() => globalThis.seen);
      assert.ok(seen.length >= 2, `the page showed only ${seen}`);
      const legend = await said(page.getByRole("region", { name: "Domains", exact: true }));
      assert.ok(
        legend.includes(`processed ${p.domains_processed}`) && legend.includes(`failed ${p.domains_failed}`),
        legend,
      );
      await page.screenshot({ path: join(shots, "engine-overview.png"), fullPage: true });
    });

    test("a domain's contract is what the engine wrote", async () => {
      await goTo("#/domain/mom.gov.sg");
      await page.getByRole("heading", { name: "Fetch contract" }).waitFor();
      const { document: doc } = await ask("GET", "/api/v1/seeds/domains/mom.gov.sg");
      assert.match(
        await said(page.getByRole("region", { name: "Server", exact: true })),
        new RegExp(`Host that answered ${doc.technical_metadata.server_info.effective_host} HTTPS yes`),
      );
      const shown = await page
        .getByRole("table", { name: "Raw URLs" })
        .getByRole("link")
        .evaluateAll((links) => links.map((link) => link.href));
      assert.deepEqual(
        shown,
        doc.urls.slice(0, 25).map((one) => new URL(one.url).href),
      );
      const entries = await page
        .getByRole("table", { name: "Entry points" })
        .getByRole("link")
        .evaluateAll((links) => links.map((link) => link.href));
      assert.deepEqual(
        entries,
        doc.fetch_contract.entry_points.map((point) => point.url),
      );
      await page.screenshot({ path: join(shots, "engine-domain.png"), fullPage: true });
    });

    test("the frontier is shown after the run, and a host is blocked and unblocked", async () => {
      const [stats, { hosts }] = await Promise.all([
        ask("GET", "/api/v1/frontier/stats"),
        ask("GET", "/api/v1/frontier/hosts?sort=size"),
      ]);
      assert.ok(stats.urls > 0 && stats.shards.length === 16 && hosts.length > 0, JSON.stringify(stats));
      await goTo("#/frontier?sort=size");
      const table = page.getByRole("table", { name: "Hosts" });
      await table.waitFor();
      assert.match(await said(page.getByRole("region", { name: "In all" })), new RegExp(`URLs ${stats.urls} waiting`));
      const names = await table.locator("tbody tr td:first-child bdi:first-child").allInnerTexts();
      assert.deepEqual(
        new Set(names),
        new Set(hosts.flatMap(({ host, domain }) => [host, domain].map(domainToUnicode))),
      );
      const [{ host }] = hosts;
      await page.getByRole("button", { name: `Block ${host}`, exact: true }).click();
      await page.getByRole("dialog").getByRole("button", { name: "Block" }).click();
      await page.locator(".notice", { hasText: `${host} is blocked.` }).waitFor();
      const blocked = async () =>
        (await ask("GET", "/api/v1/frontier/hosts?blocked=true")).hosts.map((one) => one.host);
      assert.deepEqual(await blocked(), [host]);
      await page.screenshot({ path: join(shots, "engine-frontier.png"), fullPage: true });
      await page.getByRole("button", { name: `Unblock ${host}`, exact: true }).click();
      await page.getByRole("dialog").getByRole("button", { name: "Unblock" }).click();
      await page.locator(".notice", { hasText: `${host} is not blocked any more.` }).waitFor();
      assert.deepEqual(await blocked(), []);
    });

    test("why a domain failed is found from the overview", async () => {
      const failed = (await ask("GET", "/api/v1/seeds/domains?state=failed")).domains;
      assert.ok(failed.length > 0);
      await goTo("#/overview");
      await page.getByRole("region", { name: "Failures by error type" }).getByRole("link").first().click();
      const wanted = failed[0];
      await page.getByRole("link", { name: wanted.domain, exact: true }).first().click();
      const why = page.getByRole("region", { name: "Why it failed" });
      await why.waitFor();
      assert.ok((await said(why)).includes(wanted.error_message.replaceAll(/\s+/g, " ")), await said(why));
    });

    test("a file that failed is repaired and replayed, and its dead letters can be distinguished", async () => {
      const key = "raw/country=sg/category=news/date=2026-01-29/raw_0001.json";
      await engine.put(key, "<html>not a dataset</html>");
      const deadLetters = (state) =>
        ask("GET", `/api/v1/dlq?state=${state}&queue=seed`).then((answer) => answer.dead_letters);
      await ask("POST", "/api/v1/seeds/orchestrate", { country: "sg", category: "news", date: "2026-01-29" });
      await until(async () => (await deadLetters("stored")).length === 1, "the dead letter", 60);

      await goTo("#/dead-letters");
      await page.getByRole("link", { name: "raw_0001.json" }).click();
      await page.getByRole("heading", { name: "Why it was given up" }).waitFor();
      assert.match(await said(page.getByRole("region", { name: "Why it was given up" })), /Unreadable/);
      assert.equal(await page.getByRole("table", { name: "Attempts" }).locator("tbody tr").count(), 1); // the same bytes would fail again
      assert.equal(JSON.parse(await page.locator("pre").innerText()).file_path, key);

      // Replayed as it is, it fails again.
      const replay = async () => {
        await page.getByRole("button", { name: "Replay", exact: true }).click();
        await page.getByRole("dialog").getByRole("button", { name: "Replay" }).click();
        await page.locator(".notice", { hasText: "1 dead letter replayed." }).waitFor();
      };
      await replay();
      assert.equal((await deadLetters("replayed")).length, 1);
      await until(async () => (await deadLetters("stored")).length === 1, "the second dead letter", 60);
      await page.getByRole("heading", { name: "Earlier and later dead letters of the same work" }).waitFor();

      // A raw file is never changed by the API; here its owner does it in the bucket.
      await engine.put(key, [
        { url: "https://www.moh.gov.sg/news-highlights/update-1", title: "<img src=x onerror=alert(1)>" },
      ]);
      await page
        .getByRole("table", { name: /Earlier and later/ })
        .getByRole("link")
        .click();
      await replay();
      await until(async () => (await engine.text(`${key}.success`)) !== null, "the checkpoint of the file", 60);
      assert.equal((await deadLetters("stored")).length, 0);
      await until(
        async () =>
          (await ask("GET", "/api/v1/seeds/domains?country=sg&date=2026-01-29&state=processed")).domains.length === 1,
        "its domain",
        60,
      );
      await goTo("#/domain/moh.gov.sg?country=sg&category=news&date=2026-01-29");
      await page.getByText("<img src=x onerror=alert(1)>", { exact: true }).waitFor();
    });

    test("an exclusion is added, with any characters in its name", async () => {
      await goTo("#/exclusions");
      const pattern = "https://www.moh.gov.sg/a b/%2F/*?q=1&r=2";
      await page.getByLabel("Kind").first().selectOption("url");
      await page.getByLabel("Domain, host or URL pattern").fill(pattern);
      await page.getByLabel("Reason").fill("보도 자료 아님");
      await page.getByRole("button", { name: "Exclude", exact: true }).click();
      await page.getByRole("row", { name: /보도 자료 아님/ }).waitFor();
      assert.deepEqual(
        (await ask("GET", "/api/v1/exclusions")).exclusions.map(({ kind, value, reason }) => [kind, value, reason]),
        [["url", pattern, "보도 자료 아님"]],
      );
      await page.getByRole("button", { name: `Take back ${pattern}` }).click();
      await page.getByRole("dialog").getByRole("button", { name: "Take back" }).click();
      await page.getByText("Nothing is excluded.").waitFor();
    });

    test("the pipeline is paused and resumed", async () => {
      await goTo("#/overview");
      await page.getByRole("button", { name: "Pause pipeline" }).click();
      await page.getByRole("dialog").getByLabel("Reason").fill("the test");
      await page.keyboard.press("Enter");
      await page.getByText("The pipeline is paused. By").waitFor();
      assert.equal((await status()).paused, true);
      await page.getByRole("button", { name: "Resume pipeline" }).first().click();
      await page.getByRole("dialog").getByRole("button", { name: "Resume pipeline" }).click();
      await page.locator(".notice", { hasText: "The pipeline goes on." }).waitFor();
      assert.equal((await status()).paused, false);
    });

    test("a raw file is uploaded from the page, and its domains are collected", async () => {
      await goTo("#/overview");
      const choosing = page.waitForEvent("filechooser");
      await page.getByRole("button", { name: "Upload…" }).click();
      const content = JSON.stringify([{ url: "https://feeds-only.sg/news/item-1", source_type: "media" }]);
      const file = { name: "found.json", mimeType: "application/json", buffer: Buffer.from(content) };
      await (await choosing).setFiles(file);
      const dialog = page.getByRole("dialog");
      for (const [field, value] of [
        ["Country", "Singapore"],
        ["Category", "uploads"],
        ["Date", "2026-01-29"],
      ])
        await dialog.getByLabel(field).fill(value);
      await dialog.getByRole("button", { name: "Upload", exact: true }).click();
      await page.locator(".notice", { hasText: "1 file uploaded and queued." }).waitFor();
      const uploaded = () => ask("GET", "/api/v1/datasets/sg/uploads/2026-01-29");
      assert.deepEqual(
        (await uploaded()).files.map(({ chunk, size }) => [chunk, size]),
        [["raw_0001", content.length]],
      );
      await until(async () => (await uploaded()).files[0].state === "processed", "the file to be processed");
      await until(
        async () => (await ask("GET", "/api/v1/seeds/domains?category=uploads&state=processed")).domains.length === 1,
        "its domain to be collected",
      );
    });

    test("the page logged no errors", () => assert.deepEqual(page.wrongs, []));
  });
});
