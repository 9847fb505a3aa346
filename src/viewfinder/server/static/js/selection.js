// @ts-check
/** vf-selection: several pictures at once. They are chosen by their circles, with Ctrl or Shift, by a long press, or by
 * a frame that is drawn from empty space. What is chosen stays over further turns of a conversation, so that pictures
 * of several searches can be taken along together; another conversation, an album or the start begins anew. */

import { reject } from "./actions.js";
import { element, fill, icon, iconButton } from "./dom.js";
import { tileOf } from "./grid.js";
import "./icons.js";
import { announce } from "./live.js";
import { store } from "./store.js";
import { chooseAlbum, download, mayMark, mayTake, openExports, openStars, takeOut, toggleFavourite } from "./taking.js";
import { t } from "./texts.js";

/** @typedef {import("./store.js").Hit} Hit */

const LONG_PRESS_MS = 450;
/** A pointer that moves less than this has not moved. */
const STILL_PX = 8;
/** Near the edge of the window, drawing a frame scrolls on. */
const EDGE_PX = 40;

const { state } = store;
/** @type {any} */
const grid = document.querySelector("vf-grid");

/** Where a range begins: the picture that was chosen last. @type {string | null} */
let anchor = null;

export const isSelecting = () => state.selected.size > 0;

/** @param {Iterable<Hit>} hits */
function set(hits) {
  store.set({ selected: new Map([...hits].map((hit) => [hit.id, hit])) });
}

/** Chooses a picture or lets go of it; `isRange`: all from the last one that was chosen to this one.
 * @param {Hit} hit @param {{isRange?: boolean}} [given] */
export function toggle(hit, { isRange = false } = {}) {
  const { selected } = state;
  const from = grid.hits.findIndex(({ id }) => id === anchor);
  const to = grid.hits.findIndex(({ id }) => id === hit.id);
  if (isRange && from >= 0 && to >= 0) return set([...selected.values(), ...grid.hits.slice(Math.min(from, to), Math.max(from, to) + 1)]);
  anchor = hit.id;
  set(selected.has(hit.id) ? [...selected.values()].filter(({ id }) => id !== hit.id) : [...selected.values(), hit]);
}

export function clear() {
  anchor = null;
  if (isSelecting()) set([]);
}

/** All that is shown, as far as it has been fetched. */
const selectShown = () => set([...state.selected.values(), ...grid.hits]);

class Selection extends HTMLElement {
  connectedCallback() {
    this.setAttribute("role", "region");
    this.setAttribute("aria-label", t("select.label"));
    this.hidden = true;
    store.on(["selected", "results", "me", "where"], () => this.render());
    store.on(["selected"], () => announce(t("select.count", { n: state.selected.size })));
  }

  render() {
    const { selected } = state;
    this.hidden = selected.size === 0;
    if (this.hidden) {
      if (this.contains(document.activeElement)) grid.focusOn(grid.at);
      return fill(this);
    }
    const hits = [...selected.values()];
    const ids = hits.map(({ id }) => id);
    const shown = new Set(grid.hits.map(({ id }) => id));
    const elsewhere = ids.filter((id) => !shown.has(id)).length;
    const { album } = state.where;
    const focused = /** @type {HTMLElement | null} */ (document.activeElement)?.dataset.act;
    const act = (name, key, work, given = {}) =>
      element("button", { type: "button", title: t(key), "data-act": name, onclick: (event) => work(event.currentTarget), ...given }, icon(name), element("span", { class: "word" }, t(key)));
    const menu = { "aria-haspopup": "menu", "aria-expanded": "false" };
    const count = element("p", {}, element("b", {}, t("select.count", { n: hits.length })), elsewhere > 0 && element("span", { class: "quiet" }, ` ${t("select.elsewhere", { n: elsewhere })}`));
    fill(this, iconButton("close", t("select.clear"), clear, { "data-act": "close" }), count,
      shown.size > 0 && elsewhere + shown.size > hits.length && act("check", "select.all", selectShown, { class: "all" }),
      element("span", { class: "spring" }),
      mayTake() && act("download", hits.length > 1 ? "take.zip-short" : "take.download", () => download(hits)),
      act("data", "take.more", (button) => openExports(button, { pictures: ids }, { zip: false }), menu),
      mayMark() && act("album", "albums.add-short", (button) => chooseAlbum(button, ids), { ...menu, "aria-haspopup": "dialog" }),
      mayMark() && album && act("minus", "albums.take-out", () => takeOut(album, ids).then(clear)),
      mayMark() && act("heart", "take.favourite", () => toggleFavourite(ids)),
      mayMark() && act("star", "take.stars-label", (button) => openStars(button, ids), { ...menu, "aria-haspopup": "dialog" }),
      mayMark() && act("reject", "select.reject", () => reject(ids).then(clear)));
    if (focused) /** @type {HTMLElement | null} */ (this.querySelector(`[data-act=${focused}]`))?.focus();
  }
}

