/** Where words are in the pictures: hovering or focusing a word, a chip or a turn lays a soft heat map over all that is
 * on the screen. Nothing of it touches layout: one small canvas a picture, stretched by the compositor. */

import { get } from "./api.js";
import { element } from "./dom.js";
import { heatColours, heatGrid, slotOf, softened } from "./heat.js";
import { store } from "./store.js";
import { pieces, textOf } from "./conversation-shapes.js";

/** @typedef {{text?: string, turn?: number, label?: string}} Hover */
/** @typedef {{boxes: number[][], weights: number[]}} Look */

const SHOWN_MS = 90;
const CELLS = 20;
/** Few at a time: looking is work for the server, and turns must not wait for it. */
const AT_ONCE = 2;
const MOST_TEXTS = 8;
const KEPT = 5000;

/** What was looked up: picture and text -> weights; the oldest go first. @type {Map<string, Look>} */
const known = new Map();
/** The hover that a click holds on to. @type {Hover | null} */
let held = null;
/** @type {ReturnType<typeof setTimeout> | undefined} */
let waiting;
let asking = new AbortController();

const key = (id, text) => `${id}\n${text}`;

/** Shows `hover` a moment later, so that crossing the page with the pointer flickers nothing. @param {Hover | null} hover */
function soon(hover) {
  clearTimeout(waiting);
  waiting = setTimeout(() => store.set({ hover: hover ?? held }), SHOWN_MS);
}

/** Attributes that make an element show where something is in the pictures while it is hovered or focused.
 * @param {Hover} hover */
export const looking = (hover) => ({ "data-look": JSON.stringify(hover) });

/** The same for a button: a click or tap holds on to it, until the next one or Escape. @param {Hover} hover */
export const holding = (hover) => ({ ...looking(hover), "aria-pressed": String(isHeld(JSON.stringify(hover))) });

const isHeld = (look) => held !== null && JSON.stringify(held) === look;

/** @param {EventTarget | null} target @returns {HTMLElement | null} the innermost element that shows something */
const looker = (target) => (target instanceof Element ? target.closest("[data-look]") : null);

/** @param {EventTarget | null} target */
function look(target) {
  const node = looker(target);
  soon(node ? JSON.parse(node.dataset.look ?? "null") : null);
}

/** @param {Hover | null} hover */
function hold(hover) {
  held = hover;
  for (const each of document.querySelectorAll("[data-look][aria-pressed]")) {
    each.setAttribute("aria-pressed", String(isHeld(each.dataset.look)));
  }
  soon(hover);
}

/** @param {EventTarget | null} target */
function clicked(target) {
  const node = looker(target);
  if (!node?.hasAttribute("aria-pressed") || node !== target.closest("button")) return;
  hold(isHeld(node.dataset.look) ? null : JSON.parse(node.dataset.look ?? "null"));
}

/** The text that is looked for, and what is best looked up in the same request: the other words of its turn.
 * @param {Hover} hover @returns {string[]} */
function textsOf(hover) {
  const said = hover.turn === undefined ? "" : textOf(store.state.session?.tree[hover.turn]?.turn);
  const first = hover.text ?? hover.label ?? said;
  const words = hover.text ? pieces(said).filter((piece) => piece.word).map((piece) => piece.text) : [];
  return [...new Set([first, ...words])].filter((text) => text.trim()).slice(0, MOST_TEXTS);
}

/** Pictures on the screen, from the top left. @returns {HTMLElement[]} */
function visible() {
  const tiles = [...document.querySelectorAll("vf-grid [data-id], vf-compare [data-id]")];
  return tiles.filter((tile) => {
    const { top, bottom, width } = tile.getBoundingClientRect();
    return width > 0 && bottom > 0 && top < innerHeight;
  });
}

/** @param {string} id @param {Hover} hover @returns {Look | null} what is known without asking */
function lookOf(id, hover) {
  const regions = store.state.why[id]?.regions;
  const slot = slotOf(regions, hover);
  if (slot) return { boxes: regions.boxes, weights: slot.weights };
  return known.get(key(id, textsOf(hover)[0] ?? "")) ?? null;
}

