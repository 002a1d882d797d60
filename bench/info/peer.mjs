// The plain-JavaScript peer of info/api: the same pages of the same D1 and KV, with only the code needed
// to answer them: no validators, no CORS, no check of parameters.
const columns =
  "id, title, url, snippet, source, source_name, published_at, thumbnail_url, category, source_icon_url, video_url, keywords, ai_tag";

async function cached(env, category, limit, cursor) {
  const text = await env.INFO_CACHE.get(`news:feed:${category}`);
  if (!text) return null;
  const [first, ...lines] = text.split("\n");
  const { count, refreshed_at } = JSON.parse(first);
  const page = [];
  for (const line of lines) {
    const [place, , , article] = line.split(" ", 3).concat(line.slice(line.indexOf("{")));
    if (cursor && !behind(place, cursor)) continue;
    page.push({ place, article });
    if (page.length > limit) break;
  }
  if (page.length <= limit) return null;
  page.pop();
  const meta = {
    total_cached: count,
    cache_expires_in: Math.ceil((refreshed_at + 3_600_000 - Date.now()) / 1000),
    source: "kv",
    is_stale: false,
  };
  const body = `{"articles":[${page.map((p) => p.article).join(",")}],"next_cursor":"${page.at(-1).place}","prev_cursor":"${page[0].place}","has_more":true,"meta":${JSON.stringify(meta)}}`;
  return new Response(body, { headers: { "content-type": "application/json" } });
}

const parts = (cursor) => [Number(cursor.slice(0, cursor.indexOf("_"))), cursor.slice(cursor.indexOf("_") + 1)];

function behind(place, cursor) {
  const [at, id] = parts(place);
  const [from, last] = parts(cursor);
  return at < from || (at === from && id < last);
}

async function stored(env, category, limit, cursor) {
  const where = ["is_deleted = 0"];
  const parameters = [];
  if (category !== "all") {
    where.push("category = ?");
    parameters.push(category);
  }
  if (cursor) {
    where.push("(published_at, id) < (?, ?)");
    parameters.push(...parts(cursor));
  }
  const { results } = await env.INFO_DB.prepare(
    `SELECT ${columns} FROM news_articles WHERE ${where.join(" AND ")} ORDER BY published_at DESC, id DESC LIMIT ?`,
  )
    .bind(...parameters, limit + 1)
    .all();
  const more = results.length > limit;
  if (more) results.pop();
  const place = (a) => a && `${a.published_at}_${a.id}`;
  const next = more ? place(results.at(-1)) : null;
  const prev = place(results[0]) ?? null;
  const articles = results.map((a) => ({
    ...a,
    published_at: new Date(a.published_at).toISOString(),
    keywords: a.keywords && JSON.parse(a.keywords),
  }));
  const meta = { total_cached: 0, cache_expires_in: 0, source: "d1", is_stale: false };
  return Response.json({ articles, next_cursor: next, prev_cursor: prev, has_more: more, meta });
}

export default {
  async fetch(request, env) {
    const { searchParams } = new URL(request.url);
    const category = searchParams.get("category") ?? "all";
    const limit = Number(searchParams.get("limit") ?? 10);
    const cursor = searchParams.get("cursor");
    return (await cached(env, category, limit, cursor)) ?? (await stored(env, category, limit, cursor));
  },
};
