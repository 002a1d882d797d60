import assert from "node:assert/strict";
import { join } from "node:path";
import { describe, test } from "node:test";
import { assertItems, assertObedient, crawl } from "./crawl.mjs";
import { assertPatient, assertVisits, playEngine } from "./played.mjs";
import { commands, crawlee, readDataset, run, scratch } from "./run.mjs";

describe(
  "examples/crawlee",
  { skip: !crawlee && process.env.CI !== "true" && "Crawlee is not installed: run make packages" },
  () => {
    test("is sound TypeScript, and so are the types of the package", async () => {
      const tsc = "node node_modules/typescript/bin/tsc";
      const types = "--noEmit --strict --module nodenext --target es2022 --types node ../../clients/node/index.d.ts";
      const { code, output } = await run(`${tsc} && ${tsc} ${types}`, "crawlee", {});
      assert.equal(code, 0, output);
    });

    test("runs on Node 20, which knows no TypeScript", { timeout: 120_000 }, async () => {
      const engine = await playEngine([["/a"]], {});
      try {
        const command = commands("crawlee").find((line) => line.startsWith("node news.ts"));
        const [build, start] = command.split("# Node 20: ")[1].split(" && ");
        const node = process.env.NODE20 ?? "node --no-strip-types"; // a later one, as ignorant
        const env = {
          ...{ SEED_API_URL: engine.url, SEED_API_TOKEN: "", CRAWLEE_STORAGE_DIR: join(scratch, "node20") },
          ...{ http_proxy: engine.url, https_proxy: engine.url, no_proxy: "127.0.0.1" },
        };
        const line = `${build} && ${start.replace("node", node)} --until-idle`;
        const { code, output } = await run(line, "crawlee", env);
        assert.equal(code, 0, output);
        assert.deepEqual(
          engine.reports.flatMap(({ results }) => results).map(({ id, status }) => [id, status]),
          [["/a", 200]],
          output,
        );
      } finally {
        engine.close();
      }
    });

    test("fetches what there is, nothing forbidden, nothing early", { timeout: 480_000 }, async () => {
      const command = commands("crawlee").find((line) => line.includes("until-idle"));
      const storage = join(scratch, "storage");
      const result = await crawl({ example: "crawlee", command, env: { CRAWLEE_STORAGE_DIR: storage } });
      assertObedient(result);
      assertItems(readDataset(storage), result);
    });

    test("repeats what gets lost, reads robots.txt again, and stops in time", { timeout: 180_000 }, async () => {
      await assertPatient("crawlee", ({ short }) => {
        const options = { untilIdle: true, ...(short ? { leaseSeconds: 33 } : { robotsSeconds: 0 }) };
        const program = `
          import { CheerioCrawler } from "@crawlee/cheerio";
          import { Frontier } from "./frontier.ts";
          await new CheerioCrawler(new Frontier(${JSON.stringify(options)}).options(() => {})).run();`;
        return `node --input-type=module -e '${program}'`;
      });
    });

    test("says why a page is leased, and reports whether it changed", { timeout: 60_000 }, async () => {
      const storage = join(scratch, "why");
      const program = `
        import { CheerioCrawler } from "@crawlee/cheerio";
        import { Frontier } from "./frontier.ts";
        const options = new Frontier({ untilIdle: true }).options(({ request, pushData }) => pushData(request.userData.item));
        await new CheerioCrawler(options).run();`;
      const env = { CRAWLEE_STORAGE_DIR: storage };
      await assertVisits("crawlee", `node --input-type=module -e '${program}'`, () => readDataset(storage), env);
    });
  },
);
