// TCP connections that Go opens: to PostgreSQL through Hyperdrive, and to Redis.
import { connect } from "cloudflare:sockets";

/** A TCP connection. Go reads it by its handle, like a Stream (streams.mjs). */
export class Socket {
  #socket;
  #reader;
  #writer;
  #chunk; // read but not yet copied
  #timer;
  #expired = false;

  static async open(address, encrypted) {
    const socket = connect(address, { secureTransport: encrypted ? "on" : "off", allowHalfOpen: false });
    socket.closed.catch(() => {}); // reads and writes report it
    await socket.opened;
    return new Socket(socket);
  }

  constructor(socket) {
    this.#socket = socket;
    this.#reader = socket.readable.getReader();
    this.#writer = socket.writable.getWriter();
  }

  /** Reads the next chunk; resolves to [its length, whether it is the last]. */
  async next() {
    const { value, done } = await this.#reader.read();
    if (this.#expired) throw new DOMException("the connection was too slow", "TimeoutError");
    this.#chunk = value;
    return [value?.length ?? 0, done];
  }

  /** Copies the chunk to target. */
  copy(target) {
    target.set(this.#chunk);
  }

  async write(bytes) {
    await this.#writer.write(bytes);
  }

  /** Makes reads fail after ms milliseconds; 0 removes the deadline. */
  expire(ms) {
    clearTimeout(this.#timer);
    if (!ms) return;
    this.#timer = setTimeout(() => {
      this.#expired = true;
      this.cancel();
    }, ms);
  }

  /** Closes the connection. A pending read ends. */
  async cancel() {
    clearTimeout(this.#timer);
    await this.#reader.cancel().catch(() => {}); // fails if the connection broke before
    await this.#socket.close().catch(() => {});
  }
}
