// @ts-check
/** vf-found: the picture that was meant has been found, and what one wants of it now. */

import { newConversation } from "./actions.js";
import { get, thumbnail } from "./api.js";
import { element, fill, icon } from "./dom.js";
import "./icons.js";
import { nameOf, store, wayTo } from "./store.js";
import * as taking from "./taking.js";
import { t } from "./texts.js";

class Found extends HTMLElement {
  connectedCallback() {
    store.on(["found", "marks", "me"], () => this.render());
    this.render();
  }

  async render() {
    const id = store.state.found;
    if (!id) {
      this.named = undefined;
      return fill(this);
    }
    const { results, session, turn } = store.state;
    const hit = results?.results.find((each) => each.id === id);
    // One that was found below what has been fetched, or in another conversation.
    this.named = hit ?? (this.named?.id === id ? this.named : await get(`/pictures/${id}`).then(({ names, captions }) => ({ id, name: names[0], caption: captions[0] }), () => ({ id, name: "", caption: null })));
    if (store.state.found !== id) return;
    const { name } = this.named;
    const turns = session ? wayTo(session.tree, turn).length : 0;
    const facts = [turns > 0 && t("found.text", { n: turns }), hit && turns > 0 && t(hit.rank === 1 ? "found.first" : "found.rank", { rank: hit.rank })].filter(Boolean).join(" ");
    const focused = /** @type {HTMLElement | null} */ (document.activeElement)?.dataset.act;
    const act = (drawing, key, work, given = {}) =>
      element("button", { type: "button", "data-act": drawing, onclick: (event) => work(event.currentTarget), ...given }, icon(drawing), t(key));
    const isFavourite = taking.markOf(id).favourite;
    fill(this, element("section", { class: "notice good found-note", "aria-label": t("found.title") },
      element("img", { src: thumbnail(id, 160), alt: "", width: "72", height: "72" }),
      element("div", { class: "found-told" },
        element("p", { role: "status" }, element("b", {}, t("found.title")), ` ${facts}`),
        element("p", { class: "quiet", dir: "auto" }, nameOf(this.named)),
        element("div", { class: "found-acts" },
          taking.mayTake() && element("a", { class: "button", href: taking.fileAddress(id), download: name }, icon("download"), t("take.download")),
          taking.mayOpen() && act("leave", "take.open", () => taking.openFile(id, "open")),
          taking.mayOpen() && act("folder", "take.folder", () => taking.openFile(id, "folder")),
          taking.knowsPaths() && act("copy", "take.copy-path", () => taking.copyPath(id)),
          taking.mayMark() && act("album", "albums.add", (button) => taking.chooseAlbum(button, [id]), { "aria-haspopup": "dialog" }),
          taking.mayMark() && act("heart", isFavourite ? "take.unfavourite" : "take.favourite", () => taking.toggleFavourite([id])),
          act("link", "take.copy-link", () => taking.copyLink(id)))),
      element("div", { class: "found-on" },
        element("button", { type: "button", class: "primary", onclick: () => newConversation() }, t("found.again")),
        element("button", { type: "button", onclick: () => store.set({ found: null }) }, t("found.on")))));
    if (focused) /** @type {HTMLElement | null} */ (this.querySelector(`[data-act=${focused}]`))?.focus();
  }
}

customElements.define("vf-found", Found);
