// The raw files of a partition, as the bucket has them.
import { get } from "./api.js";
import { h } from "./dom.js";
import { bytes, label, number, t } from "./i18n.js";
import { button, card, code, foreign, muted, since, stateBadge } from "./pieces.js";
import { partitionOf, to } from "./routes.js";
import { pager, table } from "./table.js";

const FEW = 25; // files shown initially
const ORDER = ["failed", "discarded", "pending", "processed"]; // those that need an operator first

/** The API's route of a partition's files. */
export const datasetOf = ({ country, category, date }) =>
  `/api/v1/datasets/${[country, category, date].map(encodeURIComponent).join("/")}`;

/**
 * A page of the files if the route selects one partition, else null. A listing costs more than a status, so they are
 * listed again only when the numbers of the status changed, or after a minute.
 */
export async function loadFiles(route, status, state, signal) {
  const partition = partitionOf(route.query);
  if (Object.keys(partition).length < 3) return null;
  const { cursor } = route.query;
  const { processing_stats: numbers, files_discarded: discarded } = status;
  const version = JSON.stringify([partition, cursor, numbers, discarded, Math.floor(Date.now() / 60_000)]);
  if (state.files?.version !== version)
    state.files = { version, page: await get(datasetOf(partition), { cursor }, signal) };
  return state.files.page;
}

export function filesCard({ files, cursor }, route, state, app) {
  const rows = files.toSorted((a, b) => ORDER.indexOf(a.state) - ORDER.indexOf(b.state));
  const shown = state.allFiles ? rows : rows.slice(0, FEW);
  const showAll = () => {
    state.allFiles = true;
    app.redraw();
  };
  return card(
    t("rawFiles"),
    table({
      caption: t("rawFiles"),
      rows: shown,
      key: (row) => row.chunk,
      columns: [
        { head: t("file"), cell: (row) => [code(row.chunk), h("div", { class: "muted small" }, bytes(row.size))] },
        { head: t("state"), cell: (row) => stateBadge(row.state) },
        { head: t("uploaded"), cell: (row) => since(row.uploaded_at) },
        { head: t("records"), number: true, cell: records },
        { head: t("failure.reason"), wide: true, cell: (row) => reason(row, partitionOf(route.query)) },
      ],
    }),
    shown.length < rows.length && button(t("partitions.all", rows.length), showAll),
    pager(route, cursor),
  );
}

const records = ({ records_total: total, records_rejected: rejected }) =>
  total === null
    ? muted("–")
    : [number(total), rejected > 0 && h("div", { class: "muted small" }, t("rejections.count", rejected))];

const reason = ({ error_type: type, error_message: message }, partition) =>
  type
    ? [
        h("a", { href: to("dead-letters", { ...partition, queue: "seed", error_type: type }) }, label("error", type)),
        h("div", { class: "small clipped" }, foreign(message)),
      ]
    : muted("–");
