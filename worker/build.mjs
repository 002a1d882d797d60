// Builds a Worker: node worker/build.mjs [Go package directory] [output directory]
//
// Writes the compiled program (app.wasm), the support code of the Go version that compiled it
// (wasm_exec.js), the entry module and the pool to the output directory.
import { execFileSync, spawnSync } from "node:child_process";
import { existsSync, mkdirSync, readdirSync, readFileSync, renameSync, writeFileSync } from "node:fs";
import { basename, dirname, join, relative, resolve } from "node:path";
import { fileURLToPath } from "node:url";

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

// Packages in which little time is spent. Without inlining, the compressed program is a tenth of a
// megabyte smaller.
const project = "github.com/newsfork/seed-engine";
const notInlined = [
  ...[
    "crypto/...",
    "encoding/base64",
    "encoding/hex",
    "encoding/json",
    "encoding/pem",
    "encoding/asn1",
    "fmt",
    "log/...",
    "math/big",
    "mime/...",
    "net",
    "net/...",
    "reflect",
    "time",
    "vendor/...",
  ],
  ...["golang.org/...", "github.com/syumai/..."],
  ...[
    "alarms",
    "contract",
    "controls",
    "deadletters",
    "engine",
    "handlers",
    "ledger",
    "orchestrator",
    "queues",
    "reconcile",
    "settings",
  ].map((room) => `${project}/${room}`),
];

/** What is compiled in the place of Go's crypto/tls. */
export const tls = join(here, "tls/tls.go");

const target = { ...process.env, GOOS: "js", GOARCH: "wasm" };
const tags = "-tags=nethttpomithttp2";

/**
 * Gives the flags that leave crypto/tls out: an eighth of the compressed program, and none of it of use. None
 * where another version of Go needs more of the package than the stand-in has: then the program is larger.
 */
export function withoutTLS(standIn) {
  const original = join(execFileSync("go", ["env", "GOROOT"], { encoding: "utf8" }).trim(), "src/crypto/tls");
  const sources = readdirSync(original).filter((name) => name.endsWith(".go"));
  const replaced = Object.fromEntries(sources.map((name) => [join(original, name), ""]));
  const overlay = JSON.stringify({ Replace: { ...replaced, [join(original, "tls.go")]: standIn } });
  const file = join(root, "build", `${basename(standIn, ".go")}.overlay.json`);
  mkdirSync(dirname(file), { recursive: true });
  update(file, overlay);
  const flag = `-overlay=${file}`;
  const { status } = spawnSync("go", ["build", tags, flag, "net/http"], { cwd: root, env: target });
  if (status === 0) return [flag];
  console.warn(
    "This version of Go needs more of crypto/tls than worker/tls has, so the Worker is compiled with all of it.",
  );
  return [];
}

/** Compiles the Go package in dir for WebAssembly. A process that reads the file meanwhile sees the previous one. */
export function compile(dir, file) {
  const next = `${file}.${process.pid}`;
  const plain = notInlined.map((packages) => `-gcflags=${packages}=-l`);
  const flags = ["-trimpath", "-ldflags=-s -w", tags, ...withoutTLS(tls), ...plain];
  execFileSync("go", ["build", ...flags, "-o", next, "."], { cwd: dir, env: target, stdio: "inherit" });
  renameSync(next, file);
}

/** Compiles the Go package in dir and puts a complete Worker into out. */
export function build(dir, out) {
  mkdirSync(out, { recursive: true });
  compile(dir, join(out, "app.wasm"));
  const goroot = execFileSync("go", ["env", "GOROOT"], { cwd: dir, encoding: "utf8" }).trim();
  update(join(out, "wasm_exec.js"), supportCode(readFileSync(join(goroot, "lib/wasm/wasm_exec.js"), "utf8")));
  for (const name of modules) update(join(out, name), readFileSync(join(here, name), "utf8"));
}

// The JavaScript half of the runtime.
const modules = readdirSync(here).filter((name) => name.endsWith(".mjs") && name !== "build.mjs");

function update(path, content) {
  if (!existsSync(path) || readFileSync(path, "utf8") !== content) writeFileSync(path, content);
}

if (process.argv[1] === fileURLToPath(import.meta.url)) {
  const dir = resolve(process.argv[2] ?? root);
  const out = resolve(process.argv[3] ?? join(root, "build/worker"));
  build(dir, out);
  console.log(`${relative(process.cwd(), out) || "."}: app.wasm, wasm_exec.js, ${modules.join(", ")}`);
}
