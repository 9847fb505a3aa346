/** Parts that the conversation's elements share: rendering that keeps the focus, panels, one tab stop for a row of buttons. */

import { element, fill, icon } from "./dom.js";
import { DONT_KNOW, kindOf, textOf } from "./conversation-shapes.js";
import { store } from "./store.js";
import { direction, hasText, t } from "./texts.js";

/** What a known way to search or to ask is called; one of somebody's own has its own name. @param {string} name */
export const nameOfWay = (name) => (hasText(`way.${name}`) ? t(`way.${name}`) : name.replaceAll("_", " "));

/** What it does; nothing is known of one of somebody's own. @param {string} name */
export const aboutOf = (name) => (hasText(`about.${name}`) ? t(`about.${name}`) : "");

/** Whether whoever is here may do more than look and talk. */
export const mayWrite = () => store.state.me?.scopes?.includes("write") ?? false;

/** One to the right, among things in a row. */
const ONWARD = direction === "rtl" ? -1 : 1;

/** What stands before the words of a turn, by its kind. */
const LEADS = {
  say: () => "",
  answer: (turn) => (turn.answer.trim() ? "" : t("conversation.skipped")),
  like: (turn) => t(`conversation.${turn.turn === undefined ? "like" : "on"}${turn.but ? "-but" : ""}`, turn),
  show: (turn) => t(turn.but ? "conversation.show-but" : "conversation.show"),
  reject: (turn) => (turn.text ? t("conversation.reject-text") : t("conversation.reject", { n: turn.reject.length })),
  keep: (turn) => t("conversation.keep", { attribute: turn.keep, turn: turn.turn }),
};

/** @param {any} turn */
export const leadOf = (turn) => LEADS[kindOf(turn)](turn);

/** A turn in a few words. @param {any} turn  null: the start */
export const toldOf = (turn) => (turn ? (turn.answer === DONT_KNOW ? t("conversation.dont-know") : `${leadOf(turn)} ${turn.keep ? "" : textOf(turn)}`.trim()) : t("tree.start"));

/**
 * Puts new children into `parent`, and the focus (and the caret) back on the one with the same `data-key`; where that
 * has gone, on the one that took its place.
 * @param {HTMLElement} parent @param {...any} children
 */
export function refill(parent, ...children) {
  const focused = parent.contains(document.activeElement) ? document.activeElement : null;
  const keyed = () => [...parent.querySelectorAll("[data-key]")];
  const place = keyed().indexOf(focused);
  const caret = focused && "selectionStart" in focused ? [focused.selectionStart, focused.selectionEnd] : null;
  fill(parent, ...children);
  if (place < 0 || parent.contains(document.activeElement)) return;
  const all = keyed();
  const again = all.find((each) => each.dataset.key === focused.dataset.key);
  (again ?? all[Math.min(place, all.length - 1)])?.focus({ preventScroll: true });
  if (again && caret?.[0] != null) again.setSelectionRange(...caret);
}

/**
 * A button and the panel that it opens, both to be put into the page once; the panel's content is filled by `open`.
 * @param {string} id @param {string} label @param {() => void} opened  called before it is shown
 * @returns {{button: HTMLButtonElement, panel: HTMLElement}}
 */
export function panel(id, label, opened) {
  const made = element("div", { id, popover: "auto", class: "panel", role: "dialog", "aria-label": label });
  const button = element("button", { type: "button", class: "panel-button", popovertarget: id, "aria-haspopup": "dialog" });
  made.addEventListener("beforetoggle", (event) => {
    if (event.newState === "open") opened();
  });
  made.addEventListener("toggle", (event) => {
    if (event.newState === "open") place(made, button);
  });
  for (const each of [button, made]) {
    each.addEventListener("keydown", (event) => {
      if (event.key !== "Escape" || !made.matches(":popover-open")) return;
      // The panel alone is closed, not what lies below it as well.
      event.stopPropagation();
      if (event.defaultPrevented) return;
      made.hidePopover();
      button.focus();
    });
  }
  return { button, panel: made };
}

