/** All conversations: open, rename, delete, take along as a file, bring one in. */

import * as actions from "./actions.js";
import { deleteSession, exportUrl, importSession, rename, sessionsPage } from "./conversation-actions.js";
import { element, icon, iconButton } from "./dom.js";
import { announce } from "./live.js";
import { store } from "./store.js";
import { labelled, list, mayWrite, panel, refill, RowPanel } from "./conversation-parts.js";
import { language, t } from "./texts.js";

/** @typedef {{id: string, name: string, turns: number, updated: string, matches: {turn: number, text: string}[]}} Conversation */

const PAUSE_MS = 200;

/** Without case and accents, as the server compares words. @param {string} text */
const folded = (text) => text.normalize("NFKD").replace(/\p{M}/gu, "").toLowerCase();

/** A text with the words that were looked for marked. @param {string} text @param {string} sought */
function marked(text, sought) {
  const starts = folded(sought).match(/[\p{L}\p{N}]+/gu) ?? [];
  const parts = text.match(/[\p{L}\p{N}\p{M}]+|[^\p{L}\p{N}\p{M}]+/gu) ?? [];
  const isSought = (part) => starts.some((start) => folded(part).startsWith(start) || (/[^\u0000-\u024f]/.test(start) && folded(part).includes(start)));
  return parts.map((part) => (isSought(part) ? element("mark", {}, part) : part));
}

const nameOf = (conversation) => conversation.name || t("sessions.untitled");
const when = new Intl.DateTimeFormat(language, { month: "short", day: "numeric", hour: "2-digit", minute: "2-digit" });

class Sessions extends RowPanel {
  /** The pages read since the panel was opened; null until the first is here. @type {Conversation[] | null} */
  #conversations = null;
  /** @type {string | null} */
  #next = null;
  /** What is looked for among all conversations, and the answer to the last keystroke that was asked. */
  #sought = "";
  #asked = 0;
  /** @type {ReturnType<typeof setTimeout> | undefined} */
  #pause;

