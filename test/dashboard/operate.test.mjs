/* global document, DataTransfer, DragEvent, getComputedStyle, innerWidth */
// Bulk actions of operators in Chromium, against a fake API: dropped files,
// collecting all failed domains again, and searching.
import assert from "node:assert/strict";
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, describe, test } from "node:test";
import { said, skip, stage } from "./browser.mjs";
import { show, views } from "./views.mjs";
import { emptyWorld, world } from "./world.mjs";

describe("operating", { skip }, () => {
  const scratch = mkdtempSync(join(tmpdir(), "uploads-"));
  after(() => rmSync(scratch, { recursive: true }));

  const { open: openOn, button, card, dialog, goTo, notice, sent } = stage();
  let fake, page;
  const open = async (...args) => ({ fake, page } = await openOn(...args));

  const uploads = () => sent("PUT", "/api/v1/datasets/").map(({ path, query }) => path.slice(17) + query);

  function file(name, records) {
    const path = join(scratch, name);
    writeFileSync(path, JSON.stringify(records));
    return path;
  }

  async function choose(...paths) {
    const [chooser] = await Promise.all([page.waitForEvent("filechooser"), button("Upload…").click()]);
    await chooser.setFiles(paths);
    await dialog().waitFor();
  }

  /** Drops files on the middle of the page. */
  const drop = (...names) =>
    page.evaluate((all) => {
      const dataTransfer = new DataTransfer();
      for (const name of all) dataTransfer.items.add(new File(["[]"], name, { type: "application/json" }));
      const target = document.querySelector("main");
      const event = (type) => new DragEvent(type, { dataTransfer, bubbles: true, cancelable: true });
      const over = event("dragover");
      target.dispatchEvent(over);
      const marked = document.documentElement.classList.contains("dropping");
      const dropped = event("drop");
      target.dispatchEvent(dropped);
      return { marked, taken: over.defaultPrevented && dropped.defaultPrevented };
    }, names);

  describe("uploads", () => {
    test("chosen files keep their own numbers or get the next ones, and are queued", async () => {
      await open("#/overview?country=sg&category=news", { engine: emptyWorld() });
      fake.world.upload({ country: "sg", category: "news", date: "2026-01-28" }, "raw_0007");
      const record = [{ url: "https://www.example.sg/" }];
      await choose(file("raw_0003.json", record), file("found today.json", record), file("raw_0007.json", record));
      assert.equal(await dialog().getByLabel("Country").inputValue(), "sg", "of the filter");
      await dialog().getByLabel("Country").fill("Singapore");
      await dialog().getByLabel("Date").fill("2026-01-28");
      await button("Upload").click();
      await notice("2 files uploaded and queued. 1 was there already.");
      assert.deepEqual(uploads(), [
        "sg/news/2026-01-28/raw_0008?orchestrate=true",
        "sg/news/2026-01-28/raw_0003?orchestrate=true",
        "sg/news/2026-01-28/raw_0007?orchestrate=true",
      ]);
      assert.deepEqual(sent("PUT", "/api/v1/datasets/")[1].body, record, "the file as it is");
    });

    test("a drop with a read-only token explains why nothing happens", async () => {
      await open("#/overview", { token: "reader" });
      await page.getByText("read only").waitFor();
      await drop("raw_0901.json");
      await page.getByText("This token may only read").first().waitFor();
      assert.equal(await page.getByRole("dialog").count(), 0);
    });

    test("files can be dropped anywhere, and progress is shown", async () => {
      await open("#/alarms");
      assert.deepEqual(await drop("raw_0901.json", "raw_0902.json", "notes.txt"), { marked: true, taken: true });
      await dialog().getByRole("heading", { name: "Upload 2 raw files?" }).waitFor();
      await dialog().getByLabel("Country").fill("kr");
      await dialog().getByLabel("Category").fill("news");
      let release;
      const held = new Promise((go) => (release = go));
      await page.route("**/raw_0902?*", async (route) => (await held, route.continue()));
      await button("Upload").click();
      await dialog().getByText("raw_0902.json, file 2 of 2").waitFor();
      const progress = dialog().getByRole("progressbar");
      assert.ok((await progress.evaluate((node) => node.value)) >= 0.5, "half of the bytes are there");
      release();
      await notice("2 files uploaded and queued.");
      assert.equal(await page.evaluate(() => document.documentElement.classList.contains("dropping")), false);
    });

    test("the path of a dropped folder sets the partition of its files", async () => {
      await open();
      const folder = join(scratch, "raw");
      for (const [place, name] of [
        ["country=sg/category=news/date=2026-01-28", "raw_0001.json"],
        ["country=kr/category=government/date=2026-01-29", "raw_0002.json"],
      ]) {
        mkdirSync(join(folder, place), { recursive: true });
        writeFileSync(join(folder, place, name), "[]");
      }
      const devtools = await page.context().newCDPSession(page);
      const data = { items: [], files: [folder], dragOperationsMask: 1 };
      for (const type of ["dragEnter", "dragOver", "drop"])
        await devtools.send("Input.dispatchDragEvent", { type, x: 400, y: 400, data });
      await dialog().getByRole("heading", { name: "Upload 2 raw files?" }).waitFor();
      assert.equal(await dialog().getByLabel("Country").count(), 0, "nothing is left to ask");
      await button("Upload").click();
      await notice("2 files uploaded and queued.");
      assert.deepEqual(uploads(), [
        "kr/government/2026-01-29/raw_0002?orchestrate=true",
        "sg/news/2026-01-28/raw_0001?orchestrate=true",
      ]);
    });

    test("an upload can be stopped", async () => {
      await open();
      await drop("raw_0901.json", "raw_0902.json");
      await dialog().getByLabel("Country").fill("kr");
      await dialog().getByLabel("Category").fill("news");
      await page.route("**/raw_0901?*", () => {}); // no answer, ever
      await button("Upload").click();
      await dialog().getByText("raw_0901.json, file 1 of 2").waitFor();
      await button("Stop").click();
      await notice("0 files uploaded and queued.");
      assert.deepEqual(uploads(), []);
    });

    test("refused files are named, and the others are uploaded", async () => {
      await open();
      await drop("raw_0901.json", "raw_0902.json");
      await dialog().getByLabel("Country").fill("kr");
      await dialog().getByLabel("Category").fill("news");
      const error = { code: "validation_error", message: "is empty; send the raw file", field: "body" };
      await page.route("**/raw_0901?*", (route) => route.fulfill({ status: 400, json: { success: false, error } }));
      await button("Upload").click();
      await dialog().getByText("was not taken").waitFor();
      const text = await said(dialog());
      assert.match(text, /1 file uploaded and queued\. 1 file was not taken: raw_0901\.json body: is empty/);
      assert.deepEqual(uploads().length, 1);
    });

    test("a file with other content can be replaced, unless contracts depend on it", async () => {
      await open("#/overview");
      const [{ partition_info: place }] = fake.world.files;
      const here = fake.world.files.filter((one) => one.partition_info === place);
      here.at(-1).state = "failed";
      const [done, broken] = [here[0].name, here.at(-1).name];
      for (const name of [done, broken]) fake.world.differing.add(name);
      await goTo(`#/domains?${new URLSearchParams(place)}`); // which does not list files itself
      await page.waitForFunction(
        (category) => document.querySelector("#filter-category")?.value === category,
        place.category,
      );
      await drop(`${done}.json`, `${broken}.json`, "raw_0901.json");
      await button("Upload").click();
      await button("Replace 1 file").waitFor();
      const text = await said(dialog());
      assert.match(text, /1 file uploaded and queued\. 1 file was not taken, since its number is taken/);
      assert.match(text, new RegExp(`${broken}\\.json .*1 file was not taken: ${done}\\.json .*under the next number`));
      await button("Replace 1 file").click();
      await notice("1 file uploaded and queued.");
      assert.equal(uploads().at(-1), `${Object.values(place).join("/")}/${broken}?orchestrate=true&replace=true`);
      assert.equal(uploads().length, 4);
      await drop(`${done}.json`);
      await button("Upload").click();
      await dialog().getByText("1 file was not taken:").waitFor();
      assert.doesNotMatch(await said(dialog()), /0 files|request r-1/);
      assert.equal(await page.getByRole("button", { name: /^Replace/ }).count(), 0);
      await button("Close").click();
      assert.equal(sent("GET", "/api/v1/datasets/").length, 2, "the partition is listed once an upload");
    });

    test("only JSON files are accepted, and none with a read-only token", async () => {
      await open();
      await drop("notes.txt");
      await notice("None of them is a JSON file.");
      await open("", { token: "reader" });
      assert.deepEqual(await drop("raw_0901.json"), { marked: false, taken: true });
      assert.equal(await dialog().count(), 0);
    });
  });

  describe("all failed domains", () => {
    test("are collected again, page by page; those without a document are left to their dead letters", async () => {
      await open("#/overview");
      const failed = fake.world.domains.filter((record) => record.state === "failed").length;
      await button("Collect all failed…").click();
      await dialog()
        .getByRole("heading", { name: `Collect ${failed} failed domains again?` })
        .waitFor();
      await button("Collect all failed").click();
      await page.locator(".notice").waitFor();
      const said = await page.locator(".notice").innerText();
      const [, queued, without] = /^(\d+) domains are queued\.(?: (\d+) without a document)?/.exec(said);
      assert.equal(Number(queued) + Number(without ?? 0), failed, said);
      const calls = sent("POST", "/api/v1/seeds/domains/");
      assert.equal(new Set(calls.map((call) => call.path)).size, failed, "each once");
      assert.ok(calls.every((call) => call.body.country && call.body.date));
    });

    test("are those of the list's filter", async () => {
      await open("#/domains?state=failed&error_type=timeout_error");
      await button("Collect all failed…").click();
      await button("Collect all failed").click();
      await page.locator(".notice").waitFor();
      const wanted = fake.world.domains.filter((record) => record.error_type === "timeout_error").length;
      const calls = sent("POST", "/api/v1/seeds/domains/");
      assert.ok(calls.length >= wanted && calls.length < 25, `${calls.length} of ${wanted}`);
      const listed = sent("GET", "/api/v1/seeds/domains").filter((call) => call.query.includes("limit=100"));
      assert.ok(listed.every((call) => call.query.includes("error_type=timeout_error")));
    });
  });

  describe("finding", () => {
    test("a URL, a host or a domain that is pasted opens the domain", async () => {
      await open("#/domains");
      for (const text of [
        "https://www.city-council-2.example/news/1?utm_source=x#top",
        "  CITY-COUNCIL-2.example/ ",
        "www.city-council-2.example:8443",
        "city-council-2.example",
      ]) {
        await goTo("#/domains");
        await page.getByRole("textbox", { name: "Open a domain or URL" }).fill(text);
        await page.keyboard.press("Enter");
        await page.getByText("sg / government /").first().waitFor();
        await page.getByRole("region", { name: "Fetch contract" }).waitFor();
      }
    });

    test("an invalid or unknown name is explained, with suggestions", async () => {
      await open("#/domains");
      const search = async (text) => {
        await goTo("#/domains");
        await page.getByRole("textbox", { name: "Open a domain or URL" }).fill(text);
        await page.keyboard.press("Enter");
        await page.getByRole("heading", { name: text }).waitFor();
      };
      const empty = page.locator(".empty");
      await search("council-2");
      await empty.filter({ hasText: "council-2 is not a domain. One looks like example.com" }).waitFor();
      assert.doesNotMatch(await page.locator("main").innerText(), /request r-1|seed|domain:/);
      await search("city-counsil-2.example");
      await empty.filter({ hasText: "The engine has nothing of city-counsil-2.example." }).waitFor();
      const meant = empty.getByRole("link", { name: "city-council-2.example", exact: true });
      await meant.click();
      await page.getByRole("heading", { name: "city-council-2.example" }).waitFor();
      await card("Fetch contract").waitFor();
      await search("city council");
      await empty.filter({ hasText: "city council is not a domain." }).waitFor();
      await search("zzzzzzzz.example");
      await empty.filter({ hasText: "The engine has nothing of zzzzzzzz.example." }).waitFor();
      assert.doesNotMatch(await said(empty), /Did you mean/);
      await goTo("#/domain/city-council-2.example?country=kr");
      await empty.filter({ hasText: "There is nothing of city-council-2.example in kr." }).waitFor();
      assert.match(await said(empty), /In other partitions: city-council-2\.example/);
      await meant.click();
      await card("Fetch contract").waitFor();
    });

    test("the page of a host is that of its domain, and says so", async () => {
      await open("#/domain/www.city-council-2.example");
      await page.getByRole("heading", { name: "city-council-2.example", exact: true }).waitFor();
      await page.getByText("www.city-council-2.example belongs to this domain.").waitFor();
      assert.equal(await page.title(), "Domain city-council-2.example · Seed Engine");
      await goTo("#/domain/city-council-2.example");
      await page.getByText("belongs to this domain").waitFor({ state: "detached" });
    });

    test("an address with an id that its view does not take leads to the page of that id, or nowhere", async () => {
      await open("#/domains/city-council-2.example");
      await card("Fetch contract").waitFor();
      await goTo("#/dead-letters/m-002/");
      await card("Why it was given up").waitFor();
      for (const hash of ["#/overview/x", "#/alarms/x", "#/domain", "#/domains/x/y", "#/constructor/x"]) {
        await goTo(hash);
        await page.getByText("This address leads nowhere.").waitFor();
        await goTo("#/alarms");
        await page.getByRole("heading", { name: "Alarms" }).waitFor();
      }
    });

    test("a country is given by name or code, in both languages, and an unknown name is not sent", async () => {
      await open("#/overview");
      const country = page.getByLabel("Country");
      for (const [text, code] of [
        ["Singapore", "sg"],
        ["south korea", "kr"],
        ["UK", "gb"],
        ["Germany", "de"],
        ["jp", "jp"],
      ]) {
        await goTo("#/overview");
        await country.fill(text);
        assert.equal(await country.inputValue(), text, "nothing is cut off");
        await page.keyboard.press("Enter");
        await page.waitForURL(new RegExp(`country=${code}$`));
      }
      await country.fill("Singapura del Sur");
      await page.keyboard.press("Enter");
      assert.match(await country.evaluate((node) => node.validationMessage), /There is no such country/);
      assert.match(page.url(), /country=jp$/);
      await open("#/overview", { language: "ko" });
      await page.getByLabel("국가").fill("대한민국");
      await page.keyboard.press("Enter");
      await page.waitForURL(/country=kr$/);
    });
  });

  describe("advice on crawling", () => {
    const contract = () => card("Fetch contract");
    const headings = (name) => page.getByRole("table", { name }).locator("th").allInnerTexts();
    const unscored = async () => {
      assert.deepEqual(await headings("Raw URLs"), ["URL", "Language", "Found by", "Type"]);
      assert.deepEqual(await headings("Content types"), ["Type", "URLs"]);
      assert.doesNotMatch(await page.getByRole("region", { name: "Discovery" }).innerText(), /priority|score/i);
    };
    const altered = (change) => ({ alter: (data) => (data?.document ? change(structuredClone(data)) : data) });

    test("is not given for a site that does not answer", async () => {
      await open("#/domain/city-council-2.example", {
        api: altered((data) => ({ ...data, document: { ...data.document, reachable: false } })),
      });
      await page.getByText("unreachable", { exact: true }).waitFor();
      assert.equal(await contract().count(), 0);
      assert.equal(await page.getByText("crawling allowed").count(), 0);
      assert.equal(await page.getByRole("region", { name: "URLs that matter most" }).count(), 0);
      await unscored();
    });

    test("is not given for a site that refuses everything, whatever its robots.txt", async () => {
      await open("#/domain/city-council-2.example", {
        api: altered((data) => ({
          ...data,
          document: { ...data.document, blocked: true, blocked_reason: "HTTP 403: Access denied" },
        })),
      });
      await page.getByText("site refuses requests", { exact: true }).waitFor();
      await page.getByText("HTTP 403: Access denied", { exact: true }).waitFor();
      await page.getByText("Every page, sitemap and feed that was asked for was refused").waitFor();
      assert.equal(await contract().count(), 0);
      assert.equal(await page.getByText("crawling allowed").count(), 0);
      await unscored();
    });

    test("a failure without a dead letter does not ask for a replay", async () => {
      const engine = world();
      engine.deadLetters = engine.deadLetters.filter(({ record }) => record.domain !== "rail-news-158.example");
      await open("#/domain/rail-news-158.example", { engine });
      const why = page.getByRole("region", { name: "Why it failed" });
      await why.getByText("There is no dead letter").waitFor();
      assert.doesNotMatch(await why.innerText(), /replay/i);
    });

    test("is not given for an excluded domain, by the ledger or by the document", async () => {
      for (const exclude of [
        (data) => ({ ...data, record: { ...data.record, state: "excluded" } }),
        (data) => ({ ...data, record: { ...data.record, excluded: true } }),
        (data) => ({ ...data, document: { ...data.document, excluded: true } }),
        (data) => ({ ...data, excluded: true }),
      ]) {
        await open("#/domain/city-council-2.example", { api: altered(exclude) });
        await page.getByText("This domain is excluded and not fetched.").waitFor();
        assert.equal(await contract().count(), 0);
        assert.equal(await page.getByText("crawling allowed").count(), 0);
        await unscored();
        const state = page.getByRole("region", { name: "State", exact: true });
        assert.match(await state.innerText(), /excluded/);
        assert.doesNotMatch(await state.innerText(), /processed|Next expected/);
        assert.equal(await page.getByRole("button", { name: "Collect again…" }).count(), 0);
        assert.equal(await page.getByRole("link", { name: "Exclude…" }).count(), 0);
      }
    });

    test("an excluded domain's dead letter is discarded, or the exclusion taken back; a replay is not offered", async () => {
      await open("#/domain/rail-news-158.example", {
        api: { alter: (data) => (data?.record ? { ...data, excluded: true } : data) },
      });
      const why = card("Why it failed");
      await why.getByText("While the domain is excluded a replay fetches nothing.").waitFor();
      assert.doesNotMatch(await why.innerText(), /try again/i);
      assert.equal(await page.getByRole("button", { name: /^Replay/ }).count(), 0);
      await button("Discard rail-news-158.example").click();
      await dialog().getByRole("button", { name: "Discard" }).click();
      await notice("1 dead letter discarded.");
    });

    test("the dead letter and the list of dead letters say the same", async () => {
      const engine = world();
      const domain = "rail-news-158.example";
      engine.exclusions.push({
        kind: "domain",
        value: domain,
        reason: null,
        created_at: "2026-01-28T10:00:00Z",
        created_by: "x",
      });
      await open("#/dead-letter/m-001", { engine });
      await card("Why it was given up").getByText("While the domain is excluded a replay fetches nothing.").waitFor();
      assert.equal(await button("Replay").count(), 0);
      await button("Discard").waitFor();
      await goTo("#/dead-letters");
      await button(`Discard ${domain}`).waitFor();
      assert.equal(await button(`Replay ${domain}`).count(), 0);
      assert.ok((await page.getByRole("button", { name: /^Replay rail/ }).count()) > 0, "the others are");
    });

    test("patterns typical of similar sites are not shown as its own", async () => {
      const pattern = (text, examples) => ({ pattern: text, content_type: "news", confidence: 0.5, examples });
      const patterns = [pattern("/news/{slug}", ["https://a.example/news/x"]), pattern("/press-room/{slug}", [])];
      const api = altered((data) => {
        data.document.intelligent_discovery.url_patterns = patterns;
        return data;
      });
      await open("#/domain/city-council-2.example", { api });
      const rows = page.getByRole("table", { name: "URL patterns" }).locator("tbody tr");
      assert.deepEqual(
        (await rows.allInnerTexts()).map((text) => text.split(/\s/)[0]),
        ["/news/{slug}"],
      );
      patterns.shift();
      await button("Refresh").click();
      await page.getByRole("table", { name: "URL patterns" }).waitFor({ state: "detached" });
    });

    test("is given for other domains", async () => {
      await open("#/domain/city-council-2.example");
      await contract().getByText("crawling allowed").waitFor();
      assert.ok((await headings("Raw URLs")).includes("Action"));
      await page.getByText("High priority").waitFor();
    });
  });

  test("at 375 pixels the header is one line, and rows are cards", async () => {
    await open("#/overview", { width: 375, height: 812 });
    const height = () => page.locator("header").evaluate((node) => node.getBoundingClientRect().height);
    assert.ok((await height()) <= 64, `${await height()} px`);
    assert.equal(await page.getByRole("link", { name: "Domains", exact: true }).first().isVisible(), false);
    const menu = page.getByRole("button", { name: /^Menu/ });
    assert.equal(await menu.getAttribute("aria-expanded"), "false");
    await menu.focus();
    await page.keyboard.press("Enter");
    assert.equal(await menu.getAttribute("aria-expanded"), "true");
    await page.keyboard.press("Tab");
    await page.keyboard.press("Escape");
    assert.equal(await menu.getAttribute("aria-expanded"), "false");
    assert.match(await page.evaluate(() => document.activeElement.innerText), /^Menu/, "the focus is where it was");
    await page.keyboard.press("Enter");
    await page.getByRole("navigation", { name: "Main" }).getByRole("link", { name: "Domains" }).click();
    await page.getByRole("heading", { name: "Domains", exact: true }).waitFor();
    assert.equal(await menu.getAttribute("aria-expanded"), "false", "it closes behind you");
    for (const view of views.filter(({ name }) => ["domains", "dead-letters", "overview"].includes(name))) {
      await show(page, view);
      await page.locator("table.many tbody tr").first().waitFor({ state: "attached" }); // some are folded away
      const rows = await page.locator("table.many tbody tr").evaluateAll((all) =>
        all.map((row) => ({
          display: getComputedStyle(row).display,
          names: [...row.querySelectorAll("td[data-head]")].every(
            (cell, i) => i === 0 || getComputedStyle(cell, "::before").content === `"${cell.dataset.head}"`,
          ),
          right: row.getBoundingClientRect().right,
        })),
      );
      assert.ok(rows.length > 0, view.name);
      for (const row of rows)
        assert.ok(row.display === "flex" && row.names && row.right <= 375, `${view.name} ${JSON.stringify(row)}`);
    }
    assert.equal(await page.evaluate(() => document.documentElement.scrollWidth > innerWidth), false);
  });
});
