// @ts-check
/** Everything a person can do. Each action asks the API, then changes the store; failures go to `store.problem`. */

import * as api from "./api.js";
import { bring } from "./bring.js";
import { announce } from "./live.js";
import * as router from "./router.js";
import { nameOf, standsAt, store, wayTo } from "./store.js";
import { t } from "./texts.js";

/** @typedef {import("./store.js").Results} Results */

const { state } = store;

/** Results of the first page of a new conversation; later pages come as they are scrolled to. */
export const FIRST = 60;
const PAGE = 100;
const MOST = 500;

/** Results by address, so that back and forward are instant; the oldest go first. @type {Map<string, Results>} */
export const seen = new Map();
const SEEN = 60;

let stopEvents = () => {};
let running = 0;
/** What was asked for last; an answer to anything earlier comes too late. */
let latest = 0;
/** @type {AbortController | null} */
let typing = null;
/** What the preview is of. @type {any} */
let previewed = null;

/** Does `work`; a failure becomes `store.problem`, with `retry` where doing it again makes sense.
 * Gives what `work` gives, or undefined after a failure.
 * @template T @param {() => Promise<T>} work @param {{quiet?: boolean}} [given] @returns {Promise<T | undefined>} */
export async function acting(work, { quiet = false } = {}) {
  running += 1;
  store.set({ busy: true, ...(quiet ? {} : { problem: null }) });
  try {
    return await work();
  } catch (error) {
    if (error instanceof DOMException && error.name === "AbortError") return undefined;
    const retry = () => void acting(work);
    if (error.kind === "moved-on") store.set({ problem: null }); // what to do about it is asked (`behind.js`)
    else if (error instanceof api.Problem) {
      const { detail, kind, status, more } = error;
      store.set({ problem: { detail, kind, status, more, ...(status >= 500 || status === 429 ? { retry } : {}) } });
    } else if (error instanceof api.Unreachable) waiting = retry;
    else {
      console.error(error);
      store.set({ problem: { detail: t("trouble.unforeseen") } });
    }
    return undefined;
  } finally {
    running -= 1;
    if (running === 0) store.set({ busy: false });
  }
}

/** What could not be done while the server was away. @type {(() => void) | null} */
let waiting = null;
store.on(["online"], () => {
  if (!state.online || !waiting) return;
  const again = waiting;
  waiting = null;
  again();
});
// The stream of a question was cut with the server: what it was asking may have been lost with it, and is asked again.
store.on(["online"], () => state.online && state.asking && state.session && listen(state.session.id, state.turn));

/** Notes what can be taken back. @param {import("./store.js").Done} thing */
const noted = (thing) => store.set({ done: [...state.done.slice(-MOST), thing], undone: [] });

// -- places

/** Reads what the page needs once, and goes where the address says. */
export async function start() {
  router.onMove((place) => void goToPlace(place));
  const words = location.pathname === "/" ? router.askedBy(location.search) : null;
  await Promise.all([words ? begin(words, router.filtersOf(location.search).where) : goToPlace(router.placeOf(location.pathname)), acting(readLibrary, { quiet: true })]);
}

async function readLibrary() {
  const names = { me: "/me", collection: "/collection", retrievers: "/retrievers", questioners: "/questioners" };
  const read = async (key, path) => store.set({ [key]: await api.get(path) });
  await Promise.all(Object.entries(names).map(([key, path]) => read(key, path)));
}

/** A page after what is shown; while pictures come in, it may have some of these again.
 * @param {import("./store.js").Hit[]} shown @param {import("./store.js").Hit[]} page */
export function joined(shown, page) {
  const ids = new Set(shown.map(({ id }) => id));
  return [...shown, ...page.filter(({ id }) => !ids.has(id)).map((hit, at) => ({ ...hit, rank: shown.length + at + 1 }))];
}

/** @param {router.Place} place */
async function goToPlace(place) {
  const { where, order } = router.filtersOf(location.search);
  if (place.page === "home") return home(where, order);
  if (place.page === "album") return home({ ...where, album: place.album }, order);
  await open(place.session, place.turn, { fromHistory: true, order });
  if (place.page === "compare") await (await bring("conversation-actions")).compareWith(place.other);
}

