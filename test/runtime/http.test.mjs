import assert from "node:assert/strict";
import { test } from "node:test";
import { pause, start } from "./harness.mjs";

const fixture = await start();

test("method, URL and host reach the handler as net/http would give them", async () => {
  const answer = await fixture.get("/request?a=1&b=%20x", { method: "PATCH" });
  const { method, uri, path, query, length } = await answer.json();
  assert.deepEqual(
    { method, uri, path, query, length },
    { method: "PATCH", uri: "/request?a=1&b=%20x", path: "/request", query: "a=1&b=%20x", length: 0 },
  );
});

test("a URL that Go cannot read is the caller's error", async () => {
  const answer = await fixture.get("/request%zz");
  assert.equal(answer.status, 400);
  assert.equal((await answer.json()).error.code, "validation_error");
});

test("header values are not split at commas", async () => {
  const answer = await fixture.get("/headers", {
    headers: { "if-modified-since": "Wed, 21 Oct 2026 07:28:00 GMT", accept: "text/html, */*;q=0.1" },
  });
  const headers = await answer.json();
  assert.deepEqual(headers["If-Modified-Since"], ["Wed, 21 Oct 2026 07:28:00 GMT"]);
  assert.deepEqual(headers.Accept, ["text/html, */*;q=0.1"]);
});

test("a long head reaches the handler complete", async () => {
  await fixture.text("/health");
  const value = "0123456789".repeat(1200);
  const headers = await (await fixture.get("/headers", { headers: { "x-long": value, "x-short": "1" } })).json();
  assert.deepEqual(headers["X-Long"], [value]);
  assert.deepEqual(headers["X-Short"], ["1"]);
});

test("each Set-Cookie stays a header of its own, and a line break starts none", async () => {
  const { headers } = await fixture.get("/headers");
  assert.deepEqual(headers.getSetCookie(), ["a=1; Expires=Wed, 21 Oct 2026 07:28:00 GMT", "b=2"]);
  assert.equal(headers.get("x-line"), "one X-Injected: two");
  assert.equal(headers.get("x-injected"), null);
});

test("the request id is the caller's if valid, else a new one", async () => {
  const seen = async (id) => {
    const answer = await fixture.get("/headers", { headers: { "x-request-id": id } });
    const inside = (await answer.json())["X-Request-Id"];
    assert.deepEqual(inside, [answer.headers.get("x-request-id")]);
    return inside[0];
  };
  assert.equal(await seen("abc-123"), "abc-123");
  assert.match(await seen("not sound"), /^[0-9a-f-]{36}$/);
  assert.match(await seen("x".repeat(65)), /^[0-9a-f-]{36}$/);
});

test("a constant answer comes from the handler once, unless it was an error", async () => {
  const seen = async (id, init = {}, path = "/constant") => {
    const answer = await fixture.get(path, { ...init, headers: { "x-request-id": id } });
    assert.equal(answer.headers.get("x-request-id"), id);
    assert.equal(answer.headers.get("x-two"), "a, b");
    return [answer.status, await answer.text()];
  };
  assert.deepEqual(await seen("one"), [503, "1"]);
  assert.deepEqual(await seen("two"), [200, "2"]);
  for (const id of ["three", "four-".repeat(12)]) assert.deepEqual(await seen(id), [200, "2"]);
  assert.deepEqual(await seen("five", {}, "/constant?"), [200, "3"], "another URL");
  assert.deepEqual(await seen("six", { method: "POST" }), [200, "4"], "another method");
  assert.deepEqual(await seen("seven", { method: "HEAD" }), [200, ""]);
  assert.deepEqual(await seen("eight"), [200, "2"]);
});

for (const code of [200, 201, 404, 503]) {
  test(`status ${code} with a body`, async () => {
    const answer = await fixture.get(`/status?code=${code}&body=text`);
    assert.deepEqual([answer.status, await answer.text()], [code, "text"]);
  });
}

for (const code of [204, 205, 304]) {
  test(`status ${code} has no body`, async () => {
    const answer = await fixture.get(`/status?code=${code}&body=text`);
    assert.deepEqual([answer.status, await answer.text()], [code, ""]);
  });
}

