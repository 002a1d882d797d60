// One domain: why it failed, if it did, and its contract (domain_metadata.json) in readable form.
import { get } from "../api.js";
import { h } from "../dom.js";
import { label, t } from "../i18n.js";
import {
  actionButton,
  badge,
  card,
  code,
  domainLink,
  empty,
  foreign,
  hostText,
  moment,
  partitionText,
  properties,
  since,
  stateBadge,
} from "../pieces.js";
import { collectDomain, queueFiles } from "../pipeline.js";
import { resolve } from "../resolve.js";
import { nearest } from "../nearest.js";
import { partitionOf, to } from "../routes.js";
import { table } from "../table.js";
import { contract } from "./contract.js";
import { takeBack } from "./exclusions.js";
import { offered, summary } from "./deadletters.js";
import { domainState } from "./domains.js";
import { freshness } from "./freshness.js";

const NEAR = 5; // pages of domains searched for names similar to an unknown one

/** The domain shown; until it is loaded, the requested name. */
const nameOf = (route, data) => data?.found?.domain ?? route.id;

export default {
  one: true,
  title: (route, data) => `${t("domain")} ${nameOf(route, data)}`,
  heading: (route, data) => hostText(nameOf(route, data)),

  async load({ route, state, signal }) {
    const { found, invalid } = await find(route, signal);
    if (!found) state.near ??= await near(route.id, signal);
    const query = { domain: nameOf(route, { found }), limit: 20 };
    const { dead_letters: deadLetters } = await get("/api/v1/dlq", query, signal);
    return { found, invalid, deadLetters };
  },

  render({ data: { found, invalid, deadLetters }, route, state, app }) {
    const open = deadLetters.filter((letter) => letter.state === "stored");
    if (!found) return [unknown(route, invalid, state.near), deadLettersCard(deadLetters, false, app)];
    const { document: doc, record } = found;
    return [
      lead(found, route),
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
          (found.excluded_by ?? []).map((exclusion) => excludedBy(exclusion, app)), // missing in earlier versions
        ),
      doc?.blocked &&
        !isExcluded(found) &&
        h("div", { class: "banner", key: "blocked" }, h("p", null, t("domain.blocked.how"))),
      doc
        ? contract(doc, state, app, isExcluded(found))
        : empty(
            t("domain.pending"),
            record?.queued_at && h("p", { class: "muted" }, t("domain.queued"), " ", since(record.queued_at)),
          ),
      doc && !isExcluded(found) && freshness(found.entry_points),
      deadLettersCard(deadLetters, isExcluded(found), app),
    ];
  },
};

const isExcluded = ({ document: doc, excluded, record }) =>
  Boolean(excluded || record?.excluded || record?.state === "excluded" || doc?.excluded);

/** An exclusion that rules the domain out: what it excludes, who decided that, when, and why. */
const excludedBy = (exclusion, app) =>
  h(
    "div",
    { class: "actions", key: `${exclusion.kind} ${exclusion.value}` },
    h(
      "p",
      null,
      label("kind", exclusion.kind),
      " ",
      code(exclusion.value),
      `, ${t("domain.excludedBy")} `,
      foreign(exclusion.created_by),
      ", ",
      moment(exclusion.created_at),
      exclusion.reason && [": ", foreign(exclusion.reason)],
    ),
    actionButton(t("domain.allow"), () => takeBack(exclusion, app), {
      label: t("domain.allow.of", exclusion.value),
    }),
  );

/** The engine's data on a domain, or on the domain of a host: {found}, which may be null, and whether the name is invalid. */
async function find(route, signal) {
  try {
    const path = `/api/v1/seeds/domains/${encodeURIComponent(route.id)}`;
    return { found: await get(path, partitionOf(route.query), signal), invalid: false };
  } catch (error) {
    const invalid = error.field === "domain";
    if (error.status !== 404 && !invalid) throw error;
    return { found: null, invalid };
  }
}

