// @ts-check
/** The page of those who take part in a study: consent, then for each picture look, say, choose. Where they are is the
 * server's to know, so that a page that is loaded again goes on there; here is only what was not sent yet. */

import * as api from "./api.js";
import { element, fill, iconButton } from "./dom.js";
import { announce } from "./live.js";
import "./login.js";
import { addTexts, t } from "./texts.js";
import { TEXTS } from "./texts-study.js";

addTexts(TEXTS);

const path = `/studies/${encodeURIComponent(decodeURIComponent(location.pathname.split("/")[2] ?? ""))}`;
const KEPT = `viewfinder${path}`;

/** @param {string} id @returns {any} */
const one = (id) => document.getElementById(id);
const [main, problem, choice] = [one("main"), one("problem"), one("choice")];

/** What the study asks, and how far this participant is (null: has not agreed yet). @type {any} */
let study = null;
/** @type {any} */
let state = null;
/** The trial whose picture has been looked at long enough, and when its time is over. */
let seen = "";
let until = 0;
/** The result to which "but ..." is said. */
let pinned = "";
/** @type {ReturnType<typeof setInterval> | undefined} */
let clock;
/** The picture to find stays one node, so that it does not blink from round to round. @type {any} */
let target = null;

// -- what is asked of the server

/** Does what `work` says, one thing at a time; what goes wrong is said, and can be tried again. @param {() => Promise<void>} work */
async function attempt(work) {
  if (document.body.classList.contains("busy")) return;
  document.body.classList.add("busy");
  fill(problem);
  try {
    await work();
  } catch (error) {
    // Another window may have gone on: where the participant is now, and why this was refused.
    if (error instanceof api.Problem && error.status === 409 && state) await refresh().catch(failed);
    failed(error);
  } finally {
    document.body.classList.remove("busy");
  }

  function failed(/** @type {unknown} */ error) {
    const retry = element("button", { type: "button", onclick: () => attempt(work) }, t("study.retry"));
    if (error instanceof api.Unreachable) fill(problem, t("study.offline"), " ", retry);
    else fill(problem, error instanceof Error ? error.message : String(error));
  }
}

async function load() {
  try {
    study = await api.get(path);
  } catch (error) {
    if (error instanceof api.Problem && error.status === 404) return show(message("study.gone"));
    throw error;
  }
  document.title = study.name;
  if (localStorage.getItem(KEPT)) await refresh();
  else render();
}

/** Where the participant is; the study may have been begun anew, and know nothing of them. */
async function refresh() {
  try {
    take(await api.get(`${path}/participants/${localStorage.getItem(KEPT)}/trial`));
  } catch (error) {
    if (!(error instanceof api.Problem && error.status === 404)) throw error;
    localStorage.removeItem(KEPT);
    state = null;
    render();
  }
}

/** @param {any} answer */
function take(answer) {
  state = answer;
  pinned = "";
  until = performance.now() + (state.trial?.seconds_left ?? 0) * 1000;
  render();
}

/** @param {string} what @param {any} [body] */
function act(what, body) {
  // What is tried again is the same, in the same trial: it is done once.
  const [key, before] = [api.newKey(), state.trial.id];
  return attempt(async () => {
    take(await api.post(`${path}/participants/${state.id}/trials/${before}/${what}`, body, undefined, key));
    const { trial } = state;
    if (trial?.id === before && trial.results) announce(t("study.live", { n: trial.results.length, left: trial.rounds_left }));
  });
}

const join = () =>
  attempt(async () => {
    const answer = await api.post(`${path}/participants`, { agreed: true });
    localStorage.setItem(KEPT, answer.id);
    take(answer);
  });

// -- what is shown

function render() {
  clearInterval(clock);
  if (choice.open) choice.close();
  if (!state) return show(study.open ? intro() : message("study.closed"));
  const { trial } = state;
  if (!trial) return show(thanks());
  if (!trial.started) return show(ready(trial));
  if (study.target === "remembered" && trial.target && seen !== trial.id) return show(looking(trial));
  show(searching(trial));
}

