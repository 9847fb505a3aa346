// @ts-check
/** vf-picture: one picture, as large as the window allows, with all that is known of it. */

import * as actions from "./actions.js";
import * as api from "./api.js";
import { removePicture } from "./conversation-actions.js";
import { element, fill, icon, iconButton } from "./dom.js";
import { store } from "./store.js";
import { readable } from "./conversation-shapes.js";
import { t } from "./texts.js";

/** @typedef {import("./store.js").Hit & {turn?: number}} Hit  `turn`: as the picture of that turn of the conversation */

const SIMILAR = 12;

/** Its style comes with it: nothing of it is needed before a picture is opened. */
const styled = new Promise((resolve) => {
  document.head.append(element("link", { rel: "stylesheet", href: "/static/css/picture.css", onload: resolve, onerror: resolve }));
});

class Picture extends HTMLElement {
  connectedCallback() {
    this.dialog = element("dialog", { class: "picture", "aria-label": t("grid.details"), onkeydown: (event) => this.pressed(event),
      onclick: (event) => event.target === this.dialog && this.dialog.close(), onclose: () => fill(this.dialog) });
    fill(this, this.dialog);
    store.on(["turn"], () => this.dialog.close());
    store.on(["why"], () => this.dialog.open && this.explain());
  }
  /** @param {any} given  a result, or the id of a picture of the conversation and its turn */
  async open(given) {
    const hit = given.name ? given : await this.fromConversation(given);
    if (!hit) return;
    this.hit = hit;
    await styled;
    this.render();
    if (!this.dialog.open) this.dialog.showModal();
    this.dialog.querySelector("button.primary")?.focus();
    const [details, similar] = await Promise.all([
      actions.acting(() => api.get(`/pictures/${hit.id}`), { quiet: true }),
      actions.acting(() => api.get(`/pictures/${hit.id}/similar`, { n: SIMILAR }), { quiet: true }),
    ]);
    // By then another one may be open.
    if (this.hit !== hit) return;
    if (details) fill(this.details, ...this.told(details));
    if (similar) fill(this.similar, ...this.alike(similar.results));
  }

  /** @param {{id: string, turn: number}} given @returns {Promise<Hit | undefined>} */
  async fromConversation({ id, turn }) {
    const known = await actions.acting(() => api.get(`/pictures/${id}`), { quiet: true });
    if (!known) return undefined;
    const { names, captions, facts } = known;
    return { id, turn, name: names[0], caption: captions[0] ?? null, width: facts.width, height: facts.height, rank: 0, score: 0, match: "likely" };
  }

  render() {
    const hit = /** @type {Hit} */ (this.hit);
    this.details = element("div", { class: "details" });
    this.similar = element("div", { class: "similar" });
    this.why = element("div", { class: "why" });
    const image = element("img", { src: api.thumbnail(hit.id, 1280), alt: hit.caption ?? hit.name, width: hit.width, height: hit.height });
    // What the grid shows already stands in until the large one is here.
    image.style.backgroundImage = `url("${api.thumbnail(hit.id, 320)}")`;
    // Small pictures are made larger, but not until they are blots.
    Object.assign(image.style, { maxWidth: `${hit.width * 2}px`, maxHeight: `${hit.height * 2}px` });
    const step = (name, by) =>
      iconButton(name, t(`picture.${name}`), () => this.step(by), { class: `step ${name}`, disabled: !this.beside(by) });
    fill(this.dialog,
      element("div", { class: "large" }, image, step("previous", -1), step("next", 1)),
      element("div", { class: "side", tabindex: "0", role: "group", "aria-label": t("picture.facts") },
        element("header", {}, element("h2", {}, hit.caption ?? hit.name), iconButton("close", t("picture.close"), () => this.dialog.close())),
        this.place(), this.buttons(), this.why, this.details, this.similar));
    this.explain();
  }

  place() {
    const { rank, match } = /** @type {Hit} */ (this.hit);
    const total = store.state.results?.total ?? 0;
    const ranked = store.state.turn > 0 && this.at() >= 0;
    return ranked && element("p", { class: "quiet" }, t("picture.rank", { rank, total }), " · ", t(`match.${match}`));
  }

