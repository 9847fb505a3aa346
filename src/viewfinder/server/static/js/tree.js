/** The turn tree: all that was said, with its branches; the way back, to branch, and to compare. */

import * as actions from "./actions.js";
import { thumbnail } from "./api.js";
import { compareWith } from "./conversation-actions.js";
import { element, icon, iconButton } from "./dom.js";
import { store } from "./store.js";
import { refill, toldOf } from "./conversation-parts.js";
import { isMove, origin, pathTo } from "./conversation-shapes.js";
import { t } from "./texts.js";
import { foldedAtFirst, litLanes, treeRows } from "./tree-shapes.js";

const SVG = "http://www.w3.org/2000/svg";
const LANE = 16;
const MIDDLE = 9;

/** A line of the rail. Its row is stretched to 100 units in height, so that lines meet whatever the row's height.
 * @param {string} d @param {boolean} lit */
function line(d, lit) {
  const path = document.createElementNS(SVG, "path");
  path.setAttribute("d", d);
  path.setAttribute("class", lit ? "rail lit" : "rail");
  path.setAttribute("vector-effect", "non-scaling-stroke");
  return path;
}

/** Where the lane of a level runs. @param {number} level */
const lane = (level) => level * LANE + MIDDLE;

/**
 * The lines to the left of a row: those of the branches it lies in, its own, and the curve it branched off with.
 * @param {import("./tree-shapes.js").TreeRow} row
 * @param {{above: Set<number>, below: Set<number>}} lit  levels whose line is on the way to what is shown
 * @param {boolean} onPath  whether the turn itself is
 */
function rail({ level, head, last, node }, { above, below }, onPath) {
  const at = lane(level);
  const passing = Array.from({ length: level }, (_, other) => line(`M${lane(other)} 0V100`, below.has(other)));
  const curve = `M${lane(level - 1)} 0C${lane(level - 1)} 45 ${at} 10 ${at} 50`;
  const own = [
    head ? line(curve, onPath) : node.number && line(`M${at} 0V50`, above.has(level)),
    !last && line(`M${at} 50V100`, below.has(level)),
  ];
  const drawing = document.createElementNS(SVG, "svg");
  const given = { viewBox: `0 0 ${at + MIDDLE} 100`, preserveAspectRatio: "none", "aria-hidden": "true", class: "rails", width: at + MIDDLE };
  for (const [name, value] of Object.entries(given)) drawing.setAttribute(name, value);
  drawing.append(...[...own, ...passing].filter(Boolean));
  return drawing;
}

class Tree extends HTMLElement {
  /** Turns whose branches are folded away, and of which conversation. */
  #folded = new Set();
  #conversation = "";
  /** First turns of skipped questions that are shown one by one. @type {Set<number>} */
  #opened = new Set();
  /** The row that the tab key reaches. */
  #at = 0;

