// @ts-check
/** The public API, and nothing else, is how the page reaches the server. */

import { store } from "./store.js";

const BASE = "/api/v1";
const PROBE_MS = 2500;

/** How often what has a key is sent that the server asks to send later, and the longest pause that is waited without asking. */
const MAX_TRIES = 4;
const MAX_PAUSE_S = 5;
/** How often in a row a stream of events is begun again that brings nothing. */
const MAX_CUTS = 3;

/** An answer that says what went wrong (RFC 9457): `kind` is the last part of its type, `more` the whole document. */
export class Problem extends Error {
  /** @param {number} status @param {any} document_ */
  constructor(status, document_) {
    super(document_.detail ?? document_.title ?? `HTTP ${status}`);
    this.status = status;
    this.kind = String(document_.type ?? "").split(":").at(-1);
    this.detail = this.message;
    this.more = document_;
  }
}

/** The server could not be reached. */
export class Unreachable extends Error {}

/** @type {() => Promise<void>} */
let login = () => Promise.reject(new Error("no login"));

/** How often that was done: what was refused before is asked for again, and nobody logs in twice for it. */
let logins = 0;

/** Says how to get a token from the user when one is wanted; the request is then made again.
 * @param {() => Promise<void>} ask */
export function onUnauthorized(ask) {
  login = ask;
}

/** @typedef {{body?: any, query?: Record<string, any>, signal?: AbortSignal, form?: FormData, key?: string}} Given
 * `key`: with the same one the server does the same thing once, however often the request has to be sent. */

/** What tells a thing that is to be done from all others. (`crypto.randomUUID` is there over https alone.) */
export const newKey = () => Array.from(crypto.getRandomValues(new Uint8Array(16)), (byte) => byte.toString(16).padStart(2, "0")).join("");

/** The JSON of an answer (null where there is none). Throws Problem, Unreachable, or an AbortError.
 * @param {string} method @param {string} path below /api/v1 @param {Given} [given] @returns {Promise<any>} */
export async function request(method, path, given = {}) {
  const before = logins;
  const sent = {
    method,
    signal: given.signal,
    headers: {
      ...(given.body === undefined ? {} : { "content-type": "application/json" }),
      ...(given.key === undefined ? {} : { "idempotency-key": `"${given.key}"` }),
    },
    body: given.form ?? (given.body === undefined ? undefined : JSON.stringify(given.body)),
  };
  let { response, text } = await reach(address(path, given.query), sent);
  for (let tries = 1; given.key !== undefined && tries < MAX_TRIES && isLater(response); tries += 1) {
    await new Promise((resolve) => setTimeout(resolve, 1000 * Number(response.headers.get("retry-after"))));
    ({ response, text } = await reach(address(path, given.query), sent));
  }
  if (response.status === 401 && path !== "/login") {
    if (before === logins) await login().then(() => { logins = before + 1; });
    return request(method, path, given);
  }
  const json = (response.headers.get("content-type") ?? "").includes("json");
  const answer = text && json ? JSON.parse(text) : null;
  if (!response.ok) throw new Problem(response.status, answer ?? { detail: `${response.status} ${response.statusText}` });
  return answer;
}

/** @param {string} path @param {Record<string, any>} [query] @param {AbortSignal} [signal] */
export const get = (path, query, signal) => request("GET", path, { query, signal });
/** @param {string} path @param {any} [body] @param {AbortSignal} [signal] @param {string} [key] */
export const post = (path, body, signal, key) => request("POST", path, { body, signal, key });
/** @param {string} path @param {any} body @param {string} [key] */
export const put = (path, body, key) => request("PUT", path, { body, key });
/** @param {string} path @param {any} body */
export const patch = (path, body) => request("PATCH", path, { body });
/** @param {string} path @param {string} [key] @param {Record<string, any>} [query] */
export const remove = (path, key, query) => request("DELETE", path, { key, query });

/** Sends a file in the form field `file`. @param {string} path @param {Blob} file */
export function upload(path, file) {
  const form = new FormData();
  form.append("file", file);
  return request("POST", path, { form });
}

