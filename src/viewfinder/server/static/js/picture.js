// @ts-check
/** vf-picture: one picture, as large as the window allows, with all that is known of it and what can be done with it.
 * It has an address of its own, so that "back" closes it. */

import * as actions from "./actions.js";
import * as api from "./api.js";
import { removePicture } from "./conversation-actions.js";
import { nameOfWay } from "./conversation-parts.js";
import { element, fill, icon, iconButton } from "./dom.js";
import "./icons.js";
import { Stage, fetchAhead } from "./lightbox.js";
import { hashOf, pictureOf } from "./router.js";
import { toggle } from "./selection.js";
import { Slideshow } from "./slideshow.js";
import { nameOf, store } from "./store.js";
import { columnName } from "./columns.js";
import { readable } from "./conversation-shapes.js";
import * as taking from "./taking.js";
import { language, listed, number, t } from "./texts.js";

/** @typedef {import("./store.js").Hit & {turn?: number}} Hit  `turn`: as the picture of that turn of the conversation */

const SIMILAR = 12;
/** So near the end of what has been fetched, more is asked for. */
const NEAR_END = 8;
const WITHOUT_FACTS = "viewfinder-facts-hidden";

/** Its style comes with it: nothing of it is needed before a picture is opened. */
const styled = new Promise((resolve) => {
  document.head.append(element("link", { rel: "stylesheet", href: "/static/css/picture.css", onload: resolve, onerror: resolve }));
});

class Picture extends HTMLElement {
  connectedCallback() {
    this.stage = new Stage({ step: (by) => this.step(by), close: () => this.close(), changed: () => this.measured() });
    this.slides = new Slideshow(() => this.step(1, { fade: true }), () => this.playing());
    this.side = element("div", { class: "side", id: "picture-facts", tabindex: "0", role: "group", "aria-label": t("picture.facts") });
    this.heard = element("p", { class: "unseen", role: "status" });
    this.tools = element("div", { class: "canvas-tools", role: "group", "aria-label": t("picture.tools") });
    const step = (name, by) => iconButton(name, t(`picture.${name}`), () => this.step(by), { class: `step ${name}` });
    this.steps = [step("previous", -1), step("next", 1)];
    this.dialog = element("dialog", { class: "picture", "aria-label": t("grid.details"), onkeydown: (event) => this.pressed(event), onclose: () => this.closed() },
      element("div", { class: "large" }, this.stage.root, ...this.steps, this.tools), this.side, this.heard);
    this.dialog.classList.toggle("bare", localStorage.getItem(WITHOUT_FACTS) !== null);
    fill(this, this.dialog);
    store.on(["turn"], () => this.dialog.open && this.close());
    store.on(["why"], () => this.dialog.open && this.explain());
    store.on(["marks", "albums", "selected", "me"], () => this.dialog.open && this.mark());
    // A page of results that has come may hold the next one.
    store.on(["results"], () => this.dialog.open && this.place());
  }
  /** @param {any} given  a result, or the id of a picture of the conversation and its turn */
  async open(given, { fade = false } = {}) {
    const hit = given.name ? given : await this.fromConversation(given);
    if (!hit) return;
    this.hit = hit;
    await styled;
    if (this.hit !== hit) return;
    const isNew = !this.dialog.open;
    if (isNew) {
      this.dialog.showModal();
      if (!pictureOf()) history.pushState({ ...history.state, opened: true }, "", hashOf(hit.id));
    }
    if (pictureOf() !== hit.id) history.replaceState(history.state, "", hashOf(hit.id));
    const shown = this.stage.show(hit, { fade });
    this.render();
    if (isNew) this.stage.root.focus();
    fetchAhead([1, -1, 2].map((by) => this.beside(by)), Math.max(innerWidth, innerHeight));
    void taking.readMarks([hit.id]);
    if (!store.state.albums) taking.readAlbums().catch(() => {});
    await shown;
    const [details, similar] = await Promise.all([
      actions.acting(() => api.get(`/pictures/${hit.id}`), { quiet: true }),
      this.slides.isOn ? undefined : actions.acting(() => api.get(`/pictures/${hit.id}/similar`, { n: SIMILAR }), { quiet: true }),
    ]);
    // By then another one may be open.
    if (this.hit !== hit) return;
    if (details) fill(this.details, ...this.told(details));
    if (similar) fill(this.similar, ...this.alike(similar.results));
  }

