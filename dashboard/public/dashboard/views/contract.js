// A readable contract (domain_metadata.json): first how to fetch the domain, then the evidence.
import { score } from "../charts.js";
import { h } from "../dom.js";
import { bytes, duration, label, number, t } from "../i18n.js";
import {
  badge,
  button,
  card,
  code,
  download,
  empty,
  foreign,
  json,
  moment,
  muted,
  outside,
  properties,
  since,
  yesNo,
} from "../pieces.js";
import { table } from "../table.js";

const STEP = 25; // URLs added to a list at a time

/**
 * Cards for a document. state keeps how much of each list is shown. If the domain does not answer, refuses everything or
 * is excluded, only the findings are shown, not how to crawl it.
 */
export function contract(doc, state, app, excluded) {
  const discovery = doc.intelligent_discovery;
  const advised = doc.reachable && !doc.blocked && !excluded;
  return [
    advised && how(doc),
    discovery && advised && topUrls(discovery, state, app),
    h("div", { class: "grid halves", key: "evidence" }, robots(doc, advised), server(doc)),
    sitemaps(doc),
    feeds(doc.technical_metadata),
    discovery && analysis(discovery, advised),
    rawUrls(doc, state, app, advised),
    provenance(doc),
  ];
}

function how(doc) {
  const plan = doc.fetch_contract;
  const robots = doc.technical_metadata.robots_txt;
  const allowed = plan?.allowed ?? robots.allows_crawling;
  const delay = plan?.crawl_delay_seconds ?? robots.crawl_delay_seconds;
  return card(
    t("contract"),
    h(
      "p",
      { class: "lead" },
      allowed
        ? badge("good", t("contract.allowed"))
        : badge("bad", robots.error ? t("contract.unknown") : t("contract.forbidden")),
    ),
    properties(
      [t("contract.delay"), typeof delay === "number" ? duration(delay * 1_000) : muted(t("contract.delay.none"))],
      plan && [t("contract.concurrency"), number(plan.max_concurrency)],
      plan && [t("contract.agent"), code(plan.user_agent)],
      plan && [t("contract.expires"), moment(plan.robots_expires_at)],
      [t("contract.signals"), signals(plan?.content_signals ?? robots.content_signals)],
      doc.usage && [t("contract.usage"), usage(doc.usage)],
    ),
    plan && h("h3", null, t("entryPoints")),
    plan &&
      (plan.entry_points.length
        ? table({
            caption: t("entryPoints"),
            rows: plan.entry_points.map((point, i) => ({ ...point, order: i + 1 })),
            key: (row) => row.order,
            columns: [
              { head: t("entryPoints.order"), number: true, cell: (row) => number(row.order) },
              { head: t("entryPoints.method"), cell: (row) => badge("quiet", label("method", row.method)) },
              { head: "URL", wide: true, cell: (row) => outside(row.url) },
              { head: t("type"), cell: (row) => type(row.content_type) },
              { head: t("entryPoints.interval"), number: true, cell: (row) => duration(row.interval_minutes * 60_000) },
              { head: t("confidence"), number: true, cell: (row) => score(row.confidence) },
            ],
          })
        : empty(t("entryPoints.none"))),
  );
}

const type = (name) => (name ? label("type", name) : muted("–"));

const actionTones = {
  immediate_crawl: "good",
  scheduled_crawl: "good",
  periodic_check: "waiting",
  low_priority: "quiet",
  ignore: "quiet",
};

const action = (name) =>
  name ? badge(Object.hasOwn(actionTones, name) ? actionTones[name] : "quiet", label("action", name)) : muted("–");

function signals(given) {
  const entries = Object.entries(given ?? {});
  return entries.length
    ? entries.map(([name, value]) => [badge("quiet", h("bdi", null, `${name}=${value}`)), " "])
    : muted(t("none"));
}

/** What the home page and tdmrep.json say about the use of the content. */
function usage({ directives, tdm }) {
  const said = [
    ...directives.map(({ name }) => name),
    ...tdm.map(({ location, reserved }) => `TDM ${location} ${t(reserved ? "contract.reserved" : "contract.free")}`),
  ];
  return said.length ? said.map((text) => [badge("quiet", h("bdi", null, text)), " "]) : muted(t("none"));
}

