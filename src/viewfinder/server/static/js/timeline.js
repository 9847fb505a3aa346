// @ts-check
/** vf-timeline: when the pictures were taken, as bars, and two handles that choose from when to when. */

import { more, setWhere } from "./actions.js";
import * as api from "./api.js";
import { dateName as told } from "./columns.js";
import { element, fill } from "./dom.js";
import { announce } from "./live.js";
import { store } from "./store.js";
import { t } from "./texts.js";

/** @typedef {{stretch: string, pictures: number}} Stretch */

const COLUMN = "captured";
/** Months, or years where there are more. */
const MAX_BARS = 180;
/** Among so many pictures one is scrolled to a month: further down there are too many to fetch on the way. */
const MAX_WAY = 20_000;
const LARGE_PAGE = 500;
const PAUSE_MS = 100;
const narrow = matchMedia("(max-width: 899px)");

/** All months (or years) from the first to the last, with how many pictures each has. @param {Stretch[]} counted @returns {Stretch[]} */
function fillGaps(counted) {
  if (!counted.length) return [];
  const [first, last] = [counted[0].stretch, counted[counted.length - 1].stretch];
  const [from, to] = [Number(first.slice(0, 4)), Number(last.slice(0, 4))];
  const isLong = (to - from + 1) * 12 > MAX_BARS;
  /** @type {Map<string, number>} */
  const counts = new Map();
  for (const { stretch, pictures } of counted) {
    const name = isLong ? stretch.slice(0, 4) : stretch.length > 4 ? stretch : `${stretch}-01`;
    counts.set(name, (counts.get(name) ?? 0) + pictures);
  }
  const names = [];
  for (let year = from; year <= to; year += 1) {
    for (let month = 1; month <= 12; month += 1) names.push(isLong ? String(year).padStart(4, "0") : `${String(year).padStart(4, "0")}-${String(month).padStart(2, "0")}`);
  }
  const all = [...new Set(names)];
  const there = isLong ? all : all.slice(Number(first.slice(5, 7) || 1) - 1, all.length - 12 + Number(last.slice(5, 7) || 12));
  return there.map((stretch) => ({ stretch, pictures: counts.get(stretch) ?? 0 }));
}

class Timeline extends HTMLElement {
  /** @type {Stretch[]} */
  #bars = [];
  #undated = 0;
  #asked = "";
  /** The bar that is scrolled to. */
  #wanted = -1;

