// @ts-check
/** The whole page by arrow keys, Enter and Back alone, as a television's remote has them: an arrow goes to what lies
 * next in its direction. Pictures, turns and answers have arrows of their own; where these lead no further, it goes on. */

const ARROWS = /** @type {const} */ ({ ArrowLeft: [-1, 0], ArrowRight: [1, 0], ArrowUp: [0, -1], ArrowDown: [0, 1] });

/** The keys by which remotes go back. */
const BACK = ["GoBack", "BrowserBack", "XF86Back"];

const REACHABLE = "a[href], button, input, textarea, select, summary, [role=treeitem], [tabindex='0']";

/** What does not lie in the same row, or column, counts so many pixels farther; and how far it lies aside counts twice. */
const [OTHER_ROW, ASIDE] = [500, 2];

/** How much two boxes may overlap and still lie one after the other, in pixels. */
const SLACK = 4;

const WRITTEN = "textarea, input:not([type=range], [type=checkbox], [type=radio], [type=button], [type=submit], [type=file])";

/** Where the focus was, before the page's own arrows moved it. @type {Element | null} */
let from = null;

/** Whether the caret stands where an arrow leads out of a text. @param {HTMLTextAreaElement | HTMLInputElement} box @param {readonly number[]} way */
function isAtEdge(box, [x, y]) {
  const [start, end] = [box.selectionStart ?? 0, box.selectionEnd ?? 0];
  if (start !== end) return false;
  if (y < 0) return !box.value.slice(0, start).includes("\n");
  if (y > 0) return !box.value.slice(end).includes("\n");
  const before = getComputedStyle(box).direction === "rtl" ? x > 0 : x < 0;
  return before ? start === 0 : end === box.value.length;
}

/** Whether the browser or the page has another use for this arrow here. @param {Element} at @param {KeyboardEvent} event @param {readonly number[]} way */
function isTaken(at, event, way) {
  if (at.matches(WRITTEN)) return event.defaultPrevented || !isAtEdge(/** @type {any} */ (at), way);
  if (at.matches("input[type=range], input[type=radio]")) return way[0] !== 0;
  if (!event.defaultPrevented) return false;
  return document.activeElement !== at || at.closest("dialog") !== null || (at.matches("[aria-expanded][role=treeitem]") && way[0] !== 0);
}

/** Whether a thing is seen, at least in part, or would be once `at`'s list is scrolled. @param {Element} it @param {Element} at */
function isSeen(it, at) {
  const { x, y, width, height } = it.getBoundingClientRect();
  const top = document.elementFromPoint(x + width / 2, y + height / 2);
  if (top) return it.contains(top) || top.contains(it) && top.matches("label, li, .tile") || top.closest("label")?.contains(it) === true;
  const list = it.closest("vf-grid, vf-conversation, vf-tree, dialog, .panel");
  return list !== null && list.contains(at);
}

/** How far it is from one box to another in a direction; Infinity: it does not lie there.
 * @param {DOMRect} one @param {DOMRect} other @param {readonly number[]} way */
function distance(one, other, [x, y]) {
  const along = x > 0 ? other.left - one.right : x < 0 ? one.left - other.right : y > 0 ? other.top - one.bottom : one.top - other.bottom;
  if (along < -SLACK) return Infinity;
  const [low, high, otherLow, otherHigh] = x ? [one.top, one.bottom, other.top, other.bottom] : [one.left, one.right, other.left, other.right];
  const gap = Math.max(0, otherLow - high, low - otherHigh);
  const centre = Math.abs((low + high - otherLow - otherHigh) / 2);
  return Math.max(0, along) + ASIDE * gap + (gap ? OTHER_ROW : 0) + centre / 100;
}

/** What can be reached now: all of the page, or of the dialog that is open. */
function reachable() {
  const dialogs = document.querySelectorAll("dialog:modal");
  const root = dialogs[dialogs.length - 1] ?? document.body;
  return [...root.querySelectorAll(REACHABLE)].filter((it) => {
    const box = it.getBoundingClientRect();
    const isOut = /** @type {HTMLElement} */ (it).tabIndex < 0 && !it.matches(".pick, [role=treeitem]");
    return !isOut && box.width > 0 && box.height > 0 && !it.matches(":disabled, .tools *") && it.checkVisibility?.({ visibilityProperty: true }) !== false;
  });
}

