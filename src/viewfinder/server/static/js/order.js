// @ts-check
/** The order of what is shown, in the bar: by date, where pictures tell when they were taken. */

import { acting, again } from "./actions.js";
import { element, fill } from "./dom.js";
import { store } from "./store.js";
import { loadStyle } from "./bring.js";
import { t } from "./texts.js";

void loadStyle("knows");

const select = element("select", { class: "order", "aria-label": t("order.title"), title: t("order.title"), onchange: () => change(select.value) });

/** Puts what is shown in another order: "newest", "oldest"; "" has the best first. @param {string} order */
const change = (order) =>
  acting(async () => {
    store.set({ order });
    await again();
  });

function render() {
  const { collection, results, turn, previewing, order, compare } = store.state;
  // Columns of files: where one has dates, these are there.
  select.hidden = !collection?.columns?.includes("month") || !results?.results.length || compare !== null;
  const asked = turn > 0 || previewing;
  fill(select, ...["", "newest", "oldest"].map((value) => element("option", { value, selected: value === order }, t(`order.${value || (asked ? "best" : "mixed")}`))));
}

document.querySelector("#bar-end .total")?.after(select);
store.on(["collection", "results", "turn", "previewing", "order", "compare"], render);
render();