/** The page as it is before anything has been said. @param {Record<string, string>} [where]  as in an album @param {string} [order] */
export async function home(where = {}, order = "") {
  stopEvents();
  typing?.abort();
  const mine = ++latest;
  previewed = null;
  store.set({
    session: null, turn: 0, results: null, previewing: false, why: {}, question: null, asking: false,
    compare: null, found: null, pinned: null, where, order, behind: null, done: [], undone: [],
  });
  await acting(() => wall(mine), { quiet: true });
}

/** A few pictures to begin with: nothing was asked for, so nothing is said about them. @param {number} mine */
async function wall(mine) {
  const key = `wall ${JSON.stringify(state.where)} ${state.order}`;
  // What somebody has put together may have changed since.
  const isOwn = ["album", "favourite", "stars"].some((column) => column in state.where);
  const results = (isOwn ? null : seen.get(key)) ?? (await browsed({ where: state.where, n: FIRST }));
  remember(key, results);
  if (mine === latest) store.set({ results });
}

/** Looks for what the address asks for. @param {string} words @param {Record<string, string>} where */
async function begin(words, where) {
  store.set({ where });
  await say(words);
  if (state.turn === 0) await home(where);
}

/** Begins a new conversation (on the page: the server hears of it with the first turn). */
export async function newConversation() {
  router.show({ page: "home" });
  await home();
}

/** Opens a conversation at a turn (null: where it stands).
 * @param {string} id @param {number | null} [turn] @param {{fromHistory?: boolean, order?: string}} [given] */
export async function open(id, turn = null, { fromHistory = false, order = "" } = {}) {
  await acting(async () => {
    const mine = ++latest;
    previewed = null;
    if (fromHistory) store.set({ order });
    const same = state.session?.id === id ? state.session : null;
    // The first results of a page that is opened at a turn are not to wait for the conversation.
    const early = !same && turn ? resultsOf(id, turn) : null;
    early?.catch(() => {});
    const session = same ?? (await api.get(`/sessions/${id}`));
    if (mine !== latest) return;
    const at = turn ?? standsAt(session);
    if (!fromHistory) router.show({ page: "talk", session: id, turn: at });
    else if (turn === null) router.show({ page: "talk", session: id, turn: at }, { replace: true });
    store.set({ session, where: session.where, order, compare: null, pinned: null, ...(same ? {} : { found: null, behind: null, done: [], undone: [] }) });
    await showNode(at, mine, early);
  }).then(() => {
    // A conversation that is gone: the page goes on, and says so.
    if (state.problem?.status === 404 && state.session?.id !== id) {
      store.set({ problem: { detail: t("missing.conversation") } });
      router.show({ page: "home" }, { replace: true });
      return home();
    }
  });
}

/** Orders as results have them. @type {Record<string, string>} */
const SORTS = { newest: "-date", oldest: "date" };

/** As many as were shown there last. @param {string} id @param {number} turn @returns {Promise<Results>} */
const resultsOf = (id, turn) => {
  const { count } = router.kept();
  return api.get(`/sessions/${id}/turns/${turn}`, { n: count ? Math.min(MOST, count) : null, sort: SORTS[state.order] });
};

/** Shows the results of a turn. @param {number} turn @param {number} mine @param {Promise<Results> | null} [early] */
async function showNode(turn, mine, early = null) {
  const session = /** @type {import("./store.js").SessionTree} */ (state.session);
  if (turn === 0) {
    stopEvents();
    store.set({ turn: 0, results: null, why: {}, question: null, asking: false, previewing: false });
    return wall(mine);
  }
  const known = seen.get(keyOf(session.id, turn));
  if (known) store.set({ turn, results: known, previewing: false, question: known.question, asking: known.asking, why: {} });
  const results = known ?? (await (early ?? resultsOf(session.id, turn)));
  if (mine === latest) showResults(results);
}

// -- turns

/** What is done once, however often it has to be tried: its key, and after which turn.
 * @typedef {{key: string, place?: import("./store.js").Place}} Once */
/** @returns {Once} */
const newOnce = () => ({ key: api.newKey() });

