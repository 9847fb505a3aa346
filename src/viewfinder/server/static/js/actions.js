// @ts-check
/** Everything a person can do. Each action asks the API, then changes the store; failures go to `store.problem`. */

import * as api from "./api.js";
import { announce } from "./live.js";
import * as router from "./router.js";
import { standsAt, store, wayTo } from "./store.js";
import { t } from "./texts.js";

/** @typedef {import("./store.js").Results} Results */

const { state } = store;

/** Results of the first page of a new conversation; later pages come as they are scrolled to. */
const FIRST = 60;
const PAGE = 100;
const MOST = 500;

/** Results by address, so that back and forward are instant; the oldest go first. @type {Map<string, Results>} */
const seen = new Map();
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
    if (error instanceof api.Problem) {
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

// -- places

/** Reads what the page needs once, and goes where the address says. */
export async function start() {
  router.onMove((place) => void goToPlace(place));
  await Promise.all([goToPlace(router.placeOf(location.pathname)), acting(readLibrary, { quiet: true })]);
}

async function readLibrary() {
  const names = { me: "/me", collection: "/collection", retrievers: "/retrievers", questioners: "/questioners" };
  const read = async (key, path) => store.set({ [key]: await api.get(path) });
  await Promise.all(Object.entries(names).map(([key, path]) => read(key, path)));
}

/** Reads the collection again: after jobs, or after pictures were added. The first ones are shown at once. */
export const refreshCollection = () =>
  acting(async () => {
    const collection = await api.get("/collection");
    store.set({ collection });
    if (!collection.pictures || state.session || state.previewing || (state.results?.results.length ?? 0) >= FIRST) return;
    seen.clear();
    await wall(latest);
  }, { quiet: true });

/** @param {router.Place} place */
async function goToPlace(place) {
  if (place.page === "home") return home();
  await open(place.session, place.turn, { fromHistory: true });
  if (place.page === "compare") await compareWith(place.other);
}

/** The page as it is before anything has been said. */
async function home() {
  stopEvents();
  typing?.abort();
  const mine = ++latest;
  previewed = null;
  store.set({
    session: null, turn: 0, results: null, previewing: false, why: {}, question: null, asking: false,
    compare: null, found: null, pinned: null, where: {},
  });
  await acting(() => wall(mine), { quiet: true });
}

/** A few pictures to begin with: nothing was asked for, so nothing is said about them. @param {number} mine */
async function wall(mine) {
  const key = `wall ${JSON.stringify(state.where)}`;
  const results = seen.get(key) ?? (await browsed({ where: state.where, n: FIRST }));
  remember(key, results);
  if (mine === latest) store.set({ results });
}

/** Begins a new conversation (on the page: the server hears of it with the first turn). */
export async function newConversation() {
  router.show({ page: "home" });
  await home();
}

/** Opens a conversation at a turn (null: where it stands).
 * @param {string} id @param {number | null} [turn] @param {{fromHistory?: boolean}} [given] */
export async function open(id, turn = null, { fromHistory = false } = {}) {
  await acting(async () => {
    const mine = ++latest;
    previewed = null;
    const same = state.session?.id === id ? state.session : null;
    // The first results of a page that is opened at a turn are not to wait for the conversation.
    const early = !same && turn ? resultsOf(id, turn) : null;
    early?.catch(() => {});
    const session = same ?? (await api.get(`/sessions/${id}`));
    if (mine !== latest) return;
    const at = turn ?? standsAt(session);
    if (!fromHistory) router.show({ page: "talk", session: id, turn: at });
    else if (turn === null) router.show({ page: "talk", session: id, turn: at }, { replace: true });
    store.set({ session, where: session.where, compare: null, pinned: null, ...(same ? {} : { found: null }) });
    await showNode(at, mine, early);
  }).then(() => {
    // A conversation that is gone: the page goes on, and says so.
    if (state.problem?.status === 404 && state.session?.id !== id) {
      store.set({ problem: { ...state.problem, detail: t("missing.conversation") } });
      router.show({ page: "home" }, { replace: true });
      return home();
    }
  });
}

/** As many as were shown there last. @param {string} id @param {number} turn @returns {Promise<Results>} */
const resultsOf = (id, turn) => {
  const { count } = router.kept();
  return api.get(`/sessions/${id}/turns/${turn}`, { n: count ? Math.min(MOST, count) : null });
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

/** What is done once, however often it has to be tried: its key, and whether it has been sent. It may have been done then.
 * @typedef {{key: string, isSent: boolean}} Once */
/** @returns {Once} */
const newOnce = () => ({ key: api.newKey(), isSent: false });

/** @param {any} turn */
function taking(turn) {
  const once = newOnce();
  return acting(() => take(turn, once));
}

/** Takes a turn from what is shown now: where that is not the newest, the conversation goes back there first.
 * @param {any} turn @param {Once} once  the same at each try */
async function take(turn, once) {
  const mine = ++latest;
  typing?.abort();
  const session = await begun(once.key);
  if (!once.isSent && standsAt(session) !== state.turn) await told(session.id, { back_to: state.turn }, `${once.key}-back-${state.turn}`);
  once.isSent = true;
  const results = await told(session.id, turn, once.key);
  previewed = null;
  if (mine !== latest) return;
  router.show({ page: "talk", session: session.id, turn: results.turn });
  store.set({ pinned: null, compare: null, found: null });
  showResults(results);
  tell(results);
}

/** The conversation, which begins when the first turn is taken. @param {string} key  of that turn */
async function begun(key) {
  if (state.session) return state.session;
  const given = { where: state.where, n: FIRST, ...state.chosen };
  const session = await api.post("/sessions", given, undefined, key);
  const root = { number: 0, parent: 0, turn: null, told: "", shown: 0, first: null, asked: null, at: session.created };
  store.set({ session: { ...session, tree: [root], path: [] }, turn: 0 });
  return /** @type {import("./store.js").SessionTree} */ (state.session);
}

/** Posts one turn, and adds it to the tree at once: the server's own tree is read when the question has come.
 * @param {string} id @param {any} turn @param {string} key @returns {Promise<Results>} */
async function told(id, turn, key) {
  const results = await api.post(`/sessions/${id}/turns`, turn, undefined, key).catch(async (error) => {
    // Said from another window at the same moment: the next try goes on from the conversation as it is now.
    if (error.kind === "conflict") await refreshTree(id);
    throw error;
  });
  const session = state.session;
  // Where it had been taken before its answer was lost, the tree may have it already.
  if (session?.id === id && results.turn < session.tree.length) {
    store.set({ session: { ...session, path: wayTo(session.tree, results.turn) } });
  } else if (session?.id === id) {
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
  return results;
}
function showResults(results) {
  const session = /** @type {import("./store.js").SessionTree} */ (state.session);
  remember(keyOf(session.id, results.turn), results);
  const why = Object.fromEntries(results.results.filter((hit) => hit.why).map((hit) => [hit.id, hit.why]));
  store.set({ results, turn: results.turn, previewing: false, why, question: results.question, asking: results.asking });
  listen(session.id, results.turn);
}

/** Hears the question and the explanations of a turn, which come after its results. @param {string} id @param {number} turn */
function listen(id, turn) {
  stopEvents();
  const here = () => state.session?.id === id && state.turn === turn;
  const settled = (question) => {
    const known = seen.get(keyOf(id, turn));
    if (known) remember(keyOf(id, turn), { ...known, question, asking: false });
  };
  stopEvents = api.events(`/sessions/${id}/turns/${turn}/events`, {
    question: ({ question }) => {
      settled(question);
      if (!here()) return;
      if (question && state.asking) announce(t("live.question", question));
      store.set({ question, asking: false });
    },
    why: ({ why }) => void (here() && store.set({ why: { ...state.why, ...why } })),
    done: () => {
      if (here()) store.set({ asking: false });
      // Where it fails, the conversation has gone by now, or the server: both are said elsewhere.
      if (state.session?.id === id) refreshTree(id).catch(() => {});
    },
    failed: () => void (here() && store.set({ asking: false })),
  });
}

/** Reads the conversation's tree again. @param {string} id */
export async function refreshTree(id) {
  const session = await api.get(`/sessions/${id}`);
  // While it was read, another turn may have been taken: then a newer tree is on its way.
  if (state.session?.id === id && session.tree.length >= state.session.tree.length) store.set({ session });
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
    await take(text ? { reject: ids, text } : { reject: ids }, once);
    announce(t("live.rejected"));
  });
}

/** Shows another turn of this conversation; what is said next goes on from there. @param {number} turn */
export const goTo = (turn) => (state.session ? open(state.session.id, turn) : Promise.resolve());

/** Puts another turn in the place of one; what followed is said again. @param {number} number @param {any} turn */
export const editTurn = (number, turn) => replaying((key) => api.put(turnPath(number), turn, key));
/** Takes a turn out; what followed is said again. @param {number} number */
export const deleteTurn = (number) => replaying((key) => api.remove(turnPath(number), key));
export const removeBelief = (belief) =>
  belief.without ? editTurn(belief.turn, belief.without) : deleteTurn(belief.turn);

const turnPath = (number) => `/sessions/${state.session?.id}/turns/${number}`;
/** @param {(key: string) => Promise<any>} edit */
function replaying(edit) {
  const once = newOnce();
  return acting(() => replay(edit, once));
}
/** @param {(key: string) => Promise<any>} edit @param {Once} once  the same at each try */
async function replay(edit, once) {
  const mine = ++latest;
  const session = /** @type {import("./store.js").SessionTree} */ (state.session);
  // What is said again is the way to the newest turn: that must be the way to what is shown.
  if (!once.isSent && standsAt(session) !== state.turn) {
    await api.post(`/sessions/${session.id}/turns`, { back_to: state.turn }, undefined, `${once.key}-back-${state.turn}`);
  }
  once.isSent = true;
  const { results, left_out: leftOut } = await edit(once.key);
  const fresh = await api.get(`/sessions/${session.id}`);
  if (mine !== latest) return;
  store.set({ session: fresh, compare: null, pinned: null });
  router.show({ page: "talk", session: session.id, turn: results.turn });
  if (results.turn === 0) await showNode(0, mine);
  else showResults(results);
  tell(results);
  if (leftOut.length) store.set({ problem: { kind: "left-out", detail: leftOut.join(" ") } });
}

// -- results

let fetching = false;

/** Fetches the next page of what is shown. */
export async function more() {
  const shown = state.results;
  if (!shown?.next || fetching) return;
  fetching = true;
  await acting(async () => {
    const cursor = shown.next;
    const ofTurn = state.session && !state.previewing && state.turn > 0;
    const page = ofTurn
      ? await api.get(turnPath(state.turn), { n: PAGE, cursor })
      : previewed
        ? await searched({ ...previewed, where: state.where, n: PAGE, why: false, cursor })
        : await browsed({ where: state.where, n: PAGE, cursor });
    if (state.results?.next !== cursor) return;
    const results = { ...shown, ...kept(), results: [...shown.results, ...page.results], next: page.next };
    if (ofTurn && state.session) remember(keyOf(state.session.id, state.turn), results);
    store.set({ results });
    router.keep({ count: results.results.length });
  }, { quiet: true });
  fetching = false;
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
    if (state.previewing) await home();
    return;
  }
  const mine = ++latest;
  const own = (typing = new AbortController());
  await acting(async () => {
    const asked = { text: words, ...(pinned ? { [pinned.kind]: pinned.id, ...counting(pinned.id) } : {}) };
    const results = await searched({ ...asked, where: state.where, n: FIRST, why: false }, own.signal);
    if (mine !== latest) return;
    previewed = asked;
    store.set({ results, previewing: true, why: {}, turn: 0 });
  }, { quiet: true });
}
async function searched(given, signal) {
  const { retriever } = state.chosen;
  const found = await api.post("/search", { ...given, ...(retriever ? { retriever } : {}) }, signal);
  return { turn: 0, beliefs: [], operations: [], question: null, asking: false, ...found };
}

