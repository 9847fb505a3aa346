// @ts-check
/** Building nodes. Data reaches the page only as text and attributes, never as markup. */

/** @typedef {Node | string | number | false | null | undefined} Child */
/** @typedef {string | number | boolean | null | undefined | Record<string, string> | ((event: any) => void)} Value */

const PROPERTIES = new Set(["value", "checked", "indeterminate", "selected", "muted"]);
const WRITTEN = new Set(["text", "search"]);
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
  // Whatever people write is read from where it begins, in Hebrew and Arabic too.
  if (tag === "textarea" || (tag === "input" && WRITTEN.has(String(attributes.type ?? "text")))) made.dir = "auto";
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

/** Outlines on a grid of 24 x 24, drawn with the colour of the text; icons.js has those that come later. @type {Record<string, string>} */
const ICONS = {
  add: "M12 5v14M5 12h14",
  close: "M6 6l12 12M18 6 6 18",
  filter: "M4 6h16M7 12h10M10 18h4",
  image: "M4 5h16v14H4zM4 16l5-5 4 4 2-2 5 5M15 9.5v.01",
  minus: "M5 12h14",
  reject: "M12 4a8 8 0 1 0 0 16 8 8 0 0 0 0-16zM6.5 6.5l11 11",
  send: "M12 19V5m-6 6 6-6 6 6",
  conversation: "M4 5h16v11H10l-4 4v-4H4z",
};

/** More outlines, for what comes later. @param {Record<string, string>} more */
export const addIcons = (more) => void Object.assign(ICONS, more);
/** Those that point along the line: they turn round where one reads from the right. */
const MIRRORED = new Set(["back", "next", "previous", "conversation"]);

/** A small drawing beside or instead of a word; it says nothing to screen readers. @param {string} name */
export function icon(name) {
  const drawing = document.createElementNS(SVG, "svg");
  drawing.setAttribute("viewBox", "0 0 24 24");
  drawing.setAttribute("aria-hidden", "true");
  drawing.setAttribute("class", MIRRORED.has(name) ? "icon mirrored" : "icon");
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
