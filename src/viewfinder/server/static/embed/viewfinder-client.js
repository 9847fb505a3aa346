// Written from the OpenAPI document by benchmarks/javascript_client.py: change that, not this file.

const BUSY = [429, 503];
const MAX_TRIES = 3;
const MAX_WAIT_S = 5;

/** What a server refused. */
export class ViewfinderError extends Error {
  constructor(status, problem) {
    super(problem.detail ?? `the server answers ${status}`);
    this.name = "ViewfinderError";
    this.status = status;
    this.problem = problem;
    this.detail = this.message;
    this.type = String(problem.type ?? "failed").replace(/^.*:/, "");
  }
}

const pause = (seconds) => new Promise((resolve) => setTimeout(resolve, seconds * 1000));

async function readProblem(answer) {
  const told = await answer.json().catch(() => ({}));
  return new ViewfinderError(answer.status, typeof told === "object" && told ? told : {});
}

/** The events of a stream; one that is cut off before its empty line does not count. */
async function* readEvents(body) {
  const reader = body.pipeThrough(new TextDecoderStream()).getReader();
  let rest = "";
  let fields = {};
  try {
    for (;;) {
      const { value, done } = await reader.read();
      if (done) return;
      const lines = (rest + value).split(/\r?\n/);
      rest = lines.pop();
      for (const line of lines) {
        const [, name, said] = /^([^:]*): ?(.*)$/s.exec(line) ?? [];
        if (line && name) fields[name] = said;
        if (line === "") {
          if ("data" in fields) {
            yield { event: fields.event ?? "message", data: JSON.parse(fields.data), id: fields.id ?? "" };
          }
          fields = {};
        }
      }
    }
  } finally {
    reader.cancel().catch(() => {});
  }
}

/** A viewfinder server. */
export class Viewfinder {
  #token;
  #fetch;

  constructor({ server = new URL("/", import.meta.url), token = "", fetch = globalThis.fetch } = {}) {
    this.server = String(server).replace(/\/+$/, "");
    this.#token = token;
    this.#fetch = fetch.bind(globalThis);
  }

  /** A whole address of one that a result has (`thumbnail`, `events`), with more parameters. */
  address(path, parameters = {}) {
    const address = new URL(this.server + path);
    for (const [name, value] of Object.entries(parameters)) address.searchParams.set(name, value);
    return String(address);
  }