  connectedCallback() {
    const { button, panel: made } = panel("sessions-panel", t("sessions.title"), () => this.#open());
    [this.button, this.panel] = [button, made];
    this.append(button, made);
    store.on(["session"], () => this.#render());
    this.#render();
  }

  async #open() {
    this.doing = null;
    this.#sought = "";
    this.#conversations = null; // rows of the last time would move under the pointer when today's come
    this.fill();
    await this.#read(null);
  }

  /** @param {string | null} cursor */
  async #read(cursor) {
    const mine = ++this.#asked;
    const page = await sessionsPage(cursor, this.#sought.trim());
    if (!page || mine !== this.#asked) return;
    this.#conversations = [...(cursor ? this.#conversations : []), ...page.sessions];
    this.#next = page.next;
    this.fill();
    if (this.#sought && !cursor) announce(this.#count());
  }

  /** How many were found. */
  #count() {
    const n = this.#conversations.length;
    return n ? t(this.#next ? "sessions.found-more" : "sessions.found", { n }) : t("sessions.nothing");
  }

  /** The field to look for one of all conversations. */
  #search() {
    const label = t("sessions.search");
    const typed = () => {
      this.#sought = input.value;
      clearTimeout(this.#pause);
      this.#pause = setTimeout(() => this.#read(null), PAUSE_MS);
    };
    const onkeydown = (event) => {
      if (event.key !== "Escape" || !input.value) return;
      event.preventDefault(); // the panel stays
      input.value = "";
      typed();
    };
    const input = element("input", { type: "search", value: this.#sought, maxlength: 200, placeholder: label, "aria-label": label, "data-key": "search", autocomplete: "off", oninput: typed, onkeydown });
    return input;
  }

  #render() {
    const { session } = store.state;
    const name = session ? nameOf(session) : t("sessions.new");
    this.button?.setAttribute("aria-label", `${t("sessions.title")}: ${name}`);
    this.button?.setAttribute("title", name);
    this.button?.replaceChildren(icon("conversation"), element("span", { class: "panel-label", dir: "auto" }, name), icon("down"));
  }

  #close() {
    this.panel?.hidePopover();
  }

  fill() {
    const begin = () => (this.#close(), actions.newConversation());
    const older = this.#next && element("button", { type: "button", class: "link", "data-key": "older", onclick: () => this.#read(this.#next) }, t("sessions.more"));
    const conversations = this.#conversations && (this.#conversations.length ? list(t("sessions.title"), this.#conversations.map((conversation) => this.#conversation(conversation)), { class: "conversations" }) : element("p", { class: "quiet" }, t(this.#sought ? "sessions.nothing" : "sessions.none")));
    refill(
      this.panel,
      element("div", { class: "panel-tools" }, element("button", { type: "button", class: "primary", "data-key": "new", onclick: begin }, ...labelled("add", t("sessions.new"))), mayWrite() && this.#import()),
      this.#search(),
      this.#sought && this.#conversations?.length > 0 && element("p", { class: "quiet small-note" }, this.#count()),
      conversations,
      older,
    );
  }

  #import() {
    const chosen = async () => {
      const [file] = input.files;
      if (!file) return;
      this.#close();
      await importSession(file);
    };
    const input = element("input", { type: "file", accept: "application/json,.json", class: "unseen", id: "import-conversation", "data-key": "import", onchange: chosen });
    return element("label", { class: "file-button", for: "import-conversation" }, input, ...labelled("upload", t("sessions.import")));
  }

  /** @param {Conversation} conversation */
  #conversation(conversation) {
    const doing = this.doing?.id === conversation.id ? this.doing.what : null;
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
      element("button", { type: "button", class: "conversation-open", "aria-current": current && "true", "data-key": `open-${conversation.id}`, onclick: open }, element("span", { class: "conversation-name", dir: "auto" }, ...this.#marked(name)), ...(conversation.matches ?? []).map(({ text }) => element("span", { class: "match", dir: "auto" }, ...this.#marked(text))), element("span", { class: "quiet" }, facts)),
      iconButton("edit", t("sessions.rename", { name }), () => this.do(conversation.id, "rename"), { "data-key": `rename-${conversation.id}` }),
      element("a", { class: "icon-button", href: exportUrl(conversation.id), download: `${name.replace(/[^\p{L}\p{N} _-]/gu, "").trim() || "conversation"}.json`, "aria-label": t("sessions.export", { name }), title: t("sessions.export", { name }) }, icon("download")),
      mayWrite() && iconButton("trash", t("sessions.delete", { name }), () => this.do(conversation.id, "delete"), { "data-key": `delete-${conversation.id}` }),
    ];
  }

  /** @param {string} text */
  #marked(text) {
    return this.#sought ? marked(text, this.#sought) : [text];
  }

  /** @param {Conversation} conversation */
  #renaming({ id, name }) {
    const input = element("input", { type: "text", value: name, maxlength: 200, "aria-label": t("sessions.name"), "data-key": `name-${id}`, "data-first": true });
    const onsubmit = async (event) => {
      event.preventDefault();
      await rename(input.value.trim(), id);
      await this.#read(null);
      this.done(id, "rename");
    };
    const onkeydown = (event) => {
      if (event.key !== "Escape") return;
      event.preventDefault(); // the panel stays
      this.done(id, "rename");
    };
    return element("form", { class: "line-form", onsubmit, onkeydown }, input, element("button", { type: "submit", class: "primary" }, t("sessions.save")), iconButton("close", t("sessions.cancel"), () => this.done(id, "rename")));
  }

  /** @param {Conversation} conversation */
  #deleting(conversation) {
    const name = nameOf(conversation);
    const go = async () => {
      await deleteSession(conversation.id);
      this.#conversations = this.#conversations.filter(({ id }) => id !== conversation.id);
      announce(t("sessions.deleted", { name }));
      this.done(conversation.id, "open");
    };
    const keep = element("button", { type: "button", "data-first": true, onclick: () => this.done(conversation.id, "delete") }, t("sessions.keep"));
    return element("div", { class: "confirm", role: "group" }, element("span", {}, t("sessions.sure", { name })), element("button", { type: "button", class: "danger", onclick: go }, t("sessions.delete-now")), keep);
  }
}

customElements.define("vf-sessions", Sessions);
