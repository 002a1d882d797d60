// examples/egress: hosts that its Worker lists are asked through the forwarder, which runs as a program of its own.
import assert from "node:assert/strict";
import { execFile, spawn } from "node:child_process";
import { readFileSync } from "node:fs";
import { createServer } from "node:http";
import { after, before, test } from "node:test";
import { promisify } from "node:util";
import { domainMessage, prod, quick, root, startEngine } from "./engine.mjs";

const token = "a token of the forwarder";
const asked = []; // by the forwarder, at the website
let site, forwarder, address, engine;

const pages = {
  "/robots.txt": ["text/plain", "User-agent: *\nDisallow: /private\n"],
  "/": ["text/html", "<!doctype html><title>Home</title><p>Home of an organisation</p>"],
};

before(async () => {
  site = createServer((request, answer) => {
    asked.push({ host: request.headers.host, path: request.url, headers: request.headers });
    const status = /^\/status-(.*)/.exec(request.url)?.[1];
    if (status) return request.socket.end(`HTTP/1.1 ${decodeURI(status)}\r\ncontent-length: 2\r\n\r\nhi`);
    if (request.headers.host === "moved.paper.example")
      return answer.writeHead(301, { location: "https://elsewhere.example/" }).end();
    const page = pages[request.url];
    answer.writeHead(page ? 200 : 404, { "content-type": page?.[0] ?? "text/plain" }).end(page?.[1]);
  });
  await new Promise((done) => site.listen(0, "127.0.0.1", done));
  forwarder = spawn(
    process.execPath,
    ["--import", `${root}/test/publicnames.mjs`, `${root}/examples/egress/forwarder.mjs`],
    {
      env: { ...process.env, PORT: "0", FORWARDER_TOKEN: token, SITE_PORT: String(site.address().port) },
      stdio: ["ignore", "pipe", "inherit"],
    },
  );
  for await (const line of forwarder.stdout) {
    address = `http://127.0.0.1:${/port (\d+)/.exec(line)[1]}/`;
    break;
  }
  engine = await startEngine({
    vars: { ...quick, USER_AGENT: "TestBot/1.0 (+https://bot.example/)" },
    web: {
      name: "egress",
      main: `${root}/examples/egress/worker.mjs`,
      compatibility_date: "2026-11-01",
      vars: { HOSTS: "other.example, paper.example", FORWARDER_URL: address, FORWARDER_TOKEN: token },
    },
  });
});
after(async () => {
  await engine?.close();
  forwarder?.kill();
  site?.close();
});

test("a listed host is collected through the forwarder, in the engine's own words", async () => {
  const domain = "paper.example";
  await engine.deliver("newsfork-domain-dev", [
    { id: "m1", body: domainMessage(domain, [`http://news.${domain}/`]), attempts: 1 },
  ]);
  const document = await engine.json(prod(domain));
  assert.equal(document.reachable, true, JSON.stringify(asked.map(({ host, path }) => host + path)));
  assert.equal(document.robots.exists, true);
  const request = asked.find(({ path, host }) => path === "/robots.txt" && host === domain);
  assert.equal(request.headers["user-agent"], "TestBot/1.0 (+https://bot.example/)");
  const ours = Object.keys(request.headers).filter((name) => /^(x-forward|cf-|cdn-loop|x-real)/.test(name));
  assert.deepEqual(ours, []);
});

const forward = (to, headers = {}) =>
  fetch(address, { redirect: "manual", headers: { "x-forward-to": to, "x-forward-token": token, ...headers } });

test("redirects are handed back, not followed", async () => {
  const answer = await forward("http://moved.paper.example/");
  assert.deepEqual([answer.status, answer.headers.get("location")], [301, "https://elsewhere.example/"]);
});

test("names and addresses of private networks are refused", async () => {
  const before = asked.length;
  for (const to of ["http://inside.example/", "http://127.0.0.1/", "http://[::1]/", "http://2130706433/"]) {
    const answer = await forward(to);
    assert.deepEqual([answer.status, answer.headers.get("x-forward-failed")], [502, "private"], to);
  }
  assert.equal(asked.length, before);
});

test("a website's broken answer is that website's failure, not the forwarder's end", async () => {
  for (const status of ["099", "000", "101", "101 Switching Protocols\r\nConnection: upgrade\r\nUpgrade: x"]) {
    const answer = await forward(`http://paper.example/status-${encodeURI(status)}`);
    assert.deepEqual([answer.status, answer.headers.get("x-forward-failed")], [502, "failed"], status);
  }
  assert.equal((await forward("http://paper.example/")).status, 200);
});

test("the command of docs/egress.md shows what the forwarder hands on", async () => {
  const document = readFileSync(`${root}/docs/egress.md`, "utf8");
  const command = /^ +(curl -i .*)$/m.exec(document)[1];
  const shown = (to) =>
    promisify(execFile)(
      "sh",
      ["-c", command.replace("https://example.com/", to).replace("http://127.0.0.1:8080/", address)],
      { env: { ...process.env, FORWARDER_TOKEN: token, no_proxy: "127.0.0.1" } },
    ).then(({ stdout }) => stdout);
  assert.match(
    await shown("http://paper.example/"),
    /^HTTP\/1.1 200 OK\r\n[^]*x-forwarded-by: newsfork-egress[^]*Home of/,
  );
  assert.match(await shown("http://missing.example/"), /^HTTP\/1.1 502 [^]*x-forward-failed: unresolved/);
  const reasons = /const FAILURES = \{(.*)\}/.exec(readFileSync(`${root}/examples/egress/forwarder.mjs`, "utf8"))[1];
  for (const [, reason] of reasons.matchAll(/"(\w+)"/g)) assert.ok(document.includes(`\`${reason}\``), reason);
});

test("nobody else can use it", async () => {
  assert.equal((await forward("http://paper.example/", { "x-forward-token": "another" })).status, 401);
  assert.equal((await forward("http://paper.example:22/")).status, 400);
  assert.equal((await forward("file:///etc/passwd")).status, 400);
});

test("what cannot be reached is told as the edge tells it", async () => {
  const answer = await engine.web.fetch("http://missing.paper.example/");
  assert.deepEqual([answer.status, answer.headers.get("server")], [530, "cloudflare"]);
});
