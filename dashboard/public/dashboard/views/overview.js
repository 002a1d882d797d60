// The progress of the pipeline: files and domains, rates, failures and slow domains, by partition.
import { get } from "../api.js";
import { legend, score, share, stackedBar, tile, trendChart } from "../charts.js";
import { h } from "../dom.js";
import { filterForm, partitionFields } from "../filters.js";
import { duration, label, number, percent, t } from "../i18n.js";
import {
  actionButton,
  button,
  card,
  code,
  domainCell,
  domainKey,
  empty,
  foreign,
  muted,
  partitionText,
  since,
  stateBadge,
} from "../pieces.js";
import { collectFailed, pipelineButton, queueFiles } from "../pipeline.js";
import { filesCard, loadFiles } from "../rawfiles.js";
import { partitionOf, to } from "../routes.js";
import { table } from "../table.js";
import { chooseFiles } from "../uploads.js";
import { alarmLine } from "./alarms.js";

const SPANS = [24, 72, 168]; // choices for the trend, in hours
const FEW = 25; // partitions shown initially
const WINDOW = 5 * 60_000; // milliseconds over which the current speed is measured

const hoursOf = (route) => (SPANS.includes(Number(route.query.hours)) ? Number(route.query.hours) : SPANS[0]);

export default {
  title: () => t("nav.overview"),

  async load({ route, state, signal }) {
    const filter = partitionOf(route.query);
    const [status, slowest] = await Promise.all([
      get("/api/v1/seeds/status", { ...filter, by: ["partition", "error_type"], trend: hoursOf(route) }, signal),
      get("/api/v1/seeds/domains", { ...filter, state: "processed", sort: "duration", limit: 10 }, signal),
    ]);
    sample(state, JSON.stringify(filter), status.processing_stats);
    return { status, slowest: slowest.domains, files: await loadFiles(route, status, state, signal) };
  },

  render({ data, route, state, app }) {
    const { status } = data;
    const p = status.processing_stats;
    const filter = partitionOf(route.query);
    const nothing = p.files_total + p.domains_total + status.domains_excluded === 0 && !data.files?.files.length;
    return [
      status.alarms
        .filter((alarm) => alarm.state === "firing")
        .map((alarm) =>
          h(
            "div",
            { class: "banner bad", key: `alarm ${alarm.name}` },
            h("p", null, h("a", { href: to("alarms") }, alarmLine(alarm))),
          ),
        ),
      h(
        "div",
        { class: "toolbar", key: "toolbar" },
        filterForm(route, partitionFields(), app.go),
        h(
          "div",
          { class: "actions" },
          actionButton(t("upload.ask"), () => chooseFiles(app, filter)),
          actionButton(t("queue.ask"), () => queueFiles(app, filter)),
          !status.paused && pipelineButton(false, app),
        ),
      ),
      nothing
        ? empty(
            t(Object.keys(filter).length ? "overview.none" : "overview.empty"),
            h("p", null, t("upload.drop")),
            h("p", { class: "muted" }, t("overview.empty.how")),
            h(
              "pre",
              { tabindex: "0" },
              "curl -X PUT -H 'Authorization: Bearer …' -H 'Content-Type: application/json' \\\n  --data-binary @raw_0001.json \\\n  '…/api/v1/datasets/sg/news/2026-01-28/raw_0001?orchestrate=true'",
            ),
          )
        : [
            h(
              "div",
              { class: "grid halves", key: "progress" },
              progress(t("files"), p, "files", {}),
              progress(t("domains"), p, "domains", filter, speed(state.samples, p)),
            ),
            rates(status, filter),
            h(
              "div",
              { class: "grid two-thirds", key: "trend" },
              trend(status.trend ?? [], route, state, app),
              failures(status, filter, app),
            ),
            h(
              "div",
              { class: "grid two-thirds", key: "lists" },
              data.files
                ? filesCard(data.files, route, state, app)
                : partitions(status.partitions ?? [], filter, state, app),
              slowest(data.slowest, filter),
            ),
          ],
    ];
  },

  /** Announces every tenth of the domains, and the end. */
  news(data, before) {
    if (!before) return null;
    const tenths = ({ status: { processing_stats: p } }) =>
      p.domains_total ? Math.floor(((p.domains_total - p.domains_pending) / p.domains_total) * 10) : 0;
    if (tenths(data) === tenths(before)) return null;
    const p = data.status.processing_stats;
    return t("overview.news", p.domains_total, p.domains_total - p.domains_pending, p.domains_failed);
  },
};

