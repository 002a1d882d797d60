// The pool of Go instances. Starting the program costs milliseconds, so an instance serves many
// events, but only one at a time: the platform forbids one event to use the I/O objects of another.
// An event leases an instance. Afterwards the instance becomes idle only if the event left nothing
// behind in it.
import { helpers } from "./helpers.mjs";
import { execute } from "./sql.mjs";
import { Exchange, observed, Stream } from "./streams.mjs";
import "./wasm_exec.js";
import program from "./app.wasm";

const MiB = 1 << 20;
const minute = 60_000;

/** The limits of the pool, in milliseconds and bytes. */
export const rules = {
  maxLive: 10, // instances in use at once
  maxBytes: 90 * MiB, // linear memory of all instances: an isolate has 128 MB for them, its Durable Objects and JavaScript
  fileBytes: 40 * MiB, // memory reserved for an event that processes a raw file
  eventBytes: 14 * MiB, // memory reserved for any other event
  maxUploads: 2, // uploads at once: slow clients must not hold all instances, nor the memory that a raw file needs
  // Linear memory never shrinks, so a large instance is not kept. One of 36 MiB still leaves room for a raw file beside a
  // batch, and batches of news sites, which need 33 to 36, keep theirs: another would start and read the classifier again.
  maxInstanceBytes: 36 * MiB,
  maxIdleBytes: 52 * MiB, // linear memory of all idle instances together
  httpWait: 10_000, // how long an event waits for an instance before it is refused
  httpDeadline: minute, // how long an event may hold one; an upload, after its last byte
  queueWait: minute, // the platform ends a queue event after 15 minutes: wait and deadline stay below
  queueDeadline: 13 * minute,
  cronWait: minute,
  cronDeadline: 13 * minute,
  refusedDelay: minute, // delay of messages that found no instance
  unableDelay: 10 * minute, // delay of messages if the program did not start or refused the batch
  refusedRetry: 10 * minute, // delay of messages that could not be requeued, and cost an attempt
  afterClient: 31_000, // the platform ends an event 30 seconds after its client disconnects
  afterAnswer: 29_000, // the platform ends an event 30 seconds after its answer, without notice
};

const sweepEvery = 1000; // how often a waiting event looks for permits of cancelled events

const encoder = new TextEncoder();
const decoder = new TextDecoder();

const counts = {
  created: 0,
  reused: 0,
  waited: 0,
  refused: {},
  dropped: {},
  recovered: {},
  largest: 0,
  peak: 0,
  timed: 0, // pieces of work
  seconds: {}, // that they took, by stage
};
const idle = [];
const leases = new Set();
const waiters = []; // events that wait for a permit, first come first served
const granted = new Set(); // waiters that have a permit and have not woken yet

const count = (of, name) => (of[name] = (of[name] ?? 0) + 1);

/** The error of an event that got no answer from Go, with code, status and message of the HTTP response. */
export class Failure extends Error {
  refused; // why no program began the event; undefined if one did

  constructor(code, status, message) {
    super(message);
    this.code = code;
    this.status = status;
  }
}

const broken = () => new Failure("internal_error", 500, "The request failed unexpectedly.");
const refused = (failure, why) => Object.assign(failure, { refused: why });

/** One running Go program. */
class Instance {
  fault = null; // { reason, detail } once it is broken and must never run again
  lease = null; // of the event that holds it
  #go = new globalThis.Go();
  #exports; // Go's memory and exported functions
  #inbox = { address: 0, length: 0 }; // where Go reads the head of a request
  #results = new Map(); // values of settled promises that Go has yet to take, by id
  #handles = new Map(); // objects that Go knows by handle: streams, exchanges, uploads
  #handle = 0; // the last handle
  #pending = 0; // promises and timers that Go waits for
  #sleeping = new Map(); // timers that Go waits for, by id
  #goroutines; // number of goroutines when idle

