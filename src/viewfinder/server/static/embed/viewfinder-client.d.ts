// Written from the OpenAPI document by benchmarks/javascript_client.py: change that, not this file.

/** What a server refused: `type` and `detail` of its problem document, and all else that it says. */
export class ViewfinderError extends Error {
  /** The last part of the type: "unknown-name", "not-found" ...; "unreachable" where nothing answered. */
  readonly type: string;
  readonly status: number;
  readonly detail: string;
  readonly problem: Record<string, unknown>;
}

/** A server-sent event; `id` says where the stream may be gone on from (`lastEventId`). */
export interface ServerEvent<Name extends string, Data> {
  event: Name;
  data: Data;
  id: string;
}

export interface ViewfinderOptions {
  /** Where the server is, "https://pictures.example"; by default where this module came from. */
  server?: string | URL;
  /** A token, or a function that gets one: it is called again when the server refuses the one before. */
  token?: string | ((renew: boolean) => string | Promise<string>);
  fetch?: typeof fetch;
}

export interface RequestOptions {
  signal?: AbortSignal;
}

/** Add the pictures in a folder below one of the server's roots; or, on this machine, in any folder, by `path`. */
export interface AddFolder {
  root?: number;
  /** relative to the root, with / between names */
  folder?: string;
  /** absolute; only for this machine's own user */
  path?: string | null;
}

/** A picture on its way into the library, and the job that takes it there (null: it was there already). */
export interface AddedPicture {
  picture: string;
  job: string | null;
}

/** Pictures that are being added now, by a job or at a terminal. `done` files of `total` are dealt with (null: they are still being looked for), `failed` of them could not be read. `eta_s`: seconds that are left, by the speed so far; null where that is not known. */
export interface Adding {
  /** what is added, by its last names */
  name: string;
  done: number;
  total: number | null;
  failed: number;
  eta_s: number | null;
  /** the job that does it; null: somebody at a terminal, or not known */
  job: string | null;
}

/** An address of the small copies of each picture asked for; those signed hold `until` then (null: for good). */
export interface Addresses {
  thumbnails: Record<string, string>;
  until: string | null;
}

/** An album. Pictures that have left the library are `missing`; they are in it again once they come back. `cover` is the first of its pictures. `own`: whether it is the caller's; admins see those of others, too. */
export interface Album {
  id: string;
  name: string;
  created: string;
  updated: string;
  pictures: number;
  missing: number;
  cover: string | null;
  own: boolean;
}

/** An album after a change: how many pictures were put in and taken out; `unknown` are not in the library. */
export interface AlbumChanged {
  id: string;
  name: string;
  created: string;
  updated: string;
  pictures: number;
  missing: number;
  cover: string | null;
  own: boolean;
  added: number;
  removed: number;
  unknown: string[];
}

/** An album's name; no other of yours has it. */
export interface AlbumIn {
  name: string;
}

/** Albums, the last changed first. */
export interface AlbumList {
  albums: Album[];
}

/** An album with a page of its pictures, in the order in which they were added. */
export interface AlbumPage {
  id: string;
  name: string;
  created: string;
  updated: string;
  pictures: number;
  missing: number;
  cover: string | null;
  own: boolean;
  results: Hit[];
  total: number;
  /** give it as `cursor` for more; null: no more */
  next: string | null;
}

/** Pictures to take out of an album, and to put into it after those that are there. */
export interface AlbumPicturesIn {
  add?: string[];
  remove?: string[];
}

/** Answer the question that is open (or the one given); "don't know" is an answer too. */
export interface AnswerTurn {
  /** the newest turn that the sender knew: if the conversation stands elsewhere by now, this is refused (409, moved-on); null: it is said wherever the conversation stands */
  parent?: number | null;
  /** `branch`: it is then said where the sender was, on a branch, in one step */
  on_conflict?: "refuse" | "branch";
  answer: string;
  question?: Question | null;
}

/** The way in which a retriever that speaks answers a turn. With words, the results are the previous ones. `text` is null with pictures, and until the words were written: `reply/events` of the turn has them written. */
export interface Answered {
  with: "pictures" | "words";
  text: string | null;
}

/** A part of the map, in degrees. */
export interface Area {
  south: number;
  west: number;
  north: number;
  east: number;
}

/** Go on from an earlier turn; 0 is the start. */
export interface BackToTurn {
  /** the newest turn that the sender knew: if the conversation stands elsewhere by now, this is refused (409, moved-on); null: it is said wherever the conversation stands */
  parent?: number | null;
  /** `branch`: it is then said where the sender was, on a branch, in one step */
  on_conflict?: "refuse" | "branch";
  back_to: number;
}

/** A wish that the system has understood. To take it back: put `without` in the place of the turn, or delete the turn if that is null. */
export interface Belief {
  turn: number;
  label: string;
  kind: string;
  weight: number;
  without: Record<string, unknown> | null;
}

/** The pictures to browse: mixed, or by the day they were taken, those without a date last. */
export interface BrowseIn {
  /** by column: `VALUE`, `VALUE|VALUE`, `10..50`, `2019-07..2020` */
  where?: Record<string, string>;
  order?: "mixed" | "newest" | "oldest";
  n?: number;
  cursor?: string | null;
  /** of the pictures of one product, of one burst, or nearly the same, only the first is shown */
  fold?: boolean;
  /** columns whose values each picture has with it */
  fields?: string[];
}

/** Pictures, of which `total` meet the filters. */
export interface Browsed {
  pictures: DatedCard[];
  total: number;
  /** give it as `cursor` for more; null: no more */
  next: string | null;
}

/** The library at a glance. */
export interface Collection {
  pictures: number;
  failures: number;
  /** names of columns to filter by */
  columns: string[];
  /** short descriptions to begin with, by its captions or catalogue */
  examples: string[];
  encoder: string;
  /** all encoders that the library has vectors of, this one first */
  encoders: string[];
  space: string | null;
  /** whether you may fetch the files themselves */
  originals: boolean;
  roots: Root[];
  /** jobs that wait or run */
  jobs: number;
  /** what is being added now */
  adding?: Adding | null;
  /** whether the drawn pictures of the demo are among them */
  demo?: boolean;
  /** what commands end in that mean this library, quoted; only for this machine's own user */
  library_option?: string | null;
  /** whether this caller may add any folder of this machine */
  picks_folders?: boolean;
}