/** The nearest thing in a direction. @param {Element} at @param {readonly number[]} way @param {(it: Element) => boolean} [isMeant] */
function nearest(at, way, isMeant = () => true) {
  const box = at.getBoundingClientRect();
  const found = reachable()
    .filter((it) => it !== at && !it.contains(at) && isMeant(it))
    .map((it) => ({ it, far: distance(box, it.getBoundingClientRect(), way) }))
    .filter(({ far }) => far < Infinity)
    .sort((one, other) => one.far - other.far);
  return found.find(({ it }) => isSeen(it, at))?.it ?? null;
}

/** What comes after, or before, in the order of the page: where nothing lies above or below. @param {Element} at @param {number} step */
function neighbour(at, step) {
  const all = reachable();
  return all[all.indexOf(at) + step] ?? null;
}

/** @param {Element | null} it */
function focus(it) {
  if (!it) return false;
  const tile = it.closest("li.tile");
  if (tile && it.matches(".pick")) /** @type {any} */ (it.closest("vf-grid")).focusOn(Number(/** @type {HTMLElement} */ (tile).dataset.at));
  else /** @type {HTMLElement} */ (it).focus();
  it.scrollIntoView?.({ block: "nearest", inline: "nearest" });
  return true;
}

/** @param {Element} at @param {readonly number[]} way */
function go(at, way) {
  if (at === document.body) return focus(document.querySelector("dialog:modal :is(button, input)") ?? document.querySelector("vf-grid .pick[tabindex='0']") ?? reachable()[0]);
  return focus(nearest(at, way) ?? (at.closest("dialog") && way[1] ? neighbour(at, way[1]) : null));
}

/** Before the page's own keys: at the end of a row of pictures, an arrow goes on to what stands beside them; and dialogs,
 * which keep their keys to themselves, are walked up and down, and left. @param {KeyboardEvent} event */
function begin(event) {
  from = document.activeElement;
  const way = ARROWS[/** @type {keyof typeof ARROWS} */ (event.key)];
  if (event.ctrlKey || event.metaKey || event.altKey || event.shiftKey) return;
  if (BACK.includes(event.key)) return back(event);
  if (way?.[1] && from?.closest("dialog:modal") && !isTaken(from, event, way)) {
    if (!go(from, way)) return;
    event.preventDefault();
    event.stopImmediatePropagation();
    return;
  }
  if (!way?.[0] || !from?.matches("vf-grid .pick")) return;
  const { top, bottom } = from.getBoundingClientRect();
  const isBeside = (/** @type {Element} */ it) => it.getBoundingClientRect().top < bottom && it.getBoundingClientRect().bottom > top;
  if (nearest(from, way, (it) => it.matches("vf-grid .pick") && isBeside(it))) return;
  if (!focus(nearest(from, way, (it) => !it.closest("vf-grid")))) return;
  event.preventDefault();
  event.stopImmediatePropagation();
}

/** @param {KeyboardEvent} event */
function pressed(event) {
  const at = from ?? document.body;
  if (event.ctrlKey || event.metaKey || event.altKey || event.shiftKey || event.isComposing) return;
  const way = ARROWS[/** @type {keyof typeof ARROWS} */ (event.key)];
  if (way && !isTaken(at, event, way) && go(at, way)) event.preventDefault();
  else if (event.key === "Enter" && !event.defaultPrevented) enter(at, event);
}

/** Enter does what a click does where browsers want another key. @param {Element} at @param {KeyboardEvent} event */
function enter(at, event) {
  if (at instanceof HTMLSelectElement) at.showPicker?.();
  else if (at.matches("input[type=radio], input[type=checkbox]")) /** @type {HTMLElement} */ (at).click();
  else return;
  event.preventDefault();
}

/** Back closes what is open on top; else it is the browser's. @param {KeyboardEvent} event */
function back(event) {
  const dialogs = document.querySelectorAll("dialog:modal");
  if (!dialogs.length) return;
  event.preventDefault();
  event.stopImmediatePropagation();
  dialogs[dialogs.length - 1].dispatchEvent(new Event("cancel", { cancelable: true })) && /** @type {HTMLDialogElement} */ (dialogs[dialogs.length - 1]).close();
}

addEventListener("keydown", begin, { capture: true });
addEventListener("keydown", pressed);
document.documentElement.dataset.arrows = "";
