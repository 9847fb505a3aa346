// @ts-check
/** The picture itself in the large view: it fits its space, can be zoomed and moved, swiped to the next, dragged off. */

import * as api from "./api.js";
import { element, fill } from "./dom.js";
import { carry, mayTake } from "./taking.js";
import { WHOLE, farthest, fitted, held, zoomed } from "./zoom.js";

/** @typedef {import("./store.js").Hit} Hit */
/** @typedef {{step: (by: number) => void, close: () => void, changed: () => void}} Told what is told of gestures that lead elsewhere */

const STEP = 1.5;
const CLOSE_UP = 2.5;
/** How far a finger goes for the next picture, or down to close. */
const SWIPE_PX = 60;
const TAP_MS = 300;
const TAP_PX = 30;
const PAN_PX = 60;
/** Copies are asked for up to this length. */
const MAX_COPY = 1280;

const still = matchMedia("(prefers-reduced-motion: reduce)");

/** Pictures that are on their way before they are shown. @type {HTMLImageElement[]} */
let ahead = [];

export class Stage {
  /** @param {Told} told */
  constructor(told) {
    this.told = told;
    this.view = WHOLE;
    /** @type {Hit | null} */
    this.hit = null;
    this.space = { width: 1, height: 1 };
    /** Whether the file itself may be shown. */
    this.original = false;
    /** @type {Map<number, {x: number, y: number}>} */
    this.fingers = new Map();
    this.plane = element("div", { class: "plane" });
    this.root = element("div", { class: "canvas", tabindex: "0", role: "group", ondragstart: (event) => this.hit && carry(event, this.hit) }, this.plane);
    this.root.addEventListener("wheel", (event) => this.wheeled(event), { passive: false });
    this.root.addEventListener("dblclick", (event) => this.lastPointer !== "touch" && this.closeUp(this.pointOf(event)));
    for (const name of ["pointerdown", "pointermove", "pointerup", "pointercancel"]) this.root.addEventListener(name, (event) => this.pointed(event));
    new ResizeObserver(() => this.measure()).observe(this.root);
  }

  /** @param {Hit} hit @param {{fade?: boolean}} [given] @returns {Promise<void>} when it is there */
  show(hit, { fade = false } = {}) {
    this.hit = hit;
    this.original = mayTake();
    this.isOriginal = false;
    this.view = WHOLE;
    const size = api.sizeFor(Math.max(this.root.clientWidth, this.root.clientHeight, 320));
    const image = element("img", { src: api.thumbnail(hit.id, size), alt: "", draggable: "false" });
    // A small copy is there already, mostly, as the grid showed it.
    image.style.backgroundImage = `url("${api.thumbnail(hit.id, 320)}")`;
    const old = this.plane.querySelector("img");
    fill(this.plane, fade && !still.matches && old, image);
    if (fade && !still.matches) image.classList.add("arriving");
    this.image = image;
    this.size = size;
    this.measure();
    return image.decode().then(() => old?.remove(), () => old?.remove());
  }

  measure() {
    this.space = { width: Math.max(1, this.root.clientWidth), height: Math.max(1, this.root.clientHeight) };
    if (!this.hit || !this.image) return;
    const { width, height } = this.hit;
    this.fit = fitted({ width: width || 1, height: height || 1 }, this.space);
    Object.assign(this.image.style, { width: `${this.fit.width}px`, height: `${this.fit.height}px` });
    this.look(this.view);
  }

  /** How large it is shown, as a share of its own pixels. */
  get share() {
    return this.hit && this.fit ? (this.fit.width * this.view.scale) / (this.hit.width || 1) : 1;
  }
  get isZoomed() {
    return this.view.scale > 1.001;
  }

  /** @param {import("./zoom.js").View} view @param {{glide?: boolean}} [given] */
  look(view, { glide = false } = {}) {
    if (!this.fit) return;
    this.view = held(view, this.fit, this.space);
    const { scale, x, y } = this.view;
    this.plane.classList.toggle("gliding", glide && !still.matches);
    this.plane.style.transform = `translate(${x}px, ${y}px) scale(${scale})`;
    this.root.classList.toggle("zoomed", this.isZoomed);
    // A mouse drags the whole picture off, and moves a part of it.
    this.plane.draggable = !this.isZoomed && this.lastPointer !== "touch";
    if (this.isZoomed) this.sharpen();
    this.told.changed();
  }

  /** What is seen of a close-up is the file itself, where one may have it, or the largest copy. */
  sharpen() {
    const { hit, image, fit } = this;
    if (!hit || !image || !fit || this.isOriginal) return;
    const wanted = Math.max(fit.width, fit.height) * this.view.scale * Math.min(devicePixelRatio || 1, 2);
    const isFile = this.original && wanted > MAX_COPY;
    if (!isFile && (this.size === MAX_COPY || wanted <= this.size)) return;
    this.size = MAX_COPY;
    this.isOriginal = isFile;
    const sharp = new Image();
    sharp.src = isFile ? api.original(hit.id) : api.thumbnail(hit.id, MAX_COPY);
    sharp.decode().then(() => {
      if (this.image === image) image.src = sharp.src;
    }, () => {
      // A browser that cannot read the format, or a file that is gone: the copy stays.
      if (isFile) this.original = false;
    });
  }

