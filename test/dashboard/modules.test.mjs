// The dashboard's modules that need no browser, and the fake API of the other tests.
import assert from "node:assert/strict";
import { readFileSync, readdirSync } from "node:fs";
import { join } from "node:path";
import { describe, mock, test } from "node:test";
import Ajv2020 from "ajv/dist/2020.js";
import { roundUp } from "../../dashboard/public/dashboard/charts.js";
import * as i18n from "../../dashboard/public/dashboard/i18n.js";
import en from "../../dashboard/public/dashboard/lang/en.js";
import { why } from "../../dashboard/public/dashboard/why.js";
import { readableHost, readableURL } from "../../dashboard/public/dashboard/names.js";
import { Poller, wait } from "../../dashboard/public/dashboard/poll.js";
import { languages } from "../../dashboard/public/dashboard/preferences.js";
import { parse, to } from "../../dashboard/public/dashboard/routes.js";
import { root } from "./browser.mjs";
import { startFake } from "./fakeapi.mjs";
import { emptyWorld, world } from "./world.mjs";

const source = join(root, "dashboard/public/dashboard");
const modules = readdirSync(source, { recursive: true })
  .filter((path) => path.endsWith(".js"))
  .map((path) => ({ path, text: readFileSync(join(source, path), "utf8") }));
const code = modules.filter(({ path }) => !path.startsWith("lang"));

/** The forms of a text: more than one where it depends on a count. */
const formsOf = (text) => (typeof text === "object" ? Object.values(text) : [text]);

/** The names of a text's values. */
const valuesOf = (text) =>
  formsOf(text)
    .map((form) =>
      typeof form === "function" ? /^\(([^)]*)\)/.exec(form.toString())[1].split(/, */).filter(Boolean) : [],
    )
    .reduce((a, b) => (b.length > a.length ? b : a));

/** The values of texts that are counts, and those that are words. */
const counts = new Set(
  "n found sent skipped total done failed part whole seconds rate replayed discarded articles inserted succeeded attempts".split(
    " ",
  ),
);
const words = new Set(
  "name host who when why span average threshold value left partition names domain source error".split(" "),
);

/** Words that may follow a number without being counted. */
const uncounted = new Set(
  "a new of found queued skipped finished discarded in broken uploaded without replayed failed processed news could had more selected still s".split(
    " ",
  ),
);

