// @ts-check
/** vf-grid: the results, in rows that fill the space. Only what is near the window exists as nodes; sizes come with the
 * results, so nothing jumps. What is done to a picture goes up as an event: vf-pick, vf-open, vf-reject, vf-found; what
 * else a tile offers is put on it by tile-tools.js, which hears vf-drawn. */

import { more, reject, setWhere } from "./actions.js";
import * as api from "./api.js";
import { bring } from "./bring.js";
import { element, fill, icon } from "./dom.js";
import { beside, between, justified } from "./layout.js";
import * as router from "./router.js";
import { nameOf, store } from "./store.js";
import { direction, t } from "./texts.js";

/** @typedef {import("./store.js").Hit} Hit */

const GAP = 4;
const MOVE_MS = 320;
const KEPT_MS = 150;
/** How far beyond the window pictures are made, in windows. */
const AHEAD = 0.4;
const SIZES = [80, 110, 150, 200, 260, 340, 440];

/** Picture id -> tiny copy; null while it is asked for. @type {Map<string, string | null>} */
const tiny = new Map();
/** Pictures that were shown in full already, and need no tiny copy. @type {Set<string>} */
const loaded = new Set();

export class Grid extends HTMLElement {
  connectedCallback() {
    /** @type {Hit[]} */
    this.hits = [];
    /** @type {import("./layout.js").Box[]} */
    this.boxes = [];
    /** @type {Map<string, HTMLElement>} */
    this.tiles = new Map();
    this.at = 0;
    /** How many pictures, from the best, have been on the screen. */
    this.looked = 0;
    this.level = Number(localStorage.getItem("viewfinder-size") ?? (innerWidth < 600 ? 2 : 3));
    this.list = element("ul", { class: "tiles", role: "list", "aria-label": t("grid.label") });
    this.note = element("div", { class: "note" });
    fill(this, this.list, this.note);
    this.listen();
    store.on(["results"], () => this.take());
    store.on(["results", "busy", "collection", "turn", "me"], () => this.explain());
    store.on(["pinned", "found"], () => this.mark());
    store.on(["online"], () => store.state.online && this.mend());
    this.take();
    this.explain();
  }

  listen() {
    this.addEventListener("scroll", () => this.scrolled(), { passive: true });
    this.addEventListener("keydown", (event) => this.pressed(event));
    this.addEventListener("click", (event) => this.clicked(event));
    this.addEventListener("focusin", (event) => {
      const tile = tileOf(event.target);
      if (tile) this.focusOn(Number(tile.dataset.at), { move: false });
    });
    new ResizeObserver(() => this.arrange()).observe(this);
  }

  // -- what is shown

  /** New results: the same ranking with another page, or another ranking, in which pictures move to their new place. */
  take() {
    const hits = store.state.results?.results ?? [];
    const grown = this.hits.length > 0 && hits.length >= this.hits.length && this.hits.every((hit, at) => hit.id === hits[at].id);
    const before = new Map(this.hits.map((hit, at) => [hit.id, this.boxes[at]]));
    const [top, focused] = [this.scrollTop, this.contains(document.activeElement)];
    this.hits = hits;
    // Marks where there is something to tell apart, and something was asked for.
    this.list.classList.toggle("judged", (store.state.turn > 0 || store.state.previewing) && hits.length > 0 && hits[0].match !== "unlikely");
    this.boxes = [];
    if (grown) {
      this.arrange();
      return;
    }
    this.at = this.looked = 0;
    this.arrange({ draw: false });
    this.scrollTop = store.state.previewing ? 0 : router.kept().scroll;
    this.draw();
    this.move(before, top);
    // What had the focus may be gone: it goes to the best result, not to the top of the page.
    if (focused && this.hits.length) this.focusOn(0);
  }

