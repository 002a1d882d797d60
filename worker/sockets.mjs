// TCP connections that Go opens: to PostgreSQL through Hyperdrive, and to Redis.
import { connect } from "cloudflare:sockets";

/** A TCP connection. Go reads it by its handle, like a Stream (streams.mjs). */
export class Socket {
  #socket;
  #reader;
  #writer;
  #chunk; // read but not yet copied
  #timer;
  #expiry = Promise.withResolvers(); // rejected at the deadline

  /** Opens a connection within timeout ms. */
  static async open(address, encrypted, timeout) {
    const socket = new Socket(connect(address, { secureTransport: encrypted ? "on" : "off", allowHalfOpen: false }));
    socket.expire(timeout);
    try {
      await socket.#inTime(socket.#socket.opened);
    } catch (error) {
      await socket.cancel();
      throw error;
    }
    socket.expire(0);
    return socket;
  }

  constructor(socket) {
    this.#socket = socket;
    for (const outcome of [socket.opened, socket.closed, this.#expiry.promise]) outcome.catch(() => {});
    this.#reader = socket.readable.getReader();
    this.#writer = socket.writable.getWriter();
  }

  /** Reads the next chunk; resolves to [its length, whether it is the last]. */
  async next() {
    const { value, done } = await this.#inTime(this.#reader.read());
    this.#chunk = value;
    return [value?.length ?? 0, done];
  }

  /** Copies the chunk to target. */
  copy(target) {
    target.set(this.#chunk);
  }

  async write(bytes) {
    await this.#inTime(this.#writer.write(bytes));
  }

  #inTime(operation) {
    operation.catch(() => {}); // after the deadline nobody waits for it
    return Promise.race([this.#expiry.promise, operation]);
  }

  /** Makes operations fail after ms milliseconds; 0 removes the deadline. */
  expire(ms) {
    clearTimeout(this.#timer);
    if (!ms) return;
    this.#timer = setTimeout(() => {
      this.#expiry.reject(new DOMException("the connection was too slow", "TimeoutError"));
      this.cancel();
    }, ms);
  }

  /** Closes the connection. A pending read ends. */
  async cancel() {
    clearTimeout(this.#timer);
    this.#reader.cancel().catch(() => {}); // fails if the connection broke before
    this.#writer.abort().catch(() => {}); // what a server does not take is not waited for
    this.#socket.close().catch(() => {});
  }
}