// -- with the pointer

/** Ctrl and Shift choose; so does a tap while something is chosen. @param {MouseEvent} event */
function clicked(event) {
  const tile = tileOf(event.target);
  const hit = grid.hits[Number(tile?.dataset.at)];
  // The finger that has chosen a picture is lifted, maybe from the circle that came below it: that is no tap.
  const isLifted = pressedLong;
  pressedLong = false;
  const onPicture = hit && /** @type {Element} */ (event.target).closest(".pick");
  if (onPicture && !isLifted && (event.ctrlKey || event.metaKey || event.shiftKey)) toggle(hit, { isRange: event.shiftKey });
  else if (onPicture && !isLifted && isSelecting() && touched) toggle(hit);
  else if (!isLifted) return;
  event.preventDefault();
  event.stopPropagation();
}

/** Whether the pointer is a finger, and whether it has just chosen something by staying where it was. */
let touched = false;
let pressedLong = false;

/** @param {PointerEvent} event */
function down(event) {
  touched = event.pointerType === "touch";
  pressedLong = false;
  if (touched) return pressLong(event);
  const isFree = !tileOf(event.target) && event.offsetX < grid.clientWidth;
  if (event.button === 0 && (isFree || event.shiftKey) && grid.hits.length) drawFrame(event);
}

/** @param {PointerEvent} event */
function pressLong({ target, clientX, clientY }) {
  const tile = tileOf(target);
  if (!tile) return;
  const heard = new AbortController();
  const { signal } = heard;
  const waiting = setTimeout(() => {
    pressedLong = true;
    toggle(grid.hits[Number(tile.dataset.at)]);
    navigator.vibrate?.(10);
    heard.abort();
  }, LONG_PRESS_MS);
  signal.addEventListener("abort", () => clearTimeout(waiting));
  const end = () => heard.abort();
  addEventListener("pointermove", (event) => Math.hypot(event.clientX - clientX, event.clientY - clientY) > STILL_PX && end(), { signal });
  for (const name of ["pointerup", "pointercancel", "scroll"]) addEventListener(name, end, { signal, capture: true });
}

