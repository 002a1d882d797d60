// The web between the engine and hostile origins. Hosts that hostile.test.mjs plays are asked at
// ORIGIN, a TCP server of the test, so that what goes wrong goes wrong on the wire; all others are
// small healthy sites. Every request is written down, and told at https://control.invalid/.
import anysite from "./anysite.mjs";

let log = [];

export default {
  async fetch(request, env, ctx) {
    const url = new URL(request.url);
    if (url.hostname === "control.invalid") {
      const told = log;
      log = [];
      return Response.json(told);
    }
    log.push({ at: Date.now(), url: request.url, cookie: request.headers.get("cookie") });
    if (!url.hostname.endsWith(env.HOSTILE)) return anysite.fetch(request, env, ctx);
    const response = await fetch(env.ORIGIN, { headers: { "x-url": request.url }, redirect: "manual" });
    // Where there is no answer the simulator makes one of its own; the platform throws.
    if (!response.headers.has("set-cookie")) throw new Error("Network connection lost.");
    return response;
  },
};
