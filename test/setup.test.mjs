// make setup-…: each resource is created only if it is missing, and another failure does not count as missing.
import assert from "node:assert/strict";
import { execFileSync, spawn, spawnSync } from "node:child_process";
import { mkdirSync, readdirSync, readFileSync, writeFileSync } from "node:fs";
import { delimiter, join, resolve } from "node:path";
import { describe, test } from "node:test";
import { fileURLToPath } from "node:url";
import { serveAccount } from "./cloudflare.mjs";
import { home } from "./home.mjs";

const root = resolve(fileURLToPath(new URL("..", import.meta.url)));
const bin = join(home, "bin");
const log = join(home, "wrangler.log");

// Plays wrangler: it records commands, and answers from ANSWERS by the beginning of the command.
mkdirSync(bin, { recursive: true });
writeFileSync(
  join(bin, "wrangler"),
  `#!${process.execPath}
import { appendFileSync, readFileSync } from "node:fs";
const command = process.argv.slice(2).join(" ");
const input = command.startsWith("secret put") ? readFileSync(0, "utf8") : "";
appendFileSync(process.env.LOG, JSON.stringify({ command, input }) + "\\n");
for (const [start, { output, status }] of Object.entries(JSON.parse(process.env.ANSWERS)))
  if (command.startsWith(start)) {
    console.log(output);
    process.exit(status);
  }
`,
  { mode: 0o755 },
);
writeFileSync(join(bin, "package.json"), '{"type":"module"}');

// What wrangler 4.164 prints with the platform's answers: for an account that is logged in, has R2, and nothing else.
const failed = (path, message) => ({
  output: `\n✘ [ERROR] A request to the Cloudflare API (/accounts/0123/${path}) failed.\n\n  ${message}\n`,
  status: 1,
});
const account = {
  whoami: { output: "👋 You are logged in with an OAuth Token, associated with the email a@example.com.", status: 0 },
  "r2 bucket list": { output: "Listing buckets...", status: 0 },
};
const nothing = {
  ...account,
  "r2 bucket info": failed(
    "r2/buckets/newsfork-datasets-staging",
    "The specified bucket does not exist. [code: 10006]",
  ),
  "d1 info": {
    output:
      "✘ [ERROR] Couldn't find a D1 DB with name or binding 'newsfork-metadata-staging' in your config or the API. Run 'wrangler d1 create newsfork-metadata-staging' to create it.",
    status: 1,
  },
  "queues info": {
    output:
      '✘ [ERROR] Queue "newsfork-seed-staging" does not exist. To create it, run: wrangler queues create newsfork-seed-staging',
    status: 1,
  },
  "secret list": {
    output:
      '✘ [ERROR] Worker "newsfork-seed-engine-staging" (env: staging) not found.\n\n  \n  If this is a new Worker, run `wrangler deploy` first to create it.\n  Otherwise, check that the Worker name is correct and you\'re logged into the right account.\n',
    status: 1,
  },
  "r2 bucket notification list": failed(
    "event_notifications/r2/newsfork-datasets-staging/configuration",
    "No event notification config found for bucket 'newsfork-datasets-staging': no configurations found for bucket. [code: 11015]",
  ),
};
const everything = {
  ...account,
  "secret list": { output: '[{ "name": "API_TOKEN", "type": "secret_text" }]', status: 0 },
  "r2 bucket notification list": { output: "queue_name: newsfork-seed-staging", status: 0 },
};

const setUp = (target, options) => make(`setup-${target}`, options);

function make(target, { answers = nothing, flags = [], ...env } = {}) {
  writeFileSync(log, "");
  const make = spawnSync("make", ["-s", ...flags, target, `PATH=${bin}${delimiter}${process.env.PATH}`], {
    cwd: root,
    encoding: "utf8",
    env: { ...process.env, LOG: log, ANSWERS: JSON.stringify(answers), ...env },
  });
  const calls = readFileSync(log, "utf8").trim().split("\n").filter(Boolean).map(JSON.parse);
  return { status: make.status, output: make.stdout + make.stderr, calls };
}

