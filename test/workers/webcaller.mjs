// Calls the sample web through a service binding, as the engine does; for web.test.mjs.
export default {
  /** Takes [{url, timeout?, method?, headers?}], fetches them all at once, and returns the results. */
  async fetch(request, env) {
    return Response.json(await Promise.all((await request.json()).map((r) => call(env.EGRESS, r))));
  },
};

async function call(egress, { url, timeout = 5000, limit = Infinity, ...init }) {
  try {
    const response = await egress.fetch(url, { ...init, redirect: "manual", signal: AbortSignal.timeout(timeout) });
    const result = { status: response.status, headers: Object.fromEntries(response.headers), body: "" };
    for await (const chunk of response.body ?? []) {
      result.body += String.fromCharCode(...chunk); // a character is a byte
      if (result.body.length > limit) break;
    }
    return result;
  } catch (err) {
    return { error: err.name, message: err.message };
  }
}