/** Listens to a stream of events until one named `done` comes, the stream fails, or the given function is called.
 * Each handler gets the event's JSON; a stream that is cut goes on after the last event that was heard. `failed` (not
 * an event's name) is called when that fails, too.
 * @param {string} path below /api/v1 @param {Record<string, (data: any) => void>} handlers @returns {() => void} */
export function events(path, handlers) {
  const source = new EventSource(address(path));
  const { failed, done, ...named } = handlers;
  let [cuts, last] = [0, ""];
  for (const [name, handler] of Object.entries(named)) {
    source.addEventListener(name, (event) => {
      const { data, lastEventId } = /** @type {MessageEvent} */ (event);
      if (lastEventId !== last) [cuts, last] = [0, lastEventId];
      handler(JSON.parse(data || "{}"));
    });
  }
  source.addEventListener("done", (event) => {
    source.close();
    done?.(JSON.parse(/** @type {MessageEvent} */ (event).data || "{}"));
  });
  source.addEventListener("error", () => {
    // The browser asks again by itself, with the id of the last event: but not for ever.
    cuts += 1;
    if (source.readyState !== EventSource.CLOSED && cuts <= MAX_CUTS) return;
    source.close();
    failed?.(null);
  });
  return () => source.close();
}

const segment = encodeURIComponent;

/** The sizes that the server makes: the longer side in pixels. */
const SIZES = [160, 320, 640, 1280];

/** The smallest size that fills `pixels` on this screen. @param {number} pixels */
export function sizeFor(pixels) {
  const wanted = pixels * Math.min(globalThis.devicePixelRatio || 1, 2);
  // A little smaller than wanted is not seen, and costs a quarter.
  return SIZES.find((size) => size >= wanted * 0.85) ?? 1280;
}

/** @param {string} id @param {number} [size] */
export const thumbnail = (id, size = 320) => `${BASE}/pictures/${segment(id)}/thumbnail?size=${size}`;
/** @param {string} id @param {number} [size] */
export const uploadThumbnail = (id, size = 160) => `${BASE}/uploads/${segment(id)}/thumbnail?size=${size}`;
/** @param {string} id */
export const original = (id) => `${BASE}/pictures/${segment(id)}/original`;

/** @param {string} path @param {Record<string, any>} [query] */
export function address(path, query = {}) {
  const search = new URLSearchParams();
  for (const [name, value] of Object.entries(query)) {
    for (const each of [value].flat()) if (each !== undefined && each !== null) search.append(name, String(each));
  }
  const text = search.toString();
  return `${BASE}${path}${text ? `?${text}` : ""}`;
}

/** Whether the server asks to send a request again after a short while. @param {Response} response */
function isLater({ status, headers }) {
  const pause = headers.get("retry-after") ?? "";
  return (status === 503 || status === 429) && /^\d+$/.test(pause) && Number(pause) <= MAX_PAUSE_S;
}

/** The whole of an answer. @param {string} url @param {RequestInit} given @returns {Promise<{response: Response, text: string}>} */
async function reach(url, given) {
  try {
    const response = await (begun(url, given) ?? fetch(url, { credentials: "same-origin", ...given }));
    const text = await response.text();
    if (response.headers.has("x-viewfinder-kept")) away(); // sw.js had it from before
    else store.set({ online: true });
    return { response, text };
  } catch (error) {
    if (error instanceof DOMException && error.name === "AbortError") throw error;
    away();
    throw new Unreachable(String(error));
  }
}

/** The answer that early.js has asked for already: to the same request, and once. @returns {Promise<Response> | undefined} */
function begun(url, { method, body }) {
  const { early } = /** @type {any} */ (globalThis);
  if (method !== "POST" || early?.url !== url || early.body !== body) return undefined;
  /** @type {any} */ (globalThis).early = undefined;
  return early.answer;
}

function away() {
  if (store.state.online) setTimeout(probe, PROBE_MS);
  store.set({ online: false });
}

/** Asks now and then whether the server is back. */
async function probe() {
  try {
    await fetch(`${BASE}/health/live`, { cache: "no-store" });
    store.set({ online: true });
  } catch {
    setTimeout(probe, PROBE_MS);
  }
}
