// <viewfinder-search>: a conversation about pictures, in a page of any origin. One file, without a build.
//
// Attributes: server, token, token-from, fields, sort, n, query, name-field, price-field, link-field, lang.
// Properties: token (a string, or a function that gets one), texts. Methods: say(words), restart().
// Events: viewfinder-results, viewfinder-question, viewfinder-pick (cancelable), viewfinder-error.
// Looks: the custom properties --viewfinder-* below, and ::part().

const TEXTS = {
  en: {
    label: "What are you looking for?",
    but: "What should be different?",
    answer: "Your answer",
    search: "Search",
    restart: "Start over",
    like: "Like this, but …",
    likeOf: "Like this, but …: {name}",
    liked: "Like {name}",
    unlike: "Not like {name} after all",
    reject: "Not this",
    rejectOf: "Not this: {name}",
    more: "More pictures",
    pictures: "Pictures",
    question: "Question",
    asked: "A question: {text}",
    skip: "Ask something else",
    told: "So far",
    skipped: "Question skipped",
    close: "Close",
    searching: "Searching …",
    count_one: "{shown} of {total} picture",
    count_other: "{shown} of {total} pictures",
    nothing: "Nothing fits well. These pictures come closest.",
    unknown: "Nothing is known about: {words}",
    failed: "That did not work. Please try again.",
    busy: "Too much is asked at the moment. Please try again soon.",
    unreachable: "The search cannot be reached. Please try again.",
    refused: "This page may not search at the moment. Please load it again.",
  },
  de: {
    label: "Wonach suchen Sie?",
    but: "Was soll anders sein?",
    answer: "Ihre Antwort",
    search: "Suchen",
    restart: "Von vorn",
    like: "So ähnlich, aber …",
    likeOf: "So ähnlich, aber …: {name}",
    liked: "So ähnlich wie {name}",
    unlike: "Doch nicht wie {name}",
    reject: "Nicht das",
    rejectOf: "Nicht das: {name}",
    more: "Mehr Bilder",
    pictures: "Bilder",
    question: "Frage",
    asked: "Eine Frage: {text}",
    skip: "Etwas anderes fragen",
    told: "Bisher",
    skipped: "Frage übersprungen",
    close: "Schließen",
    searching: "Es wird gesucht …",
    count_one: "{shown} von {total} Bild",
    count_other: "{shown} von {total} Bildern",
    nothing: "Nichts passt gut. Diese Bilder kommen am nächsten.",
    unknown: "Darüber ist nichts bekannt: {words}",
    failed: "Das hat nicht geklappt. Bitte noch einmal versuchen.",
    busy: "Im Augenblick wird zu viel gefragt. Bitte gleich noch einmal versuchen.",
    unreachable: "Die Suche ist nicht erreichbar. Bitte noch einmal versuchen.",
    refused: "Diese Seite darf im Augenblick nicht suchen. Bitte neu laden.",
  },
  es: {
    label: "¿Qué busca?",
    but: "¿Qué debería ser distinto?",
    answer: "Su respuesta",
    search: "Buscar",
    restart: "Empezar de nuevo",
    like: "Parecido, pero…",
    likeOf: "Parecido, pero…: {name}",
    liked: "Parecido a {name}",
    unlike: "Mejor no como {name}",
    reject: "Esto no",
    rejectOf: "Esto no: {name}",
    more: "Más imágenes",
    pictures: "Imágenes",
    question: "Pregunta",
    asked: "Una pregunta: {text}",
    skip: "Preguntar otra cosa",
    told: "Hasta ahora",
    skipped: "Pregunta omitida",
    close: "Cerrar",
    searching: "Buscando…",
    count_one: "{shown} de {total} imagen",
    count_other: "{shown} de {total} imágenes",
    nothing: "Nada encaja bien. Estas imágenes son las más cercanas.",
    unknown: "No se sabe nada de: {words}",
    failed: "No ha funcionado. Inténtelo de nuevo.",
    busy: "Hay demasiadas peticiones en este momento. Inténtelo de nuevo en breve.",
    unreachable: "No se puede acceder a la búsqueda. Inténtelo de nuevo.",
    refused: "Esta página no puede buscar en este momento. Vuelva a cargarla.",
  },
  fr: {
    label: "Que cherchez-vous ?",
    but: "Qu’est-ce qui devrait changer ?",
    answer: "Votre réponse",
    search: "Rechercher",
    restart: "Recommencer",
    like: "Comme ceci, mais…",
    likeOf: "Comme ceci, mais… : {name}",
    liked: "Comme {name}",
    unlike: "Finalement pas comme {name}",
    reject: "Pas ceci",
    rejectOf: "Pas ceci : {name}",
    more: "Plus d’images",
    pictures: "Images",
    question: "Question",
    asked: "Une question : {text}",
    skip: "Demander autre chose",
    told: "Jusqu’ici",
    skipped: "Question passée",
    close: "Fermer",
    searching: "Recherche en cours…",
    count_one: "{shown} image sur {total}",
    count_other: "{shown} images sur {total}",
    nothing: "Rien ne convient vraiment. Ces images s’en approchent le plus.",
    unknown: "On ne sait rien de : {words}",
    failed: "Cela n’a pas marché. Veuillez réessayer.",
    busy: "Il y a trop de demandes en ce moment. Veuillez réessayer bientôt.",
    unreachable: "La recherche est injoignable. Veuillez réessayer.",
    refused: "Cette page ne peut pas rechercher en ce moment. Veuillez la recharger.",
  },
  zh: {
    label: "您在找什么？",
    but: "应该有什么不同？",
    answer: "您的回答",
    search: "搜索",
    restart: "重新开始",
    like: "类似这个，但是……",
    likeOf: "类似这个，但是……：{name}",
    liked: "类似“{name}”",
    unlike: "不再类似“{name}”",
    reject: "不是这个",
    rejectOf: "不是这个：{name}",
    more: "更多图片",
    pictures: "图片",
    question: "问题",
    asked: "有一个问题：{text}",
    skip: "换个问题",
    told: "已说的内容",
    skipped: "跳过了问题",
    close: "关闭",
    searching: "正在搜索……",
    count_one: "{total} 张图片中的 {shown} 张",
    count_other: "{total} 张图片中的 {shown} 张",
    nothing: "没有非常符合的。这些图片最接近。",
    unknown: "对此一无所知：{words}",
    failed: "没有成功，请重试。",
    busy: "目前请求过多，请稍后重试。",
    unreachable: "无法连接搜索，请重试。",
    refused: "此页面目前不能搜索，请重新加载。",
  },
};

