// @ts-check
/** Forgets what this browser has kept of what was shown: it is another one's now, or nobody's. */

/** As in sw.js. */
export const [ANSWERS, PICTURES, SHARED] = ["viewfinder-shown", "viewfinder-pictures", "viewfinder-shared"];

/** How often that was: what was shown before is not kept any more. */
export let times = 0;

/** There is nothing to forget where the page is not served safely. */
export async function forget() {
  times += 1;
  if (globalThis.caches) await Promise.all([ANSWERS, PICTURES, SHARED].map((name) => caches.delete(name)));
}