describe("texts", () => {
  test("every language that can be chosen has texts", () => {
    const files = readdirSync(join(source, "lang")).map((name) => name.replace(/\.js$/, ""));
    assert.deepEqual(Object.keys(languages).sort(), files.sort());
    const pages = readFileSync(join(source, "i18n.js"), "utf8");
    for (const name of files) assert.ok(pages.includes(`from "./lang/${name}.js"`), name);
  });

  test("all languages have the same keys, with the same number of values", async () => {
    for (const language of Object.keys(languages)) {
      const { default: texts } = await import(`../../dashboard/public/dashboard/lang/${language}.js`);
      assert.deepEqual(Object.keys(texts).sort(), Object.keys(en).sort(), language);
      const { pluralCategories } = new Intl.PluralRules(language).resolvedOptions();
      for (const [key, text] of Object.entries(texts)) {
        if (typeof text === "object")
          assert.deepEqual(Object.keys(text).sort(), pluralCategories.toSorted(), `${language}: ${key}`);
        for (const form of formsOf(text)) {
          const shown = typeof form === "function" ? form("1", "2", "3", "4") : form;
          assert.ok(
            typeof shown === "string" && shown.trim() !== "" && !/undefined|null/.test(shown),
            `${language}: ${key}`,
          );
        }
        assert.deepEqual(valuesOf(text), valuesOf(en[key]), `${language}: ${key} has its values in another order`);
      }
    }
  });

  describe("counts", () => {
    const counted = (texts, n) =>
      Object.entries(texts)
        .map(([key, text]) => [key, valuesOf(text)])
        .filter(([, names]) => names.some((name) => counts.has(name)))
        .map(([key, names]) => {
          const values = names.map((name) =>
            counts.has(name) ? n : words.has(name) ? "X" : assert.fail(`${key}: ${name}`),
          );
          return [key, i18n.t(key, ...values)];
        });
    const speak = (t, language) => t.mock.getter(navigator, "languages", () => [language]);

    test("agree with their noun, in English", (t) => {
      speak(t, "en");
      const behind = (n, shown) =>
        [...shown.matchAll(new RegExp(`(?<![\\d.,])${n}(?: (?:raw|new|dead|failed(?= domain)))? ([a-z]+)`, "gi"))].map(
          ([, word]) => word,
        );
      const one = counted(en, 1);
      assert.ok(one.length > 50, `${one.length} texts`);
      for (const many of [0, 2, 5]) {
        for (const [i, [key, shown]] of counted(en, many).entries()) {
          const singular = behind(1, one[i][1]);
          for (const [at, word] of behind(many, shown).entries())
            assert.ok(
              uncounted.has(word) ? singular[at] === word : singular[at] !== word,
              `${key}: "${one[i][1]}" and "${shown}"`,
            );
        }
      }
    });

    test("have a counter, in Korean", async (t) => {
      speak(t, "ko");
      const { default: ko } = await import("../../dashboard/public/dashboard/lang/ko.js");
      for (const n of [0, 1, 2, 5, 1250])
        for (const [key, shown] of counted(ko, n))
          for (const [, number, counter] of shown.matchAll(/(\d[\d,]*)(\S?)/g))
            assert.match(counter, /[개건회초번]/, `${key}: ${number} in "${shown}"`);
    });

    test("are passed as numbers, so that the plural form can be chosen", () => {
      for (const { path, text } of code)
        assert.doesNotMatch(text, /\bt\(("[^"]+"|`[^`]+`)(, [\w.]+)*,\s*number\([^,()]*(\([^()]*\))?[^,()]*\)/, path);
    });
  });

  test("every text that the modules use exists, and no other", () => {
    const asked = new Set(code.flatMap(({ text }) => [...text.matchAll(/\bt\("([^"]+)"/g)].map((match) => match[1])));
    for (const key of asked) assert.ok(Object.hasOwn(en, key), key);
    const composed = [
      ...code
        .map(({ text }) => text)
        .join("")
        .matchAll(/\bt\(`([^`$]*)\$\{[^}]+\}([^`]*)`|\b(?:label|choice\("\w+",)\s*\(?"([^"]+)"/g),
    ].map(([, before, after, kind]) => [kind ? `${kind}.` : before, after ?? ""]);
    for (const key of Object.keys(en)) {
      assert.ok(
        asked.has(key) ||
          code.some(({ text }) => text.includes(`"${key}"`)) ||
          composed.some(([before, after]) => key.startsWith(before) && key.endsWith(after)),
        `${key} is not used`,
      );
    }
  });

  test("every value of the API has a text", () => {
    const { components } = openapi();
    const enums = {
      error: "ErrorType",
      why: "ErrorType",
      todo: "ErrorType",
      state: "DomainState",
      kind: "ExclusionKind",
    };
    for (const [kind, name] of Object.entries(enums))
      for (const value of components.schemas[name].enum)
        assert.ok(Object.hasOwn(en, `${kind}.${value}`), `${kind}.${value}`);
    for (const value of components.schemas.FrontierURL.properties.state.enum)
      for (const kind of ["state", "frontier.about"]) assert.ok(Object.hasOwn(en, `${kind}.${value}`), value);
    for (const words of Object.values(why))
      assert.deepEqual(Object.keys(words), components.schemas.FrontierURL.properties.why_code.enum);
    for (const value of components.schemas.DeadLetterState.enum) assert.ok(Object.hasOwn(en, `state.${value}`), value);
  });

  test("a value without a text is shown as it is", () => {
    assert.equal(i18n.label("state", "failed"), "failed");
    assert.equal(i18n.label("error", "timeout_error"), "Timeout");
    for (const value of ["odd", "__proto__", "constructor"]) assert.equal(i18n.label("state", value), value);
  });
});

test("numbers, rates and durations", () => {
  assert.deepEqual(
    [0, 1250, 1.25, NaN, undefined].map((n) => i18n.number(n)),
    ["0", "1,250", "1", "–", "–"],
  );
  // Only exactly 1 is 100 %, and only 0 is 0 %.
  assert.deepEqual(
    [0, 0.004, 0.84, 0.999, 1].map((share) => i18n.percent(share)),
    ["0%", "0.4%", "84%", "99%", "100%"],
  );
  // A value above a limit is not shown as the limit.
  assert.deepEqual([i18n.percent(0.104, 1), i18n.percent(0.1, 1)], ["10.4%", "10%"]);
  assert.deepEqual(
    [0, 245, 1250, 61_000, 7_200_000, 604_800_000, NaN].map((ms) => i18n.duration(ms)),
    ["0 ms", "245 ms", "1.25 sec", "61 sec", "2 hr", "7 days", "–"],
  );
  assert.deepEqual(
    [1, 66, 1250, NaN].map((n) => i18n.bytes(n)),
    ["1 byte", "66 bytes", "1.3 kB", "–"],
  );
  const now = Date.parse("2026-01-28T10:00:00Z");
  assert.deepEqual(
    ["2026-01-28T09:59:30Z", "2026-01-28T08:30:00Z", "2026-01-29T10:00:00Z", "soon", null].map((time) =>
      i18n.ago(time, now),
    ),
    ["30 seconds ago", "1 hour ago", "tomorrow", "–", "–"],
  );
  assert.deepEqual([1, 3, 53, 60, 61, 112, 999, 1001].map(roundUp), [2, 4, 60, 60, 80, 120, 1000, 1200]);
});

test("addresses survive a round trip", () => {
  for (const [view, query, id] of [
    ["overview", {}, null],
    ["domains", { state: "failed", category: "a&b=c" }, null],
    ["domain", { country: "sg" }, "xn--h1a.example"],
    ["dead-letter", {}, "a/b?c#d%"],
  ]) {
    assert.deepEqual(parse(to(view, query, id)), { view, query, id });
  }
  assert.equal(to("domains", { state: "", cursor: null }), "#/domains");
  assert.deepEqual(parse(""), { view: "overview", id: null, query: {} });
  assert.equal(parse("#/domain/%E0%A4%A").view, "?", "what cannot be decoded");
  assert.equal(parse("#/domain/a/b").view, "?", "too many parts");
});

test("international names and paths are readable, and only where that is certain", () => {
  for (const name of [
    "한국뉴스.kr",
    "정책브리핑.한국",
    "www.bücher.example:8080",
    "ドメイン名例.jp",
    "россия.рф",
    "faß.de",
    "почемужеонинеговорятпорусски.com",
    "ليهمابتكلموشعربي.eg",
    "💩.la",
  ])
    assert.equal(readableHost(new URL(`https://${name}`).host), name);
  const odd = ["a.example", "xn--.kr", "xn--a.kr", "xn--www-hfa.kr", "xn--\u{e9}.kr", `xn--${"z".repeat(5_000)}.kr`];
  for (const host of odd) assert.equal(readableHost(host), host);
  assert.equal(
    readableURL("https://xn--3e0bj9ghtquur.kr/%EC%A0%95%EC%B1%85/a%20b%2F%E2%80%AE?q=%ed%95%9c%ff#%EC%A0%95"),
    "https://한국뉴스.kr/정책/a%20b%2F%E2%80%AE?q=%ed%95%9c%ff#정",
  );
});

describe("polling", () => {
  test("failures back off, and respect Retry-After", () => {
    assert.deepEqual(
      [0, 1, 2, 3, 9].map((failures) => wait(5_000, failures)),
      [5_000, 10_000, 20_000, 40_000, 60_000],
    );
    assert.equal(wait(5_000, 1, 90), 90_000);
  });

  test("stops while the page is hidden, and resumes at once when it is visible", async (t) => {
    t.mock.timers.enable({ apis: ["setTimeout", "Date"] });
    const page = Object.assign(new EventTarget(), { hidden: false });
    const load = mock.fn(async () => 1_000);
    const poller = new Poller(load, assert.fail, page);
    await poller.refresh();
    await tick(t, 1_000);
    assert.equal(load.mock.callCount(), 2);
    const show = (shown) => {
      page.hidden = !shown;
      page.dispatchEvent(new Event("visibilitychange"));
    };
    show(false);
    await tick(t, 60_000);
    assert.equal(load.mock.callCount(), 2, "hidden");
    show(true);
    await tick(t, 0);
    assert.equal(load.mock.callCount(), 3, "seen again");
    poller.live = false;
    await tick(t, 60_000);
    assert.equal(load.mock.callCount(), 3, "switched off");
    poller.live = true;
    await tick(t, 0);
    assert.equal(load.mock.callCount(), 4, "switched on");
    poller.stop();
    show(true);
    await tick(t, 60_000);
    assert.equal(load.mock.callCount(), 4, "stopped");
  });

  test("a superseded call is aborted and its failure dropped", async () => {
    const page = Object.assign(new EventTarget(), { hidden: true });
    const failures = [];
    let calls = 0;
    const load = (signal) =>
      ++calls === 1
        ? new Promise((_, fail) => signal.addEventListener("abort", () => fail(new Error("aborted"))))
        : Promise.reject(new Error("down"));
    const poller = new Poller(load, (error, next) => failures.push([error.message, next]), page);
    await Promise.all([poller.refresh(), poller.refresh()]);
    await poller.refresh();
    assert.deepEqual(failures, [
      ["down", 10_000],
      ["down", 20_000],
    ]);
  });
});

async function tick(t, ms) {
  t.mock.timers.tick(ms);
  for (let i = 0; i < 5; i++) await Promise.resolve();
}

test("no text becomes HTML, and no script or style is inline", () => {
  for (const { path, text } of code)
    assert.doesNotMatch(
      text,
      /innerHTML|outerHTML|insertAdjacent|document\.write|DOMParser|\beval\b|new Function|\.style\b/,
      path,
    );
  const html = readFileSync(join(source, "index.html"), "utf8");
  assert.doesNotMatch(html, /<style|style=|\son\w+=|<script(?![^>]*\ssrc=)/i);
});

const read = (path) => JSON.parse(readFileSync(join(root, path), "utf8"));
const openapi = () => read("contract/openapi.json");

test("the fake API conforms to openapi.json", async (t) => {
  const ajv = new Ajv2020({ strict: false, validateFormats: false });
  ajv.addSchema(openapi(), "openapi");
  const validDocument = ajv.compile(read("contract/schemas/domain_metadata.schema.json"));
  const validLetter = ajv.compile(read("contract/schemas/dead_letter.schema.json"));
  const valid = (name, data) => {
    const validate =
      ajv.getSchema(`openapi#/components/schemas/${name}`) ??
      ajv.compile({ $ref: `openapi#/components/schemas/${name}` });
    assert.ok(validate(data), `${name}: ${JSON.stringify(validate.errors?.slice(0, 3))}`);
  };
  for (const engine of [world(), emptyWorld()]) {
    const fake = await startFake(engine);
    t.after(() => fake.close());
    const call = async (method, path, body) =>
      (
        await fetch(fake.url + path, {
          method,
          body: body && JSON.stringify(body),
          headers: { authorization: "Bearer secret", ...(method !== "GET" && { "content-type": "application/json" }) },
        })
      ).json();
    const get = async (path) => (await call("GET", path)).data;
    valid("Index", await get("/"));
    valid("Status", await get("/api/v1/seeds/status?by=partition&by=error_type&trend=24"));
    valid("DomainPage", await get("/api/v1/seeds/domains?sort=duration"));
    valid("DeadLetterPage", await get("/api/v1/dlq?state=stored"));
    valid("ExclusionPage", await get("/api/v1/exclusions"));
    valid("Pipeline", await get("/api/v1/pipeline"));
    valid("FrontierStats", await get("/api/v1/frontier/stats"));
    valid("FrontierHostPage", await get("/api/v1/frontier/hosts?sort=size"));
    for (const state of ["due", "waiting", "leased", "fetched", "gone", "known", "forbidden", "excluded", "a/b"])
      valid("FrontierURL", await get(`/api/v1/frontier/url?url=https://www.city-council-2.example/news/${state}`));
    for (const { host } of engine.frontier.hosts.slice(0, 1)) {
      const changed = await call("POST", `/api/v1/frontier/hosts/${host}`, { delay_seconds: 2 });
      valid("FrontierHostChanged", changed.data);
      valid("FrontierHostDetail", await get(`/api/v1/frontier/hosts/${host}`));
    }
    valid("AlarmTrial", (await call("POST", "/api/v1/alarms/test", {})).data);
    valid("Pipeline", (await call("POST", "/api/v1/pipeline/pause", { reason: "x" })).data);
    valid("Orchestrated", (await call("POST", "/api/v1/seeds/orchestrate", {})).data);
    valid("Exclusion", (await call("PUT", "/api/v1/exclusions/domain/casino.example", { reason: "x" })).data);
    valid("Error", await call("PUT", "/api/v1/exclusions/domain/x"));
    for (const { domain } of engine.domains.slice(0, 10)) {
      const detail = await get(`/api/v1/seeds/domains/${domain}`);
      valid("DomainDetail", detail);
      assert.ok(validDocument(detail.document), `${domain}: ${JSON.stringify(validDocument.errors)}`);
    }
    for (const { record } of engine.deadLetters) {
      const detail = await get(`/api/v1/dlq/${record.id}`);
      valid("DeadLetterDetail", detail);
      assert.ok(validLetter(detail.letter), JSON.stringify(validLetter.errors));
    }
    valid("Resolved", (await call("POST", "/api/v1/dlq/replay", { ids: ["m-001", "nothing"] })).data);
    valid("Resolved", (await call("POST", "/api/v1/dlq/discard", { all: true })).data);
  }
});