function progress(name, p, kind, filter, note) {
  const [total, processed, failed, pending] = ["total", "processed", "failed", "pending"].map(
    (field) => p[`${kind}_${field}`],
  );
  const link = (state) =>
    kind === "domains"
      ? to("domains", { ...filter, state })
      : state === "failed"
        ? to("dead-letters", { queue: "seed" })
        : null;
  const parts = [
    { name: label("state", "processed"), value: processed, tone: "good", href: link("processed") },
    { name: label("state", "failed"), value: failed, tone: "bad", href: link("failed") },
    { name: label("state", "pending"), value: pending, tone: "waiting", href: link("pending") },
  ];
  return card(
    name,
    h(
      "p",
      { class: "large" },
      h("strong", null, number(total - pending)),
      h("span", { class: "muted" }, ` / ${number(total)} ${t("finished")}`),
      h("span", { class: "share" }, share(total - pending, total)),
    ),
    stackedBar(parts),
    legend(parts),
    h("p", { class: "muted small note" }, note),
  );
}

const capitalised = (text) => text[0].toUpperCase() + text.slice(1);

/** Rates and counts. Queues and dead letters are always of the whole engine, which is noted if the rest is filtered. */
function rates(
  {
    collection_stats: c,
    processing_stats: p,
    queues,
    dead_letters: deadLetters,
    domains_excluded: excluded,
    domains_barred: barred = {}, // missing in earlier versions of the engine
    files_discarded: discarded,
    records_total: records,
    records_rejected: rejected,
    avg_file_time_ms: file,
    rejections = [],
  },
  filter,
) {
  const filtered = Object.keys(filter).length > 0;
  const whole = filtered && h("div", null, t("rates.whole"));
  const backlog = (role) => (queues[role] ? number(queues[role].messages) : "–");
  const oldest = Object.values(queues)
    .map((queue) => queue?.oldest)
    .filter(Boolean)
    .sort()[0];
  const finished = p.domains_processed + p.domains_failed;
  return h(
    "section",
    { class: "card", "aria-label": t("rates"), key: "rates" },
    h(
      "dl",
      { class: "tiles" },
      tile(t("rates.robots"), share(c.robots_txt_found, p.domains_total), t("of", c.robots_txt_found, p.domains_total)),
      tile(
        t("rates.sitemap"),
        share(c.sitemap_xml_found, p.domains_total),
        t("of", c.sitemap_xml_found, p.domains_total),
      ),
      tile(t("rates.failed"), share(p.domains_failed, finished), t("of", p.domains_failed, finished)),
      tile(t("rates.average"), p.domains_processed ? duration(c.avg_processing_time_ms) : "–", t("rates.average.note")),
      tile(t("rates.file"), file ? duration(file) : "–", t("rates.file.note")),
      tile(t("rates.queues"), `${backlog("seed")} · ${backlog("domain")} · ${backlog("dlq")}`, [
        oldest ? [t("rates.oldest"), " ", since(oldest)] : t("rates.queues.note"),
        whole,
      ]),
      tile(t("rates.letters"), h("a", { href: to("dead-letters") }, number(deadLetters.stored)), [
        t("rates.letters.note", deadLetters.replayed, deadLetters.discarded),
        whole,
      ]),
      ["forbidden", "refuses", "nothing"].map(
        (barrier) =>
          barred[barrier] > 0 &&
          tile(
            capitalised(label("barrier", barrier)),
            h("a", { href: to("domains", { ...filter, barrier }) }, number(barred[barrier])),
            label("barrier.about", barrier),
          ),
      ),
      excluded > 0 && tile(t("rates.excluded"), number(excluded), t("rates.excluded.note")),
      discarded > 0 && tile(t("rates.discarded"), number(discarded), t("rates.discarded.note")),
      rejected > 0 && tile(t("rates.rejected"), number(rejected), t("of", rejected, records)),
    ),
    rejections.length > 0 && rejectedRecords(rejections),
  );
}

