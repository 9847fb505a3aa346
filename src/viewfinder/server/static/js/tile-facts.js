// @ts-check
/** What tiles tell besides looks: the name, the price and the link of a product; and how many pictures are folded behind
 * one (of the same product, or of the same moment), which a button shows and hides. */

import { acting } from "./actions.js";
import * as api from "./api.js";
import { element, icon } from "./dom.js";
import { announce } from "./live.js";
import { nameOf, store } from "./store.js";
import { loadStyle } from "./bring.js";
import { number, t } from "./texts.js";

/** @typedef {import("./store.js").Hit & {of?: string}} Hit  `of`: the result that it was folded behind */
/** @typedef {{name: string | null, price: string | null, link: string | null}} Product */

const AT_ONCE = 200;
/** Of what is folded so many are shown; more are hardly told apart. */
const MOST_SHOWN = 60;

/** @type {any} */
const grid = document.querySelector("vf-grid");
/** Products by picture; null: of none, or still asked for. @type {Map<string, Product | null>} */
const products = new Map();

void loadStyle("knows");

/** @param {HTMLElement} tile @returns {Hit | undefined} */
const hitOf = (tile) => grid.hits[Number(tile.dataset.at)];

/** Whether the catalogue may have products. */
const mayHaveProducts = () => store.state.collection?.columns?.some((name) => /product|price|link|url/i.test(name.replace(/[\W_]/g, "")));

async function drawn() {
  for (const tile of grid.tiles.values()) show(tile);
  if (!mayHaveProducts()) return;
  const unknown = [...grid.tiles.keys()].filter((id) => !products.has(id)).slice(0, AT_ONCE);
  if (!unknown.length) return;
  for (const id of unknown) products.set(id, null);
  // Without them, pictures are shown as pictures.
  const found = await api.post("/pictures/products", { ids: unknown }).catch(() => ({ products: {} }));
  for (const [id, product] of Object.entries(found.products)) products.set(id, product);
  for (const tile of grid.tiles.values()) show(tile);
}

/** @param {HTMLElement} tile */
function show(tile) {
  const hit = hitOf(tile);
  if (!hit) return;
  const product = products.get(hit.id);
  if (product && !tile.querySelector(".product")) tile.append(strip(product));
  const old = tile.querySelector(".behind-tile");
  const isOpen = grid.hits.some((each) => each.of === hit.id);
  const wanted = hit.others?.length ? `${hit.others.length} ${isOpen}` : "";
  tile.classList.toggle("unfolded", Boolean(hit.of) || isOpen);
  if ((old?.dataset.told ?? "") === wanted) return;
  old?.remove();
  if (hit.others?.length) tile.append(badge(hit, isOpen, wanted));
}

/** @param {Product} product */
function strip({ name, price, link }) {
  const told = [element("span", { class: "product-name", dir: "auto" }, name ?? ""), price && element("span", { class: "product-price", dir: "auto" }, price)];
  if (!link) return element("div", { class: "product" }, ...told);
  return element("a", { class: "product", href: link, target: "_blank", rel: "noopener noreferrer", tabindex: "-1", title: t("product.open", { name: name ?? link }) }, ...told, icon("expand"));
}

/** @param {Hit} hit @param {boolean} isOpen @param {string} told */
function badge(hit, isOpen, told) {
  const n = hit.others?.length ?? 0;
  const label = t(isOpen ? "folded.hide" : "folded.show", { n, name: nameOf(hit) });
  return element("button", { type: "button", class: "behind-tile", tabindex: "-1", "aria-expanded": String(isOpen), "aria-label": label, title: label, dataset: { told },
    onclick: (event) => {
      event.stopPropagation();
      void toggle(hit, isOpen);
    } }, icon("tiles"), element("span", {}, number(n + 1)));
}

/** Shows what is folded behind a result, next to it, or folds it again. @param {Hit} hit @param {boolean} isOpen */
async function toggle(hit, isOpen) {
  const others = isOpen ? [] : await acting(() => Promise.all((hit.others ?? []).slice(0, MOST_SHOWN).map((id) => readHit(id, hit))), { quiet: true });
  const results = store.state.results;
  if (!results || !others) return;
  const rest = results.results.filter((each) => /** @type {Hit} */ (each).of !== hit.id);
  const at = rest.findIndex(({ id }) => id === hit.id);
  if (at < 0) return;
  store.set({ results: { ...results, results: [...rest.slice(0, at + 1), ...others, ...rest.slice(at + 1)] } });
  announce(t(isOpen ? "folded.hidden" : "folded.shown", { n: hit.others?.length ?? 0 }));
  requestAnimationFrame(() => grid.focusOn(at));
}

/** A picture as a result, in the place of the one that it was folded behind. @param {string} id @param {Hit} hit @returns {Promise<Hit>} */
async function readHit(id, hit) {
  const { names, captions, facts } = await api.get(`/pictures/${id}`);
  return { ...hit, id, name: names[0], caption: captions[0] ?? null, width: facts.width, height: facts.height, others: [], of: hit.id };
}

/** Keys on a picture: "o" opens what is folded behind it, "v" visits its page. @param {KeyboardEvent} event */
function pressed(event) {
  if (!["o", "v"].includes(event.key) || event.ctrlKey || event.metaKey || event.altKey || event.defaultPrevented) return;
  const tile = /** @type {HTMLElement} */ (event.target).closest("li.tile");
  const target = /** @type {HTMLElement | null} */ (tile?.querySelector(event.key === "o" ? ".behind-tile" : "a.product"));
  if (!target) return;
  event.preventDefault();
  target.click();
}

grid.addEventListener("vf-drawn", drawn);
grid.addEventListener("keydown", pressed);
void drawn();
