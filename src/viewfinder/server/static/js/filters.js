/** Filters by the columns of the catalogue, with counts of what each would leave. */

import "./folders.js";
import "./map.js";
import "./timeline.js";
import { setWhere } from "./actions.js";
import { element, fill, icon, typed } from "./dom.js";
import { announce } from "./live.js";
import { store } from "./store.js";
import { refill } from "./conversation-parts.js";
import { columnName, valueName } from "./columns.js";
import { refreshFacets } from "./conversation-actions.js";
import { loadStyle } from "./bring.js";
import { number, t } from "./texts.js";

/** @typedef {{column: string, values: {value: string, count: number}[], more: number, range: {low: number, high: number} | null}} Facet */

const FEW = 6;

/** Whether one would rather say from where to where, or has. @param {Facet} facet */
const isWide = ({ column, values, more, range }) => Boolean(range) && ((range.low < range.high && values.length + more > FEW) || store.state.where[column]?.includes(".."));

/** Columns that have a part of their own above: folders, and what the map shows. */
const ELSEWHERE = new Set(["folder", "under", "captured", "latitude", "longitude"]);

void loadStyle("knows");

class Filters extends HTMLElement {
  /** Columns of which all values are shown. */
  #opened = new Set();
  #wanted = false;

  connectedCallback() {
    this.head = element("div");
    this.list = element("div");
    fill(this, this.head, element("vf-timeline"), element("vf-folders"), element("vf-map"), this.list);
    store.on(["facets", "collection", "where"], () => this.#render());
    store.on(["where", "collection"], () => this.#refresh());
    // The shell folds this panel away: counts are asked for once it can be seen.
    new IntersectionObserver(([{ isIntersecting }]) => {
      if (isIntersecting && !store.state.facets) this.#refresh();
    }).observe(this);
    this.addEventListener("keydown", (event) => event.key === "Escape" && !event.defaultPrevented && this.#close());
    this.#render();
  }

  /** Folds it away, by the button that has opened it. */
  #close() {
    const button = document.getElementById("filters-button");
    button?.click();
    button?.focus();
  }

  /** Several changes in one moment ask once. */
  #refresh() {
    if (this.#wanted || !store.state.collection || (!store.state.facets && !this.offsetParent)) return;
    this.#wanted = true;
    queueMicrotask(() => {
      this.#wanted = false;
      refreshFacets();
    });
  }

  #render() {
    const { facets, where, collection } = store.state;
    // A column that says the same of every picture divides nothing, nor does one that names each alone.
    const divides = (facet) => !ELSEWHERE.has(facet.column) && (facet.column in where || isWide(facet) || (facet.values[0]?.count > 1 && facet.values[0].count < facets.total));
    const columns = (facets?.facets ?? []).filter(divides);
    const clear = Object.keys(where).length > 0 && element("button", { type: "button", class: "link", "data-key": "clear", onclick: () => setWhere({}) }, t("filters.clear"));
    // On a phone it lies over the pictures.
    const close = element("button", { type: "button", class: "icon-button filters-close", "data-key": "close", "aria-label": t("filters.close"), title: t("filters.close"), onclick: () => this.#close() }, icon("close"));
    const none = collection?.columns.length === 0 || (facets && columns.length === 0);
    refill(this.head, element("h2", { class: "side-title" }, t("filters.title"), clear, close));
    refill(
      this.list,
      none ? element("p", { class: "quiet filters-none" }, typed(t("filters.none"))) : element("div", { class: "facets" }, ...columns.map((facet) => this.#facet(facet, where[facet.column]))),
    );
  }

  /** @param {Facet} facet @param {string | undefined} chosen */
  #facet(facet, chosen) {
    const { column, more } = facet;
    const isMany = more > 0 || facet.values[0]?.count === 1;
    const values = isWide(facet) && isMany ? facet.values.filter(({ value }) => value === chosen) : facet.values;
    const opened = this.#opened.has(column);
    const most = Math.max(1, ...values.map(({ count }) => count));
    const shown = opened ? values : values.filter(({ value }, at) => at < FEW || value === chosen);
    const toggle = () => {
      if (!this.#opened.delete(column)) this.#opened.add(column);
      this.#render();
    };
    const label = opened ? t("filters.fewer") : t("filters.all", { n: values.length });
    const expand = values.length > FEW && element("button", { type: "button", class: "link", "aria-expanded": String(opened), "data-key": `more-${column}`, onclick: toggle }, label);
    const items = shown.map(({ value, count }) => element("li", {}, this.#value(column, value, count, count / most, value === chosen)));
    return element(
      "section",
      { class: "facet", "aria-label": columnName(column) },
      element("h3", { dir: "auto" }, columnName(column)),
      isWide(facet) && this.#range(facet, chosen ?? ""),
      element("ul", { role: "list" }, ...items),
      element("div", { class: "facet-more" }, expand, more > 0 && !isWide(facet) && (opened || values.length <= FEW) && this.#rarer(facet)),
    );
  }

  /** @param {string} column @param {string} value @param {number} count @param {number} share @param {boolean} pressed */
  #value(column, value, count, share, pressed) {
    const choose = () => {
      const { [column]: _, ...others } = store.state.where;
      setWhere(pressed ? others : { ...others, [column]: value });
      announce(t(pressed ? "filters.unset" : "filters.set", { column: columnName(column), value: called }));
    };
    const called = valueName(column, value);
    const given = { type: "button", class: "facet-value", "aria-pressed": String(pressed), "aria-label": t("filters.value", { value: called, n: count }), "data-key": `${column}-${value}`, onclick: choose, style: { "--share": String(share) } };
    return element("button", given, element("span", { class: "value", dir: "auto" }, called), pressed ? icon("close") : element("span", { class: "quiet" }, number(count)));
  }

  /** Two lines for the ends of a range; one may stay empty. @param {Facet} facet @param {string} chosen */
  #range({ column, range }, chosen) {
    const [first, last] = chosen.includes("..") ? chosen.split("..") : ["", ""];
    const end = (name, value, least) => element("input", { type: "text", inputmode: "decimal", maxlength: 20, value, "aria-label": t(`filters.${name}`, { column: columnName(column) }), placeholder: String(least), "data-key": `${name}-${column}` });
    const [low, high] = [end("from", first, range.low), end("to", last, range.high)];
    const onchange = () => {
      const [from, to] = [low.value.trim(), high.value.trim()];
      const value = from || to ? `${from}..${to}` : "";
      const { [column]: _, ...others } = store.state.where;
      setWhere(value ? { ...others, [column]: value } : others);
      announce(t(value ? "filters.set" : "filters.unset", { column: columnName(column), value: value || chosen }));
    };
    return element("div", { class: "line-form", role: "group", "aria-label": columnName(column), onchange }, low, "–", high);
  }

  /** A line for a value that is too rare to be listed. @param {Facet} facet */
  #rarer({ column, more }) {
    const input = element("input", { type: "text", maxlength: 200, "aria-label": t("filters.other", { column: columnName(column) }), placeholder: t("filters.more", { n: more }), "data-key": `rarer-${column}` });
    const onsubmit = (event) => {
      event.preventDefault();
      if (input.value.trim()) setWhere({ ...store.state.where, [column]: input.value.trim() });
    };
    return element("form", { class: "line-form", onsubmit }, input);
  }
}

customElements.define("vf-filters", Filters);
