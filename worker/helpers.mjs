// JavaScript halves of the stores: what would be many crossings between Go and JavaScript is one
// call here. The pool gives these functions to Go as context.helpers. None of them keeps anything
// of an event: workerd forbids to touch its I/O objects in another.
//
// A binding that is not configured arrives as undefined. All functions that use one are async, so
// that this too becomes a rejection, which Go turns into an error.

const decoder = new TextDecoder();

// Buffers for what Go sends, which no operation uses at the moment. All instances share them. Go
// keeps every JavaScript object alive until its next collection, so fresh ones would pile up.
const spare = [];
const spareLimit = 12; // MiB
const bufferSizes = [1 / 4, 1, 5]; // MiB; the last is the size of a part of a multipart upload
const MiB = 2 ** 20;

/** A Uint8Array of at least length bytes, which is the caller's until giveBuffer. */
function takeBuffer(length) {
  const size = bufferSizes.find((size) => length <= size * MiB);
  if (!size) return new Uint8Array(length); // too large to be kept
  const i = spare.findIndex((buffer) => buffer.length === size * MiB);
  return i < 0 ? new Uint8Array(size * MiB) : spare.splice(i, 1)[0];
}

function giveBuffer(buffer) {
  const held = spare.reduce((sum, other) => sum + other.length, buffer.length);
  if (held <= spareLimit * MiB && bufferSizes.includes(buffer.length / MiB)) spare.push(buffer);
}

// Lines are what a page of objects crosses in: one string, a field a line. Line feeds in a field
// are written as \n, and backslashes as \\.
const line = (field) => (/[\\\n]/.test(field) ? field.replaceAll("\\", "\\\\").replaceAll("\n", "\\n") : field);

function objectLines(object) {
  const metadata = Object.entries(object.customMetadata ?? {});
  let lines = `${line(object.key)}\n${object.size}\n${object.etag}\n${object.uploaded.getTime()}\n${metadata.length}`;
  for (const [name, value] of metadata) lines += `\n${line(name)}\n${line(value)}`;
  return lines;
}

const orNull = (object) => object && objectLines(object);

async function r2Head(bucket, key) {
  return orNull(await bucket.head(key));
}

/** Resolves to null or [lines, stream]. */
async function r2Get(bucket, key) {
  const object = await bucket.get(key);
  return object && [objectLines(object), object.body];
}

/** options is the JSON of R2ListOptions. Resolves to the cursor, two counts, prefixes and objects as lines. */
async function r2List(bucket, options) {
  const page = await bucket.list(JSON.parse(options));
  const lines = [page.truncated ? line(page.cursor) : "", page.delimitedPrefixes.length, page.objects.length];
  for (const prefix of page.delimitedPrefixes) lines.push(line(prefix));
  for (const object of page.objects) lines.push(objectLines(object));
  return lines.join("\n");
}

/** options is the JSON of R2PutOptions. Resolves to null when the condition in it is not met. */
async function r2Put(bucket, key, buffer, length, options) {
  return orNull(await bucket.put(key, buffer.subarray(0, length), JSON.parse(options)));
}

/** stream is the body of a request or response whose length is known. The rest is as in r2Put. */
async function r2PutStream(bucket, key, stream, options) {
  return orNull(await bucket.put(key, stream ?? "", JSON.parse(options)));
}

async function r2Delete(bucket, keys) {
  await bucket.delete(keys);
}

/** A multipart upload in progress: the upload and its parts. */
async function r2Begin(bucket, key, options) {
  return { upload: await bucket.createMultipartUpload(key, JSON.parse(options)), parts: [] };
}

async function r2Part({ upload, parts }, buffer, length) {
  parts.push(await upload.uploadPart(parts.length + 1, buffer.subarray(0, length)));
}

async function r2Complete({ upload, parts }) {
  return objectLines(await upload.complete(parts));
}

async function r2Abort({ upload }) {
  await upload.abort();
}

/**
 * Sends JSON messages, a line each, with one sendBatch. They go as text: as "json" they would be
 * parsed here only to be written again by the platform.
 */
async function queueSendBatch(queue, buffer, length) {
  const lines = decoder.decode(buffer.subarray(0, length)).split("\n");
  await queue.sendBatch(lines.map((body) => ({ body, contentType: "text" })));
}

async function queueSend(queue, text, delaySeconds) {
  await queue.send(text, { contentType: "text", delaySeconds });
}

/** Resolves to the number of messages and of bytes that wait, and the time of the oldest in ms (0: none). */
async function queueMetrics(queue) {
  const { backlogCount, backlogBytes, oldestMessageTimestamp } = await queue.metrics();
  return `${backlogCount}\n${backlogBytes}\n${Number(oldestMessageTimestamp ?? 0)}`;
}

/** statements is the JSON of [[sql, [parameter…]]…]. Resolves to the JSON of [{changes, rows}…]. */
async function d1Batch(db, statements) {
  const prepared = JSON.parse(statements).map(([sql, parameters]) => db.prepare(sql).bind(...parameters));
  const results = await db.batch(prepared);
  return JSON.stringify(results.map(({ meta, results }) => ({ changes: meta.changes, rows: results })));
}

export const helpers = {
  takeBuffer,
  giveBuffer,
  r2Head,
  r2Get,
  r2List,
  r2Put,
  r2PutStream,
  r2Delete,
  r2Begin,
  r2Part,
  r2Complete,
  r2Abort,
  queueSendBatch,
  queueSend,
  queueMetrics,
  d1Batch,
};