  constructor() {
    const go = this.#go;
    go.exit = (code) => this.kill("exited", `the Go program exited with code ${code}`);
    go._resolveExitPromise = () => {}; // unused, and bound to the event that started the program
    const resume = go._resume;
    // Every call into Go goes through here: callbacks, settled promises and timers.
    go._resume = () => {
      if (this.fault) return;
      try {
        resume.call(go);
      } catch (error) {
        this.kill("exception", `an exception left the Go program: ${error}`);
      }
    };
    const imports = go.importObject.gojs;
    for (const name of ["valueCall", "valueInvoke", "valueNew"]) {
      // JavaScript that Go calls may call Go again. If the inner call broke the program, the outer must not continue.
      const call = imports[`syscall/js.${name}`];
      imports[`syscall/js.${name}`] = (sp) => {
        call(sp);
        if (this.fault) throw new Error(this.fault.detail);
      };
    }
    /** The global "context" of the Go program. */
    this.host = {
      binding: {}, // the library's callbacks for queues and cron
      env: undefined, // env, ctx and request are those of the event that holds the instance
      ctx: undefined,
      request: undefined,
      wait: (id, promise) => this.#wait(id, promise),
      take: (id) => this.#take(id),
      keep: (what) => this.#keep(what),
      adopt: (stream) => this.#keep(new Stream(stream)),
      upload: (length) => this.#upload(length),
      fail: (message) => this.lease.fail(Object.assign(new Failure("internal_error", 500, message), { logged: true })),
      refuse: (why) => this.lease.fail(refused(broken(), why)),
      reserve: (bytes) => this.lease.reserve(bytes),
      extend: (ms) => this.lease.extend(ms),
      continueAfterAnswer: () => this.lease.continueAfterAnswer(),
      done: () => this.lease.finish(this.lease.answer),
      stats: () => JSON.stringify(stats()),
      recovered: (what) => count(counts.recovered, what),
      timed: (stages) => {
        counts.timed++;
        for (const [stage, seconds] of Object.entries(JSON.parse(stages)))
          counts.seconds[stage] = (counts.seconds[stage] ?? 0) + seconds;
      },
    };
    this.#start();
  }