const STYLE = `
:host {
  display: block;
  container-type: inline-size;
  font: var(--viewfinder-font, inherit);
  color: var(--viewfinder-ink, light-dark(#17181b, #eeeef0));
  --ink: var(--viewfinder-ink, light-dark(#17181b, #eeeef0));
  --quiet: var(--viewfinder-quiet, light-dark(#565a63, #a6aab3));
  --surface: var(--viewfinder-surface, light-dark(#fff, #191a1d));
  --sunken: var(--viewfinder-sunken, light-dark(#e9eaed, #26282c));
  --edge: var(--viewfinder-edge, light-dark(#888c96, #737882));
  --accent: var(--viewfinder-accent, light-dark(#3451d1, #93a7ff));
  --accent-ink: var(--viewfinder-accent-ink, light-dark(#fff, #0d1126));
  --bad: var(--viewfinder-bad, light-dark(#b3261e, #ff9a92));
  --radius: var(--viewfinder-radius, 10px);
  --tile: var(--viewfinder-tile, 170px);
}
:host([hidden]), [hidden] { display: none !important; }
*, ::before, ::after { box-sizing: border-box; }
p, ul, ol, h2 { margin: 0; padding: 0; }
ul, ol { list-style: none; }
.heard { position: absolute; width: 1px; height: 1px; overflow: hidden; clip-path: inset(50%); white-space: nowrap; }
button, input { font: inherit; color: inherit; min-height: 40px; border-radius: var(--radius); border: 1px solid var(--edge); background: var(--surface); }
button { padding: 4px 12px; cursor: pointer; }
button:hover { background: var(--sunken); }
input { flex: 1 1 12em; min-width: 0; padding: 0 12px; }
:focus-visible { outline: 2px solid var(--accent); outline-offset: 2px; }
form { display: flex; flex-wrap: wrap; gap: 8px; align-items: end; }
label { flex: 1 0 100%; color: var(--quiet); }
.primary { border-color: transparent; background: var(--accent); color: var(--accent-ink); }
.primary:hover { background: color-mix(in oklab, var(--accent) 88%, var(--ink)); }
.liked { display: inline-flex; gap: 8px; align-items: center; padding: 4px 10px; border-radius: var(--radius); background: var(--sunken); flex: 1 0 100%; }
.liked img { width: 48px; height: 48px; object-fit: cover; border-radius: 6px; }
.liked span { flex: 1; min-width: 0; overflow-wrap: anywhere; }
.told { display: flex; flex-wrap: wrap; gap: 6px; margin-block-start: 12px; }
.told li { padding: 2px 10px; border-radius: 99px; background: var(--sunken); overflow-wrap: anywhere; }
.question { margin-block-start: 14px; padding: 12px 14px; border: 1px solid var(--edge); border-radius: var(--radius); background: var(--surface); }
.question h2 { font-size: 1.05em; }
.choices { display: flex; flex-wrap: wrap; gap: 8px; margin-block-start: 10px; }
.choices button { display: inline-flex; align-items: center; gap: 8px; }
.choices img { width: 32px; height: 32px; object-fit: cover; border-radius: 5px; }
.said { margin-block: 12px; color: var(--quiet); min-height: 1.5em; }
.wrong { color: var(--bad); margin-block: 12px; }
.results { display: grid; grid-template-columns: repeat(auto-fill, minmax(min(var(--tile), calc(50% - 6px)), 1fr)); gap: 12px; }
.results[aria-busy="true"] { opacity: .6; }
.tile { display: flex; flex-direction: column; gap: 6px; min-width: 0; }
.product { display: block; flex: 1; width: 100%; padding: 0; border: 0; background: none; color: inherit; text-align: start; text-decoration: none; border-radius: var(--radius); overflow-wrap: anywhere; }
a.product:hover .name { text-decoration: underline; }
.product img { display: block; width: 100%; height: auto; aspect-ratio: 1; object-fit: cover; border-radius: var(--radius); background: var(--sunken); }
.name, .price { display: block; margin-block-start: 4px; }
.price { font-weight: 600; }
.acts { display: flex; flex-wrap: wrap; gap: 6px; }
.acts button { flex: 1 1 auto; font-size: .87em; min-height: 34px; padding: 2px 8px; }
.more { display: block; margin: 16px auto 0; }
dialog { max-width: min(94vw, 1000px); padding: 16px; border: 1px solid var(--edge); border-radius: var(--radius); background: var(--surface); color: inherit; }
dialog::backdrop { background: #000a; }
dialog img { display: block; max-width: 100%; max-height: 74vh; width: auto; height: auto; margin: auto; border-radius: var(--radius); }
dialog p { margin-block: 10px; overflow-wrap: anywhere; }
@media (prefers-reduced-motion: no-preference) { .results { transition: opacity .2s; } }
@media (forced-colors: active) { .primary { border-color: ButtonText; } }
`;

