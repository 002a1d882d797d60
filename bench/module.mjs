// What each package weighs in the engine's module: node bench/module.mjs; JSON=1 prints one JSON object.
//
// The compressed code of a package is an estimate: what the code of all packages takes together, shared out by what each
// takes alone. Data (strings, types, the tables of functions) has no names by which it could be shared out.
import { execFileSync } from "node:child_process";
import { mkdtempSync, readdirSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { gzipSync } from "node:zlib";
import { buildEngine, compile } from "../worker/build.mjs";
import { root, Rows } from "./rows.mjs";

const project = "github.com/newsfork/seed-engine";
const limit = 14 * 1024; // KiB, our own: the platform takes 64 MiB
const least = 5; // KiB, of packages with a line of their own

/** Reads the sections of a WebAssembly module: the bodies of its functions with their names, and its data. */
function sections(module) {
  let at = 8;
  const number = () => {
    let value = 0;
    for (let shift = 0; ; shift += 7) {
      const byte = module[at++];
      value += (byte & 127) * 2 ** shift;
      if (byte < 128) return value;
    }
  };
  const bytes = () => {
    const length = number();
    return module.subarray(at, (at += length));
  };
  const bodies = [];
  const names = new Map();
  let imported = 0;
  let data = module.subarray(0, 0);
  const imports = () => {
    for (let n = number(); n > 0; n--) {
      bytes(); // module
      bytes(); // name
      if (module[at++] !== 0) throw new Error("the program imports something that is no function");
      number(); // type
      imported++;
    }
  };
  const custom = (end) => {
    if (bytes().toString() !== "name") return;
    while (at < end) {
      const ofFunctions = module[at++] === 1;
      const next = number() + at;
      if (ofFunctions) for (let n = number(); n > 0; n--) names.set(number(), bytes().toString());
      at = next;
    }
  };
  while (at < module.length) {
    const section = module[at++];
    const end = number() + at;
    if (section === 0) custom(end);
    if (section === 2) imports();
    if (section === 10) for (let n = number(); n > 0; n--) bodies.push(bytes());
    if (section === 11) data = module.subarray(at, end);
    at = end;
  }
  return { functions: bodies.map((body, i) => ({ name: names.get(imported + i), body })), data };
}

/** The packages of the program, by the beginning of the names of their functions. */
function packages() {
  const list = execFileSync("go", ["list", "-deps", "."], {
    cwd: root,
    encoding: "utf8",
    env: { ...process.env, GOOS: "js", GOARCH: "wasm" },
  });
  return new Map(
    list
      .trim()
      .split("\n")
      .map((path) => [path.replaceAll(/[^\w.]/g, "_"), path]),
  );
}

/** The package of a function; "" for what the compiler made for all of them. */
function packageOf(name, known) {
  for (let i = name.length; i > 0; i = name.lastIndexOf(".", i - 1)) {
    const path = known.get(name.slice(0, i));
    if (path) return path;
  }
  return "";
}

/** Returns the line of the table for a package: a folder of the project, a package of Go's, a module of others. */
function lineOf(path) {
  if (path === project) return "main";
  if (path.startsWith(`${project}/`)) return path.slice(project.length + 1).split("/")[0];
  if (/^(vendor|internal|runtime|crypto)\b/.test(path)) return `${path.split("/")[0]} …`;
  return path.includes(".") ? path.split("/").slice(0, 3).join("/") : path || "of no package";
}

const kib = (n) => Math.round((n / 1024) * 10) / 10;
const compressed = (...parts) => gzipSync(Buffer.concat(parts)).length;

const directory = mkdtempSync(join(tmpdir(), "module-"));
compile(root, join(directory, "named.wasm"), true);
const { functions, data } = sections(readFileSync(join(directory, "named.wasm")));
rmSync(directory, { recursive: true });
const known = packages();
const lines = Map.groupBy(functions, ({ name }) => lineOf(packageOf(name, known)));
const code = [...lines].map(([name, list]) => {
  const bodies = list.map(({ body }) => body);
  return { name, bytes: bodies.reduce((sum, body) => sum + body.length, 0), alone: compressed(...bodies) };
});
const together = compressed(...functions.map(({ body }) => body));
const alone = code.reduce((sum, line) => sum + line.alone, 0);
for (const line of code) line.gzip = (line.alone / alone) * together;
code.sort((a, b) => b.gzip - a.gzip);

buildEngine();
const deployed = join(root, "build/deploy");
const files = readdirSync(deployed).filter((name) => /\.(wasm|m?js)$/.test(name));
const scripts = files.filter((name) => !name.endsWith(".wasm")).map((f) => readFileSync(join(deployed, f)));
const program = readFileSync(join(deployed, "app.wasm"));
const sizes = (...parts) => parts.reduce((total, part) => total + part.length, 0);
const gzip = compressed(program) + compressed(...scripts);
const bytes = sizes(program, ...scripts);

const small = code.filter(({ gzip }) => gzip < least * 1024);
const sum = (list, key) => list.reduce((total, line) => total + line[key], 0);
const table = [
  ...code.filter((line) => !small.includes(line)).map(({ name, bytes, gzip }) => [name, bytes, gzip]),
  [`${small.length} others below ${least} KiB`, sum(small, "bytes"), sum(small, "gzip")],
  ["data: strings, types, tables of functions", data.length, compressed(data)],
  ["the entry module, the pool and Go's support code", sizes(...scripts), compressed(...scripts)],
];
if (process.env.JSON) {
  const packages = Object.fromEntries(code.map(({ name, bytes, gzip }) => [name, { bytes, gzip: Math.round(gzip) }]));
  console.log(JSON.stringify({ bytes, limit: limit * 1024, gzip, data: compressed(data), packages }));
} else {
  console.log(`${kib(bytes).toLocaleString("en")} KiB of ${limit.toLocaleString("en")}, ${kib(gzip)} KiB gzip\n`);
  console.log("| package | KiB | KiB gzip | share |\n| --- | --- | --- | --- |");
  for (const [name, bytes, part] of table)
    console.log(`| ${name} | ${kib(bytes)} | ${kib(part)} | ${((part / gzip) * 100).toFixed(1)} % |`);
  console.log();
  const rows = new Rows("module");
  rows.report("the module as it is deployed, uncompressed", `≤ ${limit.toLocaleString("en")} KiB`, {
    engine_kib: kib(bytes),
  });
  rows.finish({ quick: false });
}