/** How many pictures can be searched now, and what is being added. */
export interface CollectionProgress {
  pictures: number;
  adding: Adding | null;
}

/** A word of the description. */
export interface ContentWord {
  text: string;
  /** words to say instead; empty: nothing is left; null: none say that */
  without?: string | null;
}

/** A picture, and when it was taken; null where nothing tells. `others`: those that are folded behind it. */
export interface DatedCard {
  id: string;
  name: string;
  caption: string | null;
  width: number;
  height: number;
  fields?: Record<string, string[]> | null;
  thumbnail?: string | null;
  captured?: string | null;
  others?: string[];
}

/** Have pictures described that were not, the newest first; `text_only`: have the text in them read instead. */
export interface DescribeIn {
  text_only?: boolean;
  limit?: number;
}

/** A file to fetch at `address` within a day. `missing` pictures are not in the library (any more). */
export interface Export {
  id: string;
  address: string;
  /** the name of the file */
  name: string;
  pictures: number;
  missing: number;
  /** its size; null where that is only known once it is made */
  bytes: number | null;
}

/** What to take along: `pictures` by their ids, an `album`, or the `n` best of a conversation after a `turn` (by default the newest). `as`: the files themselves in a `zip`; a table (`csv`) or document (`json`) of what is known of them, with all columns or only these `fields`; or an `xmp` file for each, in a ZIP, as other programs for photographs read them. */
export interface ExportIn {
  pictures?: string[] | null;
  session?: string | null;
  turn?: number | null;
  n?: number | null;
  album?: string | null;
  as: "zip" | "csv" | "json" | "xmp";
  fields?: string[] | null;
}

/** A conversation as a document: its settings, and its turns (schema viewfinder/conversation). */
export interface Exported {
  schema?: "viewfinder/session";
  version?: 1;
  name?: string;
  retriever?: string | null;
  questioner?: string;
  /** by column: `VALUE`, `VALUE|VALUE`, `10..50`, `2019-07..2020` */
  where?: Record<string, string>;
  n?: number;
  leaning?: number | null;
  conversation: Record<string, unknown>;
}

/** A column to filter by. `values`: the most frequent first; `more`: how many are left out. `range`: of a column of numbers, the least and the greatest (under the filters given); a filter may be `10..50`. */
export interface Facet {
  column: string;
  values: FacetValue[];
  more: number;
  range?: NumberRange | null;
}

/** A value of a column, and how many pictures have it (under the filters given). */
export interface FacetValue {
  value: string;
  count: number;
}

/** Filters with counts. */
export interface Facets {
  /** pictures under the filters given */
  total: number;
  facets: Facet[];
}

/** Filters that are set. */
export interface FacetsIn {
  /** by column: `VALUE`, `VALUE|VALUE`, `10..50`, `2019-07..2020` */
  where?: Record<string, string>;
}

/** Facts that a file has of itself; null where it has none. */
export interface Facts {
  width: number;
  height: number;
  format: string;
  bytes: number;
  captured: string | null;
  camera: string | null;
  /** the last name of the folder it lies in */
  folder: string | null;
}

/** A file that could not become a picture: its last name, and why. */
export interface FailedFile {
  name: string;
  reason: string;
}

/** Files in quarantine. */
export interface Failures {
  failures: FailedFile[];
  total: number;
  next: string | null;
}

/** A folder. `pictures` counts all below it; `where` has it as `{"under": path}`. */
export interface Folder {
  name: string;
  path: string;
  pictures: number;
  /** whether there are folders in it */
  has_folders: boolean;
}

/** A folder in another one. `at`: how to ask for it. `readable`: whether the server may look into it. */
export interface FolderInside {
  name: string;
  at: string;
  readable: boolean;
}

/** The folders in a folder, by name. Where they stand on the server's machine is not told. */
export interface FolderTree {
  folders: Folder[];
}

/** The folder to look into, as `path` of an answer names it (empty: the top), and filters that are set. */
export interface FolderTreeIn {
  under?: string;
  /** by column: `VALUE`, `VALUE|VALUE`, `10..50`, `2019-07..2020` */
  where?: Record<string, string>;
}

/** A folder as one walks through them: what is in it, and how many pictures there are to add. `at`: where it lies, relative to the root, or absolute (root: null). `above`: the folder that it lies in, null at the top. `pictures` below it, by their names; `more`: there are more, counting took too long. `places`: where pictures usually are. `left_out`: folders that are not listed because there are too many. */
export interface Folders {
  root: number | null;
  at: string;
  name: string;
  above: string | null;
  folders: FolderInside[];
  left_out: number;
  pictures: number;
  more: boolean;
  places: FolderInside[];
}

/** The picture that was meant. `turn`: after which turn (by default, the newest). */
export interface Found {
  picture: string;
  turn?: number | null;
}

/** A picture that was meant, with its rank then, counted from 1. */
export interface FoundAnswer {
  id: string;
  picture: string;
  turn: number;
  rank: number;
}

/** Whether the server lives, or is ready to answer; `checks` names the part that is not. */
export interface Health {
  ok: boolean;
  checks: Record<string, string>;
}

/** One result. `why` comes by events, or at once from `search`; `rank` is that of the search, whatever the order. */
export interface Hit {
  id: string;
  name: string;
  caption: string | null;
  width: number;
  height: number;
  fields?: Record<string, string[]> | null;
  thumbnail?: string | null;
  rank: number;
  score: number;
  match: "likely" | "maybe" | "unlikely";
  why?: Record<string, unknown> | null;
  /** the other pictures of its product or burst, and its copies, if the search folds them */
  others?: string[];
}

/** A job. `eta_s`: seconds that are left, by the speed so far; null where that is not known. */
export interface Job {
  id: string;
  kind: "add" | "prepare" | "remove" | "describe";
  what: Record<string, unknown>;
  state: "queued" | "running" | "paused" | "done" | "failed" | "cancelled";
  done: number;
  total: number | null;
  eta_s: number | null;
  report: Record<string, unknown> | null;
  error: string | null;
  created: string;
  started: string | null;
  ended: string | null;
}

