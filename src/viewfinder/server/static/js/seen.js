// @ts-check
/** What is in pictures that have no caption: asked for once nothing else is awaited, for their alternative texts. */

import { post } from "./api.js";
import { seenIn, store } from "./store.js";
import { listed, t } from "./texts.js";

const AT_ONCE = 100;
/** Looking is work for the server: what people wait for comes first. */
const PAUSE_MS = 2000;

/** @type {Set<string>} */
const asked = new Set();
/** @type {ReturnType<typeof setTimeout> | undefined} */
let waiting;

async function look() {
  const { results, compare, busy, asking, online } = store.state;
  if (busy || asking || !online) return;
  const hits = [...(results?.results ?? []), ...(compare?.results.results ?? [])];
  const unknown = hits.filter(({ id, caption }) => !caption && !asked.has(id)).map(({ id }) => id);
  for (const id of unknown) asked.add(id);
  for (let at = 0; at < unknown.length; at += AT_ONCE) {
    // Without it, pictures keep the names of their files.
    const { seen } = await post("/pictures/seen", { ids: unknown.slice(at, at + AT_ONCE) }).catch(() => ({ seen: {} }));
    for (const [id, names] of Object.entries(seen)) seenIn.set(id, t("picture.sees", { names: listed(/** @type {string[]} */ (names)) }));
    /** @type {any} */ (document.querySelector("vf-grid"))?.draw();
  }
}

store.on(["results", "compare", "busy", "asking"], () => {
  clearTimeout(waiting);
  waiting = setTimeout(look, PAUSE_MS);
});
waiting = setTimeout(look, PAUSE_MS);
