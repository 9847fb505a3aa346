// @ts-check
/** Files that are given to the page: pasted, or dropped anywhere on it. One picture is to search with; several, and
 * folders, are asked about. */

import { pinUpload } from "./actions.js";
import { bring } from "./bring.js";
import { store } from "./store.js";
import { t } from "./texts.js";

const PICTURE = /\.(heic|heif|hif|avif|jxl|dng|tiff?)$/i;

/** Searches with the first picture of those that were given. @param {File[]} given */
export async function showFirst(given) {
  const file = given.find((each) => each.type.startsWith("image/") || PICTURE.test(each.name));
  if (file) await pinUpload(file);
  else if (given.length) store.set({ problem: { detail: t("say.notpicture") } });
}

/** @param {File[]} files */
const show = (files) => /** @type {any} */ (document.querySelector("vf-say"))?.show(files);

/** @param {DataTransfer} transfer */
async function take(transfer) {
  const items = [...transfer.items].filter((item) => item.kind === "file");
  const isOne = items.length === 1 && !items[0].webkitGetAsEntry?.()?.isDirectory;
  if (isOne && store.state.collection?.pictures !== 0) return show([...transfer.files]);
  // Entries are there only until the event has been handled: all are taken before anything is awaited.
  const entries = items.map((item) => ({ entry: item.webkitGetAsEntry?.() ?? null, file: item.getAsFile() }));
  const { askWhatFor, filesOf } = await bring("uploads");
  askWhatFor(await filesOf(entries), (file) => show([file]));
}

let depth = 0;
const carries = (event) => event.dataTransfer?.types.includes("Files");
const over = (is) => document.body.classList.toggle("dropping", is);

document.body.dataset.drop = t("say.drop");
addEventListener("paste", (event) => {
  if (!event.clipboardData?.files.length) return;
  event.preventDefault();
  void show([...event.clipboardData.files]);
});
addEventListener("dragenter", (event) => {
  if (carries(event)) over((depth += 1) > 0);
});
addEventListener("dragleave", (event) => {
  if (carries(event)) over((depth -= 1) > 0);
});
addEventListener("dragover", (event) => {
  if (carries(event)) event.preventDefault();
});
addEventListener("drop", (event) => {
  if (!carries(event)) return;
  event.preventDefault();
  over((depth = 0) > 0);
  void take(/** @type {DataTransfer} */ (event.dataTransfer));
});
