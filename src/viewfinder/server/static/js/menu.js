// @ts-check
/** Menus and small panels that a button opens: they lie over all else, take the focus, and give it back. */

import { element, fill, icon } from "./dom.js";
import { direction } from "./texts.js";

/** @typedef {{icon: string, text: string, act?: () => any, href?: string, download?: string, kind?: string, key?: string}} Choice
 * `href`: a link, that can be opened in another tab as well, or saved; `key`: the key that does it without the menu */

const EDGE = 8;
/** Buttons on which a pointer went down while what they had opened was closing: their click opens nothing. @type {WeakSet<Element>} */
const closing = new WeakSet();

/** Opens a panel that is filled by its caller; it goes when it is closed. @param {HTMLElement} anchor the button
 * @param {string} label @param {Record<string, any>} [given] attributes @returns {HTMLElement | null} null: it has just been closed */
export function openPanel(anchor, label, given = {}) {
  if (closing.delete(anchor)) return null;
  const made = element("div", { class: "pop", role: "dialog", "aria-label": label, popover: "auto", tabindex: "-1", ...given });
  const heard = new AbortController();
  const { signal } = heard;
  // What lies outside an open dialog cannot be used; what lies in no part of the page is not come by.
  (anchor.closest("dialog") ?? document.getElementById("main") ?? document.body).append(made);
  anchor.setAttribute("aria-expanded", "true");
  made.addEventListener("keydown", (event) => event.stopPropagation());
  made.addEventListener("toggle", (event) => {
    if (/** @type {any} */ (event).newState === "open") return;
    heard.abort();
    const had = made.contains(document.activeElement) || document.activeElement === document.body;
    made.remove();
    anchor.setAttribute("aria-expanded", "false");
    if (had && anchor.isConnected) anchor.focus({ preventScroll: true });
  });
  anchor.addEventListener("pointerdown", () => closing.add(anchor), { signal });
  addEventListener("pointerup", () => setTimeout(() => closing.delete(anchor)), { signal });
  /** @type {any} */ (made).showPopover();
  place(made, anchor);
  return made;
}

/** Opens a menu of choices below its button. @param {HTMLElement} anchor @param {string} label
 * @param {(Choice | false | null | undefined)[]} choices */
export function openMenu(anchor, label, choices) {
  const made = openPanel(anchor, label, { class: "pop menu", role: "menu" });
  if (!made) return;
  const close = () => /** @type {any} */ (made).hidePopover();
  const item = ({ icon: drawing, text, act, href, download, kind = "", key }) => {
    const onclick = () => (close(), act?.());
    const given = { role: "menuitem", tabindex: "-1", class: `item ${kind}`, onclick };
    const inside = [icon(drawing), element("span", { dir: "auto" }, text), key && element("kbd", { "aria-hidden": "true" }, key)];
    return href === undefined ? element("button", { type: "button", ...given }, ...inside) : element("a", { href, download, ...given }, ...inside);
  };
  fill(made, ...choices.map((each) => each && item(each)));
  const items = /** @type {HTMLElement[]} */ ([...made.children]);
  made.addEventListener("keydown", (event) => {
    const at = items.indexOf(/** @type {HTMLElement} */ (document.activeElement));
    const to = { ArrowDown: at + 1, ArrowUp: at - 1, Home: 0, End: -1, Tab: at + (event.shiftKey ? -1 : 1) }[event.key];
    if (event.key === " " && document.activeElement instanceof HTMLAnchorElement) document.activeElement.click();
    else if (to === undefined) return;
    else items.at(to % items.length)?.focus();
    event.preventDefault();
  });
  place(made, anchor);
  items[0]?.focus();
}

/** Below its button or above it, wherever there is room. @param {HTMLElement} panel @param {HTMLElement} anchor */
export function place(panel, anchor) {
  const at = anchor.getBoundingClientRect();
  const [width, height] = [panel.offsetWidth, panel.offsetHeight];
  const start = direction === "rtl" ? at.right - width : at.left;
  const left = Math.max(EDGE, Math.min(start, innerWidth - width - EDGE));
  const below = at.bottom + 4;
  const top = below + height < innerHeight - EDGE ? below : Math.max(EDGE, at.top - height - 4);
  panel.style.setProperty("left", `${left}px`);
  panel.style.setProperty("top", `${top}px`);
}