const SIZE = 320;
const LARGE = 1280;
const MAX_WAIT_S = 5;
const MAX_TOGETHER = 100; // addresses of pictures that are asked for at once
const PATIENCE_MS = 600; // a search that takes longer says that it searches
const HOME = new URL("/", import.meta.url).origin;

/** The address of a link in a catalogue, where it may be followed: of the web, not of a script or a file. */
function readLink(value) {
  try {
    const address = new URL(value);
    return ["http:", "https:"].includes(address.protocol) ? address.href : null;
  } catch {
    return null;
  }
}

/** An element with attributes, and children: elements, or texts, which are never read as HTML. */
function make(name, given = {}, ...children) {
  const made = document.createElement(name);
  for (const [key, value] of Object.entries(given)) {
    if (value != null && value !== false) made.setAttribute(key, value === true ? "" : value);
  }
  made.append(...children.filter((child) => child != null));
  return made;
}

/** Writes a text that keeps its own direction in a page of another. */
const write = (part, text) => part.replaceChildren(text ? make("bdi", {}, text) : "");

const pause = (seconds) => new Promise((resolve) => setTimeout(resolve, seconds * 1000));

class Refused extends Error {
  constructor(status, problem) {
    super(problem.detail ?? String(status));
    this.status = status;
    this.problem = problem;
  }
}