/** Examples of skipped records, with the reason. */
const rejectedRecords = (rows) =>
  h(
    "details",
    null,
    h("summary", null, t("rejections")),
    table({
      caption: t("rejections"),
      rows,
      key: (row) => `${partitionText(row.partition_info)} ${row.chunk} ${row.record}`,
      columns: [
        { head: t("files"), cell: (row) => [code(row.chunk), " ", muted(partitionText(row.partition_info))] },
        { head: t("rejections.record"), number: true, cell: (row) => number(row.record) },
        { head: t("failure.reason"), wide: true, cell: (row) => foreign(row.reason) },
      ],
    }),
  );

function trend(hours, route, state, app) {
  const now = hoursOf(route);
  const look = (at) => {
    if (state.hour === at) return;
    state.hour = at;
    app.redraw();
  };
  return card(
    t("trend.title"),
    h(
      "p",
      { class: "spans" },
      SPANS.map((span) =>
        h(
          "a",
          {
            class: "button plain",
            href: to("overview", { ...route.query, hours: span === SPANS[0] ? "" : span }),
            "aria-current": span === now ? "true" : null,
          },
          duration(span * 3_600_000),
        ),
      ),
    ),
    hours.length ? trendChart(hours, state.hour ?? -1, look) : empty(t("trend.none")),
  );
}

function failures({ errors = [], processing_stats: p }, filter, app) {
  const max = Math.max(1, ...errors.map((error) => error.domains + error.files));
  return card(
    t("failures"),
    errors.length
      ? table({
          caption: t("failures"),
          rows: errors,
          key: (row) => row.error_type,
          columns: [
            {
              head: t("errorType"),
              wide: true,
              cell: (row) => [
                h("strong", null, label("error", row.error_type)),
                h("div", { class: "muted small" }, label("why", row.error_type)),
              ],
            },
            {
              head: t("domains"),
              number: true,
              cell: (row) =>
                row.domains
                  ? h(
                      "a",
                      { href: to("domains", { ...filter, state: "failed", error_type: row.error_type }) },
                      score(row.domains, max, number(row.domains), "bad"),
                    )
                  : "0",
            },
            {
              head: t("files"),
              number: true,
              cell: (row) =>
                row.files
                  ? h(
                      "a",
                      { href: to("dead-letters", { ...filter, queue: "seed", error_type: row.error_type }) },
                      number(row.files),
                    )
                  : "0",
            },
          ],
        })
      : empty(t("failures.none")),
    p.domains_failed > 0 && actionButton(t("collectFailed.ask"), () => collectFailed(app, filter, p.domains_failed)),
  );
}

function slowest(domains, filter) {
  const max = Math.max(1, ...domains.map((domain) => domain.processing_duration_ms ?? 0));
  return card(
    t("slowest"),
    domains.length
      ? [
          table({
            caption: t("slowest"),
            rows: domains,
            key: domainKey,
            columns: [
              {
                head: t("domain"),
                wide: true,
                cell: (row) => [domainCell(row), row.state === "failed" && stateBadge(row.state)],
              },
              {
                head: t("time"),
                number: true,
                cell: (row) => score(row.processing_duration_ms, max, duration(row.processing_duration_ms)),
              },
            ],
          }),
          h("p", null, h("a", { href: to("domains", { ...filter, sort: "duration" }) }, t("slowest.all"))),
        ]
      : empty(t("slowest.none")),
  );
}