  /** Where everything stands. */
  arrange({ draw = true } = {}) {
    const width = this.list.clientWidth;
    if (!width) return;
    const found = justified(this.hits, { width, target: SIZES[this.level], gap: GAP });
    this.boxes = found.boxes;
    if (direction === "rtl") for (const box of this.boxes) box.x = width - box.x - box.width;
    this.list.style.height = `${found.height}px`;
    if (draw) this.draw();
  }

  /** Makes the nodes that are near the window, in the order of rank, and takes away the others. */
  draw() {
    const height = this.clientHeight;
    const [first, end] = between(this.boxes, this.scrollTop - height * AHEAD, this.scrollTop + height * (1 + AHEAD));
    this.looked = Math.max(this.looked, between(this.boxes, 0, this.scrollTop + height)[1]);
    const wanted = new Set(this.hits.slice(first, end).map((hit) => hit.id));
    const active = document.activeElement?.closest?.("li");
    for (const [id, tile] of this.tiles) {
      // What has the focus is kept when it is scrolled away, but not when it is no result any more.
      if (wanted.has(id) || (tile === active && this.hits[this.at]?.id === id)) continue;
      tile.remove();
      this.tiles.delete(id);
    }
    /** @type {Element | null} */
    let before = this.list.firstElementChild;
    for (let at = first; at < end; at += 1) {
      const tile = this.tile(at);
      if (tile === before) before = before.nextElementSibling;
      else this.list.insertBefore(tile, before);
    }
    this.mark();
    this.dispatchEvent(new Event("vf-drawn"));
    this.fetchTiny([...wanted]);
    if (end >= this.hits.length - 1 || this.scrollTop + height * 2.5 > this.list.offsetHeight) void more();
  }

  /** The node of a place. @param {number} at */
  tile(at) {
    const [hit, box] = [this.hits[at], this.boxes[at]];
    const tile = this.tiles.get(hit.id) ?? this.made(hit, box);
    this.tiles.set(hit.id, tile);
    tile.dataset.at = String(at);
    tile.dataset.match = hit.match;
    tile.setAttribute("aria-posinset", String(at + 1));
    tile.setAttribute("aria-setsize", String(store.state.results?.total ?? -1));
    Object.assign(tile.style, { transform: `translate(${box.x}px, ${box.y}px)`, width: `${box.width}px`, height: `${box.height}px` });
    const button = /** @type {HTMLElement} */ (tile.firstElementChild);
    button.tabIndex = at === this.at ? 0 : -1;
    button.setAttribute("aria-label", t(hit.match === "likely" ? "grid.picture" : `grid.picture-${hit.match}`, { rank: hit.rank, caption: nameOf(hit) }));
    return tile;
  }
  made(hit, box) {
    const size = api.sizeFor(Math.max(box.width, box.height));
    const image = element("img", { alt: "", src: api.thumbnail(hit.id, size), decoding: "async", draggable: "false" });
    // A real link: it opens in another tab as well, and can be dragged.
    const link = element("a", { class: "pick", href: router.hashOf(hit.id) }, image);
    const tile = element("li", { class: "tile", dataset: { id: hit.id } }, link);
    const copy = tiny.get(hit.id);
    if (copy) tile.style.backgroundImage = `url("${copy}")`;
    image.addEventListener("load", async () => {
      loaded.add(hit.id);
      await image.decode().catch(() => {});
      tile.style.backgroundImage = ""; // it would shine through what is dimmed
    });
    image.addEventListener("error", () => {
      tile.classList.add("broken");
      tile.firstElementChild?.replaceChildren(element("span", { dir: "auto" }, t("grid.broken", { name: hit.name })));
    });
    return tile;
  }

  /** Asks again for pictures that did not come while the server was away. */
  mend() {
    for (const [id, tile] of this.tiles) {
      if (!tile.classList.contains("broken")) continue;
      tile.remove();
      this.tiles.delete(id);
    }
    this.draw();
  }

