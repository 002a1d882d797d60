// Origins that hang, lie and flood, on workerd: each is one domain of a batch of five whose other four
// are done on time, and its document says what became of it.
import assert from "node:assert/strict";
import { createHash } from "node:crypto";
import { once } from "node:events";
import { createServer } from "node:net";
import { after, before, describe, test } from "node:test";
import { gzipSync } from "node:zlib";
import Ajv2020 from "ajv/dist/2020.js";
import { domainMessage, fixture, prod, quick, root, startEngine } from "./engine.mjs";

const MiB = 1 << 20;
const valid = new Ajv2020({ strict: false, validateFormats: false }).compile(JSON.parse(fixture("contract/schemas/domain_metadata.schema.json")));

// ---- the origin: a TCP server that plays sites, a table of path → what is done with the connection.

const text = (value) => (typeof value === "string" ? Buffer.from(value, "latin1") : value);

/** An honest answer. */
const answer = (status, body = "", headers = {}) => (socket) => {
  const content = text(body);
  socket.write(head(status, { "content-length": content.length, ...headers }));
  socket.end(content);
};
const ok = (body, type = "text/plain", headers = {}) => answer(200, body, { "content-type": type, ...headers });
const found = (location) => answer(302, "", { location });
const head = (status, headers) => {
  let lines = `HTTP/1.1 ${status} Reason\r\nconnection: close\r\nset-cookie: session=hostile; Path=/\r\n`;
  for (const [name, value] of Object.entries(headers)) lines += `${name}: ${value}\r\n`;
  return Buffer.from(`${lines}\r\n`, "latin1");
};

/** No answer, ever. */
const hang = () => {};
/** A connection that breaks. */
const reset = (socket) => socket.resetAndDestroy();
/** The headers, so much of the body, and then nothing. */
const stall = (type, start = "") => (socket) => socket.write(Buffer.concat([head(200, { "content-type": type, "content-length": 100_000 }), text(start)]));
/** A body of which a byte comes a second. */
const drip = (type, body) => (socket) => {
  socket.write(head(200, { "content-type": type }));
  let i = 0;
  const timer = setInterval(() => socket.write(text(body[i++ % body.length])), 1000);
  socket.on("close", () => clearInterval(timer));
};
/** A body that breaks off with the connection. */
const cut = (type, body) => (socket) => {
  socket.write(Buffer.concat([head(200, { "content-type": type, "content-length": text(body).length * 2 }), text(body)]));
  setTimeout(() => socket.resetAndDestroy(), 50);
};
/** A body without end: start, and then again and again. */
const flood = (type, start, again) => (socket) => {
  const chunk = Buffer.from(again.repeat(Math.ceil(65536 / again.length)));
  socket.write(Buffer.concat([head(200, { "content-type": type }), text(start)]));
  const pour = () => {
    while (!socket.destroyed && socket.writableLength < MiB) socket.write(chunk);
  };
  socket.on("drain", pour);
  pour();
};

class Origin {
  sites = {};
  asked = [];
  open = new Set();
  sent = {}; // bytes, by URL

  constructor() {
    this.server = createServer((socket) => {
      this.open.add(socket);
      socket.on("error", () => {});
      socket.on("close", () => this.open.delete(socket));
      let request = "";
      const read = (data) => {
        request += data.toString("latin1");
        if (!request.includes("\r\n\r\n")) return;
        socket.off("data", read);
        socket.resume();
        const url = new URL(/^x-url: (.*)\r$/im.exec(request)[1]);
        socket.on("close", () => (this.sent[url.href] = (this.sent[url.href] ?? 0) + socket.bytesWritten));
        this.asked.push({ url: url.href, cookie: /^cookie:/im.test(request) });
        const site = this.sites[url.hostname] ?? {};
        (site[url.pathname] ?? site["*"] ?? answer(404, "not found"))(socket, url);
      };
      socket.on("data", read);
    });
  }

  async listen() {
    this.server.listen(0, "127.0.0.1");
    await once(this.server, "listening");
    return `http://127.0.0.1:${this.server.address().port}/`;
  }

  close() {
    for (const socket of this.open) socket.destroy();
    this.server.close();
  }
}

const DEBUG = process.env.DEBUG;

async function startHostile(vars) {
  const origin = new Origin();
  const web = {
    name: "hostileweb",
    main: `${root}/test/e2e/hostileweb.mjs`,
    compatibility_date: "2026-11-01",
    vars: { ORIGIN: await origin.listen(), HOSTILE: "hostile.sg" },
  };
  const engine = await startEngine({ web, vars: { ...quick, ...vars }, change: (config) => ({ ...config, main: `${root}/test/e2e/pooled.mjs` }) });
  let n = 0;
  const world = {
    engine,
    origin,
    log: async () => (await engine.web.fetch("https://control.invalid/")).json(),
    pool: async () => (await engine.worker.fetch("https://pool.invalid/")).json(),
    async batch(name, site, { attempts = 4 } = {}) {
      const domain = `${name}-hostile.sg`;
      origin.sites[domain] = typeof site === "function" ? site(`https://${domain}`) : site;
      const domains = [1, 2, 3, 4].map(() => `healthy${++n}.sg`);
      domains.splice(n % 5, 0, domain);
      await world.log();
      const began = Date.now();
      const result = await engine.deliver("newsfork-domain-dev", domains.map((d) => ({ id: d, body: domainMessage(d, [`https://${d}/x`]), attempts })));
      const took = Date.now() - began;
      const log = await world.log();
      const document = await engine.json(prod(domain));
      const done = [];
      for (const d of domains) {
        const o = await engine.env.DATASETS_BUCKET.head(prod(d, "domain_metadata.json.success"));
        done.push([d, o && o.uploaded.getTime() - began]);
      }
      const pool = await world.pool();
      if (DEBUG) console.log(`\n##### ${name} took ${took}`, JSON.stringify(done), JSON.stringify(result.retried), "\n", JSON.stringify(summary(document)), "\n", log.filter((l) => l.url.includes("hostile")).map((l) => l.url.slice(0, 80)).join(" "), "\n", JSON.stringify(pool), "open", origin.open.size, JSON.stringify(Object.fromEntries(Object.entries(origin.sent).filter(([k, v]) => k.includes(domain)&&v>200000))));
      return { domain, domains, result, took, log, document, done, pool };
    },
    async close() {
      await engine.close();
      origin.close();
    },
  };
  return world;
}

const summary = (d) => d && {
  reachable: d.reachable, partial: d.partial,
  robots: { s: d.robots.status_code, l: d.robots.content_length, x: d.robots.exists, e: d.robots.error, t: d.robots.error_type },
  sitemap: { s: d.sitemap.status_code, l: d.sitemap.content_length, x: d.sitemap.exists, n: d.sitemap.url_count, e: d.sitemap.error, t: d.sitemap.error_type, k: d.technical_metadata.sitemap_xml.kind, tr: d.technical_metadata.sitemap_xml.truncated },
  docs: d.technical_metadata.sitemap_xml.documents.map((x) => [x.url.slice(-40), x.status_code, x.url_count, x.error].join("|")),
  feeds: d.technical_metadata.feeds.map((f) => [f.url.slice(-30), f.kind, f.item_count].join("|")),
  server: d.technical_metadata.server_info, ms: d.processing_metadata.processing_duration_ms,
};
