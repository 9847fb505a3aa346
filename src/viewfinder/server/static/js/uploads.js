// @ts-check
/** vf-uploads: pictures of this device on their way into the library, one by one and a few at a time. Each has its own
 * outcome; what was cut off is sent again; one that is no picture holds up no other. */

import * as api from "./api.js";
import { lookSoon, styleAdding } from "./adding.js";
import { followJob } from "./conversation-actions.js";
import { element, fill, icon } from "./dom.js";
import { announce } from "./live.js";
import { sentenceOf } from "./notice.js";
import { store } from "./store.js";
import { spoken, t } from "./texts.js";

/** @typedef {"waiting" | "sending" | "sent" | "in" | "there" | "bad" | "cut"} Outcome */
/** @typedef {{file: File, name: string, outcome: Outcome, why: string, job: string | null}} Sent */

/** Files that are sent at a time, how often one is sent that is cut off, and the pause before it is. */
const AT_ONCE = 3;
const MAX_TRIES = 5;
const PAUSE_MS = 1000;
/** Files that are taken of what was dropped, folders in folders that are looked into, and rows that are shown. */
const MAX_FILES = 20_000;
const MAX_DEPTH = 40;
const MAX_SHOWN = 200;

const PICTURE = /\.(jpe?g|jfif|png|webp|gif|bmp|tiff?|avif|hei[cf]s?|hif|jxl|dng|cr[23w]|nef|arw|orf|rw2|raf|pef|srw)$/i;

/** Whether a file may be a picture, by its name and what the system takes it for. @param {File} file */
export const mayBePicture = (file) => file.type.startsWith("image/") || PICTURE.test(file.name);

/**
 * The files of a drop, those in its folders too, and how many of these are no pictures or hidden. Files that were
 * dropped themselves are all there: each gets an answer.
 * @param {{entry: FileSystemEntry | null, file: File | null}[]} entries
 * @returns {Promise<{files: File[], folders: string[], leftOut: number}>}
 */
export async function filesOf(entries) {
  const found = { files: /** @type {File[]} */ ([]), folders: /** @type {string[]} */ ([]), leftOut: 0 };
  for (const { entry, file } of entries) {
    if (entry?.isDirectory) {
      found.folders.push(entry.name);
      await walk(/** @type {FileSystemDirectoryEntry} */ (entry), found, 1);
    } else if (file) found.files.push(file);
  }
  return found;
}

/** Where files lay in the folders that were dropped. @type {WeakMap<File, string>} */
const places = new WeakMap();

/** @param {FileSystemDirectoryEntry} folder @param {{files: File[], leftOut: number}} found @param {number} depth */
async function walk(folder, found, depth) {
  const reader = folder.createReader();
  for (;;) {
    // Browsers give a hundred at a time.
    const entries = await new Promise((resolve) => reader.readEntries(resolve, () => resolve([])));
    if (!entries.length) return;
    for (const entry of entries) {
      if (entry.name.startsWith(".") || found.files.length >= MAX_FILES) found.leftOut += entry.isFile ? 1 : 0;
      else if (entry.isDirectory) depth < MAX_DEPTH && (await walk(entry, found, depth + 1));
      else {
        const file = await new Promise((resolve) => entry.file(resolve, () => resolve(null)));
        if (file) places.set(file, entry.fullPath.slice(1));
        if (file && mayBePicture(file)) found.files.push(file);
        else found.leftOut += 1;
      }
    }
  }
}

/** The pictures of a folder that was chosen in a dialog of the system. @param {File[]} files */
export function picturesOfFolder(files) {
  const isHidden = (file) => file.webkitRelativePath.split("/").some((part) => part.startsWith("."));
  const taken = files.filter((file) => !isHidden(file) && mayBePicture(file)).slice(0, MAX_FILES);
  return { files: taken, folders: [...new Set(files.map((file) => file.webkitRelativePath.split("/")[0]).filter(Boolean))], leftOut: files.length - taken.length };
}

/** What was given in this visit. @type {Sent[]} */
let all = [];
let leftOut = 0;
let sending = 0;
/** Why nothing more is sent, where it would be the same for every file. */
let halted = "";

