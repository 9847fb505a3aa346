// @ts-check
/** Starts the page: defines its elements, wires what lies between them, and goes where the address says. */

import "./grid.js";
import "./notice.js";
import "./say.js";
import { onUnauthorized } from "./api.js";
import * as actions from "./actions.js";
import { element, fill, icon, iconButton } from "./dom.js";
import { store } from "./store.js";
import { count, t } from "./texts.js";

/** What is not needed for pictures to be on the screen comes right after them, or when there is something for it to do. */
const LATER = /** @type {[string[], () => any][]} */ ([
  [["sessions", "jobs", "retrievers", "shortcuts"], () => true],
  [["conversation", "tree", "beliefs"], () => store.state.session],
  [["beliefs"], () => Object.keys(store.state.where).length],
  [["compare"], () => store.state.compare],
  [["attributes"], () => actions.readsAttributes()],
]);
const one = (selector) => document.querySelector(selector);

/** What is done to a picture, wherever it is shown. */
function wirePictures() {
  const on = (name, act) => addEventListener(name, (event) => act(/** @type {CustomEvent} */ (event).detail));
  on("vf-pick", (hit) => {
    if (store.state.pinned?.id === hit.id) return actions.unpin();
    const say = one("vf-say");
    // Half-typed words were a search of their own; they are said before the picture is picked.
    if (store.state.previewing && !store.state.pinned) say.clear();
    void actions.pin(hit);
  });
  on("vf-open", async (hit) => {
    await import("./picture.js");
    one("vf-picture").open(hit);
  });
  on("vf-reject", (hit) => {
    if (store.state.previewing) one("vf-say").clear();
    void actions.reject([hit.id]);
  });
  on("vf-found", (hit) => void actions.foundIt(hit.id));
}

/** As in css/base.css: one column. */
const narrow = matchMedia("(max-width: 899px)");

/** The buttons at the right of the header. */
function switches() {
  const themes = /** @type {const} */ (["system", "light", "dark"]);
  const theme = iconButton("theme", "", () => actions.setTheme(themes[(themes.indexOf(store.state.theme) + 1) % 3]), { class: "theme" });
  const panel = iconButton("conversation", t("header.panel"), () => togglePanel(), { id: "panel-switch", "aria-controls": "panel" });
  const add = iconButton("add", t("header.new"), () => actions.newConversation(), { class: "new" });
  fill(one("#switches"), add, theme, iconButton("question", t("header.shortcuts"), () => import("./shortcuts.js").then(() => one("vf-shortcuts").show()), { class: "keys" }), panel);
  const showTheme = () => {
    const chosen = store.state.theme;
    document.documentElement.dataset.theme = chosen;
    fill(theme, icon({ system: "theme", light: "sun", dark: "moon" }[chosen]));
    theme.title = t("header.theme", { theme: t(`theme.${chosen}`) });
    theme.setAttribute("aria-label", theme.title);
  };
  store.set({ theme: /** @type {any} */ (localStorage.getItem("viewfinder-theme") ?? "system") });
  store.on(["theme"], showTheme);
  showTheme();

  function togglePanel() {
    const isOpen = document.body.classList.toggle(narrow.matches ? "panel-open" : "panel-shut") === narrow.matches;
    panel.setAttribute("aria-expanded", String(isOpen));
  }
  narrow.addEventListener("change", () => document.body.classList.remove("panel-open", "panel-shut"));
}

