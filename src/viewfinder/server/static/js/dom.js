// @ts-check
/** Building nodes. Data reaches the page only as text and attributes, never as markup. */

/** @typedef {Node | string | number | false | null | undefined} Child */
/** @typedef {string | number | boolean | null | undefined | Record<string, string> | ((event: any) => void)} Value */

const PROPERTIES = new Set(["value", "checked", "indeterminate", "selected", "muted"]);
const SVG = "http://www.w3.org/2000/svg";

/**
 * An element: `element("button", { class: "quiet", onclick: go, disabled: !ready }, "Go")`.
 * `on...` with a function listens; `style` and `dataset` take objects; true is an attribute without a value;
 * false, null and undefined leave an attribute out. Children that are false, null or undefined are left out too.
 * @param {string} tag @param {Record<string, Value>} [attributes] @param {...(Child | Child[])} children
 * @returns {any}
 */
export function element(tag, attributes = {}, ...children) {
  const made = document.createElement(tag);
  for (const [name, value] of Object.entries(attributes)) give(made, name, value);
  made.append(...present(children));
  return made;
}

/** A text whose parts between backticks are for typing, and stay on one line. @param {string} text @returns {Child[]} */
export const typed = (text) => text.split("`").map((part, at) => (at % 2 ? element("code", { class: "typed" }, part) : part));

/** Puts children in the place of all that `parent` holds. @param {Element} parent @param {...(Child | Child[])} children */
export function fill(parent, ...children) {
  parent.replaceChildren(...present(children));
}

/** @param {HTMLElement} made @param {string} name @param {Value} value */
function give(made, name, value) {
  if (typeof value === "function") made.addEventListener(name.slice(2), value);
  else if (name === "style" && value && typeof value === "object") {
    // By script and property, because the content security policy refuses style attributes.
    for (const [property, it] of Object.entries(value)) made.style.setProperty(property, it);
  } else if (name === "dataset" && value && typeof value === "object") Object.assign(made.dataset, value);
  else if (PROPERTIES.has(name)) /** @type {any} */ (made)[name] = value;
  else if (value === true) made.setAttribute(name, "");
  else if (value !== false && value !== null && value !== undefined) made.setAttribute(name, String(value));
}

/** @param {(Child | Child[])[]} children @returns {(Node | string)[]} */
function present(children) {
  return children
    .flat()
    .filter((child) => child !== false && child !== null && child !== undefined)
    .map((child) => (typeof child === "number" ? String(child) : /** @type {Node | string} */ (child)));
}

/** Outlines on a grid of 24 x 24, drawn with the colour of the text. @type {Record<string, string>} */
const ICONS = {
  add: "M12 5v14M5 12h14",
  back: "M19 12H5m6-6-6 6 6 6",
  branch: "M7 4v12m0 0a3 3 0 1 0 0 .01M17 8a3 3 0 1 0 0-.01M17 11c0 4-6 3-9.5 5.5",
  check: "m5 12.5 4.5 4.5L19 7.5",
  close: "M6 6l12 12M18 6 6 18",
  compare: "M4 5h7v14H4zM13 5h7v14h-7z",
  down: "m6 9 6 6 6-6",
  download: "M12 4v11m-5-5 5 5 5-5M5 20h14",
  edit: "M4 20l1-4L16 5l3 3L8 19zM14 7l3 3",
  expand: "M14 4h6v6m0-6-7 7M10 20H4v-6m0 6 7-7",
  filter: "M4 6h16M7 12h10M10 18h4",
  folder: "M3 6h6l2 2h10v11H3z",
  found: "M12 3v3m0 12v3M3 12h3m12 0h3M12 7a5 5 0 1 0 0 10 5 5 0 0 0 0-10zm0 4a1 1 0 1 0 0 2 1 1 0 0 0 0-2z",
  heart: "M12 20S4 15 4 9.2A4.2 4.2 0 0 1 12 7a4.2 4.2 0 0 1 8 2.2C20 15 12 20 12 20z",
  image: "M4 5h16v14H4zM4 16l5-5 4 4 2-2 5 5M15 9.5v.01",
  minus: "M5 12h14",
  moon: "M19 14.5A7.5 7.5 0 0 1 9.5 5a7.5 7.5 0 1 0 9.5 9.5z",
  more: "M6 12h.01M12 12h.01M18 12h.01",
  next: "m9 5 7 7-7 7",
  pause: "M8 5v14M16 5v14",
  play: "M7 5l12 7-12 7z",
  previous: "m15 5-7 7 7 7",
  question: "M9 9a3 3 0 1 1 4.5 2.6C12.5 12.2 12 12.8 12 14m0 4v.01",
  reject: "M12 4a8 8 0 1 0 0 16 8 8 0 0 0 0-16zM6.5 6.5l11 11",
  send: "M12 19V5m-6 6 6-6 6 6",
  sun: "M12 8a4 4 0 1 0 0 8 4 4 0 0 0 0-8zM12 2.5v2m0 15v2M2.5 12h2m15 0h2M5.3 5.3l1.4 1.4m10.6 10.6 1.4 1.4m0-13.4-1.4 1.4M6.7 17.3l-1.4 1.4",
  conversation: "M4 5h16v11H10l-4 4v-4H4z",
  theme: "M12 4a8 8 0 1 0 0 16zM12 4a8 8 0 0 1 0 16",
  tiles: "M4 4h7v7H4zM13 4h7v7h-7zM4 13h7v7H4zM13 13h7v7h-7z",
  trash: "M5 7h14M10 7V4h4v3M7 7l1 13h8l1-13",
  upload: "M12 16V5m-5 5 5-5 5 5M5 20h14",
};

/** A small drawing beside or instead of a word; it says nothing to screen readers. @param {string} name */
export function icon(name) {
  const drawing = document.createElementNS(SVG, "svg");
  drawing.setAttribute("viewBox", "0 0 24 24");
  drawing.setAttribute("aria-hidden", "true");
  drawing.setAttribute("class", "icon");
  const outline = document.createElementNS(SVG, "path");
  outline.setAttribute("d", ICONS[name] ?? "");
  drawing.append(outline);
  return drawing;
}

/** A button that is only a drawing: `label` is what screen readers and the tooltip say.
 * @param {string} name @param {string} label @param {(event: any) => void} onclick @param {Record<string, Value>} [attributes] */
export function iconButton(name, label, onclick, attributes = {}) {
  const given = { type: "button", "aria-label": label, title: label, onclick, ...attributes };
  return element("button", { ...given, class: `icon-button ${attributes.class ?? ""}`.trim() }, icon(name));
}