/** @param {any} answer */
function remember(answer) {
  for (const { text, weights } of answer.texts) known.set(key(answer.id, text), { boxes: answer.boxes, weights });
  while (known.size > KEPT) known.delete(known.keys().next().value);
}

/** @param {HTMLElement} tile @param {Look} look */
function draw(tile, look) {
  const image = tile.querySelector("img");
  const aspect = image?.naturalWidth ? image.naturalWidth / image.naturalHeight : 1;
  const columns = Math.max(6, Math.round(CELLS * Math.min(1, aspect)));
  const rows = Math.max(6, Math.round(CELLS * Math.min(1, 1 / aspect)));
  const heat = softened(softened(heatGrid(look.boxes, look.weights, columns, rows), columns, rows), columns, rows);
  const canvas = element("canvas", { class: "heat", width: columns, height: rows, "aria-hidden": "true" });
  canvas.getContext("2d").putImageData(new ImageData(heatColours(heat), columns, rows), 0, 0);
  if (image) canvas.style.objectFit = getComputedStyle(image).objectFit;
  const fresh = !tile.querySelector("canvas.heat");
  wipe(tile);
  canvas.classList.toggle("fresh", fresh);
  // Below what else lies on the picture: its buttons and badges.
  tile.firstElementChild.after(canvas);
}

/** @param {ParentNode} below */
function wipe(below) {
  for (const canvas of below.querySelectorAll("canvas.heat")) canvas.remove();
}

/** @type {WeakMap<HTMLElement, string>} */
const drawn = new WeakMap();

/** Draws what is known and asks for the rest, a few pictures at a time, until the pointer moves on. */
async function show() {
  asking.abort();
  const { hover } = store.state;
  if (!hover || textsOf(hover).length === 0) return clear();
  asking = new AbortController();
  const { signal } = asking;
  const sought = JSON.stringify(hover);
  const unknown = visible().filter((tile) => !paint(tile, hover, sought));
  const next = async () => {
    for (let tile = unknown.shift(); tile && !signal.aborted; tile = unknown.shift()) {
      const id = String(tile.dataset.id);
      const texts = textsOf(hover);
      try {
        remember(await get(`/pictures/${encodeURIComponent(id)}/where`, { text: texts }, signal));
      } catch {
        continue; // gone, or not asked for any more: the picture stays as it is
      }
      if (!signal.aborted) requestAnimationFrame(() => signal.aborted || paint(tile, hover, sought));
    }
  };
  await Promise.all(Array.from({ length: AT_ONCE }, next));
}

/** @param {HTMLElement} tile @param {Hover} hover @param {string} sought @returns {boolean} whether it could be drawn */
function paint(tile, hover, sought) {
  const id = String(tile.dataset.id);
  const look = lookOf(id, hover);
  if (!look) {
    wipe(tile);
    return false;
  }
  const mark = `${id}\n${sought}`;
  if (drawn.get(tile) !== mark || !tile.querySelector("canvas.heat")) draw(tile, look);
  drawn.set(tile, mark);
  return true;
}

function clear() {
  wipe(document);
}

let planned = false;
/** Once a frame, however often it is asked for. */
function replan() {
  if (!store.state.hover || planned) return;
  planned = true;
  // Two frames on: the grid lays its pictures out in the first.
  requestAnimationFrame(() => requestAnimationFrame(() => ((planned = false), show())));
}

/** Begins to listen; called once. */
export function startOverlay() {
  store.on(["hover"], show);
  store.on(["results", "compare", "why"], replan);
  store.on(["turn"], () => hold(null));
  addEventListener("scroll", replan, { capture: true, passive: true });
  addEventListener("resize", replan, { passive: true });
  addEventListener("pointerover", (event) => event.pointerType === "mouse" && look(event.target));
  addEventListener("focusin", ({ target }) => target.matches(":focus-visible") && look(target));
  addEventListener("focusout", () => soon(null));
  addEventListener("click", ({ target }) => clicked(target));
  addEventListener("keydown", ({ key: pressed }) => pressed === "Escape" && held && hold(null));
}
