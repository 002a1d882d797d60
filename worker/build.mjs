// Builds a Worker: node worker/build.mjs [Go package directory, output directory]
//
// Writes the compiled program (app.wasm), the support code of the Go version that compiled it
// (wasm_exec.js), the entry module and the pool to the output directory. Without arguments it builds the engine: in
// build/deploy as it is deployed, in build/assets its static files, in build/worker with those that it reads in the bundle.
import { execFileSync, spawnSync } from "node:child_process";
import { createHash } from "node:crypto";
import { existsSync, mkdirSync, readdirSync, readFileSync, renameSync, rmSync, writeFileSync } from "node:fs";
import { basename, dirname, join, relative, resolve } from "node:path";
import { fileURLToPath } from "node:url";
import { gzipSync } from "node:zlib";
import { mergeSegments, mergeSegmentsWithoutTable } from "./segments.mjs";

const here = dirname(fileURLToPath(import.meta.url));
const root = dirname(here);

// What the pool relies on in Go's support code, beyond its public constructor and run.
const anchors = [
  "globalThis.Go = class",
  "_resume() {",
  "go._resume();", // callbacks enter through the method that the pool replaces
  "this.exit(code);",
  "this._resolveExitPromise();",
  "this._scheduledTimeouts.set(id, setTimeout(",
  "this._scheduledTimeouts.delete(id);",
  "while (this._scheduledTimeouts.has(id)) {",
  '"syscall/js.valueCall": (sp) => {',
  '"syscall/js.valueInvoke": (sp) => {',
  '"syscall/js.valueNew": (sp) => {',
];

/** Checks that Go's support code is as the pool expects it, and returns it. */
export function supportCode(source) {
  const missing = anchors.filter((anchor) => !source.includes(anchor));
  if (missing.length) {
    throw new Error(`wasm_exec.js of this Go version lacks what worker/pool.mjs relies on:\n${missing.join("\n")}`);
  }
  return source;
}

const target = { ...process.env, GOOS: "js", GOARCH: "wasm" };
const tags = "-tags=nethttpomithttp2";
const goSource = (...path) => join(execFileSync("go", ["env", "GOROOT"], { encoding: "utf8" }).trim(), "src", ...path);

/** Compiled in place of Go's crypto/tls. */
export const tls = join(here, "tls/tls.go");

/**
 * Leaves crypto/tls out: a Worker's requests go through the platform. It would be a tenth of the program, and of the time
 * that a cold isolate compiles it.
 */
export function withoutTLS(standIn) {
  const original = goSource("crypto/tls");
  const sources = readdirSync(original).filter((file) => file.endsWith(".go"));
  const replace = Object.fromEntries(sources.map((file) => [join(original, file), ""]));
  return { ...replace, [join(original, basename(standIn))]: standIn };
}

// The sorts of package slices, by those of package sort.
const sortsByIndex = `
type lessSwap struct {
	Less func(i, j int) bool
	Swap func(i, j int)
}

func byIndex[E any](data []E, cmp func(a, b E) int) lessSwap {
	return lessSwap{
		func(i, j int) bool { return cmp(data[i], data[j]) < 0 },
		func(i, j int) { data[i], data[j] = data[j], data[i] },
	}
}

func pdqsortCmpFunc[E any](data []E, a, b, limit int, cmp func(a, b E) int) {
	pdqsort_func(byIndex(data, cmp), a, b, limit)
}

func stableCmpFunc[E any](data []E, n int, cmp func(a, b E) int) {
	stable_func(byIndex(data, cmp), n)
}
`;

/**
 * Lets slices.SortFunc and SortStableFunc share one sort, that of package sort, which Go generates from the same template.
 * Compiled for each type, they would be a twentieth of the program's code, and of the time that a cold isolate compiles it.
 */
export function oneSort(source = readFileSync(goSource("sort/zsortfunc.go"), "utf8")) {
  const text = source.replace("\npackage sort\n", "\npackage slices\n") + sortsByIndex;
  return { [goSource("slices/zsortanyfunc.go")]: kept(text, "go.txt") }; // a .go file would be a package of the project
}

// The code by which package runtime finds the function of a PC, and the shorter code in its place: in WebAssembly a PC is
// the number of its function and that of a block, and pcOff is the former.
const findFunction = /\tx := uintptr\(pcOff\)[^]*?\tidx := ffb\.idx \+ uint32\(ffb\.subbuckets\[i\]\)\n/;
const unused = "\tconst nsub = uintptr(len(findfuncbucket{}.subbuckets))\n";
const findByPC = "\tidx := pcOff - datap.ftab[0].entryoff\n";

/**
 * Lets Go find the function of a PC without the table of 320 bytes a function that the linker writes: a seventh of the
 * program, which mergeSegmentsWithoutTable then leaves out.
 */
export function functionsByPC(source = readFileSync(goSource("runtime/symtab.go"), "utf8")) {
  const text = source.replace(unused, "").replace(findFunction, findByPC);
  return { [goSource("runtime/symtab.go")]: kept(text.includes(findByPC) ? text : "", "go.txt") };
}

/** Keeps a text in a file in build, named by the text, so that several compilations can use one at once. */
function kept(text, extension) {
  const name = createHash("sha256").update(text).digest("hex").slice(0, 16);
  const file = join(root, "build", `${name}.${extension}`);
  mkdirSync(dirname(file), { recursive: true });
  update(file, text);
  return file;
}

/**
 * Returns the flags that compile other files in place of Go's own, given by their paths. If they do not suit the Go
 * version, the Worker is compiled with Go's own, and is larger.
 */