/** Jobs, the newest first. */
export interface JobPage {
  jobs: Job[];
}

/** Keep an attribute of what was on the screen after `turn`. */
export interface KeepTurn {
  /** the newest turn that the sender knew: if the conversation stands elsewhere by now, this is refused (409, moved-on); null: it is said wherever the conversation stands */
  parent?: number | null;
  /** `branch`: it is then said where the sender was, on a branch, in one step */
  on_conflict?: "refuse" | "branch";
  keep: string;
  turn: number;
}

/** What a file, a sidecar or a `machine` says of a picture; `source` names the field, the sidecar or the model. The values of "text boxes" say where the lines of "text" stand: left, top, right, bottom (0 to 1), confidence, text. */
export interface KnownFact {
  name: string;
  values: string[];
  source: string;
  machine?: boolean;
}

/** Pick a picture; `but` says how the wanted one differs, `turn` goes on from what was shown back then. `attributes`: those that count, in place of those that the retriever sees in it; null: those it sees. */
export interface LikeTurn {
  /** the newest turn that the sender knew: if the conversation stands elsewhere by now, this is refused (409, moved-on); null: it is said wherever the conversation stands */
  parent?: number | null;
  /** `branch`: it is then said where the sender was, on a branch, in one step */
  on_conflict?: "refuse" | "branch";
  like: string;
  but?: string;
  turn?: number | null;
  attributes?: string[] | null;
}

/** A conversation in a list. `matches`: where words of a search were said first; empty if its name has them all. */
export interface ListedSession {
  id: string;
  name: string;
  retriever: string | null;
  questioner: string;
  where: Record<string, string>;
  n: number;
  created: string;
  updated: string;
  /** how many turns there are; the newest is where the conversation stands */
  turns: number;
  /** of a retriever that speaks; null: as much as it leans by itself */
  leaning: number | null;
  matches?: SaidMatch[];
}

/** A token, to be kept in a cookie that no script can read. */
export interface Login {
  token: string;
}

/** How much each region answers a text; the weights add up to 1. */
export interface Looked {
  text: string;
  weights: number[];
}

/** What you think of a picture, and the ids of your albums in which it is. */
export interface Mark {
  favourite: boolean;
  /** 1 to 5; 0: none */
  stars: number;
  albums: string[];
}

/** The marks of pictures, by their ids; `unknown`: those to be marked that the library does not have. */
export interface Marks {
  marks: Record<string, Mark>;
  unknown?: string[];
}

/** What you think of pictures: stars from 1 to 5, 0 takes them away; what is null or left out stays as it is. */
export interface MarksIn {
  pictures: string[];
  favourite?: boolean | null;
  stars?: number | null;
}

/** The caller. `name` of the token; null: no token, or this machine. */
export interface Me {
  name: string | null;
  /** empty: log in, or send a token */
  scopes: ("read" | "write" | "download" | "tickets" | "admin")[];
  /** whether this server wants a token of who asks from where you are */
  token_needed: boolean;
  /** whether you sit at the server's machine and are told where files lie */
  told_paths: boolean;
  /** whether that machine can open pictures for you, or show their folders */
  opens: boolean;
}

/** The turns that were said since one. `newest`: the number of the last of all, `stands_at`: that whose results count now, which differs where somebody went back. */
export interface News {
  newest: number;
  stands_at: number;
  turns: TreeNode[];
}

/** The smallest and the largest of some numbers. */
export interface NumberRange {
  low: number;
  high: number;
}

/** `open`: show the picture in the system's own program; `folder`: show where it lies. */
export interface OpenIn {
  how: "open" | "folder";
}

/** A turn's reference to an earlier one, if the retriever understands that. `rollback` goes on from the picture of turn `turn` rather than from the last one, `keep` wants an attribute of it ("" is all of it). */
export interface Operation {
  /** the turn that does it */
  said: number;
  kind: "rollback" | "keep";
  /** the earlier turn */
  turn: number;
  attribute: string;
  /** how it was said; empty where it was given as a turn, not in words */
  words: string;
}

/** A word for a picture, and the chance that it applies. */
export interface PictureAttribute {
  name: string;
  chance: number;
}

/** The attributes that a retriever sees in a picture, likeliest first; both lists are empty if it reads none. */
export interface PictureAttributes {
  attributes: PictureAttribute[];
  /** all attributes it knows: what a turn may say instead */
  known: string[];
}

/** The facts of a picture. `attributes`: its values in the catalogue. `known`: what its files say of it: keywords, rating, place and so on. `tags`: seen by the encoder: group -> the likeliest answer, its chance. */
export interface PictureDetails {
  id: string;
  /** last names of the files that hold it */
  names: string[];
  facts: Facts;
  captions: string[];
  attributes: Record<string, string[]>;
  known: KnownFact[];
  tags: Record<string, [string, number]>;
  /** where its files lie: told to admins who sit at the server's machine */
  paths?: string[];
  /** whether you may fetch the file itself */
  original: boolean;
}

/** The rank of a picture, counted from 0: at best and at worst, if scores tie. */
export interface PictureRank {
  best: number;
  worst: number;
}

/** Pictures whose addresses are wanted. */
export interface PicturesIn {
  ids: string[];
}

/** Pictures that were taken near one another; `picture` is the one in their middle, which the place is of. As filters: `latitude` and `longitude`. */
export interface PlaceCluster {
  latitude: number;
  longitude: number;
  pictures: number;
  picture: string;
  /** the place where most of them were taken, if its name is known */
  name: string | null;
  area: Area;
}

/** Tiny copies (data: URLs) of those of the pictures asked for that have one by now. */
export interface Placeholders {
  placeholders: Record<string, string>;
}

/** Pictures whose tiny copies are wanted. */
export interface PlaceholdersIn {
  ids: string[];
}

/** Where pictures were taken. `total` counts those that say where, `bounds` is the area of all of them. */
export interface Places {
  total: number;
  bounds: Area | null;
  clusters: PlaceCluster[];
}

/** The area to look at (by default, all of it), and filters that are set; what lies within a cell is one cluster. */
export interface PlacesIn {
  /** by column: `VALUE`, `VALUE|VALUE`, `10..50`, `2019-07..2020` */
  where?: Record<string, string>;
  area?: Area | null;
  /** how many cells side by side */
  cells?: number;
}