const looks = (command) => /^whoami| (info|list) /.test(`${command} `);

describe("make deploy-staging", () => {
  const flags = ["-o", "build", "wrangler=wrangler"];
  const migrations = "d1 migrations apply METADATA_DB --remote --env staging";

  test("applies the migrations, then deploys", () => {
    const { status, output, calls } = make("deploy-staging", { flags });
    assert.equal(status, 0, output);
    assert.deepEqual(
      calls.map((c) => c.command),
      [migrations, "deploy --env staging"],
    );
  });

  test("with DRY=1 prints the migrations and uploads nothing", () => {
    const { status, output, calls } = make("deploy-staging", { flags, DRY: "1" });
    assert.equal(status, 0, output);
    assert.deepEqual(
      calls.map((c) => c.command),
      ["deploy --dry-run --env staging"],
    );
    assert.ok(output.includes(`not run: wrangler ${migrations}\n`), output);
  });
});

describe("make setup-staging", () => {
  const creations = [
    "r2 bucket create newsfork-datasets-staging --location apac --update-config=false",
    "d1 create newsfork-metadata-staging --location apac --update-config=false",
    "queues create newsfork-seed-staging",
    "queues create newsfork-domain-staging",
    "queues create newsfork-dlq-staging",
    "secret put API_TOKEN --env staging",
    "r2 bucket notification create newsfork-datasets-staging --event-type object-create --queue newsfork-seed-staging --prefix raw/ --suffix .json",
  ];

  test("creates all missing resources, after printing every command", () => {
    const { status, output, calls } = setUp("staging", { API_TOKEN: "given-by-the-operator" });
    assert.equal(status, 0, output);
    assert.deepEqual(
      calls.map((c) => c.command).filter((c) => !looks(c)),
      creations,
    );
    assert.equal(calls.find((c) => c.command.startsWith("secret put")).input, "given-by-the-operator");
    const plan = output.slice(0, output.indexOf("+ wrangler"));
    for (const command of creations) assert.ok(plan.includes(`wrangler ${command}`), command);
  });

  test("generates a token if none is given, and shows it", () => {
    const { output, calls } = setUp("staging", { API_TOKEN: "" });
    const { input } = calls.find((c) => c.command.startsWith("secret put"));
    assert.match(input, /^[\w-]{43}$/);
    assert.ok(output.includes(input));
  });

  test("leaves existing resources alone", () => {
    const { status, output, calls } = setUp("staging", { answers: everything });
    assert.equal(status, 0, output);
    assert.deepEqual(
      calls.map((c) => c.command).filter((c) => !looks(c)),
      [],
    );
    assert.equal(calls.length, creations.length + Object.keys(account).length);
  });

  test("creates nothing if wrangler fails for another reason", () => {
    const answers = { ...account, "d1 info": { output: "✘ [ERROR] Authentication error [code: 10000]", status: 1 } };
    const { status, output, calls } = setUp("staging", { answers });
    assert.notEqual(status, 0);
    assert.ok(output.includes("Authentication error"), output);
    assert.ok(!calls.some((c) => c.command.startsWith("d1 create")));
  });

  test("with DRY=1 prints the commands and runs none", () => {
    const { status, output, calls } = setUp("production", { DRY: "1" });
    assert.equal(status, 0, output);
    assert.deepEqual(calls, []);
    assert.ok(output.includes("wrangler queues create newsfork-domain-prod"), output);
  });

  test("refuses a token that the engine would refuse, before anything is created", () => {
    const { status, output, calls } = setUp("staging", { API_TOKEN: "short" });
    assert.notEqual(status, 0);
    assert.match(output, /API_TOKEN has 5 characters; give it at least 16/);
    assert.deepEqual(calls, []);
  });

  for (const [cause, answers, advice] of [
    [
      "wrangler is not logged in",
      { whoami: { output: "You are not authenticated. Please run `wrangler login`.", status: 0 } },
      /make login/,
    ],
    [
      "R2 is not enabled",
      { "r2 bucket list": failed("r2/buckets", "Please enable R2 through the Cloudflare Dashboard. [code: 10042]") },
      /R2 is not enabled/,
    ],
  ])
    test(`says what to do if ${cause}, and creates nothing`, () => {
      const { status, output, calls } = setUp("staging", { answers: { ...nothing, ...answers } });
      assert.notEqual(status, 0);
      assert.match(output, advice);
      assert.deepEqual(
        calls.map((c) => c.command).filter((c) => !looks(c)),
        [],
      );
    });
});

