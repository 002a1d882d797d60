// The pool of Go instances. Starting the program costs milliseconds, so an instance serves many
// events, but only one at a time: the platform forbids one event to touch the I/O objects of
// another. An event leases an instance; afterwards the instance goes back to the idle ones only if
// nothing of the event is left in it.
import { helpers } from "./helpers.mjs";
import { execute } from "./sql.mjs";
import { Exchange, observed, Stream } from "./streams.mjs";
import "./wasm_exec.js";
import program from "./app.wasm";

const MiB = 1 << 20;
const minute = 60_000;

/** The limits of the pool, in milliseconds and bytes. */
export const rules = {
  maxLive: 10, // instances that exist at once: an isolate has 128 MB for all of them
  maxUploads: 5, // of these: uploads last as long as their clients take, and must not keep all others waiting
  maxInstanceBytes: 32 * MiB, // linear memory never shrinks, so a large instance is not kept
  maxIdleBytes: 48 * MiB, // linear memory of all idle instances together
  httpWait: 10_000, // how long an event waits for an instance before it is refused
  httpDeadline: minute, // how long an event may hold one, for an upload from its last byte
  queueWait: minute, // a queue event ends after 15 minutes: both together stay below
  queueDeadline: 13 * minute,
  cronWait: minute,
  cronDeadline: 13 * minute,
  refusedDelay: minute, // after which messages that found no instance come again
  unableDelay: 10 * minute, // the same where the program did not start, or could not begin
  refusedRetry: 10 * minute, // the same where they could not be sent again, and the retry costs an attempt
  afterClient: 31_000, // the platform ends an event 30 seconds after its client went away
  afterAnswer: 29_000, // or after its answer, and without notice
};

const sweepEvery = 1000; // how often a waiting event looks for permits of events that were cancelled

const encoder = new TextEncoder();
const decoder = new TextDecoder();

const counts = { created: 0, reused: 0, waited: 0, refused: 0, dropped: {}, recovered: {}, largest: 0 };
const idle = [];
const leases = new Set();
const waiters = []; // events that wait for a permit, first come first served
const granted = new Set(); // waiters that were given one and have not taken it yet

const count = (of, name) => (of[name] = (of[name] ?? 0) + 1);

/** Why an event got no answer from Go: code, status and message are what the HTTP API answers. */
export class Failure extends Error {
  refused; // why no program began on the event; undefined where one did

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
  fault = null; // why it must never run again, if it must not
  lease = null; // of the event that holds it
  #go = new globalThis.Go();
  #exports; // what Go exports: its memory, and the functions of the Go half
  #inbox = { address: 0, length: 0 }; // where Go reads the head of a request
  #results = new Map(); // values of promises that Go has yet to take, by id
  #handles = new Map(); // what Go names by number: streams, exchanges, uploads
  #handle = 0; // the last number given
  #pending = 0; // promises and timers that Go waits for
  #sleeping = new Map(); // timers of these, by id
  #goroutines; // how many there are when no event runs

  constructor() {
    const go = this.#go;
    go.exit = (code) => this.kill("exited", `the Go program exited with code ${code}`);
    go._resolveExitPromise = () => {}; // nobody waits for it, and it belongs to the event that started the program
    const resume = go._resume;
    // Every call into Go passes here: callbacks, settled promises and timers.
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
      // What Go calls may call Go. When that inner call broke the program, the outer one must not go on.
      const call = imports[`syscall/js.${name}`];
      imports[`syscall/js.${name}`] = (sp) => {
        call(sp);
        if (this.fault) throw new Error(this.fault.detail);
      };
    }
    /** What Go sees as its global "context". */
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
      extend: (ms) => this.lease.extend(ms),
      goOn: () => this.lease.goOn(),
      done: () => this.lease.finish(this.lease.answer),
      stats: () => JSON.stringify(stats()),
      recovered: (what) => count(counts.recovered, what),
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
          this.lease.respond(status, head, this.#view(bodyAt, bodyLength), constant === 1); // a Response copies it
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
        answer: (ok, alarm, at, length) =>
          this.lease.finish({ ok: ok !== 0, alarm, answer: this.#view(at, length).slice() }),
        print: (at, length) => console.log(decoder.decode(this.#view(at, length))),
      },
    });
    this.#exports = instance.exports;
    globalThis.context = this.host; // the program keeps what it finds here while it initialises
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
    return this.#exports.mem.buffer.byteLength;
  }

  // Notifies Go of something that happened, and lets it run until all its goroutines wait.
  #notify(what, ...details) {
    if (this.fault) return;
    if (!this.#exports[`worker_${what}`](...details)) this.#go._resume(); // true: done already
  }

  // Where Go reads what is given to it, with room for that many bytes.
  #room(bytes) {
    if (this.#inbox.length < bytes) {
      const length = Math.max(bytes, 8192);
      this.#inbox = { address: this.#exports.worker_inbox(length), length };
    }
    return this.#view(this.#inbox.address, this.#inbox.length);
  }

