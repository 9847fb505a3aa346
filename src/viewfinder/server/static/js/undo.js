// @ts-check
/** Taking back the last thing that was done, and doing it again: a turn, a pick, a filter, a picture that was found.
 * Nothing is lost: a turn is taken back by going back before it, as "undo" does when one says it. */

import * as actions from "./actions.js";
import * as api from "./api.js";
import { toldOf } from "./conversation-parts.js";
import { childrenOf, origin } from "./conversation-shapes.js";
import { iconButton } from "./dom.js";
import { announce } from "./live.js";
import { store } from "./store.js";
import { t } from "./texts.js";
import { takeBackLast } from "./waiting.js";

/** @typedef {import("./store.js").Done} Done */

const { state } = store;

const shown = () => (state.session ? origin(state.session.tree, state.turn) : 0);
const same = (/** @type {any} */ one, /** @type {any} */ other) => JSON.stringify(one) === JSON.stringify(other);

/** Whether a thing that was done still counts, so that it can be taken back. @param {Done} thing */
function counts(thing) {
  if (thing.kind === "turn") return state.session !== null && shown() === origin(state.session.tree, thing.to);
  if (thing.kind === "found") return state.found === thing.id;
  return same(thing.kind === "pick" ? state.pinned : state.where, thing.after);
}

/** Whether a thing that was taken back can be done again from here. @param {Done} thing */
function canReturn(thing) {
  if (thing.kind === "turn") return state.session !== null && shown() === origin(state.session.tree, thing.from);
  if (thing.kind === "found") return state.results?.results.some((hit) => hit.id === thing.id) ?? false;
  return same(thing.kind === "pick" ? state.pinned : state.where, thing.before);
}

/** The turn that is shown, where nothing else is known to have been done here: after a reload, say. @returns {Done | null} */
function lastTurn() {
  const to = shown();
  if (!state.session || !to) return null;
  return { kind: "turn", from: origin(state.session.tree, state.session.tree[to].parent), to };
}

/** The one turn that went on from here. @returns {Done | null} */
function nextTurn() {
  const from = shown();
  const [to, other] = state.session ? childrenOf(state.session.tree)[from] : [];
  return to && !other ? { kind: "turn", from, to } : null;
}

const undoable = () => state.done.findLast(counts) ?? lastTurn();
const redoable = () => state.undone.findLast(canReturn) ?? nextTurn();

/** What a thing is called. @param {Done} thing */
function nameOf(thing) {
  if (thing.kind === "turn") return t("app.quoted", { text: toldOf(state.session?.tree[origin(state.session.tree, thing.to)]?.turn ?? null) });
  return t(`undo.${thing.kind}`);
}

/** Puts things back as they were before one. @param {Done} thing @param {boolean} forth  or as they were after it */
async function put(thing, forth) {
  const found = /** @type {any} */ (thing);
  if (thing.kind === "turn") await actions.backTo(forth ? origin(state.session?.tree, thing.to) : origin(state.session?.tree, thing.from));
  else if (thing.kind === "pick") store.set({ pinned: forth ? thing.after : thing.before });
  else if (thing.kind === "where") await actions.setWhere(forth ? thing.after : thing.before);
  else if (forth) await actions.foundIt(thing.id);
  else {
    await actions.acting(async () => {
      if (found.noted && state.session) await api.remove(`/sessions/${state.session.id}/found/${found.noted}`);
      store.set({ found: null });
    });
  }
}

let moving = false;

/** @param {boolean} forth */
async function move(forth) {
  if (moving || state.busy) return;
  if (!forth && takeBackLast()) return;
  const thing = forth ? redoable() : undoable();
  if (!thing) return announce(t(forth ? "undo.nothing-again" : "undo.nothing"));
  moving = true;
  try {
    const [done, undone] = [state.done, state.undone];
    const name = nameOf(thing);
    await put(thing, forth);
    if (state.problem || state.behind?.again || !(forth ? counts(thing) || thing.kind === "found" : canReturn(thing))) return;
    // What was done after it does not count any more.
    const rest = (/** @type {Done[]} */ all) => all.slice(0, all.includes(thing) ? all.lastIndexOf(thing) : all.length);
    const again = thing.kind === "found" && forth ? (state.done.at(-1) ?? thing) : thing;
    store.set(forth ? { done: [...done, again], undone: rest(undone) } : { done: rest(done), undone: [...undone, thing] });
    announce(t(forth ? "undo.again" : "undo.done", { what: name }));
  } finally {
    moving = false;
  }
}

/** @param {KeyboardEvent} event */
function pressed(event) {
  if (event.defaultPrevented || !(event.ctrlKey || event.metaKey) || event.altKey || document.querySelector("dialog:modal")) return;
  const key = event.key.toLowerCase();
  const forth = (key === "z" && event.shiftKey) || (key === "y" && !event.shiftKey);
  if (!forth && key !== "z") return;
  const box = /** @type {any} */ (event.target).closest?.("input:not([type=range], [type=checkbox], [type=radio]), textarea, select, [contenteditable]");
  // What is being written is the browser's to undo.
  if (box && (box.value || !box.closest("vf-say"))) return;
  event.preventDefault();
  void move(forth);
}

const undo = iconButton("undo", t("undo.undo"), () => move(false), { class: "undo", "aria-keyshortcuts": "Control+Z" });
const redo = iconButton("redo", t("undo.redo"), () => move(true), { class: "redo", "aria-keyshortcuts": "Control+Shift+Z" });

function render() {
  const [back, forth] = [undoable(), redoable()];
  const waits = state.waiting.length > 0;
  // Nobody misses them where nothing was done.
  undo.hidden = redo.hidden = !back && !forth && !waits && !state.session;
  for (const [button, thing, key] of /** @type {const} */ ([[undo, back, "undo"], [redo, forth, "redo"]])) {
    const label = thing ? t(`undo.${key}-what`, { what: nameOf(thing) }) : t(`undo.${key}`);
    button.title = label;
    button.setAttribute("aria-label", label);
    // Not `disabled`: the focus would be lost with the last thing that is taken back.
    button.setAttribute("aria-disabled", String(!thing && !(key === "undo" && waits)));
  }
}

document.getElementById("bar-end")?.prepend(undo, redo);
addEventListener("keydown", pressed);
store.on(["done", "undone", "session", "turn", "pinned", "where", "found", "waiting"], render);
render();
