/** What a retriever that speaks answers in words: heard as it is written, for every turn that is on the way to what is shown. */

import { setTo, speaks } from "./actions.js";
import { events } from "./api.js";
import { announce } from "./live.js";
import { store } from "./store.js";
import { pathTo } from "./conversation-shapes.js";

/** Whole answers by conversation, reader and turn; "" where it was answered with pictures. @type {Map<string, string>} */
const whole = new Map();

/** As what results came: those of another reader may still be shown for a moment. @type {WeakMap<object, string>} */
const came = new WeakMap();

/** What is being heard. @type {{key: string, number: number, text: string, stop: () => void} | null} */
let heard = null;

const keyOf = (/** @type {number} */ number) => {
  const { retriever, leaning } = setTo();
  return JSON.stringify([store.state.session?.id, retriever, leaning, number]);
};

/** Hears what is not known yet: the answer to the turn that is shown first, then those before it, one at a time. */
function hear() {
  const { session, turn, results, previewing, online } = store.state;
  if (!session || previewing || !online || !speaks()) return show();
  if (results?.turn === turn) take(results);
  const next = pathTo(session, turn).map(({ number }) => number).reverse().find((number) => !whole.has(keyOf(number)));
  show();
  if (next === undefined || keyOf(next) === heard?.key) return;
  heard?.stop();
  listen(session.id, next);
}

/** What results say of the answer. @param {import("./store.js").Results} results */
function take(results) {
  const { answer, turn } = results;
  if (!came.has(results)) came.set(results, keyOf(turn));
  const isKnown = answer && (answer.with === "pictures" || answer.text !== null);
  if (isKnown && came.get(results) === keyOf(turn)) whole.set(keyOf(turn), answer.text ?? "");
}

/** @param {string} id @param {number} number */
function listen(id, number) {
  const key = keyOf(number);
  const stop = events(`/sessions/${id}/turns/${number}/reply/events`, {
    words: ({ text }) => {
      if (heard?.key !== key) return;
      heard.text += text;
      show();
    },
    done: ({ text }) => ended(text),
    // Cut off: what has come of it stays.
    failed: () => ended(heard?.key === key ? heard.text : ""),
  });
  heard = { key, number, text: "", stop };

  function ended(/** @type {string} */ text) {
    whole.set(key, text);
    if (heard?.key !== key) return;
    heard = null;
    if (text && number === store.state.turn) announce(text);
    hear();
  }
}

/** Puts what is known of this conversation into the store. */
function show() {
  const { session, turn } = store.state;
  const known = pathTo(session, turn).map(({ number }) => [number, heard?.key === keyOf(number) ? heard.text : whole.get(keyOf(number))]);
  store.set({ replies: Object.fromEntries(known.filter(([, text]) => text)) });
}

/** Whether words are awaited as the answer to the turn that is shown. */
export const isWriting = () => store.state.results?.answer?.with === "words" && heard?.number === store.state.turn && !heard.text;

store.on(["session", "turn", "results", "previewing", "online", "retrievers"], hear);
hear();