const topUrls = ({ discovered_urls: rows }, state, app) =>
  card(
    t("topUrls"),
    rows.length
      ? table({
          caption: t("topUrls"),
          rows: rows.slice(0, state.topShown ?? STEP),
          key: (row) => row.url,
          columns: [
            { head: "URL", wide: true, cell: (row) => outside(row.url) },
            {
              head: t("type"),
              cell: (row) => [
                type(row.classification.primary_type),
                h("div", { class: "muted small" }, t("confidence.of", number(row.classification.confidence, 2))),
              ],
            },
            { head: t("newsValue"), number: true, cell: (row) => score(row.news_value.overall_score) },
            { head: t("updates"), cell: (row) => label("frequency", row.news_value.update_frequency) },
            { head: t("priority"), number: true, cell: (row) => score(row.priority_score) },
            { head: t("action"), cell: (row) => action(row.recommended_action) },
            { head: t("foundBy"), cell: (row) => label("found", row.discovery_method) },
          ],
        })
      : empty(t("topUrls.none")),
    more(rows, "topShown", state, app),
  );

/** A button that shows more of a list; state[name] is the number shown. */
function more(rows, name, state, app) {
  const shown = state[name] ?? STEP;
  const show = () => {
    state[name] = shown + STEP;
    app.redraw();
  };
  return shown < rows.length && button(t("more", Math.min(STEP, rows.length - shown)), show);
}

/** How many items a list leaves out, if any. */
const omitted = (left) => left > 0 && h("p", { class: "muted small" }, t("document.more", left));

/** Why a list is empty. */
const failure = ({ error, error_type: kind }) =>
  (error || kind) && [t("failure.reason"), [kind && [h("strong", null, label("error", kind)), " "], foreign(error)]];

function robots(doc, advised) {
  const {
    robots: answer,
    technical_metadata: { robots_txt: file },
  } = doc;
  return card(
    "robots.txt",
    properties(
      [t("exists"), yesNo(file.exists)],
      [t("httpStatus"), answer.status_code || t("noAnswer")],
      [t("contract.allows"), advised ? yesNo(file.allows_crawling) : muted("–")],
      failure(file),
      file.exists && [t("size"), bytes(file.size)],
      [
        t("contract.delay"),
        typeof file.crawl_delay_seconds === "number" ? duration(file.crawl_delay_seconds * 1_000) : muted("–"),
      ],
      [t("lastModified"), moment(file.last_modified)],
      [t("fetched"), since(answer.fetched_at)],
      [
        t("sitemap"),
        file.sitemap_urls.length
          ? h("ul", { class: "plain" }, [
              file.sitemap_urls.map((url) => h("li", null, outside(url))),
              file.sitemap_urls_omitted > 0 &&
                h("li", { class: "muted" }, t("document.more", file.sitemap_urls_omitted)),
            ])
          : muted("–"),
      ],
    ),
  );
}

function server({ reachable, technical_metadata: { server_info: info, reused_from: reused, mirror_of: mirror } }) {
  return card(
    t("server"),
    properties(
      [t("server.host"), foreign(info.effective_host)],
      reachable && ["HTTPS", yesNo(info.supports_https)],
      [t("server.software"), foreign(info.server)],
      [t("server.encoding"), foreign(info.content_encoding)],
      [t("server.response"), duration(info.response_time_avg_ms ?? NaN)],
      [t("server.requests"), number(info.requests)],
      reused && [t("server.reused"), code(reused)],
      mirror && [t("server.mirror"), foreign(mirror)],
    ),
  );
}

