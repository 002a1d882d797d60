// Helpers that Go calls by name (worker.Ask): the JavaScript half of stores, queues and fetch. Each call
// replaces many crossings between Go and JavaScript. Arguments are strings; the result is a string or bytes.
//
// A helper gets the call { env, data, keep, get } and its arguments. data is a view of Go's memory, valid
// until the first await. keep returns a handle for an object, get finds it by its handle; handles expire
// with the event. Helpers hold no state of an event: workerd forbids using its I/O objects in another.
//
// All are async, so that a missing binding becomes a rejection.
import { files } from "./bundled.mjs";
import { Socket } from "./sockets.mjs";
import { Stream } from "./streams.mjs";

const decoder = new TextDecoder();

function bound(env, name, what) {
  if (!env[name]) throw new Error(`there is no ${what} binding ${name}`);
  return env[name];
}

// Answers have one field per line. A line feed in a field is written as \n, a backslash as \\.
const line = (field) => (/[\\\n]/.test(field) ? field.replaceAll("\\", "\\\\").replaceAll("\n", "\\n") : field);

function objectLines(object) {
  const metadata = Object.entries(object.customMetadata ?? {});
  let lines = `${line(object.key)}\n${object.size}\n${object.etag}\n${object.uploaded.getTime()}\n${metadata.length}`;
  for (const [name, value] of metadata) lines += `\n${line(name)}\n${line(value)}`;
  return lines;
}

const orNull = (object) => object && objectLines(object);
const r2 = (env, name) => bound(env, name, "R2");

async function r2Head({ env }, bucket, key) {
  return orNull(await r2(env, bucket).head(key));
}

/** Returns a handle to the body, and the object. */
async function r2Get({ env, keep }, bucket, key) {
  const object = await r2(env, bucket).get(key);
  return object && `${keep(new Stream(object.body))}\n${objectLines(object)}`;
}

/** options is R2ListOptions as JSON. Returns the cursor, two counts, the prefixes and the objects. */
async function r2List({ env }, bucket, options) {
  const page = await r2(env, bucket).list(JSON.parse(options));
  const lines = [page.truncated ? line(page.cursor) : "", page.delimitedPrefixes.length, page.objects.length];
  for (const prefix of page.delimitedPrefixes) lines.push(line(prefix));
  for (const object of page.objects) lines.push(objectLines(object));
  return lines.join("\n");
}

/** options is R2PutOptions as JSON. Returns null if its condition fails. */
async function r2Put({ env, data }, bucket, key, options) {
  return orNull(await r2(env, bucket).put(key, data.slice(), JSON.parse(options)));
}

/** Like r2Put for the body of a request or response that has a length. */
async function r2PutStream({ env, get }, bucket, key, stream, options) {
  return orNull(await r2(env, bucket).put(key, get(stream) ?? "", JSON.parse(options)));
}

/** Returns the MD5 of a stream in hexadecimal. */
async function streamMD5({ get }, stream) {
  const sum = new crypto.DigestStream("MD5");
  await get(stream).pipeTo(sum);
  return Array.from(new Uint8Array(await sum.digest), (byte) => byte.toString(16).padStart(2, "0")).join("");
}

async function r2Delete({ env }, bucket, ...keys) {
  await r2(env, bucket).delete(keys);
}

// Unused buffers of whole parts.
const spare = [];
const spareParts = 2;
const firstBuffer = 256 * 1024;

/** An upload whose parts Go writes piece by piece. It becomes a multipart upload with its second part. */
class Upload {
  constructor(bucket, key, options, partSize) {
    Object.assign(this, { bucket, key, options, partSize, part: new Uint8Array(firstBuffer), used: 0, parts: [] });
  }

  /** Appends bytes, which must fit in the part. */
  write(bytes) {
    if (this.used + bytes.length > this.part.length) {
      const smaller = this.part;
      const size = Math.max(this.used + bytes.length, 4 * smaller.length);
      this.part = size < this.partSize ? new Uint8Array(size) : (spare.pop() ?? new Uint8Array(this.partSize));
      this.part.set(smaller.subarray(0, this.used));
    }
    this.part.set(bytes, this.used);
    this.used += bytes.length;
  }

