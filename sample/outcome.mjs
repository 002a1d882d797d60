// What expected.json says of a domain, read from its domain_metadata.json.

/** The outcome of a document, in the form of expected.json. */
export function outcome(document) {
  const { robots, sitemap, technical_metadata: technical } = document;
  return {
    domain_id: document.domain_id,
    total_urls: document.processing_metadata.total_urls,
    reachable: document.reachable,
    effective_host: technical.server_info.effective_host,
    supports_https: technical.server_info.supports_https,
    robots: {
      status_code: robots.status_code,
      exists: robots.exists,
      allows_crawling: technical.robots_txt.allows_crawling,
      error_type: robots.error_type,
    },
    sitemap: {
      status_code: sitemap.status_code,
      exists: sitemap.exists,
      url: sitemap.url,
      kind: technical.sitemap_xml.kind,
      url_count: sitemap.url_count,
      error_type: sitemap.error_type,
    },
    feeds: technical.feeds.map((f) => f.url).sort(),
    top_type: document.intelligent_discovery.discovered_urls[0]?.classification.primary_type ?? null,
    entry_points: document.fetch_contract.entry_points
      .filter((e) => e.method !== "html")
      .map((e) => `${e.method} ${e.url}`),
  };
}

/** What no document may say, whatever its domain: a line each. */
export function contradictions(document) {
  const { fetch_contract: how, intelligent_discovery: found } = document;
  const lines = [];
  if (document.reachable && how.allowed && !document.excluded && how.entry_points.length === 0)
    lines.push("it has no entry point");
  for (const u of [...document.urls, ...found.discovered_urls, ...how.entry_points]) {
    if (u.allowed === undefined || u.raw_url === undefined) lines.push(`${u.url} has no allowed or raw_url`);
    if (new URL(u.url).href !== u.url || u.url.includes("#")) lines.push(`${u.url} is not canonical`);
  }
  const patterns = found.crawl_strategy.allowed_patterns;
  for (const u of found.discovered_urls) {
    const { pathname, search } = new URL(u.url);
    const good = ["immediate_crawl", "scheduled_crawl"].includes(u.recommended_action);
    if (good && patterns.length && !patterns.some((p) => hasPattern(p, pathname, search)))
      lines.push(`${u.url} is recommended, and outside of ${patterns.join(" ")}`);
    if (u.discovery_method === "feed" && u.classification.primary_type === "unknown")
      lines.push(`${u.url} is of a feed and unknown`);
  }
  return lines;
}

/** Whether a URL has a pattern of url_patterns, as docs/contract.md explains them. */
function hasPattern(pattern, pathname, search) {
  const text = pathname.replace(/(.)\/$/, "$1") + (pattern.includes("?") ? search : "");
  const quoted = pattern.replace(/[.*+?^$()|[\]\\]/g, "\\$&").replace(/\{[a-z]+\}/g, "[^/?&]*");
  return new RegExp(`^${quoted}$`).test(text);
}

/** What differs from the expectation, a line each; what the expectation leaves out may be anything. */
export function differences(expected, actual, path = "") {
  return Object.entries(expected).flatMap(([key, want]) => {
    const got = actual[key];
    if (key === "why") return [];
    if (want && typeof want === "object" && !Array.isArray(want)) return differences(want, got, `${path}${key}.`);
    const [a, b] = [got, want].map((v) => JSON.stringify(v));
    return a === b ? [] : [`${path}${key} is ${a}, expected ${b}`];
  });
}
