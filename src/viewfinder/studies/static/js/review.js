// @ts-check
/** The page on which a person reviews constructed dialogues. What is decided is the server's to keep; here is only what
 * was not sent yet: changed words and notes, in this browser, so that nothing is lost when the page is left. */

import * as api from "./api.js";
import { element, fill, icon, iconButton } from "./dom.js";
import "./icons.js";
import { announce } from "./live.js";
import "./login.js";
import { dialogueView, factsView, wordsOf } from "./review-parts.js";
import { addTexts, t } from "./texts.js";
import { TEXTS } from "./texts-review.js";

addTexts(TEXTS);

/** @typedef {"accepted" | "rejected" | "rewritten"} Verdict
 * @typedef {{id: string, subtask: string, pipeline: string, verdict: Verdict | null}} Line
 * @typedef {{text: string} | {image: string}} Item
 * @typedef {{role: "user" | "assistant", content: Item[]}} Turn
 * @typedef {{id: string, subtask: string, turns: Turn[], target: string, source: Record<string, any>,
 *   review: {verdict: Verdict, turns: Turn[], note: string, by: string} | null}} Dialogue */

/** @param {string} id @returns {any} */
const one = (id) => document.getElementById(id);
const [top_, main, deciding, problem, keys] = ["top", "main", "deciding", "problem", "keys"].map(one);
const VERDICTS = ["accepted", "rejected", "rewritten"];
const NAME = "viewfinder-review-name";

let file = "";
/** @type {Line[]} */
let lines = [];
/** What is shown, and which of it. @type {{show: string, made: string, id: string | null}} */
let place = { show: "open", made: "", id: null };
/** @type {Dialogue | null} */
let dialogue = null;
/** What is in the fields now: a text a turn, and the note. @type {{words: string[], note: string}} */
let draft = { words: [], note: "" };

// -- the server

/** Does what `work` says, one thing at a time; what goes wrong is said, and can be tried again. @param {() => Promise<void>} work */
async function attempt(work) {
  if (document.body.classList.contains("busy")) return;
  document.body.classList.add("busy");
  fill(problem);
  try {
    await work();
  } catch (error) {
    const away = error instanceof api.Unreachable;
    const again = away && element("button", { type: "button", onclick: () => attempt(work) }, t("review.retry"));
    fill(problem, away ? t("review.offline") : error instanceof Error ? error.message : String(error), " ", again);
  } finally {
    document.body.classList.remove("busy");
  }
}

const pathOf = (/** @type {string} */ id) => `/review/dialogues/${id.split("/").map(encodeURIComponent).join("/")}`;

async function start() {
  const overview = await api.get("/review");
  [file, lines] = [overview.file, overview.dialogues];
  document.title = t("review.title", { file });
  place = placeOf(location.search);
  await open(place.id ?? waiting(0)?.id ?? null);
}

/** Shows a dialogue (null: there is none to be shown). @param {string | null} id */
async function open(id) {
  if (id !== null && !lines.some((line) => line.id === id)) {
    fill(problem, t("review.gone"));
    id = waiting(0)?.id ?? null;
  }
  dialogue = id === null ? null : await api.get(pathOf(id));
  place = { ...place, id };
  if (dialogue) {
    take(dialogue);
    draft = kept() ?? fresh();
  }
  addressed();
  render();
  void ahead();
}

/** What is known of a dialogue by now: another person may have decided about it. @param {Dialogue} known */
function take({ id, review }) {
  lines = lines.map((line) => (line.id === id ? { ...line, verdict: review?.verdict ?? null } : line));
}

/** The pictures of the next dialogue are fetched while this one is looked at. */
async function ahead() {
  const next = beside(1);
  if (!next) return;
  try {
    const { turns, target } = await api.get(pathOf(next.id));
    for (const name of [...imagesOf(turns), target]) new Image().src = picture(name);
  } catch {
    // It is fetched again when it is opened.
  }
}

/** @param {Verdict} verdict */
const decide = (verdict) =>
  attempt(async () => {
    if (!dialogue) return;
    const { id, review } = dialogue;
    const turns = verdict === "rejected" ? [] : changed();
    const before = review?.verdict ?? null;
    const given = { verdict: turns.length ? "rewritten" : verdict, turns, note: draft.note.trim(), by: one("name").value.trim(), before };
    try {
      take(await api.put(pathOf(id), given));
    } catch (error) {
      if (error instanceof api.Problem && error.status === 409) await open(id);
      throw error;
    }
    localStorage.removeItem(keyOf(id));
    const left = lines.filter((line) => line.verdict === null).length;
    announce(t("review.live.decided", { verdict: t(`review.verdict.${given.verdict}`), left }));
    const next = beside(1) ?? (place.show === "open" ? waiting(0) : null);
    if (!next && place.show !== "open") fill(problem, t("review.last"));
    await open(next ? next.id : place.show === "open" ? null : id);
  });