export function overlay(replace) {
  const flags = [`-overlay=${kept(JSON.stringify({ Replace: replace }), "overlay.json")}`];
  const { status } = spawnSync("go", ["build", tags, ...flags, "net/http"], { cwd: root, env: target });
  if (status === 0) return flags;
  console.warn(
    "What replaces parts of Go's library does not suit this version of Go, so the Worker is compiled with Go's own.",
  );
  return [];
}

/**
 * Compiles the Go package in dir for WebAssembly, with the names of its functions if they are wanted. A process that
 * reads the file meanwhile sees the previous one.
 */
export function compile(dir, file, names = false) {
  const compiled = `${file}.${process.pid}.go`;
  const replaced = overlay({ ...withoutTLS(tls), ...oneSort(), ...functionsByPC() });
  const flags = ["-trimpath", names ? "-ldflags=-w" : "-ldflags=-s -w", tags, ...replaced];
  execFileSync("go", ["build", ...flags, "-o", compiled, "."], { cwd: dir, env: target, stdio: "inherit" });
  const merge = replaced.length ? mergeSegmentsWithoutTable : mergeSegments;
  update(file, merge(readFileSync(compiled)));
  rmSync(compiled);
}

/** The static files of the engine, as the configuration of a Worker has them. */
export const assets = { directory: join(root, "build/assets"), binding: "ASSETS", run_worker_first: true };

/** Where the static files of the engine come from, by their paths. */
function published() {
  const files = { "openapi.json": "contract/openapi.json" };
  const add = (from, to) => {
    for (const entry of readdirSync(join(root, from), { recursive: true, withFileTypes: true }))
      if (entry.isFile()) {
        const path = join(entry.parentPath, entry.name);
        files[join(to, relative(join(root, from), path))] = relative(root, path);
      }
  };
  add("dashboard/public", "");
  add("contract/schemas", "schemas");
  const model = readFileSync(join(root, "classify/model.sum"), "utf8").trim();
  files[`classify/${model}.model`] = "classify/embedded/classifier.model"; // see classify.ModelPath
  return files;
}

/** Puts the static files of the engine into a directory, and nothing else. */
export function publish(out = assets.directory) {
  const files = published();
  for (const [path, source] of Object.entries(files)) {
    mkdirSync(dirname(join(out, path)), { recursive: true });
    update(join(out, path), readFileSync(join(root, source)));
  }
  for (const entry of readdirSync(out, { recursive: true, withFileTypes: true })) {
    const path = join(entry.parentPath, entry.name);
    if (entry.isFile() && !(relative(out, path) in files)) rmSync(path);
  }
}

/** The files among the static ones that the program reads, by their paths. */
const readByTheProgram = (path) => !path.startsWith("dashboard/") && path !== "_headers";

/**
 * Puts a module into out that has the static files that the program reads in the bundle: compressed, as text, so that
 * nothing has to be configured for them.
 */
function bundleFiles(out) {
  const entries = Object.entries(published())
    .filter(([path]) => readByTheProgram(path))
    .map(([path, source]) => `  ["/${path}", "${gzipSync(readFileSync(join(root, source))).toString("base64")}"],\n`);
  update(join(out, bundled), `export const files = new Map([\n${entries.join("")}]);\n`);
}

/**
 * Compiles the Go package in dir and puts a complete Worker into out, the engine with the static files that it reads in
 * the bundle.
 */
export function build(dir, out) {
  mkdirSync(out, { recursive: true });
  compile(dir, join(out, "app.wasm"));
  const goroot = execFileSync("go", ["env", "GOROOT"], { cwd: dir, encoding: "utf8" }).trim();
  update(join(out, "wasm_exec.js"), supportCode(readFileSync(join(goroot, "lib/wasm/wasm_exec.js"), "utf8")));
  const isEngine = resolve(dir) === root;
  for (const name of modules)
    if (!isEngine || name !== bundled) update(join(out, name), readFileSync(join(here, name)));
  if (isEngine) bundleFiles(out);
}

/** Puts the engine into out, as build does, and as it is deployed into another directory, beside its static files. */
export function buildEngine(out = join(root, "build/worker"), deployed = join(root, "build/deploy")) {
  build(root, out);
  mkdirSync(deployed, { recursive: true });
  for (const name of ["app.wasm", "wasm_exec.js", ...modules])
    update(join(deployed, name), readFileSync(join(name === bundled ? here : out, name)));
  publish();
}

const buildOnly = ["build.mjs", "segments.mjs"];

// The JavaScript half of the runtime.
const modules = readdirSync(here).filter((name) => name.endsWith(".mjs") && !buildOnly.includes(name));
const bundled = "bundled.mjs";

// A file that is as it should be stays untouched: it may be one that a running wrangler dev watches, which would start the
// Worker anew and lose the messages in its queues.
function update(path, content) {
  const bytes = Buffer.from(content);
  if (existsSync(path) && readFileSync(path).equals(bytes)) return;
  writeFileSync(`${path}.${process.pid}`, bytes);
  renameSync(`${path}.${process.pid}`, path);
}

if (process.argv[1] === fileURLToPath(import.meta.url)) {
  const [dir, out] = process.argv.slice(2).map((path) => resolve(path));
  if (dir) build(dir, out);
  else buildEngine();
  console.log(`${dir ? relative(process.cwd(), out) : "build/worker"}: app.wasm, wasm_exec.js, ${modules.join(", ")}`);
}
