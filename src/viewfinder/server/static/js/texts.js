// @ts-check
/** What the page says, in the language of its <html lang>: one catalogue a language, in locales/. */

/** @typedef {Record<string, any>} Values */

/** The tag of the language that the page is in, and the direction in which it is read. */
export const { lang: language, dir: direction } = document.documentElement;
/** The name of that language's catalogue. */
export const spoken = document.getElementById("texts")?.dataset.language ?? "en";

/** @type {Record<string, string | ((values: Values) => string)>} */
const TEXTS = await (await fetch(`/static/locales/${spoken}.json`)).json();

/** Joins the texts of a page that is not always there, as that of studies. @param {typeof TEXTS} more */
export const addTexts = (more) => void Object.assign(TEXTS, more);

const numbers = new Intl.NumberFormat(language);
const plurals = new Intl.PluralRules(language);
const lists = new Intl.ListFormat(language, { type: "unit" });

/** A number as it is written in the page's language. @param {number} n */
export const number = (n) => numbers.format(n);

/** Several names, as they are listed in the page's language. @param {string[]} names */
export const listed = (names) => lists.format(names);

/**
 * The text of a key, with its places (`{name}`) filled. Where the catalogue has plurals of it (`key_one`, `key_other`
 * and what else the language tells apart; `key_zero` for none at all), `values.n` chooses. A key without a text is
 * itself the text, which tests see.
 * @param {string} key @param {Values} [values]
 */
export function t(key, values = {}) {
  const text = TEXTS[key] ?? (typeof values.n === "number" ? pluralOf(key, values.n) : undefined) ?? key;
  if (typeof text === "function") return text(values);
  return text.replace(/\{(\w+)\}/g, (_, name) => (typeof values[name] === "number" ? number(values[name]) : isolated(String(values[name] ?? ""))));
}

const OTHER_WAY = direction === "rtl" ? /\p{Script=Latin}/u : /[\p{Script=Hebrew}\p{Script=Arabic}\p{Script=Syriac}\p{Script=Thaana}]/u;

/** What somebody wrote, so that it does not turn the sentence around it. @param {string} text */
const isolated = (text) => (OTHER_WAY.test(text) ? `\u2068${text}\u2069` : text);

/** Whether the catalogue has a text of this key. @param {string} key */
export const hasText = (key) => key in TEXTS;

/** @param {string} key @param {number} n */
const pluralOf = (key, n) => (n === 0 ? TEXTS[`${key}_zero`] : undefined) ?? TEXTS[`${key}_${plurals.select(n)}`] ?? TEXTS[`${key}_other`];
