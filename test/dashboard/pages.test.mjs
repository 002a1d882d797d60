/* global document, getComputedStyle */
// The dashboard in Chromium, against a fake API.
import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { describe, test } from "node:test";
import { said, settled, skip, stage } from "./browser.mjs";
import { staticHeaders } from "./fakeapi.mjs";
import { emptyWorld, world } from "./world.mjs";

describe("the dashboard", { skip }, () => {
  const { open: openOn, button, card, dialog, goTo, notice, sent: calls } = stage();
  let fake, page;
  const open = async (...args) => ({ fake, page } = await openOn(...args));

  const text = (selector) => said(page.locator(selector));
  const sent = (method, path) => calls(method, path).map((call) => call.body);

  test("shows the numbers of the documents' example", async () => {
    await open();
    assert.match(await said(card("Files")), /145 \/ 150 finished\s+97%\s+processed 142\s+failed 3\s+pending 5/);
    assert.match(
      await said(card("Domains")),
      /1,205 \/ 1,250 finished\s+96%\s+processed 1,180\s+failed 25\s+pending 45/,
    );
    assert.match(
      await said(card("Rates")),
      /robots.txt found\s+84%\s+1,050 of 1,250\s+Sitemap found\s+71%\s+890 of 1,250\s+Domains failed\s+2.1%\s+25 of 1,205\s+Average time\s+1.25 sec[^/]+Average time of a file\s+840 ms/,
    );
    assert.equal(await card("Partitions").locator("tbody tr").count(), 8);
    assert.match(await said(card("Failures by error type")), /Network[\s\S]+12[\s\S]+Unreadable[\s\S]+3/);
    assert.equal(await card("Slowest domains").locator("tbody tr").count(), 10);
    assert.equal(await card("Domains an hour").locator(".columns rect.tone-good").count(), 24);
  });

  test("failed files show in the row of their partition, and unfiltered numbers are marked", async () => {
    const engine = world();
    const { partition_info: place } = engine.files[0];
    const files = engine.files.filter((file) => file.partition_info === place);
    for (const file of files) file.state = "processed";
    for (const file of files.slice(0, 3)) file.state = "failed";
    await open("", { engine });
    const name = Object.values(place).join(" / ");
    const row = card("Partitions").getByRole("row", { name: new RegExp(name) });
    const link = row.getByRole("link", { name: "3 files" });
    assert.match(await said(row), new RegExp(`${files.length} / ${files.length}.*3 files`));
    assert.match(await link.getAttribute("href"), /^#\/dead-letters\?country=.*queue=seed/);
    assert.doesNotMatch(await said(card("Rates")), /whole engine/);
    await row.getByRole("link", { name }).click();
    await page.waitForURL(/country=/);
    await card("Rates").getByText("whole engine").first().waitFor();
    assert.match(await said(card("Rates")), /Waiting messages[^W]*whole engine.*Dead letters[^W]*whole engine/);
  });

  test("a partition shows its files with their states, those that need an operator first", async () => {
    const engine = world();
    const { partition_info: place } = engine.files[0];
    const files = engine.files.filter((file) => file.partition_info === place);
    for (const file of files) file.state = "processed";
    [files[7].state, files[4].state, files[5].state] = ["failed", "discarded", "pending"];
    for (let i = 901; i <= 920; i++)
      engine.files.push({ partition_info: place, name: `raw_0${i}`, state: "processed" });
    await open(`#/overview?${new URLSearchParams(place)}`, { engine });
    const rows = card("Raw files").locator("tbody tr");
    assert.match(await said(rows.nth(0)), new RegExp(`^${files[7].name} 55 kB failed .*– Unreadable line 1, column 1`));
    assert.match(await said(rows.nth(1)), new RegExp(`^${files[4].name} .* discarded`));
    assert.match(await said(rows.nth(2)), new RegExp(`^${files[5].name} .* pending .*–`));
    assert.match(await said(rows.nth(4)), new RegExp(`^${files[1].name} 49 kB processed .* 66 1 record rejected`));
    const link = rows.nth(0).getByRole("link", { name: "Unreadable" });
    assert.match(await link.getAttribute("href"), /^#\/dead-letters\?country=.*queue=seed&error_type=parse_error/);
    assert.equal(await rows.count(), 25);
    await button(`Show all ${files.length + 20}`).click();
    assert.equal(await rows.count(), files.length + 20);
    assert.match(await said(card("Rates")), /Average time\s+[\d.]+ sec[^/]+Average time of a file\s+840 ms/);
    assert.equal(await card("Partitions").count(), 0);

    const listed = sent("GET", "/api/v1/datasets/").length;
    await button("Refresh").click();
    files[7].state = "pending";
    await rows.filter({ hasText: files[7].name }).getByText("pending").waitFor();
    assert.equal(sent("GET", "/api/v1/datasets/").length, listed + 1, "listed once more, when something changed");
    await page.getByRole("link", { name: "Clear" }).click();
    await card("Partitions").waitFor();
    assert.match(await said(card("Partitions").locator("tbody tr").first()), /1\.\d+ sec 840 ms a file/);
    assert.equal(await card("Raw files").count(), 0);
  });

  test("files that the ledger does not know are shown all the same", async () => {
    const engine = emptyWorld();
    const place = { country: "sg", category: "news", date: "2026-01-28" };
    engine.chunks = () => world().chunks(world().files[0].partition_info);
    await open(`#/overview?${new URLSearchParams(place)}`, { engine });
    await card("Raw files").waitFor();
    assert.equal(await page.getByText("Nothing matches the filter.").count(), 0);
  });

  test("is served with the headers of _headers", async () => {
    await open();
    const response = await page.request.get(`${fake.url}/dashboard/`);
    for (const [name, value] of Object.entries(staticHeaders()))
      assert.equal(response.headers()[name.toLowerCase()], value, name);
    const policy = staticHeaders()["Content-Security-Policy"];
    for (const directive of [
      "default-src 'none'",
      "script-src 'self'",
      "style-src 'self'",
      "connect-src 'self'",
      "base-uri 'none'",
      "form-action 'none'",
      "frame-ancestors 'none'",
      "require-trusted-types-for 'script'",
    ])
      assert.ok(policy.includes(directive), directive);
    await assert.rejects(
      page.evaluate(() => (document.body.innerHTML = "<b>x</b>")),
      /TrustedHTML/,
    );
    page.wrongs.length = 0; // the violation above
  });

  test("updates while the pipeline runs, and announces it", async () => {
    await open();
    const first = await text("section[aria-label=Domains] .large");
    await page.evaluate(() => (document.querySelector("h1").dataset.kept = "yes"));
    fake.world.work(40);
    await page.waitForFunction(
      (before) =>
        document.querySelector("section[aria-label=Domains] .large").innerText.replaceAll(/\s+/g, " ") !== before,
      first,
    );
    assert.match(await text("section[aria-label=Domains] .large"), /1,245 \/ 1,250/);
    assert.equal(await page.locator("h1").getAttribute("data-kept"), "yes", "the page was updated, not replaced");
    assert.match(await said(card("Domains")), /domains a minute now, about/);
    fake.world.work(40);
    await page
      .getByRole("status")
      .filter({ hasText: "1,250 of 1,250 domains finished, 25 failed." })
      .waitFor({ state: "attached" });
  });

  test("typed text and focus survive a refresh", async () => {
    await open();
    await page.getByLabel("Category").pressSequentially("ne");
    fake.world.work(10);
    await button("Refresh").evaluate((node) => node.click());
    await page.waitForFunction(() => document.querySelector("section[aria-label=Domains]").innerText.includes("1,215"));
    await page.keyboard.type("ws");
    assert.equal(await page.getByLabel("Category").inputValue(), "news");
    await page.keyboard.press("Enter");
    await page.waitForURL(/category=news/);
    await page.waitForFunction(() => document.querySelectorAll("section[aria-label=Partitions] tbody tr").length === 4);
    await page.getByRole("link", { name: "Clear" }).click();
    await page.waitForFunction(() => document.querySelectorAll("section[aria-label=Partitions] tbody tr").length === 8);
  });

  describe("signing in", () => {
    test("a wrong token is refused with a reason, and not kept", async () => {
      await open("", { token: "" });
      await page.getByLabel("API token").fill("guess");
      await page.keyboard.press("Enter");
      await page.getByRole("alert").filter({ hasText: "This token is not accepted." }).waitFor();
      assert.equal(await page.evaluate(() => document.activeElement.id), "token");
      assert.equal(await page.getByLabel("API token").getAttribute("aria-invalid"), "true");
      assert.equal(await page.evaluate(() => JSON.stringify(sessionStorage)), "{}");

      await page.getByLabel("API token").fill("토큰");
      await page.keyboard.press("Enter");
      await page.getByRole("alert").filter({ hasText: "This token is not accepted." }).waitFor();

      await page.getByLabel("API token").fill("secret");
      await page.keyboard.press("Enter");
      await page.getByRole("heading", { name: "Overview" }).waitFor();
      await settled(page);
      assert.equal(await page.evaluate(() => sessionStorage.getItem("seed-engine-token")), "secret");
      assert.equal(
        await page.evaluate(
          () =>
            JSON.stringify(localStorage).includes("secret") ||
            document.cookie.includes("secret") ||
            location.href.includes("secret"),
        ),
        false,
      );

      await button("Sign out").click();
      await page.getByLabel("API token").waitFor();
      assert.equal(await page.evaluate(() => JSON.stringify(sessionStorage)), "{}");
      assert.equal(await page.getByText("1,250").count(), 0, "nothing that was read with the token stays");
    });

    test("a revoked token leads back to the form", async () => {
      await open("", { token: "wrong" });
      await page.getByRole("alert").filter({ hasText: "This token is not accepted." }).waitFor();
    });

    test("development without a token shows no form", async () => {
      await open("", { token: "", api: { tokens: { "": "development" } } });
      await page.getByRole("heading", { name: "Overview" }).waitFor();
      await settled(page);
      assert.equal(await button("Sign out").count(), 0);
    });

    test("an unreachable engine is not reported as a wrong token", async () => {
      await open("", { token: "" });
      await page.getByLabel("API token").waitFor();
      fake.failing = [
        503,
        {
          success: false,
          error: {
            code: "token_not_configured",
            message: "the secret API_TOKEN is not set; run `wrangler secret put API_TOKEN`",
          },
        },
      ];
      await page.getByLabel("API token").fill("secret");
      await page.keyboard.press("Enter");
      await page.getByRole("alert").filter({ hasText: "the secret API_TOKEN is not set" }).waitFor();
    });

    test("with a read-only token, controls that change something are disabled and explain why", async () => {
      await open("#/overview", { token: "reader" });
      await page.getByText("read only").waitFor();
      for (const [hash, names] of [
        ["#/overview", ["Upload…", "Queue files…", "Pause pipeline", "Collect all failed…"]],
        ["#/domains?state=failed", ["Collect all failed…"]],
        ["#/domain/city-council-2.example", ["Collect again…", "Queue its partition…"]],
        ["#/domain/rail-news-158.example", ["Replay the dead letter"]],
        ["#/dead-letters", ["Replay rail-news-158.example", "Discard rail-news-158.example", "Replay all (9)…"]],
        ["#/dead-letter/m-002", ["Replay", "Discard"]],
        ["#/frontier", ["Block www.harbour-times-1.example", "Empty the queue of www.harbour-times-1.example"]],
        ["#/exclusions", ["Exclude"]],
      ]) {
        await goTo(hash);
        for (const name of names) {
          const one = button(name).first();
          await one.waitFor();
          assert.equal(await one.isDisabled(), true, `${hash}: ${name}`);
          assert.match(await one.getAttribute("title"), /^This token may only read\./, name);
        }
      }
      assert.deepEqual(
        fake.calls.filter((call) => call.method !== "GET"),
        [],
      );
    });

    test("a token that loses its rights is refused with a reason", async () => {
      await open("#/dead-letters");
      fake.demote("secret");
      await button("Replay rail-news-158.example").click();
      await dialog().getByRole("button", { name: "Replay" }).click();
      await dialog().getByRole("alert").filter({ hasText: "This token may only read." }).waitFor();
      await page.keyboard.press("Escape");
      assert.equal(fake.world.status(new URLSearchParams()).dead_letters.stored, 9);
    });
  });

  describe("trouble", () => {
    test("old numbers stay, with the error and the time of the next attempt", async () => {
      await open();
      fake.failing = [
        503,
        { success: false, error: { code: "storage_error", message: "the storage did not answer; try again" } },
      ];
      await button("Refresh").click();
      const alert = page.getByRole("alert").filter({ hasText: "Could not refresh" });
      await alert
        .filter({ hasText: "the storage did not answer; try again (request r-1) Next try in 10 s." })
        .waitFor();
      assert.match(await said(card("Files")), /145 \/ 150/);
      fake.failing = null;
      await button("Try now").click();
      await alert.waitFor({ state: "detached" });
    });

    test("without numbers there is an error, not an empty page", async () => {
      await open("#/domains", { token: "" });
      fake.failing = [502, "<html>Bad gateway"];
      await page.evaluate(() => sessionStorage.setItem("seed-engine-token", "secret"));
      await page.reload();
      await page
        .getByRole("alert")
        .filter({ hasText: "The response is not from the engine's API. HTTP 502" })
        .waitFor();
      await fake.close();
      await button("Try now").click();
      await page.getByRole("alert").filter({ hasText: "The engine cannot be reached." }).waitFor();
    });

    test("an engine without files explains how to begin, and other views say that they are empty", async () => {
      await open("", { engine: emptyWorld() });
      assert.match(await text(".empty"), /No raw files yet\.[\s\S]+curl -X PUT/);
      for (const [hash, words] of [
        ["#/domains", "No domain matches."],
        ["#/dead-letters", "No dead letters."],
        ["#/exclusions", "Nothing is excluded."],
        ["#/domain/nobody.example", "The engine has nothing of nobody.example."],
        ["#/dead-letter/none", "There is no such dead letter."],
        ["#/nowhere", "This address leads nowhere."],
      ]) {
        await goTo(hash);
        await page.locator(".empty").filter({ hasText: words }).waitFor();
      }
    });
  });

  test("domains are filtered, sorted and paged", async () => {
    await open("#/domains");
    assert.equal(await page.locator("tbody tr").count(), 50);
    await page.getByRole("link", { name: "Next page" }).click();
    await page.getByRole("link", { name: "harbour-times-51.example" }).waitFor();
    await page.getByLabel("State").selectOption("failed");
    await page.getByLabel("Error type").selectOption("timeout_error");
    await button("Apply").click();
    await page.waitForURL(/state=failed&error_type=timeout_error$/);
    await page.waitForFunction(() => document.querySelectorAll("tbody tr").length === 7);
    assert.match(
      await said(page.locator("tbody tr").first()),
      /rail-news-8\.example[\s\S]+failed[\s\S]+Timeout\s+https:\/\/www\.rail-news-8\.example\/robots\.txt: no answer within 10 s/,
    );
    const before = page.url();
    await page.getByLabel("Order").selectOption("duration");
    await button("Apply").click();
    const refusal = (name) => page.getByLabel(name, { exact: true }).evaluate((node) => node.validationMessage);
    assert.match(await refusal("Order"), /^Only processed domains have a time/);
    await page.getByLabel("State").selectOption("processed");
    await button("Apply").click();
    assert.match(await refusal("Error type"), /^Only failed domains have an error type/);
    assert.equal(page.url(), before, "nothing is asked that the API refuses");
    await page.getByLabel("Error type").selectOption("");
    await button("Apply").click();
    await page.waitForURL(/state=processed&sort=duration$/);
    await page.getByRole("textbox", { name: "Open a domain" }).fill("City-Council-2.example");
    await page.keyboard.press("Enter");
    await page.getByRole("heading", { name: "city-council-2.example" }).waitFor();
  });

  test("the button stands beside its field, and dates and tiles are as elsewhere", async () => {
    await open("#/domains", { width: 1280 });
    const field = await page.getByRole("textbox", { name: "Open a domain" }).boundingBox();
    const beside = await button("Open").boundingBox();
    assert.ok(beside.x > field.x + field.width && Math.abs(beside.y - field.y) < 8, JSON.stringify([field, beside]));
    assert.ok(field.width >= 200, `${field.width} px for a URL`);
    await open("#/", { width: 1280 });
    const dates = await card("Partitions")
      .locator("td .unbroken")
      .evaluateAll((nodes) => nodes.map((node) => [node.textContent, node.getClientRects().length]));
    assert.ok(dates.length > 1);
    for (const [date, lines] of dates) assert.deepEqual([/^\d{4}-\d\d-\d\d$/.test(date), lines], [true, 1], date);
    const names = await page.locator(".tiles dt").allInnerTexts();
    assert.ok(names.includes("Forbidden"), names.join());
    assert.ok(
      names.every((name) => /^[A-Z]|^robots/.test(name)),
      names.join(),
    );
  });

  test("domains of which nothing may be fetched, and those that are retried, say why", async () => {
    await open();
    await page.getByRole("link", { name: "12", exact: true }).first().click(); // of the tile: forbidden
    await page.waitForURL(/barrier=forbidden$/);
    await page.waitForFunction(() => document.querySelectorAll("tbody tr").length === 12);
    assert.match(await said(page.locator("tbody tr").first()), /-32\.example[\s\S]+ forbidden no /);
    await page
      .getByRole("link", { name: /-32\.example$/ })
      .first()
      .click();
    await page.getByRole("region", { name: "State" }).getByText("forbidden", { exact: true }).waitFor();
    await page.goBack();
    await page.waitForURL(/barrier=forbidden$/);
    await page.getByLabel("Not fetched since").selectOption("nothing");
    await button("Apply").click();
    await page.waitForURL(/barrier=nothing$/);
    await page.getByRole("link", { name: /-34\.example$/ }).waitFor();
    assert.match(await said(page.locator("tbody tr").first()), /-34\.example[\s\S]+ nothing to fetch yes /);
    await page
      .getByRole("link", { name: /-34\.example$/ })
      .first()
      .click();
    await page.getByRole("region", { name: "State" }).getByText("nothing to fetch", { exact: true }).waitFor();
    await page.goBack();
    await page.waitForURL(/barrier=nothing$/);
    await page.getByLabel("Not fetched since").selectOption("");
    await page.getByLabel("State").selectOption("pending");
    await button("Apply").click();
    await page.waitForURL(/state=pending$/);
    await page.getByText("attempt 2 of 4 failed").first().waitFor();
    assert.match(await said(page.locator("tbody")), /attempt 2 of 4 failed[\s\S]+Storage[\s\S]+next attempt in/);
  });

  test("a domain that is retried says which attempt failed, why, and when the next is", async () => {
    const engine = world();
    const retry = {
      attempt: 2,
      of: 4,
      error_type: "network_error",
      error_message: "connection refused",
      failed_at: new Date(Date.now() - 60_000).toISOString(),
      next_at: new Date(Date.now() + 210_000).toISOString(),
    };
    // One that failed before, so there is a document, and one that was never collected.
    for (const one of [engine.domains[7], engine.domains.find((domain) => domain.state === "pending")]) {
      Object.assign(one, { state: "pending", retry, error_type: null, error_message: null });
      await open(`#/domain/${one.domain}`, { engine });
      const why = card("Why it failed");
      await why.waitFor();
      assert.match(
        await said(why),
        /attempt 2 of 4 failed 1 minute ago\. next attempt in \d minutes Network – [\s\S]+connection refused/,
      );
      assert.doesNotMatch(await said(why), /There is no dead letter/);
      assert.equal(await why.getByRole("button").count(), 0);
    }
    await open("#/domains?barrier=refuses", { engine });
    assert.match(await said(page.locator("tbody tr").first()), /refuses .* HTTP 403/);
  });

  test("what may be done with a domain stands under its heading", async () => {
    await open("#/domain/city-council-2.example");
    const { y } = await button("Collect again…").boundingBox();
    assert.ok(y < 450, `${y} px`);
  });

  test("an exclusion says who, when and why where its domain is shown, and is taken back there", async () => {
    const engine = world();
    const made = { created_at: "2026-01-28T10:00:00Z", created_by: "kim", reason: "its publisher asked" };
    engine.exclusions.push({ kind: "domain", value: "city-council-2.example", ...made });
    await open("#/domain/city-council-2.example", { engine });
    await page.getByText("This domain is excluded and not fetched.").waitFor();
    assert.match(
      await text(".banner"),
      /domain city-council-2\.example, by kim, .*28.* 10:00:00: its publisher asked Allow again/i,
    );
    await button("Allow city-council-2.example again").click();
    await dialog().getByRole("button", { name: "Take back" }).click();
    await notice("city-council-2.example is not excluded any more.");
    await page.getByText("This domain is excluded").waitFor({ state: "detached" });
  });

  test("a contract is readable, and can be saved as JSON", async () => {
    await open("#/domain/city-council-2.example");
    const entries = page.getByRole("table", { name: "Entry points" });
    assert.match(
      await said(entries.getByRole("row").nth(1)),
      /1\s+RSS\s+https:\/\/www\.city-council-2\.example\/rss\/press-releases\.xml[\s\S]+press release\s+12 hr\s+0\.9/,
    );
    assert.match(
      await said(page.getByRole("table", { name: "URLs that matter most" }).getByRole("row").nth(1)),
      /press release[\s\S]+0\.84\s+daily\s+0\.81\s+crawl now\s+feed/,
    );
    assert.match(await said(page.locator("main")), /Use of content\s+noai\s+TDM \/ reserved/);
    assert.match(await said(card("robots.txt")), /HTTP status\s+200[\s\S]+Crawl delay\s+2 sec/);
    assert.match(await said(card("Sitemaps")), /archive-sitemap\.xml[\s\S]+HTTP status 503/);
    assert.match(await said(card("Feeds")), /Press Releases/);
    const raw = page.getByRole("table", { name: "Raw URLs" });
    assert.equal(await raw.locator("tbody tr").count(), 25);
    await button("Show 25 more").click();
    assert.equal(await raw.locator("tbody tr").count(), 50);
    await page.getByLabel("Search in URLs and titles").fill("no. 60");
    await page.waitForFunction(() => document.querySelectorAll("section[aria-label='Raw URLs'] tbody tr").length === 1);
    const [download] = await Promise.all([page.waitForEvent("download"), button("Download JSON").click()]);
    assert.equal(download.suggestedFilename(), "city-council-2.example.domain_metadata.json");
    assert.deepEqual(
      JSON.parse(readFileSync(await download.path(), "utf8")),
      fake.world.domain("city-council-2.example", new URLSearchParams()).document,
    );
  });

  test("the reason of a failure is found from the overview, and the domain is replayed", async () => {
    await open();
    await card("Failures by error type")
      .getByRole("row", { name: /Storage/ })
      .getByRole("link")
      .click();
    await page.getByRole("link", { name: "rail-news-158.example" }).click();
    const why = card("Why it failed");
    await why.waitFor();
    assert.match(
      await said(why),
      /Storage – R2, D1 or a queue failed\.\s+r2\.Put prod[\s\S]+429 Too Many Requests\s+What to do: These failures are temporary\./,
    );
    await why.getByRole("button", { name: "Replay the dead letter" }).click();
    await dialog().getByRole("button", { name: "Replay" }).click();
    await notice("1 dead letter replayed.");
    assert.deepEqual(sent("POST", "/api/v1/dlq/replay"), [{ ids: ["m-001"] }]);
    await why.waitFor({ state: "detached" });
  });

  test("a domain without a dead letter is collected again by itself", async () => {
    await open("#/domain/rail-news-8.example");
    const why = card("Why it failed");
    await why.waitFor();
    assert.match(await said(why), /What to do: The site is slow or hangs\.[\s\S]+There is no dead letter/);
    await why.getByRole("button", { name: "Collect again…" }).click();
    await dialog().getByRole("button", { name: "Collect again" }).click();
    await notice("rail-news-8.example is queued.");
    const { partition_info } = fake.world.domains[7];
    assert.deepEqual(sent("POST", "/api/v1/seeds/domains/rail-news-8.example/collect"), [partition_info]);
    await page.getByText("It is being collected again; this is the last outcome.").waitFor();
    assert.equal(await why.getByRole("button").count(), 0);
    fake.world.work(1000);
    await button("Refresh").click();
    await why.waitFor({ state: "detached" });
  });

  test("a domain that did not fail is collected again, also by its partition", async () => {
    await open("#/domain/city-council-2.example");
    await page.getByRole("region", { name: "Fetch contract", exact: true }).waitFor();
    await button("Collect again…").click();
    await page.keyboard.press("Escape");
    await button("Queue its partition…").click();
    await dialog().getByLabel("Include finished files").check();
    await dialog().getByRole("button", { name: "Queue files" }).click();
    await notice("150 files found, 5 queued, 145 skipped (142 finished, 3 broken).");
    const { partition_info } = fake.world.domains.find((one) => one.domain === "city-council-2.example");
    assert.deepEqual(sent("POST", "/api/v1/seeds/orchestrate"), [{ ...partition_info, force: true }]);
    assert.deepEqual(sent("POST", "/api/v1/seeds/domains/city-council-2.example/collect"), []);
  });

  describe("dead letters", () => {
    test("reason, attempts and original message are shown", async () => {
      await open("#/dead-letters");
      await page.getByRole("link", { name: "raw_0143.json" }).click();
      await page.getByRole("heading", { name: "Why it was given up" }).waitFor();
      assert.match(
        await said(card("Why it was given up")),
        /Unreadable[\s\S]+is not JSON: invalid character '<'[\s\S]+upload it under its number, here or with seedctl upload --replace/,
      );
      assert.equal(await card("Attempts").locator("tbody tr").count(), 4);
      assert.deepEqual(JSON.parse(await text("pre")), fake.world.letter("f-1").letter.original_message);
    });

    test("the queue is named by its role, whatever its name", async () => {
      const renamed = (letter) => ({ ...letter, queue_name: "renamed-elsewhere" });
      await open("#/dead-letters", {
        api: {
          alter: (data) =>
            Array.isArray(data.dead_letters) ? { ...data, dead_letters: data.dead_letters.map(renamed) } : data,
        },
      });
      const cells = await page.locator("main tbody tr").allInnerTexts();
      assert.ok(
        cells.length > 0 && cells.every((row) => /^(domain|seed)$/m.test(row) && !/renamed|elsewhere/.test(row)),
        cells.join("\n"),
      );
    });

    test("an item that the webhook skipped shows its URL, and can only be discarded", async () => {
      const url = "https://rail-news-158.example/story";
      const skipped = (letter) => ({ ...letter, queue_role: "webhook", domain: "rail-news-158.example", work: url });
      await open("#/dead-letters", {
        api: {
          alter: (data) =>
            Array.isArray(data.dead_letters) ? { ...data, dead_letters: data.dead_letters.map(skipped) } : data,
        },
      });
      await page.getByRole("link", { name: url }).first().waitFor();
      await page
        .getByRole("button", { name: `Discard ${url}` })
        .first()
        .waitFor();
      assert.equal(await page.getByRole("button", { name: `Replay ${url}` }).count(), 0);
    });

    test("one is replayed after confirmation", async () => {
      await open("#/dead-letters");
      await page.getByRole("button", { name: "Replay rail-news-158.example" }).click();
      assert.match(await said(dialog()), /Replay this dead letter\?\s+rail-news-158\.example/);
      await dialog().getByRole("button", { name: "Cancel" }).click();
      assert.deepEqual(sent("POST", "/api/v1/dlq/replay"), []);
      await page.getByRole("button", { name: "Replay rail-news-158.example" }).click();
      await dialog().getByRole("button", { name: "Replay" }).click();
      await notice("1 dead letter replayed.");
      await page.getByRole("link", { name: "rail-news-158.example", exact: true }).waitFor({ state: "detached" });
      assert.equal(
        await page.evaluate(() => document.activeElement.tagName),
        "H1",
        "the button is gone, the title has the focus",
      );
      await page.getByRole("link", { name: /^replayed/ }).click();
      await page
        .getByRole("row", { name: /rail-news-158/ })
        .filter({ hasText: "API_TOKEN" })
        .waitFor();
    });

    test("selected ones are discarded", async () => {
      await open("#/dead-letters");
      await page.getByLabel("Select rail-news-158.example").check();
      await page.getByLabel("Select rail-news-358.example").check();
      await button("Discard selected (2)").click();
      assert.match(await said(dialog()), /Discard 2 dead letters\?\s+rail-news-158\.example\s+rail-news-358\.example/);
      assert.equal(
        await page.evaluate(() => document.activeElement.textContent),
        "Cancel",
        "what cannot be undone is not the default",
      );
      await dialog().getByRole("button", { name: "Discard" }).click();
      await notice("2 dead letters discarded.");
      assert.deepEqual(sent("POST", "/api/v1/dlq/discard"), [{ ids: ["m-001", "m-002"] }]);
      await button("Discard selected (0)").waitFor();
      await page.getByLabel("Select all on this page").check();
      await button("Replay selected (7)").waitFor();
    });

    test("matching ones are replayed, in several calls", async () => {
      await open("#/dead-letters?queue=domain&error_type=storage_error", { api: { limit: 4 } });
      await button("Replay all that match…").click();
      assert.match(await said(dialog()), /Queue: domain\s+Error type: Storage/);
      await dialog().getByRole("button", { name: "Replay" }).click();
      await notice("6 dead letters replayed.");
      const filter = { queue: "domain", error_type: "storage_error" };
      assert.deepEqual(sent("POST", "/api/v1/dlq/replay"), [{ filter }, { filter }]);
      await page.getByText("No dead letters.").waitFor();
    });

    test("all are discarded, and failures are listed", async () => {
      await open("#/dead-letters");
      await button("Discard all (9)…").click();
      await dialog().getByRole("button", { name: "Discard" }).click();
      await notice("9 dead letters discarded.");
      assert.deepEqual(sent("POST", "/api/v1/dlq/discard"), [{ all: true }]);
    });

    test("those of excluded domains stay, and are named once over several calls", async () => {
      const engine = world();
      engine.exclusions.push({ kind: "domain", value: "rail-news-158.example" });
      await open("#/dead-letters", { engine, api: { limit: 3 } });
      await button("Replay all (9)…").click();
      await dialog().getByRole("button", { name: "Replay" }).click();
      await button("Close").waitFor();
      assert.match(
        await said(dialog()),
        /8 dead letters replayed\. 1 could not be handled and stays as it was: m-001 rail-news-158\.example is excluded/,
      );
      assert.equal(await dialog().getByRole("listitem").count(), 1);
      await button("Close").click();
    });

    test("those that could not be replayed are named", async () => {
      await open("#/dead-letter/m-001");
      fake.alter = (data) =>
        data.done === undefined
          ? data
          : {
              ...data,
              done: 0,
              failed: [{ id: "m-001", code: "storage_error", message: "the stored letter is gone" }],
            };
      await button("Replay").click();
      await dialog().getByRole("button", { name: "Replay" }).click();
      await dialog().getByText("the stored letter is gone").waitFor();
      await dialog().getByRole("button", { name: "Close" }).click();
      await dialog().waitFor({ state: "detached" });
    });
  });

  test("the pipeline is paused and resumed", async () => {
    await open();
    await button("Pause pipeline").click();
    await dialog().getByLabel("Reason").fill("Migration of the bucket");
    await page.keyboard.press("Enter");
    await page.getByText("By API_TOKEN").waitFor();
    assert.match(await text(".banner"), /The pipeline is paused\.[\s\S]+Migration of the bucket/);
    await page.getByRole("link", { name: "Alarms" }).click();
    await button("Resume pipeline").click();
    await dialog().getByRole("button", { name: "Resume pipeline" }).click();
    await page.locator(".banner").waitFor({ state: "detached" });
    assert.deepEqual(
      [...sent("POST", "/api/v1/pipeline/pause"), ...sent("POST", "/api/v1/pipeline/resume")],
      [{ reason: "Migration of the bucket" }, {}],
    );
  });

  test("firing alarms are shown on the overview and explained", async () => {
    const engine = world();
    for (const record of engine.domains.slice(0, 200))
      Object.assign(record, { state: "failed", error_type: "timeout_error", error_message: "no answer" });
    await open("", { engine });
    await page.getByRole("link", { name: /Domain failures: 1[78]\.\d%, over 10%\./ }).click();
    await card("Domain failures").waitFor();
    assert.match(await said(card("Domain failures")), /firing\s+1[78]\.\d% \/ 10%[\s\S]+Window\s+60 min/);
    assert.match(await said(card("Slow domains")), /ok\s+1\.25 sec \/ 5 sec/);
    assert.match(await said(card("Frontier behind")), /ok\s+7 min \/ 60 min/);
    await page.getByRole("link", { name: "Hosts due longest" }).click();
    await card("Hosts").waitFor();
  });

  test("the page of alarms says whether they are posted, and posts a trial", async () => {
    await open("#/alarms");
    await page.getByText("Posts are not signed: ALERT_WEBHOOK_SECRET is not set.").waitFor();
    await button("Try the webhook…").click();
    await dialog().getByRole("button", { name: "Post" }).click();
    await notice("The webhook took the trial.");
    assert.deepEqual(sent("POST", "/api/v1/alarms/test"), [{}]);
  });

  test("the page of alarms says that posts are refused, since when and why", async () => {
    const engine = world();
    const since = new Date(Date.now() - 7_200_000).toISOString();
    engine.refused = { since, attempts: 12, waiting: 2, error: "the webhook answered 500" };
    await open("#/alarms", { engine });
    await page.getByText(/has not taken 2 changes \(attempts: 12; the webhook answered 500\).*2 hours ago/).waitFor();
  });

  test("exclusions are added and removed", async () => {
    await open("#/domain/city-council-2.example");
    await page.getByRole("link", { name: "Exclude…" }).click();
    const value = page.getByLabel("Domain, host or URL pattern");
    assert.equal(await value.inputValue(), "city-council-2.example");
    await value.fill("nonsense");
    await button("Exclude").click();
    await page.getByRole("alert").filter({ hasText: "Value: is not a registrable domain" }).waitFor();
    await page.getByLabel("Kind").first().selectOption("url");
    await value.fill("https://city-council-2.example/a/*?b=c#d");
    await page.getByLabel("Reason").fill("Asked by the owner");
    await button("Exclude").click();
    const row = page.getByRole("row", {
      name: /URL pattern.*https:\/\/city-council-2\.example\/a\/\*\?b=c#d.*Asked by the owner/,
    });
    await row.waitFor();
    assert.equal(await value.inputValue(), "", "the form is ready for the next one");
    await row.getByRole("button").click();
    await dialog().getByRole("button", { name: "Take back" }).click();
    await page.getByText("Nothing is excluded.").waitFor();
  });

  test("why a URL is not given is said in the operator's language", async () => {
    const engine = world();
    await open(`#/frontier?url=https://${engine.frontier.hosts[0].host}/news/waiting`, { engine });
    await page.getByText("it is an entry point, which is asked again later").waitFor();
    await page.getByLabel("Language").selectOption("ko");
    await page.getByText("진입점이며 다음 확인 시각을 기다립니다.").waitFor();
    assert.equal(await page.getByText("it is an entry point").count(), 0);
  });

  test("language and theme are chosen and kept", async () => {
    await open();
    await page.getByLabel("Language").selectOption("ko");
    await page.getByRole("heading", { name: "현황", exact: true }).waitFor();
    assert.equal(await page.evaluate(() => document.documentElement.lang), "ko");
    assert.equal(await page.title(), "현황 · Seed Engine");
    const background = () => page.evaluate(() => getComputedStyle(document.body).backgroundColor);
    const light = await background();
    await page.getByLabel("테마").selectOption("dark");
    assert.notEqual(await background(), light);
    await page.reload();
    await page.getByRole("heading", { name: "현황", exact: true }).waitFor();
    assert.notEqual(await background(), light);
    await page.getByLabel("테마").selectOption("auto");
    assert.equal(await background(), light);
    await page.emulateMedia({ colorScheme: "dark" });
    assert.notEqual(await background(), light);
  });

  test("refreshing can be switched off", async () => {
    await open();
    await button("Live").click();
    assert.equal(await button("Live").getAttribute("aria-pressed"), "false");
    const calls = fake.calls.length;
    await new Promise((resolve) => setTimeout(resolve, 4_000));
    assert.equal(fake.calls.length, calls);
    await button("Refresh").click();
    await page.waitForFunction(() => document.querySelector("time"));
    await button("Live").click();
    assert.equal(await button("Live").getAttribute("aria-pressed"), "true");
  });

  describe("the frontier", () => {
    const row = (host) => page.getByRole("row", { name: new RegExp(`^${host.replaceAll(".", "\\.")}`) });

    test("shows totals, shards and hosts, and pages through them", async () => {
      await open("#/frontier?sort=size", { api: { rows: 20 } });
      const stats = fake.world.frontier.stats();
      const all = new Intl.NumberFormat("en").format(stats.urls);
      assert.match(await said(card("In all")), new RegExp(`Hosts 1,250 in 16 shards URLs ${all} waiting or leased`));
      const scrapers = card("Scrapers").locator("tbody tr");
      assert.match(await said(scrapers.nth(0)), /^without a name \(no X-Scraper\) 12 10 0 /);
      assert.match(await said(scrapers.nth(1)), /^reader-1 270 255 9 /);
      await card("Scrapers").getByRole("columnheader", { name: "Leased in all" }).waitFor();
      assert.match(
        await said(card("Scrapers")),
        /Fetched: the server answered, also with 404 or 429\. Failed: no answer/,
      );
      const shardRows = card("Shards").locator("tbody tr");
      assert.equal(await shardRows.count(), 16);
      assert.match(await said(shardRows.nth(2)), /shard-2 78 [\d,]+ \d+ \d+ 21 minutes ago/);
      const urls = () => card("Hosts").locator("tbody tr td:nth-child(3)").allInnerTexts();
      const first = (await urls()).map(Number);
      assert.equal(first.length, 20);
      assert.deepEqual(
        first,
        first.toSorted((a, b) => b - a),
        "the longest queues first",
      );
      await page.getByRole("link", { name: "Next page" }).click();
      await page.waitForURL(/cursor=20/);
      await settled(page);
      await page.getByLabel("Blocked").selectOption("true");
      await page.getByRole("button", { name: "Apply" }).click();
      await page.getByText("No host is blocked.").waitFor();
      assert.ok(!page.url().includes("cursor"));
    });

    test("shows what was found, by hour and by type", async () => {
      await open("#/frontier");
      const hours = fake.world.frontier.found();
      const sum = (list, n) => list.reduce((total, one) => total + n(one), 0);
      const total = sum(hours, (one) => one.count);
      const found = card("New URLs an hour");
      const chart = found.getByRole("img", { name: `${total} new URLs in 24 hr`, exact: true });
      await chart.waitFor();
      assert.equal(await chart.locator("rect").count(), hours.filter((one) => one.count > 0).length);
      const byType = found.getByRole("table", { name: "New URLs by type" }).locator("tbody tr");
      const types = async () => {
        const rows = await byType.allInnerTexts();
        return rows.map((text) => text.replace(/\s+/g, " ").trim());
      };
      const of = (list, name) => sum(list, (one) => one.types[name] ?? 0);
      const sorted = (list) => [
        `news ${of(list, "news")}`,
        `press release ${of(list, "press_release")}`,
        `event ${of(list, "event")}`,
      ];
      assert.deepEqual(await types(), sorted(hours));
      // Pointing at an hour shows only that hour.
      const at = 22;
      const box = await chart.boundingBox();
      await page.mouse.move(box.x + ((at + 0.5) / 24) * box.width, box.y + box.height / 2);
      await found.getByText(new RegExp(`· ${hours[at].count} new URLs$`)).waitFor();
      assert.deepEqual(await types(), sorted([hours[at]]));
      await page.mouse.move(0, 0);
      await found.getByText(`${total} new URLs in 24 hr`, { exact: true }).waitFor();
      // Without a pointer the totals are shown.
      await found.getByText("Numbers").focus();
      await page.keyboard.press("Enter");
      const rows = found.getByRole("table", { name: "New URLs an hour" }).locator("tbody tr");
      assert.equal(await rows.count(), 24);
      assert.match(await said(rows.nth(1)), new RegExp(` ${hours[at].count}$`));
    });

    test("a host is blocked, slowed down, emptied and unblocked", async () => {
      await open("#/frontier");
      const host = "www.city-council-2.example";
      const path = `/api/v1/frontier/hosts/${host}`;
      await button(`Block ${host}`).click();
      await dialog().getByLabel("For").selectOption({ label: "7 days" });
      const before = Date.now();
      await dialog().getByRole("button", { name: "Block" }).click();
      await notice(`${host} is blocked.`);
      const until = Date.parse(sent("POST", path)[0].block_until) - 7 * 86_400_000;
      assert.ok(until >= before && until <= Date.now(), "for as long as was chosen");
      await button(`Unblock ${host}`).click();
      await dialog().getByRole("button", { name: "Unblock" }).click();
      await button(`Block ${host}`).waitFor();
      await button(`Delay of ${host}`).click();
      await dialog().getByLabel("Seconds").fill("7.5");
      await page.keyboard.press("Enter");
      await notice(`The delay of ${host} is set.`);
      await row(host).filter({ hasText: "7.5 sec" }).waitFor();
      await button(`Empty the queue of ${host}`).click();
      await dialog().getByRole("button", { name: "Cancel" }).click();
      await button(`Empty the queue of ${host}`).click();
      await dialog().getByRole("button", { name: "Empty queue" }).click();
      await notice(`The queue of ${host} is empty.`);
      assert.deepEqual(sent("POST", path).slice(1), [{ block_until: null }, { delay_seconds: 7.5 }, { empty: true }]);
    });

    test("a host is found by its name or a URL of it, and says when it is asked again", async () => {
      const engine = world();
      const korean = "xn--3e0bj9ghtquur.kr"; // 한국뉴스.kr
      const [first] = engine.frontier.hosts;
      Object.assign(first, { host: `www.${korean}`, domain: korean, ready_at: null, leased_until: null });
      first.unresolved_until = new Date(Date.now() + 58.5 * 60_000).toISOString();
      await open("#/frontier", { engine });
      const find = page.getByRole("textbox", { name: "Find a host" });
      const found = card("Host");
      await find.fill("https://www.한국뉴스.kr/정책");
      await page.keyboard.press("Enter");
      await found.getByText("does not resolve").waitFor();
      assert.match(
        await said(found),
        /Host www\.한국뉴스\.kr www\.xn--3e0bj9ghtquur\.kr does not resolve asked again in 58 minutes Domain 한국뉴스\.kr xn--3e0bj9ghtquur\.kr URLs/,
      );
      await found.getByRole("button", { name: `Block www.${korean}` }).click();
      await dialog().getByRole("button", { name: "Block" }).click();
      await notice(`www.${korean} is blocked.`);
      await found.getByText("blocked", { exact: true }).waitFor();
      await find.fill("www.elsewhere.example");
      await page.keyboard.press("Enter");
      await found.getByText("The frontier does not know www.elsewhere.example.").waitFor();
      await find.fill("bigmap");
      await page.keyboard.press("Enter");
      await found.getByText("bigmap is not a whole host name. Type it as in the table below").waitFor();
      await page.getByRole("link", { name: "Clear" }).click();
      await found.waitFor({ state: "detached" });
    });

    test("hosts say how they failed last, and that their robots.txt forbids everything or cannot be read", async () => {
      const engine = world();
      const [broken, refusing, forbidding, unreadable] = engine.frontier.hosts;
      const well = { ready_at: null, leased_until: null, unresolved_until: null, excluded: false };
      const ago = new Date(Date.now() - 60_000).toISOString();
      Object.assign(broken, well, { failures: 2, last_failure: { at: ago, status: null, error: "ECONNREFUSED ‮1" } });
      Object.assign(refusing, well, { refusals: 3, last_failure: { at: ago, status: 403, error: null } });
      Object.assign(forbidding, well, { forbids_all: true });
      Object.assign(unreadable, well, { robots_unreadable: true });
      await open("#/frontier", { engine });
      assert.match(await said(row(broken.host)), /Failures in a row: 2 · no answer: ECONNREFUSED/);
      assert.match(await said(row(refusing.host)), /Refusals in a row: 3 · HTTP 403/);
      assert.match(await said(row(forbidding.host)), /robots\.txt forbids everything/);
      assert.match(await said(row(unreadable.host)), /robots\.txt cannot be read/);
      await open(`#/frontier?host=${broken.host}`, { engine });
      assert.match(await said(card("Host")), /Last failure .* no answer: ECONNREFUSED/);
      await open(`#/frontier?url=https://${broken.host}/news/due`, { engine });
      assert.match(await said(card("State of a URL")), /Last failure .* no answer: connection reset/);
    });

    test("on a phone 36 hosts take a few screens", async () => {
      const engine = world();
      engine.frontier.hosts.splice(36);
      await open("#/frontier", { engine, width: 390, height: 844 });
      const { height } = await card("Hosts").boundingBox();
      assert.ok(height < 6_000, `${height} px`);
    });

    test("a URL is looked up, with the actions for its host", async () => {
      await open("#/frontier");
      const url = page.getByRole("textbox", { name: "State of a URL" });
      const look = async (address) => {
        await url.fill(address);
        await page.keyboard.press("Enter");
      };
      const found = card("State of a URL");
      await look("https://www.city-council-2.example/news/waiting");
      await found.getByText("waiting", { exact: true }).waitFor();
      assert.match(
        await said(found),
        /Last HTTP status 304 Method RSS Every 90 min[\s\S]+304 no[\s\S]+no answer no[\s\S]+200 yes/,
      );
      await look("https://www.city-council-2.example/news/leased");
      await found.getByText("leased", { exact: true }).waitFor();
      assert.match(await said(found), /A scraper has it\./);
      await found.getByRole("button", { name: "Block www.city-council-2.example" }).click();
      await page.keyboard.press("Escape");
      await look("www.city-council-2.example/news/due");
      await found.getByText("https://www.city-council-2.example/news/due").waitFor();
      assert.match(await said(found), /Score 0\.7 = 0\.180 news \+ 0\.520 learnt since then/);
      await look("https://www.city-council-2.example/news/excluded");
      await found.getByText("excluded", { exact: true }).waitFor();
      assert.match(
        await said(found),
        /Stopped by an exclusion url https:\/\/www\.city-council-2\.example\/news\/excluded by kim since .+ asked for/,
      );
      await look("https://www.city-council-2.example/news/forbidden");
      await found.getByText("forbidden", { exact: true }).waitFor();
      assert.match(await said(found), /Stopped by robots\.txt Disallow: \/news by https:\/\/www/);
      await look("https://elsewhere.example/");
      await found.getByText("not in the frontier", { exact: true }).waitFor();
      assert.equal(await found.getByRole("button").count(), 0);
      await look("no address at all");
      await found.getByRole("alert").filter({ hasText: "URL: is not an http or https URL" }).waitFor();
      await page.getByRole("link", { name: "Clear" }).click();
      await found.waitFor({ state: "detached" });
      assert.equal(await card("Shards").count(), 1);
    });

    test("a read-only token shows everything and changes nothing", async () => {
      await open("#/frontier?url=https://www.city-council-2.example/news/due", { token: "reader" });
      assert.match(await said(card("State of a URL")), /due/);
      assert.ok((await card("Hosts").locator("tbody tr").count()) > 10);
      const offered = page.getByRole("button", { name: /^(Block|Unblock|Delay of|Empty)/ });
      assert.ok((await offered.count()) > 10);
      for (const one of await offered.all()) assert.equal(await one.isDisabled(), true);
    });

    test("the numbers stay if a shard does not answer", async () => {
      const engine = world();
      engine.frontier.frozen = "shard-3";
      await open("#/frontier", { engine });
      await page.getByText("These shards do not answer: shard-3.").waitFor();
      await page.getByRole("textbox", { name: "State of a URL" }).fill("https://www.harbour-times-1.example/news/due");
      await page.keyboard.press("Enter");
      await card("State of a URL")
        .getByRole("alert")
        .filter({ hasText: "shard-3 did not answer; try again" })
        .waitFor();
      assert.ok((await card("Hosts").locator("tbody tr").count()) > 10);
      assert.equal(await card("Shards").locator("tbody tr").count(), 15);
    });

    test("an engine without hosts says so", async () => {
      await open("#/frontier", { engine: emptyWorld() });
      await page.getByText("No URLs reached the feed in the last 24 hours.").waitFor();
      assert.match(await said(card("Hosts")), /No hosts yet\./);
      assert.match(await said(card("In all")), /Oldest due –/);
    });
  });
});
