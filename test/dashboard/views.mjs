/* global document */
// Every view of the dashboard in a state worth looking at: its name, address, and what opens it.
export const views = [
  { name: "overview", hash: "#/overview" },
  { name: "partition", hash: `#/overview?country=sg&category=news&date=${new Date().toISOString().slice(0, 10)}` },
  { name: "domains", hash: "#/domains" },
  { name: "domain", hash: "#/domain/city-council-2.example" },
  { name: "domain-failed", hash: "#/domain/rail-news-158.example" },
  { name: "domain-pending", hash: "#/domain/labour-office-1224.example" },
  { name: "domain-unknown", hash: "#/domain/city-counsil-2.example" },
  { name: "frontier", hash: "#/frontier?sort=size" },
  {
    name: "frontier-url",
    hash: `#/frontier?blocked=true&url=${encodeURIComponent("https://www.city-council-2.example/news/waiting")}`,
  },
  {
    name: "frontier-question",
    hash: "#/frontier",
    open: (page) =>
      page
        .getByRole("button", { name: /^(Block |.* 차단$)/ })
        .first()
        .click(),
  },
  { name: "dead-letters", hash: "#/dead-letters" },
  { name: "dead-letters-replayed", hash: "#/dead-letters?state=any" },
  { name: "dead-letter", hash: "#/dead-letter/m-002" },
  { name: "question", hash: "#/dead-letter/m-002", open: (page) => page.locator("button.primary").click() },
  { name: "alarms", hash: "#/alarms" },
  { name: "exclusions", hash: "#/exclusions" },
  { name: "missing", hash: "#/nowhere" },
];

/** Changes a world so that every view has something to show: alarms, a pause, exclusions, history. */
export function lively(engine) {
  for (const record of engine.domains.slice(0, 160))
    if (record.state === "processed")
      Object.assign(record, { state: "failed", error_type: "timeout_error", error_message: "no answer within 10 s" });
  engine.resolve("replayed", { ids: ["m-001"] }, "API_TOKEN");
  const again = engine.deadLetters[1];
  engine.deadLetters.push({
    ...again,
    record: {
      ...again.record,
      id: "m-099",
      state: "discarded",
      resolved_at: "2026-01-28T10:00:00Z",
      resolved_by: "API_TOKEN",
    },
  });
  engine.exclusions.push(
    {
      kind: "url",
      value: "https://casino.example/*",
      reason: "Not news",
      created_at: "2026-01-28T10:00:00Z",
      created_by: "API_TOKEN",
    },
    { kind: "host", value: "ads.example", reason: null, created_at: "2026-01-28T10:00:00Z", created_by: "API_TOKEN" },
  );
  engine.frontier.change("www.harbour-times-1.example", { block_until: "2100-01-28T10:00:00Z" });
  engine.frontier.change("www.city-council-2.example", { block_until: "2100-01-28T10:00:00Z" });
  engine.pipeline = { paused: true, since: "2026-01-28T10:00:00Z", by: "API_TOKEN", reason: "Migration of the bucket" };
  return engine;
}

/** Shows a view in a page that is open already, and waits until it was loaded. */
export async function show(page, view) {
  const before = await page.evaluate(() => document.querySelector(".freshness time")?.dateTime);
  const moved = await page.evaluate((hash) => {
    if (location.hash === hash) return false;
    const changed = new Promise((done) => addEventListener("hashchange", () => done(true), { once: true }));
    location.hash = hash;
    return changed;
  }, view.hash);
  if (moved)
    await page.waitForFunction(
      (time) =>
        !document.querySelector(".freshness") ||
        ![undefined, time].includes(document.querySelector(".freshness time")?.dateTime),
      before,
    );
  await view.open?.(page);
}