/** Keeps what cannot be sent now, and sends it later; `hold` gives whether it does. Comes with `waiting.js`.
 * @type {{waits: () => boolean, hold: (turn: any, once: Once) => boolean}} */
let later = { waits: () => false, hold: () => false };
export const keepForLater = (/** @type {typeof later} */ given) => void (later = given);

/** @param {any} turn */
function taking(turn) {
  const once = newOnce();
  return acting(() => take(turn, once));
}

/** After which turn something is said: the newest that is known here, or the one that is shown, as a branch of it.
 * @param {import("./store.js").SessionTree} session @returns {import("./store.js").Place} */
export const placeIn = (session) =>
  standsAt(session) === state.turn ? { parent: session.tree.length - 1 } : { parent: state.turn, on_conflict: "branch" };

/** Takes a turn from what is shown now; what cannot be sent waits, and what is said after it too.
 * @param {any} turn @param {Once} once  the same at each try */
async function take(turn, once) {
  const mine = ++latest;
  typing?.abort();
  if (later.waits() && later.hold(turn, once)) return;
  try {
    const session = await begun({ where: state.where, n: FIRST, ...state.chosen }, once.key);
    const place = (once.place ??= placeIn(session));
    const results = await api.post(`/sessions/${session.id}/turns`, { ...turn, ...place }, undefined, once.key);
    await took(session.id, turn, place, results, mine);
  } catch (error) {
    if (error instanceof api.Unreachable && later.hold(turn, once)) return;
    refused(error, (place) => void acting(() => take(turn, { key: once.key, place })));
    throw error;
  }
}

/** The conversation went on elsewhere: what to do is asked. @param {any} error @param {(place: import("./store.js").Place) => void} again */
export function refused(error, again) {
  if (error.kind === "moved-on" && state.session) store.set({ behind: { id: state.session.id, turns: [], again } });
}

/** Shows what came of a turn, in its conversation. @param {string} id @param {any} turn @param {import("./store.js").Place} place
 * @param {Results} results @param {number} [mine] */
export async function took(id, turn, place, results, mine = ++latest) {
  previewed = null;
  if (state.order) store.set({ order: "" });
  const from = state.turn;
  await addToTree(id, turn, place, results);
  if (mine !== latest || state.session?.id !== id) return;
  router.show({ page: "talk", session: id, turn: results.turn });
  store.set({ pinned: null, compare: null, found: null, behind: null });
  noted({ kind: "turn", from, to: results.turn });
  showResults(results);
  tell(results);
}

/** Goes back (or forth) to a turn, and on from there: nothing is lost. @param {number} number */
export function backTo(number, once = newOnce()) {
  return acting(async () => {
    const mine = ++latest;
    const session = /** @type {import("./store.js").SessionTree} */ (state.session);
    const place = (once.place ??= placeIn(session));
    const turn = { back_to: number };
    const results = await api.post(`/sessions/${session.id}/turns`, { ...turn, ...place }, undefined, once.key).catch((error) => {
      refused(error, (elsewhere) => void backTo(number, { key: once.key, place: elsewhere }));
      throw error;
    });
    await addToTree(session.id, turn, place, results);
    if (mine !== latest) return;
    router.show({ page: "talk", session: session.id, turn: number });
    store.set({ pinned: null, compare: null, found: null, behind: null });
    await showNode(number, mine);
  });
}

/** The conversation, which begins when the first turn is taken. @param {any} given  its settings @param {string} key  of that turn */
export async function begun(given, key) {
  if (state.session) return state.session;
  const session = await api.post("/sessions", given, undefined, key);
  const root = { number: 0, parent: 0, turn: null, told: "", shown: 0, first: null, asked: null, at: session.created };
  store.set({ session: { ...session, tree: [root], path: [] }, turn: 0 });
  return /** @type {import("./store.js").SessionTree} */ (state.session);
}

/** Adds a turn to the tree at once: the server's own tree is read when the question has come.
 * @param {string} id @param {any} turn @param {import("./store.js").Place} place @param {Results} results */