  /** @param {{id: string, turn?: number}} given @returns {Promise<Hit | undefined>} */
  async fromConversation({ id, turn }) {
    const known = await actions.acting(() => api.get(`/pictures/${id}`), { quiet: true });
    if (!known) return undefined;
    const { names, captions, facts } = known;
    return { id, turn, name: names[0], caption: captions[0] ?? null, width: facts.width, height: facts.height, rank: 0, score: 0, match: "likely" };
  }

  /** Opens, changes or closes as the address has it. */
  async follow() {
    const id = pictureOf();
    if (!id) return this.dialog.open && this.close();
    if (this.dialog.open && this.hit?.id === id) return;
    await this.open(store.state.results?.results.find((hit) => hit.id === id) ?? { id });
  }

  /** @returns {Promise<any>} when the address is that of the results again */
  close() {
    if (this.dialog.open) this.dialog.close();
    if (!pictureOf()) return Promise.resolve();
    if (!history.state?.opened) return Promise.resolve(history.replaceState(history.state, "", location.pathname + location.search));
    // Once, however often it is asked for until the address has changed.
    this.leaving ??= new Promise((resolve) => {
      addEventListener("popstate", () => resolve((this.leaving = undefined)), { once: true });
      history.back();
    });
    return this.leaving;
  }

  /** The focus goes to the picture that was looked at last. */
  closed() {
    if (this.dialog.open) return; // the event comes late: by now it is open again
    this.slides.stop();
    if (pictureOf()) void this.close();
    const at = this.at();
    /** @type {any} */
    const grid = document.querySelector("vf-grid");
    if (at >= 0 && document.activeElement?.closest("vf-grid, body")) grid.focusOn(at);
    this.hit = undefined;
    fill(this.side);
  }

  /** What leads away from the picture. @param {() => any} work */
  async leave(work) {
    await this.close();
    await work();
  }

  render() {
    const hit = /** @type {Hit} */ (this.hit);
    this.details = element("div", { class: "details" });
    this.similar = element("div", { class: "similar" });
    this.why = element("div", { class: "why" });
    this.ranked = element("p", { class: "quiet" });
    this.taken = element("div", { class: "taken" });
    const had = this.side.contains(document.activeElement);
    fill(this.side, element("div", { class: "title" }, element("h2", { dir: "auto" }, hit.caption ?? hit.name)), this.ranked, this.buttons(), this.taken, this.why, this.details, this.similar);
    this.side.scrollTop = 0;
    this.place();
    this.mark();
    this.explain();
    if (had) this.stage.root.focus();
  }

  /** Where it stands among the results, and whether there is another on each side. */
  place() {
    const hit = /** @type {Hit} */ (this.hit);
    const { rank, match } = hit;
    const total = store.state.results?.total ?? 0;
    const at = this.at();
    const where = at >= 0 ? t("picture.rank", { rank, total }) : "";
    const isRanked = store.state.turn > 0 && at >= 0;
    fill(this.ranked, where, isRanked && ` · ${t(`match.${match}`)}`);
    const name = nameOf(hit);
    const told = where ? t("picture.heard", { where, name }) : name;
    this.stage.root.setAttribute("aria-label", told);
    if (this.heard.textContent !== told) this.heard.textContent = told;
    // Not `disabled`: that would take the focus from the button.
    this.steps.forEach((button, index) => button.setAttribute("aria-disabled", String(!this.beside(index ? 1 : -1))));
  }

  buttons() {
    const hit = /** @type {Hit} */ (this.hit);
    const act = (drawing, key, work, kind = "") =>
      element("button", { type: "button", class: kind, onclick: () => this.leave(work) }, icon(drawing), t(key));
    return element("div", { class: "acts" },
      act("like", hit.turn ? "picture.on" : "picture.like", () => actions.pin(hit), "primary"),
      act("found", "picture.found", () => actions.foundIt(hit.id)),
      act("reject", "picture.reject", () => actions.reject([hit.id])));
  }