/** Make the regions that a retriever reads of the pictures, which takes as long as adding them did. */
export interface PrepareIn {
  retriever: string;
}

/** An error: `type` names its kind for programs, `detail` is one line for people. */
export interface ProblemDocument {
  type: string;
  title: string;
  status: number;
  detail: string;
  instance?: string | null;
}

/** A product as its catalogue has it; `link` leads to a web page. */
export interface Product {
  name: string | null;
  price: string | null;
  link: string | null;
}

/** The products of pictures; pictures that are of none are left out. */
export interface Products {
  products: Record<string, Product>;
}

/** Pictures of which it is asked what is sold there. */
export interface ProductsIn {
  ids: string[];
}

/** A question, with the name of its questioner and the reason; `choices` may be empty for a free answer. `examples` has for each choice the id of a picture to which it applies, "" if there is none; it may be empty. */
export interface Question {
  text: string;
  choices?: string[];
  by?: string;
  why?: string;
  attribute?: string | null;
  examples?: string[];
}

/** A questioner. `problem`: why it cannot be used here, if it is not `ready`. */
export interface QuestionerInfo {
  name: string;
  ready: boolean;
  problem: string | null;
}

/** The questioners of a server. */
export interface Questioners {
  questioners: QuestionerInfo[];
  default: string;
}

/** A fact in a sentence, and how many pictures it holds for. `filter`: it was typed as one (`camera:canon`). */
export interface ReadFact {
  words: string;
  kind: string;
  pictures: number;
  filter?: boolean;
  /** words to say instead; empty: nothing is left; null: none say that */
  without?: string | null;
}

/** A word as it was typed, and as it was read; `without`: to have it taken as it was typed. */
export interface ReadWord {
  typed: string;
  read: string;
  /** words to say instead; empty: nothing is left; null: none say that */
  without?: string | null;
}

/** How a sentence was read: the description that is compared with pictures, words read as others, facts. Each part can be taken away: put the words of its `without` in the place of those of the turn, or delete the turn. */
export interface Reading {
  content: string;
  words?: ContentWord[];
  corrections: ReadWord[];
  facts: ReadFact[];
}

/** Reject pictures, or what `text` says; with neither, all that is shown. */
export interface RejectTurn {
  /** the newest turn that the sender knew: if the conversation stands elsewhere by now, this is refused (409, moved-on); null: it is said wherever the conversation stands */
  parent?: number | null;
  /** `branch`: it is then said where the sender was, on a branch, in one step */
  on_conflict?: "refuse" | "branch";
  reject: string[];
  text?: string;
}

/** The job that removes a picture. */
export interface RemovedPicture {
  job: string;
}

/** The branch that an edit made, and its results. */
export interface Replay {
  /** old turn -> new turn, of all that were taken again */
  numbers: Record<string, number>;
  /** turns that make no sense any more, and why */
  left_out: string[];
  results: Results;
}

/** The results of a turn, or a later page of them. `question` was asked after the turn; if `asking` is true, it is still being chosen and comes by events. `answer` is null from retrievers that do not speak. */
export interface Results {
  turn: number;
  verdict: "found" | "unsure" | "nothing";
  results: Hit[];
  /** pictures that are ranked (filters and rejections taken out) */
  total: number;
  /** results that are likely it, all pages together; the best 1,000 are counted */
  likely?: number;
  /** results that may be it, counted in the same way */
  maybe?: number;
  /** give it as `cursor` for more; null: no more */
  next: string | null;
  beliefs: Belief[];
  /** turns that the retriever could not take as given, and what was done */
  adapters: string[];
  /** what the turns on the way do with earlier ones */
  operations: Operation[];
  question: Question | null;
  asking: boolean;
  answer: Answered | null;
  elapsed_ms: number;
  /** pictures that could not be searched: a part of the cluster is away */
  missing?: number;
  /** if nothing is found, words last said that the encoder does not know */
  unheard?: string[];
  /** how the last sentence was read, if not just as it stands */
  reading?: Reading | null;
  /** an address of the turn's events that needs no token, as `thumbnail` */
  events?: string | null;
  /** one of the events of its reply */
  reply_events?: string | null;
}

/** A retriever. `ready`: nothing has to be prepared; `missing`: pictures whose regions have yet to be made. `problem`: why it cannot be used with this library, if it cannot. `reads`: what else it reads with a picture that is picked: "attributes", which can be looked at and changed (`GET /retrievers/{name}/attributes`). `leaning`: how much it leans to pictures by itself when it decides whether to answer in words; null: it does not speak. */
export interface RetrieverInfo {
  name: string;
  needs: string[];
  reads: ("attributes")[];
  leaning: number | null;
  ready: boolean;
  missing: number;
  problem: string | null;
}

/** The retrievers of a server. `advised`: with which more was found than with the default among pictures like these; null: none. */
export interface Retrievers {
  retrievers: RetrieverInfo[];
  default: string;
  advised: string | null;
}

/** A folder of the server below which pictures may be added; `name` is its last name. */
export interface Root {
  number: number;
  name: string;
}

/** A turn in which a word was said that was looked for. */
export interface SaidMatch {
  turn: number;
  /** what was said, shortened around that word */
  text: string;
}

/** Describe the picture, or go on describing it. */
export interface SayTurn {
  /** the newest turn that the sender knew: if the conversation stands elsewhere by now, this is refused (409, moved-on); null: it is said wherever the conversation stands */
  parent?: number | null;
  /** `branch`: it is then said where the sender was, on a branch, in one step */
  on_conflict?: "refuse" | "branch";
  say: string;
}

/** One search without a conversation: words, a picture of the library (`like`), an upload (`show`), or a mixture. With `where` alone: the pictures that meet it, the newest first, those without a date last; `why` has the date. `attributes` as in `LikeTurn`. `fields`: columns whose values each result has with it. `sort`: a column, `-` before it for descending, or `date`: orders the results that fit, and all of a search for filters alone. */
export interface SearchIn {
  text?: string;
  like?: string | null;
  show?: string | null;
  attributes?: string[] | null;
  without?: string;
  /** by column: `VALUE`, `VALUE|VALUE`, `10..50`, `2019-07..2020` */
  where?: Record<string, string>;
  retriever?: string;
  n?: number;
  cursor?: string | null;
  why?: boolean;
  /** of the pictures of one product, of one burst, or nearly the same, only the best is a result */
  fold?: boolean;
  fields?: string[];
  sort?: string;
}

