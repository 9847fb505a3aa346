// @ts-check
/** How a picture lies in the space that it is shown in: pure arithmetic, no page. Points are relative to the middle. */

/** @typedef {{width: number, height: number}} Size */
/** @typedef {{scale: number, x: number, y: number}} View  scale 1: it just fits; x, y: where its middle is */

/** A small picture is not blown up until it is blots. */
const MAX_BLOW_UP = 2;
/** At least so far one can zoom in, and to so many screen pixels for one of the picture's. */
const MIN_ZOOM = 4;
const MAX_PIXEL = 3;

/** @type {View} */
export const WHOLE = { scale: 1, x: 0, y: 0 };

/** The size at which a picture just fits. @param {Size} picture @param {Size} space @returns {Size} */
export function fitted({ width, height }, space) {
  const share = Math.min(space.width / width, space.height / height, MAX_BLOW_UP);
  return { width: width * share, height: height * share };
}

/** How far one can zoom in. @param {Size} picture @param {Size} fit */
export const farthest = (picture, fit) => Math.max(MIN_ZOOM, (MAX_PIXEL * picture.width) / fit.width);

/** Zooms by a factor; what lies at `point` stays there. @param {View} view @param {number} factor
 * @param {{x: number, y: number}} point @param {number} most @returns {View} */
export function zoomed(view, factor, point, most) {
  const scale = Math.min(most, Math.max(1, view.scale * factor));
  const share = scale / view.scale;
  return { scale, x: point.x - (point.x - view.x) * share, y: point.y - (point.y - view.y) * share };
}

/** The view with no empty space beside a picture that is larger than its space. @param {View} view @param {Size} fit
 * @param {Size} space @returns {View} */
export function held({ scale, x, y }, fit, space) {
  const within = (at, length, room) => {
    const most = Math.max(0, (length * scale - room) / 2);
    return Math.min(most, Math.max(-most, at));
  };
  return { scale, x: within(x, fit.width, space.width), y: within(y, fit.height, space.height) };
}
