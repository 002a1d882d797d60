// A Cloudflare account that is empty at first, as far as wrangler's commands in deploy/ see it: the platform's API, with its
// codes and messages. It shows what wrangler makes of them.
import { createServer } from "node:http";

const found = (result, more) => ({ status: 200, body: { success: true, errors: [], messages: [], result, ...more } });
const failed = (status, code, message) => ({
  status,
  body: { success: false, errors: [{ code, message }], messages: [], result: null },
});
const listed = (list) =>
  found(list, { result_info: { page: 1, per_page: 100, count: list.length, total_count: list.length } });
const added = (list, one) => list[list.push(one) - 1];
const removed = (list, is) => list.splice(list.findIndex(is), 1);
const noWorker = () => failed(404, 10007, "This Worker does not exist on your account.");
const noBucket = () => failed(404, 10006, "The specified bucket does not exist.");

class Account {
  buckets = new Set();
  databases = [];
  queues = [];
  namespaces = [];
  workers = new Map(); // by name: their secrets, and metadata and crons of what was deployed
  rules = null; // of the notification
  migrations = []; // of the databases, by their names

  // By method and path; a group of the path is an argument.
  routes = [
    ["GET /user/tokens/verify", () => found({ id: "t", status: "active" })],
    ["GET /user", () => found({ id: "u", email: "a@example.com" })],
    ["GET /accounts", () => listed([{ id: "0123", name: "Acme" }])],
    ["GET /memberships", () => listed([{ id: "m", account: { id: "0123", name: "Acme" } }])],
    [
      "GET /r2/buckets",
      () => found({ buckets: [...this.buckets].map((name) => ({ name, creation_date: "2026-01-28" })) }),
    ],
    ["POST /r2/buckets", ({ body }) => found(void this.buckets.add(body.name))],
    [
      "GET /r2/buckets/([^/]+)",
      ({ name }) => (this.buckets.has(name) ? found({ name, location: "APAC" }) : noBucket()),
    ],
    ["DELETE /r2/buckets/([^/]+)", ({ name }) => (this.buckets.delete(name) ? found({}) : noBucket())],
    ["GET /event_notifications/r2/([^/]+)/configuration", ({ name }) => this.#notifications(name)],
    [
      "PUT /event_notifications/r2/[^/]+/configuration/queues/(.+)",
      ({ body }) => found(void (this.rules = body.rules)),
    ],
    ["DELETE /event_notifications/r2/[^/]+/configuration/queues/(.+)", () => found(void (this.rules = null))],
    [
      "POST /d1/database",
      ({ body }) => found(added(this.databases, { uuid: `d${this.databases.length + 1}`, name: body.name })),
    ],
    ["POST /d1/database/([^/]+)/query", ({ body }) => this.#migrate(body.sql)],
    ["GET /d1/database/(.+)", ({ name }) => this.#database(name)],
    ["DELETE /d1/database/(.+)", ({ name }) => found(void removed(this.databases, ({ uuid }) => uuid === name))],
    ["GET /queues", ({ query }) => listed(this.queues.filter((q) => q.queue_name === query.get("name")))],
    ["POST /queues", ({ body }) => found(this.#queue(body.queue_name))],
    ["DELETE /queues/(.+)", ({ name }) => found(void (this.queues = this.queues.filter((q) => q.queue_id !== name)))],
    ["GET /workers/subdomain", () => found({ subdomain: "acme" })],
    ["GET /workers/scripts", () => listed([...this.workers.keys()].map((id) => ({ id })))],
    ["GET /workers/services/([^/]+)", ({ name }) => this.#service(name)],
    ["DELETE /workers/services/([^/]+)", ({ name }) => found(void this.workers.delete(name))],
    ["PUT /workers/scripts/([^/]+)", ({ name, body }) => this.#deploy(name, body)],
    ["GET /workers/scripts/([^/]+)/secrets", ({ name }) => this.#of(name, ({ secrets }) => secrets)],
    [
      "PUT /workers/scripts/([^/]+)/secrets",
      ({ name, body }) => this.#of(name, (worker) => this.#secret(worker, body)),
    ],
    [
      "GET /workers/scripts/([^/]+)/settings",
      ({ name }) => this.#of(name, ({ metadata }) => metadata ?? { bindings: [] }),
    ],
    ["PATCH /workers/scripts/([^/]+)/script-settings", ({ name, body }) => this.#of(name, () => body)],
    ["POST /workers/scripts/([^/]+)/versions", ({ name, body }) => this.#deploy(name, body)],
    ["POST /workers/scripts/([^/]+)/deployments", ({ name }) => this.#of(name, () => ({ id: "deployment" }))],
    ["GET /workers/scripts/([^/]+)/deployments", ({ name }) => this.#of(name, () => ({ deployments: [] }))],
    ["POST /workers/scripts/[^/]+/assets-upload-session", () => found({ jwt: "assets", buckets: [] })],
    [
      "PUT /workers/scripts/([^/]+)/schedules",
      ({ name, body }) => this.#of(name, (worker) => this.#crons(worker, body)),
    ],
    ["GET /workers/workers/([^/]+)", ({ name }) => this.#of(name, () => ({ name, subdomain: {} }))],
    ["PATCH /workers/workers/([^/]+)", ({ name, body }) => this.#of(name, () => ({ name, ...body }))],
    ["GET /workers/scripts/([^/]+)/subdomain", ({ name }) => this.#of(name, () => ({ enabled: true }))],
    ["POST /workers/scripts/([^/]+)/subdomain", ({ name, body }) => this.#of(name, () => body)],
    ["GET /queues/([^/]+)/consumers", ({ name }) => listed(this.#consumers(name))],
    ["POST /queues/([^/]+)/consumers", ({ name, body }) => found(added(this.#consumers(name), body))],
    ["GET /workers/durable_objects/namespaces", () => listed([])],
    ["GET /storage/kv/namespaces", ({ query }) => listed(query.get("page") > 1 ? [] : this.namespaces)],
    [
      "POST /storage/kv/namespaces",
      ({ body }) => found(added(this.namespaces, { id: `k${this.namespaces.length + 1}`, title: body.title })),
    ],
  ];

  #notifications(bucket) {
    if (!this.buckets.has(bucket)) return noBucket();
    const message = `No event notification config found for bucket '${bucket}': no configurations found for bucket.`;
    if (!this.rules) return failed(404, 11015, message);
    const rules = this.rules.map((rule) => ({ ruleId: "r", createdAt: "2026-01-28", ...rule }));
    const { queue_id: queueId, queue_name: queueName } = this.queues[0];
    return found({ bucketName: bucket, queues: [{ queueId, queueName, rules }] });
  }

  #database(name) {
    const one = this.databases.find((d) => d.name === name || d.uuid === name);
    return one ? found(one) : failed(404, 7404, `The database ${name} could not be found`);
  }

  // Answers a statement of `d1 migrations apply`: which were applied, or one more.
  #migrate(sql) {
    for (const [, name] of sql.matchAll(/INSERT INTO "d1_migrations" \(name\)\s*values \('([^']+)'\)/g))
      this.migrations.push(name);
    const results = this.migrations.map((name, i) => ({ id: i + 1, name, applied_at: "2026-01-28 00:00:00" }));
    return found([{ success: true, results: sql.startsWith("SELECT") ? results : [], meta: { duration: 1 } }]);
  }

  #queue(queue_name) {
    const counts = { producers: [], producers_total_count: 0, consumers: [], consumers_total_count: 0 };
    const queue = { queue_id: `q${this.queues.length}`, queue_name, settings: {}, created_on: "2026-01-28", ...counts };
    this.queues.push(queue);
    return queue;
  }

  /** What a Worker says, if there is one. */
  #of(name, says) {
    const worker = this.workers.get(name);
    return worker ? found(says(worker)) : noWorker();
  }

  #service(name) {
    if (!this.workers.has(name)) return failed(404, 10090, "This Worker does not exist on your account.");
    return found({ id: name, default_environment: { environment: "production", script: { id: name, tag: "t" } } });
  }

  // A secret makes a Worker without bindings, which a deployment replaces.
  #deploy(name, metadata) {
    this.workers.set(name, { secrets: [], crons: [], ...this.workers.get(name), metadata });
    const resources = { script: { etag: "e", handlers: ["fetch"] } }; // of a version
    return found({ id: name, etag: "e", pipeline_hash: "p", mutable_pipeline_id: "m", startup_time_ms: 10, resources });
  }

  #crons(worker, schedules) {
    worker.crons = schedules.map(({ cron }) => cron);
    return { schedules };
  }

  #consumers(id) {
    return this.queues.find(({ queue_id }) => queue_id === id).consumers;
  }

  #secret({ secrets }, { name, text }) {
    this.token = text;
    return added(secrets, { name, type: "secret_text" });
  }

  answer(method, url, body) {
    const { pathname, searchParams: query } = new URL(url, "http://api");
    if (pathname.endsWith("/graphql")) return { status: 200, body: { data: { viewer: { accounts: [{}] } } } };
    const path = pathname.replace(/^\/client\/v4(\/accounts\/\w+(?=\/))?/, "");
    for (const [route, run] of this.routes) {
      const match = new RegExp(`^${route}$`).exec(`${method} ${path}`);
      if (match) return run({ name: match[1] && decodeURIComponent(match[1]), query, body });
    }
    return failed(404, 7003, `Could not route to ${method} ${path}, perhaps your object identifier is invalid?`);
  }
}

/** Serves the API of an account, and returns the account with the variables that lead wrangler to it. */
export async function serveAccount() {
  const account = new Account();
  const server = createServer(async (request, response) => {
    let text = "";
    for await (const chunk of request) text += chunk;
    const metadata = /name="metadata"[^]*?\r\n\r\n(.*)\r\n/.exec(text); // of a Worker
    const json = /^[{[]/.test(text) ? JSON.parse(text) : metadata && JSON.parse(metadata[1]);
    const { status, body } = account.answer(request.method, request.url, json);
    response.writeHead(status, { "Content-Type": "application/json" }).end(JSON.stringify(body));
  });
  await new Promise((listening) => server.listen(0, "127.0.0.1", listening));
  const variables = {
    CLOUDFLARE_API_BASE_URL: `http://127.0.0.1:${server.address().port}/client/v4`,
    CLOUDFLARE_API_TOKEN: "a".repeat(40),
    CLOUDFLARE_ACCOUNT_ID: "0123",
  };
  return { account, variables, close: () => server.close() };
}
