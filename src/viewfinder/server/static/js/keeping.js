// @ts-check
/** What was shown stays readable while the server is away: starts the worker (sw.js), and gives it what it does not see,
 * which are results that were asked for with words. Over plain http, except on this machine, browsers have none of it. */

import { bring } from "./bring.js";
import { refreshCollection } from "./conversation-actions.js";
import { ANSWERS, times } from "./forgetting.js";
import { store } from "./store.js";

const PAUSE_MS = 400;
const WALL = "/pictures/browse";

const { state } = store;

/** Under which address what is shown is kept; null: it is not. */
function addressOf() {
  if (!state.results || state.previewing || !state.online) return null;
  if (state.session) return state.turn > 0 && state.results.turn === state.turn ? `/sessions/${state.session.id}/turns/${state.turn}` : null;
  return Object.keys(state.where).length ? null : WALL;
}

/** @type {ReturnType<typeof setTimeout> | undefined} */
let pause;

/** Keeps what is shown, once it has come to rest. */
function keep() {
  clearTimeout(pause);
  const [path, before] = [addressOf(), times];
  if (!path) return;
  const shown = JSON.stringify({ ...state.results, question: state.question, asking: false });
  pause = setTimeout(async () => {
    if (before !== times) return;
    const cache = await caches.open(ANSWERS);
    await cache.put(`/api/v1${path}`, new Response(shown, { headers: { "content-type": "application/json" } })).catch(() => {});
  }, PAUSE_MS);
}

/** The first pictures as they were, where there is no server to ask. */
async function restore() {
  if (state.online || state.results || state.session || state.turn) return;
  const kept = await (await caches.open(ANSWERS)).match(`/api/v1${WALL}`);
  const results = await kept?.json();
  if (results && !state.online && !state.results && !state.session) store.set({ results });
}

/** What was fetched before there was a worker is fetched once more, through it; most of it the browser has. */
async function catchUp() {
  const paths = ["me", "collection", "retrievers", "questioners", ...(state.session ? [`sessions/${state.session.id}`] : [])];
  const pictures = [...document.querySelectorAll("vf-grid img")].map((image) => /** @type {HTMLImageElement} */ (image).currentSrc).filter(Boolean);
  for (const address of [...paths.map((path) => `/api/v1/${path}`), ...pictures]) await fetch(address).catch(() => {});
}

if (globalThis.caches && navigator.serviceWorker) {
  navigator.serviceWorker.addEventListener("controllerchange", catchUp, { once: true });
  navigator.serviceWorker.register("/sw.js", { updateViaCache: "none" }).catch(() => {});
  store.on(["results", "question", "asking", "online"], keep);
  store.on(["online"], () => (state.online ? void refreshCollection() : void restore()));
  keep();
  void restore();
}

if (new URLSearchParams(location.search).has("shared")) void bring("shared");
