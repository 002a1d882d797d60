// What a receiver of the feed's webhook gets: an engine on the sample web, where daily-press.sg publishes four articles a
// second, and a receiver that checks the signatures and prints what comes, until Ctrl-C.
//
//   make demo-webhook
import { createHmac, randomBytes, timingSafeEqual } from "node:crypto";
import { rmSync } from "node:fs";
import { createServer } from "node:http";
import { join } from "node:path";
import { buffer } from "node:stream/consumers";
import { root, sampleVars, sampleWeb, startEngine } from "./local.mjs";
import { failure, plural, step } from "./report.mjs";

const cronSeconds = 5; // deployed, deliveries are posted every minute
const dir = join(root, "build/demo/webhook");
const secret = randomBytes(16).toString("hex");

let engine;
const asked = new Promise((done) => ["SIGINT", "SIGTERM"].forEach((signal) => process.once(signal, done)));
const receiver = createServer(receive);
try {
  await new Promise((done) => receiver.listen(0, "127.0.0.1", done));
  await main(`http://127.0.0.1:${receiver.address().port}/`);
} catch (err) {
  failure(err.stack, join(dir, "worker.log"));
  process.exitCode = 1;
} finally {
  await engine?.stop();
}
process.exit();

async function main(address) {
  rmSync(dir, { recursive: true, force: true, maxRetries: 5 });
  step("start", "wrangler dev, with simulated R2, queues and D1");
  engine = await startEngine({
    dir,
    vars: {
      ...sampleVars,
      ...{ MIN_REFRESH_SECONDS: "2", MAX_REFRESH_SECONDS: "8" },
      ...{ FEED_WEBHOOK_URL: address, FEED_WEBHOOK_SECRET: secret },
    },
    web: sampleWeb,
  });
  step("engine", `${engine.url}; it asks the sample web`);
  step("receiver", `FEED_WEBHOOK_URL=${address} FEED_WEBHOOK_SECRET=${secret}`);
  for (const [method, path, body] of [
    ["PUT", "/api/v1/datasets/sg/live/2026-01-28/raw_0001", [{ url: "https://daily-press.sg/", source_type: "media" }]],
    ["POST", "/api/v1/seeds/orchestrate", {}],
  ]) {
    const { status, error } = await engine.api(method, path, body);
    if (status >= 400) throw new Error(`${method} ${path}: ${status} ${error?.message}`);
  }
  step("crons", `run every ${cronSeconds} seconds, and post what is new; Ctrl-C ends it`);
  engine.everyFew(cronSeconds);
  await asked;
}

/** Prints a delivery. docs/feed.md has a receiver to start from. */
async function receive(request, response) {
  const body = await buffer(request);
  const [, time, v1] = /^t=(\d+),v1=([0-9a-f]{64})$/.exec(request.headers["x-newsfork-signature"] ?? "") ?? [];
  const mac = createHmac("sha256", secret).update(`${time}.`).update(body).digest();
  const genuine = v1 !== undefined && timingSafeEqual(mac, Buffer.from(v1, "hex"));
  response.writeHead(genuine ? 204 : 401).end();
  if (!genuine) return step("refused", "a request without the engine's signature");
  const { id, items, has_more } = JSON.parse(body);
  step("delivery", `${id}: ${plural(items.length, "item")}${has_more ? ", more to come" : ""}, signature genuine`);
  for (const { event, url, title } of items) step("", `${event} ${url} ${title ?? ""}`);
}