describe("make setup-info-staging", () => {
  // Copies, since it writes ids into them.
  const copies = join(home, "info");
  const file = (worker) => join(copies, worker, "wrangler.jsonc");
  const setUpInfo = (env, { answers, ...variables } = {}) => {
    for (const worker of ["collector", "api"]) {
      mkdirSync(join(copies, worker), { recursive: true });
      writeFileSync(file(worker), readFileSync(join(root, "info", worker, "wrangler.jsonc"), "utf8"));
    }
    return make(`setup-info-${env}`, {
      answers: answers ?? nothing,
      INFO_DIR: copies,
      API_TOKEN: "given-by-the-operator",
      ...variables,
    });
  };
  const creations = (env, name) => [
    `d1 create ${name} --location apac --update-config=false`,
    `kv namespace create ${name} --update-config=false`,
    `secret put API_TOKEN --env ${env} -c ${file("collector")}`,
  ];
  const there = {
    ...everything,
    "d1 info": { output: '{ "uuid": "11111111-2222", "name": "newsfork-info-staging" }', status: 0 },
    "kv namespace list": { output: '[{ "id": "abcdef", "title": "newsfork-info-staging" }]', status: 0 },
  };

  test("prints what it would create", () => {
    for (const [env, name] of [
      ["staging", "newsfork-info-staging"],
      ["production", "newsfork-info-prod"],
    ]) {
      const { status, output, calls } = setUpInfo(env, { DRY: "1" });
      assert.equal(status, 0, output);
      assert.deepEqual(calls, []);
      for (const command of creations(env, name)) assert.ok(output.includes(`wrangler ${command}`), output);
    }
  });

  test("creates what is missing", () => {
    const answers = { ...nothing, "kv namespace list": { output: "[]", status: 0 } };
    const { calls } = setUpInfo("staging", { answers });
    assert.deepEqual(
      calls.map((c) => c.command).filter((c) => !looks(c)),
      creations("staging", "newsfork-info-staging"),
    );
    assert.equal(calls.find((c) => c.command.startsWith("secret put")).input, "given-by-the-operator");
  });

  test("leaves alone what exists, and writes its ids into both files, of this environment alone", () => {
    const { status, output, calls } = setUpInfo("staging", { answers: there });
    assert.equal(status, 0, output);
    assert.ok(!calls.some((c) => / (create|put) /.test(c.command)));
    for (const worker of ["collector", "api"]) {
      const text = readFileSync(file(worker), "utf8");
      assert.ok(text.includes('"database_id": "11111111-2222"') && text.includes('"id": "abcdef"'), text);
      assert.ok(text.includes('"database_id": "00000000-0000-0000-0000-000000000012"'), text);
    }
  });
});

