"""The API as a module for JavaScript, with its types, from the OpenAPI document.

    python benchmarks/javascript_client.py

writes `viewfinder-client.js` and `viewfinder-client.d.ts` into the folder from which servers give them to pages. A test
fails while they are not those of the code.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from viewfinder.library import Library
from viewfinder.server.app import create_app
from viewfinder.server.document import Document, list_operations
from viewfinder.server.settings import ServerSettings
from viewfinder.store.settings import Settings

FOLDER = Path(__file__).parents[1] / "src" / "viewfinder" / "server" / "static" / "embed"
SCRIPT, TYPES = FOLDER / "viewfinder-client.js", FOLDER / "viewfinder-client.d.ts"
WRITTEN = "// Written from the OpenAPI document by benchmarks/javascript_client.py: change that, not this file.\n"

JSON, EVENTS, FORM = "application/json", "text/event-stream", "multipart/form-data"
FILES = ("image/", "application/zip", "application/octet-stream")
WORD = re.compile(r"[A-Za-z_$][\w$]*")


@dataclass(frozen=True)
class Parameter:
    """One of an operation's parameters: `name` in the API, `word` in JavaScript, `place` path, query or header."""

    name: str
    word: str
    place: str
    required: bool
    kind: str
    said: str


@dataclass(frozen=True)
class Method:
    """An operation as a method. `answer`: json, text, blob, events or nothing; `body`: json, form or "" for none."""

    word: str
    verb: str
    path: str
    parameters: tuple[Parameter, ...]
    body: str
    body_kind: str
    answer: str
    answer_kind: str
    said: str


def list_methods(document: Document) -> list[Method]:
    """All operations of a document, in its order."""
    return [_read_method(verb, path, operation) for verb, path, operation in list_operations(document)]


def _read_method(verb: str, path: str, operation: Document) -> Method:
    parameters = tuple(_read_parameter(given) for given in operation.get("parameters", ()))
    body = operation.get("requestBody", {}).get("content", {})
    status = min(status for status in operation["responses"] if status.startswith("2"))
    content = operation["responses"][status].get("content", {})
    if any(name.startswith(FILES) for name in content):
        answer, kind = "blob", "Blob"
    elif JSON in content:
        answer, kind = "json", write_type(content[JSON].get("schema", {}))
    elif EVENTS in content:
        answer, kind = "events", _name_event(content[EVENTS]["schema"])
    else:
        answer, kind = ("text", "string") if content else ("nothing", "void")
    told = " ".join((f"{operation.get('summary', '')}. " + operation.get("description", "")).split())
    return Method(
        word=to_camel(operation["operationId"]),
        verb=verb.upper(),
        path=path,
        parameters=parameters,
        body="json" if JSON in body else "form" if FORM in body else "",
        body_kind=write_type(body[JSON]["schema"]) if JSON in body else "Blob",
        answer=answer,
        answer_kind=kind,
        said=told,
    )


def _read_parameter(given: Mapping[str, Any]) -> Parameter:
    return Parameter(
        name=given["name"],
        word=to_camel(given["name"]),
        place=given["in"],
        required=bool(given.get("required")),
        kind=write_type(given["schema"]),
        said=" ".join(given.get("description", "").split()),
    )


def to_camel(name: str) -> str:
    """A name as JavaScript writes names.

    >>> to_camel("take_turn"), to_camel("Idempotency-Key"), to_camel("n")
    ('takeTurn', 'idempotencyKey', 'n')
    """
    first, *rest = re.split(r"[_-]", name.lower())
    return first + "".join(part.capitalize() for part in rest)


def write_type(schema: Mapping[str, Any]) -> str:  # noqa: PLR0911 (one line a kind of schema)
    """A schema as TypeScript has it.

    >>> write_type({"anyOf": [{"type": "array", "items": {"type": "integer"}}, {"type": "null"}]})
    'number[] | null'
    """
    if "$ref" in schema:
        return str(schema["$ref"].rsplit("/", 1)[-1])
    if "anyOf" in schema:
        return " | ".join(dict.fromkeys(write_type(one) for one in schema["anyOf"]))
    if "enum" in schema:
        return " | ".join(json.dumps(value) for value in schema["enum"])
    if "const" in schema:
        return json.dumps(schema["const"])
    match schema.get("type"):
        case "array" if "prefixItems" in schema:
            return f"[{', '.join(write_type(one) for one in schema['prefixItems'])}]"
        case "array":
            inner = write_type(schema.get("items", {}))
            return f"{inner}[]" if re.fullmatch(r"\w+(\[\])*", inner) else f"({inner})[]"
        case "object" | None if "properties" in schema:
            return "{ " + " ".join(_write_fields(schema)) + " }"
        case "object":
            values = list(schema.get("patternProperties", {}).values())
            others = schema.get("additionalProperties")
            values += [others] if isinstance(others, Mapping) else []
            return f"Record<string, {write_type(values[0]) if values else 'unknown'}>"
        case "integer" | "number":
            return "number"
        case "string" | "boolean" | "null" as plain:
            return str(plain)
        case _:
            return "unknown"


