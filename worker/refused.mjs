// Requeues a batch that no program has begun to process, because no instance was free or started, or a
// setting is invalid. Every retry counts as an attempt. After four attempts a message becomes a dead
// letter, and a dead letter is lost. So the messages are sent again as new ones, and retried only if
// sending fails.

/** The producer bindings of our queues, by role; roles and names are those of contract/queues.go. */
export const producers = { seed: "SEED_QUEUE", domain: "DOMAIN_QUEUE", dlq: "DLQ" };

const roleOf = (queue) => /^newsfork-([a-z]+)-/.exec(queue)?.[1];

/** The binding that sends to the queue, or undefined. */
export const producerOf = (queue, env) => env[producers[roleOf(queue)]];

/** Whether the messages of the queue name raw files. */
export const hasFiles = (queue) => roleOf(queue) === "seed";

/** Sends messages again with a delay, and calls sent for each accepted one. Returns the first error, if any. */
export async function sendAgain(producer, messages, delaySeconds, sent) {
  const results = await Promise.allSettled(
    messages.map(async (message) => {
      const [body, contentType] = asSent(message.body);
      await producer.send(body, { contentType, delaySeconds });
      sent(message);
    }),
  );
  return results.find(({ status }) => status === "rejected")?.reason;
}

// A message's body and content type as its sender passed them to the queue.
function asSent(body) {
  if (typeof body === "string") return [body, "text"];
  if (body instanceof ArrayBuffer) return [new Uint8Array(body), "bytes"];
  if (ArrayBuffer.isView(body)) return [body, "bytes"];
  return [body, "json"];
}