  #start() {
    let ready = false;
    const instance = new WebAssembly.Instance(program, {
      ...this.#go.importObject,
      workers: { ready: () => (ready = true) },
      worker: {
        respond: (status, headAt, headLength, bodyAt, bodyLength, constant) => {
          const head = decoder.decode(this.#view(headAt, headLength));
          this.lease.respond(status, head, this.#view(bodyAt, bodyLength), constant === 1); // Response copies the view
        },
        ask: (id, textAt, textLength, dataAt, dataLength) =>
          this.#ask(id, this.#view(textAt, textLength), this.#view(dataAt, dataLength)),
        load: (id, at) => {
          const bytes = this.#take(id);
          this.#view(at, bytes.length).set(bytes);
        },
        sleep: (id, ms) => this.#sleep(id, ms),
        wake: (id) => this.#wake(id),
        open: () => this.#keep(new Exchange()),
        read: (id, handle) => this.#read(id, handle),
        copy: (handle, at, length) => this.#handles.get(handle).copy(this.#view(at, length)),
        write: (handle, at, length) => this.#handles.get(handle).write(this.#view(at, length)),
        abort: (handle) => this.#handles.get(handle)?.abort(),
        sql: (textAt, textLength, argsAt, argsLength) =>
          this.#sql(this.#view(textAt, textLength), this.#view(argsAt, argsLength)),
        database_size: () => this.host.ctx.storage?.sql.databaseSize ?? 0,
        answer: (ok, alarm, at, length) =>
          this.lease.finish({ ok: ok !== 0, alarm, answer: this.#view(at, length).slice() }),
        print: (at, length) => console.log(decoder.decode(this.#view(at, length))),
      },
    });
    this.#exports = instance.exports;
    globalThis.context = this.host; // the program reads it while it initializes
    try {
      this.#go.run(instance).catch((error) => report("start", String(error)));
    } finally {
      delete globalThis.context;
    }
    if (!ready || this.fault) throw new Error(this.fault?.detail ?? "the Go program paused before it was ready");
    this.#goroutines = this.#exports.worker_goroutines();
    counts.created++;
  }

  /** Bytes of linear memory. */
  get bytes() {
    return this.#exports?.mem.buffer.byteLength ?? 0; // none once it is broken
  }

  // Calls an exported function of Go, and lets Go run until all its goroutines wait.
  #notify(what, ...details) {
    if (this.fault) return;
    if (!this.#exports[`worker_${what}`](...details)) this.#go._resume(); // true: done already
  }

  // Go's inbox, with a capacity of at least that many bytes.
  #inboxOf(bytes) {
    if (this.#inbox.length < bytes) {
      const length = Math.max(bytes, 8192);
      this.#inbox = { address: this.#exports.worker_inbox(length), length };
    }
    return this.#view(this.#inbox.address, this.#inbox.length);
  }

  /** Passes a request to Go: method, URL, then header names and values, one per line. */
  request(head) {
    const { written } = encoder.encodeInto(head, this.#inboxOf(3 * head.length)); // UTF-8 needs at most that
    this.#notify("request", written);
  }

  /** Passes a call of a Durable Object to Go: time, object name and operation, one per line, then the request. */
  call(operation, request) {
    const head = encoder.encode(`${Date.now()}\n${this.host.ctx.id.name ?? ""}\n${operation}\n`);
    const inbox = this.#inboxOf(head.length + request.length);
    inbox.set(head);
    inbox.set(request, head.length);
    this.#notify("call", head.length + request.length);
  }

  // Runs a statement on the database of the object being called. Returns the length of the answer, or
  // of an error as a negative number; Go then loads it. No exception may pass through Go.
  #sql(statement, args) {
    const { storage } = this.host.ctx;
    let answer;
    let sign = 1;
    try {
      if (!storage) throw new Error("there is no Durable Object in this event");
      answer = execute(storage.sql, statement, args);
    } catch (error) {
      answer = encoder.encode(String(error));
      sign = -1;
    }
    this.#results.set(0, answer); // promises have ids from 1
    return sign * answer.length;
  }

  /** Ends the context of the event. */
  cancel() {
    this.#notify("cancel");
  }

  /** Returns why the last event made the instance unfit for another; null if it did not. */
  leftover() {
    if (this.fault) return this.fault.reason;
    if (this.#pending > 0) return "pending_promise";
    if (this.#exports.worker_goroutines() > this.#goroutines) return "goroutines";
    this.#results.clear();
    this.#handles.clear();
    return null;
  }

  /** Ends the program: nothing calls into it any more, and the event that holds it fails. */
  kill(reason, detail) {
    if (this.fault) return;
    this.fault = { reason, detail };
    this.park();
    for (const timer of this.#sleeping.values()) clearTimeout(timer);
    this.#go._scheduledTimeouts.clear(); // timers of an event that continues may still fire
    this.#go = this.#exports = null; // remaining references to this instance must not keep the program alive
    this.host = {};
    this.lease?.fail(broken());
  }

  /** A view of Go's memory, valid until Go runs again. */
  #view(at, length) {
    return new Uint8Array(this.#exports.mem.buffer, at, length);
  }

  #keep(what) {
    this.#handles.set(++this.#handle, what);
    return this.#handle;
  }

  // The body of the request. Its bytes move the event's deadline. Undefined if there are too many uploads.
  #upload(length) {
    const { lease, host } = this;
    let uploads = 0;
    for (const { uploading } of leases) if (uploading) uploads++;
    if (uploads >= rules.maxUploads) return undefined;
    lease.uploading = true;
    return host.request.body && observed(host.request.body, length, () => lease.progress());
  }

  // Tells Go that a promise was settled, with a status and a length in bytes.
  #settle(id, status, length, value) {
    this.#pending--;
    if (value !== undefined) this.#results.set(id, value);
    this.#notify("settle", id, status, length);
  }

  #wait(id, promise, fulfilled = (value) => [1, 0, value]) {
    this.#pending++;
    Promise.resolve(promise).then(
      (value) => this.#settle(id, ...fulfilled(value)),
      (error) => this.#settle(id, 0, 0, error ?? null),
    );
  }

  // Makes Go wait for a timer. An AbortSignal would cost more than everything else about a pause.
  #sleep(id, ms) {
    this.#pending++;
    const wake = () => {
      this.#sleeping.delete(id);
      this.#settle(id, 1, 0);
    };
    this.#sleeping.set(id, setTimeout(wake, ms));
  }

  // Ends a pause early. Returns 0 if it had already ended.
  #wake(id) {
    clearTimeout(this.#sleeping.get(id));
    if (!this.#sleeping.delete(id)) return 0;
    this.#pending--;
    return 1;
  }

  // Calls a helper. Its promise resolves to a string or bytes, which Go loads, or to nothing.
  #ask(id, text, data) {
    const [name, ...args] = fields(decoder.decode(text));
    const { env } = this.host;
    const call = { env, data, keep: (what) => this.#keep(what), get: (handle) => this.#handles.get(Number(handle)) };
    this.#wait(id, helpers[name](call, ...args), (answer) => {
      if (answer === undefined || answer === null) return [2, 0];
      const bytes = typeof answer === "string" ? encoder.encode(answer) : answer;
      return [1, bytes.length, bytes];
    });
  }

  #read(id, handle) {
    this.#wait(id, this.#handles.get(handle).next(), ([length, last]) => [last ? 2 : 1, length]);
  }

