// One dead letter: the reason, the message and the outcome.
import { get } from "../api.js";
import { h } from "../dom.js";
import { duration, label, number, t } from "../i18n.js";
import {
  actionButton,
  card,
  code,
  domainLink,
  download,
  empty,
  foreign,
  json,
  moment,
  muted,
  partitionText,
  properties,
  since,
  stateBadge,
} from "../pieces.js";
import { resolve } from "../resolve.js";
import { to } from "../routes.js";
import { table } from "../table.js";
import { offered, subject, summary } from "./deadletters.js";

export default {
  one: true,
  title: () => t("letter"),

  load: ({ route, signal }) =>
    get(`/api/v1/dlq/${encodeURIComponent(route.id)}`, {}, signal).catch((error) => {
      if (error.status === 404) return null;
      throw error;
    }),

  render({ data: letter, app }) {
    if (!letter)
      return empty(t("letter.missing"), h("p", null, h("a", { href: to("dead-letters") }, t("nav.dead-letters"))));
    return [
      h(
        "p",
        { class: "lead", key: "lead" },
        h("strong", null, subject(letter)),
        " ",
        stateBadge(letter.state),
        letter.excluded && [" ", stateBadge("excluded")],
        letter.resolved_at && [" ", muted(since(letter.resolved_at), " · ", foreign(letter.resolved_by))],
      ),
      letter.state === "stored" &&
        h(
          "div",
          { class: "toolbar actions", key: "actions" },
          offered(letter).map((action, place) =>
            actionButton(t(action), () => resolve(app, action, { ids: [letter.id] }, 1, summary(letter)), {
              kind: place === 0 ? "primary" : action === "discard" ? "danger-text" : "",
            }),
          ),
        ),
      card(
        t("letter.why"),
        h("p", null, h("strong", null, label("error", letter.error_type)), " – ", label("why", letter.error_type)),
        h("blockquote", null, foreign(letter.error_message)),
        h(
          "p",
          null,
          h("strong", null, t("letter.todo")),
          " ",
          letter.excluded ? t("letter.excluded") : label("todo", letter.error_type),
        ),
        properties(
          [t("failed"), moment(letter.failed_at)],
          [t("retries"), number(letter.retry_count)],
          [t("queue.name"), code(letter.queue_name)],
          [t("partition"), partitionText(letter.partition_info)],
          letter.domain && [t("domain"), domainLink(letter.domain, letter.partition_info)],
          [t("letter.work"), code(letter.work)],
          [t("version"), foreign(letter.worker_version)],
          [t("letter.duration"), duration(letter.processing_duration_ms)],
          [t("letter.key"), code(letter.key)],
          [t("letter.id"), code(letter.id)],
        ),
      ),
      card(t("letter.attempts"), letter.attempts.length ? attempts(letter.attempts) : empty(t("letter.attempts.none"))),
      letter.history.length > 0 &&
        card(t("letter.history"), h("p", { class: "muted" }, t("letter.history.why")), history(letter.history)),
      card(
        t("letter.message"),
        letter.letter
          ? [json(letter.letter.original_message), download(`${letter.id}.json`, letter.letter, t("download"))]
          : empty(t("letter.gone")),
      ),
    ];
  },
};

const attempts = (rows) =>
  table({
    caption: t("letter.attempts"),
    rows,
    key: (row) => `${row.message_id} ${row.attempt}`,
    columns: [
      { head: t("letter.attempt"), number: true, cell: (row) => number(row.attempt) },
      { head: t("failed"), cell: (row) => moment(row.failed_at) },
      {
        head: t("failure.reason"),
        wide: true,
        cell: (row) => [
          h("strong", null, label("error", row.error_type)),
          h("div", { class: "small" }, foreign(row.error_message)),
        ],
      },
      { head: t("letter.duration"), number: true, cell: (row) => duration(row.duration_ms) },
      { head: t("version"), cell: (row) => foreign(row.worker_version) },
    ],
  });

const history = (rows) =>
  table({
    caption: t("letter.history"),
    rows,
    key: (row) => row.id,
    columns: [
      { head: t("failed"), cell: (row) => h("a", { href: to("dead-letter", {}, row.id) }, moment(row.failed_at)) },
      {
        head: t("failure.reason"),
        wide: true,
        cell: (row) => [
          h("strong", null, label("error", row.error_type)),
          h("div", { class: "small" }, foreign(row.error_message)),
        ],
      },
      {
        head: t("state"),
        cell: (row) => [
          stateBadge(row.state),
          row.resolved_at && h("div", { class: "muted small" }, since(row.resolved_at), " ", foreign(row.resolved_by)),
        ],
      },
    ],
  });
