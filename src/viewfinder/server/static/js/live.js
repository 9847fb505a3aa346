// @ts-check
/** What screen readers hear of changes that eyes see. */

/** @type {ReturnType<typeof setTimeout> | undefined} */
let pending;

/** Says `text` in the page's live region; of several within a moment only the last is said. @param {string} text */
export function announce(text) {
  clearTimeout(pending);
  const region = document.getElementById("live");
  if (!region) return;
  // Emptied first, so that the same sentence is said again.
  region.textContent = "";
  pending = setTimeout(() => {
    region.textContent = text;
  }, 60);
}