// -- where one is

/** @param {string} query @returns {typeof place} */
function placeOf(query) {
  const asked = new URLSearchParams(query);
  const show = asked.get("show") ?? "open";
  return { show: ["all", "open", ...VERDICTS].includes(show) ? show : "open", made: asked.get("made") ?? "", id: asked.get("id") };
}

/** Makes what is shown the address. */
function addressed() {
  const query = new URLSearchParams({ show: place.show, ...(place.made ? { made: place.made } : {}), ...(place.id ? { id: place.id } : {}) });
  const [here, there] = [location.search, `?${query}`];
  // Where the address named none yet, it is the same place as before.
  if (there !== here) history[new URLSearchParams(here).has("id") ? "pushState" : "replaceState"](null, "", there);
}

const madeOf = (/** @type {Line} */ { subtask, pipeline }) => `${subtask} ${pipeline}`.trim();
const isMade = (/** @type {Line} */ line) => !place.made || madeOf(line) === place.made;
const isShown = (/** @type {Line} */ line) => isMade(line) && (place.show === "all" || (line.verdict ?? "open") === place.show);

/** Those that are shown; the one that is open stays among them while it is looked at. */
const shown = () => lines.filter((line) => isShown(line) || line.id === place.id);
/** The first that is shown, from a place in the file on. @param {number} from */
const waiting = (from) => lines.find((line, at) => at >= from && isShown(line)) ?? null;

/** The next of those that are shown, or the one before (-1). @param {number} step */
function beside(step) {
  const among = shown();
  return among[among.findIndex((line) => line.id === place.id) + step] ?? null;
}

const go = (/** @type {Line | null | undefined} */ line) => line && attempt(() => open(line.id));

/** Shows others. @param {Partial<typeof place>} change */
const filter = (change) =>
  attempt(async () => {
    place = { ...place, ...change };
    const stays = lines.find((line) => line.id === place.id && isShown(line));
    place.id = null;
    await open((stays ?? waiting(0))?.id ?? null);
  });

// -- what was not sent yet

const keyOf = (/** @type {string} */ id) => `viewfinder-review ${file} ${id}`;

/** What was written about this dialogue and not sent, if there is anything. */
function kept() {
  const text = localStorage.getItem(keyOf(dialogue?.id ?? ""));
  const draft = text && JSON.parse(text);
  return draft && draft.words.length === dialogue?.turns.length ? draft : null;
}

/** The fields as the server knows them. */
function fresh() {
  const { review, turns } = /** @type {Dialogue} */ (dialogue);
  return { words: wordsOf(review?.turns.length ? review.turns : turns), note: review?.note ?? "" };
}

/** Takes what is in the fields now. @param {Partial<typeof draft>} change */
function write(change) {
  draft = { ...draft, ...change };
  const { id } = /** @type {Dialogue} */ (dialogue);
  if (isUnsent()) localStorage.setItem(keyOf(id), JSON.stringify(draft));
  else localStorage.removeItem(keyOf(id));
  standing();
}

const isUnsent = () => JSON.stringify(draft) !== JSON.stringify(fresh());

/** The turns with the words of the fields; nothing, where they say what they said when they were made. */
function changed() {
  const { turns } = /** @type {Dialogue} */ (dialogue);
  const before = wordsOf(turns);
  if (draft.words.every((words, at) => words.trim() === before[at])) return [];
  const now = turns.map((turn, at) => rewritten(turn, before[at], draft.words[at].trim()));
  if (now.some(({ content }) => !content.length)) throw new Error(t("review.silent"));
  return now;
}

/** A turn with other words: they stand where its first words stood. @param {Turn} turn @param {string} before @param {string} words */
function rewritten(turn, before, words) {
  if (words === before) return turn;
  const first = Math.max(0, turn.content.findIndex((item) => "text" in item));
  const images = (/** @type {Item} */ item) => "image" in item;
  const content = [...turn.content.slice(0, first).filter(images), ...(words ? [{ text: words }] : []), ...turn.content.slice(first).filter(images)];
  return { ...turn, content };
}

// -- what is shown