  /** Gives Go a request: method, URL, then names and values of headers, a line each. */
  request(head) {
    const { written } = encoder.encodeInto(head, this.#room(3 * head.length)); // the most that UTF-8 takes
    this.#notify("request", written);
  }

  /** Gives Go a call of a Durable Object: the time, its name and the operation, a line each, then the request. */
  call(operation, request) {
    const head = encoder.encode(`${Date.now()}\n${this.host.ctx.id.name ?? ""}\n${operation}\n`);
    const room = this.#room(head.length + request.length);
    room.set(head);
    room.set(request, head.length);
    this.#notify("call", head.length + request.length);
  }

  // Runs a statement on the database of the object whose call this is. Gives the length of the answer,
  // or that of an error as a negative number; Go then loads it. No exception may pass through Go.
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

  /** Returns what the last event left behind that keeps the instance from being reused; null if nothing. */
  leftover() {
    if (this.fault) return this.fault.reason;
    if (this.#pending > 0) return "pending_promise";
    if (this.#exports.worker_goroutines() > this.#goroutines) return "goroutines";
    this.#results.clear();
    this.#handles.clear();
    return null;
  }

  /** Ends the program: from here on nothing calls into it, and the event that holds it fails. */
  kill(reason, detail) {
    if (this.fault) return;
    this.fault = { reason, detail };
    this.park();
    for (const timer of this.#sleeping.values()) clearTimeout(timer);
    this.#go._scheduledTimeouts.clear(); // of an event that goes on a timer may still fire
    this.#go = this.#exports = null; // what still refers to this instance must not keep the program
    this.host = {};
    this.lease?.fail(broken());
  }

  /** Go's memory. The view is good until Go runs again. */
  #view(at, length) {
    return new Uint8Array(this.#exports.mem.buffer, at, length);
  }

  #keep(what) {
    this.#handles.set(++this.#handle, what);
    return this.#handle;
  }

  // The body of the request, whose bytes move the deadline of the event; undefined when there are too many uploads.
  #upload(length) {
    const { lease, host } = this;
    let uploads = 0;
    for (const { uploading } of leases) if (uploading) uploads++;
    if (uploads >= rules.maxUploads) return undefined;
    lease.uploading = true;
    return host.request.body && observed(host.request.body, length, () => lease.progress());
  }

  // How a promise was settled, as Go's settle understands it: the status, and a length in bytes.
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

  // Has Go wait for a timer. One of the event's own, since an AbortSignal costs more than all else of a pause.
  #sleep(id, ms) {
    this.#pending++;
    const wake = () => {
      this.#sleeping.delete(id);
      this.#settle(id, 1, 0);
    };
    this.#sleeping.set(id, setTimeout(wake, ms));
  }

  // Ends a pause early. Reports whether it had not ended.
  #wake(id) {
    clearTimeout(this.#sleeping.get(id));
    if (!this.#sleeping.delete(id)) return 0;
    this.#pending--;
    return 1;
  }

  // Calls a helper. What its promise gives is a string or bytes, which Go loads, or nothing.
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

  // The platform cancels the timers of an event that ended, and Go, believing one pending, would
  // then never set the next. So they are cleared with the event; when the next one begins, Go is
  // resumed as if a timer had fired, and sets what it needs again.
  park() {
    for (const timer of this.#go._scheduledTimeouts.values()) clearTimeout(timer);
  }

  wake() {
    if (this.#go._scheduledTimeouts.size) this.#go._resume();
  }
}

// An idle instance, ready for an event; undefined if there is none. Timers of the event before it fire
// only now, and one may end the program: that costs the instance, and no event.
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

/** The right of one event to one instance until a deadline. */
class Lease {
  uploading = false; // whether its request is an upload
  goesOn = false; // whether it does so after its answer
  answer; // given already, where it goes on
  #outcome; // { value } or { error }
  #settled; // called when there is one
  #timer;
  #limit; // milliseconds without progress
  #clientGone = false;

  constructor(env, ctx, limit) {
    this.#limit = limit;
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

  /** Runs work(lease); returns its result at once if Go waited for nothing, else a promise. */
  run(work) {
    this.#begin(work);
    if (this.#outcome) return this.#close();
    this.#watch();
    return new Promise((resolve) => (this.#settled = resolve)).then(() => this.#close());
  }

  /** Runs work(lease), which must come to its end before Go waits for anything. */
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
      this.fail(broken()); // also when the program was broken before
    }
  }

  /** Ends the event well. */
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

  // The timer is not set again whenever the deadline moves away, but when it fires too early.
  #watch() {
    this.#timer = setTimeout(
      () => (Date.now() < this.deadline ? this.#watch() : this.expire()),
      this.deadline - Date.now(),
    );
  }

  /** Moves the deadline, since the event gets on. Reports whether it still goes on. */
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

  /** The event goes on after its answer, which is given next. */
  goOn() {
    this.goesOn = true;
    this.extend(rules.afterAnswer);
  }

  expire() {
    this.fail(new Failure("timeout_error", 504, "This took too long and was given up. Try again later."));
    this.instance.kill("deadline", "the event held the Go program beyond its deadline");
    this.#end();
  }

  /** The client went away. The event may go on for a while, but it may also end without notice. */
  clientGone() {
    this.#clientGone = true;
    this.deadline = Math.min(this.deadline, Date.now() + rules.afterClient);
    if (leases.has(this)) this.instance.cancel();
  }

  #end() {
    if (!leases.delete(this)) return; // ended already, by its deadline
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

// fields splits what Go joined with line feeds; those of a field are written as \n, and backslashes as \\.
function fields(text) {
  const list = text.split("\n");
  return text.includes("\\") ? list.map((field) => field.replace(/\\(.)/g, (_, c) => (c === "n" ? "\n" : c))) : list;
}

function oversize(instance) {
  counts.largest = Math.max(counts.largest, instance.bytes);
  if (instance.bytes > rules.maxInstanceBytes) return "memory";
  const total = idle.reduce((sum, other) => sum + other.bytes, instance.bytes);
  return total > rules.maxIdleBytes ? "idle_memory" : null;
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

const hasRoom = () => leases.size + granted.size < rules.maxLive;

// Permits are handed on in the order of arrival. A waiter takes its permit when it wakes; one whose
// event was cancelled meanwhile never does, and sweep takes the permit back.
function grant() {
  while (waiters.length && hasRoom()) {
    const waiter = waiters.shift();
    waiter.since = Date.now();
    granted.add(waiter);
    waiter.wake();
  }
}

// A cancelled event runs no more code, neither finally blocks nor timers. So the next event
// ends the leases that are past their deadline.
function sweep() {
  const now = Date.now();
  for (const lease of leases) if (now >= lease.deadline) lease.expire();
  for (const waiter of granted) if (now - waiter.since > sweepEvery) granted.delete(waiter);
  grant();
}

/**
 * Leases an instance to an event and has it run work(lease), which ends with lease.finish or
 * lease.fail. Returns the result at once when that happens before Go waits for anything, else a
 * promise. Fails with a Failure when no instance comes free in time, when the program ends, and
 * when the deadline passes; after that the program does nothing more.
 */
export function run({ env, ctx, wait, deadline }, work) {
  sweep(); // after it there is no room as long as others wait
  if (hasRoom()) return new Lease(env, ctx, deadline).run(work);
  return waitForRoom(wait, () => new Lease(env, ctx, deadline).run(work));
}

/**
 * Runs a call of a Durable Object, whose env and ctx are given: gives { ok, alarm, answer } of the program, the
 * answer in bytes, before anything else happens. No other event runs meanwhile, so it needs no permit: it takes an
 * idle instance or starts one, and events that hold all permits may wait for it. Throws a Failure when
 * the program ends, or waits for anything.
 */
export function runNow(env, ctx, operation, request) {
  return new Lease(env, ctx, 0).runNow(({ instance }) => instance.call(operation, request));
}

async function waitForRoom(patience, go) {
  counts.waited++;
  const until = Date.now() + patience;
  const waiter = {};
  waiters.push(waiter);
  for (let now = Date.now(); now < until; now = Date.now()) {
    const woken = new Promise((resolve) => (waiter.wake = resolve));
    const pause = new AbortController(); // while a timer is pending the platform does not take the event for hung
    await Promise.race([
      woken,
      scheduler.wait(Math.min(sweepEvery, until - now), { signal: pause.signal }).catch(() => {}),
    ]);
    pause.abort();
    sweep();
    if (granted.delete(waiter)) return go();
    if (!waiters.includes(waiter)) waiters.unshift(waiter); // woke too late for its permit
  }
  waiters.splice(waiters.indexOf(waiter), 1);
  counts.refused++;
  throw refused(new Failure("busy", 503, "All instances are busy. Try again in a few seconds."), "busy");
}

/** The counters of this isolate's pool, and its instances. */
export function stats() {
  return {
    ...counts,
    live: leases.size,
    idle: idle.length,
    waiting: waiters.length,
    memory: [...leases].map((lease) => lease.instance.bytes).concat(idle.map((instance) => instance.bytes)),
  };
}
