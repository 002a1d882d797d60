import assert from "node:assert/strict";
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { before, describe, test } from "node:test";
import { assertItems, assertObedient, crawl } from "./crawl.mjs";
import { assertPatient, assertVisits } from "./played.mjs";
import { buildWheel, commands, readLines, scrapy, scratch, wheel } from "./run.mjs";

describe(
  "examples/scrapy",
  { skip: !scrapy && process.env.CI !== "true" && "Scrapy is not installed: run make packages" },
  () => {
    const env = { PYTHONPATH: wheel };
    before(buildWheel);

    test("fetches what there is, nothing forbidden, nothing early", { timeout: 480_000 }, async () => {
      const command = commands("scrapy").find((line) => line.includes("UNTIL_IDLE"));
      const items = join(scratch, "news.jsonl");
      const quiet = "-s REQUEST_FINGERPRINTER_IMPLEMENTATION=2.7"; // without it, Scrapy 2.8 warns of its own default
      const result = await crawl({
        ...{ example: "scrapy", env },
        command: `${command.replace("news.jsonl", items)} ${quiet}`,
      });
      assertObedient(result);
      assert.doesNotMatch(result.output, /WARNING|ERROR|Traceback/);
      assertItems(readLines(items), result);
    });

    test("repeats what gets lost, reads robots.txt again, and stops in time", { timeout: 180_000 }, async () => {
      const command = "scrapy runspider news.py -s NEWSFORK_UNTIL_IDLE=1";
      const commandOf = ({ short }) => `${command} -s NEWSFORK_${short ? "LEASE_SECONDS=33" : "ROBOTS_SECONDS=0"}`;
      await assertPatient("scrapy", commandOf, env);
    });

    test("says why a page is leased, and reports whether it changed", { timeout: 60_000 }, async () => {
      const spider = join(scratch, "why.py");
      writeFileSync(
        spider,
        `import scrapy

class Why(scrapy.Spider):
    name = "why"
    custom_settings = {"SCHEDULER": "newsfork.scrapy.Scheduler", "NEWSFORK_UNTIL_IDLE": True}

    def parse(self, response):
        yield response.meta["newsfork"]
`,
      );
      const items = join(scratch, "why.jsonl");
      await assertVisits("scrapy", `scrapy runspider ${spider} -o ${items}`, () => readLines(items), env);
    });
  },
);