  connectedCallback() {
    store.on(["where", "collection"], () => this.#read());
    this.hidden = true;
    this.#read();
  }

  /** Counts again, when other filters have changed; its own do not change what it counts. */
  async #read() {
    const { [COLUMN]: _, ...where } = store.state.where;
    const key = JSON.stringify([where, store.state.collection?.pictures]);
    if (key === this.#asked) return this.#mark();
    this.#asked = key;
    // A filter that nothing meets is told of elsewhere.
    const found = await api.post("/collection/timeline", { where }).catch(() => null);
    if (key !== this.#asked || !found) return;
    this.#bars = fillGaps(found.stretches);
    this.#undated = found.undated;
    this.#render();
  }

  /** The places of the first and the last bar that are chosen. @returns {[number, number]} */
  #chosen() {
    const [from, to] = (store.state.where[COLUMN] ?? "").split("..");
    const last = this.#bars.length - 1;
    if (!from && !to) return [0, last];
    const begin = this.#bars.findIndex(({ stretch }) => !from || stretch >= from.slice(0, stretch.length));
    const end = this.#bars.findLastIndex(({ stretch }) => !(to ?? from) || stretch <= (to ?? from).slice(0, stretch.length));
    return [begin < 0 ? last : begin, Math.max(end, 0)];
  }

  #render() {
    this.hidden = this.#bars.length < 2;
    if (this.hidden) return fill(this);
    const most = Math.max(...this.#bars.map(({ pictures }) => pictures));
    // A bar that has anything is to be seen.
    const bar = ({ stretch, pictures }, at) => element("i", { style: { "--share": String(pictures ? Math.max(0.06, pictures / most) : 0) }, title: t("timeline.bar", { when: told(stretch), n: pictures }), onclick: () => this.#choose(at), onpointerenter: ({ buttons }) => buttons === 1 && this.#isOrdered(at) && this.#scrollTo(at) });
    const last = this.#bars.length - 1;
    const handle = (key, at) => element("input", { type: "range", min: "0", max: String(last), step: "1", value: String(at), class: key, "aria-label": t(`timeline.${key}`), "data-key": `timeline-${key}`, oninput: () => this.#slide(key), onchange: () => this.#set(Number(this.from.value), Number(this.to.value)) });
    const [begin, end] = this.#chosen();
    this.bars = element("div", { class: "timeline-bars", "aria-hidden": "true" }, ...this.#bars.map(bar));
    this.from = handle("from", begin);
    this.to = handle("to", end);
    this.said = element("p", { class: "quiet timeline-said" });
    fill(this, element("h3", {}, t("timeline.title")), this.bars, element("div", { class: "timeline-handles", role: "group", "aria-label": t("timeline.title") }, this.from, this.to), this.said,
      this.#undated > 0 && element("p", { class: "quiet timeline-said" }, t("timeline.undated", { n: this.#undated })));
    this.#mark();
  }

  /** Neither handle passes the other. @param {string} key */
  #slide(key) {
    const [low, high] = [Number(this.from.value), Number(this.to.value)];
    if (low > high) (key === "from" ? this.from : this.to).value = String(key === "from" ? high : low);
    this.#tell(Number(this.from.value), Number(this.to.value));
  }

  #mark() {
    if (!this.from || this.hidden) return;
    const [begin, end] = this.#chosen();
    [this.from.value, this.to.value] = [String(begin), String(end)];
    this.#tell(begin, end);
  }

  /** @param {number} begin @param {number} end */
  #tell(begin, end) {
    const [from, to] = [this.#bars[begin]?.stretch, this.#bars[end]?.stretch];
    if (!from || !to) return;
    this.from.setAttribute("aria-valuetext", told(from));
    this.to.setAttribute("aria-valuetext", told(to));
    const n = this.#bars.slice(begin, end + 1).reduce((sum, { pictures }) => sum + pictures, 0);
    this.said.textContent = t(from === to ? "timeline.bar" : "timeline.stretch", { when: told(from), from: told(from), to: told(to), n });
    [...this.bars.children].forEach((each, at) => each.classList.toggle("on", at >= begin && at <= end));
    // Where both stand at one place, that is on top which can go further.
    this.from.style.zIndex = begin > (this.#bars.length - 1) / 2 ? "1" : "";
    const share = (at) => `${(at / Math.max(1, this.#bars.length - 1)) * 100}%`;
    this.style.setProperty("--begin", share(begin));
    this.style.setProperty("--end", share(end));
  }

  /** @param {number} at */
  #choose(at) {
    if (!this.#isOrdered(at)) return this.#set(at, at);
    void this.#scrollTo(at);
    if (narrow.matches) document.getElementById("filters-button")?.click(); // it lies over the pictures
  }

  /** Whether all pictures stand by their dates, so that a bar is a place among them; else it filters. @param {number} at */
  #isOrdered(at) {
    const { order, turn, previewing, where, results } = store.state;
    const before = order === "newest" ? this.#bars.slice(at + 1) : this.#bars.slice(0, at);
    const way = before.reduce((sum, { pictures }) => sum + pictures, 0);
    return Boolean(order && results) && turn === 0 && !previewing && !(COLUMN in where) && way < MAX_WAY;
  }

  /** Scrolls to the first picture of a bar, or the first after it. @param {number} at */
  async #scrollTo(at) {
    this.#wanted = at;
    const { stretch } = this.#bars[at];
    const { order } = store.state;
    const isThere = ({ captured }) => captured && (order === "newest" ? captured.slice(0, stretch.length) <= stretch : captured >= stretch);
    /** @type {any} */
    const grid = document.querySelector("vf-grid");
    announce(told(stretch));
    while (this.#wanted === at && store.state.order === order) {
      const place = (store.state.results?.results ?? []).findIndex(isThere);
      if (place >= 0) return void (grid.scrollTop = grid.boxes[place].y);
      const { results } = store.state;
      if (!results?.next || !store.state.online) return;
      await more(LARGE_PAGE);
      // Another page was on its way already.
      if (store.state.results === results) await new Promise((resolve) => setTimeout(resolve, PAUSE_MS));
    }
  }

  /** Shows only what was taken between two bars. @param {number} begin @param {number} end */
  #set(begin, end) {
    const { [COLUMN]: before, ...others } = store.state.where;
    const isAll = begin === 0 && end === this.#bars.length - 1;
    const [from, to] = [this.#bars[begin].stretch, this.#bars[end].stretch];
    const value = isAll ? "" : from === to ? from : `${from}..${to}`;
    if (value === (before ?? "")) return;
    void setWhere(value ? { ...others, [COLUMN]: value } : others);
    announce(this.said.textContent ?? "");
    this.#tell(begin, end);
  }
}

customElements.define("vf-timeline", Timeline);
