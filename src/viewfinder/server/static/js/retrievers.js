/** Which retriever reads the conversation, and who asks back; both can be changed in the middle of it. */

import { retrieverInfo, setTo, speaks } from "./actions.js";
import { element, icon } from "./dom.js";
import { announce } from "./live.js";
import { store } from "./store.js";
import { catchUp, isLive, prepare, switchLeaning, switchQuestioner, switchRetriever } from "./conversation-actions.js";
import { aboutOf, nameOfWay, panel, refill } from "./conversation-parts.js";
import { hasText, t } from "./texts.js";

class Retrievers extends HTMLElement {
  /** Where the slider was put, until the server knows. @type {number | null} */
  #leant = null;

  connectedCallback() {
    const { button, panel: made } = panel("retrievers-panel", t("retrievers.title"), () => this.#fill());
    [this.button, this.panel] = [button, made];
    this.append(button, made);
    store.on(["session", "retrievers", "questioners", "jobs", "busy"], () => this.#render());
    // What is missing, and what can be chosen instead, is all in the panel.
    const offer = () => store.state.problem?.kind === "not-prepared" && this.panel.showPopover();
    store.on(["problem"], offer);
    this.#render();
    offer();
  }

  #render() {
    const { retriever } = setTo();
    const { retrievers, session } = store.state;
    // In a blind study nobody is told.
    this.hidden = !retrievers || (session !== null && session.retriever === null);
    if (this.hidden) return;
    const title = t("retrievers.title");
    const name = retriever ? nameOfWay(retriever) : "";
    this.button?.setAttribute("aria-label", t("retrievers.button", { name }));
    this.button?.setAttribute("title", title);
    this.button?.replaceChildren(element("span", { class: "panel-label", dir: "auto" }, name), icon("down"));
    if (this.panel?.matches(":popover-open")) this.#fill();
  }

  #fill() {
    const { retrievers, questioners } = store.state;
    const chosen = setTo();
    const askers = questioners?.questioners ?? [];
    const all = retrievers?.retrievers ?? [];
    refill(
      this.panel,
      this.#group("reader", all, (each) => this.#retriever(each, each.name === chosen.retriever), chosen.retriever),
      this.#group("asker", askers, (each) => this.#questioner(each, each.name === chosen.questioner), chosen.questioner),
      this.#technical([...all, ...askers].map(({ name }) => name).filter((name) => hasText(`way.${name}`) && name !== "none")),
    );
  }

