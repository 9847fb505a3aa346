/** Pure shapes behind the tree and comparing: rows and lanes of branches, moves between rankings. */

import { childrenOf, foldPasses, pathTo } from "./conversation-shapes.js";

/** @typedef {import("./store.js").TreeNode} TreeNode */

/** How many turns hang below and including `number`. */
function sizeOf(children, number) {
  let count = 0;
  for (const waiting = [number]; waiting.length; count += 1) waiting.push(...children[waiting.pop()]);
  return count;
}

/**
 * @typedef {object} TreeRow
 * @property {TreeNode} node
 * @property {number} level  how many branches deep, from 0
 * @property {boolean} head  the first turn of a side branch
 * @property {boolean} last  nothing goes on below it in its own lane
 * @property {number} branches  side branches that leave here
 * @property {number} hidden  turns in them, while they are folded away
 * @property {number} place  1-based, among the rows of its branch
 * @property {number} places  how many rows its branch has
 * @property {number[]} passes  where the row stands for several questions that were skipped: their turns, the last of them its node
 */

/**
 * The tree as rows from top to bottom. A straight run stays in its lane, whatever its length: only a branch moves to
 * the right. The oldest follow-up goes on in the lane, so that rows keep their order while the conversation grows.
 * Questions that were skipped one after another are one row.
 * @param {TreeNode[]} tree @param {Set<number>} folded  turns whose side branches are folded away
 * @param {Set<number>} [opened]  first turns of skipped questions that are shown one by one
 * @returns {TreeRow[]}
 */
export function treeRows(tree, folded, opened = new Set()) {
  const children = childrenOf(tree);
  const rows = [];
  const walk = (start, level) => {
    const chain = [start];
    while (children[chain.at(-1)].length) chain.push(children[chain.at(-1)][0]);
    const rest = chain.map((number) => ({ node: tree[number] }));
    const joined = foldPasses(rest, ({ node }) => children[node.number].length === 1);
    const drawn = joined.flatMap((one) => (opened.has(one.passes[0]) ? one.passes.map((number) => ({ row: { node: tree[number] }, passes: [] })) : [one]));
    drawn.forEach(({ row: { node: { number } }, passes }, index) => {
      const sides = children[number].slice(1);
      const isFolded = folded.has(number);
      const hidden = isFolded ? sides.reduce((sum, side) => sum + sizeOf(children, side), 0) : 0;
      const head = index === 0 && level > 0;
      const last = index === drawn.length - 1;
      rows.push({ node: tree[number], level, head, last, branches: sides.length, hidden, place: index + 1, places: drawn.length, passes });
      if (!isFolded) for (const side of sides) walk(side, level + 1);
    });
  };
  if (tree.length) walk(0, 0);
  return rows;
}

/**
 * Which lanes are lit above and below the middle of each row, so that a line leads along `path` (numbers of turns).
 * @param {TreeRow[]} rows @param {number[]} path @returns {{above: Set<number>, below: Set<number>}[]}
 */
export function litLanes(rows, path) {
  const places = new Map(rows.map((row, index) => [row.node.number, index]));
  const lit = rows.map(() => ({ above: new Set(), below: new Set() }));
  path.slice(1).forEach((number, before) => {
    const from = places.get(path[before]);
    for (let at = from; at < places.get(number); at += 1) {
      lit[at].below.add(rows[from].level);
      lit[at + 1].above.add(rows[from].level);
    }
  });
  return lit;
}

/** Turns whose side branches are best folded away at first: in a large tree, those that do not lead to `shown`. */
export function foldedAtFirst(session, shown, large = 60) {
  const { tree } = session;
  if (tree.length <= large) return new Set();
  const children = childrenOf(tree);
  const path = new Set(pathTo(session, shown).map((node) => node.number));
  const forks = tree.map((node) => node.number).filter((number) => children[number].length > 1);
  return new Set(forks.filter((number) => !children[number].slice(1).some((side) => path.has(side))));
}

/** The number of the last turn that two paths share; 0 is the start. */
export function sharedTurn(session, one, other) {
  const first = new Set(pathTo(session, one).map((node) => node.number));
  return pathTo(session, other).reduce((shared, node) => (first.has(node.number) ? node.number : shared), 0);
}

/**
 * @typedef {object} Move  where a picture of one ranking stands in another
 * @property {"same"|"up"|"down"|"only"} kind
 * @property {number} by  places; 0 where it stands still, or is in one of them only
 * @property {number|null} there  1-based rank in the other one
 */

/**
 * Where each picture of `hits` stands in `others`. "up" means: better here than there.
 * @param {{id: string}[]} hits @param {{id: string}[]} others @returns {Map<string, Move>}
 */
export function moves(hits, others) {
  const places = new Map(others.map((hit, index) => [hit.id, index + 1]));
  const move = (here, there) => {
    if (there === undefined) return { kind: "only", by: 0, there: null };
    const kind = here === there ? "same" : here < there ? "up" : "down";
    return { kind, by: Math.abs(here - there), there };
  };
  return new Map(hits.map((hit, index) => [hit.id, move(index + 1, places.get(hit.id))]));
}

/** How many of `found` (of `moves`) are of each kind. */
export function tally(found) {
  const counts = { same: 0, up: 0, down: 0, only: 0 };
  for (const { kind } of found.values()) counts[kind] += 1;
  return counts;
}
