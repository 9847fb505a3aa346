/** The collection and what is being done to it: how far indexing is, pause, cancel, folders to add, files that failed. */

import { element, fill, icon, typed } from "./dom.js";
import { store } from "./store.js";
import { addFolder, addPictures, failuresPage, isLive, jobName, readJobs, steer } from "./conversation-actions.js";
import { labelled, list, panel, refill } from "./conversation-parts.js";
import { parted } from "./conversation-shapes.js";
import { t } from "./texts.js";

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
    store.on(["collection", "jobs", "me"], () => this.#render());
    store.on(["me"], () => void readJobs());
    store.on(["collection"], () => this.panel.matches(":popover-open") && this.#fillFailures());
    this.#render();
  }

  #open() {
    readJobs();
    this.#fill();
    this.#fillForm();
    this.#fillFailures();
  }

  #render() {
    const { collection, jobs } = store.state;
    this.hidden = !collection;
    if (!collection) return;
    const running = jobs.find((job) => job.state === "running") ?? jobs.find(isLive);
    const percent = running ? (percentOf(running) ?? 0) : 0;
    const label = running ? t("jobs.running", { percent }) : t("jobs.button", { n: collection.pictures });
    const ring = running && element("span", { class: "ring", style: { "--percent": String(percent) }, "aria-hidden": "true" });
    this.button?.setAttribute("title", `${t("jobs.title")}: ${label}`);
    this.button?.setAttribute("aria-label", `${t("jobs.title")}: ${label}`);
    this.button?.replaceChildren(ring || icon("tiles"), element("span", { class: "panel-label" }, label));
    if (this.panel?.matches(":popover-open")) this.#fill();
  }

  #fill() {
    const jobs = store.state.jobs;
    const shown = [...jobs.filter(isLive), ...jobs.filter((job) => !isLive(job))].slice(0, Math.max(FEW, jobs.filter(isLive).length));
    const none = element("p", { class: "quiet" }, t("jobs.none"));
    refill(this.jobs, element("h3", {}, t("jobs.list")), jobs.length ? list(t("jobs.list"), shown.map((job) => this.#job(job))) : none);
  }

  /** @param {Job} job */
  #job(job) {
    const { state, done, total, eta_s: eta, error, report } = job;
    const percent = percentOf(job);
    const facts = [t(`jobs.state-${state}`), isLive(job) && t("jobs.of", { done, total }), report?.added !== undefined && t("jobs.report", report), report?.unusable !== undefined && t("jobs.described", report), state === "running" && eta !== null && t("jobs.eta", parted(eta))];
    const bar = isLive(job) && element("progress", { max: 100, "aria-label": jobName(job), ...(percent === null ? {} : { value: percent }) });
    return element(
      "li",
      { class: `job ${state}` },
      element("div", { class: "job-head" }, element("span", { class: "job-name" }, jobName(job)), ...this.#buttons(job)),
      bar,
      element("p", { class: "quiet" }, facts.filter(Boolean).join(" · ")),
      error && element("p", { class: "bad" }, error),
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
    const form = this.form;
    if (!me?.scopes?.includes("admin")) return fill(form);
    const heading = element("h3", {}, t("jobs.add"));
    const roots = collection?.roots ?? [];
    if (!roots.length) return fill(form, this.#pictures(), heading, element("p", { class: "quiet" }, typed(t("jobs.no-roots"))));
    const options = roots.map((root) => element("option", { value: root.number }, root.name));
    const root = element("select", { "aria-label": t("jobs.add") }, ...options);
    const folder = element("input", { type: "text", maxlength: 2000, "aria-label": t("jobs.folder"), placeholder: t("jobs.folder-hint") });
    const onsubmit = (event) => {
      event.preventDefault();
      addFolder(Number(root.value), folder.value.trim());
    };
    fill(form, this.#pictures(), heading, element("form", { class: "line-form", onsubmit }, root, folder, element("button", { type: "submit", class: "primary" }, t("jobs.start"))));
  }

  /** Pictures of this device, which join the library. */
  #pictures() {
    const chosen = async () => {
      await addPictures([...input.files]);
      input.value = "";
    };
    const input = element("input", { type: "file", multiple: true, accept: "image/*,.heic,.hif,.avif,.jxl,.dng", class: "unseen", id: "add-pictures", onchange: chosen });
    return element("label", { class: "file-button", for: "add-pictures" }, input, ...labelled("upload", t("jobs.upload")));
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
    fill(box, element("details", { class: "failures", ontoggle }, element("summary", {}, t("jobs.failures", { n })), rows, more));
  }
}

customElements.define("vf-jobs", Jobs);
