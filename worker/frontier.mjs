// The Durable Object of a shard of the frontier. What it does is written in Go (frontier/).
import { DurableObject } from "cloudflare:workers";
import { runNow } from "./pool.mjs";

const maxRequest = 16 << 20; // bytes; the largest put has 12 MB
const firstAlarm = 60_000; // ms after a shard was first called
const failedAlarm = 60_000; // ms after an alarm that failed
const maxBatch = 100; // messages of a sendBatch
const maxBatchBytes = 240_000;
const maxKeys = 1000; // of a delete

const encoder = new TextEncoder();
const decoder = new TextDecoder();

// An answer that says why nothing was done.
class Refusal extends Error {
  constructor(answer) {
    super();
    this.answer = answer;
  }
}

const failure = (code, message) => encoder.encode(JSON.stringify({ error: { code, message } }));

/** A shard of the frontier. */
export class Frontier extends DurableObject {
  #alarm = null; // ms since 1970, when the alarm goes off

  constructor(ctx, env) {
    super(ctx, env);
    ctx.blockConcurrencyWhile(async () => {
      this.#alarm = await ctx.storage.getAlarm();
    });
  }

  /**
   * Runs an operation as one transaction: all of it is done, or nothing. Takes and gives the bytes of
   * JSON; see frontier/serve.go. It never throws: an exception would break the caller's stub.
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
      if (!result.ok) throw new Refusal(result.answer); // only an exception undoes what was written
      return result;
    });
  }

  // Setting an alarm is a row written, so it is set only when it moves earlier. The platform keeps the answer
  // back until the alarm is stored.
  #wakeBy(time) {
    if (this.#alarm !== null && this.#alarm <= time) return;
    this.#alarm = time;
    this.ctx.storage.setAlarm(time);
  }

  /**
   * The platform would repeat an alarm that throws a few times and then never again. So it throws only when
   * the object itself is gone, and otherwise goes off again later.
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
   * Does what is due (frontier/tick.go), and gives the time at which it wants to be called again. It may be called
   * at any time: tests do, since they cannot move the platform's clock.
   */
  async tick() {
    const tick = this.#ask("tick", { shard: this.ctx.id.name, paused: await this.#paused() });
    await this.#send(tick.messages);
    if (tick.snapshot) await this.#store(tick.snapshot);
    return tick.alarm_at;
  }

  // Whether operators paused the pipeline (controls/). What cannot be read stops the tick, as it stops queue events.
  async #paused() {
    const controls = await this.env.DATASETS_BUCKET.get("control/pipeline.json");
    return controls !== null && (await controls.json()).pipeline?.paused === true;
  }

  // Asks the program for what the object needs itself.
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

  // Stores a snapshot page by page, so that the shard answers calls in between, and deletes the oldest ones.
  async #store({ taken, date, dir, prefix, keep }) {
    const bucket = this.env.DATASETS_BUCKET;
    for (let n = 1, from = 0; n === 1 || from; n++) {
      const page = this.#ask("export", { From: from, Taken: taken });
      await bucket.put(`${prefix}${String(n).padStart(4, "0")}.json`, JSON.stringify(page), {
        httpMetadata: { contentType: "application/json" },
      });
      from = page.next;
    }
    this.#ask("stored", { Date: date });
    for (let cursor, more = true; more;) {
      const listed = await bucket.list({ prefix: dir, limit: maxKeys, cursor });
      const old = listed.objects.map(({ key }) => key).filter((key) => key < keep);
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
