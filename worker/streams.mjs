// What Go reads by number: bodies of responses, requests and R2 objects. Their chunks stay here until
// Go has them copied into its memory, so that no JavaScript object of theirs reaches Go.

// How much one read asks for. Large reads keep the crossings between Go and JavaScript few.
const chunkSize = 256 * 1024;

// Buffers that no read uses at the moment.
const spare = [];
const maxSpare = 4;

/** A ReadableStream, read chunk by chunk. */
export class Stream {
  #source;
  #reader;
  #buffer; // of the next read; undefined when the stream brings its own chunks
  #chunk; // what was read and not copied yet
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

  /** Reads the next chunk; resolves to [its bytes, whether it is the last]. */
  async next() {
    try {
      if (!this.#reader) this.#open();
      const { value, done } = await (this.#buffer
        ? this.#reader.readAtLeast(chunkSize, new Uint8Array(this.#buffer))
        : this.#reader.read());
      if (this.#buffer && value) this.#buffer = value.buffer; // the read has moved it
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

  /** Cancels the source: nothing more is read. */
  async cancel() {
    await (this.#reader ?? this.#source).cancel().catch(() => {}); // a stream that broke has nothing to cancel
  }
}

/** A request under way, and then the body of its response. */
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
 * Passes on the bytes of a body on its way to a store, and calls arrived for each chunk. When that
 * returns false, nobody wants them any more, and the stream fails. length is that of the body in bytes,
 * -1 if the request does not state it.
 */
export function observed(source, length, arrived) {
  const { readable, writable } = length < 0 ? new IdentityTransformStream() : new FixedLengthStream(length);
  pump(source.getReader({ mode: "byob" }), writable.getWriter(), arrived);
  return readable;
}

const pumpSize = 64 * 1024; // a read gives what is there, up to this

async function pump(reader, writer, arrived) {
  let buffer = new ArrayBuffer(pumpSize);
  try {
    for (;;) {
      const { value, done } = await reader.read(new Uint8Array(buffer));
      if (done) return await writer.close();
      if (!arrived()) throw new Error("the event is over");
      await writer.write(value); // until it was read
      buffer = value.buffer;
    }
  } catch (error) {
    // Each end learns of the other's failure; the end that failed needs no notice.
    await Promise.allSettled([reader.cancel(error), writer.abort(error)]);
  }
}
