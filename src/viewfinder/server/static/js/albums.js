// @ts-check
/** vf-albums: favourites, stars and albums, each a way to look at the library; albums are renamed, deleted, taken along. */

import * as actions from "./actions.js";
import * as api from "./api.js";
import { element, icon, iconButton } from "./dom.js";
import "./icons.js";
import { announce } from "./live.js";
import { show } from "./router.js";
import { store } from "./store.js";
import { labelled, list, panel, refill, RowPanel } from "./conversation-parts.js";
import { albumName, makeAlbum, mayMark, openExports, readAlbums, starsTold } from "./taking.js";
import { t } from "./texts.js";

/** @typedef {{id: string, name: string, pictures: number}} Album */

/** Shows an album: its pictures, among which one can search. @param {string} id */
export function openAlbum(id) {
  show({ page: "album", album: id });
  return actions.home({ album: id });
}

class Albums extends RowPanel {

  connectedCallback() {
    const { button, panel: made } = panel("albums-panel", t("albums.title"), () => this.#open());
    [this.button, this.panel] = [button, made];
    this.append(button, made);
    store.on(["albums", "where"], () => this.#render());
    this.#render();
    // A link to an album, wherever it stands, changes what is shown and not the page.
    addEventListener("click", (event) => {
      const link = /** @type {Element} */ (event.target).closest?.("a[href^='/album/']");
      if (!link || event.defaultPrevented || event.button !== 0 || event.ctrlKey || event.metaKey || event.shiftKey) return;
      event.preventDefault();
      void this.#follow(decodeURIComponent(link.getAttribute("href").slice("/album/".length)));
    });
    if (store.state.where.album) void actions.acting(readAlbums, { quiet: true });
  }

  /** @param {string} id */
  async #follow(id) {
    this.#close();
    await /** @type {any} */ (document.querySelector("vf-picture")).close?.();
    for (const toast of document.querySelectorAll(".toast")) toast.remove();
    await openAlbum(id);
  }

  #open() {
    this.doing = null;
    this.fill();
    void actions.acting(readAlbums, { quiet: true });
  }

  #close() {
    this.panel?.hidePopover();
  }

  #render() {
    const { album } = store.state.where;
    const name = album ? albumName(album) : t("albums.title");
    this.button?.setAttribute("aria-label", album ? t("albums.shown", { name }) : name);
    this.button?.setAttribute("title", name);
    this.button?.replaceChildren(icon("album"), element("span", { class: "panel-label" }, name), icon("down"));
    if (this.panel?.matches(":popover-open")) this.fill();
  }

  fill() {
    const { albums, where } = store.state;
    const filter = (column, value, drawing, text) => {
      const isOn = where[column] === value;
      const { [column]: _, ...others } = where;
      const onclick = () => {
        this.#close();
        void actions.setWhere(isOn ? others : { ...others, [column]: value });
      };
      return element("button", { type: "button", class: "look-at", "aria-pressed": String(isOn), "data-key": `${column}-${value}`, onclick }, icon(drawing), element("span", {}, text));
    };
    const rows = (albums ?? []).map((album) => element("li", { class: "conversation-row" }, ...[this.#row(album)].flat()));
    refill(this.panel,
      element("div", { class: "looks", role: "group", "aria-label": t("albums.only") },
        filter("favourite", "yes", "heart", t("albums.favourites")),
        ...[5, 4, 3].map((n) => filter("stars", String(n), "star", n === 5 ? starsTold(5) : t("albums.stars", { n })))),
      element("h3", {}, t("albums.title")),
      rows.length > 0 ? list(t("albums.title"), rows, { class: "conversations" }) : albums && element("p", { class: "quiet" }, t("albums.none")),
      mayMark() && this.#make());
  }

  /** @param {Album} album */
  #row(album) {
    const doing = this.doing?.id === album.id ? this.doing.what : null;
    if (doing === "rename") return this.#renaming(album);
    if (doing === "delete") return this.#deleting(album);
    const { id, name, pictures } = album;
    const current = store.state.where.album === id;
    return [
      element("a", { class: "conversation-open", href: `/album/${id}`, "aria-current": current && "true", "data-key": `open-${id}` }, element("span", { class: "conversation-name", dir: "auto" }, name), element("span", { class: "quiet" }, t("bar.pictures", { n: pictures }))),
      pictures > 0 && iconButton("download", t("albums.export", { name }), (event) => openExports(event.currentTarget, { album: id }), { "data-key": `export-${id}`, "aria-haspopup": "menu" }),
      ...(mayMark() ? [
        iconButton("edit", t("albums.rename", { name }), () => this.do(id, "rename"), { "data-key": `rename-${id}` }),
        iconButton("trash", t("albums.delete", { name }), () => this.do(id, "delete"), { "data-key": `delete-${id}` }),
      ] : []),
    ];
  }

  #make() {
    const name = element("input", { type: "text", maxlength: "100", "aria-label": t("albums.new-name"), placeholder: t("albums.new"), "data-key": "new" });
    const onsubmit = async (event) => {
      event.preventDefault();
      const given = name.value.trim();
      if (given && (await makeAlbum(given))) name.value = "";
    };
    return element("form", { class: "line-form", onsubmit }, name, element("button", { type: "submit", "data-key": "make" }, ...labelled("add", t("albums.make"))));
  }

  /** @param {Album} album */
  #renaming({ id, name }) {
    const input = element("input", { type: "text", value: name, maxlength: "100", "aria-label": t("albums.new-name"), "data-key": `name-${id}`, "data-first": true });
    const onsubmit = async (event) => {
      event.preventDefault();
      const given = input.value.trim();
      if (given && given !== name) await actions.acting(async () => { await api.patch(`/albums/${id}`, { name: given }); await readAlbums(); });
      this.done(id, "rename");
    };
    const onkeydown = (event) => {
      if (event.key !== "Escape") return;
      event.preventDefault(); // the panel stays
      this.done(id, "rename");
    };
    return element("form", { class: "line-form", onsubmit, onkeydown }, input, element("button", { type: "submit", class: "primary" }, t("sessions.save")), iconButton("close", t("sessions.cancel"), () => this.done(id, "rename")));
  }

  /** @param {Album} album */
  #deleting({ id, name }) {
    const go = () => actions.acting(async () => {
      await api.remove(`/albums/${id}`);
      announce(t("sessions.deleted", { name }));
      if (store.state.where.album === id) await actions.newConversation();
      await readAlbums();
      this.done(id, "open");
    });
    const keep = element("button", { type: "button", "data-first": true, onclick: () => this.done(id, "delete") }, t("sessions.keep"));
    return element("div", { class: "confirm", role: "group" }, element("span", {}, t("albums.sure", { name })), element("button", { type: "button", class: "danger", onclick: go }, t("sessions.delete-now")), keep);
  }
}

customElements.define("vf-albums", Albums);
