/** Pure shapes behind the conversation: its turns as words, its tree as paths. Data in, data out, no page. */

/** @typedef {import("./store.js").TreeNode} TreeNode */

/** Words that say nothing of what is in a picture; hovering them would light up noise. */
const SMALL_WORDS = new Set(
  ("a an the and or but in on at of to with without for from by is are was were be it its this that these those there i me my we you he she they his her " +
    "their as into over under not no some any more most very just like want show please would should can could has have").split(" "),
);

/**
 * The text in pieces; `word` says which can be looked for in a picture.
 * @param {string} text
 * @returns {{text: string, word: boolean}[]}
 */
export function pieces(text) {
  const found = text.match(/[\p{L}\p{N}][\p{L}\p{N}'’-]*|[^\p{L}\p{N}]+/gu) ?? [];
  return found.map((piece) => ({ text: piece, word: /^[\p{L}\p{N}]/u.test(piece) && !SMALL_WORDS.has(piece.toLowerCase()) }));
}

/** Whether a turn only moved the conversation: such nodes stand for the one they go back to and are never drawn. */
export const isMove = (node) => node.turn !== null && "back_to" in node.turn;

/** The node that `number` stands for: itself, or the one that was gone back to. */
export function origin(tree, number) {
  let node = tree[number];
  while (node && isMove(node)) node = tree[node.parent];
  return node?.number ?? 0;
}

/**
 * The turns that lead to `number`, the first one first; without root and moves.
 * @param {{tree: TreeNode[]} | null} session @param {number} number @returns {TreeNode[]}
 */
export function pathTo(session, number) {
  const path = [];
  for (let node = session?.tree[number]; node?.number; node = session.tree[node.parent]) if (!isMove(node)) path.unshift(node);
  return path;
}

/** Numbers of the turns that follow each turn, moves looked through: `children[k]`, the oldest first. */
export function childrenOf(tree) {
  const children = tree.map(() => []);
  for (const node of tree.slice(1)) if (!isMove(node)) children[origin(tree, node.parent)].push(node.number);
  return children;
}

/** What was said in a turn, without its pictures: what can be looked for. */
export const textOf = (turn) => turn?.say ?? turn?.answer ?? turn?.but ?? turn?.text ?? turn?.keep ?? "";

/** Whether a turn passed a question over, or said that one cannot tell. */
export const isPass = (turn) => turn.answer !== undefined && (!turn.answer.trim() || turn.answer === DONT_KNOW);

/**
 * Turns with those that pass over questions one after another as one: `passes` (their numbers) where there are several.
 * @template {{node: TreeNode}} Row @param {Row[]} rows @param {(row: Row, next: Row) => boolean} [joins]  whether a row may be one with the next
 * @returns {{row: Row, passes: number[]}[]}
 */
export function foldPasses(rows, joins = () => true) {
  const folded = [];
  for (const row of rows) {
    const last = folded.at(-1);
    const passes = row.node.turn && isPass(row.node.turn) ? [row.node.number] : [];
    if (passes.length && last?.passes.length && joins(last.row, row)) Object.assign(last, { row, passes: [...last.passes, ...passes] });
    else folded.push({ row, passes });
  }
  return folded.map(({ row, passes }) => ({ row, passes: passes.length > 1 ? passes : [] }));
}

/** What the search understands as no answer, in the language it is talked to in. */
export const DONT_KNOW = "don't know";

const INSTEAD = /^(.*: asked by \S+ instead); (.*)$/s;

/** Why a question is asked; `instead` says what went wrong where it is asked by somebody else than who was to ask.
 * @param {{why: string}} question @returns {{instead: string | null, why: string}} */
export function reasonOf({ why }) {
  const found = INSTEAD.exec(why);
  return found ? { instead: found[1], why: found[2] } : { instead: null, why };
}

/** A name with blanks for people. @param {string} name */
export const spaced = (name) => name.replaceAll("_", " ");

/** @returns {"say"|"answer"|"like"|"show"|"reject"|"keep"|"back_to"} */
export const kindOf = (turn) => ["say", "answer", "like", "show", "reject", "keep", "back_to"].find((kind) => kind in turn);

/** The turn with other words; null where a turn is only its words and none are left. */
export function withText(turn, text) {
  const key = { say: "say", answer: "answer", like: "but", show: "but", reject: "text" }[kindOf(turn)];
  if (!text.trim() && ["say", "answer"].includes(key)) return null;
  return { ...turn, [key]: text.trim() };
}

/** A column's name as words: "articleType" -> "article type". @param {string} column */
export const readable = (column) => column.replace(/[_-]+/g, " ").replace(/(\p{Ll})(\p{Lu})/gu, (_, a, b) => `${a} ${b.toLowerCase()}`);

/** "3 min" and the like, of seconds: rounded as people say it. */
export function parted(seconds) {
  if (seconds < 60) return { n: Math.max(1, Math.round(seconds)), unit: "s" };
  if (seconds < 5400) return { n: Math.round(seconds / 60), unit: "min" };
  return { n: Math.round(seconds / 3600), unit: "h" };
}