  #take(id) {
    const value = this.#results.get(id);
    this.#results.delete(id);
    return value;
  }

  // The platform cancels the timers of an event that ended. Go would believe them pending and never set
  // another. So they are cleared with the event; when the next event begins, Go is resumed as if a timer
  // had fired, and sets the timers it needs again.
  park() {
    for (const timer of this.#go._scheduledTimeouts.values()) clearTimeout(timer);
  }

  wake() {
    if (this.#go._scheduledTimeouts.size) this.#go._resume();
  }
}

// An idle instance ready for an event, or undefined. Timers of its previous event fire only now. If one
// ends the program, the instance is dropped and no event fails.
function awake() {
  for (let instance; (instance = idle.pop());) {
    instance.wake();
    if (!instance.fault) {
      counts.reused++;
      return instance;
    }
    count(counts.dropped, instance.fault.reason);
    report(instance.fault.reason, instance.fault.detail);
  }
}

/** A lease gives one event one instance until a deadline. */
class Lease {
  uploading = false; // whether the request is an upload
  continues = false; // whether the event continues after its answer
  request; // whether a client waits for the event
  answer; // the answer, if the event continues after it
  #outcome; // { value } or { error }
  #settled; // called with the outcome set
  #timer;
  #limit; // milliseconds without progress
  #bytes; // of memory that are reserved for the event
  #clientGone = false;

  constructor(env, ctx, limit, { bytes, request }) {
    this.#limit = limit;
    this.#bytes = bytes;
    this.request = request;
    this.deadline = Date.now() + limit;
    leases.add(this);
    try {
      this.instance = awake() ?? new Instance();
    } catch (error) {
      leases.delete(this);
      count(counts.dropped, "start");
      report("start", error.message);
      throw refused(broken(), "the program did not start");
    }
    this.instance.lease = this;
    this.instance.host.env = env;
    this.instance.host.ctx = ctx;
  }

  /** Bytes of memory that the event uses, or that are reserved for it if those are more. */
  get bytes() {
    return Math.max(this.instance?.bytes ?? 0, this.#bytes);
  }

  /** Runs work(lease). Returns its result if Go waited for nothing, else a promise. */
  run(work) {
    this.#begin(work);
    if (this.#outcome) return this.#close();
    this.#watch();
    return new Promise((resolve) => (this.#settled = resolve)).then(() => this.#close());
  }

  /** Runs work(lease), which must end before Go waits for anything. */
  runNow(work) {
    this.#begin(work);
    if (!this.#outcome) this.instance.kill("waited", "a call of a Durable Object waited for something");
    return this.#close();
  }

  #begin(work) {
    try {
      work(this);
    } catch (error) {
      this.instance.kill("exception", `the event could not be handed to the Go program: ${error}`);
      this.fail(broken()); // also if the program was broken before
    }
  }

  /** Ends the event with a result. */
  finish(value) {
    this.#settle({ value });
  }

  /** Ends the event with an error. */
  fail(error) {
    this.#settle({ error });
  }

  #settle(outcome) {
    this.#outcome ??= outcome;
    this.#settled?.();
  }

  #close() {
    this.#end();
    if ("error" in this.#outcome) throw this.#outcome.error;
    return this.#outcome.value;
  }

  // Moving the deadline does not set the timer again. Instead, a timer that fires too early is set for the rest.
  #watch() {
    this.#timer = setTimeout(
      () => (Date.now() < this.deadline ? this.#watch() : this.expire()),
      this.deadline - Date.now(),
    );
  }

  /** Moves the deadline after progress. Returns whether the event still holds its lease. */
  progress() {
    if (!leases.has(this)) return false;
    if (!this.#clientGone) this.deadline = Math.max(this.deadline, Date.now() + this.#limit);
    return true;
  }

  /** Moves the deadline to the given milliseconds from now. */
  extend(ms) {
    this.deadline = Date.now() + ms;
    if (!this.#timer) return;
    clearTimeout(this.#timer);
    this.#watch();
  }

  /** Reserves memory beyond what each event has. Returns false if other events leave too little. */
  reserve(bytes) {
    const wanted = this.#bytes + bytes;
    leases.delete(this); // what it has already is part of that
    const why = hindrance({ bytes: wanted, request: this.request });
    leases.add(this);
    if (why) {
      count(counts.refused, why);
      return false;
    }
    this.#bytes = wanted;
    while (idle.length > 1 && reserved() + sum(idle) > limitOf(this)) discard(idle.shift());
    return true;
  }

  /** Lets the event continue after its answer, which follows. */
  continueAfterAnswer() {
    this.continues = true;
    this.extend(rules.afterAnswer);
  }

  expire() {
    this.fail(new Failure("timeout_error", 504, "This took too long and was given up. Try again later."));
    this.instance.kill("deadline", "the event held the Go program beyond its deadline");
    this.#end();
  }

  /** Called when the client disconnects. The platform may then end the event without notice. */
  clientGone() {
    this.#clientGone = true;
    this.deadline = Math.min(this.deadline, Date.now() + rules.afterClient);
    if (leases.has(this)) this.instance.cancel();
  }

  #end() {
    if (!leases.delete(this)) return; // expired before
    if (this.#timer) clearTimeout(this.#timer);
    const { instance } = this;
    const reason = instance.leftover() ?? oversize(instance);
    instance.lease = null;
    if (reason) {
      count(counts.dropped, reason);
      if (instance.fault) report(reason, instance.fault.detail);
      else instance.kill(reason, "the event left something behind");
    } else {
      const { host } = instance;
      host.env = host.ctx = host.request = undefined;
      instance.park();
      idle.push(instance);
    }
    grant();
  }
}

// Splits text that Go joined with line feeds. A line feed in a field is written as \n, a backslash as \\.
function fields(text) {
  const list = text.split("\n");
  return text.includes("\\") ? list.map((field) => field.replace(/\\(.)/g, (_, c) => (c === "n" ? "\n" : c))) : list;
}

function oversize(instance) {
  counts.largest = Math.max(counts.largest, instance.bytes);
  counts.peak = Math.max(counts.peak, sum([instance, ...idle, ...[...leases].map((lease) => lease.instance)]));
  if (instance.bytes > rules.maxInstanceBytes) return "memory";
  const total = sum(idle) + instance.bytes;
  if (total > rules.maxIdleBytes) return "idle_memory";
  // One is kept in any case, for calls of Durable Objects: others would start a program each.
  return idle.length && total + reserved() > rules.maxBytes ? "idle_memory" : null;
}

const sum = (list) => list.reduce((bytes, one) => bytes + one.bytes, 0);

/** Bytes of memory of the events that have an instance, or a permit for one. */
const reserved = () => sum([...leases, ...granted]);

/**
 * Returns why an event has to wait: "busy" if all permits are taken, "memory" if the events together might need too
 * much, or undefined if it need not wait. An event that is alone never waits.
 */
function hindrance(event) {
  if (leases.size + granted.size >= rules.maxLive) return "busy";
  const bytes = reserved();
  if (bytes > 0 && bytes + event.bytes > limitOf(event)) return "memory";
  const [batch] = waiters.filter(({ request }) => !request);
  if (!event.request || !batch) return;
  // Requests come and go: if they took all memory again and again, the batch would wait for ever.
  const requests = sum([...leases, ...granted].filter(({ request }) => request));
  if (requests > 0 && requests + event.bytes > limitOf(batch) - batch.bytes) return "memory";
}

/** Bytes of memory up to which an event is admitted. Events of queues and cron leave memory for a request. */
const limitOf = ({ request }) => rules.maxBytes - (request ? 0 : rules.eventBytes);

// Drops idle instances, beginning with the one idle for longest, until an event that reuses the newest one fits.
function makeRoom(event) {
  for (; idle.length; discard(idle.shift())) {
    const last = idle.at(-1).bytes;
    const total = reserved() + sum(idle) - last + Math.max(last, event.bytes);
    if (total <= limitOf(event) || (idle.length === 1 && last <= event.bytes)) return;
  }
}

function discard(instance) {
  count(counts.dropped, "idle_memory");
  instance.kill("idle_memory", "its memory was needed for another event");
}

function report(reason, message) {
  const line = {
    event: "instance_failed",
    level: "error",
    ts: new Date().toISOString(),
    error_type: "internal_error",
    reason,
    message,
  };
  console.error(JSON.stringify(line));
}

// Grants permits, to requests in order of arrival and to other events in order of arrival: a request does not wait
// for the memory that a file waits for. A waiter takes its permit when it wakes. If its event was cancelled, it never
// wakes, and sweep takes the permit back.
function grant() {
  for (const kind of [true, false]) {
    for (const waiter of waiters.filter(({ request }) => request === kind)) {
      if (hindrance(waiter)) break;
      waiters.splice(waiters.indexOf(waiter), 1);
      waiter.since = Date.now();
      granted.add(waiter);
      waiter.wake();
    }
  }
}

function forget(waiter) {
  const at = waiters.indexOf(waiter);
  if (at >= 0) waiters.splice(at, 1);
}

// A cancelled event runs no more code, neither finally blocks nor timers. So the next event ends leases
// past their deadline, and forgets events that have waited for longer than they do.
function sweep() {
  const now = Date.now();
  for (const lease of leases) if (now >= lease.deadline) lease.expire();
  for (const waiter of granted) if (now - waiter.since > sweepEvery) granted.delete(waiter);
  for (const waiter of waiters.filter(({ until }) => now > until + sweepEvery)) forget(waiter);
  grant();
}

/**
 * Leases an instance to an event and runs work(lease), which ends with lease.finish or lease.fail. Returns
 * the result if that happens before Go waits for anything, else a promise. Fails with a Failure if no
 * instance becomes free in time, the program ends, or the deadline passes; the program then stops.
 * file says that the event processes a raw file, request that a client waits for it.
 */
export function run({ env, ctx, wait, deadline, file = false, request = false }, work) {
  const event = { bytes: file ? rules.fileBytes : rules.eventBytes, request };
  const go = () => {
    makeRoom(event);
    return new Lease(env, ctx, deadline, event).run(work);
  };
  sweep(); // afterwards no permit is free while others of its kind wait
  if (!hindrance(event) && !waiters.some((waiter) => waiter.request === request)) return go();
  return waitForPermit(event, wait, go);
}

/**
 * Runs a call of the Durable Object with env and ctx. Returns the program's { ok, alarm, answer }, the answer in
 * bytes. No other event runs meanwhile, so it needs no permit: it takes an idle instance or starts one, even while
 * events that wait for it hold all permits. Throws a Failure if the program ends or waits for anything.
 */
export function runNow(env, ctx, operation, request) {
  return new Lease(env, ctx, 0, { bytes: 0, request: false }).runNow(({ instance }) =>
    instance.call(operation, request),
  );
}

async function waitForPermit(event, timeout, go) {
  counts.waited++;
  const until = Date.now() + timeout;
  const waiter = { ...event, until };
  waiters.push(waiter);
  for (let now = Date.now(); now < until; now = Date.now()) {
    const woken = new Promise((resolve) => (waiter.wake = resolve));
    const pause = new AbortController(); // without a pending timer the platform would take the event for hung
    await Promise.race([
      woken,
      scheduler.wait(Math.min(sweepEvery, until - now), { signal: pause.signal }).catch(() => {}),
    ]);
    pause.abort();
    sweep();
    if (granted.delete(waiter)) return go();
    if (!waiters.includes(waiter)) waiters.unshift(waiter); // woke too late for its permit
  }
  const why = hindrance(event) ?? "busy"; // others of its kind were first
  forget(waiter);
  grant(); // it may have kept others waiting
  count(counts.refused, why);
  throw refused(new Failure("busy", 503, "All instances are busy. Try again in a few seconds."), why);
}

/** Counters and state of this isolate's pool. */
export function stats() {
  return {
    ...counts,
    live: leases.size,
    idle: idle.length,
    waiting: waiters.length,
    reserved: reserved(),
    memory: [...leases].map((lease) => lease.instance.bytes).concat(idle.map((instance) => instance.bytes)),
  };
}
