// @ts-check
/** vf-shortcuts: the keys that work anywhere on the page, and the list of all keys, shown by `?`. */

import * as actions from "./actions.js";
import { endCompare } from "./conversation-actions.js";
import { element, fill, iconButton } from "./dom.js";
import { store } from "./store.js";
import { t } from "./texts.js";

/** Keys and what they do, for reading; those of the grid work when a picture has the focus. */
const LIST = [
  ["/", "type"], ["g", "grid"], ["← → ↑ ↓", "arrows"], ["Enter", "open"], ["m", "like"], ["x", "reject"], ["f", "found"], ["o", "folded"], ["v", "visit"],
  ["s", "select"], ["Shift ← →", "range"], ["Ctrl+A", "all"], ["h", "favourite"], ["1 … 5", "stars"], ["d", "download"],
  ["0", "none"], ["b", "back"], ["Ctrl+Z", "undo"], ["Ctrl+Shift+Z", "redo"], ["n", "new"], ["t", "panel"], ["l", "filters"], ["+ −", "size"], ["Esc", "escape"], ["?", "help"],
];

/** Keys of the large view, beside those for a picture that it shares with the grid. */
const LARGE = [["← →", "step"], ["+ − 0", "zoom"], ["Space", "play"], ["i", "facts"]];

const SWITCHED_OFF = "viewfinder-keys-off";

/** Whether keys alone are shortcuts: they can be switched off. */
export const areKeysOn = () => localStorage.getItem(SWITCHED_OFF) === null;

/** @param {boolean} on */
export function switchKeys(on) {
  if (on) localStorage.removeItem(SWITCHED_OFF);
  else localStorage.setItem(SWITCHED_OFF, "1");
}

/** Shows the list of all keys. */
export const showShortcuts = () => /** @type {any} */ (document.querySelector("vf-shortcuts")).show();

const isWriting = (/** @type {Element} */ at) => at.closest?.("input:not([type=range], [type=checkbox], [type=radio]), textarea, select, [contenteditable]");

/** Keeps letters, digits and signs from whoever listens, where they are switched off; Ctrl, arrows and the like work.
 * @param {KeyboardEvent} event */
function hold(event) {
  const isSign = event.key.length === 1 && event.key !== " " && !(event.ctrlKey || event.metaKey || event.altKey);
  if (isSign && !areKeysOn() && !isWriting(/** @type {Element} */ (event.target))) event.stopImmediatePropagation();
}
addEventListener("keydown", hold, { capture: true });

class Shortcuts extends HTMLElement {
  connectedCallback() {
    const rows = (list) => list.map(([keys, name]) =>
      element("div", {}, element("dt", {}, ...keys.split(" ").flatMap((key) => [element("kbd", {}, key), " "])), element("dd", {}, t(`shortcuts.${name}`))));
    this.dialog = element("dialog", { class: "shortcuts", "aria-labelledby": "shortcuts-title", onclick: (event) => event.target === this.dialog && this.dialog.close() },
      element("header", {}, element("h2", { id: "shortcuts-title" }, t("shortcuts.title")), iconButton("close", t("picture.close"), () => this.dialog.close())),
      element("dl", {}, ...rows(LIST)), element("h3", {}, t("shortcuts.large")), element("dl", {}, ...rows(LARGE)));
    fill(this, this.dialog);
    addEventListener("keydown", (event) => this.pressed(event));
  }

  show() {
    if (!this.dialog.open) this.dialog.showModal();
  }

  /** @param {KeyboardEvent} event */
  pressed(event) {
    const writing = isWriting(/** @type {Element} */ (event.target));
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
      Escape: () => (store.state.compare ? endCompare() : actions.unpin()),
    };
    const act = keys[event.key];
    if (!act) return;
    event.preventDefault();
    act();
  }
}

customElements.define("vf-shortcuts", Shortcuts);
