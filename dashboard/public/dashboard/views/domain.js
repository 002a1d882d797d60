// One domain: why it failed if it did, and its contract (domain_metadata.json) for people.
import { get } from "../api.js";
import { h } from "../dom.js";
import { label, t } from "../i18n.js";
import {
  badge,
  button,
  card,
  empty,
  foreign,
  moment,
  partitionText,
  properties,
  since,
  stateBadge,
} from "../pieces.js";
import { collectDomain, queueFiles } from "../pipeline.js";
import { resolve } from "../resolve.js";
import { partitionOf, to } from "../routes.js";
import { table } from "../table.js";
import { contract } from "./contract.js";
import { summary } from "./deadletters.js";
import { freshness } from "./freshness.js";

export default {
  title: (route) => `${t("domain")} ${route.id ?? ""}`,
  heading: (route) => h("bdi", null, route.id ?? ""),

  async load({ route, signal }) {
    const domain = route.id ?? "";
    const detail = get(`/api/v1/seeds/domains/${encodeURIComponent(domain)}`, partitionOf(route.query), signal).catch(
      (error) => {
        if (error.status === 404) return null;
        throw error;
      },
    );
    const [found, { dead_letters: deadLetters }] = await Promise.all([
      detail,
      get("/api/v1/dlq", { domain, limit: 20 }, signal),
    ]);
    return { found, deadLetters };
  },

  render({ data: { found, deadLetters }, route, state, app }) {
    const open = deadLetters.filter((letter) => letter.state === "stored");
    if (!found)
      return [
        empty(t("domain.unknown"), h("p", null, h("a", { href: to("domains") }, t("nav.domains")))),
        deadLettersCard(deadLetters, app),
      ];
    const { document: doc, record } = found;
    return [
      lead(found, route),
      doc &&
        record?.state === "pending" &&
        h(
          "div",
          { class: "banner", key: "pending" },
          h("p", null, t("domain.underWay"), " ", record.queued_at && since(record.queued_at)),
        ),
      failure(found, open, app),
      record?.state === "excluded" &&
        h(
          "div",
          { class: "banner", key: "excluded" },
          h("p", null, t("domain.excluded"), " ", h("a", { href: to("exclusions") }, t("nav.exclusions"))),
        ),
      doc
        ? contract(doc, state, app)
        : empty(
            t("domain.pending"),
            record?.queued_at && h("p", { class: "muted" }, t("domain.queued"), " ", since(record.queued_at)),
          ),
      doc && freshness(found.entry_points),
      deadLettersCard(deadLetters, app),
      h(
        "div",
        { class: "toolbar actions", key: "actions" },
        h(
          "a",
          { class: "button", href: to("exclusions", { add: "domain", value: found.domain }) },
          t("domain.exclude"),
        ),
        doc && button(t("domain.collect"), () => collectDomain(app, found.domain, found.partition_info)),
        button(t("domain.queue"), () => queueFiles(app, found.partition_info)),
      ),
    ];
  },
};

function lead({ document: doc, record, partition_info: here, partitions, domain }, route) {
  const others = partitions.filter((partition) => partitionText(partition) !== partitionText(here));
  return h(
    "section",
    { class: "lead", key: "lead", "aria-label": t("domain.lead") },
    h(
      "p",
      null,
      record ? stateBadge(record.state) : null,
      " ",
      doc && !doc.reachable && badge("bad", t("domain.unreachable")),
      " ",
      doc?.partial && badge("waiting", t("domain.partial")),
      " ",
      partitionText(here),
    ),
    doc &&
      properties(
        [t("collected"), since(doc.collected_at)],
        [t("domain.validUntil"), moment(doc.valid_until)],
        [t("domain.revision"), doc.revision],
        [t("domain.authority"), foreign(doc.authority)],
      ),
    others.length > 0 &&
      h(
        "p",
        { class: "small" },
        t("domain.partitions"),
        " ",
        others
          .slice(0, 12)
          .flatMap((partition) => [
            h("a", { href: to(route.view, partitionOf(partition), domain) }, partitionText(partition)),
            " ",
          ]),
      ),
  );
}

/** Why the domain failed and what can be done, in words. */
function failure({ document: doc, record, partition_info: partition, domain }, open, app) {
  if (record?.state !== "failed" && doc?.reachable !== false && open.length === 0) return null;
  const type = record?.error_type ?? doc?.robots?.error_type ?? open[0]?.error_type;
  const message = record?.error_message ?? doc?.robots?.error ?? open[0]?.error_message;
  return h(
    "section",
    { class: "card failed", key: "failure", "aria-label": t("domain.why") },
    h("h2", null, t("domain.why")),
    type && h("p", null, h("strong", null, label("error", type)), " – ", label("why", type)),
    h("blockquote", null, foreign(message)),
    type && h("p", null, h("strong", null, t("letter.todo")), " ", label("todo", type)),
    h(
      "div",
      { class: "actions" },
      open.length > 0 &&
        button(
          t("domain.replay", open.length),
          () => resolve(app, "replay", { ids: open.map((letter) => letter.id) }, open.length, summary(open[0])),
          { kind: "primary" },
        ),
      open.length > 0 && h("a", { class: "button", href: to("dead-letter", {}, open[0].id) }, t("letter")),
      open.length === 0 &&
        doc &&
        record?.state !== "pending" &&
        button(t("domain.collect"), () => collectDomain(app, domain, partition), { kind: "primary" }),
      open.length === 0 && !doc && button(t("domain.queue"), () => queueFiles(app, partition), { kind: "primary" }),
    ),
    open.length === 0 && doc && h("p", { class: "muted small" }, t("domain.noLetter")),
  );
}

const deadLettersCard = (deadLetters, app) =>
  deadLetters.length > 0 &&
  card(
    t("nav.dead-letters"),
    table({
      caption: t("nav.dead-letters"),
      rows: deadLetters,
      key: (row) => row.id,
      columns: [
        { head: t("failed"), cell: (row) => h("a", { href: to("dead-letter", {}, row.id) }, since(row.failed_at)) },
        {
          head: t("failure.reason"),
          wide: true,
          cell: (row) => [
            h("strong", null, label("error", row.error_type)),
            h("div", { class: "small clipped" }, foreign(row.error_message)),
          ],
        },
        { head: t("partition"), cell: (row) => partitionText(row.partition_info) },
        { head: t("state"), cell: (row) => stateBadge(row.state) },
        {
          head: t("actions"),
          cell: (row) =>
            row.state === "stored"
              ? button(t("replay"), () => resolve(app, "replay", { ids: [row.id] }, 1, summary(row)), {
                  label: t("replay.of", row.domain ?? row.work),
                })
              : "–",
        },
      ],
    }),
  );
