// The example scrapers refuse names that resolve to addresses which are not public. Their engine and the name server
// are played here: whoever controls a name decides where it leads, and may change that between two requests.
import assert from "node:assert/strict";
import { spawn, spawnSync } from "node:child_process";
import { existsSync, mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { createServer } from "node:http";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { json, text } from "node:stream/consumers";
import { after, test } from "node:test";
import { root } from "./engine.mjs";

const PUBLIC = "93.184.216.34"; // connections to it end at this test's server
const refused = [
  ...["0.0.0.0", "10.1.2.3", "100.64.0.1", "127.0.0.1", "127.9.9.9", "169.254.169.254", "172.16.0.1", "172.31.255.255"],
  ...["192.0.0.1", "192.0.2.1", "192.168.1.1", "198.18.0.1", "224.0.0.1", "240.0.0.1", "255.255.255.255"],
  ...["::", "::1", "::ffff:127.0.0.1", "64:ff9b::7f00:1", "fc00::1", "fd12::1", "fe80::1", "ff02::1"],
  ...["2001:db8::1", "2001::1", "2002:7f00:1::1"],
];
/** By name: the answers of the name server one after another, the last one again and again. */
const names = {
  "public.example": [[PUBLIC]],
  "mixed.example": [[PUBLIC, "127.0.0.1"]],
  "mixed-6.example": [["::1", PUBLIC]],
  "rebinds.example": [[PUBLIC], ["127.0.0.1"]], // after its robots.txt
  "redirects.example": [[PUBLIC], [PUBLIC], ["127.0.0.1"]], // after /moved
  ...Object.fromEntries(refused.map((address, i) => [`n${i}.example`, [[address]]])),
};
const scratch = mkdtempSync(join(tmpdir(), "addresses-"));
after(() => rmSync(scratch, { recursive: true }));

/** Loaded into Node before the scraper: the name server, and where connections end. */
const forNode = `
  import dns from "node:dns";
  import http from "node:http";
  import net from "node:net";
  import { syncBuiltinESMExports } from "node:module";
  const names = JSON.parse(process.env.NAMES);
  dns.lookup = (name, options, callback) => {
    callback ??= options;
    const answers = names[name];
    if (!answers) return process.nextTick(callback, Object.assign(new Error("ENOTFOUND"), { code: "ENOTFOUND" }));
    const found = answers.length > 1 ? answers.shift() : answers[0];
    const all = found.map((address) => ({ address, family: net.isIP(address) }));
    if (options.all) process.nextTick(callback, null, all);
    else process.nextTick(callback, null, all[0].address, all[0].family);
  };
  syncBuiltinESMExports();
  const connect = http.Agent.prototype.createConnection;
  http.Agent.prototype.createConnection = function (options, callback) {
    const lookup = options.lookup ?? dns.lookup;
    const divert = (host, wanted, done) =>
      lookup(host, wanted, (error, ...found) => {
        if (error) return done(error);
        if (wanted.all) done(null, [{ address: "127.0.0.1", family: 4 }]);
        else done(null, "127.0.0.1", 4);
      });
    return connect.call(this, net.isIP(options.host) ? options : { ...options, lookup: divert }, callback);
  };`;

/** The same for Python, as its sitecustomize. */
const forPython = `
import json, os, socket
names = json.loads(os.environ["NAMES"])
real_getaddrinfo, real_connect, real_connect_ex = socket.getaddrinfo, socket.socket.connect, socket.socket.connect_ex
def answer(name):
    name = name.decode() if isinstance(name, bytes) else name
    if name not in names: return None
    return names[name].pop(0) if len(names[name]) > 1 else names[name][0]
def getaddrinfo(host, port, family=0, type=0, proto=0, flags=0):
    found = answer(host)
    if found is None: return real_getaddrinfo(host, port, family, type, proto, flags)
    kinds = [(socket.AF_INET6 if ":" in a else socket.AF_INET, a) for a in found]
    port = port or 0
    return [(kind, socket.SOCK_STREAM, 6, "", (a, port) if kind == socket.AF_INET else (a, port, 0, 0))
            for kind, a in kinds if family in (0, kind)]
def gethostbyname(host):
    found = answer(host)
    if found is None: return real_getaddrinfo(host, 0, socket.AF_INET)[0][4][0]
    return next(a for a in found if ":" not in a)
def diverted(address): return ("127.0.0.1", address[1]) if address[0] == "${PUBLIC}" else address
def connect(self, address): return real_connect(self, diverted(address))
def connect_ex(self, address): return real_connect_ex(self, diverted(address))
socket.getaddrinfo, socket.gethostbyname = getaddrinfo, gethostbyname
socket.socket.connect, socket.socket.connect_ex = connect, connect_ex
`;

/** Plays the engine, which leases a page of each name and of each address, and the servers inside. */
async function play() {
  const requests = [];
  const site = createServer((request, response) => {
    requests.push(`${request.headers.host.replace(/:\d+$/, "")}${request.url}`);
    const moved = request.url === "/moved" && { location: "/inside" };
    const type = request.url === "/robots.txt" ? "text/plain" : "text/html";
    response.writeHead(moved ? 301 : 200, { ...moved, "content-type": type, connection: "close" });
    response.end(moved || type === "text/plain" ? "" : "<title>A page</title>");
  });
  let connections = 0;
  site.on("connection", () => connections++);
  await new Promise((listening) => site.listen(0, "127.0.0.1", listening));
  const { port } = site.address();
  const page = (host, path = "/page", scheme = "http") => ({
    ...{ id: `${scheme} ${host}`, url: `${scheme}://${host}:${port}${path}`, host, domain: host, kind: "page" },
    ...{ crawl_delay_seconds: 0, user_agent: "NewsforkBot/1.0", etag: null, last_modified: null },
  });
  const items = [
    ...Object.keys(names).map((name) => page(name, name === "redirects.example" ? "/moved" : "/page")),
    ...["127.0.0.1", "[::1]", "[::ffff:7f00:1]"].map((address) => page(address)),
    page("secure.example", "/page", "https"),
  ];
  const results = [];
  let leased = false;
  const engine = createServer(async (request, response) => {
    if (request.url.startsWith("/api/v1/seeds/status")) return response.end("{}");
    const body = await json(request);
    const expires_at = new Date(Date.now() + 300_000).toISOString();
    const lease = { lease_id: "1", items: leased ? [] : items, expires_at, retry_after_seconds: 60 };
    const data = { ...lease, accepted: 1, added: 0 };
    if (request.url.endsWith("/report")) results.push(...body.results);
    else leased = true;
    response.writeHead(200, { "content-type": "application/json" }).end(JSON.stringify({ success: true, data }));
  });
  await new Promise((listening) => engine.listen(0, "127.0.0.1", listening));
  const close = () => [engine, site].forEach((server) => (server.closeAllConnections(), server.close()));
  const seen = { requests, results, items, connections: () => connections };
  return { ...seen, url: `http://127.0.0.1:${engine.address().port}`, close };
}

async function assertRefuses(command, cwd) {
  const played = await play();
  const preloads = join(scratch, "python");
  mkdirSync(preloads, { recursive: true });
  writeFileSync(join(preloads, "sitecustomize.py"), forPython);
  writeFileSync(join(scratch, "node.mjs"), forNode);
  const child = spawn("bash", ["-c", command], {
    cwd: join(root, cwd),
    timeout: 60_000,
    env: {
      ...process.env,
      ...{ http_proxy: "", https_proxy: "", HTTP_PROXY: "", HTTPS_PROXY: "", no_proxy: "*" },
      ...{
        PATH: `${dirname(process.execPath)}:${process.env.PATH}`,
        PYTHONPATH: `${preloads}:${join(root, "clients/python")}`,
      },
      ...{ PRELOAD: join(scratch, "node.mjs"), CRAWLEE_STORAGE_DIR: join(scratch, "storage") },
      ...{ NAMES: JSON.stringify({ ...names, "secure.example": [["127.0.0.1"]] }), SEED_API_URL: played.url },
    },
  });
  try {
    const ended = new Promise((done) => child.on("close", done));
    const [out, errors, code] = await Promise.all([text(child.stdout), text(child.stderr), ended]);
    const output = out + errors;
    assert.equal(code, 0, output);
    assert.deepEqual(
      played.requests.sort(),
      [
        ...["public.example/page", "public.example/robots.txt", "rebinds.example/robots.txt"],
        ...["redirects.example/moved", "redirects.example/robots.txt"],
      ],
      output,
    );
    assert.equal(played.connections(), 5, "no connection but for these");
    assert.match(output, /; \d+ not received \(private_address\), such as https?:\/\/\S+/, "the log says what failed");
    const statuses = Object.fromEntries(played.results.map(({ id, status }) => [id, status]));
    for (const { id } of played.items) {
      assert.ok(id in statuses, `${id} was reported`);
      assert.equal(statuses[id], id === "http public.example" ? 200 : undefined, id);
    }
  } finally {
    played.close();
  }
}

test("docs/scraper.mjs refuses addresses that are not public", { timeout: 90_000 }, () =>
  assertRefuses('node --import "$PRELOAD" docs/scraper.mjs --until-idle', "."),
);

const python = "/usr/bin/python3"; // Debian's, which has Protego
const hasPython = spawnSync(python, ["-c", "import protego"]).status === 0;
test(
  "clients/python refuses addresses that are not public",
  { timeout: 90_000, skip: !hasPython && process.env.CI !== "true" && "Protego is not installed" },
  () => assertRefuses(`${python} -c "import newsfork; newsfork.Frontier(until_idle=True).run()"`, "clients/python"),
);

const scrapy = spawn("scrapy", ["version"]);
const hasScrapy = await new Promise((done) => scrapy.on("error", () => done(false)).on("close", (c) => done(c === 0)));
test(
  "examples/scrapy refuses addresses that are not public",
  { timeout: 90_000, skip: !hasScrapy && process.env.CI !== "true" && "Scrapy is not installed" },
  () => assertRefuses("scrapy runspider news.py -s NEWSFORK_UNTIL_IDLE=1", "examples/scrapy"),
);

const hasCrawlee = existsSync(join(root, "examples/crawlee/node_modules"));
test(
  "examples/crawlee refuses addresses that are not public",
  { timeout: 90_000, skip: !hasCrawlee && process.env.CI !== "true" && "Crawlee is not installed: run make packages" },
  () => assertRefuses('node --import "$PRELOAD" news.ts --until-idle', "examples/crawlee"),
);
