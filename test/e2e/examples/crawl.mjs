// Scrapers beside an engine on workerd and the sample web, which logs the requests of both.
import assert from "node:assert/strict";
import { spawnSync } from "node:child_process";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { answerOf } from "../../../sample/web/origin.mjs";
import { startProxy } from "../../../sample/web/proxy.mjs";
import { sites } from "../../../sample/web/sites.mjs";
import { partition, quick, root, startEngine, until } from "../engine.mjs";
import { HOUR, run } from "./run.mjs";

const INTERVAL = 300; // ms between two requests to a host
// Why a page waits when a scraper is done: its site refuses or fails, or the engine fetches it itself.
const kept = ["entry_point", "host_broken", "host_refuses", "host_resting", "refreshing", "retried"];
const delays = { "merlion-post.com.sg": 2000 }; // Crawl-delay of robots.txt
const API = { authorization: "Bearer operator" };
// Collected before the scraper runs; the frontier takes the best six pages of each.
const collected = [
  ...["mom.gov.sg", "www.moh.gov.sg", "merlion-post.com.sg", "harbour-times.sg", "flaky-wire.sg", "bigmap.com.au"],
  ...["plain-http.sg", "closed-gazette.sg", "picky-daily.sg", "straits-wire.sg", "slowport.sg"],
];
// Put by hand, without reading robots.txt.
const forbidden = [
  ...["https://www.mom.gov.sg/eservices/login", "https://closed-gazette.sg/notice-1"],
  ...["https://picky-daily.sg/story-1", "https://straits-wire.sg/wire-1"],
];
const put = [
  ...forbidden,
  "https://new-name.sg/story-1", // no collection has seen its robots.txt
  "https://new-name.sg/missing",
  "http://new-name.sg/story-2", // redirects to https
  "https://old-name.sg/story-3", // its robots.txt belongs to another host
  "https://refused-post.sg/a",
  "https://slowport.sg/shipping-7", // answers 429 once
  "https://ica.gov.sg/news-and-publications/media-release-1", // excluded
];

/** The paths of a host that robots.txt allows, by the engine's own matcher, which the scrapers do not use. */
function allowed(host, paths) {
  const site = sites[host];
  const robots = site && answerOf(site, new URL(`${site.https === "refused" ? "http" : "https"}://${host}/robots.txt`));
  if (!robots || robots.mode || robots.status >= 500) return [];
  if (robots.status >= 300) return paths;
  const judged = spawnSync(join(root, "build/seedctl"), ["robots", "--json", "-", ...paths], { input: robots.body });
  const { urls } = JSON.parse(judged.stdout);
  return urls.filter((one) => one.allowed).map((one) => one.url);
}

/** Runs one scraper, as crawlTogether does. */
export async function crawl(scraper) {
  const { runs, ...others } = await crawlTogether([scraper]);
  return { ...others, ...runs[0] };
}

/**
 * Runs scrapers side by side on one engine, each {example, command, env} behind a proxy of its own. What it returns has
 * the exit code of each, its output, and what it was answered.
 */
export async function crawlTogether(scrapers) {
  const engine = await startEngine({
    vars: {
      ...quick,
      REQUEST_INTERVAL_MS: String(INTERVAL),
      FRONTIER_URLS_PER_DOMAIN: HOUR ? "80" : "6",
      API_TOKEN: "operator",
      SCRAPER_TOKEN: "reader",
    },
  });
  const proxies = [];
  try {
    const ok = async (method, path, body) => {
      const { success, data, error } = await engine.api(method, path, body, API);
      assert.ok(success, `${method} ${path}: ${JSON.stringify(error)}`);
      return data;
    };
    const records = collected.map((domain) => ({ url: `https://${domain}/`, source_type: "media" }));
    await ok("PUT", "/api/v1/datasets/sg/news/2026-01-28/raw_0001?orchestrate=true", records);
    await until(() => engine.events("domain_collector_complete").length >= collected.length, "the collections", 120);
    await ok("POST", "/api/v1/frontier/urls", {
      urls: put.map((url) => ({ url, priority: 1 })),
      partition_info: partition,
    });
    await ok("PUT", "/api/v1/exclusions/domain/ica.gov.sg", { reason: "asked by the owner" });
    if (HOUR)
      for (const { host } of (await ok("GET", "/api/v1/frontier/hosts?limit=100")).hosts)
        await ok("POST", `/api/v1/frontier/hosts/${host}`, { delay_seconds: 40 });
    const fault = { host: "slowport.sg", path: "/shipping-7", mode: "status", status: 429, times: 1, retry_after: 2 };
    await engine.control("POST", "/fault", fault);
    const before = (await engine.control("GET", "/log")).requests.length;

    const address = (await engine.harness.listen()).url.origin;
    const started = scrapers.map(() => Promise.withResolvers());
    const all = Promise.all(started.map(({ promise }) => promise));
    const scrape = async ({ example, command, env }, i) => {
      const received = []; // URLs of pages that were answered with 200
      const robots = []; // URLs of robots.txt files that were asked for
      const proxy = await startProxy(async (url, init) => {
        // Nobody is answered before all ask something: the first to start would take everything.
        started[i].resolve();
        await Promise.race([all, sleep(10_000, null, { ref: false })]);
        const { pathname } = new URL(url);
        if (pathname === "/robots.txt") robots.push(url);
        const answer = await engine.web.fetch(url, init);
        if (answer.status === 200 && pathname !== "/robots.txt") received.push(url);
        return answer;
      });
      proxies.push(proxy);
      const ended = await run(HOUR ? `timeout --preserve-status -s INT 3600 ${command.trim()}` : command, example, {
        ...env,
        SEED_API_URL: address,
        SEED_API_TOKEN: "reader",
        http_proxy: proxy.url,
        https_proxy: proxy.url,
        no_proxy: new URL(address).hostname,
      });
      return { ...ended, received, robots };
    };
    const runs = await Promise.all(scrapers.map(scrape));
    // The pages that were put first; the next are put a minute later, maybe when the scrapers have ended.
    const missed = [];
    for (const domain of collected) {
      const { urls } = await ok("GET", `/api/v1/seeds/domains/${domain}/urls`);
      for (const { url } of urls.filter((one) => one.state === "due" || one.state === "waiting")) {
        const { why, why_code: code } = await ok("GET", `/api/v1/frontier/url?url=${encodeURIComponent(url)}`);
        if (!kept.includes(code)) missed.push(`${url}: ${why}`);
      }
    }
    const { requests } = await engine.control("GET", "/log");
    const state = async (url) => (await ok("GET", `/api/v1/frontier/url?url=${encodeURIComponent(url)}`)).state;
    const states = Object.fromEntries(await Promise.all(put.map(async (url) => [url, await state(url)])));
    return { runs, requests, scraped: requests.slice(before), states, missed };
  } finally {
    for (const proxy of proxies) proxy.stop();
    await engine.close();
  }
}

