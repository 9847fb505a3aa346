// @ts-check
/** The page's worker. All comes from the network while there is one; only where that fails, from what is kept: the page
 * itself, and what was shown (answers and small pictures, a bounded number). What is kept is marked, so that the page
 * knows that the server is away. Streams of events, files of pictures and all that changes something pass by untouched.
 * What was shown is forgotten when somebody logs in or out, or is not let in any more. */

const worker = /** @type {any} */ (globalThis);
const VERSION = "{{version}}";
const FILES = "{{files}}".split(" ");
const SHELL = `viewfinder-shell ${VERSION}`;
/** As in js/forgetting.js. */
const [ANSWERS, PICTURES, SHARED] = ["viewfinder-shown", "viewfinder-pictures", "viewfinder-shared"];
const KEPT = "x-viewfinder-kept";

/** How much is kept; the oldest goes first. @type {Record<string, number>} */
const MOST = { [ANSWERS]: 300, [PICTURES]: 1500 };
/** So many more come before the oldest go: looking through all costs time. */
const SLACK = 40;
/** How long a network that says nothing is waited for, where something is kept; and once the server was found to be away. */
const PATIENCE_MS = { first: 8000, away: 1500 };
/** Of a picture that is shared. */
const MAX_SHARED = 64 << 20;

const THUMBNAIL = /^\/api\/v1\/(pictures|uploads)\/[^/]+\/thumbnail$/;
const SHOWN = /^\/api\/v1\/(me|collection|collection\/facets|retrievers|questioners|sessions(\/[^/]+(\/turns\/\d+)?)?|pictures\/[^/]+(\/similar)?|albums(\/[^/]+)?|marks)$/;
const PAGE = /^\/($|talk\/|compare\/|album\/)/;

/** What was shown is forgotten: answers that are still on their way are of before. */
let era = 0;
let isAway = false;

worker.addEventListener("install", (event) => {
  worker.skipWaiting();
  event.waitUntil(fillShell());
});

worker.addEventListener("activate", (event) => {
  const isOld = (name) => name.startsWith("viewfinder-shell ") && name !== SHELL;
  const clear = async () => Promise.all((await caches.keys()).filter(isOld).map((name) => caches.delete(name)));
  event.waitUntil(clear().then(() => worker.clients.claim()));
});

worker.addEventListener("fetch", (event) => {
  const { request } = event;
  const url = new URL(request.url);
  if (url.origin !== location.origin) return;
  if (request.method !== "GET") {
    if (url.pathname === "/api/v1/login") event.waitUntil(forget());
    else if (request.method === "POST" && request.mode === "navigate" && url.pathname === "/share") event.respondWith(takeShared(request));
    return;
  }
  if (request.headers.get("accept")?.includes("text/event-stream") || request.headers.has("range") || request.cache === "no-store") return;
  const path = url.pathname;
  if (request.mode === "navigate") {
    if (PAGE.test(path)) event.respondWith(answer(event, SHELL, "/"));
  } else if (path.startsWith("/static/")) event.respondWith(answer(event, SHELL, path));
  else if (THUMBNAIL.test(path)) event.respondWith(answer(event, PICTURES, path + url.search));
  else if (SHOWN.test(path)) event.respondWith(answer(event, ANSWERS, path + url.search));
});

/** The page and all its files, so that it opens without a server. */
async function fillShell() {
  const cache = await caches.open(SHELL);
  const page = await fetch("/", { cache: "no-cache" });
  const texts = /\/static\/locales\/[\w-]+\.json/.exec(await page.clone().text());
  if (page.ok) await cache.put("/", page);
  await cache.addAll([...FILES, ...(texts ? [texts[0]] : [])].map((file) => new Request(file, { cache: "no-cache" })));
}

/** From the network, else from what is kept. @param {any} event @param {string} name of the cache @param {string} key */
async function answer(event, name, key) {
  const asked = ask(event, name, key);
  asked.catch(() => {});
  const wait = isAway ? PATIENCE_MS.away : asksServer(event, name) ? PATIENCE_MS.first : 0;
  try {
    return await (wait ? Promise.race([asked, late(wait)]) : asked);
  } catch (error) {
    if (event.request.signal.aborted) throw error;
    isAway = true;
    const kept = await find(name, key);
    return kept ? marked(kept) : asked;
  }
}

/** Whether its answer is the server's own: files and small pictures may come from what the browser has, and take long on a
 * slow network. @param {any} event @param {string} name of the cache */
const asksServer = (event, name) => name === ANSWERS || event.request.mode === "navigate";

const late = (/** @type {number} */ ms) => new Promise((_, reject) => setTimeout(reject, ms, new Error("late")));

/** @param {any} event @param {string} name @param {string} key */
async function ask(event, name, key) {
  const begun = era;
  const response = await fetch(event.request);
  if (asksServer(event, name)) isAway = false;
  if (response.status === 401) event.waitUntil(forget());
  else if (response.status === 200 && !response.redirected) event.waitUntil(keep(name, key, response.clone(), begun));
  return response;
}

/** Of a turn, what the page kept after it was said, too. @param {string} name @param {string} key */
async function find(name, key) {
  const cache = await caches.open(name);
  const [path, query = ""] = key.split("?");
  return (await cache.match(key)) ?? (/^n=\d+$/.test(query) ? cache.match(path) : undefined);
}

/** @param {Response} kept */
function marked(kept) {
  const headers = new Headers(kept.headers);
  headers.set(KEPT, "1");
  return new Response(kept.body, { status: kept.status, statusText: kept.statusText, headers });
}

/** @type {Record<string, number>} */
const added = {};

/** @param {string} name @param {string} key @param {Response} response @param {number} begun */
async function keep(name, key, response, begun) {
  try {
    const body = await response.blob(); // the whole of it: one that is cut is not kept
    const cache = await caches.open(name);
    if (begun !== era && name !== SHELL) return;
    await cache.put(key, new Response(body, { headers: response.headers }));
    if (begun !== era && name !== SHELL) return void (await cache.delete(key));
    added[name] = (added[name] ?? SLACK) + 1;
    if (name in MOST && added[name] > SLACK) {
      added[name] = 0;
      const keys = await cache.keys();
      await Promise.all(keys.slice(0, Math.max(0, keys.length - MOST[name])).map((each) => cache.delete(each)));
    }
  } catch {
    // There is no room: the page goes on without.
  }
}

async function forget() {
  era += 1;
  await Promise.all([ANSWERS, PICTURES, SHARED].map((name) => caches.delete(name)));
}

/** A picture that is shared is kept here until the page has asked: any site may send a form to this address. What is
 * shared as words is looked for, as by any link. @param {Request} request */
async function takeShared(request) {
  const form = await request.formData();
  const isPicture = (/** @type {any} */ each) => each instanceof File && each.type.startsWith("image/") && each.size <= MAX_SHARED;
  const file = /** @type {File | undefined} */ (form.getAll("file").find(isPicture));
  if (file) {
    const headers = { "content-type": file.type, "x-name": encodeURIComponent(file.name) };
    await (await caches.open(SHARED)).put("/shared", new Response(file, { headers }));
    return Response.redirect("/?shared", 303);
  }
  const said = ["text", "title", "url"].map((name) => String(form.get(name) ?? ""));
  const words = said.map((text) => text.replace(/\bhttps?:\/\/\S+/g, " ").trim()).find(Boolean) ?? said.find(Boolean);
  return Response.redirect(words ? `/?q=${encodeURIComponent(words.slice(0, 2000))}` : "/", 303);
}
