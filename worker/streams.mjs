// Streams that Go reads by handle: bodies of responses, requests and R2 objects. Chunks are copied into
// Go's memory, so that no JavaScript object of a stream reaches Go.

// Bytes per read. Large reads mean few crossings between Go and JavaScript.
const chunkSize = 256 * 1024;

// Unused buffers.
const spare = [];
const maxSpare = 4;

/** A ReadableStream, read chunk by chunk. */
export class Stream {
  #source;
  #reader;
  #buffer; // for the next read; undefined if the stream allocates its own chunks
  #chunk; // read but not yet copied
  #over = false;

  constructor(source) {
    this.#source = source;
  }

  #open() {
    try {
      this.#reader = this.#source.getReader({ mode: "byob" });
      this.#buffer = spare.pop() ?? new ArrayBuffer(chunkSize);
    } catch {
      this.#reader = this.#source.getReader(); // not a byte stream
    }
  }

  /** Reads the next chunk; resolves to [its length, whether it is the last]. */
  async next() {
    try {
      if (!this.#reader) this.#open();
      const { value, done } = await (this.#buffer
        ? this.#reader.readAtLeast(chunkSize, new Uint8Array(this.#buffer))
        : this.#reader.read());
      if (this.#buffer && value) this.#buffer = value.buffer; // the read has transferred it
      this.#chunk = value;
      if (done && !value?.length) this.#end();
      return [value?.length ?? 0, done];
    } catch (error) {
      this.#over = true; // the buffer may be lost
      throw error;
    }
  }

  /** Copies the chunk to target. */
  copy(target) {
    target.set(this.#chunk);
  }

  #end() {
    if (!this.#over && this.#buffer?.byteLength === chunkSize && spare.length < maxSpare) spare.push(this.#buffer);
    this.#over = true;
  }

  /** Cancels the source. */
  async cancel() {
    await (this.#reader ?? this.#source).cancel().catch(() => {}); // fails if the stream broke before
  }
}

/** A request and then the body of its response. */
export class Exchange {
  #controller = new AbortController();
  #timer;
  #body;

  async start(send, url, init, timeout) {
    if (timeout)
      this.#timer = setTimeout(
        () => this.#controller.abort(new DOMException(`no answer within ${timeout} ms`, "TimeoutError")),
        timeout,
      );
    try {
      const response = await send(url, { ...init, signal: this.#controller.signal });
      if (response.body) this.#body = new Stream(response.body);
      else clearTimeout(this.#timer);
      return response;
    } catch (error) {
      clearTimeout(this.#timer);
      throw error;
    }
  }

  abort() {
    clearTimeout(this.#timer);
    this.#controller.abort();
  }

  async next() {
    try {
      const chunk = await this.#body.next();
      if (chunk[1]) clearTimeout(this.#timer);
      return chunk;
    } catch (error) {
      clearTimeout(this.#timer);
      throw error;
    }
  }

  copy(target) {
    this.#body.copy(target);
  }

  cancel() {
    clearTimeout(this.#timer);
    return this.#body.cancel();
  }
}

/**
 * Returns a stream of the bytes of source that calls arrived for each chunk, and fails once that returns
 * false. length is the length of the body in bytes, -1 if the request does not declare it.
 */
export function observed(source, length, arrived) {
  const { readable, writable } = length < 0 ? new IdentityTransformStream() : new FixedLengthStream(length);
  pump(source.getReader({ mode: "byob" }), writable.getWriter(), arrived);
  return readable;
}

const pumpSize = 64 * 1024; // the most that one read returns

async function pump(reader, writer, arrived) {
  let buffer = new ArrayBuffer(pumpSize);
  try {
    for (;;) {
      const { value, done } = await reader.read(new Uint8Array(buffer));
      if (done) return await writer.close();
      if (!arrived()) throw new Error("the event is over");
      await writer.write(value); // waits until it was read
      buffer = value.buffer;
    }
  } catch (error) {
    // Tells each end of the other's failure; the end that failed ignores it.
    await Promise.allSettled([reader.cancel(error), writer.abort(error)]);
  }
}
