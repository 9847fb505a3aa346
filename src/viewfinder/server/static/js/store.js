// @ts-check
/** What the page knows, in one place. Elements render from it and call actions; they keep no copies.
 *
 * The types are those of the API (`/api/v1/openapi.json`, its names in schemas/*.py).
 * @typedef {{rank: number, id: string, score: number, match: "likely" | "maybe" | "unlikely", name: string,
 *   caption: string | null, width: number, height: number, others?: string[], why?: any}} Hit
 * @typedef {{text: string, choices: string[], by: string, why: string, attribute: string | null, examples: string[]}} Question
 * @typedef {{turn: number, label: string, kind: string, weight: number, without: any}} Belief
 * @typedef {{content: string, words: {text: string, without: string | null}[],
 *   corrections: {typed: string, read: string, without: string | null}[],
 *   facts: {words: string, kind: string, pictures: number, filter: boolean, without: string | null}[]}} Reading
 * @typedef {{said: number, kind: "rollback" | "keep", turn: number, attribute: string, words: string}} Operation
 * @typedef {{turn: number, verdict: "found" | "unsure" | "nothing", results: Hit[], total: number,
 *   likely?: number, maybe?: number, next: string | null, beliefs: Belief[], adapters: string[], operations: Operation[], question: Question | null, asking: boolean,
 *   answer?: {with: "pictures" | "words", text: string | null} | null, elapsed_ms: number, missing?: number, unheard?: string[],
 *   reading?: Reading | null}} Results
 * @typedef {{number: number, parent: number, turn: any, told: string, shown: number, first: string | null,
 *   asked: Question | null, at: string | null}} TreeNode
 * @typedef {{id: string, name: string, retriever: string | null, questioner: string, where: Record<string, string>,
 *   n: number, leaning: number | null, created: string, updated: string, turns: number, tree: TreeNode[], path: number[]}} SessionTree
 * @typedef {{kind: "like" | "show", id: string, name: string, thumbnail: string, turn?: number}} Pinned
 * @typedef {{id: string, seen: {name: string, chance: number}[], known: string[], chosen: string[], touched: boolean}} Attributes
 * @typedef {{favourite: boolean, stars: number, albums: string[]}} Mark
 * @typedef {{detail: string, kind?: string, status?: number, more?: any, retry?: () => void}} Trouble
 * @typedef {{id: string, turns: TreeNode[], again?: (place: Place) => void}} Behind `again`: says what was refused elsewhere
 * @typedef {{parent: number, on_conflict?: "branch"}} Place After which turn something is said
 * @typedef {{at: number, key: string, group: string, id: string | null, begin: any, turn: any, place: Place | null, from: number,
 *   moved?: boolean}} Waiting
 * @typedef {{kind: "turn", from: number, to: number} | {kind: "pick" | "where", before: any, after: any}
 *   | {kind: "found", id: string, noted: string | null}} Done
 *
 * @typedef {object} State
 * @property {any} collection (Collection)
 * @property {{pictures: number, adding: any} | null} arriving How many can be searched by now, and what is being added (CollectionProgress)
 * @property {any} facets (Facets) @property {any[]} jobs @property {any} me
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
 * @property {Record<string, string>} where Filters @property {string} order "newest", "oldest"; "": the best first
 * @property {{text?: string, turn?: number, label?: string} | null} hover What to show in the pictures
 * @property {ReadonlyMap<string, Hit>} selected Pictures to do something with, by id, in the order in which they were chosen
 * @property {Record<string, Mark>} marks What is known of pictures that were shown: favourites, stars, albums
 * @property {{id: string, name: string, pictures: number}[] | null} albums null: not read yet
 * @property {boolean} busy @property {boolean} online @property {Trouble | null} problem
 * @property {Behind | null} behind What was said from elsewhere since @property {Waiting[]} waiting What could not be sent yet
 * @property {Done[]} done What was done here, the last thing last @property {Done[]} undone What of it was taken back
 * @property {string | null} found The picture that was meant @property {"system" | "light" | "dark"} theme
 */

/** @type {State} */
const state = {
  collection: null,
  arriving: null,
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
  order: "",
  facets: null,
  hover: null,
  selected: new Map(),
  marks: {},
  albums: null,
  jobs: [],
  me: null,
  busy: false,
  online: true,
  problem: null,
  found: null,
  behind: null,
  waiting: [],
  done: [],
  undone: [],
  theme: /** @type {any} */ (localStorage.getItem("viewfinder-theme") ?? "system"),
};

/** @type {Set<{keys: Set<string>, listener: () => void}>} */
const listeners = new Set();
/** @type {Set<string>} */
let changed = new Set();

/** Calls each listener once for all that has changed in this turn of the event loop. A fault in one is no reason for the
 * others not to hear of it. */
function tell() {
  const keys = changed;
  changed = new Set();
  for (const each of [...listeners]) {
    if (!listeners.has(each) || ![...keys].some((key) => each.keys.has(key))) continue;
    try {
      each.listener();
    } catch (error) {
      reportError(error);
    }
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

/** The number of the turn where the conversation stands: the newest (or the one given), or that which it went back to.
 * @param {SessionTree | null} session @param {number} [number] */
export const standsAt = (session, number = (session?.tree.length ?? 1) - 1) => (session ? (wayTo(session.tree, number).at(-1) ?? 0) : 0);

/** What is in pictures without a caption, as far as it has been asked: filled by seen.js. @type {Map<string, string>} */
export const seenIn = new Map();

/** What a picture is called: its caption, else what is seen in it, else its file. @param {{id: string, name: string, caption: string | null}} hit */
export const nameOf = ({ id, name, caption }) => caption || seenIn.get(id) || name;
