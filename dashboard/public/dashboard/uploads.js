// Uploading raw files: chosen, or dropped anywhere on the page, with the folders that say where they belong.
import { get, token, upload } from "./api.js";
import { ask } from "./dialog.js";
import { h } from "./dom.js";
import { countryCode } from "./countries.js";
import { bytes, t } from "./i18n.js";
import { code, failureText, foreign, muted, partitionText } from "./pieces.js";
import { partitionFields } from "./filters.js";
import { datasetOf } from "./rawfiles.js";

/** Lets the operator choose files, and uploads them. */
export function chooseFiles(app, filter) {
  const input = document.createElement("input");
  Object.assign(input, { type: "file", multiple: true, accept: ".json,application/json" });
  input.addEventListener("change", () =>
    uploadFiles(
      app,
      [...input.files].map((file) => ({ file, path: file.name })),
      filter,
    ),
  );
  input.click();
}

/** Uploads files dropped on the page. filterOf() returns the partition of the view. */
export function takeDrops(app, filterOf) {
  const welcome = (event) => [...event.dataTransfer.types].includes("Files");
  const mark = (on) => document.documentElement.classList.toggle("dropping", on);
  addEventListener("dragover", (event) => {
    event.preventDefault(); // otherwise the browser opens the file in place of the page
    event.dataTransfer.dropEffect = welcome(event) ? "copy" : "none";
    mark(welcome(event) && !token.readOnly); // a drop is answered in any case: see below
  });
  addEventListener("dragleave", (event) => event.relatedTarget === null && mark(false));
  addEventListener("drop", async (event) => {
    event.preventDefault();
    mark(false);
    if (!welcome(event) || document.querySelector("dialog")) return;
    if (token.readOnly) return app.announce(t("readOnly.why"));
    uploadFiles(app, await filesOf(event.dataTransfer.items), filterOf());
  });
}

/** The dropped files, including those in folders: [{file, path}]. */
async function filesOf(items) {
  const found = [];
  const walk = async (entry) => {
    if (entry.isDirectory) for (const child of await childrenOf(entry)) await walk(child);
    else found.push({ file: await new Promise((done, failed) => entry.file(done, failed)), path: entry.fullPath });
  };
  // The list of items is empty after the first await. An item without a file system entry may still be a file.
  const dropped = [...items].map((item) => ({ entry: item.webkitGetAsEntry(), file: item.getAsFile() }));
  for (const { entry, file } of dropped) {
    if (entry) await walk(entry);
    else if (file) found.push({ file, path: file.name });
  }
  return found;
}

/** Reads a folder in parts, until one is empty. */
async function childrenOf(folder) {
  const reader = folder.createReader();
  const children = [];
  for (let part; part?.length !== 0; children.push(...part))
    part = await new Promise((done, failed) => reader.readEntries(done, failed));
  return children;
}

const PLACE = /country=([a-z]{2})\/category=([a-z0-9][a-z0-9_-]*)\/date=(\d{4}-\d{2}-\d{2})\//;

/** The partition in a path, or null. */
function placeOf(path) {
  const [, country, category, date] = PLACE.exec(path) ?? [];
  return country ? { country, category, date } : null;
}

async function uploadFiles(app, all, filter) {
  const files = all
    .filter(({ path }) => path.toLowerCase().endsWith(".json"))
    .map(({ file, path }) => ({ file, path, place: placeOf(path) }))
    .sort((a, b) => a.path.localeCompare(b.path, "en", { numeric: true }));
  if (files.length === 0) return app.announce(t("upload.none"));
  const asked = files.some(({ place }) => !place);
  const size = files.reduce((sum, { file }) => sum + file.size, 0);
  app.announce(
    await ask({
      title: files.length === 1 ? t("upload.one", files[0].file.name) : t("upload.many", files.length),
      body: [
        h("p", { class: "muted" }, bytes(size), " · ", t("upload.body")),
        asked && h("p", null, t("upload.where")),
      ],
      fields: asked ? [h("div", { class: "filters" }, placeFields(filter))] : [],
      confirm: t("upload"),
      act: async (values, report, signal) => send(await placed(files, values, signal), false, report, signal),
      done: (sum) => (sum.failed.length || sum.taken.length ? outcome(sum) : summary(sum)),
      next: ({ taken }) =>
        taken.length > 0 && {
          confirm: t("upload.replace", taken.length),
          act: (_, report, signal) => send(taken, true, report, signal),
        },
    }),
  );
  app.refresh();
}

