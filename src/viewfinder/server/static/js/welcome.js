// @ts-check
/** vf-welcome: a library without pictures, and the ways to fill it: a folder, pictures of this device, the demo, a command. */

import { farOf, styleAdding } from "./adding.js";
import { addDemo } from "./conversation-actions.js";
import { element, fill, icon } from "./dom.js";
import { mayPick, pickFolder } from "./folder-picker.js";
import { labelled } from "./conversation-parts.js";
import { announce } from "./live.js";
import { store } from "./store.js";
import { t } from "./texts.js";
import { picturesOfFolder, sendPictures } from "./uploads.js";

/** What can be read, as a dialog of the system is to offer it. */
const ACCEPTED = "image/*,.heic,.hif,.avif,.jxl,.dng";

/** A button that takes pictures of this device. @param {string} id  of its field @param {string} label @param {{folder?: boolean}} [given] */
export function deviceButton(id, label, { folder = false } = {}) {
  const chosen = () => {
    const files = [...input.files];
    const given = folder ? picturesOfFolder(files) : { files, leftOut: 0 };
    if (given.files.length) sendPictures(given.files, given.leftOut);
    else if (files.length) store.set({ problem: { detail: t("uploads.nothing-in", { folder: files[0].webkitRelativePath.split("/")[0] }) } });
    // So that the same can be chosen again.
    input.value = "";
  };
  const kind = folder ? { webkitdirectory: true } : { accept: ACCEPTED };
  const input = element("input", { type: "file", multiple: true, class: "unseen", id, onchange: chosen, ...kind });
  return element("label", { class: "file-button", for: id }, input, ...labelled(folder ? "folder" : "upload", label));
}

/** All ways to add what one has, as buttons. @param {string} prefix  of the ids of their fields */
export function waysToAdd(prefix) {
  const { collection } = store.state;
  return [
    mayPick() && element("button", { type: "button", class: "primary", onclick: () => pickFolder() }, ...labelled("folder", t("ways.folder"))),
    // On the machine that serves, a folder is better read where it is than sent.
    !collection?.picks_folders && deviceButton(`${prefix}-folder`, t("ways.device-folder"), { folder: true }),
    deviceButton(`${prefix}-pictures`, t("ways.device")),
  ];
}

class Welcome extends HTMLElement {
  connectedCallback() {
    styleAdding();
    this.stop = store.on(["me", "collection", "arriving"], () => this.render());
    this.render();
  }

  disconnectedCallback() {
    this.stop?.();
  }

  render() {
    const { me, collection, arriving } = store.state;
    const adding = arriving?.adding ?? null;
    // What has the focus stays as it is while nothing of it changes.
    const shape = JSON.stringify([me?.scopes, collection?.picks_folders, collection?.roots, collection?.library_option, Boolean(adding)]);
    if (adding) this.far ??= element("p", { role: "status" });
    if (this.far && adding) this.far.textContent = farOf(adding);
    if (shape === this.shape) return;
    this.shape = shape;
    fill(this, element("div", { class: "empty" }, icon("image"), ...(adding ? this.coming() : this.ways())));
  }

  coming() {
    return [element("h2", {}, t("welcome.coming")), this.far, element("p", {}, t("welcome.coming-text"))];
  }

  ways() {
    const { me, collection } = store.state;
    if (!me?.scopes?.includes("admin")) return [element("h2", {}, t("empty.library.title")), element("p", {}, t("welcome.not-allowed"))];
    const option = collection?.library_option;
    return [
      element("h2", {}, t("empty.library.title")),
      element("p", {}, t("welcome.text")),
      element("div", { class: "ways" }, ...waysToAdd("welcome")),
      element("p", {}, t("welcome.drop")),
      element("div", { class: "try" }, element("p", {}, t("welcome.demo-text")), element("button", { type: "button", onclick: () => addDemo() }, ...labelled("play", t("welcome.demo")))),
      typeof option === "string" && element("p", {}, t("welcome.terminal")),
      typeof option === "string" && command(`viewfinder add ~/Pictures${option}`),
    ];
  }
}

/** A command to be copied. @param {string} text */
function command(text) {
  const copy = async () => {
    await navigator.clipboard?.writeText(text);
    announce(t("welcome.copied"));
  };
  return element("p", { class: "command" }, element("code", {}, ...text.split(/(?= )/).map((word) => element("span", { class: word.length < 24 ? "typed" : "" }, word))), element("button", { type: "button", class: "small", onclick: copy }, t("welcome.copy")));
}

customElements.define("vf-welcome", Welcome);