/** Pictures that nobody asked for, in the shape of results. @param {object} given */
async function browsed(given) {
  const found = await api.post("/pictures/browse", given);
  const first = Number(given.cursor ?? 0);
  const results = found.pictures.map((card, at) => ({ ...card, rank: first + at + 1, score: 0, match: "likely", why: null }));
  return { turn: 0, verdict: "found", results, total: found.total, next: found.next, beliefs: [], adapters: [], operations: [], question: null, asking: false };
}

/** Picks a picture: the next words say how the wanted one differs. @param {import("./store.js").Hit & {turn?: number}} hit */
export async function pin(hit) {
  await acting(settle);
  store.set({ pinned: { kind: "like", id: hit.id, name: hit.caption || hit.name, thumbnail: api.thumbnail(hit.id, 160), turn: hit.turn } });
  announce(t("live.liked", { name: hit.caption || hit.name }));
}

/** Uploads an image of one's own, and picks it. @param {File | Blob} file */
export const pinUpload = (file) =>
  acting(async () => {
    const { id } = await api.upload("/uploads", file);
    pinShown(id, file instanceof File ? file.name : "");
  });

/** Picks an image of one's own that was uploaded. @param {string} id @param {string} [name] */
export function pinShown(id, name = "") {
  store.set({ pinned: { kind: "show", id, name, thumbnail: api.uploadThumbnail(id) } });
  announce(t("live.uploaded"));
}