class ViewfinderSearch extends HTMLElement {
  static observedAttributes = ["server", "lang", "token"];

  #texts = {};
  #given = null; // the token, or what gets one
  #token = null; // the one in use
  #session = null;
  #turn = null;
  #next = null;
  #shown = [];
  #total = 0;
  #liked = null;
  #question = null;
  #events = null;
  #busy = false;
  #asked = 0; // counts what was asked, so that a late answer is known to be late
  #told = [];
  #renewing = null; // the token that is being got, by all who wait for it
  #ended = null; // pictures whose addresses have ended, and what gets new ones for all of them
  #parts = {};
  #watch = new MutationObserver(() => this.#label());

  constructor() {
    super();
    const root = this.attachShadow({ mode: "open", delegatesFocus: true });
    const sheet = new CSSStyleSheet(); // no policy of the page forbids these
    sheet.replaceSync(STYLE);
    root.adoptedStyleSheets = [sheet];
  }

  get token() {
    return this.#given ?? this.getAttribute("token");
  }

  /** A token, or a function `(renew) => token`, which is called again when the server refuses the one before. */
  set token(value) {
    this.#given = value;
    this.#token = null;
  }

  /** The language of the element: its own, that of what it stands in, or that of the browser. */
  get #language() {
    return this.closest("[lang]")?.lang || document.documentElement.lang || navigator.language || "en";
  }

  get #speaks() {
    const base = this.#language.toLowerCase().split("-")[0];
    return base in TEXTS ? base : "en";
  }

  get texts() {
    return { ...TEXTS[this.#speaks], ...this.#texts };
  }

  /** Texts that replace those of the element, by their keys. */
  set texts(value) {
    this.#texts = { ...value };
    this.#label();
  }

  connectedCallback() {
    for (const name of ["token", "texts"]) {
      if (!Object.hasOwn(this, name)) continue; // set before this file was here
      const value = this[name];
      delete this[name];
      this[name] = value;
    }
    if (!this.#parts.form) this.#build();
    this.#label();
    this.#watch.observe(document.documentElement, { attributes: true, attributeFilter: ["lang"] });
    const query = this.getAttribute("query");
    if (query && this.#turn === null) this.say(query);
  }

  disconnectedCallback() {
    this.#events?.close();
    this.#watch.disconnect();
  }

  attributeChangedCallback(name, before, value) {
    if (before === value) return;
    if (name === "server") this.#forget();
    if (name === "token") this.#token = null;
    if (name === "lang") this.#label();
  }

  /** Says something, as if it had been typed. */
  say(words) {
    return this.#take({ say: words }, words);
  }

  /** Forgets what was said, and shows nothing. */
  restart() {
    this.#forget();
  }

  // -- asking the server

  get #server() {
    return (this.getAttribute("server") || HOME).replace(/\/+$/, "");
  }

  get #fields() {
    return (this.getAttribute("fields") ?? "").split(",").map((name) => name.trim()).filter(Boolean);
  }

  get #canRenew() {
    return typeof this.token === "function" || this.hasAttribute("token-from");
  }

  /** The token; another than `refused`, which the server does not take any more. */
  async #findToken(refused = null) {
    if (this.#token && this.#token !== refused) return this.#token;
    if (!this.#canRenew) return this.token;
    this.#renewing ??= this.#fetchToken(refused !== null).finally(() => (this.#renewing = null));
    return (this.#token = await this.#renewing);
  }

  async #fetchToken(renew) {
    if (typeof this.token === "function") return this.token(renew);
    const from = this.getAttribute("token-from");
    const answer = await fetch(from, { method: "POST" }).catch(() => null);
    if (!answer?.ok) throw new Refused(answer?.status ?? 0, { detail: `${from} gives no token` });
    const said = (await answer.text()).trim();
    return said.startsWith("{") ? JSON.parse(said).token : said;
  }

  async #ask(method, path, body, query = []) {
    const address = new URL(this.#server + path);
    for (const [name, value] of query) if (value) address.searchParams.append(name, value);
    const headers = new Headers(body ? { "Content-Type": "application/json" } : {});
    if (path.endsWith("/turns")) headers.set("Idempotency-Key", `embedded-${Date.now()}-${Math.random()}`);
    for (let renewed = null, waited = false; ; ) {
      const token = await this.#findToken(renewed);
      if (token) headers.set("Authorization", `Bearer ${token}`);
      const sent = { method, headers, body: body && JSON.stringify(body), credentials: "omit" };
      const answer = await fetch(address, sent).catch(() => null);
      if (answer?.ok) return await answer.json();
      const wait = Number(answer?.headers.get("Retry-After") ?? 1);
      if (answer?.status === 401 && renewed === null && this.#canRenew) {
        renewed = token;
      } else if ([429, 503].includes(answer?.status) && !waited && wait <= MAX_WAIT_S) {
        waited = true;
        await pause(wait);
      } else {
        throw new Refused(answer?.status ?? 0, (await answer?.json().catch(() => null)) ?? {});
      }
    }
  }

  get #wanted() {
    return [...this.#fields.map((name) => ["fields", name]), ["sort", this.getAttribute("sort")]];
  }

  async #take(turn, told) {
    if (this.#busy) return; // a second click would answer what is not asked any more
    const asked = (this.#asked += 1);
    this.#setBusy(true);
    this.#events?.close();
    try {
      const results = await this.#say(turn);
      if (asked !== this.#asked) return;
      this.#told.push(told);
      this.#show(results);
    } catch (error) {
      if (asked === this.#asked) this.#fail(error);
    } finally {
      if (asked === this.#asked) this.#setBusy(false);
    }
  }

  async #say(turn) {
    const n = Math.min(Math.max(Number(this.getAttribute("n")) || 24, 1), 100);
    const isNew = this.#session === null;
    this.#session ??= (await this.#ask("POST", "/api/v1/sessions", { n })).id;
    try {
      return await this.#ask("POST", `/api/v1/sessions/${this.#session}/turns`, turn, this.#wanted);
    } catch (error) {
      const isLost = error.status === 404 && ("say" in turn || "like" in turn) && !isNew;
      if (!isLost) throw error;
      this.#session = null; // the conversation was another visitor's, or was forgotten
      this.#told = [];
      return this.#say(turn);
    }
  }

  async #showMore() {
    if (this.#busy || !this.#next) return;
    const asked = this.#asked;
    this.#setBusy(true);
    try {
      const path = `/api/v1/sessions/${this.#session}/turns/${this.#turn}`;
      const query = [...this.#wanted, ["n", this.getAttribute("n") ?? 24], ["cursor", this.#next]];
      const page = await this.#ask("GET", path, null, query);
      if (asked !== this.#asked) return;
      const first = this.#shown.length;
      this.#append(page);
      this.#parts.results.children[first]?.querySelector(".product").focus();
    } catch (error) {
      this.#fail(error);
    } finally {
      this.#setBusy(false);
    }
  }

  /** Listens for the question after a turn. An address that has ended is asked for again, once. */
  #listen(address, mayRenew = true) {
    this.#events?.close();
    if (!address) return;
    const asked = this.#asked;
    const events = new EventSource(this.#server + address);
    this.#events = events;
    events.addEventListener("question", ({ data }) => {
      if (asked === this.#asked) this.#showQuestion(JSON.parse(data));
    });
    events.addEventListener("done", () => events.close());
    events.addEventListener("error", async () => {
      if (events.readyState !== EventSource.CLOSED || !mayRenew || asked !== this.#asked) return;
      const path = `/api/v1/sessions/${this.#session}/turns/${this.#turn}`;
      const again = await this.#ask("GET", path, null, [["n", 1]]).catch(() => null);
      if (again && asked === this.#asked) this.#listen(again.events, false);
    });
  }

  /** A picture whose address is renewed if it has ended. */
  #picture(id, address, alt, size = SIZE) {
    const at = (path) => `${this.#server}${path}${path.includes("?") ? "&" : "?"}size=${size}`;
    const image = make("img", { alt, part: "picture", decoding: "async", width: size, height: size });
    const renew = async () => {
      const found = await this.#findAddresses(id).catch(() => null);
      if (found?.[id]) image.src = at(found[id]);
    };
    image.addEventListener("error", renew, { once: true });
    image.src = at(address ?? `/api/v1/pictures/${id}/thumbnail`);
    return image;
  }

  /** New addresses of pictures; those that are wanted in the same moment are asked for together. */
  #findAddresses(id) {
    if (!this.#ended || this.#ended.ids.size >= MAX_TOGETHER) {
      const ids = new Set();
      const found = pause(0.05).then(() => {
        if (this.#ended?.ids === ids) this.#ended = null;
        return this.#ask("POST", "/api/v1/pictures/addresses", { ids: [...ids] });
      });
      this.#ended = { ids, found: found.then(({ thumbnails }) => thumbnails) };
    }
    this.#ended.ids.add(id);
    return this.#ended.found;
  }

  // -- showing

  #t(key, values = {}) {
    const say = (value) => (typeof value === "number" ? new Intl.NumberFormat(this.#speaks).format(value) : value);
    return this.texts[key].replace(/\{(\w+)\}/g, (whole, name) => (name in values ? say(values[name]) : whole));
  }

  #count() {
    const rule = `count_${new Intl.PluralRules(this.#speaks).select(this.#total)}`;
    return this.#t(rule in this.texts ? rule : "count_other", { shown: this.#shown.length, total: this.#total });
  }

  #build() {
    const parts = {
      form: make("form", { part: "form", role: "search" }),
      label: make("label", { for: "words", part: "label" }),
      words: make("input", { id: "words", type: "text", part: "input", autocomplete: "off", maxlength: 2000, dir: "auto" }),
      search: make("button", { type: "submit", class: "primary", part: "button search" }),
      restart: make("button", { type: "button", part: "button restart", hidden: true }),
      told: make("ol", { class: "told", part: "told", role: "list", hidden: true }),
      liked: make("div", { class: "liked", part: "liked", hidden: true }),
      heard: make("p", { class: "heard", role: "status" }),
      question: make("section", { class: "question", part: "question", hidden: true }),
      said: make("p", { class: "said", part: "status", role: "status" }),
      wrong: make("p", { class: "wrong", part: "error", role: "alert", hidden: true }),
      results: make("ul", { class: "results", part: "results", role: "list", tabindex: -1 }),
      more: make("button", { type: "button", class: "more", part: "button more", hidden: true }),
      large: make("dialog", { part: "dialog" }),
    };
    this.#parts = parts;
    parts.form.append(parts.liked, parts.label, parts.words, parts.search, parts.restart);
    parts.form.addEventListener("submit", (event) => {
      event.preventDefault();
      this.#submit();
    });
    parts.restart.addEventListener("click", () => {
      this.#forget();
      parts.words.focus();
    });
    parts.more.addEventListener("click", () => this.#showMore());
    parts.results.addEventListener("keydown", (event) => this.#move(event));
    parts.large.addEventListener("click", ({ target }) => target === parts.large && parts.large.close());
    const { form, told, question, heard, said, wrong, results, more, large } = parts;
    this.shadowRoot.append(form, told, question, heard, said, wrong, results, more, large);
  }

  /** Writes the texts of what stands there for good, and the names of the tiles' buttons. */
  #label() {
    const parts = this.#parts;
    if (!parts.form) return;
    const isAnswer = this.#question !== null && !this.#question.choices?.length;
    const asks = this.#liked ? "but" : isAnswer ? "answer" : this.#turn === null ? "label" : "but";
    for (const part of Object.values(parts)) part.lang = this.#texts.label ? this.#language : this.#speaks;
    write(parts.label, this.#t(asks));
    write(parts.search, this.#t("search"));
    write(parts.restart, this.#t("restart"));
    write(parts.more, this.#t("more"));
    parts.told.setAttribute("aria-label", this.#t("told"));
    parts.results.setAttribute("aria-label", this.#t("pictures"));
    parts.question.setAttribute("aria-label", this.#t("question"));
    for (const button of this.shadowRoot.querySelectorAll("[data-text]")) this.#nameButton(button);
  }

  #nameButton(button) {
    const { text, name } = button.dataset;
    write(button, this.#t(text));
    if (name) button.setAttribute("aria-label", this.#t(`${text}Of`, { name }));
  }

  #submit() {
    const words = this.#parts.words.value.trim();
    if (this.#liked) {
      const liked = this.#t("liked", { name: this.#liked.called });
      this.#take({ like: this.#liked.id, but: words }, words ? `${liked}: ${words}` : liked);
    } else if (words && this.#question && !this.#question.choices?.length) this.#take({ answer: words }, words);
    else if (words) this.#take({ say: words }, words);
  }

  #setBusy(busy) {
    this.#busy = busy;
    this.#parts.results?.setAttribute("aria-busy", String(busy));
    if (!busy) return;
    const asked = this.#asked;
    pause(PATIENCE_MS / 1000).then(() => {
      if (this.#busy && asked === this.#asked) write(this.#parts.said, this.#t("searching"));
    });
  }

  #show(results) {
    const parts = this.#parts;
    const hadFocus = this.shadowRoot.activeElement;
    this.#turn = results.turn;
    this.#shown = [];
    this.#like(null);
    parts.words.value = "";
    parts.wrong.hidden = true;
    parts.restart.hidden = false;
    parts.told.replaceChildren(...this.#told.map((words) => make("li", { dir: "auto" }, words)));
    parts.told.hidden = false;
    parts.results.replaceChildren();
    this.#append(results);
    if (results.verdict === "nothing") write(parts.said, `${this.#t("nothing")} ${parts.said.textContent}`);
    if (results.unheard?.length) {
      const words = new Intl.ListFormat(this.#speaks).format(results.unheard);
      write(parts.said, this.#t("unknown", { words }));
    }
    this.#showQuestion({ question: results.question });
    if (hadFocus && !hadFocus.isConnected) parts.results.focus();
    if (results.asking) this.#listen(results.events ?? `/api/v1/sessions/${this.#session}/turns/${this.#turn}/events`);
  }

  #append({ results, next, total, verdict, turn }) {
    const parts = this.#parts;
    this.#next = next;
    this.#total = total;
    this.#shown.push(...results);
    parts.results.append(...results.map((hit) => this.#makeTile(hit)));
    parts.more.hidden = !next;
    write(parts.said, this.#count());
    this.#tell("results", { results, shown: this.#shown.length, total, verdict, turn });
  }

  #read(hit, kind) {
    return hit.fields?.[this.getAttribute(`${kind}-field`) ?? kind]?.[0] ?? null;
  }

  #makeTile(hit) {
    const [name, price, link] = ["name", "price", "link"].map((kind) => this.#read(hit, kind));
    const called = name ?? hit.caption ?? hit.name;
    const address = link && readLink(link);
    const product = address
      ? make("a", { class: "product", part: "product", href: address, target: "_blank", rel: "noopener noreferrer" })
      : make("button", { class: "product", part: "product", type: "button", "aria-haspopup": "dialog" });
    product.append(this.#picture(hit.id, hit.thumbnail, name ? "" : called));
    if (name) product.append(make("span", { class: "name", part: "name", dir: "auto" }, name));
    if (price) product.append(make("span", { class: "price", part: "price", dir: "auto" }, price));
    product.addEventListener("click", (event) => {
      if (!this.#tell("pick", { picture: hit, link: address })) event.preventDefault();
      else if (!address) this.#showLarge(hit, called);
    });
    const like = make("button", { type: "button", part: "button like", "data-text": "like", "data-name": called });
    like.addEventListener("click", () => {
      this.#like({ ...hit, called });
      this.#parts.words.focus();
    });
    const not = make("button", { type: "button", part: "button reject", "data-text": "reject", "data-name": called });
    not.addEventListener("click", () => this.#take({ reject: [hit.id] }, this.#t("rejectOf", { name: called })));
    for (const button of [like, not]) this.#nameButton(button);
    const acts = make("div", { class: "acts", part: "acts" }, like, not);
    return make("li", { class: "tile", part: "result" }, product, acts);
  }

  /** A picture without a link opens large. */
  #showLarge(hit, called) {
    const { large } = this.#parts;
    const close = make("button", { type: "button", part: "button close", "data-text": "close" });
    this.#nameButton(close);
    close.addEventListener("click", () => large.close());
    const picture = this.#picture(hit.id, hit.thumbnail, called, LARGE);
    large.replaceChildren(picture, make("p", { dir: "auto" }, called), close);
    large.setAttribute("aria-label", called);
    large.showModal();
  }

  #like(hit) {
    this.#liked = hit;
    const { liked, words } = this.#parts;
    liked.hidden = hit === null;
    liked.replaceChildren();
    if (hit) {
      const away = make("button", { type: "button", part: "button unlike", "aria-label": this.#t("unlike", { name: hit.called }) });
      away.append("×");
      away.addEventListener("click", () => {
        this.#like(null);
        words.focus();
      });
      liked.append(this.#picture(hit.id, hit.thumbnail, ""), make("span", {}, this.#t("liked", { name: hit.called })), away);
    }
    this.#label();
  }

  #showQuestion({ question, thumbnails = {} }) {
    this.#question = question ?? null;
    const place = this.#parts.question;
    place.hidden = !question;
    place.replaceChildren();
    this.#parts.heard.textContent = "";
    this.#label();
    if (!question) return;
    const choices = (question.choices ?? []).map((choice, at) => {
      const example = question.examples?.[at];
      const button = make("button", { type: "button", part: "button choice", dir: "auto" });
      if (example && thumbnails[example]) button.append(this.#picture(example, thumbnails[example], ""));
      button.append(choice);
      button.addEventListener("click", () => this.#take({ answer: choice }, choice));
      return button;
    });
    const skip = make("button", { type: "button", part: "button skip", "data-text": "skip" });
    this.#nameButton(skip);
    skip.addEventListener("click", () => this.#take({ skip: true }, this.#t("skipped")));
    const text = make("h2", { part: "question-text", dir: "auto" }, question.text);
    place.append(text, make("div", { class: "choices", part: "choices" }, ...choices, skip));
    this.#parts.heard.textContent = this.#t("asked", { text: question.text });
    this.#tell("question", { question });
  }

  #fail(error) {
    const kind = error.status === 0 ? "unreachable" : [401, 403].includes(error.status) ? "refused" : null;
    const { wrong, said } = this.#parts;
    write(said, this.#shown.length ? this.#count() : "");
    write(wrong, this.#t(kind ?? ([429, 503].includes(error.status) ? "busy" : "failed")));
    wrong.hidden = false;
    this.#tell("error", { status: error.status ?? 0, problem: error.problem ?? { detail: error.message } });
  }

  /** From picture to picture with the arrows. */
  #move(event) {
    const isMirrored = getComputedStyle(this).direction === "rtl";
    const step = { ArrowRight: isMirrored ? -1 : 1, ArrowLeft: isMirrored ? 1 : -1 }[event.key];
    const tile = event.target.closest(".tile");
    if (!step || !tile) return;
    const other = step > 0 ? tile.nextElementSibling : tile.previousElementSibling;
    other?.querySelector(".product").focus();
    event.preventDefault();
  }

  #forget() {
    this.#asked += 1;
    this.#events?.close();
    this.#session = this.#turn = this.#next = null;
    this.#shown = [];
    this.#told = [];
    const parts = this.#parts;
    if (!parts.form) return;
    parts.large.close();
    this.#setBusy(false);
    this.#like(null);
    this.#showQuestion({ question: null });
    for (const part of [parts.results, parts.said]) part.replaceChildren();
    for (const part of [parts.more, parts.restart, parts.wrong, parts.told]) part.hidden = true;
    parts.words.value = "";
  }

  #tell(name, detail) {
    return this.dispatchEvent(
      new CustomEvent(`viewfinder-${name}`, { detail, bubbles: true, composed: true, cancelable: name === "pick" }),
    );
  }
}

if (!customElements.get("viewfinder-search")) customElements.define("viewfinder-search", ViewfinderSearch);
