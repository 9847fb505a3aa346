// @ts-check
/** vf-attributes: what the retriever sees in the picture that is picked, as chips. Some can be taken away and others put
 * in; what is left counts in the turn in place of what is seen. It is not there for retrievers that read none. */

import * as actions from "./actions.js";
import * as api from "./api.js";
import { element, icon, iconButton } from "./dom.js";
import { announce } from "./live.js";
import { store } from "./store.js";
import { chipKeys, list, refill } from "./conversation-parts.js";
import { listed, t } from "./texts.js";

/** @typedef {import("./store.js").Attributes} Seen */

class Attributes extends HTMLElement {
  /** Which retriever looks at which picture: an answer about anything else comes too late. */
  #of = "";
  /** All that can be put in; there may be hundreds. */
  #options = element("datalist", { id: "attribute-list" });

  connectedCallback() {
    chipKeys(this);
    store.on(["pinned", "session", "retrievers", "chosen"], () => void this.#look());
    store.on(["attributes"], () => this.#render());
    void this.#look();
  }

  /** Asks what is seen in the picture, unless that is known. */
  async #look() {
    const { pinned } = store.state;
    const { retriever } = actions.setTo();
    const of = pinned && actions.readsAttributes() ? `${retriever} ${pinned.kind} ${pinned.id}` : "";
    if (of === this.#of) return;
    this.#of = of;
    store.set({ attributes: null });
    this.#render();
    if (!pinned || !of) return;
    const path = `/retrievers/${encodeURIComponent(retriever ?? "")}/attributes`;
    const found = await actions.acting(() => api.get(path, { [pinned.kind]: pinned.id }), { quiet: true });
    if (of !== this.#of) return;
    if (!found) return void this.replaceChildren();
    const { attributes: seen, known } = found;
    this.#options.replaceChildren(...known.map((/** @type {string} */ name) => element("option", { value: name })));
    store.set({ attributes: { id: pinned.id, seen, known, chosen: seen.map((/** @type {any} */ { name }) => name), touched: false } });
  }

  #render() {
    const { attributes } = store.state;
    const parts = attributes ? this.#parts(attributes) : [element("p", { class: "quiet" }, t("attributes.waiting"))];
    refill(this, element("div", { class: "attributes", role: "group", "aria-label": t("attributes.title") }, ...parts));
  }

  /** @param {Seen} attributes */
  #parts(attributes) {
    const { chosen } = attributes;
    const chips = list(t("attributes.title"), chosen.map((name) => this.#chip(attributes, name)), { class: "chips" });
    const reset = actions.isChanged(attributes) && iconButton("back", t("attributes.reset"), () => this.#choose(attributes.seen.map(({ name }) => name)), { "data-key": "attribute-reset" });
    return [chips, element("p", { class: "adder" }, this.#input(attributes), reset), this.#options];
  }

  /** @param {Seen} attributes @param {string} name */
  #chip({ seen, chosen }, name) {
    const chance = seen.find((each) => each.name === name)?.chance;
    const about = chance === undefined ? t("attributes.added") : t("attributes.about", { percent: Math.round(100 * chance) });
    const label = t("attributes.remove", { name });
    const remove = () => this.#choose(chosen.filter((each) => each !== name));
    return element("li", { class: `chip belief ${chance === undefined ? "mine" : ""}`, title: about },
      element("span", { class: "chip-face" }, element("span", { dir: "auto" }, name)),
      element("button", { type: "button", class: "chip-x", "aria-label": label, onclick: remove, "data-key": `attribute-${name}` }, icon("close")));
  }

  /** A line to put in another one. @param {Seen} attributes */
  #input({ known, chosen }) {
    const add = () => {
      const text = input.value.trim().toLowerCase();
      const name = known.find((each) => each.toLowerCase() === text);
      if (!text) return /** @type {HTMLElement | null} */ (document.querySelector("vf-say textarea"))?.focus();
      if (!name) {
        input.setCustomValidity(t("attributes.unknown", { name: text }));
        return input.reportValidity();
      }
      input.value = "";
      this.#choose(chosen.includes(name) ? chosen : [...chosen, name]);
    };
    const input = element("input", { type: "text", class: "small", list: "attribute-list", autocomplete: "off", maxlength: 200, placeholder: t("attributes.add"), "aria-label": t("attributes.add-label"), "data-key": "attribute-input",
      onkeydown: (event) => {
        if (event.key === "Enter" && !event.isComposing) {
          event.preventDefault();
          add();
        } else if (event.key === "Escape" && input.value) {
          event.stopPropagation();
          input.value = "";
        }
      },
      oninput: (event) => {
        input.setCustomValidity("");
        // One that was chosen from the list is put in at once.
        if (event.inputType === "insertReplacementText" || event.inputType === undefined) add();
      } });
    return input;
  }

  /** @param {string[]} chosen */
  #choose(chosen) {
    const { attributes } = store.state;
    if (!attributes) return;
    store.set({ attributes: { ...attributes, chosen, touched: true } });
    announce(chosen.length ? t("live.attributes", { names: listed(chosen) }) : t("live.no-attributes"));
  }
}

customElements.define("vf-attributes", Attributes);
