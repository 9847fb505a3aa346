// @ts-check
/** Completion of filters that are typed among words (`camera:canon`): a list above the text box. It takes a key only
 * while one of its lines is chosen, so that whoever just writes does not notice it. */

import * as api from "./api.js";
import { element, fill } from "./dom.js";
import { announce } from "./live.js";
import { store } from "./store.js";
import { loadStyle } from "./bring.js";
import { number, t } from "./texts.js";

/** @typedef {{text: string, pictures: number | null}} Suggested */

/** The word before the caret, where it may become a filter. */
const LAST = /(?:^|\s)(-?(?:"[^":]*"|[^\s":]+)(?::(?:"[^"]*|[^\s"]*))?)$/u;
/** Letters from which a word may be meant as the name of a filter. */
const MIN_NAME = 3;
const PAUSE_MS = 120;

void loadStyle("knows");

const host = /** @type {any} */ (document.querySelector("vf-say"));
const list = element("ul", { id: "completions", class: "completions", role: "listbox", "aria-label": t("complete.title"), hidden: true });
/** @type {Suggested[]} */
let suggested = [];
let chosen = -1;
let asked = 0;
/** @type {ReturnType<typeof setTimeout> | undefined} */
let pause;

/** What is being typed, if it may become a filter. */
function lastWord() {
  const { value, selectionStart, selectionEnd } = host.box;
  if (selectionStart !== selectionEnd) return null;
  const word = LAST.exec(value.slice(0, selectionStart))?.[1];
  return word && (word.includes(":") || word.replace(/^-/, "").length >= MIN_NAME) ? word : null;
}

async function suggest() {
  const mine = ++asked;
  const word = lastWord();
  if (!word || !store.state.collection?.pictures) return close();
  // Without them, one writes on.
  const found = await api.get("/collection/filters", { text: word, n: 8 }).catch(() => ({ filters: [] }));
  if (mine !== asked || word !== lastWord() || document.activeElement !== host.box) return;
  const isDone = found.filters.length === 1 && found.filters[0].text.toLowerCase() === word.toLowerCase();
  if (isDone || !found.filters.length) return close();
  const isNew = suggested.length === 0;
  suggested = found.filters;
  choose(-1);
  if (isNew) announce(t("complete.some", { n: suggested.length }));
}

function close() {
  asked += 1;
  suggested = [];
  choose(-1);
}

/** Shows the list, with a line chosen (-1: none). @param {number} at */
function choose(at) {
  chosen = at;
  list.hidden = suggested.length === 0;
  fill(list, ...suggested.map(({ text, pictures }, index) =>
    element("li", { id: `completion-${index}`, role: "option", "aria-selected": String(index === at), onpointerdown: (event) => event.preventDefault(), onclick: () => accept(index) },
      element("span", { class: "typed", dir: "auto" }, text), pictures !== null && element("span", { class: "quiet" }, number(pictures)))));
  if (at < 0) host.box.removeAttribute("aria-activedescendant");
  else host.box.setAttribute("aria-activedescendant", `completion-${at}`);
  list.children[at]?.scrollIntoView({ block: "nearest" });
}

/** Puts a suggestion in the place of what was typed. @param {number} at */
function accept(at) {
  const box = host.box;
  const word = lastWord();
  const { text } = suggested[at];
  if (word === null) return close();
  const end = box.selectionStart;
  const rest = box.value.slice(end);
  box.setRangeText(text.endsWith(":") || /^\s/.test(rest) ? text : `${text} `, end - word.length, end, "end");
  close();
  box.focus();
  box.dispatchEvent(new Event("input", { bubbles: true }));
}

/** @param {KeyboardEvent} event */
function pressed(event) {
  if (!suggested.length || event.isComposing || event.target !== host.box) return;
  const last = suggested.length - 1;
  /** @type {Record<string, () => void>} */
  const keys = { ArrowDown: () => choose(chosen >= last ? -1 : chosen + 1), ArrowUp: () => choose(chosen < 0 ? last : chosen - 1), Escape: close };
  if (chosen >= 0 && !event.shiftKey) keys.Enter = keys.Tab = () => accept(chosen);
  const act = keys[event.key];
  if (!act) {
    if (event.key === "Enter") close();
    return;
  }
  event.preventDefault();
  event.stopPropagation();
  act();
}

host.querySelector("form").append(list);
host.box.setAttribute("aria-autocomplete", "list");
host.box.setAttribute("aria-controls", "completions");
host.addEventListener("keydown", pressed, true);
host.box.addEventListener("input", () => {
  clearTimeout(pause);
  pause = setTimeout(suggest, PAUSE_MS);
});
host.box.addEventListener("blur", close);