/** Sends pictures into the library. @param {File[]} files @param {number} [others] files of their folders that are none */
export function sendPictures(files, others = 0) {
  const isOver = all.every(({ outcome }) => !["waiting", "sending", "sent"].includes(outcome));
  if (isOver) [all, leftOut] = [[], 0];
  halted = "";
  leftOut += others;
  all.push(...files.map((file) => ({ file, name: places.get(file) || file.webkitRelativePath || file.name, outcome: /** @type {Outcome} */ ("waiting"), why: "", job: null })));
  show();
  sendNext();
}

function sendNext() {
  while (sending < AT_ONCE && !halted) {
    const next = all.find(({ outcome }) => outcome === "waiting");
    if (!next) break;
    sending += 1;
    next.outcome = "sending";
    void sendOne(next).finally(() => {
      sending -= 1;
      show();
      sendNext();
      if (!sending && !all.some(({ outcome }) => outcome === "waiting")) announce(summary());
    });
  }
  show();
}

/** @param {Sent} sent */
async function sendOne(sent) {
  if (!mayBePicture(sent.file) && sent.file.type) return end(sent, "bad", t("uploads.not-picture"));
  for (let tries = 1; ; tries += 1) {
    try {
      const { job } = await api.upload("/pictures", sent.file);
      if (!job) return end(sent, "there");
      [sent.outcome, sent.job] = ["sent", job];
      followJob(job);
      settle();
      lookSoon();
      return;
    } catch (error) {
      const isProblem = error instanceof api.Problem;
      if (!isProblem && !(await canBeRead(sent.file))) return end(sent, "bad", t("uploads.gone"));
      const isLater = !isProblem || error.status === 503 || error.status === 429 || error.kind === "interrupted";
      if (isProblem && [401, 403, 507].includes(error.status)) {
        halted = reasonOf(error);
        sent.outcome = "waiting";
        return;
      }
      if (!isLater) return end(sent, "bad", isProblem ? reasonOf(error) : String(error));
      if (tries >= MAX_TRIES) return end(sent, "cut", t("uploads.cut"));
      await online();
      await new Promise((resolve) => setTimeout(resolve, PAUSE_MS * tries));
    }
  }
}

/** @param {Sent} sent @param {Outcome} outcome */
function end(sent, outcome, why = "") {
  Object.assign(sent, { outcome, why });
}

/** Why a file was not taken: the server says it most closely, but in English. @param {{detail: string, kind?: string}} problem */
function reasonOf({ detail, kind }) {
  return spoken === "en" ? detail : (sentenceOf(kind) ?? `${t("uploads.outcome-bad")} (${detail})`);
}

/** Whether a file is still there: one that was moved since fails as a lost connection does. @param {File} file */
const canBeRead = (file) => file.slice(0, 1).arrayBuffer().then(() => true, () => false);

/** Waits until the server can be reached. */
const online = () =>
  new Promise((resolve) => {
    if (store.state.online) return resolve(null);
    const stop = store.on(["online"], () => {
      if (!store.state.online) return;
      stop();
      resolve(null);
    });
  });

/** The jobs that take the pictures in say when they are there. */
store.on(["jobs"], () => settle());
function settle() {
  for (const sent of all) {
    const job = sent.outcome === "sent" && store.state.jobs.find(({ id }) => id === sent.job);
    if (!job) continue;
    if (job.state === "done") end(sent, "in");
    else if (job.state === "failed" || job.state === "cancelled") end(sent, "bad", (job.error && reasonOf({ detail: job.error })) ?? t("uploads.cancelled"));
  }
  show();
}

const countOf = (/** @type {Outcome[]} */ ...outcomes) => all.filter(({ outcome }) => outcomes.includes(outcome)).length;

/** All in a sentence: what is in, what was there, what could not be taken. */
function summary() {
  const parts = [
    t("uploads.sent", { done: countOf("sent", "in", "there", "bad", "cut"), n: all.length }),
    countOf("in") && t("uploads.in", { n: countOf("in") }),
    countOf("there") && t("uploads.there", { n: countOf("there") }),
    countOf("bad", "cut") && t("uploads.bad", { n: countOf("bad", "cut") }),
    leftOut && t("uploads.left-out", { n: leftOut }),
  ];
  return parts.filter(Boolean).join(" · ");
}

const show = () => /** @type {Uploads | null} */ (document.querySelector("vf-uploads"))?.render();