/** Checks for every scraper: the origin's log, and the outcome of the URLs. */
export function assertObedient({ code, output, requests, scraped, states, missed }) {
  assert.equal(code, 0, output);
  assert.deepEqual(missed, [], "pages that wait and may be fetched");
  const hosts = Map.groupBy(requests, (one) => one.host);
  for (const [host, log] of hosts) {
    const paths = log.map((one) => one.path).filter((path) => path !== "/robots.txt");
    const fine = new Set(allowed(host, paths));
    assert.deepEqual([...new Set(paths.filter((path) => !fine.has(path)))], [], `forbidden on ${host}`);
    log.sort((a, b) => a.at - b.at);
    for (let i = 1; i < log.length; i++) {
      const pause = log[i].at - log[i - 1].at;
      assert.ok(
        pause >= (delays[host] ?? INTERVAL),
        `${log[i].url} came ${pause} ms after ${log[i - 1].url}\n${output}`,
      );
      assert.equal(log[i].open, 1, `${log[i].url} came while another request was under way`);
    }
  }
  for (const { url, user_agent: agent } of scraped) assert.match(agent, /^NewsforkBot\//, url);

  const pages = scraped.filter((one) => one.path !== "/robots.txt");
  const urls = pages.map((one) => one.url);
  // Both refuse connections by https, and are asked once more after a minute's rest: a scraper that ends when it is idle
  // waits for that.
  const refuses = (url) => /^https:\/\/(refused-post|plain-http)\.sg\//.test(url);
  const again = urls.filter((url, i) => urls.indexOf(url) !== i && !refuses(url));
  assert.deepEqual(again, ["https://slowport.sg/shipping-7"], "once each, but what was answered with 429");
  // The https of plain-http.sg has a robots.txt that cannot be read. From when that is asked, its other pages wait.
  const plain = pages.filter((one) => one.host === "plain-http.sg");
  assert.ok(plain.length >= 3, `${plain.length} pages of plain-http.sg\n${output}`);
  assert.ok(
    pages.length - plain.length >= 37,
    `${pages.length} pages of ${new Set(pages.map((one) => one.host)).size} hosts\n${output}`,
  );
  assert.ok(!urls.some((url) => url.includes("ica.gov.sg")), "excluded");
  const [first, second] = pages.filter((one) => one.path === "/shipping-7");
  assert.ok(second.at - first.at >= 2000, "Retry-After");
  const robots = scraped.filter((one) => one.url === "https://www.mom.gov.sg/robots.txt");
  assert.ok(robots.length <= 1, "robots.txt is kept between leases");

  for (const [url, expected] of Object.entries({
    "https://www.mom.gov.sg/eservices/login": "forbidden",
    "https://closed-gazette.sg/notice-1": "forbidden",
    "https://picky-daily.sg/story-1": "forbidden",
    "https://straits-wire.sg/wire-1": "waiting", // its robots.txt may be readable later
    "https://new-name.sg/story-1": "fetched",
    "https://new-name.sg/missing": "gone",
    "http://new-name.sg/story-2": "fetched",
    "https://old-name.sg/story-3": "waiting",
    "https://refused-post.sg/a": "waiting",
    "https://slowport.sg/shipping-7": "fetched",
    "https://ica.gov.sg/news-and-publications/media-release-1": "excluded",
  }))
    assert.equal(states[url], expected, url);
  // The redirect was followed.
  assert.ok(urls.includes("https://new-name.sg/story-2"), urls.join("\n"));
}

/** Checks that the items of a run are the pages that it was answered with 200; one of a host has a title. */
export function assertItems(items, { received, output }, host = "mom.gov.sg") {
  assert.deepEqual(items.map((item) => item.url).sort(), received.sort(), output);
  assert.ok(
    items.some(({ url, title }) => url.includes(host) && title),
    JSON.stringify(items),
  );
}
