// JavaScript halves of the stores and of fetch, which Go calls by name (worker.Ask): what would be
// many crossings between Go and JavaScript is one call here, with strings in and a string or bytes out.
//
// Each gets the call { env, data, keep, get } and its arguments. data is Go's memory and good until
// the first await. keep gives a number to what Go names later, get finds it again; an event's numbers
// end with it. None keeps anything of an event itself: workerd forbids using its I/O objects in
// another event.
//
// All are async, so that a binding which is not configured becomes a rejection too.
import { files } from "./bundled.mjs";
import { Socket } from "./sockets.mjs";
import { Stream } from "./streams.mjs";

const decoder = new TextDecoder();

function bound(env, name, what) {
  if (!env[name]) throw new Error(`there is no ${what} binding ${name}`);
  return env[name];
}

// Lines are what an answer consists of: a field a line. Line feeds in a field are written as \n, and
// backslashes as \\.
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

/** Answers the number of the body, and the object. */
async function r2Get({ env, keep }, bucket, key) {
  const object = await r2(env, bucket).get(key);
  return object && `${keep(new Stream(object.body))}\n${objectLines(object)}`;
}

/** options is the JSON of R2ListOptions. Answers the cursor, two counts, prefixes and objects. */
async function r2List({ env }, bucket, options) {
  const page = await r2(env, bucket).list(JSON.parse(options));
  const lines = [page.truncated ? line(page.cursor) : "", page.delimitedPrefixes.length, page.objects.length];
  for (const prefix of page.delimitedPrefixes) lines.push(line(prefix));
  for (const object of page.objects) lines.push(objectLines(object));
  return lines.join("\n");
}

/** options is the JSON of R2PutOptions. Answers nothing when its condition fails. */
async function r2Put({ env, data }, bucket, key, options) {
  return orNull(await r2(env, bucket).put(key, data.slice(), JSON.parse(options)));
}

/** stream is the body of a request or response with a length. Otherwise like r2Put. */
async function r2PutStream({ env, get }, bucket, key, stream, options) {
  return orNull(await r2(env, bucket).put(key, get(stream) ?? "", JSON.parse(options)));
}

/** Answers the MD5 of a stream in hexadecimal. */
async function streamMD5({ get }, stream) {
  const sum = new crypto.DigestStream("MD5");
  await get(stream).pipeTo(sum);
  return Array.from(new Uint8Array(await sum.digest), (byte) => byte.toString(16).padStart(2, "0")).join("");
}

async function r2Delete({ env }, bucket, ...keys) {
  await r2(env, bucket).delete(keys);
}

// Buffers of whole parts that no upload uses at the moment.
const spare = [];
const spareParts = 2;
const firstBuffer = 256 * 1024;

/** An upload whose parts Go writes piece by piece. Only its second part makes it a multipart upload. */
class Upload {
  constructor(bucket, key, options, partSize) {
    Object.assign(this, { bucket, key, options, partSize, part: new Uint8Array(firstBuffer), used: 0, parts: [] });
  }

  /** Takes bytes, as many as have room in the part. */
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

/** Stores the object. Answers nothing when the condition in its options fails. */
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
 * Sends the messages in data, separated by the ASCII record separator, with one sendBatch. They go as
 * text: as "json" they would be parsed here only for the platform to serialise them again.
 */
async function queueSendBatch({ env, data }, name) {
  const messages = decoder.decode(data).split("\x1e");
  await queue(env, name).sendBatch(messages.map((body) => ({ body, contentType: "text" })));
}

async function queueSend({ env, data }, name, delaySeconds) {
  await queue(env, name).send(decoder.decode(data), { contentType: "text", delaySeconds: Number(delaySeconds) });
}

/**
 * Answers for each of the queues the number of messages and of bytes that wait, the time of the oldest in ms (0: none), and
 * an empty line, or why it gave no numbers.
 */
async function queueMetrics({ env }, ...names) {
  const backlog = async (name) => {
    const { backlogCount, backlogBytes, oldestMessageTimestamp } = await queue(env, name).metrics();
    return `${backlogCount}\n${backlogBytes}\n${Number(oldestMessageTimestamp ?? 0)}\n`;
  };
  const unanswered = (error) => `0\n0\n0\n${line(String(error))}`;
  return (await Promise.all(names.map((name) => backlog(name).catch(unanswered)))).join("\n");
}

/**
 * data is the statements, each with the ASCII record separator behind it, and the JSON of their parameters. Answers for each
 * the number of rows that it changed, and the JSON of those that it gave, a line each.
 */
async function d1Batch({ env, data }, name) {
  const statements = decoder.decode(data).split("\x1e");
  const parameters = JSON.parse(statements.pop());
  const db = bound(env, name, "D1");
  const results = await db.batch(statements.map((sql, i) => db.prepare(sql).bind(...parameters[i])));
  return results.map(({ meta, results }) => `${meta.changes}\n${JSON.stringify(results)}`).join("\n");
}

/** Has the Durable Object with the name run an operation. When no answer comes within timeout ms, that is a TimeoutError. */
async function objectCall({ env, data }, binding, name, operation, timeout) {
  const object = bound(env, binding, "Durable Object").getByName(name);
  return await within(Number(timeout), object.call(operation, data.slice()));
}

async function within(ms, promise) {
  let timer;
  const late = new Promise((_, reject) => {
    timer = setTimeout(() => reject(new DOMException(`no answer within ${ms} ms`, "TimeoutError")), ms);
  });
  try {
    return await Promise.race([promise, late]);
  } finally {
    clearTimeout(timer);
  }
}

const kv = (env, name) => bound(env, name, "KV");

/** Answers the bytes of a value. */
async function kvGet({ env }, name, key) {
  const value = await kv(env, name).get(key, "arrayBuffer");
  return value && new Uint8Array(value);
}

async function kvPut({ env, data }, name, key, seconds) {
  await kv(env, name).put(key, data.slice(), { expirationTtl: Number(seconds) });
}

/** Answers the number of a connection. */
async function socketOpen({ keep }, address, encrypted) {
  return String(keep(await Socket.open(address, encrypted === "1")));
}

async function socketWrite({ data, get }, socket) {
  await get(socket).write(data.slice());
}

async function socketExpire({ get }, socket, ms) {
  get(socket).expire(Number(ms));
}

/**
 * Fetches through the service binding with the name, or EGRESS where there is one. timeout is in ms, 0 for none, and
 * covers the body as well. Redirects are not followed, and nothing is cached. Answers the
 * status, 1 if there is a body to read under the number of the exchange, and the headers.
 */
// The files of the bundle stand in for the binding of those that are deployed.
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
  objectCall,
  kvGet,
  kvPut,
  socketOpen,
  socketWrite,
  socketExpire,
  fetchStart,
  cancel,
};
