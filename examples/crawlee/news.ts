import { CheerioCrawler } from "@crawlee/cheerio";
import { Frontier } from "./frontier.ts";

const frontier = new Frontier({ country: "sg", untilIdle: process.argv.includes("--until-idle") });
const options = frontier.options(async ({ request, $, pushData, enqueueLinks }) => {
  await pushData({ url: request.url, title: $("title").text() });
  await enqueueLinks({ strategy: "all" });
});
await new CheerioCrawler(options).run();
