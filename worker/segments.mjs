// Merges the data segments of a WebAssembly module.
//
// Go's linker leaves out runs of zeros, which cuts the data of the engine into 100,000 segments. Reading and placing
// each of them costs more at a cold start than the zeros do.
const dataSection = 11;
const dataCountSection = 12; // Go's linker writes none; its count would have to follow
const i32const = 0x41;
const end = 0x0b;

/** The longest run of zeros, in bytes, that is cheaper than another segment. */
const longestGap = 32;

/** Returns a module with the same memory at its start, in as few segments as pay. It throws on passive segments. */
export function mergeSegments(module) {
  const reader = new Reader(module, 8);
  const sections = [module.subarray(0, 8)];
  while (reader.at < module.length) {
    const start = reader.at;
    const id = reader.byte();
    const length = reader.unsigned();
    const next = reader.at + length;
    if (id === dataCountSection) throw new Error("a module with a data count section");
    sections.push(id === dataSection ? section(id, encode(merge(decode(reader)))) : module.subarray(start, next));
    reader.at = next;
  }
  return Buffer.concat(sections);
}

class Reader {
  constructor(bytes, at) {
    this.bytes = bytes;
    this.at = at;
  }

  byte() {
    return this.bytes[this.at++];
  }

  /** Reads a LEB128 number of at most 32 bits. */
  unsigned() {
    let value = 0;
    for (let shift = 0; ; shift += 7) {
      const byte = this.byte();
      value += (byte & 127) * 2 ** shift;
      if (byte < 128) return value;
    }
  }

  take(length) {
    return this.bytes.subarray(this.at, (this.at += length));
  }
}

/** Returns the segments of the data section at the reader: their offsets in memory, and their bytes. */
function decode(reader) {
  return Array.from({ length: reader.unsigned() }, () => {
    if (reader.byte() !== 0 || reader.byte() !== i32const) throw new Error("a data segment without a constant offset");
    const offset = reader.unsigned() & 0x7fffffff; // signed, and Go's memory ends far below 2 GiB
    if (reader.byte() !== end) throw new Error("a data segment with a computed offset");
    return { offset, bytes: reader.take(reader.unsigned()) };
  });
}

function merge(segments) {
  const merged = [];
  let last;
  for (const { offset, bytes } of segments) {
    const gap = last ? offset - last.end : Infinity;
    if (gap >= 0 && gap <= longestGap) last.parts.push(Buffer.alloc(gap), bytes);
    else merged.push((last = { offset, parts: [bytes] }));
    last.end = offset + bytes.length;
  }
  return merged.map(({ offset, parts }) => ({ offset, bytes: Buffer.concat(parts) }));
}

function encode(segments) {
  const parts = [unsigned(segments.length)];
  for (const { offset, bytes } of segments)
    parts.push(Buffer.of(0, i32const), signed(offset), Buffer.of(end), unsigned(bytes.length), bytes);
  return Buffer.concat(parts);
}

const section = (id, body) => Buffer.concat([Buffer.of(id), unsigned(body.length), body]);

function unsigned(value) {
  const bytes = [];
  for (; value > 127; value = Math.floor(value / 128)) bytes.push((value & 127) | 128);
  return Buffer.of(...bytes, value);
}

/** Encodes a number that is not negative as signed LEB128: the last byte must not have the sign's bit. */
function signed(value) {
  const bytes = [];
  for (; value > 63; value = Math.floor(value / 128)) bytes.push((value & 127) | 128);
  return Buffer.of(...bytes, value);
}
