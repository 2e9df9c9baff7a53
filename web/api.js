// Asking the daemon. Requests carry the bearer token of this tab when one was entered.

const TOKEN_KEY = "cuzk-token";
const TIMEOUT_MS = 10000;

export class ApiError extends Error {
  constructor(status, message) {
    super(message);
    this.status = status; // 0: no answer
  }
}

export function token() {
  return sessionStorage.getItem(TOKEN_KEY) || "";
}

export function setToken(value) {
  if (value) sessionStorage.setItem(TOKEN_KEY, value);
  else sessionStorage.removeItem(TOKEN_KEY);
}

async function message(response) {
  const text = await response.text();
  try {
    return JSON.parse(text).error || text;
  } catch {
    return text.trim().slice(0, 300) || response.statusText;
  }
}

export async function fetchRaw(path, signal) {
  const limit = AbortSignal.timeout(TIMEOUT_MS);
  const headers = token() ? { Authorization: "Bearer " + token() } : {};
  let response;
  try {
    response = await fetch(path, { headers, cache: "no-store", signal: AbortSignal.any([limit, signal].filter(Boolean)) });
  } catch (e) {
    if (signal && signal.aborted) throw e;
    throw new ApiError(0, limit.aborted ? "no answer within 10 s" : "the daemon cannot be reached");
  }
  if (!response.ok) throw new ApiError(response.status, await message(response));
  return response;
}

export async function fetchJson(path, signal) {
  const response = await fetchRaw(path, signal);
  try {
    return await response.json();
  } catch (e) {
    if (signal && signal.aborted) throw e;
    throw new ApiError(0, "the answer was cut short");
  }
}

export function jobPath(id) {
  return "api/jobs/" + encodeURIComponent(id);
}
