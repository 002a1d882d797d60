// Addresses within the dashboard: #/view/id?query, so that every view can be linked and the browser's
// back button works.

/** The view, id and query of a location's hash. What cannot be decoded is a view that does not exist. */
export function parse(hash) {
  const [path, search = ""] = hash.replace(/^#\/?/, "").split(/\?(.*)/s);
  const [view, id, ...more] = path.split("/");
  try {
    return {
      view: more.length ? "?" : view || "overview",
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

/** The host that a text names: a domain, a host, or a URL of it, as they are pasted. */
export function hostOf(text) {
  const trimmed = text.trim();
  const url = /^[a-z][a-z0-9+.-]*:\/\//i.test(trimmed) ? trimmed : `https://${trimmed}`;
  return URL.canParse(url) ? new URL(url).hostname.replace(/\.$/, "") : trimmed.toLowerCase();
}

/** A host and those above it, down to two labels: one of them is its registrable domain. */
export function domainsOf(host) {
  const labels = host.split(".");
  return labels.slice(0, Math.max(labels.length - 1, 1)).map((_, i) => labels.slice(i).join("."));
}
