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