const picture = (/** @type {string} */ name) => api.address(`/review/pictures/${name.split("/").map(encodeURIComponent).join("/")}`, { size: 640 });
const imagesOf = (/** @type {Turn[]} */ turns) => turns.flatMap(({ content }) => content.flatMap((item) => ("image" in item ? [item.image] : [])));

function render() {
  head();
  fill(main, bar(), ...(dialogue ? [desk(dialogue)] : nobody()));
  deciding.hidden = !dialogue;
  if (dialogue) {
    fill(deciding, ...decision());
    standing();
    const among = shown();
    const verdict = t(`review.verdict.${dialogue.review?.verdict ?? "open"}`);
    announce(t("review.live", { at: among.findIndex(({ id }) => id === place.id) + 1, n: among.length, verdict }));
  }
  main.scrollTo(0, 0);
  main.querySelector("h1")?.focus({ preventScroll: true });
}

/** The line at the top: made once, but for how far one has come. */
function head() {
  const done = lines.filter((line) => line.verdict !== null).length;
  if (!one("name")) {
    const name = element("input", { id: "name", type: "text", maxlength: 200, autocomplete: "name", placeholder: t("review.name"), "aria-label": t("review.name"), value: localStorage.getItem(NAME) ?? "", oninput: () => localStorage.setItem(NAME, name.value) });
    fill(top_, element("a", { class: "brand", href: "/" }, element("img", { src: "/static/icon.svg", alt: "", width: 24, height: 24 }), element("span", {}, "viewfinder")),
      element("span", { class: "file", title: file }, file), element("progress", { id: "done", "aria-labelledby": "progress" }), element("span", { id: "progress", class: "quiet" }), element("span", { class: "spring" }),
      name, element("a", { class: "icon-button", href: api.address("/review/kept"), download: true, "aria-label": t("review.download"), title: t("review.download") }, icon("download")),
      iconButton("question", t("review.keys"), help, { class: "keys" }));
  }
  one("progress").textContent = t("review.progress", { done, all: lines.length });
  Object.assign(one("done"), { max: lines.length, value: done });
}

/** What is shown, and which of it. */
function bar() {
  const among = shown();
  const at = among.findIndex(({ id }) => id === place.id) + 1;
  const jump = element("input", { id: "at", type: "number", min: 1, max: Math.max(1, among.length), value: at || "", disabled: !among.length, onchange: () => go(among[jump.valueAsNumber - 1]) });
  return element("div", { class: "bar" }, ...choices(),
    element("span", { class: "steps" },
      iconButton("previous", t("review.previous"), () => go(beside(-1)), { disabled: !beside(-1) }),
      element("label", { for: "at", class: "unseen" }, t("review.at")), jump, element("span", { class: "quiet" }, t("review.of", { n: among.length })),
      iconButton("next", t("review.next"), () => go(beside(1)), { disabled: !beside(1) })));
}

function choices() {
  const count = (/** @type {string} */ show) => lines.filter((line) => isMade(line) && (show === "all" || (line.verdict ?? "open") === show)).length;
  const shows = ["open", "all", ...VERDICTS].map((show) => [show, t(`review.show.${show}`, { n: count(show) })]);
  const ways = new Map(lines.map((line) => [madeOf(line), t(line.pipeline ? "review.made.one" : "review.made.other", line)]));
  return [select("show", shows, place.show), select("made", [["", t("review.made.any")], ...[...ways].sort()], place.made)];
}

/** @param {"show" | "made"} name @param {string[][]} options @param {string} chosen */
function select(name, options, chosen) {
  const made = element("select", { id: name, onchange: () => filter({ [name]: made.value }) }, ...options.map(([value, text]) => element("option", { value, selected: value === chosen }, text)));
  return element("label", { for: name }, element("span", {}, t(`review.${name}`)), made);
}

/** @param {Dialogue} dialogue */
function desk(dialogue) {
  const { id, turns, target, source } = dialogue;
  const told = (/** @type {number} */ at, /** @type {string} */ words) => write({ words: draft.words.map((each, index) => (index === at ? words : each)) });
  return element("div", { class: "desk" },
    element("section", { "aria-labelledby": "dialogue" }, element("h1", { id: "dialogue", tabindex: "-1" }, t("review.dialogue"), " ", element("code", {}, id)), dialogueView(turns, draft.words, picture, told)),
    element("section", { class: "meant", "aria-labelledby": "meant" }, ...factsView(target, source, picture)));
}

