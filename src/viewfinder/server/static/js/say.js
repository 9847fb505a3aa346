// @ts-check
/** vf-say: the one text box. Words, a picture that is picked ("like this, but ..."), or an image of one's own. Before a conversation has begun, results come while one types. */

import * as actions from "./actions.js";
import { bring } from "./bring.js";
import { element, fill, icon, iconButton } from "./dom.js";
import { store } from "./store.js";
import { hasText, t } from "./texts.js";

const PAUSE_MS = 250;
/** As long as nobody wonders where the words went that were just sent. */
const SENDING_MS = 700;

class Say extends HTMLElement {
  connectedCallback() {
    this.box = element("textarea", {
      rows: "1", "aria-label": t("say.label"), maxlength: "2000", autocomplete: "off", enterkeyhint: "send",
      oninput: () => this.typed(), onkeydown: (event) => this.pressed(event),
    });
    this.file = element("input", { type: "file", accept: "image/*,.heic,.hif,.avif,.jxl,.dng", hidden: true, "aria-label": t("say.attach"),
      onchange: () => this.show(this.file.files) });
    this.pill = element("div", { class: "pill" });
    this.sent = element("p", { class: "quiet sent" });
    this.seen = element("vf-attributes", { hidden: true });
    this.send = iconButton("send", t("say.send"), () => this.say(), { class: "primary" });
    this.attach = iconButton("image", t("say.attach"), () => this.file.click());
    const form = element("form", { class: "say", onsubmit: (event) => event.preventDefault() }, this.sent, this.pill, this.seen,
      element("div", { class: "line" }, this.attach, this.file, this.box, this.send));
    fill(this, form);
    store.on(["pinned", "session", "turn", "chosen", "retrievers", "me"], () => this.render());
    store.on(["pinned"], () => this.picked());
    store.on(["attributes"], () => this.counted());
    this.render();
    if (matchMedia("(hover: hover)").matches) this.box.focus();
  }

  render() {
    const { pinned, session, turn } = store.state;
    this.box.placeholder = pinned ? butOf(actions.setTo().retriever) : t(session && turn > 0 ? "say.more" : "say.start");
    fill(this.pill, ...(this.uploading ? [element("span", { class: "quiet" }, t("say.uploading"))] : pinned ? pillOf(pinned) : []));
    // Its room is there with the pill: nothing moves when it is filled.
    this.seen.hidden = !pinned || !actions.readsAttributes();
    this.attach.hidden = store.state.me !== null && !store.state.me.scopes.includes("write");
    this.enable();
  }

  /** The next words are about the picture. */
  picked() {
    if (!store.state.pinned) return;
    this.box.focus({ preventScroll: true });
    if (!store.state.session) void actions.preview(this.box.value);
  }

  /** What is found as one types follows what is to count of the picture. */
  counted() {
    const { pinned, attributes, session } = store.state;
    if (pinned && attributes?.touched && !session) void actions.preview(this.box.value);
  }

  enable() {
    this.send.disabled = !this.box.value.trim() && !store.state.pinned;
    // As high as what is written, up to a few lines.
    this.box.style.height = "auto";
    this.box.style.height = `${Math.min(this.box.scrollHeight, 140)}px`;
  }

  typed() {
    this.enable();
    clearTimeout(this.pause);
    this.pause = setTimeout(() => actions.preview(this.box.value), PAUSE_MS);
  }

  /** @param {KeyboardEvent} event */
  pressed(event) {
    if (event.key === "Enter" && !event.shiftKey && !event.isComposing) {
      event.preventDefault();
      void this.say();
    } else if (event.key === "Escape") {
      event.stopPropagation();
      if (store.state.pinned) actions.unpin();
      else if (this.box.value) this.clear();
      else this.box.blur();
    } else if (event.key === "Backspace" && !this.box.value) actions.unpin();
    else if (event.key === "ArrowUp" && !this.box.value) {
      event.preventDefault();
      /** @type {HTMLElement | null} */ (document.querySelector("vf-grid .pick[tabindex='0']"))?.focus();
    }
  }

  clear() {
    this.box.value = "";
    clearTimeout(this.pause);
    this.enable();
  }

  /** What was typed, and empties the box: it becomes part of something else. */
  taken() {
    const text = this.box.value.trim();
    this.clear();
    return text;
  }

  async say() {
    const { pinned } = store.state;
    const given = this.taken();
    // The box says "but ..." already.
    const text = pinned ? given.replace(/^but\b[\s,]*/i, "") : given;
    if (!text && !pinned) return;
    const slow = setTimeout(() => fill(this.sent, element("span", { class: "spinner" }), element("bdi", {}, text)), SENDING_MS);
    await (pinned ? actions[pinned.kind](pinned.id, text, pinned.turn) : actions.say(text));
    clearTimeout(slow);
    fill(this.sent);
    // Words are not lost when they could not be taken; while the server is away, they wait to be said.
    if ((store.state.problem || store.state.behind?.again) && !this.box.value) {
      this.box.value = text;
      this.enable();
    }
  }

  /** @param {FileList | File[] | null | undefined} files */
  async show(files) {
    const given = [...(files ?? [])];
    // So that the same file can be chosen again; `files` may be the list that this empties.
    this.file.value = "";
    this.uploading = true;
    this.render();
    await (await bring("given")).showFirst(given);
    this.uploading = false;
    this.render();
  }
}

/** What may be said of a picture, as this retriever understands it best. @param {string | null} retriever */
const butOf = (retriever) => t(hasText(`say.but.${retriever}`) ? `say.but.${retriever}` : "say.but");

/** @param {import("./store.js").Pinned} pinned */
function pillOf(pinned) {
  return [
    element("span", { class: "pinned-pill" },
      element("img", { src: pinned.thumbnail, alt: pinned.name, width: "40", height: "40" }),
      element("b", {}, pinned.turn ? t("conversation.on", pinned) : t(`say.pinned.${pinned.kind}`)),
      iconButton("close", t("say.unpin"), () => actions.unpin())),
  ];
}

customElements.define("vf-say", Say);
