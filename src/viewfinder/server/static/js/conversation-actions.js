/** What a person can do beside talking: conversations as files, filters with counts, jobs on the collection. */

import { acting, goTo, refreshCollection } from "./actions.js";
import * as api from "./api.js";
import { announce } from "./live.js";
import { placeOf } from "./router.js";
import { store } from "./store.js";
import { t } from "./texts.js";

const { state } = store;

/** @typedef {{id: string, kind: string, what: any, state: string, done: number, total: number | null,
 *   eta_s: number | null, report: any, error: string | null}} Job */

// -- conversations

/** A page of conversations, the last one used first. @param {string | null} [cursor] @returns {Promise<any>} */
export const sessionsPage = (cursor = null) => acting(() => api.get("/sessions", { cursor }), { quiet: true });

/** Shows the turn that the address names, if it could not be shown before: its retriever was not ready then. */
export function catchUp() {
  const place = placeOf(location.pathname);
  if (state.session && place.page === "talk" && place.turn && place.turn !== state.turn) goTo(place.turn);
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
  if (kind === "prepare") return t("jobs.kind-prepare", what);
  if (kind === "describe") return t(what.text_only ? "jobs.kind-read" : "jobs.kind-describe");
  if (kind === "remove") return t("jobs.kind-remove", { n: what.pictures.length });
  return t(what.uploaded ? "jobs.kind-upload" : "jobs.kind-add", what);
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
    if (isLive(job)) watch(job.id);
    return job;
  });

/** @param {number} root @param {string} folder */
export const addFolder = (root, folder) => changing("folders", { root, folder });
/** @param {string} retriever */
export const prepare = (retriever) => changing("prepare", { retriever });
/** @param {string} id @param {"pause" | "resume" | "cancel"} what */
export const steer = (id, what) => changing(`jobs/${id}/${what}`);

/** Puts pictures of one's own into the library. @param {Iterable<File>} files */
export const addPictures = (files) =>
  acting(async () => {
    for (const file of files) {
      const { job } = await api.upload("/pictures", file);
      if (!job) {
        announce(t("jobs.there", file));
        continue;
      }
      took(await api.get(`/collection/jobs/${job}`));
      watch(job);
    }
  });

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
