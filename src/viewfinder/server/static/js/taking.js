// @ts-check
/** What is done with pictures once they are found: taking them along, opening them where they lie, albums, favourites. */

import { acting } from "./actions.js";
import * as api from "./api.js";
import { element, fill, icon, iconButton } from "./dom.js";
import "./icons.js";
import { announce } from "./live.js";
import { openMenu, openPanel, place } from "./menu.js";
import { hashOf } from "./router.js";
import { nameOf, store } from "./store.js";
import { t } from "./texts.js";

/** @typedef {import("./store.js").Hit} Hit */
/** @typedef {{id: string, name: string}} Named */

const { state } = store;

const TOAST_MS = 6000;
/** Marks are asked for so many pictures at once. */
const MAX_ASKED = 100;
const TYPES = /** @type {Record<string, string>} */ ({ jpg: "image/jpeg", jpeg: "image/jpeg", png: "image/png", webp: "image/webp", gif: "image/gif", tif: "image/tiff", tiff: "image/tiff", heic: "image/heic", avif: "image/avif" });

const has = (scope) => state.me?.scopes?.includes(scope) ?? false;
/** Whether files may be taken along. */
export const mayTake = () => has("download") || Boolean(state.collection?.originals);
/** Whether albums, favourites and stars may be changed. */
export const mayMark = () => has("write");
/** Whether files can be opened where they lie: by somebody at the server's own machine. */
export const mayOpen = () => Boolean(state.me?.opens);
/** Whether one is told where files lie. */
export const knowsPaths = () => Boolean(state.me?.told_paths);

// -- taking along

/** The address of a picture's file, to be saved. @param {string} id */
export const fileAddress = (id) => `${api.original(id)}?download=1`;

/** Links whose file was asked for and is there. @type {WeakSet<Element>} */
const there = new WeakSet();

// A file is had by a link, which can be dragged and opened elsewhere. Where it is gone, a browser has no words for it.
addEventListener("click", (event) => {
  const link = event.target instanceof Element ? event.target.closest("a[href*='/original']") : null;
  if (!(link instanceof HTMLAnchorElement) || there.delete(link) || event.ctrlKey || event.metaKey || event.shiftKey) return;
  event.preventDefault();
  void acting(async () => {
    const { status } = await fetch(link.href, { method: "HEAD", cache: "no-store" }).catch(() => {
      throw new api.Unreachable();
    });
    if (status === 404 || status === 410) throw new api.Problem(status, { type: "gone" });
    there.add(link);
    link.click();
  });
});

/** Saves what lies at an address. @param {string} address @param {string} [name] */
function save(address, name = "") {
  const link = element("a", { href: address, download: name, hidden: true });
  document.body.append(link);
  link.click();
  link.remove();
}

/** Saves one file, or several in a ZIP. @param {Named[]} pictures */
export function download(pictures) {
  if (pictures.length === 1) return save(fileAddress(pictures[0].id), pictures[0].name);
  return exportAs("zip", { pictures: pictures.map(({ id }) => id) });
}

/** Has an export made, and saves it. @param {"zip" | "csv" | "json" | "xmp"} as @param {object} what pictures, an album or a turn */
export const exportAs = (as, what) =>
  acting(async () => {
    const { address, pictures } = await api.post("/exports", { ...what, as });
    save(address);
    toast(t("take.begun", { n: pictures }));
  });

/** What a picture that is dragged off the page brings with it: its file. @param {DragEvent} event @param {Named} picture */
export function carry(event, { id, name }) {
  const [address, file] = mayTake() ? [fileAddress(id), name] : [api.thumbnail(id, 1280), name.replace(/\.\w+$/, "") + ".jpg"];
  const whole = new URL(address, location.href).href;
  const type = TYPES[file.split(".").at(-1)?.toLowerCase() ?? ""] ?? "application/octet-stream";
  const { dataTransfer } = event;
  if (!dataTransfer) return;
  dataTransfer.effectAllowed = "copyLink";
  dataTransfer.setData("DownloadURL", `${type}:${file.replaceAll(/[:/\\]/g, "_")}:${whole}`);
  dataTransfer.setData("text/uri-list", whole);
  dataTransfer.setData("text/plain", whole);
}

