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
const noWorker = () => failed(404, 10007, "This Worker does not exist on your account.");
const noBucket = () => failed(404, 10006, "The specified bucket does not exist.");

class Account {
  buckets = new Set();
  databases = [];
  queues = [];
  secrets = null; // of the Worker; null if it does not exist
  rules = null; // of the notification

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
      ({ body }) => found(this.databases[this.databases.push({ uuid: "d1", name: body.name }) - 1]),
    ],
    ["GET /d1/database/(.+)", ({ name }) => this.#database(name)],
    ["DELETE /d1/database/(.+)", () => found(void (this.databases = []))],
    ["GET /queues", ({ query }) => listed(this.queues.filter((q) => q.queue_name === query.get("name")))],
    ["POST /queues", ({ body }) => found(this.#queue(body.queue_name))],
    ["DELETE /queues/(.+)", ({ name }) => found(void (this.queues = this.queues.filter((q) => q.queue_id !== name)))],
    ["GET /workers/scripts/([^/]+)/secrets", () => (this.secrets ? found(this.secrets) : noWorker())],
    ["PUT /workers/scripts/([^/]+)/secrets", ({ body }) => this.#secret(body)],
    ["PUT /workers/scripts/([^/]+)", () => found(void (this.secrets = []))],
    ["DELETE /workers/services/([^/]+)", () => found(void (this.secrets = null))],
    ["GET /workers/durable_objects/namespaces", () => listed([])],
    ["GET /storage/kv/namespaces", () => listed([])],
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

  #queue(queue_name) {
    const counts = { producers: [], producers_total_count: 0, consumers: [], consumers_total_count: 0 };
    const queue = { queue_id: `q${this.queues.length}`, queue_name, settings: {}, created_on: "2026-01-28", ...counts };
    this.queues.push(queue);
    return queue;
  }

  #secret({ name, text }) {
    if (!this.secrets) return noWorker();
    this.token = text;
    this.secrets.push({ name, type: "secret_text" });
    return found({ name, type: "secret_text" });
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
    const json = text.startsWith("{") ? JSON.parse(text) : null; // others are Workers
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
