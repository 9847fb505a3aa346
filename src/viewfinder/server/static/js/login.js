// @ts-check
/** vf-login: asks for a token when the server wants one; what was asked for goes on afterwards. */

import * as api from "./api.js";
import { element, fill } from "./dom.js";
import { forget } from "./forgetting.js";
import { store } from "./store.js";
import { t } from "./texts.js";

class Login extends HTMLElement {
  connectedCallback() {
    this.field = element("input", { type: "password", id: "token", autocomplete: "current-password", required: true, "aria-describedby": "token-wrong" });
    this.wrong = element("p", { id: "token-wrong", class: "bad", role: "alert" });
    this.dialog = element("dialog", { class: "login", "aria-labelledby": "login-title", oncancel: (event) => event.preventDefault() },
      element("form", { onsubmit: (event) => this.send(event) },
        element("h2", { id: "login-title" }, t("login.title")),
        element("p", {}, t("login.text")), element("code", {}, t("login.command")),
        element("label", { for: "token" }, t("login.label")), this.field, this.wrong,
        element("button", { class: "primary" }, t("login.send"))));
    fill(this, this.dialog);
    api.onUnauthorized(() => this.ask());
  }

  /** Resolved when there is a token that the server knows; all that wait share one dialog. @returns {Promise<void>} */
  ask() {
    this.asked ??= new Promise((resolve) => {
      void forget();
      this.go = resolve;
      this.dialog.showModal();
    });
    return this.asked;
  }

  /** @param {SubmitEvent} event */
  async send(event) {
    event.preventDefault();
    try {
      await api.post("/login", { token: this.field.value.trim() });
    } catch (error) {
      this.wrong.textContent = error instanceof api.Problem && error.status === 401 ? t("login.wrong") : String(error instanceof Error ? error.message : error);
      this.field.select();
      return;
    }
    await forget();
    void api.get("/me").then((me) => store.set({ me }), () => {}); // who may do what
    this.wrong.textContent = this.field.value = "";
    this.dialog.close();
    this.asked = undefined;
    this.go?.();
  }
}

customElements.define("vf-login", Login);
