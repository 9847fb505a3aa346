// @ts-check
/** A picture that was shared with the page by another program, or sent by another site: it leaves this browser only when
 * the person says so. */

import { SHARED } from "./forgetting.js";
import { element } from "./dom.js";
import { store } from "./store.js";
import { t } from "./texts.js";

/** The picture, which is kept no longer. @returns {Promise<File | null>} */
async function take() {
  const cache = await globalThis.caches?.open(SHARED);
  const kept = await cache?.match("/shared");
  if (!kept) return null;
  const file = new File([await kept.blob()], decodeURIComponent(kept.headers.get("x-name") ?? ""), { type: kept.headers.get("content-type") ?? "" });
  await cache.delete("/shared");
  return file;
}

/** @param {File} file */
function ask(file) {
  const address = URL.createObjectURL(file);
  const end = () => {
    URL.revokeObjectURL(address);
    dialog.remove();
  };
  const go = () => {
    dialog.close();
    /** @type {any} */ (document.querySelector("vf-say")).show([file]);
  };
  const dialog = element("dialog", { class: "login shared", "aria-labelledby": "shared-title", onclose: end },
    element("h2", { id: "shared-title" }, t("shared.title")),
    element("img", { src: address, alt: file.name || t("shared.alt") }),
    element("p", {}, t("shared.text", { site: location.host })),
    element("div", { class: "line-form" },
      element("button", { type: "button", class: "primary", onclick: go }, t("shared.yes")),
      element("button", { type: "button", onclick: () => dialog.close() }, t("shared.no"))));
  document.body.append(dialog);
  dialog.showModal();
}

history.replaceState(history.state, "", location.pathname);
const file = await take();
if (file) ask(file);
else store.set({ problem: { detail: t("shared.lost") } });