  /** @param {number} factor @param {{x: number, y: number}} [point] @param {{glide?: boolean}} [given] */
  zoom(factor, point = { x: 0, y: 0 }, given = { glide: true }) {
    if (!this.hit || !this.fit) return;
    this.look(zoomed(this.view, factor, point, farthest(this.hit, this.fit)), given);
  }
  in = () => this.zoom(STEP);
  out = () => this.zoom(1 / STEP);
  whole = () => this.look(WHOLE, { glide: true });
  /** @param {{x: number, y: number}} point */
  closeUp(point) {
    if (this.isZoomed) this.whole();
    else this.zoom(CLOSE_UP, point);
  }
  /** @param {number} x @param {number} y */
  pan(x, y) {
    this.look({ ...this.view, x: this.view.x - x * PAN_PX, y: this.view.y - y * PAN_PX }, { glide: true });
  }

  /** Where it is from the middle. @param {{clientX: number, clientY: number}} event */
  pointOf({ clientX, clientY }) {
    const { left, top, width, height } = this.root.getBoundingClientRect();
    return { x: clientX - left - width / 2, y: clientY - top - height / 2 };
  }

  /** @param {WheelEvent} event */
  wheeled(event) {
    event.preventDefault();
    // Lines or pages in place of pixels, where the wheel counts so.
    const by = event.deltaY * [1, 16, 400][event.deltaMode];
    this.zoom(Math.exp(-Math.max(-100, Math.min(100, by)) / (event.ctrlKey ? 60 : 250)), this.pointOf(event), {});
  }

  /** @param {PointerEvent} event */
  pointed(event) {
    this.lastPointer = event.pointerType;
    const point = this.pointOf(event);
    if (event.type === "pointerdown") {
      if (event.button !== 0) return;
      this.plane.draggable = !this.isZoomed && event.pointerType !== "touch";
      // A mouse on a picture that fits is about to drag it off: that is the browser's.
      if (this.plane.draggable) return;
      this.root.setPointerCapture(event.pointerId);
      this.fingers.set(event.pointerId, point);
      if (this.fingers.size === 1) this.began = { ...point, at: event.timeStamp };
      return;
    }
    const before = this.fingers.get(event.pointerId);
    if (!before) return;
    if (event.type === "pointermove") this.moved(event.pointerId, before, point);
    else this.lifted(event, point);
  }

  /** @param {number} finger @param {{x: number, y: number}} before @param {{x: number, y: number}} point */
  moved(finger, before, point) {
    const [dx, dy] = [point.x - before.x, point.y - before.y];
    const other = [...this.fingers].find(([id]) => id !== finger)?.[1];
    this.fingers.set(finger, point);
    if (other) {
      const apart = (a) => Math.max(1, Math.hypot(a.x - other.x, a.y - other.y));
      const middle = { x: (point.x + other.x) / 2, y: (point.y + other.y) / 2 };
      this.began = undefined;
      this.zoom(apart(point) / apart(before), middle, {});
      this.look({ ...this.view, x: this.view.x + dx / 2, y: this.view.y + dy / 2 });
    } else if (this.isZoomed) this.look({ ...this.view, x: this.view.x + dx, y: this.view.y + dy });
    else if (this.began) {
      const [x, y] = [point.x - this.began.x, point.y - this.began.y];
      this.plane.classList.remove("gliding");
      this.plane.style.transform = Math.abs(x) > Math.abs(y) ? `translateX(${x}px)` : `translateY(${Math.max(0, y)}px)`;
    }
  }

  /** @param {PointerEvent} event @param {{x: number, y: number}} point */
  lifted(event, point) {
    this.fingers.delete(event.pointerId);
    const { began } = this;
    if (this.fingers.size || !began) return;
    this.began = undefined;
    const [x, y] = [point.x - began.x, point.y - began.y];
    const isTap = Math.hypot(x, y) < TAP_PX / 3 && event.type === "pointerup";
    if (isTap) return this.tapped(event, point);
    if (this.isZoomed || event.type === "pointercancel") return this.look(this.view, { glide: true });
    if (Math.abs(x) > SWIPE_PX && Math.abs(x) > Math.abs(y)) {
      // To where the text begins: the next one comes from the other side.
      const forward = document.dir === "rtl" ? 1 : -1;
      this.told.step(Math.sign(x) * forward);
    } else if (y > SWIPE_PX * 1.5) return this.told.close();
    this.look(this.view, { glide: true });
  }

  /** Two taps look closer. @param {PointerEvent} event @param {{x: number, y: number}} point */
  tapped(event, point) {
    if (event.pointerType !== "touch") return;
    const last = this.tap;
    this.tap = { ...point, at: event.timeStamp };
    if (!last || event.timeStamp - last.at > TAP_MS || Math.hypot(point.x - last.x, point.y - last.y) > TAP_PX) return;
    this.tap = undefined;
    this.closeUp(point);
  }
}

/** Fetches pictures before they are asked for. @param {(Hit | undefined)[]} hits @param {number} longest */
export function fetchAhead(hits, longest) {
  ahead = hits.flatMap((hit) => {
    if (!hit) return [];
    const image = new Image();
    image.src = api.thumbnail(hit.id, api.sizeFor(longest));
    return [image];
  });
}