describe("make teardown-staging", () => {
  const deletions = [
    "r2 bucket notification delete newsfork-datasets-staging --queue newsfork-seed-staging",
    "delete --env staging --force",
    "queues delete newsfork-seed-staging",
    "queues delete newsfork-domain-staging",
    "queues delete newsfork-dlq-staging",
    "d1 delete newsfork-metadata-staging --skip-confirmation",
    "r2 bucket delete newsfork-datasets-staging",
  ];
  const removals = ({ calls }) => calls.map((c) => c.command).filter((c) => !looks(c));
  const confirmed = { DELETE: "newsfork-seed-engine-staging" };

  test("prints what it would delete, and deletes nothing unless the Worker is named", () => {
    for (const options of [{ DRY: "1" }, {}, { DELETE: "newsfork-seed-engine-production" }]) {
      const run = make("teardown-staging", options);
      assert.equal(run.status === 0, options.DRY === "1", run.output);
      for (const command of deletions) assert.ok(run.output.includes(`wrangler ${command}`), command);
      assert.deepEqual(run.calls, []);
    }
  });

  test("deletes what exists", () => {
    const run = make("teardown-staging", { answers: everything, ...confirmed });
    assert.equal(run.status, 0, run.output);
    assert.deepEqual(removals(run), deletions);
    assert.deepEqual(removals(make("teardown-staging", { answers: nothing, ...confirmed })), []);
  });
});