async function addToTree(id, turn, place, results) {
  let session = state.session;
  if (session?.id !== id) return;
  // A branch begins with a way back there.
  const branches = place.on_conflict && turn.back_to === undefined && standsAt(session) !== standsAt(session, place.parent);
  if (branches && results.turn === session.tree.length + 1) {
    const back = { number: session.tree.length, parent: place.parent, turn: { back_to: place.parent }, told: "", shown: 0, first: null, asked: null, at: null };
    session = { ...session, tree: [...session.tree, back] };
  }
  // Where it had been taken before its answer was lost, the tree may have it already.
  if (results.turn < session.tree.length) {
    store.set({ session: { ...session, path: wayTo(session.tree, results.turn) } });
  } else if (results.turn > session.tree.length) {
    await refreshTree(id, { whole: true }); // others spoke meanwhile
  } else {
    const parent = turn.back_to ?? session.tree.length - 1;
    // As the server keeps it: a question that is passed over has an answer without words.
    const kept = turn.skip ? { answer: "", question: turn.question } : turn;
    const words = turn.say ?? turn.answer ?? turn.but ?? turn.text ?? turn.keep ?? "";
    const node = {
      number: results.turn, parent, turn: kept, told: words, shown: results.results.length,
      first: results.results[0]?.id ?? null, asked: null, at: new Date().toISOString(),
    };
    const tree = [...session.tree, node];
    store.set({ session: { ...session, tree, turns: tree.length - 1, path: wayTo(tree, results.turn) } });
  }
}
function showResults(results) {
  const session = /** @type {import("./store.js").SessionTree} */ (state.session);
  remember(keyOf(session.id, results.turn), results);
  const why = Object.fromEntries(results.results.filter((hit) => hit.why).map((hit) => [hit.id, hit.why]));
  store.set({ results, turn: results.turn, previewing: false, why, question: results.question, asking: results.asking });
  listen(session.id, results.turn);
}

/** Hears the question and the explanations of a turn, which come after its results. @param {string} id @param {number} turn */
export function listen(id, turn) {
  stopEvents();
  const here = () => state.session?.id === id && state.turn === turn;
  const settled = (question) => {
    const known = seen.get(keyOf(id, turn));
    if (known) remember(keyOf(id, turn), { ...known, question, asking: false });
  };
  stopEvents = api.events(`/sessions/${id}/turns/${turn}/events`, {
    question: ({ question, problem }) => {
      settled(question);
      if (!here()) return;
      if (problem) store.set({ problem: { kind: "part-failed", detail: problem } });
      if (question && state.asking) announce(t("live.question", question));
      store.set({ question, asking: false });
    },
    why: ({ why }) => void (here() && store.set({ why: { ...state.why, ...why } })),
    done: () => {
      if (here()) store.set({ asking: false });
      // Where it fails, the conversation has gone by now, or the server: both are said elsewhere.
      if (state.session?.id === id) refreshTree(id).catch(() => {});
    },
    // Where the server is away, the question is asked for again when it is back.
    failed: () => void (here() && acting(() => api.get("/health/live"), { quiet: true }).then(() => state.online && here() && store.set({ asking: false }))),
  });
}

/** Reads the conversation's tree again: of turns that are known here, unless `whole`. Others are told of, not shown.
 * @param {string} id @param {{whole?: boolean}} [given] */
export async function refreshTree(id, { whole = false } = {}) {
  const session = await api.get(`/sessions/${id}`);
  const known = state.session?.tree.length ?? 0;
  // While it was read, another turn may have been taken: then a newer tree is on its way.
  if (state.session?.id !== id || session.tree.length < known) return;
  if (whole || session.tree.length === known) return store.set({ session });
  const tree = session.tree.slice(0, known);
  store.set({ session: { ...session, tree, turns: known - 1, path: wayTo(tree, known - 1) } });
}

/** What was typed without a conversation is said first, so that what follows refers to what is on the screen. */
async function settle(/** @type {Once} */ once) {
  if (!state.previewing || !previewed) return;
  const { text, ...picture } = previewed;
  if (picture.like || picture.show) await take({ ...picture, but: text }, once);
  else if (text) await take({ say: text }, once);
}
export const say = (text) => taking({ say: text });
const asked = () => (state.question ? { question: state.question } : {});
export const answer = (text) => taking({ answer: text, ...asked() });
/** Passes the question over: something else is asked. */
export const skip = () => taking({ skip: true, ...asked() });
/** `turn`: the picture is that of an earlier turn, and the conversation goes on from there. */
export const like = (id, but = "", turn) =>
  taking({ like: id, ...(but ? { but } : {}), ...(turn === undefined ? {} : { turn }), ...counting(id) });
