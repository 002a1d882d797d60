// domain_metadata.json of a domain, with every part that the dashboard shows.

const types = [
  ["/newsroom/press-releases/2026", "press_release", "news", 0.92, 0.84, 0.81, "immediate_crawl", "feed", "daily"],
  ["/newsroom/speeches", "press_release", "event", 0.74, 0.71, 0.72, "scheduled_crawl", "sitemap", "weekly"],
  ["/policies/employment", "policy", "guide", 0.81, 0.52, 0.61, "scheduled_crawl", "sitemap", "quarterly"],
  ["/statistics/labour-market", "statistics", "report", 0.77, 0.48, 0.58, "periodic_check", "research", "monthly"],
  ["/services/apply", "service", "form", 0.69, 0.3, 0.41, "periodic_check", "link", "irregular"],
  ["/search", "search", null, 0.9, 0.1, 0.24, "low_priority", "generated", "static"],
];

/** A contract that was collected at a moment in milliseconds; more raw URLs than fit a page of them. */
export function contract(domain, partition_info, collected) {
  const at = (minutes) => new Date(collected + minutes * 60_000).toISOString().replace(/\.\d+/, "");
  const base = `https://www.${domain}`;
  const none = { error: null, error_type: null };
  const sitemap_urls = [`${base}/sitemap.xml`];
  const content_signals = { search: "yes", "ai-train": "no" };
  const raw = `raw/country=${partition_info.country}/category=${partition_info.category}/date=${partition_info.date}/raw_0001.json`;
  return {
    schema_version: "1.0",
    revision: 2,
    domain,
    domain_id: `gov:${partition_info.country}:${domain}`,
    registrable_domain: domain,
    authority: "gov",
    country: partition_info.country.toUpperCase(),
    category: partition_info.category,
    collected_at: at(0),
    valid_until: at(720),
    reachable: true,
    partial: false,
    urls: Array.from({ length: 60 }, (_, i) => ({
      url: `${base}/newsroom/item-${String(i + 1).padStart(2, "0")}`,
      title: `Announcement no. ${i + 1}`,
      path: `/newsroom/item-${i + 1}`,
      discovery_method: "google_search",
      language: "en",
      type: i % 3 ? "press_release" : "announcement",
      priority_score: 0.78 - i / 100,
      recommended_action: i < 20 ? "scheduled_crawl" : "periodic_check",
      allowed: i % 7 !== 6,
    })),
    urls_files: [],
    robots: { status_code: 200, content_length: 1024, exists: true, fetched_at: at(-1), sitemap_urls, ...none },
    sitemap: {
      status_code: 200,
      content_length: 20480,
      exists: true,
      fetched_at: at(-1),
      url_count: 156,
      url: sitemap_urls[0],
      ...none,
    },
    source: { raw_file_path: raw, raw_file_paths: [raw] },
    technical_metadata: {
      robots_txt: {
        exists: true,
        size: 1024,
        last_modified: at(-20_000),
        etag: '"5f3a"',
        sha256: "9b1c0d0e".repeat(8),
        allows_crawling: true,
        crawl_delay_seconds: 2,
        content_signals,
        sitemap_urls,
        ...none,
      },
      sitemap_xml: {
        exists: true,
        size: 20480,
        last_modified: at(-9_000),
        etag: null,
        sha256: "1f2e3d4c".repeat(8),
        kind: "index",
        url_count: 156,
        last_updated: at(-900),
        truncated: false,
        documents: [
          {
            url: sitemap_urls[0],
            found_by: "robots",
            kind: "index",
            status_code: 200,
            url_count: 0,
            news_count: 0,
            last_updated: at(-900),
            error: null,
          },
          {
            url: `${base}/news-sitemap.xml`,
            found_by: "index",
            kind: "urlset",
            status_code: 200,
            url_count: 40,
            news_count: 40,
            last_updated: at(-900),
            error: null,
          },
          {
            url: `${base}/archive-sitemap.xml`,
            found_by: "index",
            kind: null,
            status_code: 503,
            url_count: 0,
            news_count: 0,
            last_updated: null,
            error: "HTTP status 503",
          },
        ],
        ...none,
      },
      feeds: [
        {
          url: `${base}/rss/press-releases.xml`,
          kind: "rss",
          title: "Press Releases",
          found_by: "link",
          item_count: 20,
          last_updated: at(-300),
        },
      ],
      server_info: {
        server: "nginx/1.18.0",
        content_encoding: "gzip",
        supports_https: true,
        response_time_avg_ms: 245,
        effective_host: `www.${domain}`,
        requests: 6,
      },
      reused_from: null,
    },
    intelligent_discovery: {
      discovered_urls: types.map(
        ([
          path,
          primary_type,
          second,
          confidence,
          overall_score,
          priority_score,
          recommended_action,
          discovery_method,
          update_frequency,
        ]) => ({
          url: base + path,
          classification: {
            primary_type,
            secondary_types: second ? [second] : [],
            confidence,
            evidence: {
              url_patterns: [path],
              keyword_matches: ["press"],
              structural_hints: ["depth_3"],
              domain_context: ["government"],
            },
          },
          news_value: {
            news_relevance: 0.8,
            timeliness: 0.8,
            authority: 1,
            accessibility: 0.8,
            update_frequency,
            overall_score,
          },
          discovery_method,
          priority_score,
          recommended_action,
        }),
      ),
      url_patterns: [
        {
          pattern: "/newsroom/press-releases/{year}/{slug}",
          content_type: "press_release",
          confidence: 0.9,
          examples: [`${base}/newsroom/press-releases/2026/one`],
          observed: {
            given: 61,
            fetched: 58,
            gone: 2,
            copied: 1,
            closed: 0,
            dated: 58,
            median_delay_minutes: 42,
            looks: 120,
            changes: 9,
            change_hours: 81.4,
          },
        },
        { pattern: "/policies/{slug}", content_type: "policy", confidence: 0.5, examples: [], observed: null },
      ],
      content_categories: {
        press_release: { count: 84, examples: [], avg_priority: 0.75 },
        policy: { count: 31, examples: [], avg_priority: 0.52 },
        statistics: { count: 18, examples: [], avg_priority: 0.44 },
      },
      crawl_strategy: {
        max_depth: 2,
        max_urls_per_category: 20,
        allowed_patterns: ["/newsroom/press-releases/{year}/{slug}"],
        respect_robots: true,
      },
      discovery_stats: {
        total_urls_analyzed: 156,
        high_priority_urls: 23,
        medium_priority_urls: 45,
        low_priority_urls: 88,
        excluded_urls: { trap: 2, asset: 4, robots: 3, external: 0 },
        trap_reasons: { too_long: 0, too_deep: 0, repeated_segment: 1, session_id: 1, endless_calendar: 0 },
        processing_time_ms: 900,
      },
      errors: [{ type: "network", url: `${base}/archive-sitemap.xml`, message: "HTTP status 503", retry_count: 1 }],
    },
    fetch_contract: {
      user_agent: "NewsforkBot/1.0 (+https://newsfork.com/bot)",
      allowed: true,
      crawl_delay_seconds: 2,
      max_concurrency: 1,
      robots_expires_at: at(1440),
      content_signals,
      entry_points: [
        {
          method: "rss",
          url: `${base}/rss/press-releases.xml`,
          content_type: "press_release",
          interval_minutes: 720,
          confidence: 0.9,
        },
        {
          method: "news_sitemap",
          url: `${base}/news-sitemap.xml`,
          content_type: "news",
          interval_minutes: 720,
          confidence: 0.9,
        },
        { method: "sitemap", url: sitemap_urls[0], content_type: null, interval_minutes: 2880, confidence: 0.7 },
        {
          method: "html",
          url: `${base}/newsroom/press-releases`,
          content_type: "press_release",
          interval_minutes: 720,
          confidence: 0.55,
        },
      ],
    },
    usage: {
      directives: [{ name: "noai", source: "header" }],
      tdm: [{ location: "/", reserved: true, policy: null, source: "tdmrep.json" }],
      tdmrep_checked_at: at(0),
    },
    processing_metadata: {
      processed_at: at(0),
      processing_duration_ms: 1250,
      politeness_wait_ms: 10_000,
      total_urls: 60,
      partition_info,
      version: "1.0.0",
    },
  };
}