  /** Lets pictures glide from where they were. @param {Map<string, any>} before @param {number} top */
  move(before, top) {
    if (still.matches || before.size === 0) return;
    const shift = this.scrollTop - top;
    for (const [id, tile] of this.tiles) {
      const [from, to] = [before.get(id), this.boxes[Number(tile.dataset.at)]];
      if (!to) continue;
      if (!from) tile.animate([{ opacity: 0 }, { opacity: 1 }], { duration: MOVE_MS, easing: "ease-out" });
      else if (from.x !== to.x || from.y + shift !== to.y) {
        const place = ({ x, y }, by = 0) => `translate(${x}px, ${y + by}px)`;
        const frames = [{ transform: place(from, shift) }, { transform: place(to) }];
        tile.animate(frames, { duration: MOVE_MS, easing: "cubic-bezier(.2, .7, .2, 1)" });
      }
    }
  }

  /** Shows which picture is picked, and which was found. */
  mark() {
    const { pinned, found } = store.state;
    for (const [id, tile] of this.tiles) {
      tile.classList.toggle("pinned", pinned?.id === id);
      tile.classList.toggle("found", found === id);
    }
  }

  /** Asks for tiny copies of pictures that are not here yet. @param {string[]} ids */
  fetchTiny(ids) {
    const unknown = ids.filter((id) => !tiny.has(id) && !loaded.has(id)).slice(0, 500);
    if (!unknown.length) return;
    for (const id of unknown) tiny.set(id, null);
    const show = ({ placeholders }) => {
      for (const [id, copy] of Object.entries(placeholders)) {
        tiny.set(id, copy);
        const tile = this.tiles.get(id);
        if (tile && !loaded.has(id)) tile.style.backgroundImage = `url("${copy}")`;
      }
    };
    // Without them a plain surface is shown: nothing is lost.
    api.post("/pictures/placeholders", { ids: unknown }).then(show, () => {});
  }

  /** What stands below, or in the place of, the pictures. */
  explain() {
    const { results, busy, collection, turn } = store.state;
    this.classList.toggle("waiting", !results && busy);
    this.setAttribute("aria-busy", String(busy));
    const isEmpty = collection?.pictures === 0 && !results?.results.length;
    if (isEmpty && welcome?.isConnected) return;
    // A new node: one that moved would be seen to move.
    const note = element("div", { class: "note" }, ...said());
    this.note.replaceWith(note);
    this.note = note;
    function said() {
      if (isEmpty) return emptyLibrary();
      if (!results) return busy ? [skeleton()] : store.state.problem && Object.keys(store.state.where).length ? nothingLeft() : [];
      if (!results.results.length) return turn > 0 || Object.keys(store.state.where).length ? nothingLeft() : [];
      return [element("p", { class: "quiet" }, results.next ? t("grid.more") : t("grid.end", { n: results.results.length }))];
    }
  }

  // -- what is done
  tell(name, tile) {
    const hit = this.hits[Number(/** @type {HTMLElement | null} */ (tile)?.dataset.at)];
    if (hit) this.dispatchEvent(new CustomEvent(name, { bubbles: true, detail: hit }));
  }

  clicked(event) {
    const tile = tileOf(event.target);
    if (!tile || !/** @type {Element} */ (event.target).closest(".pick")) return;
    event.preventDefault();
    this.tell("vf-open", tile);
  }
  pressed(event) {
    const tile = tileOf(event.target);
    if (!tile || event.defaultPrevented || event.ctrlKey || event.metaKey || event.altKey) return;
    const page = Math.max(1, Math.round(this.clientHeight / (SIZES[this.level] + GAP)) - 1);
    const far = (step) => {
      let at = this.at;
      for (let row = 0; row < page; row += 1) at = beside(this.boxes, at, step);
      return at;
    };
    const onward = direction === "rtl" ? -1 : 1;
    /** @type {Record<string, () => void>} */
    const keys = {
      ArrowRight: () => this.focusOn(this.at + onward),
      ArrowLeft: () => this.focusOn(this.at - onward),
      ArrowDown: () => this.focusOn(beside(this.boxes, this.at, 1)),
      ArrowUp: () => this.focusOn(beside(this.boxes, this.at, -1)),
      PageDown: () => this.focusOn(far(1)),
      PageUp: () => this.focusOn(far(-1)),
      Home: () => this.focusOn(0),
      End: () => this.focusOn(this.hits.length - 1),
      Enter: () => this.tell("vf-open", tile),
      " ": () => this.tell("vf-open", tile),
      m: () => this.tell("vf-pick", tile),
      x: () => this.tell("vf-reject", tile),
      f: () => this.tell("vf-found", tile),
    };
    const act = keys[event.key];
    const onTool = !/** @type {Element} */ (event.target).matches(".pick");
    if (!act || (onTool && ["Enter", " "].includes(event.key))) return;
    event.preventDefault();
    act();
  }