export const show = (id, but = "") => taking({ show: id, ...(but ? { but } : {}), ...counting(id) });

/** The attributes of a picture that are to count, where they are not those that are seen in it. @param {string} id */
function counting(id) {
  const { attributes } = state;
  if (attributes?.id !== id || !isChanged(attributes)) return {};
  return { attributes: attributes.chosen };
}

/** Whether other attributes are to count than are seen. @param {import("./store.js").Attributes} attributes */
export const isChanged = ({ seen, chosen }) => seen.length !== chosen.length || seen.some(({ name }) => !chosen.includes(name));
export const keep = (attribute, turn) => taking({ keep: attribute, turn });

/** Rejects pictures, or what `text` says; with neither, all that is shown. @param {string[]} ids @param {string} [text] */
export function reject(ids, text = "") {
  const [before, once] = [newOnce(), newOnce()];
  return acting(async () => {
    await settle(before);
    // With what is folded behind them; as many as the server takes at once.
    const behind = new Map(state.results?.results.map((hit) => [hit.id, hit.others ?? []]));
    const all = ids.flatMap((id) => [id, ...(behind.get(id) ?? []).filter((other) => !behind.has(other))]).slice(0, 1000);
    await take(text ? { reject: all, text } : { reject: all }, once);
    announce(t("live.rejected"));
  });
}

/** Shows another turn of this conversation; what is said next goes on from there. @param {number} turn */
export const goTo = (turn) => (state.session ? open(state.session.id, turn) : Promise.resolve());

/** Puts another turn in the place of one; what followed is said again. @param {number} number @param {any} turn */
export const editTurn = (number, turn) => replaying((key, place) => api.put(turnPath(number), { ...turn, ...place }, key));
/** Takes a turn out; what followed is said again. @param {number} number */
export const deleteTurn = (number) => replaying((key, place) => api.remove(turnPath(number), key, place));
export const removeBelief = (belief) =>
  belief.without ? editTurn(belief.turn, belief.without) : deleteTurn(belief.turn);

const turnPath = (number) => `/sessions/${state.session?.id}/turns/${number}`;
/** @typedef {(key: string, place: import("./store.js").Place) => Promise<any>} Edit */
/** @param {Edit} edit */
function replaying(edit) {
  const once = newOnce();
  return acting(() => replay(edit, once));
}
/** @param {Edit} edit @param {Once} once  the same at each try */
async function replay(edit, once) {
  const mine = ++latest;
  const session = /** @type {import("./store.js").SessionTree} */ (state.session);
  const from = state.turn;
  const place = (once.place ??= placeIn(session));
  const { results, left_out: leftOut } = await edit(once.key, place).catch((error) => {
    refused(error, (elsewhere) => void acting(() => replay(edit, { key: once.key, place: elsewhere })));
    throw error;
  });
  const fresh = await api.get(`/sessions/${session.id}`);
  if (mine !== latest) return;
  store.set({ session: fresh, compare: null, pinned: null, behind: null });
  noted({ kind: "turn", from, to: results.turn });
  router.show({ page: "talk", session: session.id, turn: results.turn });
  if (results.turn === 0) await showNode(0, mine);
  else showResults(results);
  tell(results);
  if (leftOut.length) store.set({ problem: { kind: "left-out", detail: leftOut.join(" ") } });
}

// -- results

/** @type {Promise<void> | null} */
let fetching = null;

/** Fetches the next page of what is shown, or waits for the one that is on its way. @param {number} [n] of how many, at most 500 */
export function more(n = PAGE) {
  fetching ??= fetchMore(n).finally(() => (fetching = null));
  return fetching;
}

