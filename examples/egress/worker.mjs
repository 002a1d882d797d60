// A Worker for the binding EGRESS: websites that refuse foreign or cloud addresses are asked through a forwarder of
// yours (forwarder.mjs), all others directly. docs/egress.md says how to deploy it.

export default {
  async fetch(request, { HOSTS, FORWARDER_URL, FORWARDER_TOKEN }) {
    if (!listed(new URL(request.url).hostname, HOSTS)) return await fetch(request, { redirect: "manual" });
    const headers = new Headers(request.headers);
    headers.set("x-forward-to", request.url);
    headers.set("x-forward-token", FORWARDER_TOKEN);
    const { method, body, signal } = request;
    const answer = await fetch(FORWARDER_URL, { method, headers, body, signal, redirect: "manual" });
    const failed = answer.headers.get("x-forward-failed");
    if (failed) return new Response(null, { status: EDGE[failed] ?? 523, headers: { server: "cloudflare" } });
    if (answer.headers.get("x-forwarded-by") !== "newsfork-egress")
      throw new Error("network connection lost: forwarder");
    return answer;
  },
};

/** How Cloudflare's edge reports a website that it cannot reach itself: the engine knows these answers. */
const EDGE = { unresolved: 530, private: 530, refused: 521, timeout: 522, tls: 525 };

/** Whether HOSTS, names with commas between them, has a host or a domain of it. */
const listed = (host, names) =>
  names
    .split(",")
    .map((name) => name.trim())
    .some((name) => name && (host === name || host.endsWith(`.${name}`)));
