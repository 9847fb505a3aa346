/** Two branches side by side: which pictures moved, which joined, which left. */

import * as actions from "./actions.js";
import { thumbnail } from "./api.js";
import { endCompare } from "./conversation-actions.js";
import { element, icon } from "./dom.js";
import { nameOf, store } from "./store.js";
import { labelled, refill, toldOf } from "./conversation-parts.js";
import { pathTo } from "./conversation-shapes.js";
import { t } from "./texts.js";
import { moves, sharedTurn, tally } from "./tree-shapes.js";

/** @typedef {import("./store.js").Hit} Hit */
/** @typedef {import("./tree-shapes.js").Move} Move */

/** How many of each ranking are set side by side. */
const FIRST = 60;
const FILTERS = { all: () => true, moved: ({ kind }) => kind === "up" || kind === "down", alone: ({ kind }) => kind === "only" };

/** @param {Move} move */
const moveTold = ({ kind, by, there }) => t(`compare.${kind}`, { n: by, there });

class Compare extends HTMLElement {
  /** @type {"all" | "moved" | "alone"} */
  #filter = "all";

  connectedCallback() {
    store.on(["compare", "results", "session", "turn"], () => this.#render());
    for (const name of ["pointerover", "focusin"]) this.addEventListener(name, (event) => this.#twin(event.target));
    for (const name of ["pointerleave", "focusout"]) this.addEventListener(name, () => this.#twin(null));
    this.#render();
  }

  #render() {
    const { compare, results, session, turn } = store.state;
    this.hidden = !compare || !results || !session;
    if (!compare || !results || !session) return;
    const [left, right] = [results.results.slice(0, FIRST), compare.results.results.slice(0, FIRST)];
    const shared = sharedTurn(session, turn, compare.turn);
    refill(
      this,
      this.#head(session, shared, left, right),
      element("div", { class: "branches" }, this.#side(turn, shared, left, right), this.#side(compare.turn, shared, right, left)),
    );
  }

  /** @param {import("./store.js").SessionTree} session @param {number} shared @param {Hit[]} left @param {Hit[]} right */
  #head(session, shared, left, right) {
    const found = moves(left, right);
    const { same, only } = tally(found);
    const n = left.length;
    const equal = same === n && n === right.length;
    const told = pathTo(session, shared).map((node) => toldOf(node.turn)).join(", ");
    return element(
      "div",
      { class: "compare-head" },
      element("h2", {}, t("compare.title")),
      element("p", { class: "quiet" }, shared ? t("compare.shared", { told }) : t("compare.shared-none")),
      element("p", {}, equal ? t("compare.equal", { n }) : t(same ? "compare.summary-same" : "compare.summary", { n, both: n - only, only, same })),
      this.#filters({ all: n, moved: found.size - same - only, alone: only }),
      element("button", { type: "button", class: "end", "data-key": "end", onclick: () => endCompare() }, ...labelled("close", t("compare.end"))),
    );
  }

  /** @param {Record<string, number>} counts */
  #filters(counts) {
    const choose = (name) => () => {
      this.#filter = name;
      this.#render();
    };
    const one = (name) =>
      element("button", { type: "button", class: "segment", "data-key": `filter-${name}`, "aria-pressed": String(name === this.#filter), onclick: choose(name) }, t(`compare.${name}`, { n: counts[name] }));
    return element("div", { class: "segments", role: "group", "aria-label": t("compare.filter") }, ...Object.keys(FILTERS).map(one));
  }

  /** @param {number} turn @param {number} shared @param {Hit[]} hits @param {Hit[]} others */
  #side(turn, shared, hits, others) {
    const own = pathTo(store.state.session, turn).filter((node) => node.number > shared && !pathTo(store.state.session, shared).includes(node));
    const told = own.map((node) => toldOf(node.turn)).join(", ") || toldOf(store.state.session.tree[turn].turn);
    const found = moves(hits, others);
    const shown = hits.filter((hit) => FILTERS[this.#filter](found.get(hit.id)));
    const use = element("button", { type: "button", "data-key": `use-${turn}`, onclick: () => actions.goTo(turn) }, t("compare.use"));
    return element(
      "section",
      { class: "branch", "aria-label": told },
      element("header", {}, element("h3", { dir: "auto" }, t("compare.after", { told })), use),
      shown.length === 0
        ? element("p", { class: "quiet" }, t("compare.none"))
        : element("ol", { class: "compare-tiles", role: "list" }, ...shown.map((hit) => tile(hit, hits.indexOf(hit) + 1, found.get(hit.id), turn))),
    );
  }

  /** Marks the same picture on both sides. @param {EventTarget | null} target */
  #twin(target) {
    const id = target instanceof Element ? target.closest("[data-id]")?.dataset.id : undefined;
    for (const each of this.querySelectorAll("[data-id]")) each.classList.toggle("twin", each.dataset.id === id);
  }
}

/** @param {Hit} hit @param {number} rank @param {Move} move @param {number} turn */
function tile(hit, rank, move, turn) {
  const label = t("compare.tile", { rank, name: nameOf(hit), move: moveTold(move) });
  const open = (event) => event.currentTarget.dispatchEvent(new CustomEvent("vf-open", { bubbles: true, detail: hit }));
  const image = element("img", { src: thumbnail(hit.id, 320), alt: "", loading: "lazy", decoding: "async" });
  const badge = element("span", { class: `move ${move.kind}`, "aria-hidden": "true" }, ...badgeOf(move));
  const button = element("button", { type: "button", class: "pick", "aria-label": label, title: moveTold(move), "data-key": `${turn}-${hit.id}`, onclick: open }, image);
  return element("li", { class: "compare-tile", "data-id": hit.id, style: { "--aspect": `${hit.width} / ${hit.height}` } }, button, element("span", { class: "rank", "aria-hidden": "true" }, rank), badge);
}

/** @param {Move} move */
function badgeOf({ kind, by }) {
  if (kind === "only") return [icon("add")];
  if (kind === "same") return ["="];
  return [element("span", { class: kind === "up" ? "turned" : "" }, icon("down")), by];
}

customElements.define("vf-compare", Compare);
