// @ts-check
/** What every tile of the grid offers: "like this", a circle to select it by, a menu; and that it can be dragged off. */

import { element, icon, iconButton } from "./dom.js";
import { tileOf } from "./grid.js";
import "./icons.js";
import { isSelecting, toggle } from "./selection.js";
import { nameOf, store } from "./store.js";
import { carry, download, markOf, mayMark, mayTake, openPictureMenu, readMarks, starsTold, toggleFavourite, toggleStars } from "./taking.js";
import { listed, t } from "./texts.js";

/** @typedef {import("./store.js").Hit} Hit */

const READ_MS = 120;
const coarse = matchMedia("(hover: none)");
/** @type {any} */
const grid = document.querySelector("vf-grid");

/** @param {EventTarget | null} target @returns {Hit | undefined} */
const hitOf = (target) => grid.hits[Number(tileOf(target)?.dataset.at)];
/** The second click of a double one would take back what the first has done, or do it to the picture that came there. */
const tell = (name) => (event) => event.detail < 2 && grid.tell(name, tileOf(event.currentTarget));

/** "Like this", with its words where there is room. */
const likeButton = (given = {}) =>
  element("button", { type: "button", class: "like", tabindex: "-1", title: t("grid.like"), onclick: tell("vf-pick"), ...given }, icon("like"), element("span", { class: "word" }, t("grid.like")));

/** One set of buttons, which goes to the picture under the pointer or the focus. */
const place = element("span", { class: "place" });
const tools = element("div", { class: "tools" }, place,
  likeButton(),
  iconButton("reject", t("grid.reject"), tell("vf-reject"), { tabindex: "-1" }),
  iconButton("found", t("grid.found"), tell("vf-found"), { tabindex: "-1" }),
  iconButton("more", t("grid.menu"), (event) => openPictureMenu(event.currentTarget, /** @type {Hit} */ (hitOf(event.currentTarget))), { tabindex: "-1", "aria-haspopup": "menu" }));

/** @param {EventTarget | null} target */
function equip(target) {
  const tile = tileOf(target);
  const hit = hitOf(tile);
  if (!tile || !hit || coarse.matches || tools.parentElement === tile) return;
  unequip();
  place.textContent = String(hit.rank);
  place.title = `${hit.name} · ${t(`match.${hit.match}`)}`;
  tile.append(tools);
  show(tile);
}

/** Takes the buttons away; their picture takes the focus from them. */
function unequip() {
  const tile = tileOf(tools);
  if (tile?.isConnected && tools.contains(document.activeElement)) {
    /** @type {HTMLElement} */ (tile.firstElementChild).focus({ preventScroll: true });
  }
  tools.remove();
}

/** Puts on a tile what each has: the circle; where nothing can be pointed at, "like this" as well. @param {HTMLElement} tile */
function furnish(tile) {
  const hit = hitOf(tile);
  if (!hit || tile.querySelector(".check")) return;
  const check = element("button", { type: "button", class: "check", role: "checkbox", tabindex: "-1", "aria-label": t("grid.select", { name: nameOf(hit) }),
    onclick: (event) => toggle(/** @type {Hit} */ (hitOf(event.currentTarget)), { isRange: event.shiftKey }) }, icon("check"));
  tile.append(check, element("span", { class: "marks", role: "img", hidden: true }));
  if (coarse.matches) tile.append(likeButton({ class: "like always", "aria-label": t("grid.like-name", { name: nameOf(hit) }) }));
  /** @type {HTMLElement} */ (tile.firstElementChild).draggable = !coarse.matches;
}

/** Shows whether it is picked, selected, a favourite. @param {HTMLElement} tile */
function show(tile) {
  const id = String(tile.dataset.id);
  const { selected, pinned } = store.state;
  const isSelected = selected.has(id);
  tile.classList.toggle("selected", isSelected);
  tile.querySelector(".check")?.setAttribute("aria-checked", String(isSelected));
  for (const like of tile.querySelectorAll(".like")) like.setAttribute("aria-pressed", String(pinned?.id === id));
  const marks = tile.querySelector(".marks");
  const { favourite, stars } = markOf(id);
  const drawn = `${favourite ? "♥" : ""}${stars ? `★${stars}` : ""}`;
  if (!marks || marks.textContent === drawn) return;
  marks.textContent = drawn;
  marks.hidden = !drawn;
  marks.setAttribute("aria-label", listed([favourite && t("take.favourite"), stars && starsTold(stars)].filter(Boolean)));
}

function showAll() {
  document.body.classList.toggle("selecting", isSelecting());
  for (const tile of grid.tiles.values()) show(tile);
}

/** @type {ReturnType<typeof setTimeout> | undefined} */
let reading;
function drawn() {
  for (const tile of grid.tiles.values()) {
    furnish(tile);
    show(tile);
  }
  clearTimeout(reading);
  reading = setTimeout(() => readMarks([...grid.tiles.keys()]), READ_MS);
}

/** Keys on a picture that are not the grid's own. @param {KeyboardEvent} event */
function pressed(event) {
  const hit = hitOf(event.target);
  if (!hit || event.ctrlKey || event.metaKey || event.altKey || event.defaultPrevented) return;
  const stars = /^[1-5]$/.test(event.key) ? Number(event.key) : 0;
  const of = isSelecting() && store.state.selected.has(hit.id) ? [...store.state.selected.values()] : [hit];
  const ids = of.map(({ id }) => id);
  if (event.key === "d" && mayTake()) download(of);
  else if (event.key === "h" && mayMark()) toggleFavourite(ids);
  else if (stars && mayMark()) toggleStars(ids, stars);
  else return;
  event.preventDefault();
}

grid.addEventListener("vf-drawn", drawn);
grid.addEventListener("pointerover", (event) => event.pointerType === "mouse" && equip(event.target));
grid.addEventListener("pointerleave", unequip);
grid.addEventListener("focusin", (event) => equip(event.target));
grid.addEventListener("focusout", (event) => {
  if (!grid.contains(event.relatedTarget) && !grid.matches(":hover")) unequip();
});
grid.addEventListener("keydown", pressed);
grid.addEventListener("contextmenu", (event) => {
  if (coarse.matches && tileOf(event.target)) event.preventDefault(); // a long press selects
});
grid.addEventListener("dragstart", (event) => {
  const hit = hitOf(event.target);
  if (!hit) return;
  carry(event, hit);
  const image = tileOf(event.target)?.querySelector("img");
  if (image) event.dataTransfer?.setDragImage(image, event.offsetX, event.offsetY);
});
store.on(["selected", "pinned", "marks"], showAll);
drawn();
