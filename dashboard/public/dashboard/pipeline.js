// The operators' actions on the pipeline: pause and resume it, queue raw files, and collect a domain again.
import { get, post } from "./api.js";
import { ask, reasonField } from "./dialog.js";
import { h } from "./dom.js";
import { t } from "./i18n.js";
import { actionButton, failureText, foreign, partitionText } from "./pieces.js";
import { partitionOf } from "./routes.js";

export function pipelineButton(paused, app) {
  const name = paused ? "resume" : "pause";
  const act = async () =>
    app.announce(
      await ask({
        title: t(`${name}.title`),
        body: h("p", null, t(`${name}.body`)),
        fields: [reasonField()],
        confirm: t(name),
        act: ({ reason }) => post(`/api/v1/pipeline/${name}`, reason.trim() ? { reason: reason.trim() } : {}),
        done: () => t(`${name}.done`),
      }),
    );
  return actionButton(t(name), act);
}

/** The reasons why files were skipped, in words. */
const reasons = (data) =>
  ["finished", "discarded", "in_flight", "broken"]
    .filter((reason) => data[reason])
    .map((reason) => t(`queue.${reason}`, data[reason]))
    .join(", ");

/** Runs step 1 for one or all partitions. */
export async function queueFiles(app, filter) {
  const selected = partitionOf(filter);
  app.announce(
    await ask({
      title: t("queue.title"),
      body: [
        h("p", null, Object.keys(selected).length ? t("queue.partition", partitionText(selected)) : t("queue.all")),
        h("p", { class: "muted" }, t("queue.body")),
      ],
      fields: [
        h(
          "label",
          { class: "check" },
          h("input", { type: "checkbox", name: "force", value: "true" }),
          h("span", null, t("queue.force")),
        ),
      ],
      confirm: t("queue"),
      act: ({ force }) => post("/api/v1/seeds/orchestrate", { ...selected, ...(force && { force: true }) }),
      done: (data) =>
        t("queue.done", data.files_found, data.sent, data.skipped, reasons(data)) +
        (data.continued ? ` ${t("queue.continued")}` : ""),
    }),
  );
}

/** Runs step 3 for one domain that has a document. */
export async function collectDomain(app, domain, partition) {
  app.announce(
    await ask({
      title: t("collect.title", domain),
      body: [h("p", null, partitionText(partition)), h("p", { class: "muted" }, t("collect.body"))],
      confirm: t("collect"),
      act: () => post(`/api/v1/seeds/domains/${encodeURIComponent(domain)}/collect`, partitionOf(partition)),
      done: () => t("collect.done", domain),
    }),
  );
  app.refresh();
}

/** Runs step 3 for all failed domains that match. count is their number, if known. */
export async function collectFailed(app, filter, count) {
  app.announce(
    await ask({
      title: count === undefined ? t("collectFailed.matching") : t("collectFailed.title", count),
      body: h("p", { class: "muted" }, t("collectFailed.body")),
      confirm: t("collectFailed"),
      act: (_, report, signal) => collectEach(filter, count, report, signal),
      done: (sum) => (sum.failed.length ? collectOutcome(sum) : collectSummary(sum)),
    }),
  );
  app.refresh();
}

/** Collects one domain after another, page by page. A domain without a document is retried by its dead letter. */
async function collectEach(filter, count, report, signal) {
  const sum = { done: 0, without: 0, failed: [] };
  for (let cursor = ""; cursor !== null;) {
    const page = await get("/api/v1/seeds/domains", { ...filter, state: "failed", limit: 100, cursor });
    for (const { domain, partition_info: partition } of page.domains) {
      if (signal.aborted) return sum;
      try {
        await post(`/api/v1/seeds/domains/${encodeURIComponent(domain)}/collect`, partitionOf(partition));
        sum.done++;
      } catch (error) {
        if (error.status === 404) sum.without++;
        else if (error.status === 409) sum.failed.push({ domain, message: failureText(error) });
        else throw error;
      }
      const handled = sum.done + sum.without + sum.failed.length;
      report(t("collectFailed.progress", sum.done), count ? Math.min(handled / count, 1) : null);
    }
    cursor = page.cursor;
  }
  return sum;
}

const collectSummary = (sum) =>
  [t("collectFailed.done", sum.done), sum.without && t("collectFailed.without", sum.without)].filter(Boolean).join(" ");

const collectOutcome = (sum) => [
  h("p", null, collectSummary(sum)),
  h(
    "ul",
    null,
    sum.failed.slice(0, 20).map(({ domain, message }) => h("li", null, foreign(domain), ": ", foreign(message))),
  ),
];
