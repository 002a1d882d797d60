// Makes the data segments of a WebAssembly module fewer and smaller.
//
// Go's linker leaves out runs of zeros, which cuts the data of the engine into 100,000 segments. Reading and placing
// each of them costs more at a cold start than the zeros do. The linker also writes a table from PCs to functions, 320
// bytes a function. In WebAssembly it is redundant: the upper bits of a PC are the number of its function.
const dataSection = 11;
const dataCountSection = 12; // Go's linker writes none; its count would have to follow
const i32const = 0x41;
const end = 0x0b;

/** The longest run of zeros, in bytes, that is cheaper than another segment. */
const longestGap = 32;

/** Returns a module with the same memory at its start, in as few segments as pay. It throws on passive segments. */
export const mergeSegments = (module) => withSegments(module, (segments) => segments);

/** Is like mergeSegments, but leaves out the table from PCs to functions, which functionsByPC (build.mjs) replaces. */
export const mergeSegmentsWithoutTable = (module) => withSegments(module, withoutFunctionTable);

function withSegments(module, change) {
  const reader = new Reader(module, 8);
  const sections = [module.subarray(0, 8)];
  while (reader.at < module.length) {
    const start = reader.at;
    const id = reader.byte();
    const length = reader.unsigned();
    const next = reader.at + length;
    if (id === dataCountSection) throw new Error("a module with a data count section");
    sections.push(
      id === dataSection ? section(id, encode(change(merge(decode(reader))))) : module.subarray(start, next),
    );
    reader.at = next;
  }
  return Buffer.concat(sections);
}

// The table is runtime.findfunctab (cmd/link/internal/ld/pcln.go). A record covers 4 KiB of PCs: the number of the first
// function, then 16 bytes, one for each 256 PCs, to be added to it. In WebAssembly each function takes 64 KiB of PCs, so
// it has 16 equal records, whose 16 bytes are zero.
const record = 20;
const perFunction = 16;
const fewFunctions = 500;

/** Cuts out the table's records, as far as they map each PC to the function in its upper bits. */
function withoutFunctionTable(segments) {
  const start = Buffer.alloc(3 * perFunction * record);
  for (let i = 0; i < 3 * perFunction; i++) start.writeUInt32LE(1 + Math.floor(i / perFunction), i * record);
  return segments.flatMap(({ offset, bytes }) => {
    const from = bytes.indexOf(start); // of function 1: the records of function 0 are zeros
    if (from < 0) return { offset, bytes };
    const says = (i) =>
      bytes.readUInt32LE(from + i * record) === 1 + Math.floor(i / perFunction) &&
      bytes.subarray(from + i * record + 4, from + (i + 1) * record).every((one) => one === 0);
    let n = 0;
    while (from + (n + 1) * record <= bytes.length && says(n)) n++;
    if (n < fewFunctions * perFunction) return { offset, bytes };
    const to = from + n * record;
    return [
      { offset, bytes: bytes.subarray(0, from) },
      { offset: offset + to, bytes: bytes.subarray(to) },
    ];
  });
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
