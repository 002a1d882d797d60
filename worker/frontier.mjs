// The Durable Object of a frontier shard. Go implements its operations (frontier/).
import { DurableObject } from "cloudflare:workers";
import { runNow } from "./pool.mjs";

const maxRequest = 16 << 20; // bytes; the largest put has 12 MB
const firstAlarm = 60_000; // ms after the first call of a shard
const failedAlarm = 60_000; // ms after a failed alarm
const maxBatch = 100; // messages per sendBatch
const maxBatchBytes = 240_000;
const maxKeys = 1000; // per delete
const knownFor = 3_600_000; // ms for which the last answer of the queue stands for one that fails

const encoder = new TextEncoder();
const decoder = new TextDecoder();

// The program's answer to a failed call. Throwing it rolls back the transaction.
class Refusal extends Error {
  constructor(answer) {
    super();
    this.answer = answer;
  }
}

const failure = (code, message) => encoder.encode(JSON.stringify({ error: { code, message } }));

/** A shard of the frontier. */
export class Frontier extends DurableObject {
  #alarm = null; // time of the next alarm, ms since 1970
  #queue = { oldest: 0, at: 0 }; // the queue's last answer, and when it came

  constructor(ctx, env) {
    super(ctx, env);
    ctx.blockConcurrencyWhile(async () => {
      this.#alarm = await ctx.storage.getAlarm();
    });
  }

  /**
   * Runs an operation in one transaction. Request and answer are bytes of JSON; see frontier/shard/serve.go.
   * It never throws: an exception would break the caller's stub.
   */
  call(operation, request) {
    if (request.byteLength > maxRequest)
      return failure("validation_error", `The request has more than ${maxRequest} bytes.`);
    try {
      const { answer, alarm } = this.#run(operation, request);
      if (alarm || this.#alarm === null) this.#wakeBy(alarm || Date.now() + firstAlarm);
      return answer;
    } catch (error) {
      if (error instanceof Refusal) return error.answer;
      return failure(error.code ?? "storage_error", error.message);
    }
  }

  #run(operation, request) {
    return this.ctx.storage.transactionSync(() => {
      const result = runNow(this.env, this.ctx, operation, request);
      if (!result.ok) throw new Refusal(result.answer);
      return result;
    });
  }

  // Setting an alarm costs a row written, so only an earlier time is set. The platform holds the answer
  // back until the alarm is stored.
  #wakeBy(time) {
    if (this.#alarm !== null && this.#alarm <= time) return;
    this.#alarm = time;
    this.ctx.storage.setAlarm(time);
  }

  /**
   * The platform retries an alarm that throws only a few times. So failures are logged, and the alarm is set
   * again.
   */
  async alarm() {
    this.#alarm = null;
    let next = Date.now() + failedAlarm;
    try {
      next = await this.tick();
    } catch (error) {
      this.#log("alarm_failed", error);
    }
    this.#wakeBy(next);
  }

  /**
   * Does the work that is due (frontier/shard/tick.go), and returns the time of the next tick. Tests call it too, since
   * they cannot move the platform's clock.
   */
  async tick() {
    const [paused, oldest] = await Promise.all([this.#paused(), this.#oldest()]);
    const tick = this.#ask("tick", { shard: this.ctx.id.name, paused, oldest });
    await this.#send(tick.messages);
    if (tick.snapshot && !(await this.#store(tick.snapshot))) return Math.min(tick.alarm_at, tick.snapshot.again);
    return tick.alarm_at;
  }

  // Returns whether operators paused the pipeline (controls/). If this cannot be read, the tick fails, as queue events do.
  async #paused() {
    const controls = await this.env.DATASETS_BUCKET.get("control/pipeline.json");
    return controls !== null && (await controls.json()).pipeline?.paused === true;
  }

  // The time of the oldest message in the domain queue, in ms since 1970; 0 if the queue is empty. If it does not say, it
  // is what it said within the last hour, else 0: one failure must not have all that waits sent a second time.
  async #oldest() {
    try {
      const { oldestMessageTimestamp } = await this.env.DOMAIN_QUEUE.metrics();
      this.#queue = { oldest: Number(oldestMessageTimestamp ?? 0), at: Date.now() };
    } catch (error) {
      this.#log("queue_metrics_failed", error);
    }
    return Date.now() - this.#queue.at < knownFor ? this.#queue.oldest : 0;
  }

  // Runs an operation for the object itself, and returns its parsed answer.
  #ask(operation, request) {
    try {
      const { answer } = this.#run(operation, encoder.encode(JSON.stringify(request)));
      return JSON.parse(decoder.decode(answer)).answer;
    } catch (error) {
      if (!(error instanceof Refusal)) throw error;
      const { code, message } = JSON.parse(decoder.decode(error.answer)).error;
      throw Object.assign(new Error(`${operation}: ${message}`), { code });
    }
  }

  async #send(messages) {
    const queue = this.env.DOMAIN_QUEUE;
    let batch = [];
    let bytes = 0;
    for (const message of messages) {
      const body = JSON.stringify(message);
      const size = encoder.encode(body).length;
      if (batch.length === maxBatch || (batch.length && bytes + size > maxBatchBytes)) {
        await queue.sendBatch(batch);
        batch = [];
        bytes = 0;
      }
      batch.push({ body, contentType: "text" });
      bytes += size;
    }
    if (batch.length) await queue.sendBatch(batch);
  }

  // Stores pages of a snapshot for at most for_ms, so that the shard can answer calls in between, and notes how far it
  // came, even if a page fails: else a snapshot of many pages would never end where one in a hundred does. Once all
  // pages are stored, it deletes the oldest snapshots. Returns whether all are stored.
  async #store({ taken, date, dir, prefix, keep, replaced, page: first, from, for_ms }) {
    const until = Date.now() + for_ms;
    let next = from;
    let page = first;
    try {
      do {
        const content = this.#ask("export", { From: next, Taken: taken });
        const key = `${prefix}${String(page).padStart(4, "0")}.json`;
        await this.env.DATASETS_BUCKET.put(key, JSON.stringify(content), {
          httpMetadata: { contentType: "application/json" },
        });
        next = content.next ?? 0;
        page++;
      } while (next && Date.now() < until);
    } finally {
      if (page > first) this.#ask("stored", { Date: date, Taken: taken, Page: page - 1, Next: next });
    }
    if (next) return false;
    await this.#delete(dir, keep);
    await this.#delete(replaced, prefix);
    return true;
  }

  // Deletes the objects whose keys begin with prefix and sort before end.
  async #delete(prefix, end) {
    const bucket = this.env.DATASETS_BUCKET;
    for (let cursor, more = true; more;) {
      const listed = await bucket.list({ prefix, limit: maxKeys, cursor });
      const old = listed.objects.map(({ key }) => key).filter((key) => key < end);
      if (old.length) await bucket.delete(old);
      more = listed.truncated && old.length === listed.objects.length; // keys are sorted
      cursor = listed.cursor;
    }
  }

  #log(event, error) {
    console.error(
      JSON.stringify({
        event,
        level: "error",
        ts: new Date().toISOString(),
        error_type: error.code ?? "storage_error",
        shard: this.ctx.id.name,
        message: error.message,
      }),
    );
  }
}