/** A frame from where the pointer went down to where it is; what it touches is chosen. @param {PointerEvent} start */
function drawFrame(start) {
  const heard = new AbortController();
  const { signal } = heard;
  const before = [...state.selected.values()];
  const at = (event) => {
    const origin = grid.list.getBoundingClientRect();
    return { x: event.clientX - origin.left, y: event.clientY - origin.top };
  };
  const from = at(start);
  /** @type {HTMLElement | null} */
  let frame = null;
  let last = start;
  let scrolling = 0;
  const draw = () => {
    const to = at(last);
    const [left, top] = [Math.min(from.x, to.x), Math.min(from.y, to.y)];
    const [width, height] = [Math.abs(from.x - to.x), Math.abs(from.y - to.y)];
    if (frame) Object.assign(frame.style, { transform: `translate(${left}px, ${top}px)`, width: `${width}px`, height: `${height}px` });
    const touches = (box) => box.x < left + width && box.x + box.width > left && box.y < top + height && box.y + box.height > top;
    set([...before, ...grid.hits.filter((_, index) => touches(grid.boxes[index]))]);
  };
  const scroll = () => {
    const { top, bottom } = grid.getBoundingClientRect();
    const by = last.clientY > bottom - EDGE_PX ? 12 : last.clientY < top + EDGE_PX ? -12 : 0;
    if (by) grid.scrollTop += by;
    if (by) draw();
    scrolling = requestAnimationFrame(scroll);
  };
  const move = (event) => {
    last = event;
    if (!frame && Math.hypot(event.clientX - start.clientX, event.clientY - start.clientY) < STILL_PX) return;
    if (!frame) {
      frame = element("div", { class: "frame" });
      grid.list.append(frame);
      scrolling = requestAnimationFrame(scroll);
    }
    draw();
  };
  const end = () => {
    heard.abort();
    cancelAnimationFrame(scrolling);
    frame?.remove();
  };
  addEventListener("pointermove", move, { signal });
  for (const name of ["pointerup", "pointercancel"]) addEventListener(name, end, { signal });
  addEventListener("keydown", (event) => {
    if (event.key !== "Escape") return;
    end();
    set(before);
    event.stopPropagation();
  }, { signal, capture: true });
  // Shift on a picture would select text or drag the picture away.
  addEventListener("dragstart", (event) => event.preventDefault(), { signal, capture: true });
  addEventListener("selectstart", (event) => event.preventDefault(), { signal, capture: true });
  if (start.shiftKey) addEventListener("click", (event) => frame && (event.preventDefault(), event.stopPropagation()), { once: true, capture: true });
}

// -- with keys

/** @param {KeyboardEvent} event */
function pressedKey(event) {
  const target = /** @type {Element} */ (event.target);
  const box = /** @type {HTMLTextAreaElement | null} */ (target.closest?.("input:not([type=range], [type=checkbox], [type=radio]), textarea, select"));
  if (document.querySelector("dialog:modal, .pop:popover-open, .panel:popover-open") || grid.hidden) return;
  const isAll = event.key === "a" && (event.ctrlKey || event.metaKey) && !event.shiftKey && !event.altKey;
  if (isAll && !box?.value && grid.hits.length) selectShown();
  else if (event.key === "Escape" && isSelecting() && !box) clear();
  else return;
  event.preventDefault();
  event.stopPropagation();
}

/** @param {KeyboardEvent} event */
function pressedOnTile(event) {
  const tile = tileOf(event.target);
  const hit = grid.hits[Number(tile?.dataset.at)];
  if (!hit || event.altKey) return;
  if (event.key === "s" && !event.ctrlKey && !event.metaKey) toggle(hit);
  else if (event.key === " " && event.ctrlKey) toggle(hit);
  else if (event.shiftKey && event.key.startsWith("Arrow") && anchor === null) return toggle(hit);
  else return;
  event.preventDefault();
  event.stopPropagation();
}

/** The grid has moved on the same key by now. @param {KeyboardEvent} event */
function extended(event) {
  const hit = grid.hits[grid.at];
  if (hit && event.shiftKey && event.key.startsWith("Arrow")) toggle(hit, { isRange: true });
}

grid.addEventListener("keydown", extended);
grid.addEventListener("click", clicked, { capture: true });
grid.addEventListener("pointerdown", down);
grid.addEventListener("keydown", pressedOnTile, { capture: true });
addEventListener("keydown", pressedKey, { capture: true });

/** What is shown, without its turn: leaving it begins anew. */
const placeNow = () => `${state.session?.id ?? ""} ${state.where.album ?? ""}`;
let place = placeNow();
store.on(["session", "where", "turn"], () => {
  const now = placeNow();
  // The first turn makes a conversation of what was there before it.
  const isBegun = place === ` ${state.where.album ?? ""}` && state.session?.tree.length === 1;
  if (now !== place && !isBegun) clear();
  place = now;
});

customElements.define("vf-selection", Selection);
