/** The conversation: what was said on the way to what is shown, the question that is open, and what the search makes of it. */

import * as actions from "./actions.js";
import { thumbnail, uploadThumbnail } from "./api.js";
import { element, iconButton } from "./dom.js";
import { holding, looking } from "./overlay.js";
import { isWriting } from "./replies.js";
import { store } from "./store.js";
import { aboutOf, leadOf, oneTabStop, refill, toldOf } from "./conversation-parts.js";
import { isHasty } from "./hasty.js";
import { childrenOf, DONT_KNOW, foldPasses, isPass, origin, pathTo, pieces, reasonOf, textOf, withText } from "./conversation-shapes.js";
import { readingOf } from "./reading.js";
import { listed, t } from "./texts.js";

/** @typedef {import("./store.js").TreeNode} TreeNode */

const PICTURES = 4;

/** A small picture. @param {string} src @param {string} alt @param {number} size */
const mini = (src, alt, size) => element("img", { src, alt, class: "mini", width: size, height: size });

/** The pictures that a turn is about. @param {TreeNode} node */
function pictures({ number, turn }) {
  if (turn.like || turn.show) return element("span", { class: "pictures" }, again(number, turn));
  const kept = turn.keep && pictureOf(turn.turn);
  const sources = kept ? [kept] : (turn.reject ?? []).map((id) => thumbnail(id, 160));
  if (!sources.length) return null;
  const rest = sources.length - PICTURES;
  const shown = sources.slice(0, PICTURES).map((src) => mini(src, t("conversation.picture"), 44));
  return element("span", { class: `pictures ${turn.reject ? "rejected" : ""}` }, shown, rest > 0 && element("span", { class: "quiet" }, `+${rest}`));
}

/** The picture of a turn, as a button: it is shown in large, where one can go on from it; an image of one's own is picked
 * again at once. @param {number} number @param {any} turn */
function again(number, { like, show }) {
  const label = t(like ? "conversation.again" : "conversation.again-own", { turn: number });
  const open = ({ currentTarget }) => currentTarget.dispatchEvent(new CustomEvent("vf-open", { bubbles: true, detail: { id: like, turn: number } }));
  const given = { type: "button", class: "again", "aria-label": label, title: label, "data-key": `again-${number}` };
  return element("button", { ...given, onclick: like ? open : () => actions.pinShown(show) }, mini(pictureOf(number), "", 44));
}

/** The address of what stands for a turn: the picture that it is about, else the best that it found. @param {number} number */
function pictureOf(number) {
  const tree = store.state.session?.tree ?? [];
  const { turn, first } = tree[origin(tree, number)] ?? {};
  if (turn?.show) return uploadThumbnail(turn.show);
  return turn?.like || first ? thumbnail(turn?.like ?? first, 160) : null;
}

/** What a turn does with earlier ones, where it says so in words; otherwise it is the turn itself. @param {TreeNode} node */
function operations({ number }) {
  const done = store.state.results?.operations.filter(({ said, words }) => said === number && words) ?? [];
  const line = ({ kind, turn, attribute }, index) => {
    const src = pictureOf(turn);
    const given = { type: "button", class: "link", title: toldOf(store.state.session?.tree[turn]?.turn), onclick: () => actions.goTo(turn), "data-key": `done-${number}-${index}` };
    return element("li", {}, element("button", given, src && mini(src, "", 24), t(`conversation.${kind === "rollback" ? "rollback" : attribute ? "keeps" : "keeps-all"}`, { turn, attribute })));
  };
  return done.length > 0 && element("ul", { class: "operations", role: "list" }, ...done.map(line));
}

/** The attributes that count of a turn's picture, where somebody said which. @param {any} turn */
const counts = ({ attributes }) => attributes && element("span", { class: "counts quiet" }, attributes.length ? t("conversation.counts", { names: listed(attributes) }) : t("conversation.no-counts"));

/** The words of a turn; each that may be in a picture is a button which shows where. @param {TreeNode} node */
function words({ number, turn }) {
  const text = turn.keep ? "" : textOf(turn);
  if (!text) return null;
  if (isPass(turn)) return t("conversation.dont-know");
  const word = (piece, index) =>
    piece.word
      ? element("button", { type: "button", class: "spot", "data-key": `word-${number}-${index}`, ...holding({ text: piece.text, turn: number }) }, piece.text)
      : piece.text;
  const group = element("span", { role: "group", class: "words", "aria-label": `${text}; ${t("conversation.words")}` }, ...pieces(text).map(word));
  oneTabStop(group, ".spot");
  return group;
}

