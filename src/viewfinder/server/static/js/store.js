// @ts-check
/** What the page knows, in one place. Elements render from it and call actions; they keep no copies.
 *
 * The types are those of the API (`/api/v1/openapi.json`, its names in schemas/*.py).
 * @typedef {{rank: number, id: string, score: number, match: "likely" | "maybe" | "unlikely", name: string,
 *   caption: string | null, width: number, height: number, why?: any}} Hit
 * @typedef {{text: string, choices: string[], by: string, why: string, attribute: string | null, examples: string[]}} Question
 * @typedef {{turn: number, label: string, kind: string, weight: number, without: any}} Belief
 * @typedef {{content: string, corrections: {typed: string, read: string}[],
 *   facts: {words: string, kind: string, pictures: number}[]}} Reading
 * @typedef {{said: number, kind: "rollback" | "keep", turn: number, attribute: string, words: string}} Operation
 * @typedef {{turn: number, verdict: "found" | "unsure" | "nothing", results: Hit[], total: number,
 *   next: string | null, beliefs: Belief[], adapters: string[], operations: Operation[], question: Question | null, asking: boolean,
 *   answer?: {with: "pictures" | "words", text: string | null} | null, elapsed_ms: number, missing?: number, unheard?: string[],
 *   reading?: Reading | null}} Results
 * @typedef {{number: number, parent: number, turn: any, told: string, shown: number, first: string | null,
 *   asked: Question | null, at: string | null}} TreeNode
 * @typedef {{id: string, name: string, retriever: string | null, questioner: string, where: Record<string, string>,
 *   n: number, leaning: number | null, created: string, updated: string, turns: number, tree: TreeNode[], path: number[]}} SessionTree
 * @typedef {{kind: "like" | "show", id: string, name: string, thumbnail: string, turn?: number}} Pinned
 * @typedef {{id: string, seen: {name: string, chance: number}[], known: string[], chosen: string[], touched: boolean}} Attributes
 * @typedef {{detail: string, kind?: string, status?: number, more?: any, retry?: () => void}} Trouble
 *
 * @typedef {object} State
 * @property {any} collection (Collection) @property {any} facets (Facets) @property {any[]} jobs @property {any} me
 * @property {any} retrievers (Retrievers) @property {any} questioners (Questioners)
 * @property {SessionTree | null} session @property {number} turn The turn that is shown; 0 is the start
 * @property {Results | null} results Of that turn, all pages so far in `results.results`
 * @property {boolean} previewing Whether they are of half-typed words, with no conversation yet
 * @property {Record<string, any>} why Picture id -> why it is where it is (as `why` of a hit)
 * @property {Question | null} question @property {boolean} asking Whether it is still being chosen
 * @property {Pinned | null} pinned The picture that the next words are about
 * @property {Attributes | null} attributes What the retriever sees in it, and what is to count in place of that
 * @property {Record<number, string>} replies What turns of this conversation are answered in words, as far as it has been written
 * @property {{retriever?: string, questioner?: string, leaning?: number}} chosen What a conversation that has not begun will be set to
 * @property {{turn: number, results: Results} | null} compare The other branch, side by side
 * @property {Record<string, string>} where Filters
 * @property {{text?: string, turn?: number, label?: string} | null} hover What to show in the pictures
 * @property {boolean} busy @property {boolean} online @property {Trouble | null} problem
 * @property {string | null} found The picture that was meant @property {"system" | "light" | "dark"} theme
 */

/** @type {State} */
const state = {
  collection: null,
  session: null,
  turn: 0,
  results: null,
  previewing: false,
  why: {},
  question: null,
  asking: false,
  replies: {},
  pinned: null,
  attributes: null,
  chosen: {},
  compare: null,
  retrievers: null,
  questioners: null,
  where: {},
  facets: null,
  hover: null,
  jobs: [],
  me: null,
  busy: false,
  online: true,
  problem: null,
  found: null,
  theme: "system",
};

/** @type {Set<{keys: Set<string>, listener: () => void}>} */
const listeners = new Set();
/** @type {Set<string>} */
let changed = new Set();

/** Calls each listener once for all that has changed in this turn of the event loop. */
function tell() {
  const keys = changed;
  changed = new Set();
  for (const each of [...listeners]) {
    if (listeners.has(each) && [...keys].some((key) => each.keys.has(key))) each.listener();
  }
}

export const store = {
  state,

  /** Changes the keys of `patch`; listeners hear of it in a microtask. @param {Partial<State>} patch */
  set(patch) {
    const before = changed.size;
    for (const [key, value] of Object.entries(patch)) {
      if (/** @type {any} */ (state)[key] === value) continue;
      /** @type {any} */ (state)[key] = value;
      changed.add(key);
    }
    if (before === 0 && changed.size > 0) queueMicrotask(tell);
  },

  /** Calls `listener` whenever one of the keys has changed. Gives a function that ends it.
   * @param {(keyof State)[]} keys @param {() => void} listener @returns {() => void} */
  on(keys, listener) {
    const each = { keys: new Set(/** @type {string[]} */ (keys)), listener };
    listeners.add(each);
    return () => void listeners.delete(each);
  },
};

/** The numbers of the turns that lead to one, without the root and turns back. @param {TreeNode[]} tree @param {number} number */
export function wayTo(tree, number) {
  const way = [];
  for (let node = tree[number]; node?.number; node = tree[node.parent]) if (!("back_to" in node.turn)) way.unshift(node.number);
  return way;
}

/** The number of the turn where the conversation stands: the newest, or the one that was gone back to.
 * @param {SessionTree | null} session */
export const standsAt = (session) => (session ? (wayTo(session.tree, session.tree.length - 1).at(-1) ?? 0) : 0);
