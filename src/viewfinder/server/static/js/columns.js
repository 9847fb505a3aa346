// @ts-check
/** What columns and their values are called on the page: those that files tell in its language, a catalogue's own as they are. */

import { readable } from "./conversation-shapes.js";
import { language, t } from "./texts.js";

/** Columns that files, sidecars and machines tell, and filters that have a part of their own. */
const TOLD = new Set([
  "format", "year", "month", "camera", "folder", "captured", "under", "title", "description", "keywords", "persons", "creator", "album", "rating",
  "label", "place", "city", "region", "country", "latitude", "longitude", "altitude", "lens", "caption", "objects", "text",
]);

/** @param {string} column */
export const columnName = (column) => (TOLD.has(column) ? t(`column.${column}`) : readable(column));

const monthsIn = (/** @type {string} */ tongue) => {
  const { format } = new Intl.DateTimeFormat(tongue, { month: "long", timeZone: "UTC" });
  return Array.from({ length: 12 }, (_, at) => format(Date.UTC(2000, at)));
};
const [english, here] = [monthsIn("en"), monthsIn(language)];

/** How a year, a month and a day are written, by how long their names are. @type {Record<number, Intl.DateTimeFormat>} */
const dates = {
  7: new Intl.DateTimeFormat(language, { year: "numeric", month: "short", timeZone: "UTC" }),
  10: new Intl.DateTimeFormat(language, { dateStyle: "medium", timeZone: "UTC" }),
};

/** A year, a month or a day as people write it. @param {string} stretch */
export function dateName(stretch) {
  const at = /^\d{4}-\d\d(-\d\d)?$/.test(stretch) ? Date.parse(`${stretch.padEnd(10, "-01")}T00:00:00Z`) : NaN;
  return isNaN(at) ? stretch : dates[stretch.length].format(at);
}

/** Filters say months in English, and dates in figures; people read them in their own language. @param {string} column @param {string} value */
export function valueName(column, value) {
  if (column === "month") return here[english.indexOf(value)] ?? value;
  return column === "captured" ? value.split("..").map(dateName).join(" – ").trim() : value;
}
