// @ts-check
/** What screen readers hear of changes that eyes see. */

/** @type {ReturnType<typeof setTimeout> | undefined} */
let pending;
/** @type {string[]} */
let waiting = [];

/** Says `text` in the page's live region; what comes within a moment is said together. @param {string} text */
export function announce(text) {
  const region = document.getElementById("live");
  if (!region) return;
  // Emptied first, so that the same sentence is said again.
  region.textContent = "";
  waiting.push(text);
  pending ??= setTimeout(() => {
    region.textContent = waiting.join(" ");
    [pending, waiting] = [undefined, []];
  }, 60);
}