function sitemaps({ sitemap, technical_metadata: { sitemap_xml: root } }) {
  return card(
    t("sitemaps"),
    properties(
      [t("exists"), yesNo(root.exists)],
      failure(root),
      root.exists && [t("urls"), number(sitemap.url_count)],
      root.kind && [t("kind"), foreign(root.kind)],
      root.exists && [t("size"), bytes(root.size)],
      [t("lastUpdated"), moment(root.last_updated)],
      root.truncated && [t("truncated"), t("yes")],
      root.sitemaps_not_read > 0 && [t("sitemaps.notRead"), number(root.sitemaps_not_read)],
    ),
    root.documents.length > 0 &&
      table({
        caption: t("sitemaps"),
        rows: root.documents,
        key: (row) => row.url,
        columns: [
          {
            head: "URL",
            wide: true,
            cell: (row) => [outside(row.url), row.error && h("div", { class: "failure small" }, foreign(row.error))],
          },
          { head: t("httpStatus"), number: true, cell: (row) => row.status_code || t("noAnswer") },
          { head: t("kind"), cell: (row) => foreign(row.kind) },
          {
            head: t("urls"),
            number: true,
            cell: (row) => [
              number(row.url_count),
              row.news_count > 0 && h("div", { class: "muted small" }, t("sitemaps.news", row.news_count)),
            ],
          },
          { head: t("lastUpdated"), cell: (row) => since(row.last_updated) },
          { head: t("foundBy"), cell: (row) => label("found", row.found_by) },
        ],
      }),
    omitted(root.documents_omitted),
  );
}

const feeds = ({ feeds: rows, feeds_omitted: left }) =>
  card(
    t("feeds"),
    rows.length
      ? table({
          caption: t("feeds"),
          rows,
          key: (row) => row.url,
          columns: [
            {
              head: "URL",
              wide: true,
              cell: (row) => [outside(row.url), h("div", { class: "small" }, foreign(row.title))],
            },
            { head: t("kind"), cell: (row) => foreign(row.kind) },
            { head: t("feeds.items"), number: true, cell: (row) => number(row.item_count) },
            { head: t("lastUpdated"), cell: (row) => since(row.last_updated) },
            { head: t("foundBy"), cell: (row) => label("found", row.found_by) },
          ],
        })
      : empty(t("feeds.none")),
    omitted(left),
  );

function analysis(
  { url_patterns: patterns, discovery_stats: stats, content_categories: categories, errors, errors_omitted: left },
  advised,
) {
  const seen = patterns.filter(({ examples }) => examples.length > 0); // the others are typical of such sites, not observed
  return card(
    t("discovery"),
    properties(
      [t("discovery.analysed"), number(stats.total_urls_analyzed)],
      advised && [t("discovery.high"), number(stats.high_priority_urls)],
      advised && [t("discovery.medium"), number(stats.medium_priority_urls)],
      advised && [t("discovery.low"), number(stats.low_priority_urls)],
      [
        t("discovery.excluded"),
        Object.entries(stats.excluded_urls)
          .filter(([, n]) => n > 0)
          .map(([reason, n]) => [badge("quiet", `${label("left", reason)} ${number(n)}`), " "]),
      ],
      [t("time"), duration(stats.processing_time_ms)],
    ),
    h(
      "div",
      { class: "grid halves" },
      Object.keys(categories).length > 0 && types(categories, advised),
      seen.length > 0 && found(seen),
    ),
    errors.length > 0 && [
      h("h3", null, t("discovery.errors")),
      h(
        "ul",
        null,
        errors.map((error) =>
          h(
            "li",
            null,
            h("strong", null, error.error_type ? label("error", error.error_type) : foreign(error.type)),
            " ",
            outside(error.url),
            " ",
            foreign(error.message),
          ),
        ),
      ),
      omitted(left),
    ],
  );
}

const types = (categories, advised) =>
  h(
    "div",
    null,
    h("h3", null, t("categories")),
    table({
      caption: t("categories"),
      rows: Object.entries(categories).sort(([, a], [, b]) => b.count - a.count),
      key: ([name]) => name,
      columns: [
        { head: t("type"), wide: true, cell: ([name]) => type(name) },
        { head: t("urls"), number: true, cell: ([, category]) => number(category.count) },
        ...(advised
          ? [{ head: t("priority"), number: true, cell: ([, category]) => score(category.avg_priority) }]
          : []),
      ],
    }),
  );