/** What a turn is answered in words. @param {number} number */
const reply = (number) => (store.state.replies[number] ? element("p", { class: "reply", dir: "auto" }, store.state.replies[number]) : null);

/** A picture that is answered with a choice, if one is known; without a text of its own: the choice is what it shows.
 * @param {import("./store.js").Question} question @param {string} choice */
function exampleOf({ choices, examples }, choice) {
  const id = examples?.[choices.indexOf(choice)];
  return id ? element("img", { src: thumbnail(id, 160), alt: "", class: "mini", width: 40, height: 40, onerror: ({ currentTarget }) => currentTarget.remove() }) : null;
}

class Conversation extends HTMLElement {
  /** The turn whose words are being changed, and the form for it. @type {{number: number, form: HTMLFormElement} | null} */
  #editing = null;
  /** The form for an answer that is none of the choices. @type {HTMLFormElement | null} */
  #other = null;
  /** The question that was shown last: a new one fades in, once. @type {string | undefined} */
  #asked;
  /** When what can be pressed was last drawn in other places: a click that began before was not meant for it. */
  #drawn = -Infinity;
  /** The room that the last question took: the next one has it from the start, so that nothing moves into its place. */
  #room = 0;
  /** Skipped questions that are shown one by one, by the first of them. @type {Set<number>} */
  #opened = new Set();
  /** What was shown last: the list is scrolled to its end when that changes. */
  #shown = "";

