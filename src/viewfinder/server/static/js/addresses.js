// @ts-check
/** Keeps the filters and the order that are set in the address: `?where=camera:Canon&where=year:2008&order=newest`. */

import * as router from "./router.js";
import { store } from "./store.js";

/** Signs that may stand in a query as they are, and are read better so. */
const PLAIN = /%(?:2F|3A|7C|2C)/g;

/** @param {string} text */
const write = (text) => encodeURIComponent(text).replace(PLAIN, decodeURIComponent).replaceAll("%20", "+");

/** Filters and an order as a query. @param {Record<string, string>} where @param {string} order */
export function queryOf(where, order) {
  const all = Object.entries(where).map(([column, value]) => `where=${write(column.replaceAll(":", "%3A"))}:${write(value)}`);
  if (order) all.push(`order=${order}`);
  return all.length ? `?${all.join("&")}` : "";
}

/** What they add to a path: that of an album says itself that it is one. @param {string} path */
function queryAt(path) {
  const place = router.placeOf(path);
  const { where, order } = store.state;
  const { album, ...others } = where;
  return queryOf(place.page === "album" && place.album === album ? others : where, order);
}

/** Makes the address say what is set. Before a conversation, each change is a new entry of the history. */
function follow() {
  const place = router.placeOf(location.pathname);
  const path = place.page === "album" && place.album !== store.state.where.album ? "/" : location.pathname;
  const address = path + queryAt(path);
  if (address === location.pathname + location.search || router.askedBy(location.search) !== null) return;
  router.change(address, !store.state.session && ["home", "album"].includes(place.page));
}

router.addQuery(queryAt);
store.on(["where", "order", "session"], follow);

/** Whether the address of a start page has other filters, or another order, than are set. */
function differs() {
  const { where, order } = router.filtersOf(location.search);
  const isStart = ["home", "album"].includes(router.placeOf(location.pathname).page);
  return isStart && queryOf(where, order) !== queryAt(location.pathname);
}

// This comes after the first pictures: filters may have been cleared in the meantime.
if (store.state.session || differs()) follow();