  connectedCallback() {
    this.addEventListener("keydown", (event) => this.#key(event));
    store.on(["session", "turn", "compare"], () => this.#render());
    this.#render();
  }

  #render() {
    const { session, turn } = store.state;
    this.hidden = !session || session.tree.length < 2;
    if (this.hidden || !session) return;
    if (session.id !== this.#conversation) {
      this.#folded = foldedAtFirst(session, turn);
      this.#conversation = session.id;
      this.#opened.clear();
    }
    const shown = origin(session.tree, turn);
    this.#reveal(shown);
    const rows = treeRows(session.tree, this.#folded, this.#opened);
    /** The row that a turn is drawn in: its own, or that of several that were skipped. @param {number} number */
    const rowOf = (number) => rows.find((row) => row.passes.includes(number))?.node.number ?? number;
    if (!this.contains(document.activeElement) || !rows.some((row) => row.node.number === this.#at)) this.#at = rowOf(shown);
    const path = [...new Set([0, ...pathTo(session, turn).map((node) => rowOf(node.number))])];
    const lit = litLanes(rows, path);
    const branches = rows.reduce((sum, row) => sum + row.branches, 1);
    const turns = session.tree.filter((node) => node.number && !isMove(node)).length;
    const summary = element("span", { class: "quiet" }, [t("tree.turns", { n: turns }), branches > 1 && t("tree.branches", { n: branches })].filter(Boolean).join(", "));
    const given = { role: "tree", "aria-label": t("tree.title"), "aria-describedby": "tree-hint", class: "turn-tree" };
    const before = this.querySelector(".turn-tree")?.scrollTop ?? 0;
    refill(
      this,
      element("h2", { class: "side-title" }, t("tree.title"), summary),
      element("p", { id: "tree-hint", class: "unseen" }, t("tree.hint")),
      element("ul", given, ...rows.map((row, index) => this.#row(row, lit[index], path.includes(row.node.number), rowOf(shown)))),
    );
    const tree = this.querySelector(".turn-tree");
    tree.scrollTop = before;
    const current = tree.querySelector("[aria-current]");
    if (current) keepInView(tree, current);
  }

  /** Unfolds what hides a turn. @param {number} number */
  #reveal(number) {
    const { session } = store.state;
    for (const node of session ? pathTo(session, number) : []) {
      const parent = origin(session?.tree, node.parent);
      const rows = treeRows(session?.tree ?? [], this.#folded);
      if (!rows.some((row) => row.node.number === node.number || row.passes.includes(node.number))) this.#folded.delete(parent);
    }
  }

  #row(row, lit, onPath, shown) {
    const { number } = row.node;
    const told = row.passes.length ? t("conversation.skips", { n: row.passes.length }) : toldOf(row.node.turn);
    const current = number === shown;
    const compared = number === store.state.compare?.turn;
    const classes = ["turn-row", onPath && "on-path", compared && "compared"].filter(Boolean).join(" ");
    const given = {
      role: "treeitem",
      class: classes,
      "data-key": `row-${number}`,
      "data-number": number,
      "data-passes": row.passes.join(" ") || null,
      tabindex: number === this.#at ? 0 : -1,
      "aria-level": row.level + 1,
      "aria-posinset": row.place,
      "aria-setsize": row.places,
      "aria-selected": current,
      "aria-current": current && "step",
      "aria-expanded": row.passes.length > 0 ? "false" : row.branches > 0 && String(row.hidden === 0),
      "aria-label": number ? t("tree.item", { number, told }) : told,
      onclick: (event) => this.#clicked(event, number),
    };
    const dot = element("span", { class: "dot", style: { "--lane": `${lane(row.level)}px` } });
    return element("li", given, rail(row, lit, onPath), dot, element("span", { class: "told", style: { "--indent": `${lane(row.level) + MIDDLE}px` } }, element("bdi", {}, told)), ...this.#extras(row, told, current));
  }

  /** @param {import("./tree-shapes.js").TreeRow} row @param {string} told @param {boolean} current */
  #extras(row, told, current) {
    const { number, first } = row.node;
    const compare = () => compareWith(number);
    const tabindex = -1;
    return [
      row.passes.length > 0 && this.#passButton(row),
      row.branches > 0 && this.#foldButton(row),
      !current && number > 0 && iconButton("compare", t("tree.compare", { told }), compare, { tabindex, class: "compare-button" }),
      first && element("img", { src: thumbnail(first, 160), alt: "", class: "mini", loading: "lazy", width: 28, height: 28 }),
    ];
  }

  /** @param {import("./tree-shapes.js").TreeRow} row */
  #foldButton(row) {
    const label = t(row.hidden ? "tree.unfold" : "tree.fold", { n: row.branches });
    const onclick = () => this.#fold(row.node.number, row.hidden === 0);
    const count = row.hidden ? t("tree.hidden", { n: row.hidden }) : "";
    const given = { type: "button", tabindex: -1, class: "fold", title: label, "aria-label": label, onclick };
    return element("button", given, icon(row.hidden ? "next" : "down"), count);
  }

  /** @param {import("./tree-shapes.js").TreeRow} row */
  #passButton({ passes }) {
    const label = t("conversation.skips-show");
    return element("button", { type: "button", tabindex: -1, class: "fold", title: label, "aria-label": label, onclick: () => this.#open(passes) }, icon("next"));
  }

  /** Shows skipped questions one by one. @param {number[]} passes */
  #open(passes) {
    this.#opened.add(passes[0]);
    this.#at = passes[0];
    this.#render();
    this.querySelector(`[data-number="${passes[0]}"]`)?.focus({ preventScroll: true });
  }

  /** @param {number} number @param {boolean} fold */
  #fold(number, fold) {
    if (fold) this.#folded.add(number);
    else this.#folded.delete(number);
    this.#at = number;
    this.#render();
  }

  /** @param {Event} event @param {number} number */
  #clicked(event, number) {
    if (event.target.closest("button")) return;
    this.#at = number;
    actions.goTo(number);
  }

  /** @param {KeyboardEvent} event */
  #key(event) {
    const row = event.target.closest("[role=treeitem]");
    if (!row || event.ctrlKey || event.metaKey || event.altKey) return;
    const rows = [...this.querySelectorAll("[role=treeitem]")];
    const at = rows.indexOf(row);
    const number = Number(row.dataset.number);
    const open = row.getAttribute("aria-expanded");
    const folded = row.dataset.passes && row.dataset.passes.split(" ").map(Number);
    const level = Number(row.ariaLevel);
    /** @type {Record<string, () => void>} */
    const keys = {
      ArrowDown: () => this.#focus(rows[at + 1]),
      ArrowUp: () => this.#focus(rows[at - 1]),
      Home: () => this.#focus(rows[0]),
      End: () => this.#focus(rows.at(-1)),
      ArrowRight: () => (folded ? this.#open(folded) : open === "false" ? this.#fold(number, false) : this.#focus(rows[at + 1])),
      ArrowLeft: () => (open === "true" ? this.#fold(number, true) : this.#focus(rows.slice(0, at).findLast((each) => Number(each.ariaLevel) < level) ?? rows[at - 1])),
      Enter: () => void actions.goTo(number),
      " ": () => void actions.goTo(number),
      c: () => void (number > 0 && compareWith(number)),
    };
    // At its ends, an arrow leads out.
    const leadsOut = { ArrowDown: !rows[at + 1], ArrowUp: !at, ArrowRight: !folded && open !== "false" && !rows[at + 1], ArrowLeft: open !== "true" && !at }[event.key];
    if (!(event.key in keys) || leadsOut) return;
    event.preventDefault();
    event.stopPropagation();
    keys[event.key]();
  }

  /** @param {HTMLElement | undefined} row */
  #focus(row) {
    if (!row) return;
    this.#at = Number(row.dataset.number);
    for (const each of this.querySelectorAll("[role=treeitem]")) each.tabIndex = each === row ? 0 : -1;
    row.focus({ preventScroll: true });
    keepInView(this.querySelector(".turn-tree"), row);
  }
}

/** Scrolls the tree alone, never the page. @param {HTMLElement} tree @param {HTMLElement} row */
function keepInView(tree, row) {
  const top = row.offsetTop;
  if (top < tree.scrollTop) tree.scrollTop = top - row.offsetHeight;
  else if (top + row.offsetHeight > tree.scrollTop + tree.clientHeight) tree.scrollTop = top + 2 * row.offsetHeight - tree.clientHeight;
}

customElements.define("vf-tree", Tree);
