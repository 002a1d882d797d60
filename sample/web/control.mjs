// What a test asks of the web, at https://control.sample.invalid (through the test runner's handle
// on this Worker, or a service binding on it):
//
//   GET    /log[?host=…]  {"requests": [{at, method, host, url, path, user_agent, open, outcome}]}
//                         in order of arrival. at: milliseconds; open: requests of that host that
//                         wait for an answer's head, this one included; outcome: the status,
//                         "failed", "unresolved", "aborted" (the caller gave up) or null (it waits).
//   DELETE /log           forgets the requests.
//   POST   /fault         {host, path?, mode, times?, …}: the next times requests (without it: all)
//                         of the host ("*": of every host), or of that path there, meet the fault.
//                         The first fault that fits is taken.
//   DELETE /fault         takes away all faults but those that sites have by nature.
//
//   mode    what happens
//   hang    no answer, ever
//   refuse  no connection
//   reset   the connection fails before any answer
//   slow    the answer comes after ms milliseconds
//   status  an answer with that status, and retry_after seconds when given
//   cut     the headers and half of the body, then the connection fails
//   stall   the headers and half of the body, then nothing
//   flood   a body without end
import { sites } from "./sites.mjs";

export const HOST = "control.sample.invalid";

// What must be sent with each mode.
const modes = { hang: [], refuse: [], reset: [], slow: ["ms"], status: ["status"], cut: [], stall: [], flood: [] };

let requests = [];
let faults = natural();

/** Notes a request at its arrival; the entry's outcome is set when it ends. */
export function note(request, url, open) {
  const entry = {
    at: Date.now(),
    method: request.method,
    host: url.hostname,
    url: url.href,
    path: url.pathname + url.search,
    user_agent: request.headers.get("user-agent"),
    open,
    outcome: null,
  };
  requests.push(entry);
  return entry;
}

/** The fault that the next request of url meets, or undefined. */
export function takeFault(url) {
  const i = faults.findIndex(
    (f) => (f.host === "*" || f.host === url.hostname) && (f.path ?? url.pathname) === url.pathname,
  );
  const fault = faults[i];
  if (fault?.times && --fault.times === 0) faults.splice(i, 1);
  return fault;
}

/** Answers a request to the control host. */
export async function control(request, url) {
  switch (`${request.method} ${url.pathname}`) {
    case "GET /log": {
      const host = url.searchParams.get("host");
      return Response.json({ requests: requests.filter((r) => !host || r.host === host) });
    }
    case "DELETE /log":
      requests = [];
      return new Response(null, { status: 204 });
    case "POST /fault": {
      const fault = await request.json().catch(() => null);
      const wrong = check(fault);
      if (wrong) return new Response(`${wrong}\n`, { status: 400 });
      faults.push(fault);
      return new Response(null, { status: 204 });
    }
    case "DELETE /fault":
      faults = natural();
      return new Response(null, { status: 204 });
  }
  return new Response("send GET or DELETE /log, POST or DELETE /fault\n", { status: 404 });
}

function natural() {
  return Object.entries(sites).flatMap(([host, site]) => (site.faults ?? []).map((f) => ({ host, ...f })));
}

function check(fault) {
  if (!fault) return "send one JSON object";
  if (fault.host !== "*" && !sites[fault.host])
    return `host: ${fault.host} is not a site of this web; send one of sites.mjs or "*"`;
  if (!Object.hasOwn(modes, fault.mode)) return `mode: send one of ${Object.keys(modes).join(", ")}`;
  for (const field of [...modes[fault.mode], ...["times", "retry_after"].filter((f) => f in fault)]) {
    if (!Number.isInteger(fault[field]) || fault[field] < 0) return `${field}: send a whole number`;
  }
  if (fault.times === 0) return "times: send at least 1, or leave it out for ever";
  return null;
}
