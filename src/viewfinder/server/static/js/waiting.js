// @ts-check
/** vf-waiting: what was said while the server was away. It stays visible, is sent in order when the server is back, once
 * only (each with its key), and survives a reload of the page; it can be taken back until then. */

import * as actions from "./actions.js";
import * as api from "./api.js";
import { element, fill } from "./dom.js";
import { announce } from "./live.js";
import { store } from "./store.js";
import { t } from "./texts.js";

/** @typedef {import("./store.js").Waiting} Waiting */

const PREFIX = "viewfinder-waiting ";
/** How many may wait in this browser; each has at most 2,000 characters. */
const MOST = 50;
const AGAIN_MS = 5000;
/** A conversation that has not begun. */
const NEW = "";

const { state } = store;

/** Where the browser keeps nothing (in some private windows), what waits lives as long as the page. @type {Map<string, string>} */
const kept = new Map();

/** @param {string} name @param {string | null} text */
function keep(name, text) {
  if (text === null) kept.delete(name);
  else kept.set(name, text);
  try {
    if (text === null) localStorage.removeItem(name);
    else localStorage.setItem(name, text);
  } catch {
    // It is in `kept`.
  }
}

/** What waits, the oldest first; of other tabs of this browser, too. @returns {Waiting[]} */
function read() {
  const found = new Map(kept);
  try {
    for (const name of kept.keys()) if (localStorage.getItem(name) === null) found.delete(name);
    for (const name of Object.keys(localStorage)) if (name.startsWith(PREFIX)) found.set(name, localStorage.getItem(name) ?? "");
  } catch {
    return parsed(kept.values());
  }
  return parsed(found.values());
}

/** @param {Iterable<string>} texts @returns {Waiting[]} */
function parsed(texts) {
  const items = [];
  for (const text of texts) {
    try {
      const item = JSON.parse(text);
      if (typeof item.key === "string" && item.turn && typeof item.at === "number") items.push(item);
    } catch {
      continue; // not ours
    }
  }
  return items.sort((one, other) => one.at - other.at).slice(0, MOST);
}

const nameOf = (/** @type {string} */ key) => PREFIX + key;
/** @param {Waiting} item */
const save = (item) => keep(nameOf(item.key), JSON.stringify(item));
const reread = () => store.set({ waiting: read() });

/** The conversation that is shown: its id, or the group of one that has yet to begin. */
const groupHere = () => state.session?.id ?? state.waiting.findLast((item) => item.id === null && item.from === 0)?.group ?? NEW;
/** What waits in it. */
const here = () => state.waiting.filter((item) => item.group === groupHere() || (item.id !== null && item.id === state.session?.id));

actions.keepForLater({
  waits: () => here().length > 0,
  hold(turn, once) {
    const before = here();
    if (state.waiting.length >= MOST) {
      store.set({ problem: { detail: t("waiting.full", { n: MOST }) } });
      return true; // the words stay in the box
    }
    const { session } = state;
    const at = Math.max(Date.now(), ...state.waiting.map((item) => item.at + 1));
    save({
      at, key: once.key, turn, id: session?.id ?? null, group: session?.id ?? before[0]?.group ?? once.key, from: state.turn,
      begin: session ? null : { where: state.where, n: actions.FIRST, ...state.chosen },
      place: before.length ? null : (once.place ?? (session ? actions.placeIn(session) : { parent: 0 })),
    });
    store.set({ pinned: null });
    reread();
    announce(t("waiting.held"));
    if (state.online) void drain();
    return true;
  },
});

/** Takes one back: what was said after it follows what was said before it. @param {Waiting} item */
function takeBack(item) {
  const next = state.waiting.find((each) => each.group === item.group && each.at > item.at);
  if (item.place && next && !next.place) save({ ...next, place: item.place, from: item.from });
  keep(nameOf(item.key), null);
  reread();
  announce(t("waiting.taken-back"));
}

/** Takes back what waits last in the conversation that is shown; whether there was something. */
export function takeBackLast() {
  const last = here().at(-1);
  if (last) takeBack(last);
  return Boolean(last);
}

let draining = false;

/** Sends what waits, one after another; stops where the server is away again. */
async function drain() {
  if (draining) return;
  draining = true;
  const stuck = new Set();
  try {
    for (;;) {
      reread();
      const item = state.waiting.find((each) => !each.moved && !stuck.has(each.group) && !isHeldUp(each));
      if (!item || !state.online) return;
      try {
        await send(item);
      } catch (error) {
        if (!(error instanceof api.Problem)) throw error;
        if (error.kind === "moved-on") moved(item, error);
        else if (error.status >= 500 || error.status === 429) {
          stuck.add(item.group);
          setTimeout(drain, AGAIN_MS);
        } else refuse(item, error);
      }
    }
  } catch (error) {
    if (!(error instanceof api.Unreachable)) console.error(error);
  } finally {
    draining = false;
    reread();
  }
}