/** @param {number} n */
async function fetchMore(n) {
  const shown = state.results;
  if (!shown?.next) return;
  await acting(async () => {
    const cursor = shown.next;
    const ofTurn = state.session && !state.previewing && state.turn > 0;
    const page = ofTurn
      ? await api.get(turnPath(state.turn), { n, cursor, sort: SORTS[state.order] })
      : previewed
        ? await searched({ ...previewed, where: state.where, n, why: false, cursor })
        : await browsed({ where: state.where, n, cursor });
    if (state.results?.next !== cursor) return;
    const results = { ...shown, ...kept(), results: joined(shown.results, page.results), next: page.next };
    if (ofTurn && state.session) remember(keyOf(state.session.id, state.turn), results);
    store.set({ results });
    router.keep({ count: results.results.length });
  }, { quiet: true });
}

/** What may have come by events since a page was asked for. */
const kept = () => ({ question: state.question, asking: state.asking });

/** Plain results for half-typed words: no conversation, nothing kept. @param {string} text */
export async function preview(text) {
  if (state.session) return;
  typing?.abort();
  const pinned = state.pinned;
  const words = text.trim();
  if (!words && !pinned) {
    if (state.previewing) await home(state.where, state.order);
    return;
  }
  const mine = ++latest;
  const own = (typing = new AbortController());
  await acting(async () => {
    const asked = { text: words, ...(pinned ? { [pinned.kind]: pinned.id, ...counting(pinned.id) } : {}) };
    const results = await searched({ ...asked, where: state.where, n: FIRST, why: false }, own.signal).catch((error) => {
      if (error.kind !== "unknown-name") throw error; // a filter whose value is still being typed
    });
    if (mine !== latest || !results) return;
    previewed = asked;
    store.set({ results, previewing: true, why: {}, turn: 0 });
  }, { quiet: true });
}
async function searched(given, signal) {
  const { retriever } = state.chosen;
  const found = await api.post("/search", { fold: true, ...given, ...(retriever ? { retriever } : {}), sort: SORTS[state.order] }, signal);
  return { turn: 0, beliefs: [], operations: [], question: null, asking: false, ...found };
}

/** Pictures that nobody asked for, in the shape of results. @param {any} given */
export async function browsed(given) {
  const { album, ...others } = given.where;
  // An album has an order of its own.
  const isAlbum = album && !Object.keys(others).length && !state.order;
  const found = isAlbum ? await api.get(`/albums/${album}`, { n: given.n, cursor: given.cursor }) : await api.post("/pictures/browse", { ...given, order: state.order || "mixed", fold: true });
  const first = Number(given.cursor ?? 0);
  const results = found.results ?? found.pictures.map((card, at) => ({ ...card, rank: first + at + 1, score: 0, match: "likely", why: null }));
  return { turn: 0, verdict: "found", results, total: found.total, next: found.next, beliefs: [], adapters: [], operations: [], question: null, asking: false };
}

/** Picks a picture: the next words say how the wanted one differs. @param {import("./store.js").Hit & {turn?: number}} hit */
export async function pin(hit) {
  const before = newOnce();
  await acting(() => settle(before));
  pick({ kind: "like", id: hit.id, name: nameOf(hit), thumbnail: api.thumbnail(hit.id, 160), turn: hit.turn });
  announce(t("live.liked", { name: nameOf(hit) }));
}

/** Uploads an image of one's own, and picks it. @param {File | Blob} file */
export const pinUpload = (file) =>
  acting(async () => {
    const { id } = await api.upload("/uploads", file);
    pinShown(id, file instanceof File ? file.name : "");
  });

/** Picks an image of one's own that was uploaded. @param {string} id @param {string} [name] */
export function pinShown(id, name = "") {
  pick({ kind: "show", id, name, thumbnail: api.uploadThumbnail(id) });
  announce(t("live.uploaded"));
}

/** Takes back what was picked. */
export function unpin() {
  if (!state.pinned) return;
  pick(null);
  announce(t("live.unliked"));
}

/** @param {import("./store.js").Pinned | null} pinned */
function pick(pinned) {
  noted({ kind: "pick", before: state.pinned, after: pinned });
  store.set({ pinned });
}