function partitions(rows, filter, state, app) {
  const shown = state.all ? rows : rows.slice(0, FEW);
  const showAll = () => {
    state.all = true;
    app.redraw();
  };
  return card(
    t("partitions"),
    table({
      caption: t("partitions"),
      rows: shown,
      key: (row) => partitionText(row.partition_info),
      columns: [
        {
          head: t("partition"),
          wide: true,
          cell: (row) => [
            h("a", { href: to("overview", partitionOf(row.partition_info)) }, unbroken(row.partition_info)),
            h("div", { class: "muted small" }, since(row.updated_at)),
          ],
        },
        {
          head: t("files"),
          number: true,
          cell: ({ processing_stats: p, records_rejected: rejected }) => [
            finished(p, "files"),
            rejected > 0 && h("div", { class: "muted small" }, t("rejections.count", rejected)),
          ],
        },
        { head: t("domains"), number: true, cell: ({ processing_stats: p }) => finished(p, "domains") },
        {
          head: t("failed"),
          number: true,
          cell: failedOf,
        },
        { head: t("robots"), number: true, cell: (row) => rate(row, "robots_txt_found") },
        { head: t("sitemap"), number: true, cell: (row) => rate(row, "sitemap_xml_found") },
        {
          head: t("average"),
          number: true,
          cell: (row) => [
            duration(row.processing_stats.domains_processed ? row.collection_stats.avg_processing_time_ms : NaN),
            row.avg_file_time_ms > 0 &&
              h("div", { class: "muted small" }, t("average.file", duration(row.avg_file_time_ms))),
          ],
        },
      ],
    }),
    shown.length < rows.length && button(t("partitions.all", rows.length), showAll),
  );
}

/** The name of a partition, whose date stays on one line; any other text there may break. */
const unbroken = (partition) => {
  const text = partitionText(partition);
  const at = text.search(/(?<= |^)\d{4}-\d\d-\d\d$/);
  return at < 0 ? text : [text.slice(0, at), h("span", { class: "unbroken" }, text.slice(at))];
};

const rate = ({ collection_stats: c, processing_stats: p }, field) =>
  p.domains_total ? percent(c[field] / p.domains_total) : "–";

/** The number of finished files or domains of a partition, with a bar by outcome. */
function finished(p, kind) {
  const [total, pending] = [p[`${kind}_total`], p[`${kind}_pending`]];
  const parts = [
    { name: label("state", "processed"), value: p[`${kind}_processed`], tone: "good" },
    { name: label("state", "failed"), value: p[`${kind}_failed`], tone: "bad" },
    { name: label("state", "pending"), value: pending, tone: "waiting" },
  ];
  return h(
    "span",
    { class: "score" },
    stackedBar(parts, { thin: true }),
    h("span", null, number(total - pending), muted(` / ${number(total)}`)),
  );
}

/** The failures of a partition: files, which hold back all their domains, and domains. */
function failedOf({ partition_info: partition, processing_stats: { files_failed: files, domains_failed: domains } }) {
  const filter = partitionOf(partition);
  if (files + domains === 0) return muted("0");
  return [
    files > 0 &&
      h(
        "div",
        null,
        h("a", { class: "alone", href: to("dead-letters", { ...filter, queue: "seed" }) }, t("failed.files", files)),
      ),
    domains > 0 &&
      h(
        "div",
        null,
        h("a", { class: "alone", href: to("domains", { ...filter, state: "failed" }) }, t("failed.domains", domains)),
      ),
  ];
}

// ---- the current speed, from this page's refreshes

/** Keeps the finished counts of the last refreshes; starts over when the filter changes or work is redone. */
function sample(state, filter, p) {
  const now = { at: Date.now(), filter, finished: p.domains_processed + p.domains_failed };
  const before = (state.samples ?? []).filter(
    (old) => old.filter === filter && old.finished <= now.finished && now.at - old.at < WINDOW,
  );
  state.samples = [...before, now];
}

function speed(samples, p) {
  const [first, last] = [samples[0], samples.at(-1)];
  const minutes = (last.at - first.at) / 60_000;
  if (p.domains_pending === 0 || minutes < 0.05 || last.finished === first.finished) return " ";
  const perMinute = (last.finished - first.finished) / minutes;
  return t(
    "overview.speed",
    perMinute < 10 ? Math.round(perMinute * 10) / 10 : Math.round(perMinute),
    duration((p.domains_pending / perMinute) * 60_000),
  );
}
