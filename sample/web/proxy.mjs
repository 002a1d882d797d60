// A forward HTTP proxy to the sample web, for crawlers that are programs of their own: with
// https_proxy=http://127.0.0.1:PORT they ask its hosts under their real URLs. Nothing is ever passed on to the real web.
import { generateKeyPairSync, sign } from "node:crypto";
import { once } from "node:events";
import { createServer } from "node:http";
import { createServer as createSecureServer } from "node:https";
import { Readable } from "node:stream";
import { pipeline } from "node:stream/promises";
import { sites } from "./sites.mjs";

/**
 * Starts the proxy on a port of this machine, by default any that is free. ask(url, init) asks the web: it gives a Response, or throws where a
 * connection fails. https URLs are answered with a certificate that nobody has signed, so clients must not check it.
 */
export async function startProxy(ask, port = 0) {
  const answer = (scheme) => (request, response) => {
    // In plain HTTP a proxy is sent the whole URL, in a tunnel the path.
    const url = request.url.startsWith("/") ? `${scheme}://${request.headers.host}${request.url}` : request.url;
    // What breaks off there breaks off here.
    forward(ask, url, request, response).catch(() => response.destroy());
  };
  const tunnelled = createSecureServer(certificate(), answer("https"));
  const server = createServer(answer("http"));
  const tunnels = new Set();
  server.on("connect", (request, socket, head) => {
    tunnels.add(socket);
    socket.on("close", () => tunnels.delete(socket)).on("error", () => socket.destroy());
    socket.write("HTTP/1.1 200 Connection established\r\n\r\n");
    socket.unshift(head);
    tunnelled.emit("connection", socket);
  });
  await once(server.listen(port, "127.0.0.1"), "listening");
  return {
    url: `http://127.0.0.1:${server.address().port}`,
    stop() {
      server.close();
      server.closeAllConnections();
      for (const socket of tunnels) socket.destroy();
    },
  };
}

const hopByHop = ["connection", "proxy-connection", "proxy-authorization", "keep-alive", "transfer-encoding"];

async function forward(ask, url, request, response) {
  const { method } = request;
  // Uncompressed, since a fetch on the way would decompress it and leave the header as it was.
  const headers = { ...request.headers, "accept-encoding": "identity" };
  for (const name of ["host", "content-length", ...hopByHop]) delete headers[name];
  const body = ["GET", "HEAD"].includes(method) ? undefined : Readable.toWeb(request);
  const answer = await ask(url, { method, headers, body, duplex: "half", redirect: "manual" });
  const sent = Object.fromEntries([...answer.headers].filter(([name]) => !hopByHop.includes(name)));
  response.writeHead(answer.status, sent);
  response.flushHeaders();
  if (answer.body) await pipeline(Readable.fromWeb(answer.body), response);
  else response.end();
}

/** A key, and a certificate for all sites that it signed itself, valid for a day (X.509 in DER, RFC 5280). */
function certificate() {
  const { privateKey, publicKey } = generateKeyPairSync("ec", { namedCurve: "P-256" });
  const sequence = (...parts) => der(0x30, ...parts);
  const ecdsaWithSHA256 = sequence(der(0x06, Buffer.from("2a8648ce3d040302", "hex")));
  const commonName = der(0x06, Buffer.from("550403", "hex"));
  const name = sequence(der(0x31, sequence(commonName, der(0x0c, Buffer.from("The sample web")))));
  const day = 86_400_000;
  const time = (at) => der(0x18, Buffer.from(new Date(at).toISOString().replace(/\..*|[-:T]/g, "") + "Z"));
  const validity = sequence(time(Date.now() - day), time(Date.now() + day));
  const serial = der(0x02, Buffer.from([1]));
  const key = publicKey.export({ type: "spki", format: "der" });
  const names = Object.keys(sites).map((host) => der(0x82, Buffer.from(host)));
  const subjectAltName = sequence(der(0x06, Buffer.from("551d11", "hex")), der(0x04, sequence(...names)));
  const version3 = der(0xa0, der(0x02, Buffer.from([2])));
  const extensions = der(0xa3, sequence(subjectAltName));
  const signed = sequence(version3, serial, ecdsaWithSHA256, name, validity, name, key, extensions);
  const signature = der(0x03, Buffer.from([0]), sign("sha256", signed, privateKey));
  const cert = sequence(signed, ecdsaWithSHA256, signature).toString("base64");
  return {
    key: privateKey.export({ type: "pkcs8", format: "pem" }),
    cert: `-----BEGIN CERTIFICATE-----\n${cert.match(/.{1,64}/g).join("\n")}\n-----END CERTIFICATE-----\n`,
  };
}

function der(tag, ...parts) {
  const content = Buffer.concat(parts);
  const { length } = content;
  const size = length < 128 ? [length] : length < 256 ? [0x81, length] : [0x82, length >> 8, length & 255];
  return Buffer.concat([Buffer.from([tag, ...size]), content]);
}
