// The sample web: a Worker that answers for every host of sites.mjs. Bound to the engine as EGRESS
// it receives the engine's requests with their real URLs. A connection that fails is an exception.
import { HOST, control, note, takeFault } from "./control.mjs";
import { answerOf, misbehave, respond, siteOf } from "./origin.mjs";

// How long an answer takes, in milliseconds: long enough for two requests at once to be seen.
const LATENCY = 2;

const open = new Map(); // requests under way, by host

export default {
  async fetch(request) {
    const url = new URL(request.url);
    if (url.hostname === HOST) return control(request, url);

    const host = url.hostname;
    // A webhook's receiver on this machine (sample/webhook.mjs). Of a page such an address is refused before.
    if (host === "127.0.0.1") return fetch(request);
    open.set(host, (open.get(host) ?? 0) + 1);
    const entry = note(request, url, open.get(host));
    const end = (outcome) => {
      if (entry.outcome !== null) return;
      entry.outcome = outcome;
      open.set(host, open.get(host) - 1);
    };
    // A request that its caller gave up is cancelled: nothing after an await runs any more.
    request.signal.addEventListener("abort", () => end("aborted"));

    const site = siteOf(host);
    if (!site) {
      end("unresolved");
      throw new Error(`getaddrinfo ENOTFOUND ${host}`);
    }
    try {
      const response = await play(request, url, site);
      end(response.status);
      return response;
    } catch (err) {
      end("failed");
      throw err;
    }
  },
};

async function play(request, url, site) {
  const fault = takeFault(url);
  await scheduler.wait(site.delay ?? LATENCY);
  const answer = answerOf(site, url);
  if (answer.delay) await scheduler.wait(answer.delay);
  const honest = () => (answer.mode ? misbehave(answer) : respond(request, site, answer));
  return fault ? misbehave(fault, honest) : honest();
}