  /** What is done with the picture: the buttons above it, and those beside it. */
  mark() {
    const hit = /** @type {Hit} */ (this.hit);
    const { favourite, albums } = taking.markOf(hit.id);
    const { selected } = store.state;
    const focused = /** @type {HTMLElement | null} */ (document.activeElement)?.dataset.act;
    const tool = (act, drawing, label, work, given = {}) => iconButton(drawing, label, work, { "data-act": act, ...given });
    this.percent = element("span", { class: "percent" });
    const seconds = element("select", { "aria-label": t("show.seconds"), "data-act": "seconds", onchange: () => this.slides.setSeconds(Number(seconds.value)) },
      ...Slideshow.SECONDS.map((n) => element("option", { value: String(n), selected: n === this.slides.seconds }, t("show.every", { n }))));
    fill(this.tools,
      taking.mayMark() && tool("heart", "heart", t("take.favourite"), () => taking.toggleFavourite([hit.id]), { class: favourite ? "lit" : "", "aria-pressed": String(favourite) }),
      tool("select", "check", t("select.one"), () => toggle(hit), { class: selected.has(hit.id) ? "lit" : "", "aria-pressed": String(selected.has(hit.id)) }),
      taking.mayTake() && element("a", { class: "icon-button", href: taking.fileAddress(hit.id), download: hit.name, "aria-label": t("take.download"), title: t("take.download"), "data-act": "download" }, icon("download")),
      tool("out", "minus", t("picture.zoom-out"), this.stage.out), this.percent, tool("in", "add", t("picture.zoom-in"), this.stage.in),
      this.slides.isOn && seconds,
      tool("play", this.slides.isOn ? "pause" : "play", t(this.slides.isOn ? "show.pause" : "show.play"), () => this.slides.turn()),
      tool("more", "more", t("grid.menu"), (event) => taking.openPictureMenu(event.currentTarget, hit, { go: (work) => void this.leave(work) }), { "aria-haspopup": "menu" }),
      tool("facts", "info", t("picture.facts-switch"), () => this.bare(), { "aria-expanded": String(!this.dialog.classList.contains("bare")), "aria-controls": "picture-facts" }),
      tool("close", "close", t("picture.close"), () => this.close()));
    if (focused) /** @type {HTMLElement | null} */ (this.dialog.querySelector(`[data-act=${focused}]`))?.focus();
    this.measured();
    const link = (id) => element("a", { class: "tag", href: `/album/${id}` }, icon("album"), taking.albumName(id));
    fill(this.taken, ...(taking.mayMark() ? [taking.starButtons([hit.id])] : []),
      albums.length > 0 && element("p", { class: "tags", role: "group", "aria-label": t("albums.in") }, ...albums.map(link)));
  }

  /** How large it is shown. */
  measured() {
    if (this.percent) this.percent.textContent = t("picture.percent", { percent: Math.round(this.stage.share * 100) });
  }

  /** Shows or hides what is known beside it. */
  bare() {
    const isBare = this.dialog.classList.toggle("bare");
    if (isBare) localStorage.setItem(WITHOUT_FACTS, "");
    else localStorage.removeItem(WITHOUT_FACTS);
    this.mark();
  }

  /** The slideshow has begun or ended. */
  playing() {
    this.dialog.classList.toggle("playing", this.slides.isOn);
    if (this.slides.isOn) this.stage.whole();
    if (this.hit) this.mark();
    this.heard.textContent = t(this.slides.isOn ? "show.on" : "show.off");
  }