// -- where it lies

/** Opens a picture's file in the program that the server's machine opens it with, or the folder in which it lies.
 * @param {string} id @param {"open" | "folder"} how */
export const openFile = (id, how) =>
  acting(async () => {
    await api.post(`/pictures/${id}/open`, { how });
    toast(t(how === "open" ? "take.opened" : "take.folder-opened"));
  });

/** @param {string} id */
export const copyPath = (id) =>
  acting(async () => {
    const { paths } = await api.get(`/pictures/${id}`);
    if (paths?.length) await copy(paths[0]);
  });

/** Copies the address at which a picture stands in large, over the results among which it was found. @param {string} id */
export const copyLink = (id) => copy(new URL(location.pathname + location.search + hashOf(id), location.href).href);

/** @param {string} text */
async function copy(text) {
  // The clipboard can be written over https and on this machine alone; elsewhere the older way is left.
  const done = navigator.clipboard ? await navigator.clipboard.writeText(text).then(() => true, () => false) : copyOld(text);
  if (done) toast(t("take.copied", { text }));
  else store.set({ problem: { detail: t("take.not-copied", { text }) } });
}

/** @param {string} text */
function copyOld(text) {
  const box = element("textarea", { class: "unseen", value: text, "aria-hidden": "true" });
  (document.querySelector("dialog[open]") ?? document.body).append(box);
  box.select();
  const done = document.execCommand("copy");
  box.remove();
  return done;
}

// -- favourites and stars

/** @type {Set<string>} */
const asked = new Set();

/** @param {string} id @returns {import("./store.js").Mark} */
export const markOf = (id) => state.marks[id] ?? { favourite: false, stars: 0, albums: [] };

/** Learns the marks of pictures that are shown. @param {string[]} ids */
export async function readMarks(ids) {
  const unknown = ids.filter((id) => !asked.has(id)).slice(0, MAX_ASKED);
  if (!unknown.length) return;
  for (const id of unknown) asked.add(id);
  try {
    const { marks } = await api.get("/marks", { ids: unknown.join(",") });
    store.set({ marks: { ...state.marks, ...marks } });
  } catch {
    for (const id of unknown) asked.delete(id); // asked for again when they are drawn the next time
  }
}

/** @param {string[]} ids @param {{favourite?: boolean, stars?: number}} change */
export const setMarks = (ids, change) =>
  acting(async () => {
    await api.post("/marks", { pictures: ids, favourite: change.favourite ?? null, stars: change.stars ?? null });
    store.set({ marks: { ...state.marks, ...Object.fromEntries(ids.map((id) => [id, { ...markOf(id), ...change }])) } });
    if (change.favourite !== undefined) toast(t(change.favourite ? "take.favourites" : "take.no-favourites", { n: ids.length }));
    else toast(t("take.starred", { n: ids.length, stars: starsTold(change.stars ?? 0) }));
  });

/** @param {string[]} ids */
export const toggleFavourite = (ids) => setMarks(ids, { favourite: !ids.every((id) => markOf(id).favourite) });

/** The same number of stars again takes them away. @param {string[]} ids @param {number} stars */
export const toggleStars = (ids, stars) => setMarks(ids, { stars: ids.every((id) => markOf(id).stars === stars) ? 0 : stars });

/** @param {number} n */
export const starsTold = (n) => t("take.stars", { n });