class Uploads extends HTMLElement {
  connectedCallback() {
    styleAdding();
    this.summary = element("span", {});
    this.list = element("ul", { class: "sent-files", role: "list", "aria-label": t("uploads.title"), tabindex: "0" });
    this.advice = element("p", { class: "quiet" }, t("uploads.what-to-do"));
    this.stopped = element("p", { class: "bad", role: "alert" });
    this.details = element("details", { ontoggle: () => this.render() }, element("summary", {}, this.summary), this.advice, this.list);
    this.again = element("button", { type: "button", class: "small", onclick: () => retry() }, t("uploads.again"));
    this.close = element("button", { type: "button", class: "small", onclick: () => closeList() }, t("uploads.close"));
    fill(this, this.details, this.stopped, element("div", { class: "sent-buttons" }, this.again, this.close));
    this.render();
  }

  render() {
    this.hidden = !all.length;
    if (!all.length) return;
    this.summary.textContent = summary();
    this.advice.hidden = !countOf("bad");
    this.stopped.hidden = !halted;
    this.stopped.textContent = halted && t("uploads.halted", { why: halted });
    this.again.hidden = !countOf("cut") && !halted;
    this.close.hidden = countOf("sending", "sent") > 0 || (countOf("waiting") > 0 && !halted);
    if (countOf("bad", "cut") && this.opened === undefined) this.opened = this.details.open = true;
    if (!this.details.open) return;
    const first = { bad: 0, cut: 0, sending: 1, sent: 2, waiting: 3, there: 4, in: 5 };
    const rows = [...all].sort((one, other) => first[one.outcome] - first[other.outcome]).slice(0, MAX_SHOWN);
    fill(this.list, ...rows.map(row), all.length > rows.length && element("li", { class: "quiet" }, t("uploads.more", { n: all.length - rows.length })));
  }
}

/** @param {Sent} sent */
function row({ name, outcome, why }) {
  const drawing = { in: "check", there: "check", bad: "reject", cut: "reject" }[outcome] ?? "upload";
  return element("li", { class: `sent-file ${outcome}` }, icon(drawing), element("b", {}, name), " ",
    element("span", { class: outcome === "bad" || outcome === "cut" ? "bad" : "quiet" }, why || t(`uploads.outcome-${outcome}`)));
}

/** Sends again what was cut off. */
function retry() {
  for (const sent of all) if (sent.outcome === "cut") sent.outcome = "waiting";
  halted = "";
  sendNext();
}

function closeList() {
  [all, leftOut, halted] = [[], 0, ""];
  show();
}

/**
 * Asks what several pictures or folders that were dropped are for, and does it; one alone is to search with, where there
 * is something to find. @param {{files: File[], folders: string[], leftOut: number}} given @param {(file: File) => void} search
 */
export function askWhatFor({ files, folders, leftOut: others }, search) {
  const pictures = files.filter(mayBePicture);
  const mayAdd = store.state.me?.scopes?.includes("admin");
  const mayBeSearched = Boolean(pictures.length) && !folders.length && store.state.collection?.pictures !== 0;
  if (!files.length || (!mayAdd && !mayBeSearched)) {
    const detail = !files.length ? t(folders.length ? "uploads.nothing-in" : "say.notpicture", { folder: folders.join(", ") }) : t("uploads.not-allowed");
    return store.set({ problem: { detail } });
  }
  if (!mayAdd) {
    store.set({ problem: { detail: t("uploads.only-first"), kind: "left-out" } });
    return search(pictures[0]);
  }
  const dialog = element("dialog", { class: "ask-dropped", "aria-labelledby": "ask-dropped-title", onclose: () => dialog.remove() });
  const act = (work) => () => {
    dialog.close();
    work();
  };
  const title = folders.length
    ? t("uploads.ask-folder", { n: files.length, folder: folders.join(", ") })
    : t("uploads.ask", { n: files.length });
  fill(dialog, element("h2", { id: "ask-dropped-title" }, title),
    element("p", { class: "quiet" }, t("uploads.ask-copies"), others > 0 && ` ${t("uploads.left-out", { n: others })}`),
    element("div", { class: "ask-buttons" },
      element("button", { type: "button", class: "primary", onclick: act(() => sendPictures(files, others)) }, t("uploads.ask-add")),
      mayBeSearched && element("button", { type: "button", onclick: act(() => search(pictures[0])) }, t("uploads.ask-search", { name: pictures[0].name })),
      element("button", { type: "button", onclick: act(() => {}) }, t("uploads.ask-neither"))));
  document.body.append(dialog);
  dialog.showModal();
}

customElements.define("vf-uploads", Uploads);