/** Puts a view on the page; the focus goes to where one goes on: a field, or else the heading. @param {any[]} nodes */
function show(nodes) {
  fill(main, ...nodes);
  const to = main.querySelector("[data-focus]") ?? main.querySelector("h1");
  to?.focus({ preventScroll: true });
  scrollTo(0, 0);
}

const heading = (/** @type {string} */ text) => element("h1", { tabindex: "-1" }, text);
const line = (/** @type {string} */ key, values = {}) => element("p", {}, t(key, values));
const message = (/** @type {string} */ key) => [heading(study?.name ?? "viewfinder"), line(key)];
const button = (/** @type {string} */ key, /** @type {() => void} */ onclick, given = {}) =>
  element("button", { type: "button", onclick, ...given }, t(key));

function intro() {
  const agree = element("input", { type: "checkbox", id: "agree", required: true });
  const submit = (/** @type {Event} */ event) => {
    event.preventDefault();
    void join();
  };
  return [
    heading(study.name),
    study.instructions && element("p", { class: "given" }, study.instructions),
    line("study.what", study), line(`study.what.${study.task}`), line(`study.what.${study.target}`, study),
    element("h2", { id: "consent" }, t("study.consent")),
    element("div", { class: "given box", tabindex: "0", role: "region", "aria-labelledby": "consent" }, study.consent),
    element("form", { onsubmit: submit },
      element("label", { class: "agree" }, agree, t("study.agree")),
      element("button", { class: "primary" }, t("study.join"))),
  ];
}

/** @param {any} trial */
function ready(trial) {
  return [
    heading(t("study.picture", { number: trial.number, of: state.of })),
    line("study.ready"), study.target === "remembered" && line("study.ready.remembered", study),
    button("study.show", () => act("start"), { class: "primary", "data-focus": true }),
  ];
}

/** @param {any} trial */
function looking(trial) {
  const [left, bar] = [element("p", { role: "timer" }), element("progress", { max: study.seconds, "aria-hidden": "true" })];
  const done = () => {
    seen = trial.id;
    render();
  };
  const tick = () => {
    const seconds = (until - performance.now()) / 1000;
    if (seconds <= 0) return done();
    left.textContent = t("study.left", { seconds: Math.ceil(seconds) });
    bar.value = seconds;
  };
  clock = setInterval(tick, 200);
  tick();
  return [heading(t("study.picture", { number: trial.number, of: state.of })), wanted(trial), left, bar,
    button("study.hide", done, { class: "primary", "data-focus": true })];
}

/** @param {any} trial */
function searching(trial) {
  const round = Math.min(study.rounds, study.rounds - trial.rounds_left + 1);
  const over = trial.rounds_left === 0;
  return [
    element("header", {}, heading(t("study.picture", { number: trial.number, of: state.of })),
      element("span", {}, t("study.round", { round, rounds: study.rounds }))),
    element("div", { class: trial.results ? "desk" : "" },
      element("section", {},
        study.target === "shown" && trial.target ? wanted(trial) : line("study.hidden"),
        over ? line("study.last") : entry(trial),
        trial.said.length > 0 && element("ol", { class: "said", "aria-label": t("study.said") }, ...trial.said.map(told)),
        giveUp(over)),
      trial.results && element("section", {}, ...found(trial))),
  ];
}

/** @param {number} width @param {number} height */
const shaped = (width, height) => ({ "--shape": String(width / height) });

/** The picture to find. @param {any} trial */
function wanted(trial) {
  if (target?.dataset.of !== trial.id) {
    const { id, width, height } = trial.target;
    target = element("img", { class: "target", alt: t("study.target"), src: api.thumbnail(id, 640), style: shaped(width, height), dataset: { of: trial.id } });
  }
  return target;
}

/** @param {any} said */
function told({ kind, text, pictures, question }) {
  const small = pictures.map((/** @type {string} */ id) => element("img", { alt: "", src: api.thumbnail(id, 160), height: "32" }));
  const lead = kind === "like" || kind === "reject" ? t(`study.said.${kind}`, { n: pictures.length }) : question;
  return element("li", {}, ...small, lead && element("i", {}, lead, " "), text);
}

