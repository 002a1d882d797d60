// The dashboard's files with the headers of _headers, and an API in front of a world.
import { readFileSync } from "node:fs";
import { createServer } from "node:http";
import { extname, join, normalize } from "node:path";
import { fileURLToPath } from "node:url";

const files = fileURLToPath(new URL("../../dashboard/public", import.meta.url));
const types = {
  ".html": "text/html; charset=utf-8",
  ".js": "text/javascript; charset=utf-8",
  ".css": "text/css; charset=utf-8",
  ".svg": "image/svg+xml",
};

/** The headers that _headers gives everything under /dashboard. */
export function staticHeaders() {
  const [path, ...lines] = readFileSync(join(files, "_headers"), "utf8").trim().split("\n");
  if (path !== "/dashboard*") throw new Error(`_headers begins with ${path}`);
  return Object.fromEntries(
    lines.map((line) =>
      line
        .trim()
        .split(/:\s(.*)/s)
        .slice(0, 2),
    ),
  );
}

/**
 * Starts a server. tokens are {token: name}, and reader is one that may only read; alter(data) may
 * change what is answered; limit is how many dead letters one call resolves, rows how many entries a
 * page has.
 */
export async function startFake(
  world,
  { tokens = { secret: "API_TOKEN" }, reader = "reader", alter = (data) => data, limit = 500, rows = 50 } = {},
) {
  const fake = { world, calls: [], failing: null, alter };
  fake.demote = (token) => {
    tokens = Object.fromEntries(Object.entries(tokens).filter(([name]) => name !== token));
    reader = token;
  };
  const server = createServer(async (request, response) => {
    const url = new URL(request.url, "http://fake");
    if (url.pathname.startsWith("/dashboard")) return sendFile(url.pathname, response);
    const body = await new Response(request).text();
    fake.calls.push({
      method: request.method,
      path: url.pathname,
      query: url.search,
      body: body ? JSON.parse(body) : null,
    });
    const token = (request.headers.authorization ?? "").replace("Bearer ", "");
    const [status, answer] = answerOf(fake, request, url, body ? JSON.parse(body) : {}, token, {
      tokens,
      reader,
      limit,
      rows,
    });
    response.writeHead(status, {
      "content-type": "application/json",
      "x-request-id": "r-1",
      ...(tokens[token] && { "x-access": "full" }),
      ...(token === reader && request.method === "GET" && { "x-access": "read" }),
    });
    response.end(typeof answer === "string" ? answer : JSON.stringify(answer));
  });
  await new Promise((listening) => server.listen(0, "127.0.0.1", listening));
  fake.url = `http://127.0.0.1:${server.address().port}`;
  fake.close = () => {
    server.closeAllConnections();
    return new Promise((closed) => server.close(closed));
  };
  return fake;
}

function sendFile(path, response) {
  if (path === "/dashboard") return response.writeHead(307, { location: "/dashboard/" }).end();
  const name = normalize(path.endsWith("/") ? `${path}index.html` : path);
  try {
    const content = readFileSync(join(files, name));
    response.writeHead(200, { "content-type": types[extname(name)], ...staticHeaders() });
    response.end(content);
  } catch {
    response.writeHead(404, staticHeaders()).end();
  }
}

function queued(files) {
  const sent = files.filter((file) => file.state === "pending").length;
  const finished = files.filter((file) => file.state === "processed").length;
  const skipped = files.length - sent;
  const broken = skipped - finished;
  return { files_found: files.length, sent, skipped, ...(finished && { finished }), ...(broken && { broken }) };
}

