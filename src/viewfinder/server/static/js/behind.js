// @ts-check
/** vf-behind: the conversation went on elsewhere, in another tab, by another person or an assistant. What is shown stays;
 * one chooses: to stay (what is said next is a branch), or to see the newest. What was refused may be said as a branch. */

import * as actions from "./actions.js";
import { get } from "./api.js";
import { toldOf } from "./conversation-parts.js";
import { isMove } from "./conversation-shapes.js";
import { element, fill } from "./dom.js";
import { announce } from "./live.js";
import { standsAt, store } from "./store.js";
import { listed, t } from "./texts.js";

const LOOK_MS = 4000;
const MOST_TOLD = 3;

const { state } = store;

class Behind extends HTMLElement {
  /** Whether one stays where one is: then the same news is no news. @type {string} */
  #stays = "";
  /** What was announced. */
  #told = "";

  connectedCallback() {
    store.on(["behind", "session"], () => this.#render());
    addEventListener("focus", () => this.#look());
    document.addEventListener("visibilitychange", () => this.#look());
    setInterval(() => this.#look(), LOOK_MS);
    this.#render();
  }

  /** Asks whether anything was said that is not known here. */
  async #look() {
    const { session } = state;
    if (!session || !state.online || state.busy || document.hidden) return;
    const after = session.tree.length - 1;
    const news = await get(`/sessions/${session.id}/turns`, { after }).catch(() => null);
    // Something may have been said here meanwhile.
    if (!news || state.session?.id !== session.id || state.session.tree.length - 1 !== after || state.busy) return;
    if (news.newest <= after || this.#stays === `${session.id} ${news.newest}`) return;
    if (news.stands_at === standsAt(session)) return void (await actions.refreshTree(session.id, { whole: true }));
    if (state.behind?.turns.length !== news.turns.length) store.set({ behind: { ...state.behind, id: session.id, turns: news.turns } });
  }

  #render() {
    const { behind, session } = state;
    if (!behind || behind.id !== session?.id) {
      this.#told = "";
      return fill(this);
    }
    if (!behind.turns.length) return void this.#look();
    const said = behind.turns.filter((node) => !isMove(node)).map((node) => t("app.quoted", { text: toldOf(node.turn) }));
    const rest = said.length - MOST_TOLD;
    const told = [...said.slice(-MOST_TOLD), ...(rest > 0 ? [t("behind.more", { n: rest })] : [])];
    const title = t("behind.title");
    const text = [told.length > 0 && t("behind.said", { told: listed(told) }), t(behind.again ? "behind.refused" : "behind.hint")].filter(Boolean).join(" ");
    const button = (key, onclick, given = {}) => element("button", { type: "button", onclick, ...given }, t(key));
    fill(this, element("section", { class: "behind", "aria-label": title },
      element("p", {}, element("b", {}, title), " ", text),
      element("div", { class: "behind-choices" },
        behind.again ? button("behind.branch", () => this.#branch(), { class: "primary" }) : button("behind.stay", () => this.#stay()),
        button("behind.follow", () => this.#follow(), behind.again ? {} : { class: "primary" }))));
    if (this.#told !== text) announce(`${title} ${text}`);
    this.#told = text;
  }

  /** What was refused is said where one is. */
  #branch() {
    const { behind, session } = state;
    if (!behind?.again || !session) return;
    /** @type {any} */
    const say = document.querySelector("vf-say");
    say?.clear();
    store.set({ behind: null });
    behind.again({ parent: state.turn, on_conflict: "branch" });
    say?.box.focus();
  }

  async #follow() {
    const id = state.session?.id;
    if (!id) return;
    store.set({ behind: null });
    dispatchEvent(new CustomEvent("vf-follow"));
    await actions.acting(async () => {
      await actions.refreshTree(id, { whole: true });
      await actions.goTo(standsAt(state.session));
    });
    document.querySelector("vf-say textarea")?.focus();
  }

  /** What was said elsewhere is shown in the tree; one goes on from where one is. */
  async #stay() {
    const { session } = state;
    if (!session) return;
    store.set({ behind: null });
    await actions.acting(() => actions.refreshTree(session.id, { whole: true }));
    this.#stays = `${session.id} ${(state.session?.tree.length ?? 1) - 1}`;
    document.querySelector("vf-say textarea")?.focus();
  }
}

customElements.define("vf-behind", Behind);
