//  Plays one host: which answer a URL has, and the Response made of it.
import { bytesOf, page } from "./documents.mjs";
import { sites } from "./sites.mjs";

const HOUR = 3_600_000;
const notFound = {
  status: 404,
  type: "text/html; charset=utf-8",
  body: "<!doctype html><title>404</title>Not found\n",
};

/** The site of a host name, or undefined: a name that does not resolve. */
export function siteOf(host) {
  return sites[host];
}

/** The answer that the site has for a URL. */
export function answerOf(site, url) {
  if (site[url.protocol === "https:" ? "https" : "http"] === "refused") return { mode: "refuse" };
  if (url.protocol === "http:" && site.http !== "served")
    return { status: 301, location: url.href.replace("http:", "https:") };
  const found = site.everywhere ?? site.paths[url.pathname];
  const answer = typeof found === "function" ? found() : found;
  if (answer?.movedTo) return { status: answer.status, location: answer.movedTo + url.pathname + url.search };
  if (answer) return answer;
  return linked(site).has(url.href) ? page({ title: titleOf(url), lang: site.lang }) : notFound;
}

/** The bytes that a client receives when it fetches href and follows redirects. */
export function contentOf(href) {
  const url = new URL(href);
  const answer = answerOf(siteOf(url.hostname), url);
  return answer.location ? contentOf(answer.location) : bytesOf(answer);
}

/** The Response of an answer, as an ordinary server sends it. */
export async function respond(request, site, answer) {
  const headers = new Headers({ server: site.server ?? "nginx" });
  const send = (body, status, init) =>
    new Response(request.method === "HEAD" ? null : body, { status, headers, ...init });
  if (answer.location) {
    headers.set("location", answer.location);
    return send("", answer.status);
  }
  headers.set("content-type", answer.type);
  if (answer.retryAfter) headers.set("retry-after", String(answer.retryAfter));
  if (answer.etag) headers.set("etag", answer.etag);
  if (answer.lastModified) headers.set("last-modified", new Date(answer.lastModified).toUTCString());
  if (unchanged(request, answer)) return new Response(null, { status: 304, headers });

  let body = bytesOf(answer);
  if (answer.gzipFile) body = await gzip(body);
  // RFC 9110, 12.5.3: without the field any encoding is acceptable.
  if (site.gzip && (request.headers.get("accept-encoding") ?? "gzip").includes("gzip")) {
    headers.set("content-encoding", "gzip");
    headers.set("vary", "Accept-Encoding");
    return send(await gzip(body), answer.status ?? 200, { encodeBody: "manual" });
  }
  headers.set("content-length", String(body.length));
  return send(body, answer.status ?? 200);
}

/**
 * Plays what goes wrong with a connection (the modes are those of control.mjs). honest makes the
 * Response that would have been sent.
 */
export async function misbehave(fault, honest) {
  switch (fault.mode) {
    case "hang":
      await scheduler.wait(HOUR);
      throw new Error("the connection timed out");
    case "refuse":
      throw new Error("connect ECONNREFUSED");
    case "reset":
      throw new Error("read ECONNRESET");
    case "slow":
      await scheduler.wait(fault.ms);
      return honest();
    case "status":
      return new Response(`${fault.status}\n`, {
        status: fault.status,
        headers: "retry_after" in fault ? { "retry-after": String(fault.retry_after) } : {},
      });
    case "flood":
      return new Response(endless(), { headers: { "content-type": "text/plain" } });
    default: {
      // cut, stall
      const response = await honest();
      const body = new Uint8Array(await response.arrayBuffer());
      const headers = new Headers(response.headers);
      headers.delete("content-length");
      headers.delete("content-encoding");
      return new Response(firstHalf(body, fault.mode), { status: response.status, headers });
    }
  }
}

function firstHalf(body, mode) {
  return new ReadableStream({
    start: (controller) => controller.enqueue(body.subarray(0, body.length >> 1)),
    async pull(controller) {
      if (mode === "stall") await scheduler.wait(HOUR);
      controller.error(new Error("read ECONNRESET"));
    },
  });
}

function endless() {
  const spaces = new Uint8Array(65536).fill(0x20);
  return new ReadableStream({
    async pull(controller) {
      await scheduler.wait(0); // or the reader's timeout would never have its turn
      controller.enqueue(spaces.slice());
    },
  });
}

/** The URLs that the site's documents name, collected once. */
function linked(site) {
  site.linked ??= new Set(Object.values(site.paths).flatMap((a) => a.links ?? []));
  return site.linked;
}

function titleOf(url) {
  return decodeURIComponent(url.pathname).split("/").pop().replaceAll("-", " ");
}

function unchanged(request, answer) {
  const etag = request.headers.get("if-none-match");
  if (etag) return etag === answer.etag;
  const since = request.headers.get("if-modified-since");
  return Boolean(since && answer.lastModified) && Date.parse(since) >= Date.parse(answer.lastModified);
}

async function gzip(bytes) {
  return new Uint8Array(
    await new Response(new Blob([bytes]).stream().pipeThrough(new CompressionStream("gzip"))).arrayBuffer(),
  );
}
