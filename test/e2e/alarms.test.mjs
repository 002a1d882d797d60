// Alarms as the Worker's cron posts them to a webhook. engine/ tests their conditions.
import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import { domainMessage, quick, root, startEngine } from "./engine.mjs";

const web = {
  name: "hooks",
  main: `${root}/test/workers/hooks.mjs`,
  compatibility_date: "2026-11-01",
  // As for the sample web: its exceptions must be thrown in the engine.
  no_bundle: true,
};

let engine;
before(
  async () =>
    (engine = await startEngine({ web, vars: { ...quick, ALERT_WEBHOOK_URL: "https://hooks.invalid/alarms" } })),
);
after(() => engine?.close());

const control = async (method = "GET", query = "") =>
  (await engine.web.fetch(`https://control.invalid/${query}`, { method })).json();

test("a change is posted until the webhook takes it", async () => {
  const domains = Array.from({ length: 20 }, (_, i) => `${i < 3 ? "down" : "up"}-${i}.sg`);
  for (let i = 0; i < domains.length; i += 5) {
    const messages = domains
      .slice(i, i + 5)
      .map((domain) => ({ id: domain, attempts: 4, body: domainMessage(domain, [`https://${domain}/`]) }));
    assert.equal((await engine.deliver("newsfork-domain-dev", messages)).acked.length, 5);
  }
  await control("PUT", "?refuse=1");
  for (let i = 0; i < 3; i++)
    assert.equal((await engine.worker.scheduled({ cron: "* * * * *", scheduledTime: new Date() })).outcome, "ok");
  const posts = await control();
  assert.deepEqual(
    posts.map(({ taken, body }) => [body.alarm, body.state, body.value, taken]),
    [false, true].map((taken) => ["domain_failures", "firing", 15, taken]),
  );
  assert.deepEqual(posts[0].body, posts[1].body);
  for (const { key, agent, body } of posts)
    assert.deepEqual([key, agent], [body.id, "NewsforkBot/1.0 (+https://newsfork.com/bot)"]);
});
