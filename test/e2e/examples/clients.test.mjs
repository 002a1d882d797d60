import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { createServer } from "node:http";
import { join } from "node:path";
import { json } from "node:stream/consumers";
import { test } from "node:test";
import { root } from "../engine.mjs";
import { playEngine } from "./played.mjs";
import { crawlee, hasPython, python, run, scrapy, scratch } from "./run.mjs";

for (const [example, file] of [
  ["node", "news.mjs"],
  ["python", "news.py"],
  ["scrapy", "news.py"],
  ["crawlee", "news.ts"],
])
  test(`examples/${example}: a scraper of ten lines, which its README shows`, () => {
    const readme = readFileSync(join(root, "examples", example, "README.md"), "utf8");
    const shown = /^```\w+\n([^]*?)^```$/m.exec(readme)[1];
    assert.equal(shown, readFileSync(join(root, "examples", example, file), "utf8"));
    assert.ok(shown.split("\n").filter(Boolean).length <= 10, shown);
  });

test("a host's delay and a lease are as long when somebody sets the clock", { timeout: 60_000 }, async () => {
  const paths = ["/a", "/b", "/c", "/d"];
  const engine = await playEngine([paths], {});
  const real = Date.now;
  const asked = [];
  try {
    const { Frontier } = await import("../../../clients/node/index.mjs");
    const fetch = async (url) => {
      const { pathname } = new URL(url);
      asked.push({ pathname, at: performance.now() });
      const wrong = [7_200_000, -7_200_000][asked.length % 2];
      Date.now = () => real() + wrong;
      if (asked.length > paths.length) frontier.stop();
      return { status: 404, headers: {}, body: Buffer.alloc(0) };
    };
    const frontier = new Frontier({ url: engine.url, token: "", signals: [], log: () => {}, fetch });
    await frontier.run();
    assert.deepEqual(
      asked.map(({ pathname }) => pathname),
      ["/robots.txt", ...paths],
    );
    for (let i = 1; i < asked.length; i++) {
      const pause = asked[i].at - asked[i - 1].at;
      assert.ok(pause >= 300 && pause < 2000, `${asked[i].pathname} came after ${pause} ms`);
    }
  } finally {
    Date.now = real;
    engine.close();
  }
});