function answerOf(fake, request, url, body, token, { tokens, reader, limit, rows }) {
  const { world } = fake;
  const { method } = request;
  const ok = (data, status = 200) => [status, { success: true, data: fake.alter(data) }];
  const fail = (status, code, message, field, data) => [
    status,
    { success: false, error: { code, message, ...(field && { field }) }, ...(data && { data }) },
  ];
  const path = url.pathname;
  if (path === "/")
    return ok({ name: "newsfork-seed-engine", version: "1.0.0", environment: "production", endpoints: ["GET /"] });
  if (fake.failing) return fake.failing;
  const by = tokens[token];
  if (!by && token !== reader) return fail(401, "unauthorized", 'send the API token as "Authorization: Bearer …"');
  if (method !== "GET" && request.headers["content-type"] !== "application/json")
    return fail(415, "unsupported_media_type", "send application/json, as an engine without a token wants it");
  if (!by && method !== "GET") return fail(403, "forbidden", "this token may only read; send the API token");
  const last = decodeURIComponent(path.split("/").at(-1));
  const missing = fail(404, "not_found", "there is nothing under this path");
  const resolved = (state) => ok(world.resolve(state, body, by, limit));
  const routes = {
    "GET /api/v1/seeds/status": () => ok(world.status(url.searchParams)),
    "GET /api/v1/seeds/domains": () => ok(world.listDomains(url.searchParams, rows)),
    "GET /api/v1/dlq": () => ok(world.listLetters(url.searchParams, rows)),
    "POST /api/v1/dlq/replay": () => resolved("replayed"),
    "POST /api/v1/dlq/discard": () => resolved("discarded"),
    "GET /api/v1/exclusions": () =>
      ok({
        exclusions: world.exclusions.filter(
          (one) => !url.searchParams.get("kind") || one.kind === url.searchParams.get("kind"),
        ),
        cursor: null,
      }),
    "GET /api/v1/pipeline": () => ok(world.pipeline),
    "POST /api/v1/alarms/test": () => ok({ id: "PJ2QZ4XK7W", signed: false }),
    "POST /api/v1/pipeline/pause": () =>
      ok((world.pipeline = { paused: true, since: "2026-01-28T10:00:00Z", by, reason: body.reason ?? null })),
    "POST /api/v1/pipeline/resume": () =>
      ok((world.pipeline = { paused: false, since: "2026-01-28T10:05:00Z", by, reason: body.reason ?? null })),
    "POST /api/v1/seeds/orchestrate": () => ok(queued(world.files)),
    "GET /api/v1/frontier/stats": () => ok(world.frontier.stats()),
    "GET /api/v1/frontier/hosts": () => ok(world.frontier.list(url.searchParams, rows)),
    "GET /api/v1/frontier/url": () => {
      const address = url.searchParams.get("url");
      if (!URL.canParse(address)) return fail(400, "validation_error", "is not an http or https URL", "url");
      const { frozen } = world.frontier;
      return frozen
        ? fail(503, "storage_error", `${frozen} did not answer; try again`)
        : ok(world.frontier.url(address));
    },
  };
  if (path.startsWith("/api/v1/datasets/")) {
    const [country, category, date, chunk] = path.split("/").slice(4).map(decodeURIComponent);
    if (method === "GET") return ok({ files: world.chunks({ country, category, date }), cursor: null });
    const place = { country, category, date };
    if (world.upload(place, chunk)) return ok({ key: chunk, size: 1, queued: true }, 201);
    const [{ state }] = world.chunks(place).filter((one) => one.chunk === chunk);
    if (url.searchParams.get("replace") !== "true")
      return fail(409, "already_exists", `${chunk} exists; upload under the next number`, undefined, {
        same: !world.differing.has(chunk),
      });
    return state === "processed"
      ? fail(409, "already_processed", `${chunk} was processed; upload under the next number instead`)
      : ok({ key: chunk, size: 1, queued: true, replaced: true });
  }
  if (routes[`${method} ${path}`]) return routes[`${method} ${path}`]();
  if (method === "POST" && path.startsWith("/api/v1/seeds/domains/")) {
    const queued = world.collect(decodeURIComponent(path.split("/").at(-2)), body);
    return queued ? ok(queued, 202) : missing;
  }
  if (path.startsWith("/api/v1/seeds/domains/")) {
    const domain = last.toLowerCase().split(".").slice(-2).join("."); // of a host too
    return /^[a-z0-9-]+\.[a-z]+$/.test(domain)
      ? orMissing(world.domain(domain, url.searchParams))
      : fail(400, "validation_error", `"${last}" is not a registrable domain`, "domain");
  }
  if (method === "GET" && path.startsWith("/api/v1/frontier/hosts/"))
    return last.includes(".")
      ? orMissing(world.frontier.detail(last))
      : fail(400, "validation_error", `"${last}" is not a host`, "host");
  if (method === "POST" && path.startsWith("/api/v1/frontier/hosts/"))
    return orMissing(world.frontier.change(last, body));
  if (path.startsWith("/api/v1/dlq/")) return orMissing(world.letter(last));
  if (path.startsWith("/api/v1/exclusions/")) {
    const kind = path.split("/").at(-2);
    const at = world.exclusions.findIndex((one) => one.kind === kind && one.value === last);
    if (method === "PUT" && kind === "domain" && !last.includes("."))
      return fail(400, "validation_error", "is not a registrable domain; send one such as example.com", "value");
    if (method === "PUT") {
      world.exclusions.push({
        kind,
        value: last,
        reason: body.reason ?? null,
        created_at: "2026-01-28T10:00:00Z",
        created_by: by,
      });
      return ok(world.exclusions.at(-1), 201);
    }
    return at < 0 ? missing : ok(world.exclusions.splice(at, 1)[0]);
  }
  return missing;

  function orMissing(data) {
    return data ? ok(data) : missing;
  }
}
