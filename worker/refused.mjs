// Requeues a batch that no program has begun to process: no instance came free or started, or a setting
// is wrong. Every retry counts as an attempt, and after four a message becomes a dead letter, or is lost
// if it came from the dead-letter queue, although no program ever looked at it. So the messages are sent
// again as new ones, and only retried where that fails.

/** The producer bindings of our queues, by role; roles and names are those of contract/queues.go. */
export const producers = { seed: "SEED_QUEUE", domain: "DOMAIN_QUEUE", dlq: "DLQ" };

/** The binding that sends to the queue; undefined where there is none. */
export function producerOf(queue, env) {
  const [, role] = /^newsfork-([a-z]+)-/.exec(queue) ?? [];
  return env[producers[role]];
}

/** Sends the messages again with a delay, and calls sent for each one accepted. Returns an error of the others. */
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

// A body and its content type, as its sender gave them to the queue.
function asSent(body) {
  if (typeof body === "string") return [body, "text"];
  if (body instanceof ArrayBuffer) return [new Uint8Array(body), "bytes"];
  if (ArrayBuffer.isView(body)) return [body, "bytes"];
  return [body, "json"];
}
