// Preloaded into a program of examples/ by --import: names under .example resolve to a public address, inside.example to
// a private one, and missing.* to none. Connections to the public address reach the test's website, SITE_PORT.
import dns from "node:dns";
import { syncBuiltinESMExports } from "node:module";
import { Socket } from "node:net";

dns.lookup = (host, options, done) => {
  if (host.startsWith("missing.")) return done(Object.assign(new Error(host), { code: "ENOTFOUND" }));
  const found = { address: host === "inside.example" ? "10.0.0.8" : "93.184.215.14", family: 4 };
  if (options.all) done(null, [found]);
  else done(null, found.address, found.family);
};
syncBuiltinESMExports();

const { connect } = Socket.prototype;
Socket.prototype.connect = function (...args) {
  const [options] = Array.isArray(args[0]) ? args[0] : args;
  if (!options?.lookup) return connect.apply(this, args);
  options.lookup(options.host, { all: true }, (error) => {
    if (error) this.destroy(error);
    else connect.call(this, { host: "127.0.0.1", port: Number(process.env.SITE_PORT) });
  });
  return this;
};
