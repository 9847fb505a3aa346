// @ts-check
/** vf-map: where pictures were taken, those near one another as one mark; a mark that is chosen filters by its area.
 * The outlines of land and borders come with the page: nothing is asked of anybody else. */

import { setWhere } from "./actions.js";
import * as api from "./api.js";
import { element, fill, iconButton } from "./dom.js";
import { announce } from "./live.js";
import { store } from "./store.js";
import { number, t } from "./texts.js";

/** @typedef {{south: number, west: number, north: number, east: number}} Area */
/** @typedef {{latitude: number, longitude: number, pictures: number, picture: string, name: string | null, area: Area}} Cluster */

const SVG = "http://www.w3.org/2000/svg";
/** Degrees from edge to edge: not nearer, as the outlines are coarse. */
const NEAREST = 0.02;
/** What one press of a button or turn of a wheel does to the width. */
const STEP = 2;
/** Marks side by side, in the panel and in large. */
const CELLS = 7;
const CELLS_LARGE = 16;
const READ_MS = 150;

class WorldMap extends HTMLElement {
  /** The middle of what is shown, and how many degrees it is wide. */
  #view = { latitude: 20, longitude: 0, width: 360 };
  #asked = "";
  #marked = "";
  #isPlaced = false;
  /** @type {ReturnType<typeof setTimeout> | undefined} */
  #reading;
  #clusters = /** @type {Cluster[]} */ ([]);