def _write_fields(schema: Mapping[str, Any]) -> Iterator[str]:
    required = set(schema.get("required", ()))
    for name, kind in schema["properties"].items():
        word = name if WORD.fullmatch(name) else json.dumps(name)
        yield f"{word}{'' if name in required else '?'}: {write_type(kind)};"


def _name_event(schema: Mapping[str, Any]) -> str:
    names = " | ".join(json.dumps(name) for name in schema["properties"]["event"]["enum"])
    return f"ServerEvent<{names}, {write_type(schema['properties']['data'].get('contentSchema', {}))}>"


# -- the two files


def write_types(document: Document) -> str:
    """The declarations."""
    lines = [WRITTEN, TYPES_HEAD.strip("\n"), ""]
    for name, shape in sorted(document["components"]["schemas"].items()):
        lines += [*_comment(shape.get("description", ""), ""), *_declare(name, shape), ""]
    lines += ["/** A viewfinder server. All methods reject with `ViewfinderError` where it refuses. */"]
    lines += ["export class Viewfinder {", *CLASS_TYPES.strip("\n").splitlines()]
    for method in list_methods(document):
        lines += ["", *_comment(method.said, "  ")]
        given = _write_given(method)
        optional = "" if _needs(method) else "?"
        result = f"AsyncIterableIterator<{method.answer_kind}>" if method.answer == "events" else None
        result = result or f"Promise<{method.answer_kind}>"
        first = f"given{optional}: {given}, " if given else "given?: Record<string, never>, "
        lines.append(f"  {method.word}({first}options?: RequestOptions): {result};")
    return "\n".join([*lines, "}", ""])


def _declare(name: str, shape: Mapping[str, Any]) -> Iterator[str]:
    if "properties" not in shape:
        yield f"export type {name} = {write_type(shape)};"
        return
    yield f"export interface {name} {{"
    for kind, line in zip(shape["properties"].values(), _write_fields(shape), strict=True):
        yield from _comment(kind.get("description", ""), "  ")
        yield f"  {line}"
    yield "}"


def _needs(method: Method) -> bool:
    """Whether a method cannot be called without anything."""
    return bool(method.body) or any(parameter.required for parameter in method.parameters)


def _write_given(method: Method) -> str:
    fields = [f"{it.word}{'' if it.required else '?'}: {it.kind};" for it in method.parameters]
    fields += [f"body: {method.body_kind};"] if method.body else []
    return f"{{ {' '.join(fields)} }}" if fields else ""


def _comment(text: str, indent: str) -> list[str]:
    said = " ".join(text.split()).replace("*/", "* /")
    return [f"{indent}/** {said} */"] if said else []


def write_script(document: Document) -> str:
    """The module."""
    lines = [WRITTEN, SCRIPT_HEAD.strip("\n")]
    for method in list_methods(document):
        told = {
            "path": [it.word for it in method.parameters if it.place == "path"],
            "query": [it.word for it in method.parameters if it.place == "query"],
            "headers": {it.name: it.word for it in method.parameters if it.place == "header"},
        }
        how = {name: value for name, value in told.items() if value}
        how |= {"body": method.body} if method.body else {}
        how |= {"answer": method.answer} if method.answer != "json" else {}
        call = "stream" if method.answer == "events" else "ask"
        lines += ["", *_comment(method.said, "  ")]
        lines.append(f"  {method.word}(given = {{}}, options = {{}}) {{")
        lines.append(f'    return this.#{call}("{method.verb}", "{method.path}", {json.dumps(how)}, given, options);')
        lines.append("  }")
    return "\n".join([*lines, "}", ""])


TYPES_HEAD = """
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
"""

CLASS_TYPES = """
  constructor(options?: ViewfinderOptions);
  readonly server: string;
  /** A whole address of one that a result has (`thumbnail`, `events`), with more parameters. */
  address(path: string, parameters?: Record<string, string | number>): string;
"""

SCRIPT_HEAD = """
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
      const lines = (rest + value).split(/\\r?\\n/);
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
    this.server = String(server).replace(/\\/+$/, "");
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
    const there = path.replace(/\\{(\\w+)\\}/g, (_, name) => encodeURIComponent(given[name]));
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
"""


def make_document() -> Document:
    """The document of a server as it is without options."""
    app = create_app(Library(Path("library"), Settings("starter")), ServerSettings.model_validate({}))
    return app.openapi()


def main() -> None:
    """Writes both files."""
    document = make_document()
    FOLDER.mkdir(exist_ok=True)
    SCRIPT.write_text(write_script(document), encoding="utf-8")
    TYPES.write_text(write_types(document), encoding="utf-8")


if __name__ == "__main__":
    main()