  async flush() {
    this.multipart ??= await this.bucket.createMultipartUpload(this.key, this.options);
    this.parts.push(await this.multipart.uploadPart(this.parts.length + 1, this.part.subarray(0, this.used)));
    this.used = 0;
  }

  async complete() {
    if (this.multipart) await this.flush();
    const object = await (this.multipart
      ? this.multipart.complete(this.parts)
      : this.bucket.put(this.key, this.part.subarray(0, this.used), this.options));
    this.release();
    return object;
  }

  release() {
    if (this.part?.length === this.partSize && spare.length < spareParts) spare.push(this.part);
    this.part = undefined;
  }
}

async function r2Begin({ env, keep }, bucket, key, options, partSize) {
  return String(keep(new Upload(r2(env, bucket), key, JSON.parse(options), Number(partSize))));
}

async function r2Part({ get }, upload) {
  await get(upload).flush();
}

/** Stores the object. Returns null if the condition in its options fails. */
async function r2Complete({ get }, id) {
  return orNull(await get(id).complete());
}

async function r2Abort({ get }, id) {
  const upload = get(id);
  upload.release();
  await upload.multipart?.abort();
}

const queue = (env, name) => bound(env, name, "queue");

/**
 * Sends the messages in data, separated by the ASCII record separator, in one sendBatch. They are sent as
 * text: as "json" they would be parsed here only to be serialized again.
 */
async function queueSendBatch({ env, data }, name) {
  const messages = decoder.decode(data).split("\x1e");
  await queue(env, name).sendBatch(messages.map((body) => ({ body, contentType: "text" })));
}

async function queueSend({ env, data }, name, delaySeconds) {
  await queue(env, name).send(decoder.decode(data), { contentType: "text", delaySeconds: Number(delaySeconds) });
}

/**
 * Returns for each queue its backlog in messages and bytes, the time of the oldest message in ms (0 for an empty
 * queue), and the error or an empty line.
 */
async function queueMetrics({ env }, ...names) {
  const backlog = async (name) => {
    const { backlogCount, backlogBytes, oldestMessageTimestamp } = await queue(env, name).metrics();
    return `${backlogCount}\n${backlogBytes}\n${Number(oldestMessageTimestamp ?? 0)}\n`;
  };
  const failed = (error) => `0\n0\n0\n${line(String(error))}`;
  return (await Promise.all(names.map((name) => backlog(name).catch(failed)))).join("\n");
}

/**
 * data holds the statements, each followed by the ASCII record separator, and then their parameters as JSON. Returns two
 * lines for each statement: the number of rows changed, and the rows read as JSON. Rejects with a TimeoutError after
 * timeout ms, unless that is 0.
 */
async function d1Batch({ env, data }, name, timeout) {
  const statements = decoder.decode(data).split("\x1e");
  const parameters = JSON.parse(statements.pop());
  const db = bound(env, name, "D1");
  const batch = db.batch(statements.map((sql, i) => db.prepare(sql).bind(...parameters[i])));
  const results = await (Number(timeout) ? within(Number(timeout), batch) : batch);
  return results.map(({ meta, results }) => `${meta.changes}\n${JSON.stringify(results)}`).join("\n");
}

/** Returns the size of a database in bytes. */
async function d1Size({ env }, name) {
  const { meta } = await bound(env, name, "D1").prepare("SELECT 1").run();
  return String(meta.size_after ?? 0);
}

/** Runs an operation of the named Durable Object. Rejects with a TimeoutError after timeout ms. */
async function objectCall({ env, data }, binding, name, operation, timeout) {
  const object = bound(env, binding, "Durable Object").getByName(name, { locationHint: env.LOCATION || "apac" });
  return await within(Number(timeout), object.call(operation, data.slice()));
}

async function within(ms, promise) {
  let timer;
  const timeout = new Promise((_, reject) => {
    timer = setTimeout(() => reject(new DOMException(`no answer within ${ms} ms`, "TimeoutError")), ms);
  });
  try {
    return await Promise.race([promise, timeout]);
  } finally {
    clearTimeout(timer);
  }
}

const kv = (env, name) => bound(env, name, "KV");

