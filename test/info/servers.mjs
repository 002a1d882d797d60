// A PostgreSQL and a Redis server for tests: on free ports, with data in a temporary directory.
import { execFileSync, spawn } from "node:child_process";
import { once } from "node:events";
import { chownSync, existsSync, mkdtempSync, readdirSync, rmSync, writeFileSync } from "node:fs";
import { connect, createServer } from "node:net";
import { tmpdir } from "node:os";
import { delimiter, join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";

const password = "sesame";
const root = join(import.meta.dirname, "../..");

// A program in PATH, or in the folder of Debian's package.
function find(name) {
  const debian = "/usr/lib/postgresql";
  const versions = existsSync(debian) ? readdirSync(debian).map((version) => join(debian, version, "bin")) : [];
  return [...process.env.PATH.split(delimiter), ...versions].map((dir) => join(dir, name)).find(existsSync);
}

/** Why the servers cannot be started; false if they can. With CI=true they must start. */
export const missing =
  process.env.CI !== "true" &&
  !["initdb", "postgres", "redis-server"].every(find) &&
  "PostgreSQL or Redis is not installed: run make stores";

async function freePort() {
  const server = createServer().listen(0, "127.0.0.1");
  await once(server, "listening");
  const { port } = server.address();
  server.close();
  await once(server, "close");
  return port;
}

async function listening(port) {
  for (let tries = 0; tries < 300; tries++, await sleep(50)) {
    const socket = connect(port, "127.0.0.1");
    try {
      await once(socket, "connect");
      return;
    } catch {
      // not yet
    } finally {
      socket.destroy();
    }
  }
  throw new Error(`nothing listens on ${port}`);
}

/** A server that can be stopped and started again. */
class Server {
  #command;
  #process;

  constructor(port, command) {
    this.port = port;
    this.#command = command;
  }

  async start() {
    const [program, args, options] = this.#command;
    this.#process = spawn(program, args, { stdio: "ignore", ...options });
    await listening(this.port);
  }

  /** Lets the server accept connections without an answer, until it is thawed. */
  freeze() {
    this.#process.kill("SIGSTOP");
  }

  thaw() {
    this.#process.kill("SIGCONT");
  }

  async stop() {
    if (!this.#process) return;
    const exited = this.#process.exitCode === null && once(this.#process, "exit");
    this.#process.kill("SIGQUIT");
    this.thaw(); // a frozen server does not see the signal
    await exited;
    this.#process = undefined;
  }
}

/** Starts PostgreSQL with an empty database. */
export async function startPostgres() {
  const dir = mkdtempSync(join(tmpdir(), "newsfork-test-"));
  const data = join(dir, "data");
  const secret = join(dir, "password");
  writeFileSync(secret, password);
  const options = { cwd: dir };
  if (process.getuid() === 0) {
    // PostgreSQL does not run as root.
    const id = (flag, name) => Number(execFileSync("id", [flag, name], { encoding: "utf8" }));
    const user = ["postgres", "nobody"].find((name) => {
      try {
        return id("-u", name) > 0;
      } catch {
        return false;
      }
    });
    Object.assign(options, { uid: id("-u", user), gid: id("-g", user) });
    for (const path of [dir, secret]) chownSync(path, options.uid, options.gid);
  }
  execFileSync(
    find("initdb"),
    ["-D", data, "-U", "newsfork", "-A", "scram-sha-256", "--pwfile", secret, "-E", "UTF8"],
    {
      stdio: "ignore",
      ...options,
    },
  );
  const port = await freePort();
  const settings = ["listen_addresses=127.0.0.1", "unix_socket_directories=", "fsync=off"].flatMap((s) => ["-c", s]);
  const server = new Server(port, [find("postgres"), ["-D", data, "-p", String(port), ...settings], options]);
  await server.start();
  server.url = `postgres://newsfork:${password}@127.0.0.1:${port}/postgres`;
  // Creates the Info service's tables.
  server.migrate = async () => {
    const env = { ...process.env, DATABASE_URL: server.url, LAST: "" };
    execFileSync("go", ["run", "./info/migrate"], { cwd: root, env });
  };
  server.remove = async () => {
    await server.stop();
    rmSync(dir, { recursive: true, force: true });
  };
  return server;
}

/** Starts an empty Redis. */
export async function startRedis() {
  const dir = mkdtempSync(join(tmpdir(), "newsfork-test-"));
  const port = await freePort();
  const args = [
    "--port",
    port,
    "--bind",
    "127.0.0.1",
    "--dir",
    dir,
    "--save",
    "",
    "--appendonly",
    "no",
    "--requirepass",
    password,
  ];
  const server = new Server(port, [find("redis-server"), args.map(String), {}]);
  await server.start();
  server.url = `redis://:${password}@127.0.0.1:${port}/0`;
  server.remove = async () => {
    await server.stop();
    rmSync(dir, { recursive: true, force: true });
  };
  return server;
}
