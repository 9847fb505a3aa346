// @ts-check
/** Addresses of the page: every node of every conversation has one, and the browser's back and forward go through them. */

/** @typedef {{page: "home"} | {page: "album", album: string} | {page: "talk", session: string, turn: number | null}
 *   | {page: "compare", session: string, turn: number, other: number}} Place */

/** The place that a path names; an unknown one is home. @param {string} path @returns {Place} */
export function placeOf(path) {
  const [, page, session, first, second] = path.split("/").map(decodeURIComponent);
  const [one, two] = [wholeNumber(first), wholeNumber(second)];
  if (page === "album" && session) return { page: "album", album: session };
  if (page === "talk" && session) return { page: "talk", session, turn: one };
  if (page === "compare" && session && one !== null && two !== null) {
    return { page: "compare", session, turn: one, other: two };
  }
  return { page: "home" };
}

/** What an address asks to be looked for (`/?q=words`); null: nothing. @param {string} query */
export const askedBy = (query) => new URLSearchParams(query).get("q")?.trim().slice(0, MAX_WORDS) || null;

/** As many letters as the server takes in a turn. */
const MAX_WORDS = 2000;

/** What an address filters by, and its order (see addresses.js). @param {string} query */
export function filtersOf(query) {
  const given = new URLSearchParams(query);
  const pairs = given.getAll("where").map((each) => /^([^:]+):(.+)$/s.exec(each)).filter((each) => each !== null);
  const where = Object.fromEntries(pairs.map(([, column, value]) => [column.replaceAll("%3A", ":"), value]));
  return { where, order: /^(newest|oldest)$/.exec(given.get("order") ?? "")?.[0] ?? "" };
}

/** What filters add to a path. @type {(path: string) => string} */
let queryAt = () => "";
export const addQuery = (/** @type {typeof queryAt} */ given) => void (queryAt = given);

/** Puts another query into the address. @param {string} address @param {boolean} push */
export function change(address, push) {
  if (push) history.pushState({ scroll: 0, count: 0 }, "", address);
  else history.replaceState(history.state, "", address + location.hash);
  here = placeIn(location);
}

/** The path that names a place. @param {Place} place */
export function pathOf(place) {
  if (place.page === "home") return "/";
  if (place.page === "album") return `/album/${encodeURIComponent(place.album)}`;
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

/** Makes `place` the address, as a new entry of the history unless it is there already or `replace` is given. An address
 * that asked for something is replaced: going back to it would ask again.
 * @param {Place} place @param {{replace?: boolean}} [given] */
export function show(place, { replace = false } = {}) {
  const bare = pathOf(place);
  const path = bare + (["home", "album"].includes(place.page) ? "" : queryAt(bare));
  const asked = askedBy(location.search) !== null;
  if (path === location.pathname + location.search && !asked) return;
  history[replace || asked ? "replaceState" : "pushState"]({ scroll: 0, count: 0 }, "", path);
  here = placeIn(location);
}

/** An address without the picture that it opens in large. @param {Location} address */
const placeIn = ({ pathname, search }) => pathname + search;
let here = placeIn(location);

/** Calls `go` with the place whenever the user goes back or forward to another one. @param {(place: Place) => void} go */
export function onMove(go) {
  history.scrollRestoration = "manual";
  addEventListener("popstate", () => {
    if (placeIn(location) === here) return; // a picture was opened or closed there
    here = placeIn(location);
    go(placeOf(location.pathname));
  });
}

const HASH = "#picture=";

/** The part of an address that opens a picture in large, over what the rest of the address shows. @param {string} id */
export const hashOf = (id) => HASH + encodeURIComponent(id);

/** The picture that the address opens in large. @returns {string | null} */
export const pictureOf = () => /^#picture=([\w.~-]+)$/.exec(location.hash)?.[1] ?? null;
