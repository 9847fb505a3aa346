// @ts-check
/** Brings what is not needed at first, however often it has to be asked for: the server may be away just then. */

const PAUSE_MS = 1000;
/** What browsers say when a module did not come; all else is a fault in one that did. */
const AWAY = /dynamically imported module|Importing a module script failed/;

/** @param {string} name  of a module beside this one @returns {Promise<any>} */
export const bring = (name) =>
  import(`./${name}.js`).catch((error) => {
    if (!AWAY.test(error.message)) throw error;
    return later(() => bring(name));
  });

/** @type {Map<string, Promise<void>>} */
const asked = new Map();

/** Loads a style, once. @param {string} name  of the file in css/, without its ending @returns {Promise<void>} */
export function loadStyle(name) {
  const loading = asked.get(name) ?? addStyle(name);
  asked.set(name, loading);
  return loading;
}

/** @param {string} name @returns {Promise<void>} */
const addStyle = (name) =>
  new Promise((resolve) => {
    const link = Object.assign(document.createElement("link"), { rel: "stylesheet", href: `/static/css/${name}.css` });
    link.onload = () => resolve();
    link.onerror = () => {
      link.remove();
      resolve(later(() => addStyle(name)));
    };
    document.head.append(link);
  });

/** @template T @param {() => Promise<T>} act @returns {Promise<T>} */
const later = (act) => new Promise((resolve) => setTimeout(() => resolve(act()), PAUSE_MS));