function decision() {
  const note = element("input", { id: "note", type: "text", maxlength: 2000, value: draft.note, placeholder: t("review.note"), "aria-label": t("review.note"), oninput: () => write({ note: note.value }) });
  return [
    element("p", { id: "standing" }), note,
    element("button", { type: "button", id: "reject", onclick: () => decide("rejected") }, icon("close"), t("review.reject")),
    element("button", { type: "button", id: "accept", class: "primary", onclick: () => decide("accepted") }),
  ];
}

/** What was decided, and what the button would do now. */
function standing() {
  const review = dialogue?.review;
  const verdict = t(`review.verdict.${review?.verdict ?? "open"}`);
  const unsent = isUnsent();
  one("standing").className = unsent ? "unsent" : (review?.verdict ?? "");
  one("standing").textContent = unsent ? t("review.unsent") : review?.by ? t("review.by", { verdict, by: review.by }) : verdict;
  const words = wordsOf(dialogue?.turns ?? []);
  const isChanged = draft.words.some((each, at) => each.trim() !== words[at]);
  fill(one("accept"), icon("check"), t(isChanged ? "review.accept-changed" : "review.accept"));
}

/** Nothing is left to be shown. */
function nobody() {
  const count = (/** @type {string} */ verdict) => lines.filter((line) => line.verdict === verdict).length;
  const done = lines.every((line) => line.verdict !== null);
  const told = done ? t("review.all-done", Object.fromEntries(VERDICTS.map((verdict) => [verdict, count(verdict)]))) : t("review.none");
  return [element("div", { class: "nobody" }, element("h1", { tabindex: "-1" }, t(done ? "review.all-done.title" : "review.none.title")), element("p", {}, told),
    element("p", { class: "row" },
      element("button", { type: "button", class: done ? "" : "primary", onclick: () => filter({ show: "all", made: "" }) }, t("review.everything")),
      done && element("a", { href: api.address("/review/kept"), download: true }, t("review.download"))))];
}

// -- keys

const KEYS = [["a", "accept"], ["r", "reject"], ["n →", "next"], ["p ←", "previous"], ["u", "open"], ["e", "edit"], ["m", "note"], ["Ctrl Enter", "send"], ["Esc", "leave"], ["?", "help"]];

function help() {
  const rows = KEYS.map(([names, name]) => element("div", {}, element("dt", {}, ...names.split(" ").flatMap((key) => [element("kbd", {}, key), " "])), element("dd", {}, t(`review.key.${name}`))));
  fill(keys, element("header", {}, element("h2", { id: "keys-title" }, t("review.keys")), iconButton("close", t("review.close"), () => keys.close())), element("dl", {}, ...rows));
  if (!keys.open) keys.showModal();
}

/** The next that nobody has decided about, whatever is shown; from the beginning again, where none follows. */
function undecided() {
  const at = lines.findIndex((line) => line.id === place.id);
  const next = [...lines.slice(at + 1), ...lines.slice(0, at)].find((line) => line.verdict === null);
  if (next) go(next);
}

/** @param {KeyboardEvent} event */
function pressed(event) {
  const at = /** @type {HTMLElement} */ (event.target);
  const writing = at.matches("input, textarea, select");
  if (event.defaultPrevented || document.querySelector("dialog:modal")) return;
  const enters = writing && event.key === "Enter";
  if (enters && (event.ctrlKey || event.metaKey)) return act(() => dialogue && decide("accepted"));
  if (writing && (event.key === "Escape" || (enters && at.matches("#note, #name")))) return main.querySelector("h1")?.focus();
  if (writing || event.ctrlKey || event.metaKey || event.altKey) return;
  const focus = (/** @type {string} */ selector) => () => /** @type {HTMLElement | null} */ (document.querySelector(selector))?.focus();
  /** @type {Record<string, () => void>} */
  const does = {
    a: () => dialogue && decide("accepted"), r: () => dialogue && decide("rejected"), n: () => go(beside(1)), ArrowRight: () => go(beside(1)),
    p: () => go(beside(-1)), ArrowLeft: () => go(beside(-1)), u: undecided, e: focus(".dialogue textarea"), m: focus("#note"), "?": help,
  };
  if (does[event.key]) act(does[event.key]);

  function act(/** @type {() => void} */ work) {
    event.preventDefault();
    work();
  }
}

addEventListener("keydown", pressed);
addEventListener("popstate", () => attempt(async () => {
  place = placeOf(location.search);
  await open(place.id ?? waiting(0)?.id ?? null);
}));
void attempt(start);
