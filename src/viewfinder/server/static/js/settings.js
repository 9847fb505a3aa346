// @ts-check
/** vf-settings: the language, light or dark, whether single keys are shortcuts; who is logged in, and logging out. */

import * as api from "./api.js";
import { panel, refill } from "./conversation-parts.js";
import { element, icon } from "./dom.js";
import "./icons.js";
import { forget } from "./forgetting.js";
import { areKeysOn, showShortcuts, switchKeys } from "./shortcuts.js";
import { store } from "./store.js";
import { spoken, t } from "./texts.js";

const YEAR_S = 31_536_000;
const THEMES = /** @type {const} */ (["system", "light", "dark"]);

class Settings extends HTMLElement {
  connectedCallback() {
    const title = t("settings.title");
    const { button, panel: made } = panel("settings-panel", title, () => this.fill());
    [this.button, this.panel] = [button, made];
    button.classList.add("icon-button");
    button.title = title;
    button.setAttribute("aria-label", title);
    button.replaceChildren(icon("settings"));
    this.append(button, made);
    store.on(["theme", "me"], () => made.matches(":popover-open") && this.fill());
  }

  fill() {
    const { me, theme } = store.state;
    refill(this.panel,
      choice("language", spoken, languages(), speak),
      choice("theme", theme, THEMES.map((name) => [name, t(`theme.${name}`)]), setTheme),
      keys(),
      me?.name && element("div", { class: "who" }, element("span", {}, t("settings.who", { name: me.name })), element("button", { type: "button", "data-key": "log-out", onclick: logOut }, t("settings.log-out"))));
  }
}

/** @param {"system" | "light" | "dark"} theme */
function setTheme(theme) {
  store.set({ theme });
  localStorage.setItem("viewfinder-theme", theme);
  document.documentElement.dataset.theme = theme;
}

/** @param {string} name @param {string} value @param {string[][]} options @param {(value: any) => void} choose */
function choice(name, value, options, choose) {
  const each = ([key, text]) => element("option", { value: key, selected: key === value, ...(name === "language" ? { lang: key, dir: "auto" } : {}) }, text);
  const id = `settings-${name}`;
  return element("p", { class: "setting" }, element("label", { for: id }, t(`settings.${name}`)),
    element("select", { id, "data-key": name, onchange: ({ currentTarget }) => choose(currentTarget.value) }, ...options.map(each)));
}

/** Each language by its own name. @returns {string[][]} */
function languages() {
  const codes = (document.documentElement.dataset.languages ?? spoken).split(" ");
  return codes.map((code) => [code, new Intl.DisplayNames([code], { type: "language" }).of(code) ?? code]);
}

/** The page in another language, also next time. @param {string} code */
function speak(code) {
  document.cookie = `viewfinder_language=${code}; path=/; max-age=${YEAR_S}; samesite=lax`;
  location.reload();
}

/** Keys alone get in the way of those who talk to their machine (WCAG 2.1.4). */
function keys() {
  const about = element("span", { class: "quiet about", id: "settings-keys-about" }, t("settings.keys-about"));
  const box = element("input", { type: "checkbox", checked: areKeysOn(), "data-key": "keys", "aria-describedby": about.id, onchange: ({ currentTarget }) => switchKeys(currentTarget.checked) });
  return element("div", { class: "setting-keys" }, element("label", { class: "option" }, box, element("span", {}, t("settings.keys"))), about,
    element("button", { type: "button", class: "link", "data-key": "list", onclick: showShortcuts }, t("settings.list")));
}

async function logOut() {
  await api.remove("/login");
  await forget();
  location.assign("/");
}

customElements.define("vf-settings", Settings);