const found = (patterns) =>
  h(
    "div",
    null,
    h("h3", null, t("patterns")),
    table({
      caption: t("patterns"),
      rows: patterns,
      key: (row) => row.pattern,
      columns: [
        { head: t("pattern"), wide: true, cell: (row) => code(row.pattern) },
        { head: t("type"), cell: (row) => type(row.content_type) },
        { head: t("confidence"), number: true, cell: (row) => score(row.confidence) },
        ...(patterns.some((row) => row.observed)
          ? [
              {
                head: t("patterns.fetched"),
                number: true,
                cell: ({ observed }) => observed && number(observed.fetched),
              },
              {
                head: t("patterns.lost"),
                number: true,
                cell: ({ observed }) => observed && number(observed.gone + observed.copied + (observed.closed ?? 0)),
              },
              {
                head: t("patterns.changes"),
                number: true,
                cell: ({ observed }) => observed?.change_hours && duration(observed.change_hours * 3_600_000),
              },
            ]
          : []),
      ],
    }),
  );

function rawUrls(doc, state, app, advised) {
  const wanted = (state.search ?? "").toLowerCase();
  const rows = doc.urls.filter(
    (row) => !wanted || row.url.toLowerCase().includes(wanted) || row.title?.toLowerCase().includes(wanted),
  );
  const scored = doc.urls.some((row) => row.priority_score !== undefined);
  const search = (event) => {
    state.search = event.target.value;
    app.redraw();
  };
  return card(
    t("rawUrls"),
    h(
      "p",
      { class: "muted" },
      t("rawUrls.total", doc.processing_metadata.total_urls),
      doc.urls_files.length > 0 && ` ${t("rawUrls.files", doc.urls_files.length)}`,
    ),
    doc.urls.length > 10 &&
      h(
        "div",
        { class: "field" },
        h("label", { for: "raw-search" }, t("rawUrls.search")),
        h("input", {
          id: "raw-search",
          type: "search",
          autocomplete: "off",
          spellcheck: "false",
          on: { input: search },
        }),
      ),
    doc.urls.length === 0
      ? empty(t("rawUrls.none"))
      : table({
          caption: t("rawUrls"),
          rows: rows.slice(0, state.rawShown ?? STEP),
          key: (row) => row.url,
          columns: [
            {
              head: "URL",
              wide: true,
              cell: (row) => [row.title && h("div", null, foreign(row.title)), outside(row.url)],
            },
            { head: t("language.short"), cell: (row) => foreign(row.language) },
            {
              head: t("foundBy"),
              cell: (row) => (row.discovery_method ? label("found", row.discovery_method) : muted("–")),
            },
            ...(scored ? [{ head: t("type"), cell: (row) => type(row.type) }] : []),
            ...(scored && advised
              ? [
                  { head: t("priority"), number: true, cell: (row) => score(row.priority_score) },
                  { head: t("action"), cell: (row) => action(row.recommended_action) },
                  { head: t("allowed"), cell: (row) => yesNo(row.allowed) },
                ]
              : []),
          ],
        }),
    h("p", { role: "status", class: "muted small" }, wanted && t("rawUrls.found", rows.length)),
    more(rows, "rawShown", state, app),
  );
}

function provenance(doc) {
  const { processing_metadata: processing, source } = doc;
  return card(
    t("document"),
    properties(
      [t("letter.duration"), duration(processing.processing_duration_ms)],
      [t("document.waited"), duration(processing.politeness_wait_ms)],
      [t("document.processed"), moment(processing.processed_at)],
      [t("version"), foreign(processing.version)],
      [t("domain.id"), code(doc.domain_id)],
      [
        t("document.sources"),
        h(
          "ul",
          { class: "plain" },
          source.raw_file_paths.slice(0, 10).map((path) => h("li", null, code(path))),
          source.raw_file_paths.length > 10 && h("li", null, t("document.more", source.raw_file_paths.length - 10)),
        ),
      ],
    ),
    h("details", null, h("summary", null, t("document.raw")), json(doc)),
    h("p", null, download(`${doc.domain}.domain_metadata.json`, doc, t("download"))),
  );
}