/** The fields of a partition, all required. */
const placeFields = (filter) =>
  partitionFields().map(({ name, control }) => {
    const field = control(filter[name] ?? (name === "date" ? new Date().toISOString().slice(0, 10) : ""));
    const props = { ...field.props, id: `upload-${name}`, required: true, autofocus: name === "country" };
    return h("div", { class: "field" }, h("label", { for: props.id }, t(`filter.${name}`)), { ...field, props });
  });

/** The files, each with the partition and the number under which it is stored. */
async function placed(files, values, signal) {
  const place = { ...values, country: countryCode(values.country ?? "") };
  const stored = new Stored(signal);
  const all = [];
  for (const { file, path, place: own } of files) {
    const partition = own ?? place;
    all.push({ file, partition, chunk: await stored.chunkFor(partition, path) });
  }
  return all;
}

/**
 * Uploads one file after another; replace overwrites stored ones. A failure does not stop the other uploads,
 * unless none could succeed. taken are the files whose number belongs to another file that may be replaced.
 */
async function send(files, replace, report, signal) {
  const sum = { done: 0, there: 0, taken: [], failed: [] };
  const stored = new Stored(signal);
  const query = replace ? "?orchestrate=true&replace=true" : "?orchestrate=true";
  const total = files.reduce((size, { file }) => size + file.size, 0) || 1;
  let before = 0; // bytes of the previous files
  for (const [i, one] of files.entries()) {
    const { file, partition, chunk } = one;
    const show = (sent) =>
      report(t("upload.progress", file.name, i + 1, files.length), Math.min((before + sent) / total, 1));
    try {
      show(0);
      await upload(`${datasetOf(partition)}/${chunk}${query}`, file, show, signal);
      sum.done++;
    } catch (error) {
      if (signal.aborted) return sum;
      if ([401, 403].includes(error.status) || error.code === "unreachable") throw error;
      if (error.code === "already_exists" && error.data?.same !== false) sum.there++;
      else if (CONFLICTS.has(error.code) && (await stored.replaceable(one))) sum.taken.push(one);
      else sum.failed.push({ name: file.name, message: failureText(error) });
    }
    before += file.size;
  }
  return sum;
}

/** The API's error codes for a number that another file has. */
const CONFLICTS = new Set(["already_exists", "conflict"]);

/** The raw files that are stored, each partition listed once. */
class Stored {
  #signal;
  #lists = new Map(); // by route
  #last = new Map(); // the last number, by route

  constructor(signal) {
    this.#signal = signal;
  }

  /** The number of a file: from a name like raw_0001.json, else the next number of its partition. */
  async chunkFor(partition, path) {
    const own = /raw_(\d{4,12})\.json$/i.exec(path)?.[1];
    if (own) return `raw_${own}`;
    const route = datasetOf(partition);
    const last = (this.#last.get(route) ?? (await this.#highest(route))) + 1;
    this.#last.set(route, last);
    return `raw_${String(last).padStart(4, "0")}`;
  }

  /** Whether a raw file may be replaced: false once it was processed, since contracts depend on it. */
  async replaceable({ partition, chunk }) {
    const files = await this.#list(datasetOf(partition));
    return files.some((one) => one.chunk === chunk && one.state !== "processed");
  }

  async #highest(route) {
    const numbers = (await this.#list(route)).map(({ chunk }) => Number(chunk.replace("raw_", "")));
    return numbers.reduce((a, b) => Math.max(a, b), 0);
  }

  async #list(route) {
    if (this.#lists.has(route)) return this.#lists.get(route);
    const files = [];
    for (let cursor = ""; cursor !== null;) {
      const page = await get(route, { cursor }, this.#signal);
      files.push(...page.files);
      cursor = page.cursor;
    }
    this.#lists.set(route, files);
    return files;
  }
}

const summary = (sum) =>
  [t("upload.done", sum.done), sum.there && t("upload.there", sum.there)].filter(Boolean).join(" ");

const outcome = (sum) => [
  sum.done + sum.there > 0 && h("p", null, summary(sum)),
  sum.taken.length > 0 && [
    h("p", null, t("upload.taken", sum.taken.length)),
    listed(sum.taken, ({ file, partition, chunk }) => [
      code(file.name),
      " ",
      muted(partitionText(partition), " / ", chunk),
    ]),
    h("p", { class: "muted" }, t("upload.replace.body")),
  ],
  sum.failed.length > 0 && [
    h("p", null, t("upload.failed", sum.failed.length)),
    listed(sum.failed, ({ name, message }) => [code(name), " ", foreign(message)]),
  ],
];

const listed = (rows, words) =>
  h(
    "ul",
    null,
    rows.slice(0, 20).map((row) => h("li", null, words(row))),
    rows.length > 20 && h("li", null, t("document.more", rows.length - 20)),
  );