/** The contract of a domain of which nothing answered. */
export function unreachable(domain, partition_info, collected, error, error_type) {
  const doc = contract(domain, partition_info, collected);
  const failure = { error, error_type };
  Object.assign(doc, { reachable: false, partial: true });
  Object.assign(doc.robots, { exists: false, status_code: 0, content_length: 0, sitemap_urls: [], ...failure });
  Object.assign(doc.sitemap, {
    exists: false,
    status_code: 404,
    content_length: 0,
    url_count: 0,
    url: null,
    ...failure,
  });
  const { technical_metadata: technical, fetch_contract: plan } = doc;
  Object.assign(technical.robots_txt, {
    exists: false,
    size: 0,
    last_modified: null,
    etag: null,
    sha256: null,
    allows_crawling: false,
    crawl_delay_seconds: null,
    content_signals: {},
    sitemap_urls: [],
    ...failure,
  });
  Object.assign(technical.sitemap_xml, {
    exists: false,
    size: 0,
    last_modified: null,
    sha256: null,
    kind: null,
    url_count: 0,
    last_updated: null,
    documents: [],
    ...failure,
  });
  technical.feeds = [];
  Object.assign(technical.server_info, {
    server: null,
    content_encoding: null,
    supports_https: false,
    response_time_avg_ms: null,
    effective_host: null,
  });
  Object.assign(plan, { allowed: false, entry_points: [], content_signals: {} });
  doc.intelligent_discovery.discovered_urls = [];
  return doc;
}
