// Connections that Go opens: to PostgreSQL, by Hyperdrive's address, and to Redis.
import { connect } from "cloudflare:sockets";

/** A TCP connection, read by number as streams are (streams.mjs). */
export class Socket {
  #socket;
  #reader;
  #writer;
  #chunk; // what was read and not copied yet
  #timer;
  #late = false;

  static async open(address, encrypted) {
    const socket = connect(address, { secureTransport: encrypted ? "on" : "off", allowHalfOpen: false });
    socket.closed.catch(() => {}); // reads and writes fail, too
    await socket.opened;
    return new Socket(socket);
  }

  constructor(socket) {
    this.#socket = socket;
    this.#reader = socket.readable.getReader();
    this.#writer = socket.writable.getWriter();
  }

  /** Reads what has arrived; resolves to [its bytes, whether it is the last]. */
  async next() {
    const { value, done } = await this.#reader.read();
    if (this.#late) throw new DOMException("the connection was too slow", "TimeoutError");
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

  /** Fails reads from ms milliseconds on; 0 never. */
  expire(ms) {
    clearTimeout(this.#timer);
    if (!ms) return;
    this.#timer = setTimeout(() => {
      this.#late = true;
      this.cancel();
    }, ms);
  }

  /** Closes the connection. A read that waits ends. */
  async cancel() {
    clearTimeout(this.#timer);
    await this.#reader.cancel().catch(() => {}); // one that broke has nothing to cancel
    await this.#socket.close().catch(() => {});
  }
}
