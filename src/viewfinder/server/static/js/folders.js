// @ts-check
/** vf-folders: the folders of the pictures as a tree; one that is chosen filters by all that is in it. */

import { setWhere } from "./actions.js";
import * as api from "./api.js";
import { refill } from "./conversation-parts.js";
import { element, icon, iconButton } from "./dom.js";
import { announce } from "./live.js";
import { store } from "./store.js";
import { number, t } from "./texts.js";

/** @typedef {{name: string, path: string, pictures: number, has_folders: boolean}} Folder */

const COLUMN = "under";
/** Folders that are listed before one asks for more. */
const FEW = 8;

class Folders extends HTMLElement {
  /** What is in each folder that was opened; "" is the top. @type {Map<string, Folder[]>} */
  #inside = new Map();
  /** @type {Set<string>} */
  #opened = new Set([""]);
  /** @type {Set<string>} */
  #whole = new Set();
  #asked = "";

  connectedCallback() {
    this.hidden = true;
    store.on(["where", "collection"], () => this.#read());
    // What the address filters by is to be seen in its place.
    const parts = (store.state.where[COLUMN] ?? "").split("/");
    parts.slice(0, -1).forEach((_, at) => this.#opened.add(parts.slice(0, at + 1).join("/")));
    this.#read();
  }

  async #read() {
    const { [COLUMN]: _, ...where } = store.state.where;
    const key = JSON.stringify([where, store.state.collection?.pictures]);
    if (key !== this.#asked) {
      this.#asked = key;
      await Promise.all([...this.#opened].map((path) => this.#list(path)));
    }
    this.#render();
  }

  /** @param {string} path */
  async #list(path) {
    const { [COLUMN]: _, ...where } = store.state.where;
    const found = await api.post("/collection/folder-tree", { under: path, where }).catch(() => null);
    if (found) this.#inside.set(path, found.folders);
  }

  #render() {
    const top = this.#inside.get("") ?? [];
    // One folder divides nothing.
    this.hidden = top.length < 2 && !top.some(({ has_folders }) => has_folders);
    if (!this.hidden) refill(this, element("h3", {}, t("folders.title")), this.#level(""));
  }

  /** @param {string} path @returns {HTMLElement} */
  #level(path) {
    const all = (this.#inside.get(path) ?? []).filter(({ pictures, path: each }) => pictures || this.#isOn(each));
    const shown = this.#whole.has(path) ? all : all.filter((each, at) => at < FEW || this.#isOn(each.path));
    const rest = all.length - shown.length;
    const more = rest > 0 && element("li", {}, element("button", { type: "button", class: "link", "data-key": `folders-more-${path}`, onclick: () => {
      this.#whole.add(path);
      this.#render();
    } }, t("folders.more", { n: rest })));
    return element("ul", { class: "folder-level", role: "list" }, ...shown.map((each) => this.#folder(each)), more);
  }

  /** @param {string} path */
  #isOn(path) {
    const chosen = store.state.where[COLUMN] ?? "";
    return chosen === path || chosen.startsWith(`${path}/`);
  }

  /** @param {Folder} folder */
  #folder({ name, path, pictures, has_folders }) {
    const isOpen = this.#opened.has(path);
    const pressed = store.state.where[COLUMN] === path;
    const toggle = has_folders && iconButton(isOpen ? "down" : "next", t(isOpen ? "folders.close" : "folders.open", { name }), () => this.#toggle(path), { class: "small", "aria-expanded": String(isOpen), "data-key": `folders-toggle-${path}` });
    const choose = element("button", { type: "button", class: "facet-value", "aria-pressed": String(pressed), "aria-label": t("filters.value", { value: name, n: pictures }), "data-key": `folders-${path}`, onclick: () => this.#choose(path, pressed) },
      element("span", { class: "value", dir: "auto" }, name), pressed ? icon("close") : element("span", { class: "quiet" }, number(pictures)));
    return element("li", {}, element("div", { class: `folder-row ${has_folders ? "" : "leaf"}` }, toggle, choose), isOpen && this.#level(path));
  }

  /** @param {string} path */
  async #toggle(path) {
    if (!this.#opened.delete(path)) {
      this.#opened.add(path);
      await this.#list(path);
    }
    this.#render();
  }

  /** @param {string} path @param {boolean} pressed */
  #choose(path, pressed) {
    const { [COLUMN]: _, ...others } = store.state.where;
    void setWhere(pressed ? others : { ...others, [COLUMN]: path });
    announce(t(pressed ? "filters.unset" : "filters.set", { column: t("folders.title"), value: path }));
  }
}

customElements.define("vf-folders", Folders);
