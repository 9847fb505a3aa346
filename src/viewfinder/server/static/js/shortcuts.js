// @ts-check
/** vf-shortcuts: the keys that work anywhere on the page, and the list of all keys, shown by `?`. */

import * as actions from "./actions.js";
import { element, fill, iconButton } from "./dom.js";
import { store } from "./store.js";
import { t } from "./texts.js";

/** Keys and what they do, for reading; those of the grid work when a picture has the focus. */
const LIST = [
  ["/", "type"], ["g", "grid"], ["← → ↑ ↓", "arrows"], ["Enter", "like"], ["Space", "details"], ["x", "reject"], ["f", "found"],
  ["0", "none"], ["b", "back"], ["n", "new"], ["t", "panel"], ["l", "filters"], ["+ −", "size"], ["Esc", "escape"], ["?", "help"],
];

class Shortcuts extends HTMLElement {
  connectedCallback() {
    const rows = LIST.map(([keys, name]) =>
      element("div", {}, element("dt", {}, ...keys.split(" ").flatMap((key) => [element("kbd", {}, key), " "])), element("dd", {}, t(`shortcuts.${name}`))));
    this.dialog = element("dialog", { class: "shortcuts", "aria-labelledby": "shortcuts-title", onclick: (event) => event.target === this.dialog && this.dialog.close() },
      element("header", {}, element("h2", { id: "shortcuts-title" }, t("shortcuts.title")), iconButton("close", t("picture.close"), () => this.dialog.close())),
      element("dl", {}, ...rows));
    fill(this, this.dialog);
    addEventListener("keydown", (event) => this.pressed(event));
  }

  show() {
    if (!this.dialog.open) this.dialog.showModal();
  }

  /** @param {KeyboardEvent} event */
  pressed(event) {
    const at = /** @type {Element} */ (event.target);
    const writing = at.closest?.("input:not([type=range], [type=checkbox], [type=radio]), textarea, select, [contenteditable]");
    if (event.defaultPrevented || event.ctrlKey || event.metaKey || event.altKey || writing || document.querySelector("dialog:modal")) return;
    /** @type {any} */
    const grid = document.querySelector("vf-grid");
    const { turn, session } = store.state;
    /** @type {Record<string, () => void>} */
    const keys = {
      "/": () => /** @type {HTMLElement | null} */ (document.querySelector("vf-say textarea"))?.focus(),
      "?": () => this.show(),
      g: () => grid?.focusOn(grid.at),
      n: () => actions.newConversation(),
      b: () => session && turn > 0 && actions.goTo(session.tree[turn].parent),
      t: () => document.getElementById("panel-switch")?.click(),
      l: () => document.getElementById("filters-button")?.click(),
      "0": () => turn > 0 && grid?.none(),
      "+": () => grid?.resize(1),
      "=": () => grid?.resize(1),
      "-": () => grid?.resize(-1),
      Escape: () => (store.state.compare ? actions.endCompare() : actions.unpin()),
    };
    const act = keys[event.key];
    if (!act) return;
    event.preventDefault();
    act();
  }
}

customElements.define("vf-shortcuts", Shortcuts);