  buttons() {
    const hit = /** @type {Hit} */ (this.hit);
    const act = (drawing, key, work, kind = "") =>
      element("button", { type: "button", class: kind, onclick: () => (this.dialog.close(), work()) }, icon(drawing), t(key));
    return element("div", { class: "acts" },
      act("heart", hit.turn ? "picture.on" : "picture.like", () => actions.pin(hit), "primary"),
      act("found", "picture.found", () => actions.foundIt(hit.id)),
      act("reject", "picture.reject", () => actions.reject([hit.id])));
  }

  /** What each turn adds to the place it has. */
  explain() {
    const turns = store.state.why[this.hit?.id ?? ""]?.turns ?? [];
    const bar = (each) => {
      const share = Math.max(-1, Math.min(1, each.share));
      const line = element("span", { class: `share ${share < 0 ? "against" : ""}` });
      line.style.setProperty("--share", String(Math.abs(share)));
      return element("li", {}, element("span", {}, each.parts.join(", ")), line, element("span", { class: "quiet" }, t("picture.why.turn", { ...each, share })));
    };
    fill(this.why, turns.length > 0 && element("h3", {}, t("picture.why")), turns.length > 0 && element("ul", {}, ...turns.map(bar)));
  }
  told({ names, facts, captions, attributes, tags, original, id, known: told }) {
    const machines = told.filter(({ name, machine }) => machine && name !== "text boxes");
    const known = [
      ["names", names.join(", ")], ["size", t("picture.size", facts)], ["format", facts.format],
      ["captured", facts.captured], ["camera", facts.camera], ["folder", facts.folder],
    ].filter(([, value]) => value);
    const seen = Object.entries(tags).filter(([, [answer]]) => answer);
    return [
      captions.length > 0 && section("picture.captions", element("ul", {}, ...captions.map((it) => element("li", {}, it)))),
      Object.keys(attributes).length > 0 && section("picture.attributes", element("dl", {},
        ...Object.entries(attributes).map(([column, values]) => row(readable(column), values.join(", "), this.keep(column, values))))),
      machines.length > 0 && section("picture.machine", element("dl", {}, ...machines.map(({ name, values, source }) => row(readable(name), values.join(", "), element("span", { class: "quiet" }, source))))),
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
      fill(box, element("p", {}, t("picture.remove-sure")), button("picture.remove-now", "danger", () => (this.dialog.close(), removePicture(id))), keep);
      keep.focus();
    };
    offer();
    return box;
  }
  /** What is seen in it; of a picture of the conversation, it can be kept. @param {[string, [string, number]][]} seen */
  seen(seen) {
    if (this.hit?.turn) return element("dl", {}, ...seen.map(([group, [answer]]) => row(readable(group), answer, this.keep(group, [answer]))));
    const tag = ([group, [answer, chance]]) => element("span", { class: "tag", title: `${group} · ${Math.round(chance * 100)} %` }, answer);
    return element("p", { class: "tags" }, ...seen.map(tag));
  }
  keep(column, values) {
    const turn = this.hit?.turn ?? store.state.turn;
    const label = t("picture.keep", { column: readable(column), value: values.join(", ") });
    const onclick = () => (this.dialog.close(), actions.keep(column, turn));
    return turn > 0 && element("button", { type: "button", "aria-label": label, title: label, onclick }, t("picture.keep.short"));
  }
  alike(hits) {
    const tile = (hit) => element("button", { type: "button", "aria-label": hit.caption ?? hit.name, onclick: () => this.open(hit) },
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
  step(by) {
    const next = this.beside(by);
    if (next) void this.open(next);
    if (this.at() > (store.state.results?.results.length ?? 0) - 8) void actions.more();
  }
  pressed(event) {
    /** @type {Record<string, () => void>} */
    const keys = {
      ArrowLeft: () => this.step(-1),
      ArrowRight: () => this.step(1),
      f: () => (this.dialog.close(), actions.foundIt(this.hit?.id ?? "")),
      x: () => (this.dialog.close(), actions.reject([this.hit?.id ?? ""])),
      " ": () => this.dialog.close(),
    };
    const onButton = event.key === " " && event.target instanceof HTMLButtonElement;
    event.stopPropagation();
    if (!keys[event.key] || onButton) return;
    event.preventDefault();
    keys[event.key]();
  }
}
const row = (name, value, act = null) => element("div", {}, element("dt", {}, name), element("dd", {}, value, act));
const section = (key, ...children) => element("section", {}, element("h3", {}, t(key)), ...children);

customElements.define("vf-picture", Picture);
