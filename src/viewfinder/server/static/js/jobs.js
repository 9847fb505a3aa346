/** The collection and what is being done to it: how far that is, pause, cancel, ways to add more, files that failed. */

import { farOf, leftOf } from "./adding.js";
import { element, fill, icon, typed } from "./dom.js";
import { store } from "./store.js";
import { failuresPage, isLive, jobName, readJobs, removeDemo, steer } from "./conversation-actions.js";
import { labelled, list, panel, refill } from "./conversation-parts.js";
import { mayPick } from "./folder-picker.js";
import { t } from "./texts.js";
import { waysToAdd } from "./welcome.js";

/** @typedef {import("./conversation-actions.js").Job} Job */

const FEW = 6;

/** @param {Job} job @returns {number | null} percent, where the end is known */
const percentOf = ({ done, total }) => (total ? Math.min(100, Math.round((100 * done) / total)) : null);

class Jobs extends HTMLElement {
  connectedCallback() {
    const { button, panel: made } = panel("jobs-panel", t("jobs.title"), () => this.#open());
    [this.button, this.panel] = [button, made];
    // What is written in the form and the files that failed stay while the jobs above them change.
    this.jobs = element("div", { class: "jobs" });
    this.form = element("div");
    this.failures = element("div");
    made.append(this.jobs, this.form, this.failures);
    this.append(button, made);
    store.on(["collection", "jobs", "me", "arriving"], () => this.#render());
    store.on(["me"], () => void readJobs());
    store.on(["collection"], () => this.panel.matches(":popover-open") && (this.#fillFailures(), this.#fillForm()));
    this.#render();
  }

  #open() {
    readJobs();
    this.#fill();
    this.#fillForm();
    this.#fillFailures();
  }

  #render() {
    const { collection, jobs, arriving } = store.state;
    this.hidden = !collection;
    if (!collection) return;
    const adding = arriving?.adding ?? null;
    const running = jobs.find((job) => job.state === "running") ?? jobs.find(isLive);
    const percent = adding ? percentOf(adding) ?? 0 : running ? (percentOf(running) ?? 0) : 0;
    const label = adding ? t("jobs.adding", { percent }) : running ? t("jobs.running", { percent }) : t("jobs.button", { n: collection.pictures });
    const ring = (adding || running) && element("span", { class: "ring", style: { "--percent": String(percent) }, "aria-hidden": "true" });
    this.button?.setAttribute("title", `${t("jobs.title")}: ${label}`);
    this.button?.setAttribute("aria-label", `${t("jobs.title")}: ${label}`);
    this.button?.replaceChildren(ring || icon("tiles"), element("span", { class: "panel-label" }, label));
    if (this.panel?.matches(":popover-open")) this.#fill();
  }

  #fill() {
    const { jobs, arriving } = store.state;
    const adding = arriving?.adding;
    const terminal = adding && !adding.job && this.#terminal(adding);
    const live = jobs.filter(isLive).map((job) => this.#job(job));
    const ended = jobs.filter((job) => !isLive(job)).slice(0, FEW).map((job) => this.#job(job));
    const now = [terminal, ...live].filter(Boolean);
    const before = ended.length > 0 && element("details", { class: "ended", open: this.showsEnded ?? !now.length, ontoggle: (event) => (this.showsEnded = event.target.open) },
      element("summary", { "data-key": "ended" }, t("jobs.ended")), list(t("jobs.ended"), ended));
    const none = element("p", { class: "quiet" }, t("jobs.none"));
    refill(this.jobs, element("h3", {}, t("jobs.list")), now.length ? list(t("jobs.list"), now) : none, before);
  }

  /** What somebody adds at a terminal: it can be watched here, and ended there. */
  #terminal(adding) {
    const value = adding.total ? { value: (100 * adding.done) / adding.total } : {};
    return element("li", { class: "job running" },
      element("div", { class: "job-head" }, element("span", { class: "job-name" }, t("jobs.terminal", adding))),
      element("progress", { max: 100, "aria-label": t("jobs.terminal", adding), ...value }),
      element("p", { class: "quiet" }, farOf(adding)));
  }

  /** @param {Job} job */
  #job(job) {
    const { id, state, kind, done, total, eta_s: eta, error, report } = job;
    const percent = percentOf(job);
    const adding = store.state.arriving?.adding;
    // What is known of an adding job at this moment is known better from the library itself.
    const far = state === "running" && adding?.job === id ? farOf(adding)
      : isLive(job) && total !== null ? [t("jobs.of", { done, n: total }), state === "running" && leftOf(eta)].filter(Boolean).join(" · ") : "";
    const facts = [(state !== "running" || !far) && t(`jobs.state-${state}`), far, !isLive(job) && kind === "add" && report && t("jobs.report", { n: report.added }), !isLive(job) && known(report),
      report?.described !== undefined && kind === "describe" && t("jobs.described", { n: report.described }), report?.unusable && t("jobs.unusable", { n: report.unusable })];
    const bar = isLive(job) && element("progress", { max: 100, "aria-label": jobName(job), ...(percent === null ? {} : { value: percent }) });
    return element(
      "li",
      { class: `job ${state}` },
      element("div", { class: "job-head" }, element("span", { class: "job-name" }, jobName(job)), ...this.#buttons(job)),
      bar,
      element("p", { class: "quiet" }, facts.filter(Boolean).join(" · ")),
      error && element("p", { class: "bad" }, error),
      failed(report),
    );
  }

  /** @param {Job} job */
  #buttons(job) {
    const admin = store.state.me?.scopes?.includes("admin");
    if (!admin || !isLive(job)) return [];
    const button = (what, drawing) => {
      const label = t(`jobs.${what}`);
      return element("button", { type: "button", class: "small", "data-key": `${what}-${job.id}`, "aria-label": `${label}: ${jobName(job)}`, onclick: () => steer(job.id, what) }, ...labelled(drawing, label));
    };
    return [job.state === "paused" ? button("resume", "play") : button("pause", "pause"), button("cancel", "close")];
  }

  #fillForm() {
    const { collection, me } = store.state;
    const shape = JSON.stringify([me?.scopes, collection?.picks_folders, collection?.roots, collection?.demo]);
    if (shape === this.shape) return;
    this.shape = shape;
    if (!me?.scopes?.includes("admin")) return fill(this.form);
    const rootless = !mayPick() && element("p", { class: "quiet" }, typed(t("jobs.no-roots")));
    const demo = collection?.demo && element("p", {}, element("button", { type: "button", class: "small", onclick: () => removeDemo() }, ...labelled("trash", t("jobs.remove-demo"))));
    fill(this.form, element("h3", {}, t("jobs.add")), element("div", { class: "ways" }, ...waysToAdd("add")), rootless, demo);
  }