test(
  "idle is who finds nothing twice while nothing is collected or paused",
  { timeout: 120_000, skip: !hasPython && "run make packages" },
  async () => {
    const item = { id: "1", url: "https://late.example/", host: "late.example", domain: "late.example", kind: "page" };
    const page = { ...item, crawl_delay_seconds: 0, user_agent: "NewsforkBot/1.0", etag: null, last_modified: null };
    const paused = { kind: "pause", by: "main", reason: "a new disk" };
    // What the engine expects, in seconds, or that it is paused; a page that was put meanwhile; and how many domains are
    // collected, when asked.
    const play = async () => {
      const expected = [60, 60, 1, page, 60, paused, 60, 60];
      const collecting = [2, 0, 0, 0, 0, 0];
      const played = { expected, collecting, leases: [], status: [], leased: false };
      const server = createServer(async (request, response) => {
        const answer = (data) => response.end(JSON.stringify({ success: true, data }));
        if (request.method === "GET") {
          played.status.push(request.url);
          return answer({ processing_stats: { domains_pending: collecting.shift() } });
        }
        await json(request);
        // The scraper is done with the host a moment after its report.
        if (request.url.endsWith("/report")) setTimeout(() => (played.leased = false), 500);
        if (!request.url.endsWith("/lease")) return answer({ accepted: 1, added: 0 });
        const next = played.leased ? 1 : expected.shift(); // the host is leased
        if (next === page) played.leased = true;
        else if (!played.leased) played.leases.push([next, Date.now()]);
        const expires_at = new Date(Date.now() + 300_000).toISOString();
        const items = next === page ? [page] : [];
        const stopped_by = next === paused ? paused : null;
        answer({
          ...{ lease_id: "1", expires_at, items, stopped_by },
          retry_after_seconds: items.length ? null : stopped_by ? 60 : next,
        });
      });
      await new Promise((listening) => server.listen(0, "127.0.0.1", listening));
      return Object.assign(played, { url: `http://127.0.0.1:${server.address().port}`, close: () => server.close() });
    };
    const forPython = `
import sys
from email.message import Message
import newsfork
from newsfork.web import Answer
newsfork.Frontier(url=sys.argv[1], country="sg", until_idle=True, fetch=lambda *_: Answer(404, Message(), b"")).run()`;
    const [node, other] = [await play(), await play()];
    try {
      const { Frontier } = await import("../../../clients/node/index.mjs");
      const fetch = async () => ({ status: 404, headers: {}, body: Buffer.alloc(0) });
      const log = [];
      const options = { url: node.url, country: "sg", untilIdle: true, signals: [], fetch };
      const env = { PYTHONPATH: join(root, "clients/python") };
      const [, ended] = await Promise.all([
        new Frontier({ ...options, log: (message) => log.push(message) }).run(),
        run(`${python} -c '${forPython}' ${other.url}`, "python", env),
      ]);
      assert.equal(ended.code, 0, ended.output);
      for (const [played, output] of [
        [node, log.join("\n")],
        [other, ended.output],
      ]) {
        assert.deepEqual([played.expected, played.collecting], [[], []], output);
        assert.ok(
          played.status.every((url) => url === "/api/v1/seeds/status?country=sg"),
          played.status,
        );
        assert.match(output, /^nothing to fetch for 60 s; domains that are being collected: 2$/m);
        assert.match(output, /^nothing to fetch for 60 s; operators keep it back: pause by main, a new disk$/m);
        assert.match(output, /^1 page reported, 0 new URLs found/m);
        assert.match(output, /^ended, for nothing is left now; .* the next come within minutes$/m);
        const [[, first], [, second]] = played.leases.slice(-2);
        assert.ok(second - first >= 9_900, `${second - first} ms`);
      }
    } finally {
      node.close();
      other.close();
    }
  },
);

test("the packages send the scraper's name", { timeout: 60_000, skip: !hasPython && "run make packages" }, async () => {
  const named = [];
  const engine = createServer((request, response) => {
    named.push(request.headers["x-scraper"]);
    response.end(JSON.stringify({ success: true, data: { items: [], retry_after_seconds: 60, released: 0 } }));
  });
  await new Promise((listening) => engine.listen(0, "127.0.0.1", listening));
  try {
    const url = `http://127.0.0.1:${engine.address().port}`;
    const { Engine } = await import("../../../clients/node/index.mjs");
    await new Engine({ url, scraper: "node-1" }).lease({ max: 1, lease_seconds: 60 });
    const program = `import newsfork.engine as e; e.Engine("${url}", scraper="python-1").lease(max=1); e.Engine("${url}").lease(max=1)`;
    const env = { PYTHONPATH: join(root, "clients/python"), SEED_API_URL: url };
    const { code, output } = await run(`${python} -c '${program}'`, "python", env);
    assert.equal(code, 0, output);
    assert.deepEqual(named, ["node-1", "python-1", undefined]);
    if (!scrapy) return;
    await run("timeout -s INT 20 scrapy runspider news.py -s NEWSFORK_SCRAPER=scrapy-1", "scrapy", env);
    assert.ok(named.length > 3 && named.slice(3).every((name) => name === "scrapy-1"), JSON.stringify(named));
  } finally {
    engine.close();
  }
});