// The texts above are wrangler's; this is wrangler itself, against the platform's API: each command of README, from the set-up
// to the deployments, on an account that is empty.
describe("the project's own wrangler on a fresh account", { concurrency: true }, () => {
  const run = (variables, command, ...args) =>
    new Promise((ended) => {
      let output = "";
      const child = spawn(command, args, {
        cwd: root,
        env: { ...process.env, API_TOKEN: "given-by-the-operator", ...variables },
        stdio: ["ignore", "pipe", "pipe"],
      });
      for (const stream of [child.stdout, child.stderr]) stream.on("data", (data) => (output += data));
      child.on("close", (status) => ended({ status, output }));
    });
  const succeeds = async (...args) => {
    const { status, output } = await run(...args);
    assert.equal(status, 0, output);
    assert.doesNotMatch(output, /WARNING|ERROR/);
  };

  // A copy of a Worker's configuration whose program is a line of JavaScript, so that nothing is built: other tests build it.
  function withoutProgram(file, from, name) {
    const out = join(home, "fresh", name);
    mkdirSync(join(out, "assets"), { recursive: true });
    writeFileSync(join(out, "assets/index.html"), "a page");
    writeFileSync(join(out, "entry.mjs"), "export class Frontier {}\nexport default { fetch() {} };\n");
    const config = JSON.parse(readFileSync(file, "utf8").replace(/^\s*\/\/.*$/gm, ""));
    delete config.build;
    if (config.assets) config.assets.directory = "assets";
    for (const place of [config, ...Object.values(config.env)]) {
      place.main = "entry.mjs";
      for (const database of place.d1_databases) database.migrations_dir = resolve(from, database.migrations_dir);
    }
    writeFileSync(join(out, "wrangler.json"), JSON.stringify(config));
    return join(out, "wrangler.json");
  }

  /** Runs what make would run after the build, with other configurations. */
  async function deploy(variables, target, configs) {
    const commands = execFileSync("make", ["-n", target], { cwd: root, encoding: "utf8" })
      .split("\n")
      .map((line) => line.split("wrangler.js ")[1])
      .filter(Boolean);
    const node = join(root, "node_modules/.bin/node");
    const wrangler = join(root, "node_modules/wrangler/bin/wrangler.js");
    for (const command of commands) {
      const [args, config = "wrangler.jsonc"] = command.split(" -c ");
      await succeeds(variables, node, wrangler, ...args.split(" "), "-c", configs[config]);
    }
    return commands.length;
  }

  const migrations = (dir) => readdirSync(join(root, dir)).filter((name) => name.endsWith(".sql"));
  const bindings = ({ metadata }) => metadata.bindings.map(({ name }) => name);

  test("sets up what is missing, deploys the engine, and tears it down", async () => {
    const config = readFileSync(join(root, "wrangler.jsonc"), "utf8");
    const { account, variables, close } = await serveAccount();
    try {
      await succeeds(variables, "make", "-s", "setup-staging");
      const { buckets, databases, queues, workers, rules, token } = account;
      assert.deepEqual([...buckets], ["newsfork-datasets-staging"]);
      assert.deepEqual(
        databases.map(({ name }) => name),
        ["newsfork-metadata-staging"],
      );
      assert.deepEqual(
        queues.map((q) => q.queue_name),
        ["newsfork-seed-staging", "newsfork-domain-staging", "newsfork-dlq-staging"],
      );
      const { secrets } = workers.get("newsfork-seed-engine-staging");
      assert.deepEqual([secrets.map(({ name }) => name), token], [["API_TOKEN"], "given-by-the-operator"]);
      assert.deepEqual([rules[0].prefix, rules[0].suffix], ["raw/", ".json"]);

      const copy = withoutProgram(join(root, "wrangler.jsonc"), root, "engine");
      assert.equal(await deploy(variables, "deploy-staging", { "wrangler.jsonc": copy }), 2);
      const worker = workers.get("newsfork-seed-engine-staging");
      assert.deepEqual(account.migrations, migrations("ledger/migrations"));
      for (const binding of [
        "DATASETS_BUCKET",
        "SEED_QUEUE",
        "DOMAIN_QUEUE",
        "DLQ",
        "METADATA_DB",
        "FRONTIER",
        "ASSETS",
      ])
        assert.ok(bindings(worker).includes(binding), binding);
      assert.deepEqual(worker.crons, ["* * * * *"]);
      assert.equal(worker.secrets.length, 1, "the deployment lost the token");
      assert.deepEqual(
        queues.map(({ consumers: [{ script_name, settings }] }) => [script_name, settings.batch_size]),
        [1, 5, 10].map((size) => ["newsfork-seed-engine-staging", size]),
      );

      await succeeds(variables, "make", "-s", "teardown-staging", "DELETE=newsfork-seed-engine-staging");
      assert.deepEqual(
        [account.buckets.size, account.databases, account.queues, workers.size, account.rules],
        [0, [], [], 0, null],
      );
      assert.equal(readFileSync(join(root, "wrangler.jsonc"), "utf8"), config);
    } finally {
      close();
    }
  });

  test("sets up and deploys both Workers of the Info service", async () => {
    const { account, variables, close } = await serveAccount();
    const copies = join(home, "fresh-info");
    const file = (worker) => join(copies, worker, "wrangler.jsonc");
    try {
      for (const worker of ["collector", "api"]) {
        mkdirSync(join(copies, worker), { recursive: true });
        writeFileSync(file(worker), readFileSync(join(root, "info", worker, "wrangler.jsonc"), "utf8"));
      }
      await succeeds(variables, "make", "-s", "setup-info-staging", `INFO_DIR=${copies}`);
      const [database] = account.databases;
      const [namespace] = account.namespaces;
      assert.deepEqual([database.name, namespace.title], ["newsfork-info-staging", "newsfork-info-staging"]);

      const configs = Object.fromEntries(
        ["collector", "api"].map((worker) => [
          `info/${worker}/wrangler.jsonc`,
          withoutProgram(file(worker), join(root, "info", worker), `info-${worker}`),
        ]),
      );
      assert.equal(await deploy(variables, "deploy-info-staging", configs), 3);
      assert.deepEqual(account.migrations, migrations("info/store/migrations"));
      for (const name of ["newsfork-info-collector-staging", "newsfork-info-api-staging"]) {
        const { metadata } = account.workers.get(name);
        const of = (binding) => metadata.bindings.find((b) => b.name === binding);
        assert.deepEqual([of("INFO_DB").id, of("INFO_CACHE").namespace_id], [database.uuid, namespace.id], name);
      }
      const collector = account.workers.get("newsfork-info-collector-staging");
      assert.deepEqual([collector.crons.length, collector.secrets.length], [3, 1]);
      assert.deepEqual(account.workers.get("newsfork-info-api-staging").crons, []);
    } finally {
      close();
    }
  });
});
