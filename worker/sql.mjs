// Statements that Go runs on the SQLite database of a Durable Object. Arguments and rows are encoded as
// frontier/shard/store/db.go describes, so a statement needs one crossing and blobs are never text.

const decoder = new TextDecoder();
const encoder = new TextEncoder();

// Kinds of values.
const none = 0;
const number = 1;
const text = 2;
const blob = 3;

/** Runs a statement. Text and arguments are views of Go's memory; the answer is valid until the next statement. */
export function execute(sql, statement, args) {
  const cursor = sql.exec(decoder.decode(statement), ...values(args));
  const rows = cursor.raw().toArray(); // rowsWritten counts only rows already read
  answer.begin(cursor.rowsWritten, rows.length, cursor.columnNames.length);
  for (const row of rows) for (const value of row) answer.add(value);
  return answer.end();
}

function values(bytes) {
  const view = new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength);
  const list = [];
  for (let at = 0; at < bytes.length;) {
    const kind = bytes[at++];
    if (kind === none) {
      list.push(null);
    } else if (kind === number) {
      list.push(view.getFloat64(at, true));
      at += 8;
    } else {
      const start = at + 4;
      at = start + view.getUint32(start - 4, true);
      list.push(kind === text ? decoder.decode(bytes.subarray(start, at)) : bytes.slice(start, at));
    }
  }
  return list;
}

const small = 256 * 1024; // bytes of the buffer kept between statements

/** The answer to a statement. */
class Answer {
  #bytes = new Uint8Array(small);
  #view = new DataView(this.#bytes.buffer);
  #used = 0;

  /** Starts an answer with its head: rows written, rows read, columns. */
  begin(...head) {
    if (this.#bytes.length > small) this.#replace(new Uint8Array(small), 0);
    this.#used = 0;
    for (const n of head) this.#uint32(n);
  }

  add(value) {
    if (value === null) this.#kind(none);
    else if (typeof value === "number") this.#number(value);
    else if (typeof value === "string") this.#text(value);
    else this.#blob(new Uint8Array(value));
  }

  end() {
    return this.#bytes.subarray(0, this.#used);
  }

  #reserve(length) {
    if (this.#used + length > this.#bytes.length) this.#replace(new Uint8Array(2 * (this.#used + length)), this.#used);
  }

  #replace(larger, kept) {
    larger.set(this.#bytes.subarray(0, kept));
    this.#bytes = larger;
    this.#view = new DataView(larger.buffer);
  }

  #uint32(n) {
    this.#reserve(4);
    this.#view.setUint32(this.#used, n, true);
    this.#used += 4;
  }

  #kind(kind) {
    this.#reserve(1);
    this.#bytes[this.#used++] = kind;
  }

  #number(value) {
    this.#kind(number);
    this.#reserve(8);
    this.#view.setFloat64(this.#used, value, true);
    this.#used += 8;
  }

  #text(value) {
    this.#kind(text);
    this.#reserve(4 + 3 * value.length);
    const { written } = encoder.encodeInto(value, this.#bytes.subarray(this.#used + 4));
    this.#uint32(written);
    this.#used += written;
  }

  #blob(value) {
    this.#kind(blob);
    this.#uint32(value.length);
    this.#reserve(value.length);
    this.#bytes.set(value, this.#used);
    this.#used += value.length;
  }
}

const answer = new Answer();