/** The best pictures. */
export interface SearchResults {
  verdict: "found" | "unsure" | "nothing";
  results: Hit[];
  total: number;
  /** results that are likely it, all pages together; the best 1,000 are counted */
  likely?: number;
  /** results that may be it, counted in the same way */
  maybe?: number;
  next: string | null;
  adapters: string[];
  elapsed_ms: number;
  /** pictures that could not be searched */
  missing?: number;
  /** if nothing is found, words last said that the encoder does not know */
  unheard?: string[];
  /** how the last sentence was read, if not just as it stands */
  reading?: Reading | null;
}

/** What is in pictures, in a few words or a sentence each; those of which nothing is known are left out. */
export interface Seen {
  seen: Record<string, string[]>;
}

/** Pictures of which it is asked what is in them. */
export interface SeenIn {
  ids: string[];
}

/** A conversation. In a blind study `retriever` is null. */
export interface Session {
  id: string;
  name: string;
  retriever: string | null;
  questioner: string;
  where: Record<string, string>;
  n: number;
  created: string;
  updated: string;
  /** how many turns there are; the newest is where the conversation stands */
  turns: number;
  /** of a retriever that speaks; null: as much as it leans by itself */
  leaning: number | null;
}

/** Settings to change from now on; those left out stay. With another retriever or leaning the whole conversation is read again: earlier turns may be answered differently. */
export interface SessionChange {
  name?: string | null;
  retriever?: string | null;
  questioner?: string | null;
  where?: Record<string, string> | null;
  leaning?: number | null;
}

/** A new conversation. `leaning`: for retrievers that speak; 1000 answers with pictures alone, -1000 with words. */
export interface SessionIn {
  name?: string;
  retriever?: string;
  questioner?: string;
  /** by column: `VALUE`, `VALUE|VALUE`, `10..50`, `2019-07..2020` */
  where?: Record<string, string>;
  n?: number;
  leaning?: number | null;
}

/** Conversations, the last one used first. */
export interface SessionPage {
  sessions: ListedSession[];
  /** give it as `cursor` for more; null: no more */
  next: string | null;
}

/** A conversation with all branches. `tree[k]` is node k; node 0 is the empty root; `path` leads to the present. */
export interface SessionTree {
  id: string;
  name: string;
  retriever: string | null;
  questioner: string;
  where: Record<string, string>;
  n: number;
  created: string;
  updated: string;
  /** how many turns there are; the newest is where the conversation stands */
  turns: number;
  /** of a retriever that speaks; null: as much as it leans by itself */
  leaning: number | null;
  tree: TreeNode[];
  path: number[];
}

/** Show the user's own image: the id of an upload; `attributes` as in `LikeTurn`. */
export interface ShowTurn {
  /** the newest turn that the sender knew: if the conversation stands elsewhere by now, this is refused (409, moved-on); null: it is said wherever the conversation stands */
  parent?: number | null;
  /** `branch`: it is then said where the sender was, on a branch, in one step */
  on_conflict?: "refuse" | "branch";
  show: string;
  but?: string;
  attributes?: string[] | null;
}

/** The pictures most like one, without itself. */
export interface SimilarPictures {
  results: Hit[];
  next: string | null;
}

/** Pixels of a small copy's longer side; 16 is a placeholder. */
export type Size = 16 | 160 | 320 | 640 | 1280;

/** Skip the question that is open: something else is asked, and this is not asked again. */
export interface SkipTurn {
  /** the newest turn that the sender knew: if the conversation stands elsewhere by now, this is refused (409, moved-on); null: it is said wherever the conversation stands */
  parent?: number | null;
  /** `branch`: it is then said where the sender was, on a branch, in one step */
  on_conflict?: "refuse" | "branch";
  skip: true;
  question?: Question | null;
}

/** A month (`2008-05`), or a year where no more is known of some pictures, and how many were taken then. */
export interface Stretch {
  stretch: string;
  pictures: number;
}

/** A filter as it is typed, and the pictures that meet it; null: it waits for its value. */
export interface SuggestedFilter {
  text: string;
  pictures: number | null;
}

/** What a typed word may become, the likeliest first. */
export interface SuggestedFilters {
  filters: SuggestedFilter[];
}

/** A ticket for a visitor: the one to whom you gave a ticket before, or a new one (null). */
export interface TicketIn {
  /** as an earlier answer said; keep it where only you can change it, as in a signed cookie */
  visitor?: string | null;
  /** how long it is good */
  minutes?: number;
}

/** A token for a visitor's browser, good until it `expires`, and the visitor it stands for. */
export interface TicketMade {
  token: string;
  visitor: string;
  expires: string;
}

/** When pictures were taken, the oldest first. `undated`: of these it is not known. */
export interface Timeline {
  total: number;
  undated: number;
  stretches: Stretch[];
}

/** Filters that are set. */
export interface TimelineIn {
  /** by column: `VALUE`, `VALUE|VALUE`, `10..50`, `2019-07..2020` */
  where?: Record<string, string>;
}

/** A token, without its secret. */
export interface Token {
  id: string;
  name: string;
  scopes: ("read" | "write" | "download" | "tickets" | "admin")[];
  created: string;
  expires: string | null;
  revoked: boolean;
}

/** A new token. `days`: how long it is good; null: until it is revoked. */
export interface TokenIn {
  name: string;
  scopes: ("read" | "write" | "download" | "tickets" | "admin")[];
  days?: number | null;
}

/** All tokens that were ever made, by name. */
export interface TokenList {
  tokens: Token[];
}

/** A token just made. `token` is its secret: shown now and never again. */
export interface TokenMade {
  id: string;
  name: string;
  scopes: ("read" | "write" | "download" | "tickets" | "admin")[];
  created: string;
  expires: string | null;
  revoked: boolean;
  token: string;
}

