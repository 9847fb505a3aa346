/** All talks: open, rename, delete, take along as a file, bring one in. */

import * as actions from "./actions.js";
import { element, icon, iconButton } from "./dom.js";
import { announce } from "./live.js";
import { store } from "./store.js";
import { sessionsPage } from "./talk-actions.js";
import { labelled, list, panel, refill } from "./talk-parts.js";
import { t } from "./texts.js";

/** @typedef {{id: string, name: string, turns: number, updated: string}} Talk */

const nameOf = (talk) => talk.name || t("sessions.untitled");
const when = new Intl.DateTimeFormat("en", { month: "short", day: "numeric", hour: "2-digit", minute: "2-digit" });

class Sessions extends HTMLElement {
  /** The pages read so far, while the panel is open. @type {Talk[]} */
  #talks = [];
  /** @type {string | null} */
  #next = null;
  /** The talk whose name is being changed, or which is about to be deleted. @type {{id: string, what: "rename" | "delete"} | null} */
  #doing = null;

  connectedCallback() {
    const { button, panel: made } = panel("sessions-panel", t("sessions.title"), () => this.#open());
    [this.button, this.panel] = [button, made];
    this.append(button, made);
    store.on(["session"], () => this.#render());
    this.#render();
  }

  async #open() {
    this.#doing = null;
    this.#fill();
    this.#talks = [];
    await this.#read(null);
  }

  /** @param {string | null} cursor */
  async #read(cursor) {
    const page = await sessionsPage(cursor);
    if (!page) return;
    this.#talks = [...(cursor ? this.#talks : []), ...page.sessions];
    this.#next = page.next;
    this.#fill();
  }

  #render() {
    const { session } = store.state;
    const name = session ? nameOf(session) : t("sessions.new");
    this.button?.setAttribute("aria-label", `${t("sessions.title")}: ${name}`);
    this.button?.setAttribute("title", name);
    this.button?.replaceChildren(icon("talk"), element("span", { class: "panel-label" }, name), icon("down"));
  }

  #close() {
    this.panel?.hidePopover();
  }

  #fill() {
    const begin = () => (this.#close(), actions.newTalk());
    const older = this.#next && element("button", { type: "button", class: "link", "data-key": "older", onclick: () => this.#read(this.#next) }, t("sessions.more"));
    const talks = this.#talks.length ? list(t("sessions.title"), this.#talks.map((talk) => this.#talk(talk)), { class: "talks" }) : element("p", { class: "quiet" }, t("sessions.none"));
    refill(
      this.panel,
      element("div", { class: "panel-tools" }, element("button", { type: "button", class: "primary", "data-key": "new", onclick: begin }, ...labelled("add", t("sessions.new"))), this.#import()),
      talks,
      older,
    );
  }

  #import() {
    const chosen = async () => {
      const [file] = input.files;
      if (!file) return;
      this.#close();
      await actions.importSession(file);
    };
    const input = element("input", { type: "file", accept: "application/json,.json", class: "unseen", id: "import-talk", "data-key": "import", onchange: chosen });
    return element("label", { class: "file-button", for: "import-talk" }, input, ...labelled("upload", t("sessions.import")));
  }

  /** @param {Talk} talk */
  #talk(talk) {
    const doing = this.#doing?.id === talk.id ? this.#doing.what : null;
    const content = doing === "rename" ? this.#renaming(talk) : doing === "delete" ? this.#deleting(talk) : this.#row(talk);
    return element("li", { class: "talk-row" }, ...[content].flat());
  }

  /** @param {Talk} talk */
  #row(talk) {
    const name = nameOf(talk);
    const open = () => (this.#close(), actions.open(talk.id, null));
    const facts = `${t("sessions.turns", { n: talk.turns })} · ${when.format(new Date(talk.updated))}`;
    const current = talk.id === store.state.session?.id;
    return [
      element("button", { type: "button", class: "talk-open", "aria-current": current && "true", "data-key": `open-${talk.id}`, onclick: open }, element("span", { class: "talk-name" }, name), element("span", { class: "quiet" }, facts)),
      iconButton("edit", t("sessions.rename", { name }), () => this.#do(talk.id, "rename"), { "data-key": `rename-${talk.id}` }),
      element("a", { class: "icon-button", href: actions.exportUrl(talk.id), download: `${name.replace(/[^\p{L}\p{N} _-]/gu, "").trim() || "talk"}.json`, "aria-label": t("sessions.export", { name }), title: t("sessions.export", { name }) }, icon("download")),
      iconButton("trash", t("sessions.delete", { name }), () => this.#do(talk.id, "delete"), { "data-key": `delete-${talk.id}` }),
    ];
  }

  /** @param {string} id @param {"rename" | "delete"} what */
  #do(id, what) {
    this.#doing = { id, what };
    this.#fill();
    this.panel?.querySelector("[data-first]")?.focus();
  }

  /** @param {string} id @param {string} key  where the focus goes */
  #done(id, key) {
    this.#doing = null;
    this.#fill();
    (this.panel?.querySelector(`[data-key="${key}-${id}"]`) ?? this.panel?.querySelector("[data-key=new]"))?.focus();
  }

  /** @param {Talk} talk */
  #renaming({ id, name }) {
    const input = element("input", { type: "text", value: name, maxlength: 200, "aria-label": t("sessions.name"), "data-key": `name-${id}`, "data-first": true });
    const onsubmit = async (event) => {
      event.preventDefault();
      await actions.rename(input.value.trim(), id);
      await this.#read(null);
      this.#done(id, "rename");
    };
    const onkeydown = (event) => {
      if (event.key !== "Escape") return;
      event.preventDefault(); // the panel stays
      this.#done(id, "rename");
    };
    return element("form", { class: "line-form", onsubmit, onkeydown }, input, element("button", { type: "submit", class: "primary" }, t("sessions.save")), iconButton("close", t("sessions.cancel"), () => this.#done(id, "rename")));
  }

  /** @param {Talk} talk */
  #deleting(talk) {
    const name = nameOf(talk);
    const go = async () => {
      await actions.deleteSession(talk.id);
      this.#talks = this.#talks.filter(({ id }) => id !== talk.id);
      announce(t("sessions.deleted", { name }));
      this.#done(talk.id, "open");
    };
    const keep = element("button", { type: "button", "data-first": true, onclick: () => this.#done(talk.id, "delete") }, t("sessions.keep"));
    return element("div", { class: "confirm", role: "group" }, element("span", {}, t("sessions.sure", { name })), element("button", { type: "button", class: "danger", onclick: go }, t("sessions.delete-now")), keep);
  }
}

customElements.define("vf-sessions", Sessions);
