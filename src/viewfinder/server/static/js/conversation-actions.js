/** What a person can do beside talking: conversations as files, filters with counts, jobs on the collection. */

import { FIRST, acting, again, browsed, change, goTo, joined, listen, newConversation, open, recallResults, seen } from "./actions.js";
import * as api from "./api.js";
import { nameOfWay } from "./conversation-parts.js";
import { announce } from "./live.js";
import * as router from "./router.js";
import { store } from "./store.js";
import { t } from "./texts.js";

const { state } = store;

/** @typedef {{id: string, kind: string, what: any, state: string, done: number, total: number | null,
 *   eta_s: number | null, report: any, error: string | null}} Job */

// -- conversations

/** A page of conversations, the last one used first: of all, or of those that say `q`.
 * @param {string | null} [cursor] @param {string} [q] @returns {Promise<any>} */
export const sessionsPage = (cursor = null, q = "") => acting(() => api.get("/sessions", { cursor, q: q || null }), { quiet: true });

/** Shows the turn that the address names, if it could not be shown before: its retriever was not ready then. */
export function catchUp() {
  const place = router.placeOf(location.pathname);
  if (state.session && place.page === "talk" && place.turn && place.turn !== state.turn) goTo(place.turn);
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

/** Puts another turn's results beside those that are shown. @param {number} turn */
export const compareWith = (turn) =>
  acting(async () => {
    const session = state.session;
    if (!session) return;
    const results = await recallResults(session, turn);
    store.set({ compare: { turn, results } });
    router.show({ page: "compare", session: session.id, turn: state.turn, other: turn });
  });

/** Goes on with the turn that was shown. */
export function endCompare() {
  store.set({ compare: null });
  if (state.session) router.show({ page: "talk", session: state.session.id, turn: state.turn });
}

// -- the way to search

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

/** How much the retriever leans to answering with pictures; all that was said is heard again. @param {number} leaning */
export const switchLeaning = (leaning) =>
  acting(async () => {
    await change({ leaning });
    store.set({ chosen: { ...state.chosen, leaning } });
    await again();
  });

// -- what is in

/** Reads the collection again: after jobs, or after pictures were added. The first ones are shown at once. */
export const refreshCollection = ({ isWallOnly = false } = {}) =>
  acting(async () => {
    const collection = isWallOnly ? state.collection : await api.get("/collection");
    store.set({ collection });
    if (state.session || state.previewing) return;
    seen.clear();
    await growWall();
  }, { quiet: true });

/** Adds to the pictures to begin with what has come since; those that are shown stay where they are. */
async function growWall() {
  const shown = state.results;
  const found = await browsed({ where: state.where, n: FIRST });
  if (state.results !== shown || state.session || state.previewing) return;
  const isGrown = shown && shown.total <= found.total;
  store.set({ results: isGrown ? { ...found, results: joined(shown.results, found.results) } : found });
}

// -- filters

/** Counts each value among the pictures that the other filters leave. */
export const refreshFacets = () =>
  acting(
    async () => {
      const { where } = state;
      const facets = await api.post("/collection/facets", { where });
      if (where === state.where) store.set({ facets });
    },
    { quiet: true },
  );

// -- jobs

export const isLive = (job) => ["queued", "running", "paused"].includes(job.state);

/** What a job is called on the page. @param {Job} job */
export function jobName({ kind, what }) {
  if (kind === "prepare") return t("jobs.kind-prepare", { retriever: nameOfWay(what.retriever) });
  if (kind === "describe") return t(what.text_only ? "jobs.kind-read" : "jobs.kind-describe");
  if (what.demo) return t(`jobs.kind-${kind}-demo`);
  if (kind === "remove") return t("jobs.kind-remove", { n: what.pictures.length });
  if (what.uploaded) return t("jobs.kind-upload", { n: what.uploaded.length });
  return t(what.folder ? "jobs.kind-add" : "jobs.kind-add-all", what);
}

/** Streams of jobs that are watched, by the job. @type {Map<string, () => void>} */
const watched = new Map();

/** Reads the jobs, and follows those that go on. Who may not see them has none. */
export const readJobs = () =>
  acting(
    async () => {
      const { jobs } = await api.get("/collection/jobs");
      store.set({ jobs });
      for (const job of jobs) if (isLive(job)) watch(job.id);
    },
    { quiet: true },
  );

/** @param {string} id */
function watch(id) {
  if (watched.has(id)) return;
  const end = () => {
    watched.get(id)?.();
    watched.delete(id);
  };
  watched.set(id, api.events(`/collection/jobs/${id}/events`, { job: (job) => took(job), done: end, failed: () => lost(id, end) }));
}

/** The stream of a job ended: either the job has, or the connection was lost. @param {string} id @param {() => void} end */
async function lost(id, end) {
  end();
  const job = await acting(() => api.get(`/collection/jobs/${id}`), { quiet: true });
  if (!job) return;
  took(job);
  if (isLive(job)) setTimeout(() => watch(id), 2000);
}

/** Puts a job's news into the list; one that has ended changes what the collection holds. @param {Job} job */
function took(job) {
  const before = state.jobs.find((each) => each.id === job.id);
  const jobs = before ? state.jobs.map((each) => (each.id === job.id ? job : each)) : [job, ...state.jobs];
  store.set({ jobs });
  if (isLive(job) || (before && !isLive(before))) return;
  if (job.state !== "cancelled") announce(t(job.state === "done" ? "jobs.done" : "jobs.failed", { name: jobName(job) }));
  // New pictures can be found a moment after they were stored: the server then swaps its snapshot.
  for (const wait of [0, 4000, 15000]) setTimeout(refreshCollection, wait);
  refreshRetrievers(job.kind === "prepare" && job.state === "done" ? job.what.retriever : null);
  if (job.kind === "prepare" && job.state === "done") catchUp();
}

/** Reads what can be searched with; again, until the server's snapshot knows that `prepared` is. @param {string | null} prepared */
const refreshRetrievers = (prepared, tries = 60) =>
  acting(async () => {
    const retrievers = await api.get("/retrievers");
    store.set({ retrievers });
    const late = retrievers.retrievers.some((each) => each.name === prepared && !each.ready && !each.problem);
    if (late && tries) setTimeout(refreshRetrievers, 2000, prepared, tries - 1);
  }, { quiet: true });

/** @param {string} path @param {any} [body] */
const changing = (path, body) =>
  acting(async () => {
    const job = await api.post(`/collection/${path}`, body);
    took(job);
    dispatchEvent(new Event("vf-look"));
    if (isLive(job)) watch(job.id);
    return job;
  });

/** @param {number} root @param {string} folder */
export const addFolder = (root, folder) => changing("folders", { root, folder });
/** @param {string} path */
export const addFolderOfMachine = (path) => changing("folders", { path });
export const addDemo = () => changing("demo");
export const removeDemo = () =>
  acting(async () => {
    const job = await api.remove("/collection/demo");
    took(job);
    watch(job.id);
  });
/** @param {string} retriever */
export const prepare = (retriever) => changing("prepare", { retriever });
/** @param {string} id @param {"pause" | "resume" | "cancel"} what */
export const steer = (id, what) => changing(`jobs/${id}/${what}`);

/** Follows a job that was begun elsewhere. @param {string} id */
export function followJob(id) {
  if (watched.has(id) || state.jobs.some((job) => job.id === id && !isLive(job))) return;
  watch(id);
}

/** Takes a picture out of the library, and out of sight. @param {string} id */
export const removePicture = (id) =>
  acting(async () => {
    const { job } = await api.remove(`/pictures/${id}`);
    took(await api.get(`/collection/jobs/${job}`));
    watch(job);
    const { results } = state;
    if (results) store.set({ results: { ...results, results: results.results.filter((hit) => hit.id !== id) } });
  });

/** A page of files that could not be read. @param {string | null} [cursor] @returns {Promise<any>} */
export const failuresPage = (cursor = null) => acting(() => api.get("/collection/failures", { n: 20, cursor }), { quiet: true });