/** One turn in the tree. `told` is the turn in a few words; `first` the best result it had. */
export interface TreeNode {
  number: number;
  parent: number;
  /** as it was given; null for the root */
  turn: Record<string, unknown> | null;
  told: string;
  shown: number;
  first: string | null;
  asked: Question | null;
  at: string | null;
}

/** The user's own image, to be shown to the search by its `id`; `picture` is the hash of its content. */
export interface Upload {
  id: string;
  picture: string;
  width: number;
  height: number;
  bytes: number;
  created: string;
  /** whether the library holds this very picture; null for a token that may not read */
  known: boolean | null;
  /** as that of a result */
  thumbnail?: string | null;
}

/** The version of viewfinder, and of its API. */
export interface Version {
  viewfinder: string;
  api?: "v1";
}

/** The regions of a picture that answer words. `boxes`: [x0, y0, x1, y1] as shares of width and height. */
export interface WhereInPicture {
  id: string;
  boxes: ([number, number, number, number])[];
  texts: Looked[];
}

/** A viewfinder server. All methods reject with `ViewfinderError` where it refuses. */
export class Viewfinder {
  constructor(options?: ViewfinderOptions);
  readonly server: string;
  /** A whole address of one that a result has (`thumbnail`, `events`), with more parameters. */
  address(path: string, parameters?: Record<string, string | number>): string;

  /** Conversations, the last used first. The caller's own; all conversations with the scope admin. */
  listSessions(given?: { n?: number; cursor?: string | null; q?: string; }, options?: RequestOptions): Promise<SessionPage>;

  /** Begin a conversation. A new conversation; without a name, it is called what is said first. */
  createSession(given: { idempotencyKey?: string | null; body: SessionIn; }, options?: RequestOptions): Promise<Session>;

  /** Go on with an exported conversation. A new conversation with all turns of the document. */
  importSession(given: { body: Exported; }, options?: RequestOptions): Promise<SessionTree>;

  /** A conversation and its turns. With all its branches. */
  getSession(given: { id: string; }, options?: RequestOptions): Promise<SessionTree>;

  /** Change a conversation. Another name; or another retriever, questioner, filter or leaning from now on. */
  changeSession(given: { id: string; body: SessionChange; }, options?: RequestOptions): Promise<Session>;

  /** Forget a conversation. With all its turns; pictures that were marked as found are kept. */
  deleteSession(given: { id: string; }, options?: RequestOptions): Promise<void>;

  /** A conversation as a document. As `POST /sessions/import` takes it. */
  exportSession(given: { id: string; }, options?: RequestOptions): Promise<Exported>;

  /** What was said since. The turns after one, by whomever: none where `newest` is `after`. Cheap enough to ask now and then. */
  listTurns(given: { id: string; after?: number; }, options?: RequestOptions): Promise<News>;

  /** Say something. Answers with the results at once. The question after the turn is chosen in the background and sent as an event. If another turn arrives first, no question is asked. If the connection is cut before the answer, send the turn again with the same key: it is taken once. With `parent`, it is refused (409, `moved-on`, with the turns said since) if the conversation stands elsewhere by now. */
  takeTurn(given: { id: string; fields?: string[]; sort?: string; idempotencyKey?: string | null; body: SayTurn | AnswerTurn | SkipTurn | LikeTurn | ShowTurn | RejectTurn | KeepTurn | BackToTurn; }, options?: RequestOptions): Promise<Results>;

  /** The results of a turn. In the collection as it is now, a page at a time. */
  getTurn(given: { id: string; number: number; n?: number | null; cursor?: string | null; retriever?: string | null; fields?: string[]; sort?: string; }, options?: RequestOptions): Promise<Results>;

  /** Say something else instead. On a new branch, where all turns after it are taken again; the old branch stays. */
  editTurn(given: { id: string; number: number; fields?: string[]; sort?: string; idempotencyKey?: string | null; body: SayTurn | AnswerTurn | SkipTurn | LikeTurn | ShowTurn | RejectTurn | KeepTurn | BackToTurn; }, options?: RequestOptions): Promise<Replay>;

  /** Take something back. On a new branch, where all turns after it are taken again; the old branch stays. */
  deleteTurn(given: { id: string; number: number; parent?: number | null; onConflict?: "refuse" | "branch"; fields?: string[]; sort?: string; idempotencyKey?: string | null; }, options?: RequestOptions): Promise<Replay>;

  /** The question after a turn, and the reasons for its results. `question` {"question": Question or null}; `why` {"why": {picture: reasons}}, in a few batches; `done` {}. Where addresses are signed, `question` has those of its examples, too: {"thumbnails": {picture: address}}. Where a questioner of another package failed, `question` says so: {"question": null, "problem": "the questioner ..."}. */
  turnEvents(given: { id: string; number: number; lastEventId?: string | null; }, options?: RequestOptions): AsyncIterableIterator<ServerEvent<"question" | "why" | "done", Record<string, unknown>>>;

  /** The rank of a picture. In the whole collection, whatever the filters, after a turn; from 0, as measures count. */
  pictureRank(given: { id: string; number: number; picture: string; }, options?: RequestOptions): Promise<PictureRank>;

  /** The words with which a turn is answered, as they are written. `words` {"text": the next piece}, to be joined without anything between; `done` {"text": all of it}. There are no words where a turn is answered with pictures, as it always is by retrievers that do not speak. */
  replyEvents(given: { id: string; number: number; lastEventId?: string | null; }, options?: RequestOptions): AsyncIterableIterator<ServerEvent<"words" | "done", Record<string, unknown>>>;

  /** The attributes that a conversation's retriever sees in a picture. They count when the picture is picked, unless the turn gives others. Empty if the retriever reads none. */
  pictureAttributes(given: { id: string; picture: string; }, options?: RequestOptions): Promise<PictureAttributes>;

  /** Mark the picture that was meant. Kept with the conversation as it is now, as data to learn from. */
  foundIt(given: { id: string; body: Found; }, options?: RequestOptions): Promise<FoundAnswer>;

  /** It was not that picture. Takes back that a picture was marked as the one that was meant. */
  notFoundAfterAll(given: { id: string; found: string; }, options?: RequestOptions): Promise<void>;

  /** The pictures that were meant. A line each: the picture, its rank, and the conversation that led there. */
  feedback(given?: Record<string, never>, options?: RequestOptions): Promise<string>;