  /** What each turn adds to the place it has, and what each other system does that is asked. */
  explain() {
    const why = store.state.why[this.hit?.id ?? ""];
    const lines = why?.systems ?? why?.turns ?? [];
    const bar = (each) => {
      const share = Math.max(-1, Math.min(1, each.share));
      const line = element("span", { class: `share ${share < 0 ? "against" : ""}` });
      line.style.setProperty("--share", String(Math.abs(share)));
      const percent = Math.round(share * 100);
      const [said, told] = each.system
        ? [t("picture.why.system", { system: nameOfWay(each.system) }), t("picture.percent", { percent })]
        : [listed(each.parts), t("picture.why.turn", { turn: each.turn, percent })];
      return element("li", {}, element("span", { dir: "auto" }, said), line, element("span", { class: "quiet" }, told));
    };
    fill(this.why, lines.length > 0 && element("h3", {}, t("picture.why")), lines.length > 0 && element("ul", {}, ...lines.map(bar)));
  }
  /** All that is known, each with where it is from. @param {any} details as the API has them */
  told({ names, facts, captions, attributes, tags, original, id, paths = [], known: told }) {
    const isRead = ({ name }) => name === "text";
    const machines = told.filter((each) => each.machine && !isRead(each) && each.name !== "text boxes");
    const read = told.filter((each) => each.machine && isRead(each));
    const own = told.filter(({ machine }) => !machine);
    const isTold = (name) => own.some((each) => each.name === name);
    const known = [
      ["names", listed(names)], ["path", paths.length > 0 && element("span", {}, ...paths.map((path) => element("bdi", { class: "path" }, path)))], ["size", t("picture.size", facts)], ["format", facts.format], ["bytes", bytesTold(facts.bytes)],
      ...["captured", "camera", "folder"].map((name) => [name, !isTold(name) && facts[name] && momentTold(facts[name])]),
    ].filter(([, value]) => value);
    const seen = Object.entries(tags).filter(([, [answer]]) => answer);
    const line = (each) => row(each.name === "captured" ? t("picture.fact.captured") : columnName(each.name), element("span", {}, listed(each.values.map(momentTold)), from(each.source)));
    return [
      captions.length > 0 && section("picture.captions", element("ul", {}, ...captions.map((it) => element("li", { dir: "auto" }, it)))),
      Object.keys(attributes).length > 0 && section("picture.attributes", element("dl", {},
        ...Object.entries(attributes).map(([column, values]) => row(readable(column), listed(values), this.keep(column, values))))),
      own.length > 0 && section("picture.own", element("dl", {}, ...own.map(line))),
      read.length > 0 && section("picture.read", ...read.map(({ values, source }) => element("p", {}, values.join(" · "), from(source)))),
      machines.length > 0 && section("picture.machine", element("dl", {}, ...machines.map(line))),
      seen.length > 0 && section("picture.seen", this.seen(seen)),
      section("picture.facts", element("dl", {}, ...known.map(([key, value]) => row(t(`picture.fact.${key}`), value)))),
      original && element("p", {}, element("a", { href: api.original(id), target: "_blank", rel: "noopener" }, t("picture.original"))),
      store.state.me?.scopes?.includes("admin") && this.removal(id),
    ];
  }
  /** Asks once more before a picture leaves the library. @param {string} id */
  removal(id) {
    const box = element("div", { class: "removal" });
    const button = (key, kind, onclick) => element("button", { type: "button", class: kind, onclick }, t(key));
    const offer = () => fill(box, button("picture.remove", "link", ask));
    const ask = () => {
      const keep = button("picture.remove-keep", "", offer);
      fill(box, element("p", {}, t("picture.remove-sure")), button("picture.remove-now", "danger", () => this.leave(() => removePicture(id))), keep);
      keep.focus();
    };
    offer();
    return box;
  }
  /** What is seen in it; of a picture of the conversation, it can be kept. @param {[string, [string, number]][]} seen */
  seen(seen) {
    if (this.hit?.turn) return element("dl", {}, ...seen.map(([group, [answer]]) => row(readable(group), answer, this.keep(group, [answer]))));
    const tag = ([group, [answer, chance]]) => element("span", { class: "tag", dir: "auto", title: `${group} · ${Math.round(chance * 100)} %` }, answer);
    return element("p", { class: "tags" }, ...seen.map(tag));
  }
  keep(column, values) {
    const turn = this.hit?.turn ?? store.state.turn;
    const label = t("picture.keep", { column: readable(column), value: listed(values) });
    const onclick = () => this.leave(() => actions.keep(column, turn));
    return turn > 0 && element("button", { type: "button", "aria-label": label, title: label, onclick }, t("picture.keep.short"));
  }
  alike(hits) {
    const tile = (hit) => element("button", { type: "button", "aria-label": nameOf(hit), onclick: () => this.open(hit) },
      element("img", { src: api.thumbnail(hit.id, 160), alt: "", loading: "lazy" }));
    return [section("picture.similar", hits.length ? element("div", { class: "strip" }, ...hits.map(tile)) : element("p", { class: "quiet" }, t("picture.nosimilar")))];
  }

