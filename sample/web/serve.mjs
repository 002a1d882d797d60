// make web: the sample web behind a proxy on this machine, for scrapers of any language, until Ctrl-C. PORT is the
// proxy's, 8790 by default. LOG=1 prints every request.
import { scheduler } from "node:timers/promises";
import { startProxy } from "./proxy.mjs";

const { PORT = "8790", LOG } = process.env;
globalThis.scheduler ??= scheduler; // workerd has it
const { default: web } = await import("./web.mjs");

const proxy = await startProxy(async (url, init) => {
  const said = (outcome) => LOG && console.log(`${new Date().toISOString()} ${init.method} ${url} ${outcome}`);
  try {
    const answer = await web.fetch(new Request(url, init));
    said(answer.status);
    return answer;
  } catch (error) {
    said(error.message);
    throw error;
  }
}, Number(PORT)).catch((error) => {
  if (error.code !== "EADDRINUSE") throw error;
  console.error(`port ${PORT} is in use: PORT=${Number(PORT) + 1} make web takes another`);
  process.exit(1);
});
console.log(`The sample web is behind ${proxy.url}; docs/sample-web.md lists its sites. Ctrl-C ends it.

  export http_proxy=${proxy.url} https_proxy=${proxy.url} no_proxy=127.0.0.1,localhost
  curl -k https://everyday-news.sg/en        # its certificates are signed by nobody`);
