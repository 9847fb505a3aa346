// @ts-check
/** Guards what has just been drawn against a click that was meant for what was there before: the second one of a double
 * click, a finger that was on its way, a key that is held down. */

/** Longer than systems let a double click last (Windows: 500 ms, at most 900). */
export const DOUBLE_MS = 900;

/** How far apart the two clicks of a double click may be, in pixels. */
const NEAR = 12;

/** @typedef {{at: number, kind: string, x: number, y: number, on: EventTarget | null}} Press  `on`: of a key, where the focus was */
const NONE = { at: -Infinity, kind: "", x: 0, y: 0, on: null };

/** The last two presses of a pointer or a key, the newest first. @type {[Press, Press]} */
let [last, before] = [NONE, NONE];

/** @param {any} event */
function began({ timeStamp, type, target, clientX = 0, clientY = 0 }) {
  [last, before] = [{ at: timeStamp, kind: type, x: clientX, y: clientY, on: type === "keydown" ? target : null }, last];
}
addEventListener("pointerdown", began, { capture: true });
/** Keys that press a button, or take a chip away. */
const PRESSING = ["Enter", " ", "Delete", "Backspace"];
addEventListener("keydown", (event) => PRESSING.includes(event.key) && began(event), { capture: true });

/** Whether a click was not meant for what was drawn at `drawn` (milliseconds, as `performance.now()`).
 * @param {MouseEvent} event @param {number} drawn */
export function isHasty(event, drawn) {
  // By a screen reader, or a script: there was no press, or one of long ago.
  if (event.detail === 0 && event.timeStamp - last.at > DOUBLE_MS) return false;
  if (last.at < drawn) return true;
  if (before.at >= drawn || before.kind !== last.kind) return false;
  const isNear = last.on === before.on && Math.hypot(last.x - before.x, last.y - before.y) < NEAR;
  return event.detail > 1 || (isNear && last.at - before.at < DOUBLE_MS);
}