test("a status that does not exist is a failure of the handler", async () => {
  assert.equal((await fixture.get("/status?code=600")).status, 500);
  assert.equal((await fixture.get("/status?code=100&body=text")).status, 200);
});

test("a header that cannot be sent is a failure of the handler", async () => {
  const answer = await fixture.get("/bad-header");
  assert.deepEqual([answer.status, (await answer.json()).error.code], [500, "internal_error"]);
  assert.equal(await fixture.text("/health"), "ok");
});

test("HEAD has the headers of GET and no body", async () => {
  const answer = await fixture.get("/status?code=200&body=text", { method: "HEAD" });
  assert.deepEqual([answer.status, await answer.text(), answer.headers.get("content-length")], [200, "", "4"]);
});

const megabyte = Uint8Array.from({ length: 1_000_003 }, (_, i) => (i * 7) % 251);
const checksum = (bytes) => bytes.reduce((sum, byte) => (sum * 31 + byte) % 65521, 0);

test("a body streams into the handler", async () => {
  assert.equal(
    await fixture.text("/length", { method: "POST", body: megabyte }),
    `1000003 1000003 ${checksum(megabyte)}`,
  );
  assert.equal(await fixture.text("/length", { method: "POST", body: "" }), "0 0 0");
  const stream = new Blob([megabyte]).stream();
  assert.equal(
    await fixture.text("/length", { method: "POST", body: stream, duplex: "half" }),
    `-1 1000003 ${checksum(megabyte)}`,
  );
});

test("an unread body does no harm", async () => {
  assert.equal(await fixture.text("/health", { method: "POST", body: megabyte }), "ok");
  const before = await fixture.stats();
  const slow = new ReadableStream({
    async start(controller) {
      controller.enqueue(megabyte);
      await pause(2000);
      controller.enqueue(megabyte);
      controller.close();
    },
  });
  assert.equal(await fixture.text("/read-one", { method: "POST", body: slow, duplex: "half" }), "1");
  assert.equal(await fixture.text("/health"), "ok");
  assert.deepEqual((await fixture.stats()).dropped, before.dropped);
});

/** What a reader still has, as text. */
async function rest(reader) {
  const chunks = [];
  for (let part; !(part = await reader.read()).done;) chunks.push(part.value);
  return Buffer.concat(chunks).toString();
}

test("a later response does not change one still being sent", async () => {
  const letters = ["a", "b", "c", "d"];
  const answers = [];
  // A locked body: undici may otherwise cancel that of an answer whose first object was collected as garbage.
  for (const letter of letters) answers.push((await fixture.get(`/fill?letter=${letter}`)).body.getReader());
  for (const letter of letters) assert.equal(await rest(answers.shift()), letter.repeat(900_000));
});

test("an upload goes to R2 without passing through Go", async () => {
  assert.equal(
    await fixture.text("/upload", { method: "PUT", body: megabyte }),
    `${megabyte.length} http: invalid Read on closed Body`,
  );
  const stored = await (await fixture.bucket()).get("upload");
  assert.deepEqual(new Uint8Array(await stored.arrayBuffer()), megabyte);
});

// The platform copies a body from Go's memory when the Response is made, not when it is sent. Otherwise
// the program's next writes would show in the previous response.
for (const size of [900_000, 20_000_000]) {
  test(`an answer of ${size} bytes is a copy: its reader is slower than the next requests and what they write`, async () => {
    const before = await fixture.stats();
    const answer = () =>
      fixture.readSlowly(
        `/fill?letter=a&size=${size}`,
        ["b", "c", "d"].map((letter) => `/fill?letter=${letter}&size=${size}`),
      );
    // Memory that grows during a response moves and is not overwritten: in the first answer, and maybe in further ones.
    let overwritten = false;
    for (let tries = 0; tries < 10 && !overwritten; tries++) {
      const { letters, bytes, ...answered } = await answer();
      assert.deepEqual({ letters, bytes }, { letters: ["a"], bytes: size });
      overwritten = tries > 0 && answered.overwritten;
    }
    assert.ok(overwritten, "no answer came from the program's memory");
    const { created } = await fixture.stats();
    if (size < 1 << 20) assert.ok(created - before.created <= 1, "the requests had instances of their own");
  });
}
