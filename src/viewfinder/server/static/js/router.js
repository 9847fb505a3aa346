// @ts-check
/** Addresses of the page: every node of every conversation has one, and the browser's back and forward go through them. */

/** @typedef {{page: "home"} | {page: "talk", session: string, turn: number | null}
 *   | {page: "compare", session: string, turn: number, other: number}} Place */

/** The place that a path names; an unknown one is home. @param {string} path @returns {Place} */
export function placeOf(path) {
  const [, page, session, first, second] = path.split("/").map(decodeURIComponent);
  const [one, two] = [wholeNumber(first), wholeNumber(second)];
  if (page === "talk" && session) return { page: "talk", session, turn: one };
  if (page === "compare" && session && one !== null && two !== null) {
    return { page: "compare", session, turn: one, other: two };
  }
  return { page: "home" };
}

/** The path that names a place. @param {Place} place */
export function pathOf(place) {
  if (place.page === "home") return "/";
  const session = encodeURIComponent(place.session);
  if (place.page === "compare") return `/compare/${session}/${place.turn}/${place.other}`;
  return place.turn === null ? `/talk/${session}` : `/talk/${session}/${place.turn}`;
}

/** @param {string | undefined} text */
function wholeNumber(text) {
  return text && /^\d{1,7}$/.test(text) ? Number(text) : null;
}

/** What is kept with an entry of the history: how far down the results were, and how many had been fetched.
 * @typedef {{scroll: number, count: number}} Kept */

/** @returns {Kept} */
export const kept = () => ({ scroll: 0, count: 0, ...(history.state ?? {}) });

/** Remembers with this entry of the history. @param {Partial<Kept>} more */
export function keep(more) {
  history.replaceState({ ...kept(), ...more }, "");
}

/** Makes `place` the address, as a new entry of the history unless it is there already or `replace` is given.
 * @param {Place} place @param {{replace?: boolean}} [given] */
export function show(place, { replace = false } = {}) {
  const path = pathOf(place);
  if (path === location.pathname) return;
  history[replace ? "replaceState" : "pushState"]({ scroll: 0, count: 0 }, "", path);
}

/** Calls `go` with the place whenever the user goes back or forward. @param {(place: Place) => void} go */
export function onMove(go) {
  history.scrollRestoration = "manual";
  addEventListener("popstate", () => go(placeOf(location.pathname)));
}