  /** Search once. By words, a picture of the library, an uploaded image, words to leave out, and filters; a page at a time. */
  search(given: { body: SearchIn; }, options?: RequestOptions): Promise<SearchResults>;

  /** Tiny copies of many pictures at once. Only those that exist: the first thumbnail of a picture makes one. */
  placeholders(given: { body: PlaceholdersIn; }, options?: RequestOptions): Promise<Placeholders>;

  /** What is in some pictures, in a few words. For alternative texts of pictures without a caption: a name from the catalogue, or what is seen in them. */
  seenInPictures(given: { body: SeenIn; }, options?: RequestOptions): Promise<Seen>;

  /** The addresses of pictures, for pages of other origins. For who came with a bearer token they are signed, and need none: when those of results have ended, and for pictures that are named elsewhere (examples of a question, other pictures of a product). */
  pictureAddresses(given: { body: PicturesIn; }, options?: RequestOptions): Promise<Addresses>;

  /** The facts of a picture. Facts of the file, captions, catalogue, and what the encoder sees. */
  pictureDetails(given: { picture: string; }, options?: RequestOptions): Promise<PictureDetails>;

  /** Forget a picture. A job does it. A file below a root of the server stays; one sent over HTTP is deleted, and all copies. */
  removePicture(given: { picture: string; }, options?: RequestOptions): Promise<RemovedPicture>;

  /** A small copy of a picture. A picture's id is the hash of its content, so a copy never changes; never larger than the picture. */
  pictureThumbnail(given: { picture: string; size?: Size; ifNoneMatch?: string | null; }, options?: RequestOptions): Promise<Blob>;

  /** The file itself. The first of its files that still is the picture, for callers with the scope `download` too. A server started with `--originals` gives files to all who may read. */
  pictureOriginal(given: { picture: string; download?: boolean; ifNoneMatch?: string | null; }, options?: RequestOptions): Promise<Blob>;

  /** Look around. A page of pictures in no particular order, under filters if there are any. */
  browsePictures(given: { body: BrowseIn; }, options?: RequestOptions): Promise<Browsed>;

  /** The pictures most like one. By what it looks like; the picture itself is left out. */
  similarPictures(given: { picture: string; n?: number; cursor?: string | null; fields?: string[]; }, options?: RequestOptions): Promise<SimilarPictures>;

  /** Which regions of a picture answer which words. A grid of regions with weights that add up to 1, for each text; the first look at a picture takes longest. */
  whereInPicture(given: { picture: string; text: string[]; }, options?: RequestOptions): Promise<WhereInPicture>;

  /** Add a picture to the library. It is checked and kept at once; a job adds it. `job` is null if the library has it already. */
  addPicture(given: { body: Blob; }, options?: RequestOptions): Promise<AddedPicture>;

  /** Send an image of one's own, to be shown to the search. It does not join the library. When a token has too many, its oldest are forgotten. */
  upload(given: { body: Blob; }, options?: RequestOptions): Promise<Upload>;

  /** A small copy of an upload. Only of the caller's own uploads. */
  uploadThumbnail(given: { upload: string; size?: Size; ifNoneMatch?: string | null; }, options?: RequestOptions): Promise<Blob>;

  /** Forget an upload. Turns that showed it report that when they are read again. */
  deleteUpload(given: { upload: string; }, options?: RequestOptions): Promise<void>;

  /** What the library holds. Numbers, columns to filter by, and the folders below which pictures may be added. */
  collection(given?: Record<string, never>, options?: RequestOptions): Promise<Collection>;

  /** How far adding pictures is. Whoever adds them: a job, or somebody at a terminal of the server. `pictures` can be searched already. */
  collectionProgress(given?: Record<string, never>, options?: RequestOptions): Promise<CollectionProgress>;

  /** Look through folders that can be added. Below a root of the server; without one all of this machine's, for its own user. No files, nothing hidden. */
  listFolders(given?: { root?: number | null; at?: string; }, options?: RequestOptions): Promise<Folders>;

  /** Add a folder of the server. Below a root that the server was started with; this machine's own user may name any. It adds what is new. */
  addFolder(given: { body: AddFolder; }, options?: RequestOptions): Promise<Job>;

  /** Add the drawn pictures of the demo. Three hundred drawings, to try it with. A job draws and adds them. */
  addDemo(given?: Record<string, never>, options?: RequestOptions): Promise<Job>;

  /** Remove the drawn pictures of the demo. A job does it; other pictures stay. */
  removeDemo(given?: Record<string, never>, options?: RequestOptions): Promise<Job>;

  /** Make what a retriever reads of the pictures. Regions, for those that look at them; that takes as long as adding the pictures did. */
  prepareRetriever(given: { body: PrepareIn; }, options?: RequestOptions): Promise<Job>;

  /** Have pictures described. Only by what the server's settings say: a model, or a reader of text. Other jobs wait until it ends or pauses. */
  describePictures(given: { body: DescribeIn; }, options?: RequestOptions): Promise<Job>;

  /** Jobs, the newest first. Jobs that wait, run, or have ended. */
  listJobs(given?: { n?: number; }, options?: RequestOptions): Promise<JobPage>;

  /** One job. How far it is, and what came of it. */
  getJob(given: { id: string; }, options?: RequestOptions): Promise<Job>;

  /** A job as it goes on. `job`: as `GET /collection/jobs/{id}` gives it. */
  jobEvents(given: { id: string; }, options?: RequestOptions): AsyncIterableIterator<ServerEvent<"job", Job>>;

  /** Pause a job. After the batch that is under way, a second or two. */
  pauseJob(given: { id: string; }, options?: RequestOptions): Promise<Job>;

  /** Go on with a job. One that was paused goes on where it stopped; one that failed is tried again. */
  resumeJob(given: { id: string; }, options?: RequestOptions): Promise<Job>;

  /** End a job. Pictures that it has added by then stay. */
  cancelJob(given: { id: string; }, options?: RequestOptions): Promise<Job>;

  /** Files that could not become pictures. By their last names, each with the reason. */
  listFailures(given?: { n?: number; cursor?: string | null; }, options?: RequestOptions): Promise<Failures>;