  /** Gives a place the one tab stop, and the focus. @param {number} at */
  focusOn(at, { move = true } = {}) {
    const to = Math.min(this.hits.length - 1, Math.max(0, at));
    const box = this.boxes[to];
    if (!box) return;
    const old = this.tiles.get(this.hits[this.at]?.id ?? "");
    this.at = to;
    if (old) /** @type {HTMLElement} */ (old.firstElementChild).tabIndex = -1;
    if (move) {
      if (box.y < this.scrollTop) this.scrollTop = box.y - GAP;
      if (box.y + box.height > this.scrollTop + this.clientHeight) this.scrollTop = box.y + box.height - this.clientHeight + GAP;
      this.draw();
    }
    const button = /** @type {HTMLElement | undefined} */ (this.tiles.get(this.hits[to].id)?.firstElementChild);
    if (!button) return;
    button.tabIndex = 0;
    if (move) button.focus({ preventScroll: true });
  }

  /** Rejects all that has been on the screen; what is further down was not seen, and may well be it. */
  none() {
    return reject(this.hits.slice(0, Math.min(this.looked, 1000)).map((hit) => hit.id));
  }

  /** Larger (1) or smaller (-1) pictures; what is in the middle of the window stays there. @param {number} step */
  resize(step) {
    const level = Math.min(SIZES.length - 1, Math.max(0, this.level + step));
    const [first] = between(this.boxes, this.scrollTop, this.scrollTop);
    if (level === this.level) return;
    this.level = level;
    localStorage.setItem("viewfinder-size", String(level));
    for (const tile of this.tiles.values()) tile.remove();
    this.tiles.clear();
    this.arrange({ draw: false });
    if (this.scrollTop > 0) this.scrollTop = this.boxes[first]?.y ?? 0;
    this.draw();
  }

  scrolled() {
    if (this.drawing) return;
    this.drawing = requestAnimationFrame(() => {
      this.drawing = 0;
      this.draw();
      clearTimeout(this.keeping);
      this.keeping = setTimeout(() => router.keep({ scroll: Math.round(this.scrollTop) }), KEPT_MS);
    });
  }
}

const still = matchMedia("(prefers-reduced-motion: reduce)");
/** @param {EventTarget | null} target @returns {HTMLElement | null} */
export const tileOf = (target) => (target instanceof Element ? target.closest("li.tile") : null);

/** Ways to fill it, which are kept while they are fetched and used. @type {HTMLElement | undefined} */
let welcome;
function emptyLibrary() {
  if (!welcome) void bring("welcome");
  return [(welcome ??= element("vf-welcome"))];
}

function nothingLeft() {
  const clear = element("button", { type: "button", onclick: () => setWhere({}) }, t("empty.results.clear"));
  return [
    element("div", { class: "empty" }, icon("filter"), element("h2", {}, t("empty.results.title")),
      element("p", {}, t("empty.results.text")), Object.keys(store.state.where).length > 0 && clear),
  ];
}

/** Grey pictures while the first ones are awaited. */
function skeleton() {
  return element("div", { class: "skeleton", role: "presentation" }, ...Array.from({ length: 24 }, () => element("i")));
}

customElements.define("vf-grid", Grid);