/** Takes back what was picked. */
export function unpin() {
  if (!state.pinned) return;
  store.set({ pinned: null });
  announce(t("live.unliked"));
}

/** Puts another turn's results beside those that are shown. @param {number} turn */
export const compareWith = (turn) =>
  acting(async () => {
    const session = state.session;
    if (!session) return;
    const known = seen.get(keyOf(session.id, turn));
    const results = known ?? (await api.get(turnPath(turn), { n: Math.max(session.n, FIRST) }));
    remember(keyOf(session.id, turn), results);
    store.set({ compare: { turn, results } });
    router.show({ page: "compare", session: session.id, turn: state.turn, other: turn });
  });

/** Goes on with the turn that was shown. */
export function endCompare() {
  store.set({ compare: null });
  if (state.session) router.show({ page: "talk", session: state.session.id, turn: state.turn });
}

// -- how it is searched

/** Asks again for what is shown, after the way to look has changed. */
async function again() {
  const mine = ++latest;
  seen.clear();
  if (state.session && state.turn > 0) await showNode(state.turn, mine);
  else if (previewed) {
    const results = await searched({ ...previewed, where: state.where, n: FIRST, why: false });
    if (mine === latest) store.set({ results, previewing: true });
  } else await wall(mine);
}
async function change(change) {
  if (!state.session) return;
  const changed = await api.patch(`/sessions/${state.session.id}`, change);
  store.set({ session: { ...state.session, ...changed } });
}
export const switchRetriever = (name) =>
  acting(async () => {
    await change({ retriever: name });
    store.set({ chosen: { ...state.chosen, retriever: name } });
    await again();
  });