  at() {
    if (this.hit?.turn) return -1;
    return store.state.results?.results.findIndex((hit) => hit.id === this.hit?.id) ?? -1;
  }

  /** The result before or after this one. @param {number} by */
  beside(by) {
    const at = this.at();
    return at < 0 ? undefined : store.state.results?.results[at + by];
  }
  /** @param {number} by @param {{fade?: boolean}} [given] @returns {Promise<boolean>} whether there was another one */
  async step(by, { fade = false } = {}) {
    const near = (store.state.results?.results.length ?? 0) - NEAR_END;
    const fetched = this.at() + by > near && actions.more();
    if (fetched && !this.beside(by)) await fetched;
    const next = this.dialog.open && this.beside(by);
    if (!next) return false;
    if (!fade) this.slides.putOff();
    await this.open(next, { fade });
    return true;
  }
  /** @param {KeyboardEvent} event */
  pressed(event) {
    const { stage } = this;
    const hit = /** @type {Hit} */ (this.hit);
    const move = (x, y) => (stage.isZoomed ? stage.pan(x, y) : x && this.step(x));
    const forward = document.dir === "rtl" ? -1 : 1;
    const mark = (work) => (taking.mayMark() ? work() : undefined);
    /** @type {Record<string, () => any>} */
    const keys = {
      ArrowLeft: () => move(-forward, 0),
      ArrowRight: () => move(forward, 0),
      ...(stage.isZoomed ? { ArrowUp: () => move(0, -1), ArrowDown: () => move(0, 1) } : {}),
      PageUp: () => this.step(-1),
      PageDown: () => this.step(1),
      "+": stage.in,
      "=": stage.in,
      "-": stage.out,
      "0": stage.whole,
      " ": () => this.slides.turn(),
      i: () => this.bare(),
      s: () => toggle(hit),
      d: () => taking.mayTake() && taking.download([hit]),
      h: () => mark(() => taking.toggleFavourite([hit.id])),
      m: () => this.leave(() => actions.pin(hit)),
      f: () => this.leave(() => actions.foundIt(hit.id)),
      x: () => this.leave(() => actions.reject([hit.id])),
      ...Object.fromEntries([1, 2, 3, 4, 5].map((stars) => [String(stars), () => mark(() => taking.toggleStars([hit.id], stars))])),
    };
    const at = /** @type {Element} */ (event.target);
    const isButtons = [" ", "Enter"].includes(event.key) && at.closest("button, a");
    event.stopPropagation();
    if (!keys[event.key] || isButtons || at.closest("select, input") || event.ctrlKey || event.metaKey || event.altKey) return;
    event.preventDefault();
    keys[event.key]();
  }
}
const MOMENT = /^\d{4}-\d\d-\d\dT\d\d:\d\d(:\d\d)?$/;
const moments = new Intl.DateTimeFormat(language, { dateStyle: "long", timeStyle: "short", timeZone: "UTC" });

/** A moment as one writes it, on the clock of where it was; anything else as it is. @param {string} value */
const momentTold = (value) => (MOMENT.test(value) ? moments.format(new Date(`${value}Z`)) : value);

/** Where something is known from. @param {string} source */
const from = (source) => element("span", { class: "from quiet" }, source);

/** @param {number} bytes */
function bytesTold(bytes) {
  if (!bytes) return "";
  const [n, unit] = bytes < 1e6 ? [Math.max(1, Math.round(bytes / 1e3)), "kilobytes"] : [Math.round(bytes / 1e5) / 10, "megabytes"];
  return t(`picture.${unit}`, { size: number(n) });
}

const row = (name, value, act = null) => element("div", {}, element("dt", { dir: "auto" }, name), element("dd", { dir: "auto" }, value, act));
const section = (key, ...children) => element("section", {}, element("h3", {}, t(key)), ...children);

customElements.define("vf-picture", Picture);
