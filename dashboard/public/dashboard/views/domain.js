// One domain: why it failed if it did, and its contract (domain_metadata.json) for people.
import { get } from "../api.js";
import { h } from "../dom.js";
import { label, t } from "../i18n.js";
import {
  actionButton,
  badge,
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
import { domainsOf, partitionOf, to } from "../routes.js";
import { table } from "../table.js";
import { contract } from "./contract.js";
import { summary } from "./deadletters.js";
import { freshness } from "./freshness.js";

export default {
  title: (route) => `${t("domain")} ${route.id ?? ""}`,
  heading: (route) => h("bdi", null, route.id ?? ""),

  async load({ route, signal }) {
    const found = await find(route, signal);
    const { dead_letters: deadLetters } = await get(
      "/api/v1/dlq",
      { domain: found?.domain ?? route.id ?? "", limit: 20 },
      signal,
    );
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
      isExcluded(found) &&
        h(
          "div",
          { class: "banner", key: "excluded" },
          h("p", null, t("domain.excluded"), " ", h("a", { href: to("exclusions") }, t("nav.exclusions"))),
        ),
      doc
        ? contract(doc, state, app, isExcluded(found))
        : empty(
            t("domain.pending"),
            record?.queued_at && h("p", { class: "muted" }, t("domain.queued"), " ", since(record.queued_at)),
          ),
      doc && !isExcluded(found) && freshness(found.entry_points),
      deadLettersCard(deadLetters, app),
      h(
        "div",
        { class: "toolbar actions", key: "actions" },
        !isExcluded(found) &&
          h(
            "a",
            { class: "button", href: to("exclusions", { add: "domain", value: found.domain }) },
            t("domain.exclude"),
          ),
        doc &&
          !isExcluded(found) &&
          actionButton(t("domain.collect"), () => collectDomain(app, found.domain, found.partition_info)),
        actionButton(t("domain.queue"), () => queueFiles(app, found.partition_info)),
      ),
    ];
  },
};

const isExcluded = ({ document: doc, excluded, record }) =>
  excluded || record?.state === "excluded" || doc?.excluded === true;

/** What the engine has of a domain, or of the one to which a host belongs; null when that is nothing. */
async function find(route, signal) {
  for (const domain of domainsOf(route.id ?? "")) {
    try {
      return await get(`/api/v1/seeds/domains/${encodeURIComponent(domain)}`, partitionOf(route.query), signal);
    } catch (error) {
      if (error.status !== 404) throw error;
    }
  }
  return null;
}

function lead(found, route) {
  const { document: doc, record, partition_info: here, partitions, domain } = found;
  const excluded = isExcluded(found);
  const others = partitions.filter((partition) => partitionText(partition) !== partitionText(here));
  return h(
    "section",
    { class: "lead", key: "lead", "aria-label": t("domain.lead") },
    h(
      "p",
      null,
      excluded ? stateBadge("excluded") : record && stateBadge(record.state),
      " ",
      doc && !doc.reachable && badge("bad", t("domain.unreachable")),
      " ",
      doc?.blocked && badge("bad", t("domain.blocked")),
      " ",
      doc?.partial && badge("waiting", t("domain.partial")),
      " ",
      partitionText(here),
    ),
    doc &&
      properties(
        [t("collected"), since(doc.collected_at)],
        !excluded && [t("domain.validUntil"), moment(doc.valid_until)],
        [t("domain.revision"), doc.revision],
        [t("domain.authority"), foreign(doc.authority)],
        doc.moved_to && [t("domain.movedTo"), foreign(doc.moved_to)],
        doc.blocked_reason && [t("domain.blocked"), foreign(doc.blocked_reason)],
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
function failure(found, open, app) {
  const { document: doc, record, partition_info: partition, domain } = found;
  const excluded = isExcluded(found);
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
        actionButton(
          t("domain.replay", open.length),
          () => resolve(app, "replay", { ids: open.map((letter) => letter.id) }, open.length, summary(open[0])),
          { kind: "primary" },
        ),
      open.length > 0 && h("a", { class: "button", href: to("dead-letter", {}, open[0].id) }, t("letter")),
      open.length === 0 &&
        doc &&
        !excluded &&
        record?.state !== "pending" &&
        actionButton(t("domain.collect"), () => collectDomain(app, domain, partition), { kind: "primary" }),
      open.length === 0 &&
        !doc &&
        actionButton(t("domain.queue"), () => queueFiles(app, partition), { kind: "primary" }),
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
              ? actionButton(t("replay"), () => resolve(app, "replay", { ids: [row.id] }, 1, summary(row)), {
                  label: t("replay.of", row.domain ?? row.work),
                })
              : "–",
        },
      ],
    }),
  );
