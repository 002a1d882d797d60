// The JSON API, called with the operator's token. The token lives in sessionStorage: it ends with the tab.

const TOKEN = "seed-engine-token";
const PATIENCE = 30_000; // milliseconds for one answer

/** Why a call failed. code is that of the API, or "unreachable", "timeout" or "not_json". */
export class ApiError extends Error {
  constructor(code, message, { status = 0, field = null, requestId = null, retryAfter = 0 } = {}) {
    super(message);
    Object.assign(this, { code, status, field, requestId, retryAfter });
  }
}

export const token = {
  get: () => sessionStorage.getItem(TOKEN) ?? "",
  set: (value) => sessionStorage.setItem(TOKEN, value),
  clear: () => sessionStorage.removeItem(TOKEN),

  /** Whether the engine said with its last answer that the token may only read. */
  readOnly: false,
};

/** What HTTP can carry in a header: anything else cannot be a token. */
export const sendable = (value) => /^[\x21-\x7e]+$/.test(value);

/** GET with query parameters; empty ones are left out. */
export function get(path, query = {}, signal) {
  const search = new URLSearchParams(
    Object.entries(query)
      .filter(([, value]) => value !== "" && value !== null && value !== undefined)
      .flatMap(([name, value]) => [value].flat().map((one) => [name, one])),
  ).toString();
  return call("GET", search ? `${path}?${search}` : path, undefined, signal);
}

export const post = (path, body, signal) => call("POST", path, body, signal);
export const put = (path, body, signal) => call("PUT", path, body, signal);
export const remove = (path, signal) => call("DELETE", path, undefined, signal);

async function call(method, path, body, signal) {
  const late = AbortSignal.timeout(PATIENCE);
  const headers = { Accept: "application/json" };
  if (token.get()) headers.Authorization = `Bearer ${token.get()}`;
  if (method !== "GET") headers["Content-Type"] = "application/json"; // an engine without a token wants it of an empty body too
  let response, answer;
  try {
    response = await fetch(path, {
      method,
      headers,
      body: body === undefined ? undefined : JSON.stringify(body),
      signal: signal ? AbortSignal.any([signal, late]) : late,
      cache: "no-store",
      credentials: "omit",
      redirect: "error",
    });
    answer = await response.text();
  } catch (error) {
    if (signal?.aborted) throw error;
    throw new ApiError(late.aborted ? "timeout" : "unreachable", late.aborted ? "" : error.message);
  }
  if (response.headers.has("X-Access")) token.readOnly = response.headers.get("X-Access") === "read";
  const about = {
    status: response.status,
    requestId: response.headers.get("X-Request-Id"),
    retryAfter: Number(response.headers.get("Retry-After")) || 0,
  };
  let parsed;
  try {
    parsed = JSON.parse(answer);
  } catch {
    throw new ApiError("not_json", `HTTP ${response.status}`, about);
  }
  if (parsed?.success !== true)
    throw new ApiError(parsed?.error?.code ?? "not_json", parsed?.error?.message ?? `HTTP ${response.status}`, {
      ...about,
      field: parsed?.error?.field ?? null,
    });
  return parsed.data;
}
