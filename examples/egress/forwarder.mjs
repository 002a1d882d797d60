// Forwards requests of the Worker beside it from the network where it runs: node forwarder.mjs, Node 20 or later.
// PORT (8080), FORWARDER_TOKEN. Put HTTPS in front of it, with a tunnel (cloudflared) or a web server.
import { timingSafeEqual } from "node:crypto";
import { lookup } from "node:dns";
import { createServer, request as requestHTTP } from "node:http";
import { request as requestHTTPS } from "node:https";
import { BlockList, isIP } from "node:net";
import { pipeline } from "node:stream";

const { PORT = "8080", FORWARDER_TOKEN = "" } = process.env;
if (FORWARDER_TOKEN.length < 16) throw new Error("FORWARDER_TOKEN: set at least 16 characters");
const TIMEOUT = 30_000; // ms without a byte

/** Networks that are not public (iana.org, special-purpose address registries). */
const RESERVED = {
  ipv4: networks(
    ...["0.0.0.0/8", "10.0.0.0/8", "100.64.0.0/10", "127.0.0.0/8", "169.254.0.0/16", "172.16.0.0/12", "192.0.0.0/24"],
    ...["192.0.2.0/24", "192.168.0.0/16", "198.18.0.0/15", "198.51.100.0/24", "203.0.113.0/24", "224.0.0.0/3"],
  ),
  ipv6: networks("::/3", "2001::/23", "2001:db8::/32", "2002::/16", "3fff::/20", "4000::/2", "8000::/1"),
};

/** Headers that belong to a connection, that the edge adds on the way here, or that are ours. */
const OURS =
  /^(connection|keep-alive|proxy-.*|te|trailer|transfer-encoding|upgrade|host|cdn-loop|cf-.*|x-real-ip|x-forward.*)$/;

/** By code of an error: what the Worker tells the engine. */
const FAILURES = { ENOTFOUND: "unresolved", EPRIVATE: "private", ECONNREFUSED: "refused", ETIMEDOUT: "timeout" };

const server = createServer((asked, answer) => {
  const { "x-forward-to": to = "", "x-forward-token": token = "" } = asked.headers;
  if (!equal(token, FORWARDER_TOKEN)) return answer.writeHead(401).end();
  const url = URL.canParse(to) ? new URL(to) : null;
  const send = { "http:": requestHTTP, "https:": requestHTTPS }[url?.protocol];
  if (!send || url.port || url.username)
    return answer.writeHead(400).end("x-forward-to: send a URL without port or user\n");

  const fail = (error) => {
    if (answer.headersSent) return answer.destroy(); // the Worker sees a body that broke off
    const reason = FAILURES[error.code] ?? (/TLS|SSL|CERT/.test(error.code) ? "tls" : "failed");
    answer.writeHead(502, { "x-forward-failed": reason }).end();
  };
  const host = url.hostname.replace(/^\[|\]$/g, "");
  if (isIP(host) && !isPublic(host)) return fail({ code: "EPRIVATE" }); // it is not looked up
  const headers = Object.fromEntries(Object.entries(asked.headers).filter(([name]) => !OURS.test(name)));
  const sent = send(url, { method: asked.method, headers, lookup: lookupPublic, timeout: TIMEOUT });
  sent.on("timeout", () => sent.destroy(Object.assign(new Error("timeout"), { code: "ETIMEDOUT" })));
  sent.on("error", fail);
  sent.on("upgrade", (received, socket) => {
    socket.destroy(); // nobody asked for another protocol
    fail({});
  });
  sent.on("response", (received) => {
    if (received.statusCode < 200) return sent.destroy(new Error("no status that can be passed on"));
    const kept = Object.entries(received.headers).filter(([name]) => !OURS.test(name));
    answer.writeHead(received.statusCode, { ...Object.fromEntries(kept), "x-forwarded-by": "newsfork-egress" });
    pipeline(received, answer, () => {}); // either side that breaks off ends the other
  });
  answer.on("close", () => sent.destroy());
  pipeline(asked, sent, () => {});
});
server.listen(Number(PORT), () => console.log(`forwarding on port ${server.address().port}`));

function equal(a, b) {
  const [left, right] = [Buffer.from(a), Buffer.from(b)];
  return left.length === right.length && timingSafeEqual(left, right);
}

/** Looks up a host for a connection, and refuses it if any of its addresses is not public: names may lead into your network. */
function lookupPublic(host, options, done) {
  lookup(host, { ...options, all: true }, (error, found) => {
    const inside = found?.some(({ address }) => !isPublic(address));
    if (error || inside) done(error ?? Object.assign(new Error(host), { code: "EPRIVATE" }));
    else if (options.all) done(null, found);
    else done(null, found[0].address, found[0].family);
  });
}

function isPublic(address) {
  const family = isIP(address) === 6 ? "ipv6" : "ipv4";
  return !RESERVED[family].check(address.split("%")[0], family);
}

function networks(...ranges) {
  const list = new BlockList();
  for (const range of ranges) {
    const [address, bits] = range.split("/");
    list.addSubnet(address, Number(bits), isIP(address) === 6 ? "ipv6" : "ipv4");
  }
  return list;
}
