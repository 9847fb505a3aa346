// @ts-check
/** vf-adding: how far the adding of pictures is, whoever adds them; and that a search can look over those that came since.
 *
 * The page asks now and then, more often while something happens, and not at all while nobody sees it. */

import { acting, again } from "./actions.js";
import * as api from "./api.js";
import { refreshCollection } from "./conversation-actions.js";
import { element, fill, icon } from "./dom.js";
import { announce } from "./live.js";
import { store } from "./store.js";
import { t } from "./texts.js";

/** @typedef {{name: string, done: number, total: number | null, failed: number, eta_s: number | null, job: string | null}} Adding */

/** How long until the page asks again: while pictures are added, while there are none yet, and else. */
const BUSY_MS = 1000;
const EMPTY_MS = 2000;
const IDLE_MS = 10_000;

/** How many pictures there were when results were shown first: they are of these. @type {WeakMap<object, number>} */
const asOf = new WeakMap();

/** @type {Promise<unknown> | undefined} */
let styled;

/** Loads the style of all that adds pictures, once; done when it is there, or cannot be had. */
export function styleAdding() {
  styled ??= new Promise((onload) => {
    document.head.append(element("link", { rel: "stylesheet", href: "/static/css/adding.css", onload, onerror: onload }));
  });
  return styled;
}

/** About how long something will still take, in words that promise no more than is known. @param {number | null} seconds */
export function leftOf(seconds) {
  if (seconds === null) return t("adding.left-unknown");
  if (seconds < 5) return t("adding.left-moment");
  if (seconds < 55) return t("adding.left-seconds", { n: Math.ceil(seconds / 10) * 10 });
  if (seconds < 5400) return t("adding.left-minutes", { n: Math.ceil(seconds / 60) });
  return t("adding.left-hours", { n: Math.ceil(seconds / 3600) });
}

/** How far it is, in a sentence. @param {Adding} adding */
export function farOf({ done, total, eta_s: eta, job }) {
  const isDrawn = store.state.jobs.some((each) => each.id === job && each.what.demo);
  if (total === null) return t(isDrawn ? "adding.drawing" : "adding.looking");
  if (done >= total) return t("adding.almost", { n: total });
  return `${t("adding.far", { done, n: total })} · ${leftOf(eta)}`;
}

/** Asks at once, as something was begun. */
export const lookSoon = () => dispatchEvent(new Event("vf-look"));

class AddingStrip extends HTMLElement {
  async connectedCallback() {
    this.said = element("p", {});
    this.bar = element("progress", { max: 100, "aria-label": t("adding.title") });
    this.more = element("button", { type: "button", class: "small", onclick: () => this.takeNew() });
    this.which = element("button", { type: "button", class: "small", onclick: () => showFailures() }, t("adding.failed-show"));
    this.shut = element("button", { type: "button", class: "icon-button", "aria-label": t("picture.close"), title: t("picture.close"), onclick: () => this.forget() }, icon("close"));
    this.hidden = true;
    /** Files that could not be read, once there are more of them than somebody has taken notice of. */
    this.failed = this.failedNoticed = 0;
    fill(this, this.said, this.bar, this.more, this.which, this.shut);
    await styleAdding();
    store.on(["arriving", "results", "turn", "session"], () => this.render());
    store.on(["collection"], () => (store.state.arriving ? this.warn() : this.begin()));
    document.addEventListener("visibilitychange", () => document.hidden || this.look());
    addEventListener("vf-look", () => this.look());
    this.begin();
  }

  /** What was read with the collection counts as asked. */
  begin() {
    const { collection, arriving } = store.state;
    if (!collection || arriving) return;
    this.failedNoticed = collection.failures;
    store.set({ arriving: { pictures: collection.pictures, adding: collection.adding } });
    this.wait();
  }

  wait() {
    clearTimeout(this.next);
    const { arriving } = store.state;
    const pause = arriving?.adding ? BUSY_MS : arriving?.pictures ? IDLE_MS : EMPTY_MS;
    this.next = setTimeout(() => this.look(), pause);
  }

  async look() {
    clearTimeout(this.next);
    if (document.hidden || this.looking) return;
    this.looking = true;
    try {
      this.take(await api.get("/collection/progress"));
    } catch {
      // The server is away, which is said elsewhere: the next look finds it back.
    }
    this.looking = false;
    this.wait();
  }

  /** @param {{pictures: number, adding: Adding | null}} arriving */
  take(arriving) {
    const before = store.state.arriving;
    store.set({ arriving });
    const { collection } = store.state;
    if (!collection) return;
    const isNew = arriving.pictures !== collection.pictures;
    const ended = before?.adding && !arriving.adding;
    if (ended) announce(t("adding.ended", { n: arriving.pictures }));
    // Columns and examples are read with the first pictures and the last ones; the number is shown at once.
    if (ended || (isNew && (!collection.pictures || !arriving.adding))) void refreshCollection();
    else if (isNew) {
      store.set({ collection: { ...collection, pictures: arriving.pictures } });
      void refreshCollection({ isWallOnly: true });
    }
  }

  /** Says at the end, too, that not all could be read: nobody looks into a panel that has no reason to be opened.
   * Of some pictures, all that this page sees is that they are in: they came between two looks. */
  warn() {
    const { collection, arriving } = store.state;
    const failures = collection?.failures ?? 0;
    if (!arriving?.adding) {
      this.failedNoticed = Math.min(this.failedNoticed, failures); // those that were mended may fail again
      this.failed = failures > this.failedNoticed ? failures : 0;
    }
    this.render();
  }

  forget() {
    this.failedNoticed = this.failed;
    this.failed = 0;
    this.render();
  }

  render() {
    const { arriving, results } = store.state;
    if (!arriving) return;
    const { adding, pictures } = arriving;
    // The search may have seen more than the page knew of.
    if (results && !asOf.has(results)) asOf.set(results, Math.max(pictures, results.total));
    const fresh = isSearch() && results ? pictures - (asOf.get(results) ?? pictures) : 0;
    if (adding) this.failed = 0;
    const failed = adding ? adding.failed : this.failed;
    this.hidden = !adding && fresh <= 0 && !failed;
    const far = adding ? farOf(adding) : fresh > 0 ? t("adding.fresh", { n: fresh }) : t("adding.ended", { n: pictures });
    this.said.textContent = [far, failed && t("adding.failed", { n: failed })].filter(Boolean).join(adding ? " · " : " ");
    this.which.hidden = !failed;
    this.shut.hidden = !this.failed;
    this.bar.hidden = !adding;
    if (adding?.total) this.bar.value = (100 * adding.done) / adding.total;
    else this.bar.removeAttribute("value");
    this.more.hidden = fresh <= 0;
    this.more.textContent = t("adding.search-fresh", { n: Math.max(fresh, 0) });
  }

  /** Searches again, over all that is in by now. */
  takeNew() {
    void acting(again);
  }
}

/** Opens the list of the files that could not be read, with the reason of each. */
function showFailures() {
  const panel = document.getElementById("jobs-panel");
  panel?.showPopover();
  panel?.querySelector("details.failures")?.setAttribute("open", "");
}

/** Whether what is shown was searched for: pictures to begin with fill up by themselves. */
const isSearch = () => store.state.previewing || store.state.turn > 0;

customElements.define("vf-adding", AddingStrip);
