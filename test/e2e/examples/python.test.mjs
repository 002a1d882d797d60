import assert from "node:assert/strict";
import { spawnSync } from "node:child_process";
import { copyFileSync, mkdirSync } from "node:fs";
import { createServer } from "node:http";
import { join } from "node:path";
import { json } from "node:stream/consumers";
import { before, describe, test } from "node:test";
import { answerOf } from "../../../sample/web/origin.mjs";
import { startProxy } from "../../../sample/web/proxy.mjs";
import { sites } from "../../../sample/web/sites.mjs";
import { root } from "../engine.mjs";
import { assertItems, assertObedient, crawl } from "./crawl.mjs";
import { assertPatient, assertVisits } from "./played.mjs";
import { buildWheel, commands, hasPython, printedItems, python, readLines, run, scratch, wheel } from "./run.mjs";

describe(
  "examples/python, with the package as it is published",
  { skip: !hasPython && process.env.CI !== "true" && "Protego or setuptools is not installed: run make packages" },
  () => {
    const directory = join(scratch, "python");
    const env = { PYTHONPATH: wheel };
    before(() => (mkdirSync(directory), buildWheel()));

    test("fetches what there is, nothing forbidden, nothing early", { timeout: 480_000 }, async () => {
      copyFileSync(join(root, "examples/python/news.py"), join(directory, "news.py"));
      const command = commands("python").find((line) => line.includes("> news.jsonl"));
      const unverified = { ...env, NEWSFORK_VERIFY: "0" }; // nobody has signed the certificate of the sample web
      const result = await crawl({ example: directory, command: command.replace("python3", python), env: unverified });
      assertObedient(result);
      assertItems(readLines(join(directory, "news.jsonl")), result);
    });

    test(
      "checks certificates unless NEWSFORK_VERIFY is 0, and says so if all failed",
      { timeout: 60_000 },
      async () => {
        const page = {
          id: "1",
          url: "https://everyday-news.sg/en",
          host: "everyday-news.sg",
          domain: "everyday-news.sg",
        };
        const item = { ...page, kind: "page", crawl_delay_seconds: 0, user_agent: "NewsforkBot/1.0", etag: null };
        const scrape = async (more) => {
          const items = [{ ...item, last_modified: null }];
          const engine = createServer(async (request, response) => {
            const answer = (data) => response.end(JSON.stringify({ success: true, data }));
            if (request.method === "GET") return answer({ processing_stats: { domains_pending: 0 } });
            await json(request);
            if (!request.url.endsWith("/lease")) return answer({ accepted: 1, added: 0 });
            const expires_at = new Date(Date.now() + 300_000).toISOString();
            answer({ lease_id: "1", expires_at, items: items.splice(0), retry_after_seconds: 60 });
          });
          await new Promise((listening) => engine.listen(0, "127.0.0.1", listening));
          const proxy = await startProxy(async (url) => new Response(url.endsWith("/robots.txt") ? "" : "a page"));
          try {
            const url = `http://127.0.0.1:${engine.address().port}`;
            const web = { https_proxy: proxy.url, no_proxy: "127.0.0.1", SEED_API_URL: url };
            const program = "import newsfork; newsfork.Frontier(until_idle=True).run(lambda page: print(page.status))";
            return (await run(`${python} -c "${program}"`, directory, { ...env, ...web, ...more })).output;
          } finally {
            engine.close();
            proxy.stop();
          }
        };
        const [checked, unchecked] = await Promise.all([scrape({}), scrape({ NEWSFORK_VERIFY: "0" })]);
        assert.match(checked, /^every request failed for its certificate; NEWSFORK_VERIFY=0 accepts any/m);
        assert.match(unchecked, /^200$/m);
        assert.doesNotMatch(unchecked, /certificate/);
      },
    );

    test("repeats what gets lost, reads robots.txt again, and stops in time", { timeout: 180_000 }, async () => {
      const commandOf = ({ short }) => {
        const options = short ? "lease_seconds=33" : "robots_seconds=0";
        return `${python} -c "import newsfork; newsfork.Frontier(until_idle=True, ${options}).run()"`;
      };
      await assertPatient(directory, commandOf, env);
    });

    test("says why a page is leased, and reports whether it changed", { timeout: 60_000 }, async () => {
      const program = `import json, newsfork
show = lambda page: print("item", json.dumps(page.item), flush=True)
newsfork.Frontier(until_idle=True).run(show)`;
      await assertVisits(directory, `${python} -c '${program}'`, printedItems, env);
    });

    test("finds the same text in a page as the package for Node", async () => {
      const { readPage } = await import("../../../clients/node/index.mjs");
      const pages = [
        "<p>AT&amp;T, caf&eacute;<b>s</b> and <!-- not --> te<!-- -->xt</p><nav>menu</nav><p>two\u00a0\ufeff words",
        "<div><header>a menu that ends with its parent<p>of it</div>the story</p></section> goes<br/>on</br>here",
        "<script>a < b</script><title>Not of the text</title><h1>뉴스 <em>속</em>보</h1><aside/>all of this is aside",
        "<p>1 < 2 &lt; 3 &nosuch; &#x41;&#0;</p><style>p{}</style><ul><li>one<li>two</ul><template>x</template>end",
        ...["https://www.mom.gov.sg/", "https://merlion-post.com.sg/", "https://everyday-news.sg/"].map(
          (url) => answerOf(sites[new URL(url).host], new URL(url)).body,
        ),
      ];
      const program = `import json, sys, newsfork
print(json.dumps([newsfork.read_page(page, "https://a.example/")[0] for page in json.load(sys.stdin)]))`;
      const read = spawnSync(python, ["-c", program], {
        input: JSON.stringify(pages),
        env: { ...process.env, PYTHONPATH: join(root, "clients/python") },
      });
      assert.equal(read.status, 0, String(read.stderr));
      const texts = pages.map((page) => readPage(page, "https://a.example/").text);
      assert.ok(
        texts.every((text) => text.length > 5),
        JSON.stringify(texts),
      );
      assert.deepEqual(JSON.parse(read.stdout), texts);
    });
  },
);
