// A scraper that works from the Seed Engine's frontier with the package in clients/node; docs/frontier.md explains each
// step that the package does. It prints a line of JSON for each page that it fetched.
//
//   SEED_API_URL=https://seed.example.com SEED_API_TOKEN=… node docs/scraper.mjs [--until-idle]
import { Frontier } from "../clients/node/index.mjs";

const frontier = new Frontier({
  perHost: 5,
  leaseSeconds: Number(process.env.LEASE_SECONDS ?? 300),
  untilIdle: process.argv.includes("--until-idle"),
});
await frontier.run(({ item, url, title, body, sha256 }) => {
  const { type, reason, visit } = item; // why it was given, and how often it was
  console.log(JSON.stringify({ url, type, reason, visit, title, bytes: body.length, sha256 }));
});
