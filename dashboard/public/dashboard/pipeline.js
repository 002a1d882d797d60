// What operators do to the pipeline: pause and resume it, queue raw files, and collect a domain again.
import { post } from "./api.js";
import { ask, reasonField } from "./dialog.js";
import { h } from "./dom.js";
import { number, t } from "./i18n.js";
import { button, partitionText } from "./pieces.js";
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
  return button(t(name), act);
}

/** Asks for step 1 over a partition, or all of them. */
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
        t("queue.done", number(data.files_found), number(data.sent), number(data.skipped)) +
        (data.continued ? ` ${t("queue.continued")}` : ""),
    }),
  );
}

/** Asks for step 3 of one domain, which has a document. */
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