/** Whether something before it in its conversation has to be decided first. @param {Waiting} item */
const isHeldUp = (item) => state.waiting.some((each) => each.moved && each.group === item.group && each.at < item.at);

/** @param {Waiting} item */
async function send(item) {
  const isNew = item.id === null;
  const atHome = isNew && !state.session && groupHere() === item.group;
  let id = item.id;
  if (id === null) {
    id = (atHome ? await actions.begun(item.begin, item.key) : await api.post("/sessions", item.begin, undefined, item.key)).id;
    for (const each of read()) if (each.group === item.group) save({ ...each, id });
  }
  const place = item.place ?? { parent: 0 };
  const results = await api.post(`/sessions/${id}/turns`, { ...item.turn, ...place }, undefined, item.key);
  const next = read().find((each) => each.group === item.group && each.at > item.at);
  if (next && !next.place) save({ ...next, place: { parent: results.turn }, from: results.turn });
  keep(nameOf(item.key), null);
  reread();
  // Whoever has gone elsewhere meanwhile is not taken away from there.
  if (state.session?.id === id && state.turn === item.from) await actions.took(/** @type {string} */ (id), item.turn, place, results);
}

/** The conversation went on elsewhere meanwhile: what to do is asked where it is shown. @param {Waiting} item @param {any} error */
function moved(item, error) {
  save({ ...item, moved: true });
  reread();
  ask();
}

/** Asks what to do with what waits here although the conversation went on elsewhere. */
function ask() {
  const item = here().find((each) => each.moved);
  if (!item || !state.session || state.behind?.again) return;
  const again = () => {
    save({ ...item, moved: false, place: { parent: item.place?.parent ?? 0, on_conflict: "branch" } });
    reread();
    void drain();
  };
  store.set({ behind: { id: state.session.id, turns: [], again } });
}

/** It cannot be taken at all: the words are given back. @param {Waiting} item @param {api.Problem} error */
function refuse(item, error) {
  keep(nameOf(item.key), null);
  giveBack([item]);
  store.set({ problem: { detail: error.detail, kind: error.kind, status: error.status, more: error.more } });
}

/** @param {Waiting[]} items */
function giveBack(items) {
  /** @type {any} */
  const say = document.querySelector("vf-say");
  const words = items.map(({ turn }) => wordsOf(turn)).filter(Boolean);
  if (!say || !words.length) return;
  say.box.value = [say.box.value.trim(), ...words].filter(Boolean).join(", ");
  say.enable();
}

/** @param {any} turn @returns {string} */
const wordsOf = (turn) => turn.say ?? turn.answer ?? turn.but ?? turn.text ?? "";

/** What a turn says, for reading. @param {any} turn */
const told = (turn) => wordsOf(turn) || t(turn.skip ? "conversation.skipped" : turn.reject ? "waiting.reject" : "waiting.pick");

class WaitingWords extends HTMLElement {
  connectedCallback() {
    store.on(["waiting", "session", "turn", "online"], () => this.render());
    store.on(["online"], () => state.online && void drain());
    store.on(["session"], ask);
    addEventListener("storage", (event) => (event.key === null || event.key.startsWith(PREFIX)) && reread());
    // Who follows the newest keeps the words, in the text box.
    addEventListener("vf-follow", () => {
      const items = here();
      if (!items.some((item) => item.moved)) return;
      for (const item of items) keep(nameOf(item.key), null);
      giveBack(items);
      reread();
    });
    reread();
    this.render();
    void drain();
  }

  render() {
    const items = here();
    this.hidden = !items.length;
    if (this.hidden) return fill(this);
    const line = (/** @type {Waiting} */ item) => {
      const words = told(item.turn);
      return element("li", {}, element("span", { class: "bubble" }, words),
        element("button", { type: "button", class: "link", "aria-label": t("waiting.take-back", { told: words }), onclick: () => takeBack(item) }, t("waiting.back")));
    };
    fill(this, element("p", { class: "quiet" }, t(state.online ? "waiting.sending" : "waiting.title", { n: items.length })),
      element("ol", { role: "list", "aria-label": t("waiting.list") }, ...items.map(line)));
  }
}

customElements.define("vf-waiting", WaitingWords);