/** @param {any} trial */
function found(trial) {
  if (!trial.results.length) return [line("study.results.none")];
  const result = (/** @type {any} */ picture, /** @type {number} */ at) => {
    const image = element("img", { alt: "", src: api.thumbnail(picture.id, 640) });
    const closer = element("button", { type: "button", "aria-label": t("study.pick", { n: at + 1 }), onclick: () => look(picture, at + 1) }, image);
    return element("li", { style: shaped(picture.width, picture.height) }, closer);
  };
  return [line("study.hint"), element("ol", { class: "found", "aria-label": t("study.results") }, ...trial.results.map(result))];
}

/** What is said in this round: an answer, or a text, with a picked result or without. @param {any} trial */
function entry(trial) {
  const [asked, feedback] = [trial.question, trial.task === "feedback"];
  const label = asked ? "study.answer" : pinned ? "study.say.but" : trial.said.length ? "study.say.more" : "study.say.first";
  // Where a keyboard comes up over the page, it would cover the results.
  const covering = trial.results && !pinned && matchMedia("(hover: none)").matches;
  const field = element("input", { id: "text", autocomplete: "off", maxlength: 2000, required: !pinned, "data-focus": !covering });
  const send = (/** @type {string} */ text) => act("turns", asked ? { answer: text } : pinned ? { like: pinned, but: text } : { say: text });
  const submit = (/** @type {Event} */ event) => {
    event.preventDefault();
    if (pinned || field.value.trim()) void send(field.value.trim());
  };
  const chips = asked && [...asked.choices, ...(asked.choices.includes(t("study.dont-know")) ? [] : [t("study.dont-know")])];
  return element("form", { class: "entry", onsubmit: submit },
    asked && element("p", { id: "question" }, asked.text),
    asked && element("p", { class: "chips", role: "group", "aria-labelledby": "question" },
      ...chips.map((/** @type {string} */ text) => element("button", { type: "button", onclick: () => send(text) }, text))),
    element("label", { for: "text" }, t(label)),
    pinned && element("p", { class: "row" }, element("img", { alt: t("study.said.like"), src: api.thumbnail(pinned, 160), height: "64" }),
      iconButton("close", t("study.unpin"), () => pin(""))),
    element("p", { class: "row" }, field, element("button", { class: "primary" }, t("study.send"))),
    feedback && trial.results?.length > 0 && button("study.none", () => act("turns", { reject: [] })));
}

/** @param {boolean} over */
function giveUp(over) {
  const end = () => act("end", { found: null });
  if (over) return button("study.next", end, { class: "primary" });
  const sure = () => ask(t("study.give-up.sure"), [], [["study.give-up", end]]);
  return button("study.give-up", sure, { class: "quiet" });
}

/** @param {string} id */
function pin(id) {
  pinned = id;
  render();
}

/** A result at its full size, and what can be said of it. @param {any} picture @param {number} n */
function look({ id, width, height }, n) {
  const can = state.trial.rounds_left > 0 && state.trial.task === "feedback";
  ask(t("study.closer"), [element("img", { alt: t("study.result", { n }), src: api.thumbnail(id, 640), style: shaped(width, height) })], [
    ["study.yes", () => act("end", { found: id })],
    ...(can ? [["study.like", () => pin(id)], ["study.not", () => act("turns", { reject: [id] })]] : []),
  ]);
}

/** @param {string} title @param {any[]} nodes @param {any[]} answers texts and what they do, the first one the main one */
function ask(title, nodes, answers) {
  const answer = ([key, does], /** @type {number} */ at) =>
    button(key, () => {
      choice.close();
      does();
    }, { class: at ? "" : "primary" });
  fill(choice, element("h2", { id: "choice-title" }, title), ...nodes,
    element("p", { class: "row" }, ...answers.map(answer), button("study.back", () => choice.close(), { autofocus: true })));
  choice.showModal();
}

function thanks() {
  const again = () => {
    localStorage.removeItem(KEPT);
    state = null;
    void attempt(load);
  };
  return [heading(t("study.thanks")), line("study.thanks.text"), study.open && button("study.again", again, { class: "quiet" })];
}

void attempt(load);
