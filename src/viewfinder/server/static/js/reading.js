/** How the last sentence was read: its words, corrections and facts as chips, each of which can be taken away. */

import * as actions from "./actions.js";
import { chipKeys } from "./conversation-parts.js";
import { withText } from "./conversation-shapes.js";
import { element, icon } from "./dom.js";
import { store } from "./store.js";
import { loadStyle } from "./bring.js";
import { t } from "./texts.js";

void loadStyle("knows");

/**
 * The reading of a turn, where it is not just as it stands.
 * @param {import("./store.js").Reading | null | undefined} said @param {number} turn
 */
export function readingOf(said, turn) {
  if (!said) return null;
  const chips = [
    ...said.words.map(({ text, without }) => chip(turn, text, t("reading.remove", { words: text }), without, { key: `word-${text}` })),
    ...said.corrections.map((one) => chip(turn, t("conversation.read-word", one), t("reading.as-typed", one), one.without, { key: `typed-${one.typed}`, drawing: "back" })),
    ...said.facts.map(({ words, pictures, filter, without }) =>
      chip(turn, t("conversation.read-fact", { words, n: pictures }), t("reading.remove", { words }), without, { key: `fact-${words}`, lead: filter ? "filter" : null, more: pictures ? "" : "void" })),
  ];
  const list = element("ul", { class: "reading-parts", role: "list", "aria-labelledby": "reading-title" }, ...chips);
  const made = element("div", { class: "reading" }, element("p", { class: "quiet", id: "reading-title" }, t("reading.title")), list);
  chipKeys(list);
  return made;
}

/**
 * @param {number} turn @param {string} text @param {string} label  what its button does
 * @param {string | null | undefined} without  what is said instead; null: it cannot be taken away
 * @param {{key: string, drawing?: string, lead?: string | null, more?: string}} given
 */
function chip(turn, text, label, without, { key, drawing = "close", lead = null, more = "" }) {
  const act = () => sayInstead(turn, /** @type {string} */ (without));
  const remove = without !== null && without !== undefined && element("button", { type: "button", class: "chip-x", "aria-label": label, title: label, onclick: act, "data-key": `reading-${key}` }, icon(drawing));
  return element("li", { class: `chip belief part ${more}` }, element("span", { class: "chip-face" }, lead && icon(lead), element("span", {}, text)), remove);
}

/** Puts other words in the place of those of a turn; where none are left, takes the turn out. @param {number} number @param {string} text */
function sayInstead(number, text) {
  const turn = store.state.session?.tree[number]?.turn;
  const changed = turn && withText(turn, text);
  void (changed ? actions.editTurn(number, changed) : actions.deleteTurn(number));
}