/** Five stars to be pressed. @param {string[]} ids */
export function starButtons(ids) {
  const given = Math.max(0, ...ids.map((id) => markOf(id).stars));
  const star = (n) =>
    iconButton("star", starsTold(n), () => toggleStars(ids, n), { class: n <= given ? "star lit" : "star", "aria-pressed": String(n === given) });
  return element("span", { class: "stars", role: "group", "aria-label": t("take.stars-label") }, ...[1, 2, 3, 4, 5].map(star));
}

/** A panel with the stars below a button. @param {HTMLElement} anchor @param {string[]} ids */
export function openStars(anchor, ids) {
  const made = openPanel(anchor, t("take.stars-label"));
  if (!made) return;
  const show = () => fill(made, starButtons(ids));
  const stop = store.on(["marks"], () => (made.isConnected ? /** @type {any} */ (made).hidePopover() : stop()));
  show();
  place(made, anchor);
  made.querySelector("button")?.focus();
}

// -- albums

/** @returns {Promise<NonNullable<import("./store.js").State["albums"]>>} */
export async function readAlbums() {
  const { albums } = await api.get("/albums");
  store.set({ albums });
  return albums;
}

/** What a filter on marks is called; undefined: it is another one. @param {string} column @param {string} value */
export function filterName(column, value) {
  if (column === "album") return albumName(value);
  if (column === "favourite") return t("albums.favourites");
  return column === "stars" ? t("albums.stars", { n: Number(value) }) : undefined;
}

/** @param {string} id */
export const albumName = (id) => state.albums?.find((each) => each.id === id)?.name ?? t("albums.unknown");

/** @param {string} id @param {{add?: string[], remove?: string[]}} change */
export const changeAlbum = (id, change) =>
  acting(async () => {
    await api.post(`/albums/${id}/pictures`, change);
    const { add = [], remove = [] } = change;
    const marks = { ...state.marks };
    for (const picture of [...add, ...remove]) {
      const albums = markOf(picture).albums.filter((each) => each !== id);
      marks[picture] = { ...markOf(picture), albums: add.includes(picture) ? [...albums, id] : albums };
    }
    store.set({ marks });
    await readAlbums();
    const name = albumName(id);
    if (add.length) toast(t("albums.added", { n: add.length, name }), { href: `/album/${id}`, text: t("albums.open") });
    else toast(t("albums.removed", { n: remove.length, name }));
    return true;
  });

/** @param {string} name @returns {Promise<string | undefined>} */
export const makeAlbum = (name) =>
  acting(async () => {
    const known = state.albums?.find((each) => each.name === name);
    const { id } = known ?? (await api.post("/albums", { name }));
    await readAlbums();
    return id;
  });

/** Lets somebody choose the album that pictures go into, or name a new one. @param {HTMLElement} anchor @param {string[]} ids */
export async function chooseAlbum(anchor, ids) {
  const made = openPanel(anchor, t("albums.add"), { class: "pop choose" });
  if (!made) return;
  const close = () => /** @type {any} */ (made).hidePopover();
  const into = async (id) => {
    close();
    await changeAlbum(id, { add: ids });
  };
  const name = element("input", { type: "text", maxlength: "100", required: true, "aria-label": t("albums.new-name"), placeholder: t("albums.new") });
  const onsubmit = async (event) => {
    event.preventDefault();
    const id = name.value.trim() && (await makeAlbum(name.value.trim()));
    if (id) await into(id);
  };
  const form = element("form", { class: "line-form", onsubmit }, name, element("button", { type: "submit", class: "primary" }, t("albums.make")));
  const show = (albums) => {
    const choice = ({ id, name: called, pictures }) =>
      element("li", {}, element("button", { type: "button", class: "item", onclick: () => into(id) }, icon("album"), element("span", { dir: "auto" }, called), element("span", { class: "quiet" }, pictures)));
    fill(made, element("h2", {}, t("albums.add")), albums.length > 0 && element("ul", { role: "list" }, ...albums.map(choice)), form);
    place(made, anchor);
  };
  show(state.albums ?? []);
  name.focus();
  const albums = await acting(readAlbums, { quiet: true });
  if (albums && made.isConnected && !name.value) {
    show(albums);
    name.focus();
  }
}

