import assert from "node:assert/strict";
import { execFileSync, spawn } from "node:child_process";
import { once } from "node:events";
import { readdirSync, readFileSync, statSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { test } from "node:test";
import { setImmediate } from "node:timers/promises";
import { fileURLToPath } from "node:url";
import { build, functionsByPC, oneSort, overlay, supportCode, tls, withoutTLS } from "../../worker/build.mjs";
import { mergeSegments, mergeSegmentsWithoutTable } from "../../worker/segments.mjs";

const here = dirname(fileURLToPath(import.meta.url));
const out = join(here, "../../build/runtime-build"); // its own: other files run the fixture meanwhile
const go = (...args) => execFileSync("go", args, { cwd: here, encoding: "utf8" }).trim();
const source = readFileSync(join(go("env", "GOROOT"), "lib/wasm/wasm_exec.js"), "utf8");

test("the Go version in use and the library agree on the support code", () => {
  // The library's copy hands its context object to the program through a proxy of globalThis, the
  // pool through a property of it. All else must be the same, or one of them is for another Go version.
  const library = readFileSync(
    join(
      go("list", "-m", "-f", "{{.Dir}}", "github.com/syumai/workers"),
      "cmd/workers-assets-gen/assets/wasm_exec_go.js",
    ),
    "utf8",
  );
  const withoutProxy = library
    .replace("async run(instance, context) {", "async run(instance) {")
    .replace(/\t\t\tconst globalProxy = new Proxy\(globalThis, \{\n.*?\n\t\t\t\}\)\n/s, "")
    .replaceAll("globalProxy", "globalThis");
  assert.notEqual(withoutProxy, library);
  assert.equal(withoutProxy.trim(), source.trim());
});

test("support code that lacks what the pool relies on is refused", () => {
  assert.equal(supportCode(source), source);
  for (const part of ["_resume() {", "this.exit(code);", "_scheduledTimeouts", '"syscall/js.valueNew"']) {
    assert.throws(() => supportCode(source.replaceAll(part, "renamed")), /wasm_exec\.js/, part);
  }
});

test("Go's TLS, for which a Worker has no use, is not in the program", () => {
  build(join(here, "fixture"), out);
  const program = readFileSync(join(out, "app.wasm"));
  assert.ok(program.includes("net/http"));
  for (const name of ["crypto/x509.", "crypto/ecdsa.", "crypto/internal/fips140/nistec."])
    assert.ok(!program.includes(name), name);
});

test("a Go version for which the stand-in lacks something compiles its own", () => {
  const empty = join(out, "empty.go");
  writeFileSync(empty, "package tls\n");
  assert.deepEqual(overlay(withoutTLS(empty)), []);
  assert.deepEqual(overlay(oneSort("package other\n")), []);
  assert.deepEqual(overlay(functionsByPC("package runtime\n")), []);
  const [flag] = overlay(withoutTLS(tls));
  const { Replace } = JSON.parse(readFileSync(flag.replace("-overlay=", ""), "utf8"));
  assert.ok(Object.keys(Replace).length > 10);
});

test("the one sort of all types passes Go's tests of package slices", () => {
  go("test", ...overlay(oneSort()), "slices", "-run", "Sort|Stable|PDQ");
});

test("functions found by their PCs pass Go's tests of callers and stacks", () => {
  const exec = `-exec=${join(go("env", "GOROOT"), "lib/wasm/go_js_wasm_exec")}`;
  execFileSync("go", ["test", ...overlay(functionsByPC()), exec, "runtime", "-run", "Caller|LineNumber|Inline|Stack"], {
    env: { ...process.env, GOOS: "js", GOARCH: "wasm", PATH: `${dirname(process.execPath)}:${process.env.PATH}` },
  });
});

/** The linker's table for n functions, which says of the last but one that it begins a byte later if it is crooked. */
function functionTable(n, crooked = false) {
  const table = Buffer.alloc(n * 320);
  for (let i = 0; i < n * 16; i++) table.writeUInt32LE(i >> 4, i * 20);
  if (crooked) table[(n - 1) * 320 - 1] = 1;
  return table;
}

test("the table from PCs to functions is left out if it says nothing else", () => {
  const other = Buffer.from("what is beside it");
  const left = (table) =>
    mergeSegmentsWithoutTable(withData([0, other], [100, Buffer.concat([other, table, other])])).length;
  const all = left(Buffer.alloc(700 * 320, 1));
  assert.ok(all > 700 * 320);
  assert.ok(left(functionTable(700)) < 500);
  assert.ok(left(functionTable(400)) > 400 * 320, "too short to be one");
  assert.ok(left(functionTable(700, true)) < 1000, "its end stays");
  build(join(here, "fixture"), out);
  const program = readFileSync(join(out, "app.wasm"));
  assert.equal(program.indexOf(functionTable(102).subarray(320 * 100)), -1);
});

const unsigned = (n) => (n < 128 ? [n] : [(n & 127) | 128, ...unsigned(n >> 7)]);

/** A module with a memory that it exports, and data segments. */
function withData(...segments) {
  const data = segments.map(([offset, text]) => {
    const high = offset >> 7;
    const at = high ? [(offset & 127) | 128, high] : [offset];
    return Buffer.concat([Buffer.of(0, 0x41, ...at, 0x0b, ...unsigned(text.length)), Buffer.from(text)]);
  });
  const section = (id, ...parts) => {
    const body = Buffer.concat(parts);
    return Buffer.concat([Buffer.of(id, ...unsigned(body.length)), body]);
  };
  return Buffer.concat([
    Buffer.of(0, 0x61, 0x73, 0x6d, 1, 0, 0, 0),
    section(5, Buffer.of(1, 0, 4)),
    section(7, Buffer.of(1, 1, 0x6d, 2, 0)),
    section(11, Buffer.of(segments.length), ...data),
  ]);
}

test("merged data segments leave the same memory", () => {
  const module = withData([1, "a"], [3, "bc"], [5, "d"], [60, "far"], [200, "farther"], [240, "near"]);
  const memory = (bytes) => Buffer.from(new WebAssembly.Instance(new WebAssembly.Module(bytes)).exports.m.buffer);
  const merged = mergeSegments(module);
  assert.deepEqual(memory(merged), memory(module));
  assert.ok(merged.includes("a\0bcd") && merged.includes("far") && !merged.includes("far\0\0"));
  assert.deepEqual(mergeSegments(merged), merged);
});

test("the output is complete, belongs to this Go version, and a second build leaves it alone", () => {
  build(join(here, "fixture"), out);
  const program = readFileSync(join(out, "app.wasm"));
  const written = () =>
    ["app.wasm", "wasm_exec.js", "entry.mjs", "pool.mjs"].map((name) => statSync(join(out, name)).mtimeMs);
  const before = written();
  build(join(here, "fixture"), out);
  assert.deepEqual(written(), before);
  assert.ok(program.equals(readFileSync(join(out, "app.wasm"))));
  assert.equal(readFileSync(join(out, "wasm_exec.js"), "utf8"), source);
});

test("a process that reads the output while another builds it sees whole files", async () => {
  build(join(here, "fixture"), out);
  const file = join(out, "app.wasm");
  const program = readFileSync(file);
  const older = Buffer.concat([program, Buffer.from([0])]); // so that it is linked again
  writeFileSync(file, older);
  const script = `import { build } from ${JSON.stringify(new URL("../../worker/build.mjs", import.meta.url))}; build(${JSON.stringify(join(here, "fixture"))}, ${JSON.stringify(out)});`;
  const builder = spawn(process.execPath, ["--input-type=module", "-e", script], { stdio: "inherit" });
  const ended = once(builder, "exit");
  let looks = 0;
  for (; builder.exitCode === null; looks++) {
    const seen = readFileSync(file);
    assert.ok(
      seen.equals(program) || seen.equals(older),
      `a program that is half there: ${seen.length} of ${program.length} bytes`,
    );
    await setImmediate();
  }
  assert.deepEqual(await ended, [0, null]);
  assert.ok(program.equals(readFileSync(file)));
  assert.ok(looks > 20, `looked only ${looks} times`);
  assert.deepEqual(
    readdirSync(out).filter((name) => name.startsWith("app.wasm")),
    ["app.wasm"],
  );
});
