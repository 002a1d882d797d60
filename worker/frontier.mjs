// The Durable Object of a shard of the frontier. What it does is written in Go (frontier/).
import { DurableObject } from "cloudflare:workers";
import { runNow } from "./pool.mjs";

const maxRequest = 16 << 20; // bytes; the largest put has 12 MB

const encoder = new TextEncoder();

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
  /**
   * Runs an operation as one transaction: all of it is done, or nothing. Takes and gives the bytes of
   * JSON; see frontier/serve.go. It never throws: an exception would break the caller's stub.
   */
  call(operation, request) {
    if (request.byteLength > maxRequest)
      return failure("validation_error", `The request has more than ${maxRequest} bytes.`);
    try {
      return this.ctx.storage.transactionSync(() => {
        const { ok, answer } = runNow(this.env, this.ctx, operation, request);
        if (!ok) throw new Refusal(answer); // only an exception undoes what was written
        return answer;
      });
    } catch (error) {
      if (error instanceof Refusal) return error.answer;
      return failure(error.code ?? "storage_error", error.message);
    }
  }
}