  #fillFailures() {
    const n = store.state.collection?.failures ?? 0;
    const box = this.failures;
    if (!n) return fill(box);
    if (box.dataset.n === String(n)) return;
    box.dataset.n = n;
    const rows = element("ul", { class: "failed", role: "list" });
    const more = element("button", { type: "button", class: "link", onclick: () => load(more.dataset.cursor || null) }, t("jobs.more"));
    const load = async (cursor) => {
      const page = await failuresPage(cursor);
      rows.append(...(page?.failures ?? []).map((file) => element("li", {}, element("b", {}, file.name), " ", element("span", { class: "quiet" }, file.reason))));
      more.dataset.cursor = page?.next ?? "";
      more.hidden = !page?.next;
    };
    more.hidden = true;
    const ontoggle = (event) => event.target.open && !rows.children.length && load(null);
    const advice = element("p", { class: "quiet" }, t("jobs.what-to-do"));
    fill(box, element("details", { class: "failures", ontoggle }, element("summary", {}, t("jobs.all-failures", { n })), advice, rows, more));
  }
}

/** How many were in the library before, or are copies of others. */
function known(report) {
  const n = (report?.unchanged ?? 0) + (report?.duplicates ?? 0) + (report?.moved ?? 0);
  return n > 0 && t("jobs.known", { n });
}

/** The files of a job that could not be read, by name, each with the reason; and what to do. */
function failed(report) {
  const files = report?.failures ?? [];
  if (!files.length) return false;
  const n = Math.max(report.quarantined ?? report.left_out ?? 0, files.length);
  const rows = files.map(({ name, reason }) => element("li", {}, element("b", {}, name), " ", element("span", { class: "quiet" }, reason)));
  return element("details", { class: "told" }, element("summary", {}, t("jobs.failures", { n })),
    element("ul", { role: "list" }, ...rows, n > rows.length && element("li", { class: "quiet" }, t("jobs.and-more", { n: n - rows.length }))),
    element("p", { class: "quiet" }, t("jobs.what-to-do")));
}

customElements.define("vf-jobs", Jobs);