/** The results of a turn, of before or asked for. @param {import("./store.js").SessionTree} session @param {number} turn */
export async function recallResults({ id, n }, turn) {
  const key = keyOf(id, turn);
  const results = seen.get(key) ?? (await api.get(turnPath(turn), { n: Math.max(n, FIRST), sort: SORTS[state.order] }));
  remember(key, results);
  return results;
}

// -- how it is searched

/** Asks again for what is shown, after the way to look has changed. */
export async function again() {
  const mine = ++latest;
  seen.clear();
  if (state.session && state.turn > 0) await showNode(state.turn, mine);
  else if (previewed) {
    const results = await searched({ ...previewed, where: state.where, n: FIRST, why: false });
    if (mine === latest) store.set({ results, previewing: true });
  } else await wall(mine);
}
/** Changes settings of the conversation, where there is one. @param {Record<string, any>} change */
export async function change(change) {
  if (!state.session) return;
  const changed = await api.patch(`/sessions/${state.session.id}`, change);
  store.set({ session: { ...state.session, ...changed } });
}
/** What a new conversation would be set to, or what this one is. @returns {{retriever: string | null, questioner: string | null, leaning: number | null}} */
export const setTo = () => ({
  retriever: state.session ? state.session.retriever : (state.chosen.retriever ?? state.retrievers?.default ?? null),
  questioner: state.session ? state.session.questioner : (state.chosen.questioner ?? state.questioners?.default ?? null),
  leaning: state.session ? state.session.leaning : (state.chosen.leaning ?? null),
});

/** What is known of the retriever. @returns {any} */
export const retrieverInfo = () => state.retrievers?.retrievers.find(({ name }) => name === setTo().retriever);

/** Whether the retriever reads attributes of a picture that is picked. */
export const readsAttributes = () => retrieverInfo()?.reads.includes("attributes") ?? false;

/** Whether the retriever may answer in words. */
export const speaks = () => typeof retrieverInfo()?.leaning === "number";

/** Only pictures that have these values. @param {Record<string, string>} where */
export const setWhere = (where) =>
  acting(async () => {
    const before = state.where;
    await change({ where });
    store.set({ where });
    noted({ kind: "where", before, after: where });
    await again().catch((error) => {
      if (!state.session) store.set({ where: before }); // no picture has this value; a conversation has refused it already
      throw error;
    });
  });

// -- conversations as a whole

/** This is the picture that was meant. @param {string} id */
export function foundIt(id) {
  const before = newOnce();
  return acting(async () => {
    await settle(before);
    if (!state.session || state.turn === 0) {
      noted({ kind: "found", id, noted: null });
      return store.set({ found: id });
    }
    const { id: found } = await api.post(`/sessions/${state.session.id}/found`, { picture: id, turn: state.turn });
    noted({ kind: "found", id, noted: found });
    store.set({ found: id });
    announce(t("found.title"));
  });
}

export const dismiss = (problem = null) => store.set({ problem });

// -- inside

const keyOf = (id, turn) => `${id} ${turn} ${state.order}`;
function remember(key, results) {
  seen.delete(key);
  seen.set(key, results);
  if (seen.size > SEEN) seen.delete(/** @type {string} */ (seen.keys().next().value));
}
function tell(results) {
  // The words are told when they are all there, and the pictures are those of before.
  if (results.answer?.with === "words") return;
  const [best] = results.results;
  const first = best && t("live.first", { name: nameOf(best) });
  announce([results.verdict === "nothing" ? t("live.nothing") : t("live.fit", { fit: fitOf(results) }), first].filter(Boolean).join(" "));
}

/** The server counts how many fit among so many of the best. */
const MOST_COUNTED = 1000;

/** How many of all pictures fit what was said, and how many may. @param {Results} results */
export function fitOf({ likely, maybe, total, verdict }) {
  // What nothing was said about, such as a rejection alone, fits no better than anything else.
  if (likely === undefined) return t("bar.pictures", { n: total });
  const kind = likely >= MOST_COUNTED ? "-many" : likely && maybe ? "" : likely ? "-likely" : maybe ? "-maybe" : "-none";
  return t(`bar.fit${kind}`, { n: likely || maybe, likely, maybe, total });
}
