// The peer: the Worker that one would write from the workflow documents' pseudo-code, and nothing
// more. One HEAD and one send per file, the whole file in memory, one send per domain, domains one after
// another. Only benchmarks use it.
const partitionOf = (key) => {
  const [, country, category, date] =
    /^raw\/country=([^/]+)\/category=([^/]+)\/date=([^/]+)\/raw_\d{4,}\.json$/.exec(key) ?? [];
  return country && { country, category, date };
};

async function orchestrate(request, env) {
  const { country = "", category = "", date = "", force } = await request.json();
  const prefix = `raw/country=${country.toLowerCase()}/category=${category}/date=${date}/`;
  const files = [];
  let cursor;
  do {
    const page = await env.DATASETS_BUCKET.list({ prefix, limit: 1000, cursor });
    files.push(...page.objects.filter((o) => partitionOf(o.key)));
    cursor = page.truncated ? page.cursor : undefined;
  } while (cursor);

  let sent = 0;
  let skipped = 0;
  for (const file of files) {
    if (!force && (await env.DATASETS_BUCKET.head(`${file.key}.success`))) {
      skipped++;
      continue;
    }
    await env.SEED_QUEUE.send({ file_path: file.key, partition_info: partitionOf(file.key) });
    sent++;
  }
  return Response.json({ success: true, data: { files_found: files.length, sent, skipped } });
}

function groupByDomain(records) {
  const groups = new Map();
  for (const record of records) {
    const domain = record.registrable_domain;
    if (!groups.has(domain)) groups.set(domain, []);
    groups.get(domain).push(record);
  }
  return groups;
}

async function processFile({ file_path, partition_info }, env) {
  const successPath = `${file_path}.success`;
  if (await env.DATASETS_BUCKET.head(successPath)) return;
  const rawObject = await env.DATASETS_BUCKET.get(file_path);
  if (!rawObject) throw new Error(`File not found: ${file_path}`);
  const rawData = await rawObject.json();
  for (const [domain, urls] of groupByDomain(rawData)) {
    await env.DOMAIN_QUEUE.send({
      domain,
      domain_id: urls[0].domain_id,
      urls: urls.map((record) => ({ url: record.url, title: record.title, path: new URL(record.url).pathname })),
      partition_info,
    });
  }
  await env.DATASETS_BUCKET.put(successPath, new Uint8Array(0));
}

const headers = { "User-Agent": "NewsforkBot/1.0 (+https://newsfork.com/bot)" };

async function fetchRobotsTxt(domain, env) {
  try {
    const response = await env.EGRESS.fetch(`https://${domain}/robots.txt`, {
      headers,
      signal: AbortSignal.timeout(10000),
    });
    if (!response.ok) return { exists: false, error: `HTTP ${response.status}` };
    const content = await response.text();
    return {
      exists: true,
      size: content.length,
      last_modified: response.headers.get("last-modified"),
      allows_crawling: !content.includes("Disallow: /"),
      sitemap_urls: [...content.matchAll(/^sitemap:\s*(\S+)/gim)].map((match) => match[1]),
      content,
    };
  } catch (error) {
    return { exists: false, error: error.message };
  }
}

async function fetchSitemap(domain, env) {
  try {
    const response = await env.EGRESS.fetch(`https://${domain}/sitemap.xml`, {
      headers,
      signal: AbortSignal.timeout(15000),
    });
    if (!response.ok) return { exists: false, error: `HTTP ${response.status}` };
    const content = await response.text();
    return {
      exists: true,
      size: content.length,
      last_modified: response.headers.get("last-modified"),
      url_count: (content.match(/<url>/g) || []).length,
      last_updated: new Date().toISOString(),
      content,
    };
  } catch (error) {
    return { exists: false, error: error.message };
  }
}

async function collectServerInfo(domain, env) {
  const started = Date.now();
  const response = await env.EGRESS.fetch(`https://${domain}/`, { headers, signal: AbortSignal.timeout(5000) });
  await response.text();
  return { server: response.headers.get("server"), supports_https: true, response_time_avg_ms: Date.now() - started };
}

async function collect({ domain, domain_id, urls, partition_info }, env) {
  const { country, category, date } = partition_info;
  const dir = `prod/country=${country}/category=${category}/date=${date}/${domain}`;
  const successPath = `${dir}/domain_metadata.json.success`;
  if (await env.DATASETS_BUCKET.head(successPath)) return;
  const started = Date.now();
  const { content: robots, ...robots_txt } = await fetchRobotsTxt(domain, env);
  const { content: sitemap, ...sitemap_xml } = await fetchSitemap(domain, env);
  const server_info = await collectServerInfo(domain, env);
  const metadata = {
    domain,
    domain_id,
    registrable_domain: domain,
    urls,
    technical_metadata: { robots_txt, sitemap_xml, server_info },
    processing_metadata: {
      processed_at: new Date().toISOString(),
      processing_duration_ms: Date.now() - started,
      total_urls: urls.length,
      partition_info,
    },
  };
  await env.DATASETS_BUCKET.put(`${dir}/domain_metadata.json`, JSON.stringify(metadata, null, 2));
  if (robots_txt.exists) await env.DATASETS_BUCKET.put(`${dir}/robots.txt`, robots);
  if (sitemap_xml.exists) await env.DATASETS_BUCKET.put(`${dir}/sitemap.xml`, sitemap);
  await env.DATASETS_BUCKET.put(successPath, new Uint8Array(0));
}

export default {
  fetch(request, env) {
    const { pathname } = new URL(request.url);
    if (pathname === "/health") return Response.json({ success: true, data: { status: "ok" } });
    return orchestrate(request, env);
  },
  async queue(batch, env) {
    const handle = batch.queue.includes("seed") ? processFile : collect;
    for (const message of batch.messages) await handle(message.body, env);
  },
};