/** From the next question on: one that is still thought about is the new one's. @param {string} name */
export const switchQuestioner = (name) =>
  acting(async () => {
    await change({ questioner: name });
    store.set({ chosen: { ...state.chosen, questioner: name } });
    if (state.session && state.asking) listen(state.session.id, state.turn);
  });

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

/** How much the retriever leans to answering with pictures; all that was said is heard again. @param {number} leaning */
export const switchLeaning = (leaning) =>
  acting(async () => {
    await change({ leaning });
    store.set({ chosen: { ...state.chosen, leaning } });
    await again();
  });

/** Only pictures that have these values. @param {Record<string, string>} where */
export const setWhere = (where) =>
  acting(async () => {
    const before = state.where;
    await change({ where });
    store.set({ where });
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
      store.set({ found: id });
      return;
    }
    await api.post(`/sessions/${state.session.id}/found`, { picture: id, turn: state.turn });
    store.set({ found: id });
    announce(t("found.title"));
  });
}

/** Gives the present conversation a name, or the one of that id. @param {string} name @param {string} [id] */
export const rename = (name, id = state.session?.id) =>
  acting(async () => {
    const changed = await api.patch(`/sessions/${id}`, { name });
    if (state.session?.id === id) store.set({ session: { ...state.session, ...changed } });
  });
export const deleteSession = (id) =>
  acting(async () => {
    await api.remove(`/sessions/${id}`);
    if (state.session?.id === id) await newConversation();
  });

/** Takes up a conversation that was exported. @param {File} file */
export const importSession = (file) =>
  acting(async () => {
    const conversation = await new Response(file).json().catch(() => null);
    if (!conversation) return store.set({ problem: { detail: t("import.wrong") } });
    const session = await api.post("/sessions/import", conversation);
    await open(session.id);
  });
export const exportUrl = (id) => api.address(`/sessions/${id}/export`);

/** @param {"system" | "light" | "dark"} theme */
export function setTheme(theme) {
  store.set({ theme });
  localStorage.setItem("viewfinder-theme", theme);
}
export const dismiss = (problem = null) => store.set({ problem });

// -- inside

const keyOf = (id, turn) => `${id} ${turn}`;
function remember(key, results) {
  seen.delete(key);
  seen.set(key, results);
  if (seen.size > SEEN) seen.delete(/** @type {string} */ (seen.keys().next().value));
}
function tell(results) {
  // The words are told when they are all there, and the pictures are those of before.
  if (results.answer?.with === "words") return;
  const [best] = results.results;
  announce(t("live.results", { n: results.total, first: best?.caption || best?.name, verdict: results.verdict }));
}
