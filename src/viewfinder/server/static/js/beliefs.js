/** What the search takes the user to want now: chips, each of which can be taken back. */

import * as actions from "./actions.js";
import { thumbnail, uploadThumbnail } from "./api.js";
import { element, icon } from "./dom.js";
import { holding } from "./overlay.js";
import { store } from "./store.js";
import { columnName, valueName } from "./columns.js";
import { chipKeys, refill } from "./conversation-parts.js";
import { filterName } from "./taking.js";
import { t } from "./texts.js";

/** @typedef {import("./store.js").Belief} Belief */

class Beliefs extends HTMLElement {
  connectedCallback() {
    chipKeys(this);
    store.on(["results", "session", "where", "turn", "previewing", "albums"], () => this.#render());
    this.#render();
  }

  #render() {
    const { results, where, previewing } = store.state;
    const beliefs = previewing ? [] : (results?.beliefs ?? []);
    const { latitude, longitude, ...others } = where;
    const isArea = latitude !== undefined && longitude !== undefined;
    const filters = Object.entries(isArea ? others : where);
    this.hidden = beliefs.length + Object.keys(where).length === 0;
    const chips = [...beliefs.map((belief, index) => this.#belief(belief, index)), ...filters.map(([column, value]) => this.#filter(column, value)), ...(isArea ? [this.#area(others)] : [])];
    refill(this, element("ul", { class: "beliefs", role: "list", "aria-label": t("beliefs.title") }, ...chips));
  }

  /** @param {Belief} belief @param {number} index */
  #belief(belief, index) {
    const { label, turn, weight } = belief;
    const source = imageOf(belief);
    const face = [source && element("img", { src: source, alt: "", class: "mini", width: 24, height: 24 }), element("span", { dir: "auto" }, label)];
    // A picture has no words to look for: its chip shows what was said with it.
    const hover = source ? { turn } : { label: label.replace(/^not /, ""), turn };
    const given = { type: "button", class: "chip-face", title: t("beliefs.from", { turn }), "data-key": `belief-${turn}-${label}` };
    const show = element("button", { ...given, ...holding(hover) }, ...face);
    const negative = weight < 0 || belief.kind === "rejected";
    return this.#chip(show, t("beliefs.remove", { label }), () => actions.removeBelief(belief), `belief-x-${index}`, negative ? "negative" : "");
  }

  /** A part of the map is two filters, and one chip. @param {Record<string, string>} others */
  #area(others) {
    const face = element("span", { class: "chip-face" }, icon("filter"), t("map.area"));
    return this.#chip(face, t("beliefs.remove", { label: t("map.area") }), () => actions.setWhere(others), "filter-x-area");
  }

  /** @param {string} column @param {string} value */
  #filter(column, value) {
    const without = () => actions.setWhere(Object.fromEntries(Object.entries(store.state.where).filter(([name]) => name !== column)));
    const called = columnName(column);
    const face = element("span", { class: "chip-face", dir: "auto" }, icon("filter"), filterName(column, value) ?? `${called}: ${valueName(column, value)}`);
    return this.#chip(face, filterName(column, value) ? t("beliefs.remove", { label: filterName(column, value) }) : t("filters.unset", { column: called, value: valueName(column, value) }), without, `filter-x-${column}`);
  }

  /** @param {HTMLElement} face @param {string} label @param {() => void} onclick @param {string} key @param {string} [more] */
  #chip(face, label, onclick, key, more = "") {
    const remove = element("button", { type: "button", class: "chip-x", "aria-label": label, title: label, onclick, "data-key": key }, icon("close"));
    return element("li", { class: `chip belief ${more}` }, face, remove);
  }
}

/** The address of the picture that a belief is about, if it is about one. @param {Belief} belief */
function imageOf({ kind, turn }) {
  const said = store.state.session?.tree[turn]?.turn;
  if (!["picture", "vocabulary", "rejected"].includes(kind) || !said) return null;
  if (said.show) return uploadThumbnail(said.show);
  const id = said.like ?? said.reject?.[0];
  return id ? thumbnail(id, 160) : null;
}

customElements.define("vf-beliefs", Beliefs);
