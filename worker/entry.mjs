// The Worker's entry module. It passes HTTP requests, queue batches, cron events and calls to Durable
// Objects to an instance of the pool.
export { Frontier } from "./frontier.mjs";
import { Failure, rules, run } from "./pool.mjs";
import { hasFiles, producerOf, sendAgain } from "./refused.mjs";

const noBody = new Set([204, 205, 304]);
const decoder = new TextDecoder();
const constants = new Map(); // constant responses to GET requests, by path

function fetch(request, env, ctx) {
  const id = requestId(request.headers.get("x-request-id"));
  if (request.method === "GET") {
    const known = constants.get(pathOf(request.url));
    if (known) {
      known.init.headers.set("x-request-id", id);
      return new Response(known.body, known.init);
    }
  }
  try {
    const answer = serve(request, id, env, ctx);
    if (!(answer instanceof Promise)) return answer;
    return answer.catch((error) => failed(error, id));
  } catch (error) {
    return failed(error, id);
  }
}

function serve(request, id, env, ctx) {
  let lease;
  let answerEarly;
  const early = new Promise((resolve) => (answerEarly = resolve));
  const end = run({ env, ctx, wait: rules.httpWait, deadline: rules.httpDeadline, request: true }, (leased) => {
    lease = leased;
    lease.instance.host.request = request;
    lease.respond = (status, head, body, constant) => {
      try {
        const init = { status, headers: headers(head) };
        const answer = new Response(noBody.has(status) ? null : body, init);
        if (constant) remember(request.url, body, init);
        if (lease.continues) answerEarly((lease.answer = answer));
        else lease.finish(answer);
      } catch (error) {
        log("handler_failed", error, { request_id: id });
        lease.fail(new Failure("internal_error", 500, "The answer could not be sent."));
      }
    };
    lease.instance.request(headOf(request, id));
  });
  if (!(end instanceof Promise)) return end;
  request.signal.addEventListener("abort", () => lease?.clientGone());
  // Otherwise the platform ends the event, and its lease, as soon as the client disconnects.
  ctx.waitUntil(end.catch(() => {}));
  return Promise.race([early, end]);
}

function remember(url, body, { status, headers }) {
  constants.set(pathOf(url), { body: decoder.decode(body), init: { status, headers: new Headers(headers) } });
}

/** The path and query of a request's URL. */
const pathOf = (url) => url.slice(url.indexOf("/", "https://".length));

// Method, URL, then header names and values, one per line: one string needs one crossing into Go.
function headOf(request, id) {
  let head = `${request.method}\n${request.url}\nx-request-id\n${id}`;
  for (const [name, value] of request.headers) {
    if (name !== "x-request-id") head += `\n${name}\n${value}`;
  }
  return head;
}

// The platform reads a record twice as fast as pairs, but a record holds each name only once.
function headers(head) {
  const lines = head.split("\n");
  const record = {};
  for (let i = 1; i < lines.length; i += 2) {
    if (lines[i - 1] in record) return pairs(lines);
    record[lines[i - 1]] = lines[i];
  }
  return record;
}

function pairs(lines) {
  const list = [];
  for (let i = 1; i < lines.length; i += 2) list.push([lines[i - 1], lines[i]]);
  return list;
}

function requestId(given) {
  return given && /^[\w.:-]{1,64}$/.test(given) ? given : crypto.randomUUID();
}

function failed({ code, status, message }, id) {
  const headers = { "x-request-id": id, "cache-control": "no-store" };
  if (code === "busy") headers["retry-after"] = "5";
  return Response.json({ success: false, error: { code, message } }, { status, headers });
}

// An exception would lose the acknowledgements made so far. So this never throws: it tracks which
// messages were settled and retries the others.
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
    await run(
      { env, ctx, wait: rules.queueWait, deadline: rules.queueDeadline, file: hasFiles(batch.queue) },
      until((binding) => binding.handleQueueMessageBatch(view)),
    );
  } catch (error) {
    if (error.refused) await refuse(batch.queue, [...open], env, error.refused, { ack, retry });
    else log("batch_failed", error, { queue_name: batch.queue, unsettled: open.size });
  }
  for (const message of open) retry(message, { delaySeconds: retryDelay(env, message.attempts) });
}

// Requeues messages that no program has begun to process.
async function refuse(queue, messages, env, reason, { ack, retry }) {
  const producer = producerOf(queue, env);
  let resent = 0;
  const sent = (message) => {
    ack(message);
    resent++;
  };
  const waited = reason === "busy" || reason === "memory"; // others have the instances, or the memory
  const delay = waited ? rules.refusedDelay : rules.unableDelay;
  const error = producer && (await sendAgain(producer, messages, delay / 1000, sent));
  for (const message of messages) retry(message, { delaySeconds: rules.refusedRetry / 1000 }); // no effect if acknowledged
  const level = waited && resent === messages.length ? "warn" : "error";
  console[level](
    JSON.stringify({
      event: "batch_refused",
      level,
      ts: new Date().toISOString(),
      queue_name: queue,
      reason,
      messages: messages.length,
      resent,
      error: error?.message,
    }),
  );
}

const defaultRetryDelay = 120; // seconds, as in settings/settings.go

// RETRY_DELAY_SECONDS, doubled with every attempt up to the platform's maximum of 24 hours. Go reports
// an invalid setting; here the message must be retried anyway.
function retryDelay({ RETRY_DELAY_SECONDS: set }, attempts) {
  const base = set === undefined || set === "" ? defaultRetryDelay : Number(set);
  return Math.min(86_400, (base >= 0 ? base : defaultRetryDelay) * 2 ** (attempts - 1));
}

async function scheduled(event, env, ctx) {
  try {
    await run(
      { env, ctx, wait: rules.cronWait, deadline: rules.cronDeadline },
      until((binding) => binding.runScheduler(event)),
    );
  } catch (error) {
    if (!error.logged) log("cron_failed", error, { cron: event.cron });
    throw error; // the platform lists the run as failed
  }
}

// Work that ends when the promise returned by one of the library's callbacks settles.
function until(call) {
  return (lease) => {
    Promise.resolve(call(lease.instance.host.binding)).then(
      () => lease.finish(),
      (error) => lease.fail(error),
    );
  };
}

function log(event, error, fields) {
  const type = error.code === "timeout_error" ? error.code : "internal_error";
  console.error(
    JSON.stringify({
      event,
      level: "error",
      ts: new Date().toISOString(),
      error_type: type,
      message: error.message,
      ...fields,
    }),
  );
}

export default { fetch, queue, scheduled };
