// @ts-check
/** vf-notice: what went wrong, that the server is away, that the picture was found. */

import * as actions from "./actions.js";
import { element, fill, icon, iconButton } from "./dom.js";
import { announce } from "./live.js";
import { store, wayTo } from "./store.js";
import { t } from "./texts.js";

class Notice extends HTMLElement {
  connectedCallback() {
    store.on(["problem", "online", "found"], () => this.render());
    store.on(["online"], () => store.state.online && announce(t("offline.back")));
  }

  render() {
    const { problem, online, found } = store.state;
    fill(this, !online && offline(), problem && trouble(problem), found && foundNote(found));
  }
}

function offline() {
  return element("div", { class: "notice warn", role: "alert" }, element("span", { class: "spinner" }),
    element("p", {}, element("b", {}, t("offline.title")), " ", t("offline.text")));
}

/** @param {import("./store.js").Trouble} problem */
function trouble({ detail, kind, retry }) {
  const again = retry && element("button", { type: "button", onclick: retry }, t("trouble.retry"));
  const plain = kind === "left-out";
  return element("div", { class: `notice ${plain ? "" : "bad"}`, role: "alert" },
    element("p", {}, !plain && element("b", {}, t("trouble.title")), " ", sentence(detail)),
    again, iconButton("close", t("trouble.dismiss"), () => actions.dismiss()));
}

/** @param {string} id */
function foundNote(id) {
  const { results, session } = store.state;
  const rank = results?.results.find((hit) => hit.id === id)?.rank;
  const turns = session ? wayTo(session.tree, store.state.turn).length : 0;
  const facts = [turns > 0 && t("found.text", { turns }), rank && t("found.rank", { rank })].filter(Boolean).join(" ");
  return element("div", { class: "notice good", role: "status" }, icon("check"),
    element("p", {}, element("b", {}, t("found.title")), ` ${facts}`),
    element("button", { type: "button", class: "primary", onclick: () => actions.newConversation() }, t("found.again")),
    element("button", { type: "button", onclick: () => store.set({ found: null }) }, t("found.on")));
}

/** Problems begin with a small letter, as in logs. @param {string} detail */
const sentence = (detail) => detail.charAt(0).toUpperCase() + detail.slice(1);

customElements.define("vf-notice", Notice);
