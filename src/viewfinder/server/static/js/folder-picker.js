// @ts-check
/** A dialog to walk through the folders of the machine that serves, or of its roots, and to choose one to add. */

import * as api from "./api.js";
import { styleAdding } from "./adding.js";
import { addFolder, addFolderOfMachine } from "./conversation-actions.js";
import { element, fill, icon } from "./dom.js";
import { sentenceOf } from "./notice.js";
import { store } from "./store.js";
import { t } from "./texts.js";

/** @typedef {{root: number | null, at: string, name: string, above: string | null, folders: {name: string, at: string, readable: boolean}[],
 *   left_out: number, pictures: number, more: boolean, places: {name: string, at: string, readable: boolean}[]}} Folders */

/** Whether this person may choose a folder at all. */
export const mayPick = () => Boolean(store.state.collection?.picks_folders || store.state.collection?.roots?.length);

/** Opens the dialog where pictures usually are. */
export function pickFolder() {
  styleAdding();
  const { collection } = store.state;
  const dialog = element("dialog", { class: "pick-folder", "aria-labelledby": "pick-folder-title", onclose: () => dialog.remove() });
  const places = element("div", { class: "pick-places", role: "group", "aria-label": t("picker.places") });
  const where = element("p", { class: "pick-where" });
  const list = element("ul", { class: "pick-list", role: "list", "aria-label": t("picker.inside") });
  const count = element("p", { class: "pick-count", role: "status" });
  const wrong = element("p", { class: "bad", role: "alert" });
  const add = element("button", { type: "button", class: "primary", disabled: true }, t("picker.add"));
  const cancel = element("button", { type: "button", onclick: () => dialog.close() }, t("picker.cancel"));
  fill(dialog, element("h2", { id: "pick-folder-title" }, t("picker.title")), places, where, list, wrong,
    element("div", { class: "pick-end" }, count, element("div", { class: "ask-buttons" }, cancel, add)));
  document.body.append(dialog);
  dialog.showModal();
  const ofMachine = Boolean(collection?.picks_folders);
  let asked = 0;
  void look(ofMachine ? null : 0, "");

  /** @param {number | null} root @param {string} at */
  async function look(root, at) {
    const mine = ++asked;
    dialog.setAttribute("aria-busy", "true");
    wrong.textContent = "";
    try {
      const found = await api.get("/collection/folders", { root, at });
      if (mine === asked) show(found);
    } catch (error) {
      if (mine === asked) wrong.textContent = error instanceof api.Problem ? (sentenceOf(error.kind) ?? sentence(error.detail)) : t("offline.title");
    }
    dialog.removeAttribute("aria-busy");
  }

  /** @param {Folders} found */
  function show(found) {
    const { root, at, name, above, folders, left_out: leftOut, pictures, more } = found;
    const roots = ofMachine ? [] : (collection?.roots ?? []).map((each) => ({ name: each.name, at: "", root: each.number }));
    const shown = ofMachine ? found.places.map((place) => ({ ...place, root: null })) : roots.length > 1 ? roots : [];
    const chosen = (place) => (ofMachine ? place.at === at : place.root === root);
    fill(places, ...shown.map((place) => element("button", { type: "button", class: "small", "aria-pressed": String(chosen(place)), onclick: () => look(place.root, place.at) }, icon("folder"), place.name)));
    places.hidden = !shown.length;
    fill(where, element("b", {}, name), ofMachine && name !== at && element("span", { class: "quiet" }, ` ${at}`));
    const up = above !== null && row("back", t("picker.up"), () => look(root, above), "up");
    const inside = folders.map((folder) => row("folder", folder.name, () => look(root, folder.at), "", !folder.readable));
    const none = !folders.length && element("li", { class: "quiet pick-none" }, t("picker.none"));
    fill(list, up, ...inside, none, leftOut > 0 && element("li", { class: "quiet pick-none" }, t("picker.left-out", { n: leftOut })));
    list.scrollTop = 0;
    /** @type {HTMLElement | null} */ (list.querySelector("button:not(:disabled)"))?.focus({ preventScroll: true });
    count.textContent = more ? t("picker.at-least", { n: pictures }) : t("picker.pictures", { n: pictures });
    add.disabled = !pictures && !more;
    add.onclick = () => {
      dialog.close();
      if (root === null) addFolderOfMachine(at);
      else addFolder(root, at);
    };
  }
}

/** @param {string} drawing @param {string} name @param {() => void} onclick */
function row(drawing, name, onclick, kind = "", shut = false) {
  const said = shut ? t("picker.shut", { name }) : name;
  return element("li", {}, element("button", { type: "button", class: `pick-row ${kind}`, disabled: shut, onclick }, icon(drawing), element("span", {}, said)));
}

/** Problems begin with a small letter, as in logs. @param {string} detail */
const sentence = (detail) => detail.charAt(0).toUpperCase() + detail.slice(1);