  async #ask(verb, path, how, given, options) {
    const answer = await this.#send(verb, path, how, given, options);
    if (how.answer === "nothing" || answer.status === 204) return undefined;
    return how.answer === "text" ? answer.text() : how.answer === "blob" ? answer.blob() : answer.json();
  }

  async *#stream(verb, path, how, given, options) {
    const answer = await this.#send(verb, path, how, given, options);
    yield* readEvents(answer.body);
  }

  async #send(verb, path, how, given, { signal } = {}) {
    const there = path.replace(/\{(\w+)\}/g, (_, name) => encodeURIComponent(given[name]));
    const address = new URL(this.server + there);
    for (const name of how.query ?? []) {
      for (const value of [given[name] ?? []].flat()) address.searchParams.append(name, value);
    }
    const headers = new Headers();
    for (const [name, word] of Object.entries(how.headers ?? {})) {
      if (given[word] != null) headers.set(name, given[word]);
    }
    let body;
    if (how.body === "json") {
      headers.set("Content-Type", "application/json");
      body = JSON.stringify(given.body);
    } else if (how.body === "form") {
      body = new FormData();
      body.set("file", given.body);
    }
    const repeatable = verb === "GET" || headers.has("Idempotency-Key");
    let renewed = false;
    for (let left = MAX_TRIES; ; left -= 1) {
      const token = typeof this.#token === "function" ? await this.#token(renewed) : this.#token;
      if (token) headers.set("Authorization", `Bearer ${token}`);
      const answer = await this.#fetch(address, { method: verb, headers, body, signal, credentials: "omit" }).catch(
        (error) => {
          if (error.name === "AbortError") throw error;
          throw new ViewfinderError(0, { type: "unreachable", detail: `nothing answers at ${this.server}` });
        },
      );
      if (answer.ok) return answer;
      const wait = Number(answer.headers.get("Retry-After") ?? 1);
      const isBusy = BUSY.includes(answer.status) && (repeatable || answer.status === 429);
      if (answer.status === 401 && typeof this.#token === "function" && !renewed) {
        renewed = true;
      } else if (left > 1 && isBusy && wait <= MAX_WAIT_S) {
        await pause(wait);
      } else {
        throw await readProblem(answer);
      }
    }
  }

  /** Conversations, the last used first. The caller's own; all conversations with the scope admin. */
  listSessions(given = {}, options = {}) {
    return this.#ask("GET", "/api/v1/sessions", {"query": ["n", "cursor", "q"]}, given, options);
  }

  /** Begin a conversation. A new conversation; without a name, it is called what is said first. */
  createSession(given = {}, options = {}) {
    return this.#ask("POST", "/api/v1/sessions", {"headers": {"Idempotency-Key": "idempotencyKey"}, "body": "json"}, given, options);
  }

  /** Go on with an exported conversation. A new conversation with all turns of the document. */
  importSession(given = {}, options = {}) {
    return this.#ask("POST", "/api/v1/sessions/import", {"body": "json"}, given, options);
  }

  /** A conversation and its turns. With all its branches. */
  getSession(given = {}, options = {}) {
    return this.#ask("GET", "/api/v1/sessions/{id}", {"path": ["id"]}, given, options);
  }

  /** Change a conversation. Another name; or another retriever, questioner, filter or leaning from now on. */
  changeSession(given = {}, options = {}) {
    return this.#ask("PATCH", "/api/v1/sessions/{id}", {"path": ["id"], "body": "json"}, given, options);
  }

  /** Forget a conversation. With all its turns; pictures that were marked as found are kept. */
  deleteSession(given = {}, options = {}) {
    return this.#ask("DELETE", "/api/v1/sessions/{id}", {"path": ["id"], "answer": "nothing"}, given, options);
  }

  /** A conversation as a document. As `POST /sessions/import` takes it. */
  exportSession(given = {}, options = {}) {
    return this.#ask("GET", "/api/v1/sessions/{id}/export", {"path": ["id"]}, given, options);
  }

  /** What was said since. The turns after one, by whomever: none where `newest` is `after`. Cheap enough to ask now and then. */
  listTurns(given = {}, options = {}) {
    return this.#ask("GET", "/api/v1/sessions/{id}/turns", {"path": ["id"], "query": ["after"]}, given, options);
  }

  /** Say something. Answers with the results at once. The question after the turn is chosen in the background and sent as an event. If another turn arrives first, no question is asked. If the connection is cut before the answer, send the turn again with the same key: it is taken once. With `parent`, it is refused (409, `moved-on`, with the turns said since) if the conversation stands elsewhere by now. */
  takeTurn(given = {}, options = {}) {
    return this.#ask("POST", "/api/v1/sessions/{id}/turns", {"path": ["id"], "query": ["fields", "sort"], "headers": {"Idempotency-Key": "idempotencyKey"}, "body": "json"}, given, options);
  }

  /** The results of a turn. In the collection as it is now, a page at a time. */
  getTurn(given = {}, options = {}) {
    return this.#ask("GET", "/api/v1/sessions/{id}/turns/{number}", {"path": ["id", "number"], "query": ["n", "cursor", "retriever", "fields", "sort"]}, given, options);
  }

  /** Say something else instead. On a new branch, where all turns after it are taken again; the old branch stays. */
  editTurn(given = {}, options = {}) {
    return this.#ask("PUT", "/api/v1/sessions/{id}/turns/{number}", {"path": ["id", "number"], "query": ["fields", "sort"], "headers": {"Idempotency-Key": "idempotencyKey"}, "body": "json"}, given, options);
  }

  /** Take something back. On a new branch, where all turns after it are taken again; the old branch stays. */
  deleteTurn(given = {}, options = {}) {
    return this.#ask("DELETE", "/api/v1/sessions/{id}/turns/{number}", {"path": ["id", "number"], "query": ["parent", "onConflict", "fields", "sort"], "headers": {"Idempotency-Key": "idempotencyKey"}}, given, options);
  }

  /** The question after a turn, and the reasons for its results. `question` {"question": Question or null}; `why` {"why": {picture: reasons}}, in a few batches; `done` {}. Where addresses are signed, `question` has those of its examples, too: {"thumbnails": {picture: address}}. Where a questioner of another package failed, `question` says so: {"question": null, "problem": "the questioner ..."}. */
  turnEvents(given = {}, options = {}) {
    return this.#stream("GET", "/api/v1/sessions/{id}/turns/{number}/events", {"path": ["id", "number"], "headers": {"Last-Event-ID": "lastEventId"}, "answer": "events"}, given, options);
  }

  /** The rank of a picture. In the whole collection, whatever the filters, after a turn; from 0, as measures count. */
  pictureRank(given = {}, options = {}) {
    return this.#ask("GET", "/api/v1/sessions/{id}/turns/{number}/ranks/{picture}", {"path": ["id", "number", "picture"]}, given, options);
  }

  /** The words with which a turn is answered, as they are written. `words` {"text": the next piece}, to be joined without anything between; `done` {"text": all of it}. There are no words where a turn is answered with pictures, as it always is by retrievers that do not speak. */
  replyEvents(given = {}, options = {}) {
    return this.#stream("GET", "/api/v1/sessions/{id}/turns/{number}/reply/events", {"path": ["id", "number"], "headers": {"Last-Event-ID": "lastEventId"}, "answer": "events"}, given, options);
  }

  /** The attributes that a conversation's retriever sees in a picture. They count when the picture is picked, unless the turn gives others. Empty if the retriever reads none. */
  pictureAttributes(given = {}, options = {}) {
    return this.#ask("GET", "/api/v1/sessions/{id}/pictures/{picture}/attributes", {"path": ["id", "picture"]}, given, options);
  }

  /** Mark the picture that was meant. Kept with the conversation as it is now, as data to learn from. */
  foundIt(given = {}, options = {}) {
    return this.#ask("POST", "/api/v1/sessions/{id}/found", {"path": ["id"], "body": "json"}, given, options);
  }

  /** It was not that picture. Takes back that a picture was marked as the one that was meant. */
  notFoundAfterAll(given = {}, options = {}) {
    return this.#ask("DELETE", "/api/v1/sessions/{id}/found/{found}", {"path": ["id", "found"], "answer": "nothing"}, given, options);
  }

  /** The pictures that were meant. A line each: the picture, its rank, and the conversation that led there. */
  feedback(given = {}, options = {}) {
    return this.#ask("GET", "/api/v1/feedback", {"answer": "text"}, given, options);
  }

  /** Search once. By words, a picture of the library, an uploaded image, words to leave out, and filters; a page at a time. */
  search(given = {}, options = {}) {
    return this.#ask("POST", "/api/v1/search", {"body": "json"}, given, options);
  }

  /** Tiny copies of many pictures at once. Only those that exist: the first thumbnail of a picture makes one. */
  placeholders(given = {}, options = {}) {
    return this.#ask("POST", "/api/v1/pictures/placeholders", {"body": "json"}, given, options);
  }

  /** What is in some pictures, in a few words. For alternative texts of pictures without a caption: a name from the catalogue, or what is seen in them. */
  seenInPictures(given = {}, options = {}) {
    return this.#ask("POST", "/api/v1/pictures/seen", {"body": "json"}, given, options);
  }

  /** The addresses of pictures, for pages of other origins. For who came with a bearer token they are signed, and need none: when those of results have ended, and for pictures that are named elsewhere (examples of a question, other pictures of a product). */
  pictureAddresses(given = {}, options = {}) {
    return this.#ask("POST", "/api/v1/pictures/addresses", {"body": "json"}, given, options);
  }

  /** The facts of a picture. Facts of the file, captions, catalogue, and what the encoder sees. */
  pictureDetails(given = {}, options = {}) {
    return this.#ask("GET", "/api/v1/pictures/{picture}", {"path": ["picture"]}, given, options);
  }

  /** Forget a picture. A job does it. A file below a root of the server stays; one sent over HTTP is deleted, and all copies. */
  removePicture(given = {}, options = {}) {
    return this.#ask("DELETE", "/api/v1/pictures/{picture}", {"path": ["picture"]}, given, options);
  }

  /** A small copy of a picture. A picture's id is the hash of its content, so a copy never changes; never larger than the picture. */
  pictureThumbnail(given = {}, options = {}) {
    return this.#ask("GET", "/api/v1/pictures/{picture}/thumbnail", {"path": ["picture"], "query": ["size"], "headers": {"If-None-Match": "ifNoneMatch"}, "answer": "blob"}, given, options);
  }

  /** The file itself. The first of its files that still is the picture, for callers with the scope `download` too. A server started with `--originals` gives files to all who may read. */
  pictureOriginal(given = {}, options = {}) {
    return this.#ask("GET", "/api/v1/pictures/{picture}/original", {"path": ["picture"], "query": ["download"], "headers": {"If-None-Match": "ifNoneMatch"}, "answer": "blob"}, given, options);
  }

  /** Look around. A page of pictures in no particular order, under filters if there are any. */
  browsePictures(given = {}, options = {}) {
    return this.#ask("POST", "/api/v1/pictures/browse", {"body": "json"}, given, options);
  }

  /** The pictures most like one. By what it looks like; the picture itself is left out. */
  similarPictures(given = {}, options = {}) {
    return this.#ask("GET", "/api/v1/pictures/{picture}/similar", {"path": ["picture"], "query": ["n", "cursor", "fields"]}, given, options);
  }

  /** Which regions of a picture answer which words. A grid of regions with weights that add up to 1, for each text; the first look at a picture takes longest. */
  whereInPicture(given = {}, options = {}) {
    return this.#ask("GET", "/api/v1/pictures/{picture}/where", {"path": ["picture"], "query": ["text"]}, given, options);
  }

  /** Add a picture to the library. It is checked and kept at once; a job adds it. `job` is null if the library has it already. */
  addPicture(given = {}, options = {}) {
    return this.#ask("POST", "/api/v1/pictures", {"body": "form"}, given, options);
  }

  /** Send an image of one's own, to be shown to the search. It does not join the library. When a token has too many, its oldest are forgotten. */
  upload(given = {}, options = {}) {
    return this.#ask("POST", "/api/v1/uploads", {"body": "form"}, given, options);
  }

  /** A small copy of an upload. Only of the caller's own uploads. */
  uploadThumbnail(given = {}, options = {}) {
    return this.#ask("GET", "/api/v1/uploads/{upload}/thumbnail", {"path": ["upload"], "query": ["size"], "headers": {"If-None-Match": "ifNoneMatch"}, "answer": "blob"}, given, options);
  }

  /** Forget an upload. Turns that showed it report that when they are read again. */
  deleteUpload(given = {}, options = {}) {
    return this.#ask("DELETE", "/api/v1/uploads/{upload}", {"path": ["upload"], "answer": "nothing"}, given, options);
  }

  /** What the library holds. Numbers, columns to filter by, and the folders below which pictures may be added. */
  collection(given = {}, options = {}) {
    return this.#ask("GET", "/api/v1/collection", {}, given, options);
  }

  /** How far adding pictures is. Whoever adds them: a job, or somebody at a terminal of the server. `pictures` can be searched already. */
  collectionProgress(given = {}, options = {}) {
    return this.#ask("GET", "/api/v1/collection/progress", {}, given, options);
  }

  /** Look through folders that can be added. Below a root of the server; without one all of this machine's, for its own user. No files, nothing hidden. */
  listFolders(given = {}, options = {}) {
    return this.#ask("GET", "/api/v1/collection/folders", {"query": ["root", "at"]}, given, options);
  }

  /** Add a folder of the server. Below a root that the server was started with; this machine's own user may name any. It adds what is new. */
  addFolder(given = {}, options = {}) {
    return this.#ask("POST", "/api/v1/collection/folders", {"body": "json"}, given, options);
  }

  /** Add the drawn pictures of the demo. Three hundred drawings, to try it with. A job draws and adds them. */
  addDemo(given = {}, options = {}) {
    return this.#ask("POST", "/api/v1/collection/demo", {}, given, options);
  }

  /** Remove the drawn pictures of the demo. A job does it; other pictures stay. */
  removeDemo(given = {}, options = {}) {
    return this.#ask("DELETE", "/api/v1/collection/demo", {}, given, options);
  }

  /** Make what a retriever reads of the pictures. Regions, for those that look at them; that takes as long as adding the pictures did. */
  prepareRetriever(given = {}, options = {}) {
    return this.#ask("POST", "/api/v1/collection/prepare", {"body": "json"}, given, options);
  }

  /** Have pictures described. Only by what the server's settings say: a model, or a reader of text. Other jobs wait until it ends or pauses. */
  describePictures(given = {}, options = {}) {
    return this.#ask("POST", "/api/v1/collection/describe", {"body": "json"}, given, options);
  }

  /** Jobs, the newest first. Jobs that wait, run, or have ended. */
  listJobs(given = {}, options = {}) {
    return this.#ask("GET", "/api/v1/collection/jobs", {"query": ["n"]}, given, options);
  }

  /** One job. How far it is, and what came of it. */
  getJob(given = {}, options = {}) {
    return this.#ask("GET", "/api/v1/collection/jobs/{id}", {"path": ["id"]}, given, options);
  }

  /** A job as it goes on. `job`: as `GET /collection/jobs/{id}` gives it. */
  jobEvents(given = {}, options = {}) {
    return this.#stream("GET", "/api/v1/collection/jobs/{id}/events", {"path": ["id"], "answer": "events"}, given, options);
  }

  /** Pause a job. After the batch that is under way, a second or two. */
  pauseJob(given = {}, options = {}) {
    return this.#ask("POST", "/api/v1/collection/jobs/{id}/pause", {"path": ["id"]}, given, options);
  }

  /** Go on with a job. One that was paused goes on where it stopped; one that failed is tried again. */
  resumeJob(given = {}, options = {}) {
    return this.#ask("POST", "/api/v1/collection/jobs/{id}/resume", {"path": ["id"]}, given, options);
  }

  /** End a job. Pictures that it has added by then stay. */
  cancelJob(given = {}, options = {}) {
    return this.#ask("POST", "/api/v1/collection/jobs/{id}/cancel", {"path": ["id"]}, given, options);
  }

  /** Files that could not become pictures. By their last names, each with the reason. */
  listFailures(given = {}, options = {}) {
    return this.#ask("GET", "/api/v1/collection/failures", {"query": ["n", "cursor"]}, given, options);
  }

  /** Filters with counts. The counts of a column are those under the filters of all other columns: what one would get by choosing it. */
  facets(given = {}, options = {}) {
    return this.#ask("POST", "/api/v1/collection/facets", {"body": "json"}, given, options);
  }

  /** When pictures were taken. Counts by month, under all filters but that of `captured`. */
  timeline(given = {}, options = {}) {
    return this.#ask("POST", "/api/v1/collection/timeline", {"body": "json"}, given, options);
  }

  /** The folders of the pictures. Those in one folder at a time, with counts under all filters but that of `under`. */
  folderTree(given = {}, options = {}) {
    return this.#ask("POST", "/api/v1/collection/folder-tree", {"body": "json"}, given, options);
  }

  /** Where pictures were taken. Clusters of an area, under all filters but those of `latitude` and `longitude`. */
  places(given = {}, options = {}) {
    return this.#ask("POST", "/api/v1/collection/places", {"body": "json"}, given, options);
  }

  /** What a typed filter may become. Names of filters, or values of one, as they are typed among words (`a dog camera:canon`). */
  suggestFilters(given = {}, options = {}) {
    return this.#ask("GET", "/api/v1/collection/filters", {"query": ["text", "n"]}, given, options);
  }

  /** What is sold in some pictures. Name, price and link, by the usual names of columns (such as "product name", "sale price" and "link"). */
  productsOfPictures(given = {}, options = {}) {
    return this.#ask("POST", "/api/v1/pictures/products", {"body": "json"}, given, options);
  }

  /** The retrievers that a conversation can have. With what each reads of the pictures, and the reason if it cannot be used. */
  listRetrievers(given = {}, options = {}) {
    return this.#ask("GET", "/api/v1/retrievers", {}, given, options);
  }

  /** The attributes of a picture. As they would count in a conversation. Give one of the two pictures. */
  retrieverAttributes(given = {}, options = {}) {
    return this.#ask("GET", "/api/v1/retrievers/{name}/attributes", {"path": ["name"], "query": ["like", "show"]}, given, options);
  }

  /** The questioners that a conversation can have. With what is missing for each that cannot be used here; `none` asks nothing. */
  listQuestioners(given = {}, options = {}) {
    return this.#ask("GET", "/api/v1/questioners", {}, given, options);
  }

  /** Open a picture on the server's machine. In the program that its system has for it, or its folder; only for somebody who sits at that machine. */
  openPicture(given = {}, options = {}) {
    return this.#ask("POST", "/api/v1/pictures/{picture}/open", {"path": ["picture"], "body": "json", "answer": "nothing"}, given, options);
  }

  /** Albums. The caller's own; with the scope admin those of everybody. */
  listAlbums(given = {}, options = {}) {
    return this.#ask("GET", "/api/v1/albums", {}, given, options);
  }

  /** Make an album. Empty. 409 where there is one of this name; the problem has its id as `album`. */
  createAlbum(given = {}, options = {}) {
    return this.#ask("POST", "/api/v1/albums", {"body": "json"}, given, options);
  }

  /** An album and its pictures. A page of them at a time, in the order in which they were added; those that left the library are left out. */
  getAlbum(given = {}, options = {}) {
    return this.#ask("GET", "/api/v1/albums/{id}", {"path": ["id"], "query": ["n", "cursor"]}, given, options);
  }

  /** Rename an album. Its pictures stay. */
  renameAlbum(given = {}, options = {}) {
    return this.#ask("PATCH", "/api/v1/albums/{id}", {"path": ["id"], "body": "json"}, given, options);
  }

  /** Delete an album. No picture is lost: they stay in the library, and in other albums. */
  deleteAlbum(given = {}, options = {}) {
    return this.#ask("DELETE", "/api/v1/albums/{id}", {"path": ["id"], "answer": "nothing"}, given, options);
  }

  /** Put pictures into an album, or take them out. A picture is in an album once, where it was put first. */
  changeAlbum(given = {}, options = {}) {
    return this.#ask("POST", "/api/v1/albums/{id}/pictures", {"path": ["id"], "body": "json"}, given, options);
  }

  /** The marks of some pictures. Favourites, stars, and the albums in which they are. */
  readMarks(given = {}, options = {}) {
    return this.#ask("GET", "/api/v1/marks", {"query": ["ids"]}, given, options);
  }

  /** Mark pictures as favourites, or with stars. The caller's own marks; those with the scope admin share theirs with this machine. */
  markPictures(given = {}, options = {}) {
    return this.#ask("POST", "/api/v1/marks", {"body": "json"}, given, options);
  }

  /** Take pictures along. Says where the file is to be fetched. A `zip` wants the scope `download`, too. */
  createExport(given = {}, options = {}) {
    return this.#ask("POST", "/api/v1/exports", {"body": "json"}, given, options);
  }

  /** The file of an export. Made while it is sent. Pictures whose files are gone are told in a text in the archive. If a file goes or changes in the middle of it the connection is cut: what has come is no whole archive. */
  getExport(given = {}, options = {}) {
    return this.#ask("GET", "/api/v1/exports/{id}", {"path": ["id"], "answer": "blob"}, given, options);
  }

  /** Log in: keep a token in a cookie. Sets a cookie that scripts cannot read and other sites cannot use. */
  logIn(given = {}, options = {}) {
    return this.#ask("POST", "/api/v1/login", {"body": "json", "answer": "nothing"}, given, options);
  }

  /** Log out: forget the cookie. The token itself stays good. */
  logOut(given = {}, options = {}) {
    return this.#ask("DELETE", "/api/v1/login", {"answer": "nothing"}, given, options);
  }

  /** Who calls, and what they may do. Needs no token, so that a page knows whether to ask for one. */
  whoAmI(given = {}, options = {}) {
    return this.#ask("GET", "/api/v1/me", {}, given, options);
  }

  /** All tokens, without their secrets. Revoked and expired ones too. */
  listTokens(given = {}, options = {}) {
    return this.#ask("GET", "/api/v1/tokens", {}, given, options);
  }

  /** Make a token. The answer is the only place where the secret is ever shown. */
  addToken(given = {}, options = {}) {
    return this.#ask("POST", "/api/v1/tokens", {"body": "json"}, given, options);
  }

  /** Revoke a token. From now on it is good for nothing (within seconds, where several servers share a database). */
  revokeToken(given = {}, options = {}) {
    return this.#ask("DELETE", "/api/v1/tokens/{name}", {"path": ["name"], "answer": "nothing"}, given, options);
  }

  /** Make a token for a visitor's browser. It may look, search and talk, and ends within a day, or with your token. The visitor's conversations are theirs alone; with the next ticket for the same `visitor` they go on. They are deleted a day after the last ticket. */
  addTicket(given = {}, options = {}) {
    return this.#ask("POST", "/api/v1/tickets", {"body": "json"}, given, options);
  }

  /** End all signed addresses. Those of pictures and events that were given out so far, whosever they are, and all tickets; tokens stay good. */
  endAddresses(given = {}, options = {}) {
    return this.#ask("DELETE", "/api/v1/addresses", {"answer": "nothing"}, given, options);
  }

  /** Whether it lives. The process answers; no token is needed. */
  live(given = {}, options = {}) {
    return this.#ask("GET", "/api/v1/health/live", {}, given, options);
  }

  /** Whether it can serve. The database answers and the pictures can be read; 503 says in `checks` what is not so. No token is needed. `changes`, where it is among them, says why the server goes on with the pictures that it had. */
  ready(given = {}, options = {}) {
    return this.#ask("GET", "/api/v1/health/ready", {}, given, options);
  }

  /** Numbers for Prometheus. Requests by route and status, how long turns take, open conversations, jobs. */
  metrics(given = {}, options = {}) {
    return this.#ask("GET", "/api/v1/metrics", {"answer": "text"}, given, options);
  }

  /** Which viewfinder this is. No token is needed. */
  version(given = {}, options = {}) {
    return this.#ask("GET", "/api/v1/version", {}, given, options);
  }
}