test(
  "a refused token and an engine that does not answer end a program with a line that names the setting",
  { timeout: 180_000, skip: !hasPython && "run make packages" },
  async () => {
    const refusals = {
      "": [401, "unauthorized", 'send the API token as "Authorization: Bearer …"'],
      wrong: [401, "unauthorized", "the token is not valid here; send the API_TOKEN, a SCRAPER_TOKEN to scrape"],
      reading: [403, "forbidden", "READ_TOKEN may only read; send SCRAPER_TOKEN or the API token"],
      naming: [400, "validation_failed", "send letters", "X-Scraper"],
    };
    const server = createServer((request, response) => {
      const [status, code, message, field = null] = refusals[(request.headers.authorization ?? "").slice(7)];
      response.writeHead(status).end(JSON.stringify({ success: false, error: { code, field, message } }));
    });
    await new Promise((listening) => server.listen(0, "127.0.0.1", listening));
    const url = `http://127.0.0.1:${server.address().port}`;
    const setting = "SEED_API_TOKEN, or the option token, must hold the engine's SCRAPER_TOKEN or API_TOKEN";
    const lines = {
      "": `${url}: lease refused with 401: no token was sent; ${setting}`,
      wrong: `${url}: lease refused with 401: the token is not valid here; ${setting}`,
      reading: `${url}: lease refused with 403: READ_TOKEN may only read; ${setting}`,
      naming: `${url}: lease refused with 400: X-Scraper send letters`,
    };
    const noProxy = { http_proxy: "", https_proxy: "", HTTP_PROXY: "", HTTPS_PROXY: "" };
    const env = { ...noProxy, PYTHONPATH: join(root, "clients/python"), SEED_API_URL: url };
    const programs = [
      ["node", "node ../../docs/scraper.mjs"],
      ["python", `${python} news.py`],
    ];
    const lastLine = (output) => output.trim().split("\n").at(-1);
    try {
      for (const [example, command] of programs)
        for (const [token, line] of Object.entries(lines)) {
          const { code, output } = await run(command, example, { ...env, SEED_API_TOKEN: token });
          assert.deepEqual([code, output], [1, `${line}\n`], command);
        }
      const wrong = { ...env, SEED_API_TOKEN: "wrong" };
      if (scrapy) {
        const { output } = await run("scrapy runspider news.py", "scrapy", wrong);
        assert.ok(output.includes(`[news] ERROR: ${lines.wrong}\n`), output);
        assert.doesNotMatch(output, /Traceback/);
      }
      if (crawlee) {
        const { code, output } = await run("NO_COLOR=1 node news.ts", "crawlee", {
          ...wrong,
          CRAWLEE_STORAGE_DIR: join(scratch, "refused"),
        });
        assert.ok(output.includes(lines.wrong), output);
        assert.doesNotMatch(output, /^ +at /m);
        assert.equal(code, 1, output);
      }

      // A program can catch it, and its own errors keep their stacks.
      const { Frontier, EngineError } = await import("../../../clients/node/index.mjs");
      const refused = await new Frontier({ url, token: "wrong", signals: [] }).run().catch((error) => error);
      assert.ok(refused instanceof EngineError);
      assert.deepEqual([refused.status, refused.code, refused.message], [401, "unauthorized", lines.wrong]);
      const caught = `import newsfork
try:
    newsfork.Frontier("${url}", "wrong").run()
except newsfork.EngineError as error:
    print(error.status, error.code)
raise ValueError("of its own")`;
      const { output } = await run(`${python} -c '${caught}'`, "python", env);
      assert.match(output, /^401 unauthorized\nTraceback[^]*ValueError: of its own\n$/);

      // An engine that was never there is asked for 15 s. What is no address is not asked at all.
      server.close();
      await Promise.all(
        programs.map(async ([example, command]) => {
          const unreached = await run(command, example, wrong);
          const expected = `^${url} does not answer \\(.*refused.*\\); SEED_API_URL, or the option url, must be the engine's address$`;
          assert.match(lastLine(unreached.output), new RegExp(expected, "i"), unreached.output);
          assert.doesNotMatch(unreached.output, /^ +(at|File) /m);
          assert.equal(unreached.code, 1);
          const { code, output } = await run(command, example, { ...wrong, SEED_API_URL: "localhost:8787" });
          const expectedURL =
            "localhost:8787 is not an http or https URL; SEED_API_URL, or the option url, must be the engine's address";
          assert.deepEqual([code, output], [1, `${expectedURL}\n`]);
        }),
      );
    } finally {
      server.close();
    }
  },
);
