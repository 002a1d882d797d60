// The Worker's entry: HTTP requests, queue batches and cron events go to an instance of the pool.
import { Failure, rules, run } from "./pool.mjs";

const noBody = new Set([204, 205, 304]);

function fetch(request, env, ctx) {
  const id = requestId(request.headers.get("x-request-id"));
  const job = serve(request, id, env, ctx).catch((error) => failed(error, id));
  // Without this a client that hangs up would end the event at once, and its lease with it.
  ctx.waitUntil(job);
  return job;
}

function serve(request, id, env, ctx) {
  return run({ env, ctx, wait: rules.httpWait, deadline: rules.httpDeadline }, (instance, lease) => {
    const { host } = instance;
    request.signal.addEventListener("abort", () => lease.clientGone());
    host.request = request;
    return new Promise((resolve) => {
      const answer = (status, head, body) => {
        const empty = request.method === "HEAD" || noBody.has(status);
        if (empty) body?.cancel?.();
        resolve(new Response(empty ? null : body, { status, headers: pairs(head) }));
      };
      host.respond = (status, head, address, length) => answer(status, head, instance.copy(address, length));
      host.respondRaw = answer;
      host.serve(headOf(request, id));
    });
  });
}

// Method, URL, then names and values of headers, a line each: one string is one crossing into Go.
function headOf(request, id) {
  let head = `${request.method}\n${request.url}\nx-request-id\n${id}`;
  for (const [name, value] of request.headers) {
    if (name !== "x-request-id") head += `\n${name}\n${value}`;
  }
  return head;
}

function pairs(head) {
  const lines = head ? head.split("\n") : [];
  const headers = [];
  for (let i = 0; i < lines.length; i += 2) headers.push([lines[i], lines[i + 1]]);
  return headers;
}

function requestId(given) {
  return given && /^[\w.:-]{1,64}$/.test(given) ? given : crypto.randomUUID();
}

function failed(error, id) {
  const { code, status, message } = error instanceof Failure ? error : new Failure("internal_error", 500, String(error));
  const headers = { "x-request-id": id, "cache-control": "no-store" };
  if (code === "busy") headers["retry-after"] = "5";
  return Response.json({ success: false, error: { code, message } }, { status, headers });
}

// A throw would lose the acknowledgements already given. So this never throws: it knows which
// messages were settled, and has the others delivered again.
async function queue(batch, env, ctx) {
  const open = new Set(batch.messages);
  const ack = (message) => open.delete(message) && message.ack();
  const retry = (message, options) => open.delete(message) && message.retry(options);
  const view = {
    queue: batch.queue,
    messages: batch.messages.map((message) => ({
      id: message.id,
      timestamp: message.timestamp,
      body: message.body,
      attempts: message.attempts,
      ack: () => ack(message),
      retry: (options) => retry(message, options),
    })),
    ackAll: () => open.forEach(ack),
    retryAll: (options) => open.forEach((message) => retry(message, options)),
  };
  try {
    await run({ env, ctx, wait: rules.queueWait, deadline: rules.queueDeadline }, ({ host }) => host.binding.handleQueueMessageBatch(view));
  } catch (error) {
    log("batch_failed", error, { queue_name: batch.queue, unsettled: open.size });
  }
  for (const message of open) retry(message, { delaySeconds: retryDelay(env, message.attempts) });
}

// RETRY_DELAY_SECONDS doubled with every attempt, at most the 24 hours that the platform allows.
// Go reports a wrong setting; here it must not keep a message from being retried.
function retryDelay(env, attempts) {
  const base = Number(env.RETRY_DELAY_SECONDS ?? 10);
  return Math.min(86_400, (base >= 0 ? base : 10) * 2 ** (attempts - 1));
}

async function scheduled(event, env, ctx) {
  try {
    await run({ env, ctx, wait: rules.cronWait, deadline: rules.cronDeadline }, ({ host }) => host.binding.runScheduler(event));
  } catch (error) {
    if (!error.logged) log("cron_failed", error, { cron: event.cron });
    throw error; // the platform lists the run as failed
  }
}

function log(event, error, fields) {
  const type = error.code === "timeout_error" ? error.code : "internal_error";
  console.error(JSON.stringify({ event, level: "error", ts: new Date().toISOString(), error_type: type, message: error.message, ...fields }));
}

export default { fetch, queue, scheduled };
