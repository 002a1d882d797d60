import assert from "node:assert/strict";
import { execFileSync, spawn } from "node:child_process";
import { once } from "node:events";
import { readdirSync, readFileSync, statSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { test } from "node:test";
import { setImmediate } from "node:timers/promises";
import { fileURLToPath } from "node:url";
import { build, idna, oneSort, overlay, supportCode, tls, withoutIDNA, withoutTLS } from "../../worker/build.mjs";

const here = dirname(fileURLToPath(import.meta.url));
const out = join(here, "../../build/runtime-fixture");
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

test("what a Worker has no use for is not in the program: Go's TLS, and the idna of net/http", () => {
  build(join(here, "fixture"), out);
  const program = readFileSync(join(out, "app.wasm"));
  assert.ok(program.includes("net/http"));
  for (const name of [
    "crypto/x509.",
    "crypto/ecdsa.",
    "crypto/internal/fips140/nistec.",
    "vendor/golang.org/x/text/unicode/norm.",
  ])
    assert.ok(!program.includes(name), name);
});

/** The files that are replaced. */
const replaced = (flags) => {
  const [, file] = /^-overlay=(.*)$/.exec(flags.join()) ?? [];
  return file ? Object.keys(JSON.parse(readFileSync(file, "utf8")).Replace) : [];
};

test("a Go version for which a stand-in lacks something compiles its own", () => {
  const empty = join(out, "empty.go");
  writeFileSync(empty, "package tls\n");
  assert.deepEqual(overlay(withoutTLS(empty), oneSort("package other\n")), []);
  const sort = replaced(overlay(oneSort()));
  assert.equal(sort.length, 1);
  assert.deepEqual(replaced(overlay(withoutTLS(empty), oneSort())), sort);
  const all = replaced(overlay(withoutTLS(tls), withoutIDNA(idna), oneSort()));
  assert.ok(all.length > 20 && all.includes(sort[0]), all.join());
});

test("the one sort of all types passes Go's tests of package slices", () => {
  go("test", ...overlay(oneSort()), "slices", "-run", "Sort|Stable|PDQ");
});

test("the output is complete, belongs to this Go version, and a second build leaves it alone", () => {
  build(join(here, "fixture"), out);
  const program = readFileSync(join(out, "app.wasm"));
  const written = () => ["wasm_exec.js", "entry.mjs", "pool.mjs"].map((name) => statSync(join(out, name)).mtimeMs);
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