  connectedCallback() {
    store.on(["session", "turn", "results", "question", "asking", "busy", "replies"], () => this.#render());
    store.on(["turn"], () => void (this.#editing = null));
    const guard = (event) => {
      if (!event.target.closest("button, summary") || !isHasty(event, this.#drawn)) return;
      event.preventDefault();
      event.stopImmediatePropagation();
    };
    this.addEventListener("click", guard, { capture: true });
    this.#render();
  }

  #render() {
    const { session, turn } = store.state;
    const path = pathTo(session, turn);
    this.hidden = !session || path.length === 0;
    this.toggleAttribute("aria-busy", store.state.busy);
    if (this.hidden || !session) return;
    const turns = element("ol", { class: "turns", role: "list", "aria-label": t("conversation.turns"), tabindex: -1 }, ...foldPasses(path.map((node) => ({ node }))).map(({ row, passes }) => (passes.length ? this.#passes(passes, path, turn) : this.#turn(row.node, turn))));
    const old = this.querySelector(".turns");
    const before = old?.scrollTop ?? 0;
    // The question that comes after the turn takes room from the list: its end stays in sight.
    const atEnd = !old || before + old.clientHeight >= old.scrollHeight - 4;
    refill(this, element("h2", { class: "unseen" }, t("conversation.title")), turns, this.#later(), ...this.#notes(), this.#answer(), this.#question());
    const shown = `${session.id} ${turn}`;
    turns.scrollTop = shown === this.#shown && !atEnd ? before : turns.scrollHeight;
    const question = this.querySelector(".question:not(.waiting)");
    if (question) this.#room = question.offsetHeight;
    if (shown !== this.#shown || this.#isFresh) this.#drawn = performance.now();
    this.#shown = shown;
  }

  /** Whether the question was drawn for the first time just now. */
  #isFresh = false;

  /** Several questions that were skipped, as one line; they are shown one by one on demand.
   * @param {number[]} passes @param {TreeNode[]} path @param {number} shown */
  #passes(passes, path, shown) {
    const open = this.#opened.has(passes[0]);
    const turn = () => {
      if (!this.#opened.delete(passes[0])) this.#opened.add(passes[0]);
      this.#render();
    };
    const given = { type: "button", class: "link", "aria-expanded": String(open), "data-key": `passes-${passes[0]}`, onclick: turn };
    const line = element("div", { class: "bubble pass" }, t("conversation.skips", { n: passes.length }), element("button", given, t(`conversation.skips-${open ? "hide" : "show"}`)));
    const each = path.filter(({ number }) => passes.includes(number));
    const inside = open && element("ol", { class: "passes", role: "list" }, ...each.map((node) => this.#turn(node, shown)));
    return element("li", { class: "turn folded", "aria-current": !open && passes.includes(shown) && "step" }, line, inside);
  }

  /** @param {TreeNode} node @param {number} shown */
  #turn(node, shown) {
    const { number, turn } = node;
    const asked = turn.answer !== undefined ? (turn.question ?? store.state.session?.tree[node.parent]?.asked) : null;
    const editing = this.#editing?.number === number;
    const bubble = element("div", { class: `bubble ${isPass(turn) ? "pass" : ""}`, ...looking({ turn: number }) }, pictures(node), element("span", { class: "said", dir: "auto" }, leadOf(turn), " ", words(node), counts(turn)));
    const item = { class: "turn", "aria-current": number === shown && "step", "data-turn": number };
    return element("li", item, asked?.text && element("p", { class: "asked", dir: "auto" }, asked.text), editing ? this.#editing?.form : [bubble, this.#tools(node, shown), operations(node), number !== shown && reply(number)]);
  }

  /** @param {TreeNode} node @param {number} shown */
  #tools({ number, turn }, shown) {
    const told = toldOf(turn);
    const key = (name) => ({ "data-key": `${name}-${number}` });
    return element(
      "div",
      { class: "turn-tools" },
      number !== shown && iconButton("back", t("conversation.look", { told }), () => actions.goTo(number), key("look")),
      !turn.keep && iconButton("edit", t("conversation.edit", { told }), () => this.#edit(number, turn), key("edit")),
      iconButton("trash", t("conversation.remove", { told }), () => actions.deleteTurn(number), key("remove")),
    );
  }

  /** @param {number} number @param {any} turn */
  #edit(number, turn) {
    const choices = turn.question?.choices ?? [];
    const done = (text) => {
      this.#editing = null;
      this.#render();
      this.querySelector(`[data-key="edit-${number}"]`)?.focus();
      if (text === null || text.trim() === textOf(turn)) return;
      const changed = withText(turn, text);
      if (changed) actions.editTurn(number, changed);
      else actions.deleteTurn(number);
    };
    this.#editing = { number, form: inputForm(`edit-input-${number}`, t("conversation.edit-text"), t("conversation.save"), textOf(turn), choices, done) };
    this.#render();
    this.#editing.form.querySelector("input")?.select();
  }

  /** Whether this branch goes on beyond what is shown. */
  #later() {
    const { session, turn } = store.state;
    const children = childrenOf(session?.tree ?? []);
    let [count, last] = [0, origin(session?.tree, turn)];
    for (; children[last]?.length; count += 1) last = children[last].at(-1);
    if (!count) return null;
    const button = element("button", { type: "button", class: "link", "data-key": "latest", onclick: () => actions.goTo(last) }, t("conversation.latest"));
    return element("p", { class: "quiet later" }, t("conversation.later", { n: count }), " · ", button);
  }

  /** What the search makes of the conversation: nothing alike, pictures out of reach, turns that it took another way. */
  #notes() {
    const { results, turn } = store.state;
    const adapters = (results?.adapters ?? []).map((name) => element("li", { lang: "en", dir: "ltr" }, name));
    return [
      readingOf(results?.reading, turn),
      (results?.missing ?? 0) > 0 && element("p", { class: "verdict missing" }, t("conversation.missing", { n: results.missing })),
      results?.verdict === "nothing" && results.results.length > 0 && results.answer?.with !== "words" && element("p", { class: "verdict" }, t(results.unheard?.length ? "conversation.unheard" : store.state.arriving?.adding ? "conversation.nothing-yet" : "conversation.nothing", { n: results.total, words: listed((results.unheard ?? []).map((text) => t("app.quoted", { text }))) })),
      adapters.length > 0 && element("details", { class: "adapters quiet" }, element("summary", {}, t("conversation.adapted")), element("ul", { role: "list" }, ...adapters)),
    ];
  }

  /** What is answered in words to the turn that is shown; like the question, it is seen where the conversation is not. */
  #answer() {
    const { turn } = store.state;
    const said = reply(turn) ?? (isWriting() && element("p", { class: "reply waiting quiet" }, t("conversation.answering")));
    return said && element("section", { class: "answer", "aria-label": t("conversation.answer") }, said);
  }

  #question() {
    const { question, asking } = store.state;
    const fresh = question?.text !== this.#asked;
    if (fresh) this.#other = null;
    this.#asked = question?.text;
    this.#isFresh = fresh;
    const room = { "--room": `${this.#room}px` };
    if (asking && !question) return element("div", { class: "question waiting", style: room }, element("p", { class: "quiet" }, t("conversation.asking")));
    if (!question) return null;
    const choices = question.choices.filter((text) => text !== DONT_KNOW);
    // Where nothing is offered, one answers in one's own words.
    const isFree = choices.length === 0;
    if (isFree) this.#other ??= this.#answerForm(null);
    const choice = (text, index) => {
      const shown = exampleOf(question, text);
      return this.#chip(shown ? [shown, text] : text, () => actions.answer(text), `choice-${index}`, shown ? "shown" : "");
    };
    const chips = element(
      "div",
      { class: "chips", role: "group", "aria-label": t("conversation.choices") },
      ...choices.map(choice),
      this.#chip(t("conversation.dont-know"), () => actions.answer(DONT_KNOW), "dont-know", "quiet-chip"),
      !isFree && !this.#other && this.#chip(t("conversation.other"), () => this.#free(), "other", "quiet-chip"),
      this.#chip(t("conversation.skip"), actions.skip, "skip", "quiet-chip"),
    );
    const { instead, why } = reasonOf(question);
    const notice = instead && element("p", { class: "instead" }, t("conversation.instead"));
    // The names and numbers of those who made it are for those who look for them.
    const exact = [instead, t("conversation.because", { why, by: question.by })].filter(Boolean).join("; ");
    const reason = question.by && element("details", {}, element("summary", {}, t("conversation.why")), element("p", {}, aboutOf(question.by)), element("p", { lang: "en", dir: "ltr" }, exact));
    const ask = element("p", { class: "ask", dir: "auto" }, question.text);
    const answers = isFree ? [this.#other, chips] : [chips, this.#other];
    return element("section", { class: `question ${fresh ? "fresh" : ""}`, "aria-label": t("conversation.question") }, notice, ask, ...answers, reason);
  }

  /** @param {any} face @param {() => void} onclick @param {string} key @param {string} [more] */
  #chip(face, onclick, key, more = "") {
    return element("button", { type: "button", class: `chip ${more}`, dir: "auto", onclick, disabled: store.state.busy, "data-key": key }, face);
  }

  #free() {
    this.#other = this.#answerForm(() => {
      this.#other = null;
      this.#render();
    });
    this.#render();
    this.#other.querySelector("input")?.focus();
  }

  /** A line for an answer of one's own. @param {(() => void) | null} shut  null: it stays */
  #answerForm(shut) {
    const done = (text) => {
      if (text === null || shut) shut?.();
      if (text?.trim()) actions.answer(text.trim());
    };
    return inputForm("other-input", t("conversation.other-label"), t("conversation.send"), "", [], done, shut !== null);
  }
}

/**
 * A line to write in, with what may be chosen: Enter gives it, Escape null.
 * @param {string} key @param {string} label @param {string} send @param {string} value @param {string[]} choices
 * @param {(text: string | null) => void} done @param {boolean} [shuts]  whether it can be put away @returns {HTMLFormElement}
 */
function inputForm(key, label, send, value, choices, done, shuts = true) {
  const input = element("input", { type: "text", value, placeholder: label, maxlength: 2000, "aria-label": label, "data-key": key, list: choices.length > 0 && `${key}-list`, autocomplete: "off" });
  const onsubmit = (event) => (event.preventDefault(), done(input.value));
  const onkeydown = (event) => {
    if (event.key !== "Escape" || !shuts) return;
    event.stopPropagation();
    done(null);
  };
  const options = element("datalist", { id: `${key}-list` }, ...choices.map((choice) => element("option", { value: choice })));
  const cancel = shuts && iconButton("close", t("conversation.cancel"), () => done(null), { "data-key": `${key}-cancel` });
  return element("form", { class: "line-form", onsubmit, onkeydown }, input, choices.length > 0 && options, element("button", { type: "submit", class: "primary", "data-key": `${key}-send` }, send), cancel);
}

customElements.define("vf-conversation", Conversation);
