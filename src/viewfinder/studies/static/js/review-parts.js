// @ts-check
/** What a dialogue looks like on the page on which it is reviewed. */

import { element, fill } from "./dom.js";
import { t } from "./texts.js";

/** @typedef {import("./review.js").Turn} Turn */
/** @typedef {(name: string) => string} Address */

/** What each turn says: its texts as one, a line each. @param {Turn[]} turns */
export const wordsOf = (turns) => turns.map(({ content }) => content.flatMap((item) => ("text" in item ? [item.text] : [])).join("\n"));

/** The turns, with a field for the words of each. @param {Turn[]} turns @param {string[]} words what stands in the fields
 * @param {Address} address @param {(at: number, words: string) => void} told */
export function dialogueView(turns, words, address, told) {
  const before = wordsOf(turns);
  return element("ol", { class: "dialogue" }, ...turns.map((turn, at) => turnView(turn, at, before[at], words[at], address, (text) => told(at, text))));
}

/** @param {Turn} turn @param {number} at @param {string} before @param {string} words @param {Address} address @param {(words: string) => void} told */
function turnView({ role, content }, at, before, words, address, told) {
  const who = t(`review.${role}`);
  const was = element("div", { class: "was quiet" });
  const field = element("textarea", { rows: 1, maxlength: 10000, value: words, placeholder: t("review.nothing-said"), "aria-label": t("review.says", { who, turn: at + 1 }), oninput: () => write() });
  const pictures = content.flatMap((item) => ("image" in item ? [pictureView(item.image, t("review.shown", { turn: at + 1, name: item.image }), address)] : []));
  const write = () => {
    told(field.value);
    compare();
  };
  const restore = () => {
    field.value = before;
    write();
    field.focus();
  };
  // What stood here before is told only where something else stands here now.
  const compare = () => {
    const same = field.value.trim() === before;
    if (same) return fill(was);
    if (was.childElementCount) return;
    fill(was, element("p", {}, element("b", {}, t("review.was")), " ", before || t("review.was-nothing")), element("button", { type: "button", class: "link", onclick: restore }, t("review.restore")));
  };
  compare();
  return element("li", { class: role }, element("h2", {}, who), field, was, pictures.length > 0 && element("div", { class: "pictures" }, ...pictures));
}

/** A picture in a frame of a fixed size, so that nothing moves when it comes. @param {string} name @param {string} alt @param {Address} address */
function pictureView(name, alt, address) {
  const frame = element("div", { class: "frame" });
  const broken = () => fill(frame, element("p", { class: "quiet" }, t("review.broken", { name })));
  fill(frame, element("img", { src: address(name), alt, title: name, onerror: broken }));
  return frame;
}

/** The picture that is meant, and how the dialogue was made. @param {string} target @param {Record<string, any>} source @param {Address} address */
export function factsView(target, source, address) {
  const facts = Object.entries({ ...source, target });
  return [
    element("h2", { id: "meant" }, t("review.target")), pictureView(target, t("review.target.about", { name: target }), address),
    element("h2", { id: "made" }, t("review.source")), element("dl", {}, ...facts.map(([name, value]) => element("div", {}, element("dt", {}, nameOf(name)), element("dd", {}, typeof value === "string" ? value : JSON.stringify(value))))),
  ];
}

/** What a fact is called; one that we do not know, as it is called in the file. @param {string} name */
const nameOf = (name) => [t(`review.fact.${name}`)].find((text) => text !== `review.fact.${name}`) ?? name.replaceAll("_", " ");
