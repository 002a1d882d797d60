// Runs the example scrapers as their READMEs say, with the packages as they are published.
import assert from "node:assert/strict";
import { spawn, spawnSync } from "node:child_process";
import {
  copyFileSync,
  cpSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readFileSync,
  readdirSync,
  rmSync,
  writeFileSync,
} from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join, resolve } from "node:path";
import { text } from "node:stream/consumers";
import { after } from "node:test";
import { root } from "../engine.mjs";

/** With HOUR=1, together.test.mjs goes on for an hour. */
export const HOUR = process.env.HOUR === "1";

/** A directory of this run. */
export const scratch = mkdtempSync(join(tmpdir(), "examples-"));
after(() => rmSync(scratch, { recursive: true }));

/** The commands in an example's README: the indented lines, without comments. */
export function commands(example) {
  const readme = readFileSync(join(root, "examples", example, "README.md"), "utf8");
  return readme
    .split("\n")
    .filter((line) => /^ {4}\S/.test(line))
    .map((line) => line.trim());
}

/** A function that does its work the first time. */
function once(work) {
  let done;
  return () => (done ??= work());
}

/** Runs a command of a README in the example's directory, with the sample web behind the proxy. */
export async function run(command, example, env, meanwhile = () => {}) {
  const child = spawn("bash", ["-c", command], {
    cwd: resolve(root, "examples", example),
    timeout: HOUR ? 2 * 3_600_000 : 300_000,
    env: { ...process.env, PATH: `${dirname(process.execPath)}:${process.env.PATH}`, ...env },
  });
  const ended = new Promise((done, failed) => child.on("close", done).on("error", failed));
  meanwhile(child);
  const [out, errors, code] = await Promise.all([text(child.stdout), text(child.stderr), ended]);
  return { code, output: out + errors };
}

/** The lines of a file of JSON lines. */
export function readLines(file) {
  const lines = readFileSync(file, "utf8").trim().split("\n");
  return lines.map((line) => JSON.parse(line));
}

/** The items that a program printed, a line each. */
export function printedItems(output) {
  return Array.from(output.matchAll(/^item (.*)$/gm), ([, item]) => JSON.parse(item));
}

/** The items that Crawlee has stored. */
export function readDataset(storage) {
  const dataset = join(storage, "datasets/default");
  const names = readdirSync(dataset).filter((name) => /^\d+\.json$/.test(name));
  return names.map((name) => JSON.parse(readFileSync(join(dataset, name), "utf8")));
}

/** The directory of a program with the package for Node, which install puts there. */
export const nodeDirectory = join(scratch, "node");
export const install = once(async () => {
  mkdirSync(nodeDirectory);
  copyFileSync(join(root, "examples/node/news.mjs"), join(nodeDirectory, "news.mjs"));
  const line = commands("node").find((one) => one.startsWith("npm install"));
  writeFileSync(join(scratch, "package.json"), "{}"); // npm without a package.json takes that of a directory above
  const command = `${line.replace("../../", `${root}/`)} --prefer-offline --no-audit --no-fund`;
  const { code, output } = await run(command, nodeDirectory, {});
  assert.equal(code, 0, output);
  assert.equal(readFileSync(join(scratch, "package.json"), "utf8"), "{}");
  assert.ok(!existsSync(join(scratch, "node_modules")), "nothing is installed above the example");
});

/** Debian's Python, which has Protego by test/packages.sh. */
export const python = "/usr/bin/python3";

/** The package for Python, which buildWheel writes. */
export const wheel = join(scratch, "newsfork-1.0.0-py3-none-any.whl");
export const buildWheel = once(async () => {
  cpSync(join(root, "clients/python"), join(scratch, "source"), { recursive: true });
  const build = `${python} -c "from setuptools import build_meta; build_meta.build_wheel('..')"`;
  const { code, output } = await run(build, join(scratch, "source"), {});
  assert.equal(code, 0, output);
});

// What is not installed by `make packages` is skipped, but not in CI.
export const hasPython = spawnSync(python, ["-c", "import protego, setuptools, wheel"]).status === 0;
export const scrapy = spawnSync("scrapy", ["version"]).status === 0;
export const crawlee = existsSync(join(root, "examples/crawlee/node_modules"));
