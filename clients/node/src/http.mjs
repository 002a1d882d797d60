// Requests to websites: to public addresses only, redirects not followed, bounded in bytes and time, through the proxy
// of the environment.
import { lookup } from "node:dns";
import { request as requestHTTP } from "node:http";
import { request as requestHTTPS } from "node:https";
import { BlockList, isIP } from "node:net";
import { pipeline } from "node:stream";
import { connect as connectTLS } from "node:tls";
import { createBrotliDecompress, createGunzip, createInflate } from "node:zlib";

export const MAX_PAGE = 5_000_000; // bytes; the rest of a page is not read
const TIMEOUT = 20_000; // ms
const DECODERS = { br: createBrotliDecompress, deflate: createInflate, gzip: createGunzip };

// Networks that are not public (IANA's special-purpose registries), by family: a list of both would find IPv4 in ::/3.
const RESERVED = {
  ipv4: networks(
    ...["0.0.0.0/8", "10.0.0.0/8", "100.64.0.0/10", "127.0.0.0/8", "169.254.0.0/16", "172.16.0.0/12", "192.0.0.0/24"],
    ...["192.0.2.0/24", "192.168.0.0/16", "198.18.0.0/15", "198.51.100.0/24", "203.0.113.0/24", "224.0.0.0/3"],
  ),
  ipv6: networks("::/3", "2001::/23", "2001:db8::/32", "2002::/16", "3fff::/20", "4000::/2", "8000::/1"),
};

/** Sends a GET request. Resolves to {status, headers, body}; body is a Buffer, empty unless the status is 200. */
export async function get(url, headers = {}) {
  const { protocol } = new URL(url);
  refusePrivate(url);
  const sent = Object.entries(headers).filter(([, value]) => value);
  const options = {
    headers: { "Accept-Encoding": "gzip, deflate, br", ...Object.fromEntries(sent) },
    signal: AbortSignal.timeout(TIMEOUT),
  };
  const proxy = proxyFor(url);
  const send = protocol === "https:" ? requestHTTPS : requestHTTP;
  const answer = await (proxy
    ? sendThrough(proxy, url, options)
    : start(send, url, { ...options, lookup: lookupPublic }));
  const { statusCode: status, headers: received } = answer;
  if (status === 200) return { status, headers: received, body: await bodyOf(answer) };
  answer.destroy();
  return { status, headers: received, body: Buffer.alloc(0) };
}

/** Starts a request, and resolves to its answer. */
export function start(send, url, options, body) {
  return new Promise((resolve, reject) => send(url, options, resolve).on("error", reject).end(body));
}

/** The proxy that the environment names for a URL (HTTPS_PROXY, HTTP_PROXY, NO_PROXY in either case), or undefined. */
export function proxyFor(url, env = process.env) {
  const { protocol, hostname } = new URL(url);
  const name = protocol === "https:" ? "HTTPS_PROXY" : "HTTP_PROXY";
  const proxy = env[name.toLowerCase()] || env[name];
  if (!proxy) return undefined;
  const excepted = (env.no_proxy || env.NO_PROXY || "").split(/[\s,]+/).filter(Boolean);
  const matches = (rule) =>
    rule === "*" || `.${hostname}`.endsWith(`.${rule.replace(/^\*?\./, "").replace(/:\d+$/, "")}`);
  return excepted.some(matches) ? undefined : new URL(proxy);
}

/** Sends a request through a proxy. It looks names up itself, and has to refuse private addresses itself. */
export async function sendThrough(proxy, url, options, body) {
  const target = new URL(url);
  const secure = proxy.protocol === "https:" ? requestHTTPS : requestHTTP;
  const credentials = proxy.username && {
    "Proxy-Authorization": `Basic ${Buffer.from(`${decodeURIComponent(proxy.username)}:${decodeURIComponent(proxy.password)}`).toString("base64")}`,
  };
  if (target.protocol === "http:") {
    const headers = { ...options.headers, ...credentials, Host: target.host };
    return start(secure, proxy, { ...options, path: target.href, headers }, body);
  }
  const authority = `${target.hostname}:${target.port || 443}`;
  const socket = await new Promise((resolve, reject) => {
    const tunnel = {
      method: "CONNECT",
      path: authority,
      headers: { Host: authority, ...credentials },
      signal: options.signal,
    };
    secure(proxy, tunnel)
      .on("connect", ({ statusCode }, opened) => {
        if (statusCode === 200) return resolve(opened);
        opened.destroy();
        reject(new Error(`the proxy answers CONNECT ${authority} with ${statusCode}`));
      })
      .on("error", reject)
      .end();
  });
  const createConnection = () => connectTLS({ socket, servername: isIP(target.hostname) ? "" : target.hostname });
  return start(requestHTTPS, url, { ...options, defaultPort: 443, createConnection }, body);
}

/**
 * Looks up a host for a connection. Whoever controls a name can have it lead into your network, and change it at any
 * time: what is checked must be the addresses that the connection uses, and all of them.
 */
export function lookupPublic(host, options, done) {
  lookup(host, { ...options, all: true }, (error, found) => {
    const inside = found?.find(({ address }) => !isPublic(address));
    if (error || inside) done(error ?? privateAddress(host, inside.address));
    else if (options.all) done(null, found);
    else done(null, found[0].address, found[0].family);
  });
}

/** Throws where a URL has an address for a host that is not public: it is not looked up. */
export function refusePrivate(url) {
  const host = new URL(url).hostname.replace(/^\[|\]$/g, "");
  if (isIP(host) && !isPublic(host)) throw privateAddress(host, host);
}

function privateAddress(host, address) {
  return Object.assign(new Error(`${host} has the address ${address}, which is not public`), { code: "EPRIVATE" });
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

async function bodyOf(answer) {
  const decoder = DECODERS[answer.headers["content-encoding"]];
  const chunks = [];
  let size = 0;
  for await (const chunk of decoder ? pipeline(answer, decoder(), () => {}) : answer) {
    chunks.push(chunk);
    if ((size += chunk.length) > MAX_PAGE) break;
  }
  return Buffer.concat(chunks).subarray(0, MAX_PAGE);
}

/** Retry-After in seconds, which is a number or a date; undefined without one. */
export function retryAfter(value) {
  const seconds = /^\d+$/.test(value ?? "") ? Number(value) : Math.ceil((Date.parse(value) - Date.now()) / 1000);
  return seconds > 0 ? Math.min(seconds, 86_400) : undefined;
}
