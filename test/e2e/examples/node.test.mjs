import assert from "node:assert/strict";
import { join } from "node:path";
import { before, describe, test } from "node:test";
import { assertItems, assertObedient, crawl } from "./crawl.mjs";
import { assertPatient, assertVisits } from "./played.mjs";
import { commands, install, nodeDirectory, printedItems, readLines } from "./run.mjs";

describe("examples/node, with the package as it is published", () => {
  before(install);

  test("fetches what there is, nothing forbidden, nothing early", { timeout: 480_000 }, async () => {
    const command = commands("node").find((line) => line.includes("> news.jsonl"));
    const env = { NODE_TLS_REJECT_UNAUTHORIZED: "0" }; // nobody has signed the certificate of the sample web
    const result = await crawl({ example: nodeDirectory, command, env });
    assertObedient(result);
    assertItems(readLines(join(nodeDirectory, "news.jsonl")), result);
    const robots = result.scraped.filter((one) => one.path === "/robots.txt").map((one) => one.host);
    assert.ok(!robots.includes("www.mom.gov.sg"), `the engine's copy is used: ${robots}`);
  });

  test("repeats what gets lost, reads robots.txt again, and stops in time", { timeout: 180_000 }, async () => {
    await assertPatient(nodeDirectory, ({ short }) => {
      const options = { untilIdle: true, ...(short ? { leaseSeconds: 33 } : { robotsSeconds: 0 }) };
      const program = `
        import { Frontier } from "newsfork";
        await new Frontier(${JSON.stringify(options)}).run();`;
      return `node --input-type=module -e '${program}'`;
    });
  });

  test("says why a page is leased, and reports whether it changed", { timeout: 60_000 }, async () => {
    const program = `
      import { Frontier } from "newsfork";
      const frontier = new Frontier({ untilIdle: true });
      await frontier.run(({ item }) => console.log("item " + JSON.stringify(item)));`;
    await assertVisits(nodeDirectory, `node --input-type=module -e '${program}'`, printedItems);
  });
});