  /** What can be chosen; the rest is folded away, with what is missing.
   * @param {string} name @param {any[]} all @param {(each: any) => any} row @param {string | null} chosen */
  #group(name, all, row, chosen) {
    const usable = all.filter((each) => !each.problem || each.name === chosen);
    const folded = all.filter((each) => !usable.includes(each));
    const key = `others-${name}`;
    const open = this.panel.querySelector(`[data-key="${key}"]`)?.parentElement.open ?? false;
    const others = element("details", { open }, element("summary", { "data-key": key }, t("retrievers.others", { n: folded.length })), ...folded.map(row));
    return element("fieldset", {}, element("legend", {}, t(`retrievers.${name}`)), ...usable.map(row), folded.length > 0 && others);
  }

  /** The names that the documentation, the terminal and the API have for them. @param {string[]} names */
  #technical(names) {
    const open = this.panel.querySelector('[data-key="technical"]')?.parentElement.open ?? false;
    const rows = names.map((name) => element("div", {}, element("dt", {}, nameOfWay(name)), element("dd", {}, element("code", {}, name))));
    return element("details", { class: "technical", open }, element("summary", { "data-key": "technical" }, t("retrievers.technical")), element("dl", {}, ...rows));
  }

  /** Words at one end, pictures at the other. */
  #leaning() {
    const own = retrieverInfo().leaning;
    const about = element("span", { class: "quiet about", id: "leaning-about" });
    const tell = () => {
      about.textContent = t(`retrievers.leaning.${nameOf(input.valueAsNumber)}`);
      input.setAttribute("aria-valuetext", about.textContent);
    };
    const change = async () => {
      const place = (this.#leant = input.valueAsNumber);
      await switchLeaning(leaningOf(place, own));
      if (this.#leant === place) this.#leant = null;
      this.#render();
    };
    const input = element("input", { type: "range", id: "leaning", min: -MOST, max: MOST, step: 0.5, value: this.#leant ?? placeOf(setTo().leaning, own), "data-key": "leaning", oninput: tell, onchange: change });
    tell();
    const ends = ["words", "pictures"].map((end) => element("span", {}, t(`retrievers.leaning.${end}`)));
    return element("div", { class: "leaning" }, element("label", { for: "leaning" }, t("retrievers.leaning")), element("div", {}, ends[0], input, ends[1]), about);
  }

  /** @param {any} info @param {boolean} checked */
  #retriever({ name, ready, missing, problem }, checked) {
    const job = store.state.jobs.find((each) => each.kind === "prepare" && each.what.retriever === name && isLive(each));
    const usable = ready && !problem;
    const choose = async () => {
      await switchRetriever(name);
      catchUp();
      if (setTo().retriever === name) announce(t("retrievers.switched", { name: nameOfWay(name) }));
      this.#render();
    };
    const what = ready ? aboutOf(name) : t("retrievers.missing", { n: missing });
    const about = problem ?? (store.state.retrievers?.advised === name ? `${t("retrievers.advised")} · ${what}` : what);
    const percent = job?.total ? Math.round((100 * job.done) / job.total) : 0;
    const offer = !ready && !problem && !job && element("button", { type: "button", class: "small", "data-key": `prepare-${name}`, onclick: () => prepare(name) }, t("retrievers.prepare"));
    return element(
      "div",
      { class: "option-row" },
      option("retriever", name, nameOfWay(name), checked, !usable && !checked, choose, job ? t("retrievers.preparing", { percent }) : about),
      offer,
      checked && speaks() && this.#leaning(),
      job && element("progress", { max: 100, value: percent, "aria-label": t("retrievers.preparing", { percent }) }),
    );
  }

  /** @param {any} info @param {boolean} checked */
  #questioner({ name, problem }, checked) {
    const shown = nameOfWay(name);
    const choose = async () => {
      await switchQuestioner(name);
      this.#render();
    };
    return element("div", { class: "option-row" }, option("questioner", name, shown, checked, problem !== null && !checked, choose, problem ?? aboutOf(name)));
  }
}

/** How far one may lean from where the retriever stands by itself; at the ends it answers with one of the two alone. */
const MOST = 5;
/** So far to a side, nothing else is answered with: as the API has it. */
const ALONE = 1000;

/** @param {number} place  on the slider @param {number} own  of the retriever */
const leaningOf = (place, own) => (Math.abs(place) === MOST ? Math.sign(place) * ALONE : own + place);

/** @param {number | null} leaning @param {number} own */
function placeOf(leaning, own) {
  if (leaning === null) return 0;
  return Math.abs(leaning) >= ALONE ? Math.sign(leaning) * MOST : Math.max(0.5 - MOST, Math.min(leaning - own, MOST - 0.5));
}

/** @param {number} place */
function nameOf(place) {
  const side = place < 0 ? "words" : "pictures";
  return place === 0 ? "own" : Math.abs(place) === MOST ? `${side}-alone` : `more-${side}`;
}

/** @param {string} group @param {string} name @param {string} shown @param {boolean} checked @param {boolean} disabled
 * @param {() => void} onchange @param {string} about */
function option(group, name, shown, checked, disabled, onchange, about) {
  const id = `${group}-${name}`;
  const radio = element("input", { type: "radio", name: group, id, value: name, checked, disabled, onchange, "data-key": id, "aria-label": shown, "aria-describedby": about && `${id}-about` });
  const words = element("span", {}, shown, about && element("span", { class: "quiet about", id: `${id}-about` }, about));
  return element("label", { class: `option ${disabled ? "off" : ""}`, for: id }, radio, words);
}

customElements.define("vf-retrievers", Retrievers);
