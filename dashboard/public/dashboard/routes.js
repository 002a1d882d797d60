// Addresses within the dashboard: #/view/id?query, so that every view can be linked and the browser's
// back button works.

/** The views of one item, by the views of all: many would type #/domains/example.com. */
const single = { domains: "domain", "dead-letters": "dead-letter" };

/** The view, id and query of a location's hash. A hash that cannot be decoded is an unknown view. */
export function parse(hash) {
  const [path, search = ""] = hash.replace(/^#\/?/, "").split(/\?(.*)/s);
  const [view, id, ...more] = path.replace(/\/$/, "").split("/");
  try {
    return {
      view: more.length ? "?" : id !== undefined && Object.hasOwn(single, view) ? single[view] : view || "overview",
      id: id === undefined ? null : decodeURIComponent(id),
      query: Object.fromEntries(new URLSearchParams(search)),
    };
  } catch {
    return { view: "?", id: null, query: {} };
  }
}

/** The hash of a view; empty parts of the query are left out. */
export function to(view, query = {}, id = null) {
  const search = new URLSearchParams(
    Object.entries(query).filter(([, value]) => value !== "" && value !== null && value !== undefined),
  ).toString();
  return `#/${view}${id === null ? "" : `/${encodeURIComponent(id)}`}${search ? `?${search}` : ""}`;
}

/** The given fields of an object. */
export const pick = (from, ...names) =>
  Object.fromEntries(names.filter((name) => from?.[name]).map((name) => [name, from[name]]));

export const partitionOf = (from) => pick(from, "country", "category", "date");

/** Parses a pasted URL, which may lack the scheme. */
export function urlOf(text) {
  const trimmed = text.trim();
  return trimmed === "" || /^[a-z][a-z0-9+.-]*:\/\//i.test(trimmed) ? trimmed : `https://${trimmed}`;
}

/** The host in a pasted domain, host or URL. */
export function hostOf(text) {
  const trimmed = text.trim();
  const url = urlOf(text);
  const host = URL.canParse(url) ? new URL(url).hostname.replace(/\.$/, "") : "%";
  return host.includes("%") ? trimmed.toLowerCase() : host; // hosts contain no escaped characters
}
