// @ts-check
/** vf-notice: what went wrong, that the server is away. */

import * as actions from "./actions.js";
import { element, fill, iconButton } from "./dom.js";
import { announce } from "./live.js";
import { store } from "./store.js";
import { hasText, t } from "./texts.js";

class Notice extends HTMLElement {
  connectedCallback() {
    this.said = element("div");
    store.on(["problem", "online"], () => this.render());
    store.on(["online"], () => store.state.online && announce(t("offline.back")));
  }

  render() {
    const { problem, online } = store.state;
    // What lies below a dialog is not seen, and cannot be pressed.
    const dialog = document.querySelector("dialog:modal");
    fill(this.said, !online && offline(), problem && trouble(problem));
    this.said.className = dialog ? "notices" : "";
    if (this.said.parentElement === (dialog ?? this)) return;
    (dialog ?? this).append(this.said);
    dialog?.addEventListener("close", () => this.render(), { once: true });
  }
}

function offline() {
  return element("div", { class: "notice warn", role: "alert" }, element("span", { class: "spinner" }),
    element("p", {}, element("b", {}, t("offline.title")), " ", t("offline.text")));
}

/** Kinds of problems that are told with the same sentence. @type {Record<string, string>} */
const TOLD_AS = Object.fromEntries(
  Object.entries({
    misunderstood: "invalid bad-request cross-site key-reused unsupported-media-type method-not-allowed wrong-host",
    cannot: "not-allowed not-installed encoder-mismatch",
    failed: "unforeseen",
    interrupted: "slow-body",
    "not-here": "not-local",
    "no-folder": "no-such-folder outside-roots unknown-root",
    conflict: "moved-on",
    "not-ready": "getting-ready questioner-not-ready",
    slow: "deadline",
    starting: "ending",
    unreadable: "library-error database-error",
  }).flatMap(([told, kinds]) => kinds.split(" ").map((kind) => [kind, told])),
);

/** What went wrong, in the page's language; undefined where only the server knows. @param {string | undefined} kind */
export function sentenceOf(kind = "") {
  const key = `problem.${TOLD_AS[kind] ?? kind}`;
  return hasText(key) ? t(key) : undefined;
}

/** @param {import("./store.js").Trouble} problem */
function trouble({ detail, kind, status, retry }) {
  const again = retry && element("button", { type: "button", onclick: retry }, t("trouble.retry"));
  const known = sentenceOf(kind);
  // The server speaks English. What was given wrongly, or whose bug it is, it alone can say, so that is open.
  const more = known && element("details", { open: status === 422 || kind === "left-out" || kind === "part-failed" }, element("summary", {}, t("trouble.details")), element("p", { lang: "en", dir: "ltr" }, sentence(detail)));
  return element("div", { class: `notice ${kind === "left-out" ? "" : "bad"}`, role: "alert" },
    element("div", {}, known ? element("p", {}, known) : element("p", {}, element("b", {}, t("trouble.title")), " ", sentence(detail)), more),
    again, iconButton("close", t("trouble.dismiss"), () => actions.dismiss()));
}

/** Problems begin with a small letter, as in logs. @param {string} detail */
const sentence = (detail) => detail.charAt(0).toUpperCase() + detail.slice(1);

customElements.define("vf-notice", Notice);