/** Domains with a similar name. Only the first NEAR pages are searched. */
async function near(name, signal) {
  const names = new Set();
  for (let page = 0, cursor = ""; page < NEAR && cursor !== null; page++) {
    const answer = await get("/api/v1/seeds/domains", { limit: 200, cursor }, signal);
    for (const { domain } of answer.domains) names.add(domain);
    cursor = answer.cursor;
  }
  return nearest(name, [...names]);
}

function unknown({ id, query }, invalid, near) {
  const place = partitionText(partitionOf(query));
  const elsewhere = near.includes(id);
  return empty(
    invalid ? t("domain.noDomain", id) : place ? t("domain.notThere", id, place) : t("domain.unknown", id),
    near.length > 0 &&
      h(
        "p",
        null,
        t(elsewhere ? "domain.elsewhere" : "domain.near"),
        (elsewhere ? [id] : near).map((domain) => [" ", domainLink(domain)]),
      ),
    !invalid && !elsewhere && h("p", { class: "muted" }, t("domain.unknown.how")),
    h("p", null, h("a", { href: to("domains") }, t("nav.domains"))),
  );
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
      excluded ? stateBadge("excluded") : record && domainState({ ...record, retry: null }),
      " ",
      doc && !doc.reachable && badge("bad", t("domain.unreachable")),
      " ",
      doc?.blocked && badge("bad", t("domain.blocked")),
      " ",
      doc?.partial && badge("waiting", t("domain.partial")),
      " ",
      partitionText(here),
    ),
    route.id.toLowerCase().endsWith(`.${domain}`) && h("p", { class: "muted" }, t("domain.ofHost", route.id)),
    doc &&
      properties(
        [t("collected"), since(doc.collected_at)],
        !excluded && [t("domain.validUntil"), moment(doc.valid_until)],
        [t("domain.revision"), doc.revision],
        [t("domain.authority"), foreign(doc.authority)],
        doc.moved_to && [t("domain.movedTo"), foreign(doc.moved_to)],
        doc.blocked_reason && [t("domain.blocked.reason"), foreign(doc.blocked_reason)],
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

/** Why the domain failed, and what to do about it. */
function failure(found, open, app) {
  const { document: doc, record, partition_info: partition, domain } = found;
  const excluded = isExcluded(found);
  const pending = record?.state === "pending";
  const retry = pending && !excluded ? record.retry : null;
  if (record?.state !== "failed" && doc?.reachable !== false && open.length === 0 && !retry) return null;
  const last = retry ?? (record?.error_type ? record : null);
  const type = last?.error_type ?? doc?.robots?.error_type ?? open[0]?.error_type;
  const message = last?.error_message ?? doc?.robots?.error ?? open[0]?.error_message;
  return h(
    "section",
    { class: "card failed", key: "failure", "aria-label": t("domain.why") },
    h("h2", null, t("domain.why")),
    retry &&
      h(
        "p",
        null,
        h("strong", null, t("domains.attempt", retry.attempt, retry.of)),
        " ",
        since(retry.failed_at),
        retry.next_at && [". ", t("domains.next"), " ", since(retry.next_at)],
      ),
    type && h("p", null, h("strong", null, label("error", type)), " – ", label("why", type)),
    h("blockquote", null, foreign(message)),
    type && !excluded && h("p", null, h("strong", null, t("letter.todo")), " ", label("todo", type)),
    h(
      "div",
      { class: "actions" },
      open.length > 0 &&
        !excluded &&
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
        !pending &&
        actionButton(t("domain.queue"), () => queueFiles(app, partition), { kind: "primary" }),
    ),
    open.length === 0 && doc && !excluded && !pending && h("p", { class: "muted small" }, t("domain.noLetter")),
    open.length > 0 && excluded && h("p", { class: "muted small" }, t("letter.excluded")),
  );
}

/** The dead letters of a domain, each with its best action. */
const deadLettersCard = (deadLetters, excluded, app) =>
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
          cell: (row) => {
            if (row.state !== "stored") return "–";
            const [action] = offered({ ...row, excluded: excluded || row.excluded });
            return actionButton(t(action), () => resolve(app, action, { ids: [row.id] }, 1, summary(row)), {
              label: t(`${action}.of`, row.domain ?? row.work),
            });
          },
        },
      ],
    }),
  );
