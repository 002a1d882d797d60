// The JSON API, called with the operator's token. The token lives in sessionStorage: it ends with the tab.

const TOKEN = "seed-engine-token";
const PATIENCE = 30_000; // milliseconds until a call times out

/** Why a call failed. code is the API's error code, or "unreachable", "timeout" or "not_json". */
export class ApiError extends Error {
  constructor(code, message, { status = 0, field = null, requestId = null, retryAfter = 0, data = null } = {}) {
    super(message);
    Object.assign(this, { code, status, field, requestId, retryAfter, data });
  }
}

export const token = {
  get: () => sessionStorage.getItem(TOKEN) ?? "",
  set: (value) => sessionStorage.setItem(TOKEN, value),
  clear: () => sessionStorage.removeItem(TOKEN),

  /** Whether the token is read-only, according to the last response. */
  readOnly: false,
};

/** Characters allowed in an HTTP header, and so in a token. */
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

/**
 * PUT of a JSON file. moved(bytes) is called with the number of bytes sent so far. The call times out only when nothing
 * is sent. It uses XMLHttpRequest because fetch reports no upload progress.
 */
export function upload(path, file, moved, signal) {
  return new Promise((resolve, reject) => {
    const request = new XMLHttpRequest();
    const fail = (code) => reject(new ApiError(code, ""));
    let watch;
    const move = (sent) => {
      clearTimeout(watch);
      watch = setTimeout(() => (fail("timeout"), request.abort()), PATIENCE);
      moved(sent);
    };
    const stop = () => request.abort();
    request.open("PUT", path);
    for (const [name, value] of Object.entries(headersOf("PUT"))) request.setRequestHeader(name, value);
    request.upload.addEventListener("progress", (event) => move(event.loaded));
    request.addEventListener("load", () => {
      try {
        resolve(dataOf(request.status, (name) => request.getResponseHeader(name), request.responseText));
      } catch (error) {
        reject(error);
      }
    });
    request.addEventListener("error", () => fail("unreachable"));
    request.addEventListener("abort", () => reject(signal.reason));
    request.addEventListener("loadend", () => {
      clearTimeout(watch);
      signal.removeEventListener("abort", stop);
    });
    signal.addEventListener("abort", stop);
    move(0);
    request.send(file);
  });
}

function headersOf(method) {
  const headers = { Accept: "application/json" };
  if (token.get()) headers.Authorization = `Bearer ${token.get()}`;
  if (method !== "GET") headers["Content-Type"] = "application/json"; // an engine without a token requires it even without a body
  return headers;
}

async function call(method, path, body, signal) {
  const late = AbortSignal.timeout(PATIENCE);
  let response, answer;
  try {
    response = await fetch(path, {
      method,
      headers: headersOf(method),
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
  return dataOf(response.status, (name) => response.headers.get(name), answer);
}

/** The parts of a response; header(name) returns a header, or null. */
function dataOf(status, header, answer) {
  if (header("X-Access")) token.readOnly = header("X-Access") !== "full";
  const about = { status, requestId: header("X-Request-Id"), retryAfter: Number(header("Retry-After")) || 0 };
  let parsed;
  try {
    parsed = JSON.parse(answer);
  } catch {
    throw new ApiError("not_json", `HTTP ${status}`, about);
  }
  if (parsed?.success !== true)
    throw new ApiError(parsed?.error?.code ?? "not_json", parsed?.error?.message ?? `HTTP ${status}`, {
      ...about,
      field: parsed?.error?.field ?? null,
      data: parsed?.data ?? null, // what was done before the error
    });
  return parsed.data;
}
