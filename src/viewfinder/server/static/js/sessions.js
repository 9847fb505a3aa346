/** All conversations: open, rename, delete, take along as a file, bring one in. */

import * as actions from "./actions.js";
import { element, icon, iconButton } from "./dom.js";
import { announce } from "./live.js";
import { store } from "./store.js";
import { sessionsPage } from "./conversation-actions.js";
import { labelled, list, panel, refill } from "./conversation-parts.js";
import { t } from "./texts.js";

/** @typedef {{id: string, name: string, turns: number, updated: string}} Conversation */

const nameOf = (conversation) => conversation.name || t("sessions.untitled");
const when = new Intl.DateTimeFormat("en", { month: "short", day: "numeric", hour: "2-digit", minute: "2-digit" });

class Sessions extends HTMLElement {
  /** The pages read so far, while the panel is open. @type {Conversation[]} */
  #conversations = [];
  /** @type {string | null} */
  #next = null;
  /** The conversation whose name is being changed, or which is about to be deleted. @type {{id: string, what: "rename" | "delete"} | null} */
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
    this.#conversations = [];
    await this.#read(null);
  }

  /** @param {string | null} cursor */
  async #read(cursor) {
    const page = await sessionsPage(cursor);
    if (!page) return;
    this.#conversations = [...(cursor ? this.#conversations : []), ...page.sessions];
    this.#next = page.next;
    this.#fill();
  }

  #render() {
    const { session } = store.state;
    const name = session ? nameOf(session) : t("sessions.new");
    this.button?.setAttribute("aria-label", `${t("sessions.title")}: ${name}`);
    this.button?.setAttribute("title", name);
    this.button?.replaceChildren(icon("conversation"), element("span", { class: "panel-label" }, name), icon("down"));
  }

  #close() {
    this.panel?.hidePopover();
  }

  #fill() {
    const begin = () => (this.#close(), actions.newConversation());
    const older = this.#next && element("button", { type: "button", class: "link", "data-key": "older", onclick: () => this.#read(this.#next) }, t("sessions.more"));
    const conversations = this.#conversations.length ? list(t("sessions.title"), this.#conversations.map((conversation) => this.#conversation(conversation)), { class: "conversations" }) : element("p", { class: "quiet" }, t("sessions.none"));
    refill(
      this.panel,
      element("div", { class: "panel-tools" }, element("button", { type: "button", class: "primary", "data-key": "new", onclick: begin }, ...labelled("add", t("sessions.new"))), this.#import()),
      conversations,
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
    const input = element("input", { type: "file", accept: "application/json,.json", class: "unseen", id: "import-conversation", "data-key": "import", onchange: chosen });
    return element("label", { class: "file-button", for: "import-conversation" }, input, ...labelled("upload", t("sessions.import")));
  }

  /** @param {Conversation} conversation */
  #conversation(conversation) {
    const doing = this.#doing?.id === conversation.id ? this.#doing.what : null;
    const content = doing === "rename" ? this.#renaming(conversation) : doing === "delete" ? this.#deleting(conversation) : this.#row(conversation);
    return element("li", { class: "conversation-row" }, ...[content].flat());
  }

  /** @param {Conversation} conversation */
  #row(conversation) {
    const name = nameOf(conversation);
    const open = () => (this.#close(), actions.open(conversation.id, null));
    const facts = `${t("sessions.turns", { n: conversation.turns })} · ${when.format(new Date(conversation.updated))}`;
    const current = conversation.id === store.state.session?.id;
    return [
      element("button", { type: "button", class: "conversation-open", "aria-current": current && "true", "data-key": `open-${conversation.id}`, onclick: open }, element("span", { class: "conversation-name" }, name), element("span", { class: "quiet" }, facts)),
      iconButton("edit", t("sessions.rename", { name }), () => this.#do(conversation.id, "rename"), { "data-key": `rename-${conversation.id}` }),
      element("a", { class: "icon-button", href: actions.exportUrl(conversation.id), download: `${name.replace(/[^\p{L}\p{N} _-]/gu, "").trim() || "conversation"}.json`, "aria-label": t("sessions.export", { name }), title: t("sessions.export", { name }) }, icon("download")),
      iconButton("trash", t("sessions.delete", { name }), () => this.#do(conversation.id, "delete"), { "data-key": `delete-${conversation.id}` }),
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

  /** @param {Conversation} conversation */
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

  /** @param {Conversation} conversation */
  #deleting(conversation) {
    const name = nameOf(conversation);
    const go = async () => {
      await actions.deleteSession(conversation.id);
      this.#conversations = this.#conversations.filter(({ id }) => id !== conversation.id);
      announce(t("sessions.deleted", { name }));
      this.#done(conversation.id, "open");
    };
    const keep = element("button", { type: "button", "data-first": true, onclick: () => this.#done(conversation.id, "delete") }, t("sessions.keep"));
    return element("div", { class: "confirm", role: "group" }, element("span", {}, t("sessions.sure", { name })), element("button", { type: "button", class: "danger", onclick: go }, t("sessions.delete-now")), keep);
  }
}

customElements.define("vf-sessions", Sessions);
