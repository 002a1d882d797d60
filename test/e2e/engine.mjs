// The engine on workerd for end-to-end tests: the deployed Worker with R2, queues and D1
// simulated, the sample web behind EGRESS, and a Worker that can call its queue handler.
import { readFileSync } from "node:fs";
import { join, resolve } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { fileURLToPath } from "node:url";
import { harnessOf } from "../harness.mjs";
import { assertDescribed } from "./described.mjs";
import { unstable_readConfig as readConfig } from "wrangler";

export const root = resolve(fileURLToPath(new URL("../..", import.meta.url)));

/** Short waits and retries; the tests of politeness use a real interval. */
export const quick = {
  REQUEST_INTERVAL_MS: "0",
  RETRY_DELAY_SECONDS: "0",
  FETCH_RETRIES: "0",
  FETCH_RETRY_BASE_MS: "0",
  ROBOTS_TIMEOUT_MS: "1000",
  SITEMAP_TIMEOUT_MS: "1000",
  PAGE_TIMEOUT_MS: "1000",
};

/**
 * Starts the engine. vars override the development ones; change may alter its configuration;
 * web is the wrangler configuration of the Worker behind EGRESS (the sample web by default), and
 * others are the configurations of further Workers.
 */
export async function startEngine({ vars = quick, change = (config) => config, web = sampleWeb(), others = [] } = {}) {
  const config = change({
    ...development(),
    vars: { ENVIRONMENT: "development", ...vars },
    services: [{ binding: "EGRESS", service: web.name }],
  });
  const harness = harnessOf(config, web, caller(config), ...others);
  await harness.listen();
  const engine = new Engine(harness, config.name, web.name);
  if (config.d1_databases?.length) await harness.getWorker(config.name).applyD1Migrations("METADATA_DB");
  engine.env = await harness.getWorker(config.name).getEnv();
  return engine;
}

function development() {
  const config = readConfig({ config: join(root, "wrangler.jsonc") }, { hideWarnings: true });
  const { name, main, compatibility_date, rules, r2_buckets, queues, version_metadata } = config;
  const { durable_objects, migrations } = config;
  const migrations_dir = join(root, "ledger/migrations");
  const d1_databases = config.d1_databases.map((db) => ({ ...db, migrations_dir }));
  const stores = { r2_buckets, d1_databases, durable_objects, migrations };
  return { name, main, compatibility_date, rules, queues, version_metadata, ...stores };
}

function sampleWeb() {
  const { name, main, compatibility_date, compatibility_flags, no_bundle, find_additional_modules, rules } = readConfig(
    { config: join(root, "sample/web/wrangler.jsonc") },
    { hideWarnings: true },
  );
  return { name, main, compatibility_date, compatibility_flags, no_bundle, find_additional_modules, rules };
}

function caller(engine) {
  return {
    name: "caller",
    main: join(root, "test/workers/caller.mjs"),
    compatibility_date: "2026-11-01",
    compatibility_flags: ["service_binding_extra_handlers"],
    services: [{ binding: "ENGINE", service: engine.name }],
    r2_buckets: engine.r2_buckets,
  };
}

class Engine {
  constructor(harness, name, web) {
    this.harness = harness;
    this.worker = harness.getWorker(name);
    this.web = harness.getWorker(web);
    this.caller = harness.getWorker("caller");
  }

  /** Calls the API. Returns the response's status, headers and JSON. */
  async api(method, path, body, headers = {}) {
    const sent = body === undefined || typeof body === "string" ? body : JSON.stringify(body);
    const response = await this.worker.fetch(path, {
      method,
      body: sent,
      headers: { ...(method !== "GET" && { "content-type": "application/json" }), ...headers },
    });
    const answer = await response.json();
    assertDescribed(method, path, response.status, answer);
    return { status: response.status, headers: response.headers, ...answer };
  }

  /** Delivers messages, [{id, body, attempts}], to the engine's queue handler. Returns their outcome. */
  async deliver(queue, messages) {
    const response = await this.caller.fetch("/", { method: "POST", body: JSON.stringify({ queue, messages }) });
    if (!response.ok) throw new Error(await response.text());
    return await response.json();
  }

  put(key, content) {
    return this.env.DATASETS_BUCKET.put(
      key,
      typeof content === "string" || content instanceof Uint8Array ? content : JSON.stringify(content),
    );
  }

  async text(key) {
    return (await this.env.DATASETS_BUCKET.get(key))?.text() ?? null;
  }

  async json(key) {
    return JSON.parse((await this.text(key)) ?? "null");
  }

  async bytes(key) {
    const object = await this.env.DATASETS_BUCKET.get(key);
    return object && new Uint8Array(await object.arrayBuffer());
  }

  /** The keys under a prefix. One request: through env, each object of a listing would take one of its own. */
  async keys(prefix) {
    const response = await this.caller.fetch(`/keys?prefix=${encodeURIComponent(prefix)}`);
    return response.json();
  }

  async rows(sql, ...parameters) {
    return (
      await this.env.METADATA_DB.prepare(sql)
        .bind(...parameters)
        .all()
    ).results;
  }

  /** The engine's log events of that name so far. */
  events(name) {
    return this.harness
      .getLogs()
      .map((entry) => entry.message ?? String(entry))
      .flatMap((text) => text.split("\n"))
      .filter((line) => line.startsWith("{") && line.includes(`"event":"${name}"`))
      .map((line) => JSON.parse(line));
  }

  /** Calls the sample web's control host. */
  async control(method, path, body) {
    const response = await this.web.fetch(`https://control.sample.invalid${path}`, {
      method,
      body: body && JSON.stringify(body),
    });
    const text = await response.text();
    if (!response.ok) throw new Error(`${method} ${path}: ${response.status} ${text}`);
    return text ? JSON.parse(text) : null;
  }

  close() {
    return this.harness.close();
  }
}

/** Waits until check returns a value other than false, null or undefined, and returns it. */
export async function until(check, what, seconds = 30) {
  for (const began = Date.now(); ; await sleep(50)) {
    const value = await check();
    if (value !== false && value !== null && value !== undefined) return value;
    if (Date.now() - began > seconds * 1000) throw new Error(`waited ${seconds} s for ${what}`);
  }
}

export const partition = { country: "sg", category: "news", date: "2026-01-28" };
export const raw = (n) => `raw/country=sg/category=news/date=2026-01-28/raw_${String(n).padStart(4, "0")}.json`;
export const prod = (domain, name = "domain_metadata.json") =>
  `prod/country=sg/category=news/date=2026-01-28/${domain}/${name}`;

/** A message of DOMAIN_QUEUE. */
export function domainMessage(domain, urls, extra = {}) {
  return {
    domain,
    domain_id: `gov:sg:${domain}`,
    domain_url: urls[0] ?? `https://${domain}/`,
    registrable_domain: domain,
    authority: "gov",
    urls: urls.map((url) => ({ url, title: `Title of ${url}`, path: new URL(url).pathname })),
    partition_info: partition,
    source_file_path: raw(1),
    ...extra,
  };
}

export const fixture = (path) => readFileSync(join(root, path));