  /** Filters with counts. The counts of a column are those under the filters of all other columns: what one would get by choosing it. */
  facets(given: { body: FacetsIn; }, options?: RequestOptions): Promise<Facets>;

  /** When pictures were taken. Counts by month, under all filters but that of `captured`. */
  timeline(given: { body: TimelineIn; }, options?: RequestOptions): Promise<Timeline>;

  /** The folders of the pictures. Those in one folder at a time, with counts under all filters but that of `under`. */
  folderTree(given: { body: FolderTreeIn; }, options?: RequestOptions): Promise<FolderTree>;

  /** Where pictures were taken. Clusters of an area, under all filters but those of `latitude` and `longitude`. */
  places(given: { body: PlacesIn; }, options?: RequestOptions): Promise<Places>;

  /** What a typed filter may become. Names of filters, or values of one, as they are typed among words (`a dog camera:canon`). */
  suggestFilters(given?: { text?: string; n?: number; }, options?: RequestOptions): Promise<SuggestedFilters>;

  /** What is sold in some pictures. Name, price and link, by the usual names of columns (such as "product name", "sale price" and "link"). */
  productsOfPictures(given: { body: ProductsIn; }, options?: RequestOptions): Promise<Products>;

  /** The retrievers that a conversation can have. With what each reads of the pictures, and the reason if it cannot be used. */
  listRetrievers(given?: Record<string, never>, options?: RequestOptions): Promise<Retrievers>;

  /** The attributes of a picture. As they would count in a conversation. Give one of the two pictures. */
  retrieverAttributes(given: { name: string; like?: string | null; show?: string | null; }, options?: RequestOptions): Promise<PictureAttributes>;

  /** The questioners that a conversation can have. With what is missing for each that cannot be used here; `none` asks nothing. */
  listQuestioners(given?: Record<string, never>, options?: RequestOptions): Promise<Questioners>;

  /** Open a picture on the server's machine. In the program that its system has for it, or its folder; only for somebody who sits at that machine. */
  openPicture(given: { picture: string; body: OpenIn; }, options?: RequestOptions): Promise<void>;

  /** Albums. The caller's own; with the scope admin those of everybody. */
  listAlbums(given?: Record<string, never>, options?: RequestOptions): Promise<AlbumList>;

  /** Make an album. Empty. 409 where there is one of this name; the problem has its id as `album`. */
  createAlbum(given: { body: AlbumIn; }, options?: RequestOptions): Promise<Album>;

  /** An album and its pictures. A page of them at a time, in the order in which they were added; those that left the library are left out. */
  getAlbum(given: { id: string; n?: number; cursor?: string | null; }, options?: RequestOptions): Promise<AlbumPage>;

  /** Rename an album. Its pictures stay. */
  renameAlbum(given: { id: string; body: AlbumIn; }, options?: RequestOptions): Promise<Album>;

  /** Delete an album. No picture is lost: they stay in the library, and in other albums. */
  deleteAlbum(given: { id: string; }, options?: RequestOptions): Promise<void>;

  /** Put pictures into an album, or take them out. A picture is in an album once, where it was put first. */
  changeAlbum(given: { id: string; body: AlbumPicturesIn; }, options?: RequestOptions): Promise<AlbumChanged>;

  /** The marks of some pictures. Favourites, stars, and the albums in which they are. */
  readMarks(given: { ids: string; }, options?: RequestOptions): Promise<Marks>;

  /** Mark pictures as favourites, or with stars. The caller's own marks; those with the scope admin share theirs with this machine. */
  markPictures(given: { body: MarksIn; }, options?: RequestOptions): Promise<Marks>;

  /** Take pictures along. Says where the file is to be fetched. A `zip` wants the scope `download`, too. */
  createExport(given: { body: ExportIn; }, options?: RequestOptions): Promise<Export>;

  /** The file of an export. Made while it is sent. Pictures whose files are gone are told in a text in the archive. If a file goes or changes in the middle of it the connection is cut: what has come is no whole archive. */
  getExport(given: { id: string; }, options?: RequestOptions): Promise<Blob>;

  /** Log in: keep a token in a cookie. Sets a cookie that scripts cannot read and other sites cannot use. */
  logIn(given: { body: Login; }, options?: RequestOptions): Promise<void>;

  /** Log out: forget the cookie. The token itself stays good. */
  logOut(given?: Record<string, never>, options?: RequestOptions): Promise<void>;

  /** Who calls, and what they may do. Needs no token, so that a page knows whether to ask for one. */
  whoAmI(given?: Record<string, never>, options?: RequestOptions): Promise<Me>;

  /** All tokens, without their secrets. Revoked and expired ones too. */
  listTokens(given?: Record<string, never>, options?: RequestOptions): Promise<TokenList>;

  /** Make a token. The answer is the only place where the secret is ever shown. */
  addToken(given: { body: TokenIn; }, options?: RequestOptions): Promise<TokenMade>;

  /** Revoke a token. From now on it is good for nothing (within seconds, where several servers share a database). */
  revokeToken(given: { name: string; }, options?: RequestOptions): Promise<void>;

  /** Make a token for a visitor's browser. It may look, search and talk, and ends within a day, or with your token. The visitor's conversations are theirs alone; with the next ticket for the same `visitor` they go on. They are deleted a day after the last ticket. */
  addTicket(given: { body: TicketIn; }, options?: RequestOptions): Promise<TicketMade>;

  /** End all signed addresses. Those of pictures and events that were given out so far, whosever they are, and all tickets; tokens stay good. */
  endAddresses(given?: Record<string, never>, options?: RequestOptions): Promise<void>;

  /** Whether it lives. The process answers; no token is needed. */
  live(given?: Record<string, never>, options?: RequestOptions): Promise<Health>;

  /** Whether it can serve. The database answers and the pictures can be read; 503 says in `checks` what is not so. No token is needed. `changes`, where it is among them, says why the server goes on with the pictures that it had. */
  ready(given?: Record<string, never>, options?: RequestOptions): Promise<Health>;

  /** Numbers for Prometheus. Requests by route and status, how long turns take, open conversations, jobs. */
  metrics(given?: Record<string, never>, options?: RequestOptions): Promise<string>;

  /** Which viewfinder this is. No token is needed. */
  version(given?: Record<string, never>, options?: RequestOptions): Promise<Version>;
}