/** The line above the pictures. */
function bar() {
  const grid = one("vf-grid");
  const filters = one("#filters");
  const open = element("button", { type: "button", id: "filters-button", "aria-controls": "filters", "aria-expanded": "false",
    onclick: () => {
      void import("./filters.js");
      filters.hidden = !filters.hidden;
      open.setAttribute("aria-expanded", String(!filters.hidden));
    } }, icon("filter"), element("span", { class: "bar-word" }, t("bar.filters")), element("span", { class: "badge" }));
  fill(one("#filter-switch"), open);
  const total = element("span", { class: "quiet total" });
  const none = element("button", { type: "button", title: t("bar.none.about"), onclick: () => grid.none() }, icon("reject"), element("span", { class: "bar-word" }, t("bar.none")));
  const size = element("span", { class: "sizes", role: "group", "aria-label": t("bar.size") },
    iconButton("minus", t("bar.smaller"), () => grid.resize(-1)), iconButton("add", t("bar.larger"), () => grid.resize(1)));
  fill(one("#bar-end"), total, none, size);
  const show = () => {
    const { results, turn, previewing, collection, where, compare } = store.state;
    const wall = turn === 0 && !previewing;
    total.textContent = previewing ? t("bar.preview") : wall ? (collection?.pictures ? t("start.wall", { n: collection.pictures }) : "")
      : results ? count(results.total, "picture") : "";
    none.hidden = turn === 0 || !results?.results.length;
    open.hidden = !collection?.columns?.length;
    size.hidden = collection?.pictures === 0;
    open.querySelector(".badge").textContent = Object.keys(where).length || "";
    grid.hidden = compare !== null;
    one("vf-compare").hidden = compare === null;
    document.body.classList.toggle("comparing", compare !== null);
    document.body.classList.toggle("at-start", turn === 0 && !store.state.session && collection?.pictures !== 0);
    document.body.classList.toggle("typing", previewing);
    document.title = turn > 0 && store.state.session?.name ? `${store.state.session.name} · viewfinder` : t("app.name");
  };
  store.on(["results", "turn", "previewing", "collection", "where", "compare", "session"], show);
  show();
}

/** What to do, told where the conversation will be; once the collection is known, as examples are in its own words. */
function hero() {
  const example = (text) => element("button", { type: "button", onclick: () => actions.say(text) }, text);
  const made = element("section", { class: "hero" });
  const show = () => {
    const { collection } = store.state;
    if (!collection) return;
    const examples = collection.examples.length ? collection.examples : t("start.examples").split("|");
    fill(made, element("h2", {}, t("start.title")), element("p", {}, t("start.text")), element("p", { class: "quiet" }, t("start.try")), element("p", { class: "examples" }, ...examples.map(example)));
  };
  one("#panel").prepend(made);
  store.on(["collection"], show);
  show();
}

one("#skip").textContent = t("app.skip");
one("#skip").addEventListener("click", (event) => {
  event.preventDefault();
  one("vf-grid").focusOn(0);
});
one(".brand").addEventListener("click", (event) => {
  if (event.ctrlKey || event.metaKey || event.shiftKey) return;
  event.preventDefault();
  void actions.newConversation();
});
store.on(["busy"], () => document.body.classList.toggle("busy", store.state.busy));
hero();
wirePictures();
switches();
bar();
onUnauthorized(async () => {
  await import("./login.js");
  await one("vf-login").ask();
});
const drawn = new Promise((resolve) => {
  const isThere = () => store.state.results || store.state.collection?.pictures === 0;
  store.on(["results", "collection"], () => isThere() && requestAnimationFrame(resolve));
});
void Promise.race([drawn, actions.start()]).then(() => {
  load();
  store.on(["session", "where", "compare", "retrievers", "chosen"], load);
});

/** Imports what is needed by now; what is here already is not fetched again. */
async function load() {
  await styled();
  await Promise.all(LATER.flatMap(([names, isNeeded]) => (isNeeded() ? names.map((name) => import(`./${name}.js`)) : [])));
  if (!store.state.session || load.done) return;
  load.done = true;
  (await import("./overlay.js")).startOverlay();
}
load.done = false;

/** The style of all that comes later. @returns {Promise<void>} */
function styled() {
  styled.asked ??= new Promise((resolve) => {
    document.head.append(element("link", { rel: "stylesheet", href: "/static/css/conversation.css", onload: resolve, onerror: resolve }));
  });
  return styled.asked;
}
/** @type {Promise<any> | undefined} */
styled.asked = undefined;
