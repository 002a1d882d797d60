// Requests of the deployed Worker are signed by Web Bot Auth, and an independent library verifies them with the keys
// that the Worker publishes.
import assert from "node:assert/strict";
import { execFileSync } from "node:child_process";
import { mkdtempSync, readFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, before, describe, test } from "node:test";
import { component, verifySignature, webcrypto } from "http-message-sig";
import { domainMessage, quick, root, startEngine } from "./engine.mjs";

// Wrangler's bundle would turn a connection that fails into an answer of status 500.
const web = {
  name: "observer",
  main: `${root}/test/workers/observer.mjs`,
  compatibility_date: "2026-11-01",
  no_bundle: true,
};
const agent = "https://bot.newsfork.example";
const directoryURL = `${agent}/.well-known/http-message-signatures-directory`;
const directory = mkdtempSync(join(tmpdir(), "keys-"));
const generate = (name) => {
  execFileSync(join(root, "build/seedctl"), ["keygen", "-o", join(directory, name)]);
  return JSON.parse(readFileSync(join(directory, name), "utf8"));
};
const old = generate("old.jwk");
const key = generate("key.jwk");

const verifierOf = async ({ kty, crv, x }) =>
  webcrypto.verifier(await crypto.subtle.importKey("jwk", { kty, crv, x }, "Ed25519", true, ["verify"]));

/** Verifies a request by the published keys, as a website does. */
async function verify({ url, method, fields }, keys, agentComponent) {
  return await verifySignature(
    {
      kind: "request",
      method,
      targetUri: url,
      fields: fields.map(([name, value]) => ({ name, value })),
    },
    {
      policy: {
        algorithms: ["ed25519"],
        requiredComponents: ["@authority", agentComponent],
        requiredParameters: ["created", "expires", "keyid", "tag"],
        maxAge: 120,
        validate: ({ parameters }) => parameters.tag === "web-bot-auth",
      },
      resolveVerifier: ({ parameters }) => verifierOf(keys.find(({ kid }) => kid === parameters.keyid)),
    },
  );
}

for (const [form, field, agentComponent] of [
  ["string", `"${agent}"`, "signature-agent"],
  ["dictionary", `sig1="${directoryURL}"`, component("signature-agent", { key: "sig1" })],
])
  describe(`in the form ${form}`, () => {
    let engine, keys, log;
    before(async () => {
      const vars = { ...quick, SIGNING_KEY: JSON.stringify({ keys: [key, old] }), SIGNATURE_AGENT: agent };
      engine = await startEngine({ web, vars: { ...vars, SIGN_REQUESTS: form } });
      const messages = ["alpha.sg", "old.sg", "plain.sg"].map((host) =>
        domainMessage(host, [`https://${host}/news/1`]),
      );
      await engine.deliver(
        "newsfork-domain-dev",
        messages.map((body, i) => ({ id: `m${i}`, body, attempts: 1 })),
      );
      log = await (await engine.web.fetch("https://control.invalid/")).json();
    });
    after(() => engine?.close());

    test("the directory proves that the Worker has each key", async () => {
      const response = await engine.worker.fetch(directoryURL);
      assert.equal(response.status, 200);
      assert.equal(response.headers.get("content-type"), "application/http-message-signatures-directory+json");
      const body = await response.clone().text();
      assert.ok(!body.includes(key.d) && !body.includes(old.d));
      keys = JSON.parse(body).keys;
      assert.deepEqual(
        keys.map(({ x }) => x),
        [key.x, old.x],
      );
      for (const [i, published] of keys.entries())
        await verifySignature(
          {
            kind: "response",
            status: 200,
            fields: [...response.headers].map(([name, value]) => ({ name, value })),
            request: { kind: "request", method: "GET", targetUri: directoryURL, fields: [] },
          },
          {
            label: `binding${i}`,
            policy: {
              algorithms: ["ed25519"],
              requiredComponents: [component("@authority", { req: true }), "content-digest"],
              requiredParameters: ["created", "expires", "keyid", "tag"],
            },
            resolveVerifier: () => verifierOf(published),
          },
        );
      assert.equal(
        (await engine.worker.fetch("https://engine.workers.dev/.well-known/http-message-signatures-directory")).status,
        404,
      );
    });

    test("each https request is signed for its host, redirects included", async () => {
      const signed = log.filter(({ url }) => url.startsWith("https:"));
      for (const host of ["alpha.sg", "old.sg", "new.sg", "plain.sg"])
        assert.ok(
          signed.some(({ url }) => new URL(url).hostname === host),
          `no request to ${host}: ${log.map(({ url }) => url)}`,
        );
      for (const request of signed) {
        assert.equal(Object.fromEntries(request.fields)["signature-agent"], field);
        const { parameters } = await verify(request, keys, agentComponent);
        assert.equal(parameters.keyid, keys[0].kid);
        const elsewhere = { ...request, url: "https://elsewhere.sg/" };
        await assert.rejects(verify(elsewhere, keys, agentComponent));
      }
    });

    test("http requests are not signed", () => {
      const plain = log.filter(({ url }) => url.startsWith("http:"));
      assert.ok(plain.length > 0);
      for (const { url, fields } of plain)
        assert.deepEqual(
          fields.filter(([name]) => name.startsWith("signature")),
          [],
          url,
        );
    });
  });

test("a key whose halves do not belong together leaves requests unsigned, and says so", async () => {
  const SIGNING_KEY = JSON.stringify({ ...key, x: old.x });
  const engine = await startEngine({
    web,
    vars: { ...quick, SIGNING_KEY, SIGNATURE_AGENT: agent, SIGN_REQUESTS: "string" },
  });
  after(() => engine.close());
  await engine.deliver("newsfork-domain-dev", [
    { id: "m", body: domainMessage("alpha.sg", ["https://alpha.sg/news/1"]), attempts: 1 },
  ]);
  const log = await (await engine.web.fetch("https://control.invalid/")).json();
  assert.ok(log.length > 0);
  assert.ok(log.every(({ fields }) => !fields.some(([name]) => name === "signature")));
  assert.equal(engine.events("signing_failed").length, 1);
});