// -- menus

/** Ways to take several pictures along. @param {HTMLElement} anchor @param {object} what as `exportAs`
 * @param {{zip?: boolean}} [given] without it where a button beside makes one */
export function openExports(anchor, what, { zip = true } = {}) {
  openMenu(anchor, t("take.along"), [
    zip && mayTake() && { icon: "download", text: t("take.zip"), act: () => exportAs("zip", what) },
    { icon: "data", text: t("take.csv"), act: () => exportAs("csv", what) },
    { icon: "data", text: t("take.json"), act: () => exportAs("json", what) },
    { icon: "file", text: t("take.xmp"), act: () => exportAs("xmp", what) },
  ]);
}

/** What can be done with one picture. @param {HTMLElement} anchor @param {Hit} hit @param {{go?: (work: () => void) => void}} [given]
 * `go`: how to do what leads away from what is open */
export function openPictureMenu(anchor, hit, { go = (work) => work() } = {}) {
  const { id } = hit;
  const tell = (name) => () => go(() => dispatchEvent(new CustomEvent(name, { detail: hit })));
  const { album } = state.where;
  const isFavourite = markOf(id).favourite;
  openMenu(anchor, t("take.menu", { name: nameOf(hit) }), [
    mayTake() && { icon: "download", text: t("take.download"), href: fileAddress(id), download: hit.name, key: "d" },
    mayOpen() && { icon: "leave", text: t("take.open"), act: () => openFile(id, "open") },
    mayOpen() && { icon: "folder", text: t("take.folder"), act: () => openFile(id, "folder") },
    knowsPaths() && { icon: "copy", text: t("take.copy-path"), act: () => copyPath(id) },
    { icon: "link", text: t("take.copy-link"), act: () => copyLink(id) },
    mayMark() && { icon: "heart", text: t(isFavourite ? "take.unfavourite" : "take.favourite"), act: () => toggleFavourite([id]), key: "h" },
    mayMark() && { icon: "album", text: t("albums.add"), act: () => chooseAlbum(anchor, [id]) },
    mayMark() && album && { icon: "minus", text: t("albums.take-out"), act: () => takeOut(album, [id]) },
    { icon: "like", text: t("picture.like"), act: tell("vf-pick"), key: "m" },
    { icon: "found", text: t("grid.found"), act: tell("vf-found"), key: "f" },
    { icon: "reject", text: t("grid.reject"), act: tell("vf-reject"), key: "x" },
  ]);
}

/** Takes pictures out of an album that is shown, and out of sight. @param {string} album @param {string[]} ids */
export async function takeOut(album, ids) {
  if (!(await changeAlbum(album, { remove: ids })) || !state.results) return;
  const gone = new Set(ids);
  const results = state.results.results.filter(({ id }) => !gone.has(id));
  store.set({ results: { ...state.results, results, total: Math.max(0, state.results.total - ids.length) } });
}

// -- said

/** @type {ReturnType<typeof setTimeout> | undefined} */
let leaving;

/** Says for a moment what was done. @param {string} text @param {{href: string, text: string}} [link] */
export function toast(text, link) {
  const host = document.querySelector("dialog[open]") ?? document.getElementById("main") ?? document.body;
  for (const old of document.querySelectorAll(".toast")) old.remove();
  const made = element("div", { class: "toast" }, element("p", {}, text), link && element("a", { href: link.href }, link.text),
    iconButton("close", t("trouble.dismiss"), () => made.remove()));
  host.append(made);
  announce(text);
  clearTimeout(leaving);
  const leave = () => {
    // What is looked at or has the focus stays.
    if (made.matches(":hover, :focus-within")) leaving = setTimeout(leave, TOAST_MS);
    else made.remove();
  };
  leaving = setTimeout(leave, TOAST_MS);
}