  connectedCallback() {
    this.hidden = true;
    this.drawing = document.createElementNS(SVG, "svg");
    this.drawing.setAttribute("aria-hidden", "true");
    this.drawing.setAttribute("preserveAspectRatio", "none");
    this.marks = element("ul", { class: "map-marks", role: "list", "aria-label": t("map.marks") });
    const zoom = (name, key, by) => iconButton(name, t(key), () => this.#zoom(by), { class: "small", "data-key": key });
    this.grow = iconButton("expand", t("map.large"), () => this.#enlarge(), { class: "small map-grow" });
    this.view = element("div", { class: "map-view" }, this.drawing, this.marks,
      element("div", { class: "map-tools", role: "group", "aria-label": t("map.zoom") }, zoom("add", "map.in", STEP), zoom("minus", "map.out", 1 / STEP), this.grow));
    this.dialog = element("dialog", { class: "map-dialog", "aria-label": t("map.title"), onclose: () => this.#shrink(), onkeydown: (event) => this.#pressed(event), onclick: (event) => event.target === this.dialog && this.dialog.close() });
    this.said = element("p", { class: "quiet timeline-said" });
    fill(this, element("h3", {}, t("map.title")), this.view, this.said, this.dialog);
    this.#listen();
    store.on(["where", "collection"], () => this.#read());
    this.#read();
  }

  #listen() {
    this.view.addEventListener("wheel", (event) => {
      event.preventDefault();
      this.#zoom(event.deltaY < 0 ? STEP ** 0.5 : STEP ** -0.5, event);
    }, { passive: false });
    this.drawing.addEventListener("pointerdown", (event) => {
      this.drawing.setPointerCapture(event.pointerId);
      let last = event;
      const move = (to) => {
        const scale = this.#view.width / this.view.clientWidth;
        this.#look({ longitude: this.#view.longitude - (to.clientX - last.clientX) * scale, latitude: this.#view.latitude + (to.clientY - last.clientY) * scale * this.#squeeze() });
        last = to;
      };
      this.drawing.addEventListener("pointermove", move);
      this.drawing.addEventListener("lostpointercapture", () => this.drawing.removeEventListener("pointermove", move), { once: true });
    });
    new ResizeObserver(() => this.#draw()).observe(this.view);
  }

  /** Degrees of latitude for one of longitude, so that shapes are as they are in the middle of the map. */
  #squeeze() {
    return Math.max(0.3, Math.cos((this.#view.latitude * Math.PI) / 180));
  }

  /** @returns {Area} */
  #area() {
    const { latitude, longitude, width } = this.#view;
    const height = (width * this.#squeeze() * this.view.clientHeight) / Math.max(1, this.view.clientWidth);
    return { south: latitude - height / 2, north: latitude + height / 2, west: longitude - width / 2, east: longitude + width / 2 };
  }

  /** Shows another part. @param {{latitude?: number, longitude?: number, width?: number}} change */
  #look(change) {
    const wanted = { ...this.#view, ...change };
    const between = (low, value, high) => Math.min(high, Math.max(low, value));
    this.#view = { latitude: between(-85, wanted.latitude, 85), longitude: between(-180, wanted.longitude, 180), width: between(NEAREST, wanted.width, 360) };
    this.#draw();
    clearTimeout(this.#reading);
    this.#reading = setTimeout(() => this.#read(), READ_MS);
  }

  /** @param {number} by @param {{clientX: number, clientY: number}} [at]  what stays where it is */
  #zoom(by, at) {
    const before = this.#area();
    const box = this.view.getBoundingClientRect();
    const [x, y] = at ? [(at.clientX - box.left) / box.width, (at.clientY - box.top) / box.height] : [0.5, 0.5];
    const [longitude, latitude] = [before.west + x * (before.east - before.west), before.north - y * (before.north - before.south)];
    const share = 1 / by;
    this.#look({ width: this.#view.width * share, longitude: longitude + (this.#view.longitude - longitude) * share, latitude: latitude + (this.#view.latitude - latitude) * share });
  }

  /** Shows an area with some room around it. @param {Area} area */
  #fit({ south, north, west, east }) {
    const latitude = (south + north) / 2;
    const squeeze = Math.max(0.3, Math.cos((latitude * Math.PI) / 180));
    const high = ((north - south) / squeeze) * (this.view.clientWidth / Math.max(1, this.view.clientHeight));
    this.#look({ latitude, longitude: (west + east) / 2, width: Math.max(east - west, high, NEAREST / 1.3) * 1.3 });
  }

  async #read() {
    const { latitude: _, longitude: __, ...where } = store.state.where;
    const area = this.#isPlaced ? this.#area() : null;
    const within = area && { south: Math.max(-90, area.south), north: Math.min(90, area.north), west: Math.max(-180, area.west), east: Math.min(180, area.east) };
    const cells = this.dialog.open ? CELLS_LARGE : CELLS;
    const key = JSON.stringify([where, within, cells, store.state.collection?.pictures]);
    if (key === this.#asked) return;
    this.#asked = key;
    const found = await api.post("/collection/places", { where, ...(within ? { area: within } : {}), cells }).catch(() => null);
    if (!found || key !== this.#asked) return;
    this.hidden = !found.bounds && !this.#isPlaced;
    if (this.hidden) return;
    if (!this.drawing.firstChild) await this.#outline();
    this.said.textContent = t("map.places", { n: found.total });
    this.#clusters = found.clusters;
    if (!this.#isPlaced) {
      this.#isPlaced = true;
      this.#fit(found.bounds);
    }
    this.#mark();
  }

  async #outline() {
    const { land, borders } = await (await fetch("/static/map.json")).json();
    for (const [name, data] of Object.entries({ land, borders })) {
      const path = document.createElementNS(SVG, "path");
      path.setAttribute("class", name);
      path.setAttribute("d", data);
      this.drawing.append(path);
    }
  }

  #draw() {
    const { west, north, east, south } = this.#area();
    this.drawing.setAttribute("viewBox", `${(west + 180) * 10} ${(90 - north) * 10} ${(east - west) * 10} ${(north - south) * 10}`);
    this.#place();
  }

  /** Marks of this part of the map; the one that had the focus keeps it. Where they are the same as before, they are left
   * as they are: a click that has begun on one would meet nothing. */
  #mark() {
    const focused = /** @type {HTMLElement | null} */ (document.activeElement)?.dataset?.picture;
    const clusters = this.#clusters.slice(0, 200);
    const marked = JSON.stringify(clusters);
    if (marked === this.#marked) return this.#place();
    this.#marked = marked;
    fill(this.marks, ...clusters.map((cluster) => {
      const { pictures, name, picture } = cluster;
      const label = t(name ? "map.mark" : "map.nameless", { name: name ?? "", n: pictures });
      const size = 24 + 7 * Math.log10(pictures);
      return element("li", {}, element("button", { type: "button", class: "map-mark", "aria-label": label, title: label, dataset: { picture }, style: { "--size": `${size}px` }, onclick: () => this.#choose(cluster) }, number(pictures)));
    }));
    this.#place();
    // Where its mark has come apart, the focus stays with the map.
    if (focused) /** @type {HTMLElement} */ (this.marks.querySelector(`[data-picture="${CSS.escape(focused)}"]`) ?? this.grow).focus();
  }

  #place() {
    const { west, north, east, south } = this.#area();
    [...this.marks.children].forEach((mark, at) => {
      const { latitude, longitude } = this.#clusters[at];
      const [x, y] = [(longitude - west) / (east - west), (north - latitude) / (north - south)];
      mark.hidden = x < 0 || x > 1 || y < 0 || y > 1;
      mark.style.transform = `translate(${x * this.view.clientWidth}px, ${y * this.view.clientHeight}px)`;
    });
  }

  /** Shows only the pictures of a mark, and its part of the map. @param {Cluster} cluster */
  #choose({ area, name, pictures }) {
    // A little wider: what is written is rounded.
    const span = (low, high) => `${(low - 5e-5).toFixed(4)}..${(high + 5e-5).toFixed(4)}`;
    void setWhere({ ...store.state.where, latitude: span(area.south, area.north), longitude: span(area.west, area.east) });
    announce(t(name ? "map.mark" : "map.nameless", { name: name ?? "", n: pictures }));
    this.#fit(area);
  }

  #enlarge() {
    if (this.dialog.open) return this.dialog.close();
    this.dialog.append(this.view);
    this.dialog.showModal();
    this.#look({});
  }

  /** The map alone is closed, not what lies below it as well. @param {KeyboardEvent} event */
  #pressed(event) {
    if (event.key !== "Escape") return;
    event.preventDefault();
    event.stopPropagation();
    this.dialog.close();
  }

  #shrink() {
    this.said.before(this.view);
    this.#look({});
    this.grow.focus();
  }
}

customElements.define("vf-map", WorldMap);