/** A panel of rows, one of which at a time is given another name, or is about to be deleted. Who extends it draws them. */
export class RowPanel extends HTMLElement {
  /** @type {{id: string, what: "rename" | "delete"} | null} */
  doing = null;
  /** @type {HTMLElement | undefined} */
  panel;

  fill() {}

  /** @param {string} id @param {"rename" | "delete"} what */
  do(id, what) {
    this.doing = { id, what };
    this.fill();
    /** @type {HTMLElement | null | undefined} */ (this.panel?.querySelector("[data-first]"))?.focus();
  }

  /** @param {string} id @param {string} key  where the focus goes */
  done(id, key) {
    this.doing = null;
    this.fill();
    /** @type {HTMLElement | null | undefined} */ (this.panel?.querySelector(`[data-key="${key}-${id}"]`) ?? this.panel?.querySelector("[data-key=new]"))?.focus();
  }
}

/** Below its button, and within the window; the style sheet makes a sheet of it on small screens.
 * @param {HTMLElement} panel_ @param {HTMLElement} button */
function place(panel_, button) {
  const at = button.getBoundingClientRect();
  const start = direction === "rtl" ? at.right - panel_.offsetWidth : at.left;
  const left = Math.min(start, innerWidth - panel_.offsetWidth - 8);
  panel_.style.setProperty("--left", `${Math.max(8, left)}px`);
  panel_.style.setProperty("--top", `${at.bottom + 6}px`);
}

/** @param {string} name @param {...any} words  an icon and words beside it */
export const labelled = (name, ...words) => [icon(name), element("span", {}, ...words)];

/**
 * Makes the buttons that match `selector` one tab stop: arrows, Home and End move within it.
 * @param {HTMLElement} group @param {string} selector
 */
export function oneTabStop(group, selector) {
  const all = () => [...group.querySelectorAll(selector)];
  all().forEach((each, index) => (each.tabIndex = index === 0 ? 0 : -1));
  group.addEventListener("keydown", (event) => {
    const buttons = all();
    const at = buttons.indexOf(document.activeElement);
    /** @type {Record<string, number>} */
    const steps = { ArrowRight: at + ONWARD, ArrowLeft: at - ONWARD, Home: 0, End: buttons.length - 1 };
    const to = buttons[steps[event.key] ?? -1];
    if (at < 0 || !to) return; // at its end, an arrow leads out
    event.preventDefault();
    event.stopPropagation();
    to.focus();
  });
  group.addEventListener("focusin", (event) => {
    if (all().includes(event.target)) for (const each of all()) each.tabIndex = each === event.target ? 0 : -1;
  });
}

/** Makes arrows move among the chips in `host`, and Delete and Backspace take one away. @param {HTMLElement} host */
export function chipKeys(host) {
  host.addEventListener("keydown", (event) => {
    const chip = event.target.closest("li.chip");
    const chips = [...host.querySelectorAll("li.chip")];
    const at = chips.indexOf(chip);
    const onward = { ArrowRight: chips[at + ONWARD], ArrowLeft: chips[at - ONWARD] }[event.key];
    const go = (to) => to.querySelector("button")?.focus();
    /** @type {Record<string, () => void>} */
    const keys = {
      Delete: () => chip?.querySelector(".chip-x").click(),
      Backspace: () => chip?.querySelector(".chip-x").click(),
      ...(onward && { [event.key]: () => go(onward) }), // at its end, an arrow leads out
    };
    if (at < 0 || !(event.key in keys)) return;
    event.preventDefault();
    event.stopPropagation();
    keys[event.key]();
  });
}

/** A list with a heading for screen readers. @param {string} label @param {any[]} items @param {Record<string, any>} [given] */
export const list = (label, items, given = {}) => element("ul", { role: "list", "aria-label": label, ...given }, ...items);