/** Returns a value as bytes, or null. */
async function kvGet({ env }, name, key) {
  const value = await kv(env, name).get(key, "arrayBuffer");
  return value && new Uint8Array(value);
}

async function kvPut({ env, data }, name, key, seconds) {
  await kv(env, name).put(key, data.slice(), { expirationTtl: Number(seconds) });
}

/** Returns a handle to a connection. Rejects with a TimeoutError after timeout ms. */
async function socketOpen({ keep }, address, encrypted, timeout) {
  return String(keep(await Socket.open(address, encrypted === "1", Number(timeout))));
}

async function socketWrite({ data, get }, socket) {
  await get(socket).write(data.slice());
}

async function socketExpire({ get }, socket, ms) {
  get(socket).expire(Number(ms));
}

// Files in the bundle replace the binding ASSETS where a Worker runs without it.
const bundle = {
  fetch(url) {
    const file = files.get(new URL(url).pathname);
    if (!file) return Promise.resolve(new Response(null, { status: 404 }));
    const compressed = new Response(Uint8Array.from(atob(file), (c) => c.charCodeAt(0)));
    return Promise.resolve(new Response(compressed.body.pipeThrough(new DecompressionStream("gzip"))));
  },
};

const serviceOf = (env, name) =>
  name === "ASSETS" && !env.ASSETS && files.size ? bundle : bound(env, name, "service");

/**
 * Fetches through the named service binding, or else EGRESS if it is bound. timeout is in ms, 0 for none, and covers
 * the body too. Redirects are not followed, and nothing is cached. Returns the status, 1 if the exchange has a body to
 * read, else 0, and the headers.
 */
async function fetchStart({ env, data, get }, exchange, method, url, timeout, service, ...head) {
  const headers = {};
  for (let i = 1; i < head.length; i += 2) headers[head[i - 1]] = head[i];
  const init = { method, headers, redirect: "manual", cache: "no-store" };
  if (data.length) init.body = data.slice();
  const through = service ? serviceOf(env, service) : env.EGRESS;
  const send = through ? (...args) => through.fetch(...args) : fetch;
  const response = await get(exchange).start(send, url, init, Number(timeout));
  let answer = `${response.status}\n${response.body ? 1 : 0}`;
  for (const [name, value] of response.headers) if (name !== "set-cookie") answer += `\n${name}\n${line(value)}`;
  return answer;
}

// Imported signing keys by their JWK. Unlike I/O objects, they may be used by any event.
const signingKeys = new Map();
const maxSigningKeys = 16; // more than a key set has

async function signingKey(jwk) {
  const known = signingKeys.get(jwk);
  if (known) return known;
  const { kty, crv, x, d } = JSON.parse(jwk);
  const key = await crypto.subtle.importKey("jwk", { kty, crv, x, d }, "Ed25519", false, ["sign"]);
  const published = await crypto.subtle.importKey("jwk", { kty, crv, x }, "Ed25519", false, ["verify"]);
  // importKey accepts an x that does not belong to d.
  const proof = new Uint8Array(32);
  const signature = await crypto.subtle.sign("Ed25519", key, proof);
  if (!(await crypto.subtle.verify("Ed25519", published, signature, proof)))
    throw new Error(`the key's "x" is not the public key of its "d"`);
  if (signingKeys.size >= maxSigningKeys) signingKeys.clear();
  signingKeys.set(jwk, key);
  return key;
}

/** Returns the Ed25519 signature of data by a private JWK. */
async function sign({ data }, jwk) {
  const text = data.slice();
  return new Uint8Array(await crypto.subtle.sign("Ed25519", await signingKey(jwk), text));
}

async function cancel({ get }, handle) {
  await get(handle).cancel();
}

export const helpers = {
  r2Head,
  r2Get,
  r2List,
  r2Put,
  r2PutStream,
  streamMD5,
  r2Delete,
  r2Begin,
  r2Part,
  r2Complete,
  r2Abort,
  queueSendBatch,
  queueSend,
  queueMetrics,
  d1Batch,
  d1Size,
  objectCall,
  kvGet,
  kvPut,
  socketOpen,
  socketWrite,
  socketExpire,
  fetchStart,
  sign,
  cancel,
};
