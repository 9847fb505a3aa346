// @ts-check
/** Every English text of the page: translate this object (and texts-conversation.js, texts-study.js), and nothing else. */

import { TEXTS as conversation } from "./texts-conversation.js";

/** @type {Record<string, string | ((values: any) => string)>} */
const TEXTS = {
  "app.name": "viewfinder",
  "app.skip": "Skip to the pictures",

  "header.new": "New conversation",
  "header.panel": "Conversation",
  "header.theme": ({ theme }) => `Theme: ${theme}. Change`,
  "header.shortcuts": "Keyboard shortcuts",
  "theme.system": "as the system",
  "theme.light": "light",
  "theme.dark": "dark",

  "bar.filters": "Filters",
  "bar.size": "Size of the pictures",
  "bar.smaller": "Smaller pictures",
  "bar.larger": "Larger pictures",
  "bar.none": "None of these",
  "bar.none.about": "Reject all that is shown, and look elsewhere",
  "bar.preview": "As you type. Enter begins the conversation.",

  "say.label": "What are you looking for?",
  "say.start": "Describe the picture",
  "say.more": "Go on: what else?",
  "say.but": "like this, but …",
  "say.but.fashioniq": "is darker, has longer sleeves …",
  "say.but.mai": "is darker, has longer sleeves …",
  "say.send": "Send",
  "say.attach": "Show a picture of your own",
  "say.pinned.like": "Like this",
  "say.pinned.show": "Like my picture",
  "say.unpin": "Not like this after all",
  "say.uploading": "Looking at your picture …",
  "say.drop": "Drop a picture: the search will look for ones like it",
  "say.notpicture": "That is not a picture. JPEG, PNG, WebP, GIF, TIFF and others are read.",

  "attributes.title": "What counts of it",
  "attributes.waiting": "Looking at it …",
  "attributes.remove": ({ name }) => `Leave out: ${name}`,
  "attributes.about": ({ percent }) => `seen in it, ${percent} %`,
  "attributes.added": "added by you",
  "attributes.add": "Add …",
  "attributes.add-label": "Another attribute",
  "attributes.unknown": ({ name }) => `The search knows no attribute “${name}”. Choose one that it offers.`,
  "attributes.reset": "What is seen in it, again",

  "grid.label": "Results, best first",
  "grid.picture": ({ rank, caption, name, match }) => `${rank}. ${caption || name}${match === "unlikely" ? " (unlikely)" : ""}`,
  "grid.reject": "Not this one",
  "grid.found": "Found it",
  "grid.details": "Details",
  "grid.broken": "cannot be shown",
  "grid.end": ({ n }) => `That is all: ${count(n, "picture")}.`,
  "grid.more": "Looking for more …",
  "match.likely": "likely",
  "match.maybe": "maybe",
  "match.unlikely": "unlikely",

  "start.title": "Find a picture by talking about it",
  "start.text": "Say what you remember. Pick what comes close and say what is different. Answer a question or two.",
  "start.wall": ({ n }) => `Some of your ${count(n, "picture")}`,
  "start.try": "For example",
  "start.examples": "a dog in the snow|two people at a table|something red by the water|a street at night",
  "empty.library.title": "No pictures yet",
  "empty.library.text": "This library is empty. On the server, add a folder of pictures:",
  "empty.library.here": "Or from here:",
  "empty.library.add": "Add pictures …",
  "empty.results.title": "No picture is left",
  "empty.results.text": "Filters and rejections leave nothing to show. Take one back, or clear the filters.",
  "empty.results.clear": "Clear the filters",

  "trouble.title": "That did not work:",
  "trouble.retry": "Try again",
  "trouble.dismiss": "Dismiss",
  "trouble.unforeseen": "Something went wrong on this page. Reload it if it does not work any more.",
  "offline.title": "The server cannot be reached.",
  "offline.text": "What is shown stays. Trying again by itself …",
  "offline.back": "The server is back.",
  "import.wrong": "This file is not a conversation that was exported.",
  "missing.conversation": "This conversation is not here any more. It may have been deleted.",

  "login.title": "This server wants a token",
  "login.text": "Whoever runs it makes one with:",
  "login.command": "viewfinder token add NAME --scope read --scope write",
  "login.label": "Token",
  "login.send": "Go on",
  "login.wrong": "The server does not know this token. It may have been revoked, or have run out.",

  "picture.close": "Close",
  "picture.next": "Next",
  "picture.previous": "Previous",
  "picture.like": "Like this …",
  "picture.on": "Go on from here …",
  "picture.reject": "Not this one",
  "picture.found": "Found it",
  "picture.original": "Original file",
  "picture.remove": "Remove from the library …",
  "picture.remove-sure": "Nobody finds it here any more. Its file on the server’s disk stays where it is; a picture that was sent to the server is deleted.",
  "picture.remove-now": "Remove",
  "picture.remove-keep": "Keep",
  "picture.facts": "Facts",
  "picture.seen": "What is seen in it",
  "picture.machine": "What a machine says (it may be wrong)",
  "picture.attributes": "Attributes",
  "picture.keep.short": "Keep",
  "picture.keep": ({ column, value }) => `Keep ${column}: ${value}`,
  "picture.captions": "Captions",
  "picture.similar": "Similar pictures",
  "picture.nosimilar": "Nothing similar here.",
  "picture.why": "Why it is here",
  "picture.why.turn": ({ turn, share }) => `turn ${turn}: ${share < 0 ? "−" : ""}${Math.abs(Math.round(share * 100))} %`,
  "picture.size": ({ width, height }) => `${width} × ${height}`,
  "picture.fact.size": "Size",
  "picture.fact.format": "Format",
  "picture.fact.captured": "Taken",
  "picture.fact.camera": "Camera",
  "picture.fact.folder": "Folder",
  "picture.fact.names": "File",
  "picture.rank": ({ rank, total }) => `${number(rank)} of ${number(total)}`,

  "found.title": "Found!",
  "found.text": ({ turns }) => `After ${count(turns, "turn")}.`,
  "found.rank": ({ rank }) => (rank === 1 ? "It was the first result." : `It was result ${number(rank)}.`),
  "found.again": "Look for another",
  "found.on": "Go on",

  "shortcuts.title": "Keyboard shortcuts",
  "shortcuts.type": "Write in the text box",
  "shortcuts.grid": "Go to the pictures",
  "shortcuts.arrows": "Move among the pictures",
  "shortcuts.like": "Like this, then say “but …”",
  "shortcuts.details": "Details",
  "shortcuts.reject": "Not this one",
  "shortcuts.found": "Found it",
  "shortcuts.none": "None of these",
  "shortcuts.new": "New conversation",
  "shortcuts.panel": "Show or hide the conversation",
  "shortcuts.filters": "Show or hide the filters",
  "shortcuts.size": "Larger or smaller pictures",
  "shortcuts.back": "Back to the turn before",
  "shortcuts.escape": "Take back what is picked, close what is open",
  "shortcuts.help": "This list",

  "live.results": ({ n, first, verdict }) =>
    `${verdict === "nothing" ? "Nothing like that here. " : ""}${count(n, "picture")}. ${first ? `First: ${first}.` : ""}`,
  "live.question": ({ text }) => `Question: ${text}`,
  "live.liked": ({ name }) => `Picked ${name}. Say how the wanted one differs, or press Enter.`,
  "live.unliked": "Nothing picked.",
  "live.attributes": ({ names }) => (names.length ? `Counts: ${names.join(", ")}.` : "No attribute counts."),
  "live.rejected": "Rejected.",
  "live.uploaded": "Your picture is picked. Say how the wanted one differs, or press Enter.",
  ...conversation,
};

/** Joins the texts of a page that is not always there, as that of studies. @param {typeof TEXTS} more */
export const addTexts = (more) => void Object.assign(TEXTS, more);

const numbers = new Intl.NumberFormat("en");

/** A number as it is written in the page's language. @param {number} n */
export const number = (n) => numbers.format(n);

/** "1 picture", "2,000 pictures". @param {number} n @param {string} noun */
export const count = (n, noun) => `${number(n)} ${noun}${n === 1 ? "" : "s"}`;

/** The text of a key; a key without a text is itself the text, which tests see. @param {string} key @param {Record<string, any>} [values] */
export function t(key, values = {}) {
  const text = TEXTS[key] ?? key;
  return typeof text === "function" ? text(values) : text;
}
