// @ts-check
/** Starts the page: defines its elements, wires what lies between them, and goes where the address says. */

import "./grid.js";
import "./notice.js";
import "./say.js";
import { get, onUnauthorized } from "./api.js";
import * as actions from "./actions.js";
import { bring, loadStyle } from "./bring.js";
import { element, fill, icon, iconButton, typed } from "./dom.js";
import { pictureOf } from "./router.js";
import { store } from "./store.js";
import { spoken, t } from "./texts.js";

/** What is not needed for pictures to be on the screen comes right after them, or when there is something for it to do. */
const LATER = /** @type {[string[], () => any][]} */ ([
  [["tile-tools", "waiting", "undo", "sessions", "albums", "jobs", "retrievers", "shortcuts", "remote", "settings", "seen", "keeping", "given", "adding", "uploads", "addresses", "completing", "order", "tile-facts"], () => true],
  [["conversation", "tree", "beliefs", "behind"], () => store.state.session],
  [["beliefs"], () => Object.keys(store.state.where).length],
  [["compare"], () => store.state.compare],
  [["found"], () => store.state.found],
  [["attributes"], () => actions.readsAttributes()],
]);
const one = (selector) => document.querySelector(selector);

/** What is done to a picture, wherever it is shown. @returns {() => Promise<void>} shows the one that the address names */
function wirePictures() {
  const on = (name, act) => addEventListener(name, (event) => act(/** @type {CustomEvent} */ (event).detail));
  on("vf-pick", (hit) => {
    if (store.state.pinned?.id === hit.id) return actions.unpin();
    const say = one("vf-say");
    // Half-typed words were a search of their own; they are said before the picture is picked.
    if (store.state.previewing && !store.state.pinned) say.clear();
    void actions.pin(hit);
  });
  /** The picture that is to be opened: where what opens it comes late, nobody wants it any more who has gone on. */
  let wanted = null;
  for (const press of ["pointerdown", "keydown"]) addEventListener(press, () => (wanted = null), { capture: true });
  on("vf-open", async (hit) => {
    wanted = hit;
    await bring("picture");
    if (wanted === hit) one("vf-picture").open(hit);
  });
  on("vf-reject", (hit) => {
    if (store.state.previewing) one("vf-say").clear();
    void actions.reject([hit.id]);
  });
  on("vf-found", (hit) => void actions.foundIt(hit.id));
  const follow = async () => {
    if (!pictureOf() && !customElements.get("vf-picture")) return;
    await bring("picture");
    await one("vf-picture").follow();
  };
  addEventListener("popstate", follow);
  return follow;
}

/** As in css/base.css: one column. */
const narrow = matchMedia("(max-width: 899px)");

/** The buttons at the right of the header. */
function switches() {
  const panel = iconButton("conversation", t("header.panel"), () => togglePanel(), { id: "panel-switch", "aria-controls": "panel" });
  const add = iconButton("add", t("header.new"), () => actions.newConversation(), { class: "new" });
  fill(one("#switches"), add, element("vf-settings"), panel);

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
      void styled().then(() => bring("filters"));
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
    const { results, turn, previewing, collection, where, order, compare } = store.state;
    const wall = turn === 0 && !previewing && !order && !Object.keys(where).length;
    total.textContent = previewing ? t("bar.preview") : wall ? (collection?.pictures ? t("start.wall", { n: collection.pictures }) : "")
      : results ? actions.fitOf(results) : "";
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
  const example = (text) => element("button", { type: "button", lang: "en", dir: "auto", onclick: () => actions.say(text) }, text);
  const made = element("section", { class: "hero" });
  /** @type {string | undefined} */
  let shown;
  const show = () => {
    const { collection } = store.state;
    if (!collection || shown === collection.examples.join("|")) return;
    shown = collection.examples.join("|");
    const examples = collection.examples.length ? collection.examples : t("start.examples").split("|");
    const isForeign = spoken !== "en" && !/multilingual|siglip2/.test(collection.encoder);
    fill(made, element("h2", {}, t("start.title")), element("p", {}, t("start.text")), isForeign && element("p", { class: "quiet" }, typed(t("start.english"))), element("p", { class: "quiet" }, t("start.try")), element("p", { class: "examples" }, ...examples.map(example)));
  };
  one("#panel").prepend(made);
  store.on(["collection"], show);
  show();
}

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
const openNamed = wirePictures();
switches();
bar();
onUnauthorized(async () => {
  await styled();
  await bring("login");
  await one("vf-login").ask();
  store.set({ me: await get("/me") });
});
/** When the line is free for more: the first picture is here, or none will be. */
const drawn = new Promise((resolve) => {
  for (const came of ["load", "error"]) one("vf-grid").addEventListener(came, resolve, { capture: true, once: true });
  const isNone = () => store.state.results?.results.length === 0 || store.state.collection?.pictures === 0;
  store.on(["results", "collection"], () => isNone() && resolve());
});
const begun = actions.start().then(() => (store.state.results?.results.length && !store.state.compare ? drawn : undefined));
void Promise.race([drawn, begun]).then(() => {
  void load().then(openNamed);
  store.on(["session", "where", "compare", "found", "retrievers", "chosen"], load);
});

/** Imports what is needed by now; what is here already is not fetched again. */
async function load() {
  await styled();
  await Promise.all(LATER.flatMap(([names, isNeeded]) => (isNeeded() ? names.map(bring) : [])));
  if (!store.state.session || load.done) return;
  load.done = true;
  (await bring("overlay")).startOverlay();
}
load.done = false;

/** The style of all that comes later, and its drawings. @returns {Promise<any>} */
function styled() {
  styled.asked ??= Promise.all([...["taking", "conversation"].map(loadStyle), bring("icons")]);
  return styled.asked;
}
/** @type {Promise<any> | undefined} */
styled.asked = undefined;
