"""The API as a page of docs, from its OpenAPI document: `python benchmarks/api_page.py > docs/api.md`."""

from __future__ import annotations

import sys
from collections import defaultdict
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from viewfinder.library import Library
from viewfinder.server.access.bodies import SMALL_BODY
from viewfinder.server.app import create_app
from viewfinder.server.document import Document, list_operations
from viewfinder.server.settings import ServerSettings
from viewfinder.store.settings import Settings
from viewfinder.studies.extension import STUDIES

HEAD = """# The API

Written from the OpenAPI document (`/api/v1/openapi.json` on a running server) by
`python benchmarks/api_page.py > docs/api.md`.

{}

The scopes in brackets are what a token needs; a server on loopback asks for none. A body has at most 64 kB, unless
another limit is named. Besides what is listed, any operation may answer 401, 403, 429 (see `Retry-After`), 408, 413
or 503 with a problem document.
"""


def write_page(made: Document) -> str:
    """The document for people: operations by subject, then the shapes they take and give, in Markdown."""
    lines = [HEAD.format(made["info"]["description"].strip())]
    by_subject: dict[str, list[tuple[str, str, Document]]] = defaultdict(list)
    for method, path, operation in list_operations(made):
        by_subject[operation.get("tags", ["other"])[0]].append((method, path, operation))
    for subject, operations in by_subject.items():
        lines += [f"## {subject.capitalize()}", ""]
        for method, path, operation in operations:
            lines += _operation(method, path, operation)
    return "\n".join([*lines, *_shapes(made["components"]["schemas"])]) + "\n"


def _operation(method: str, path: str, operation: Document) -> Iterator[str]:
    scopes = [scope for one in operation.get("security", ()) for scope in one["token"]]
    yield f"### `{method.upper()} {path}`"
    yield ""
    needed = f" [{' and '.join(scopes)}]" if scopes else ""
    told = f"{operation.get('summary', '')}{needed}"
    detail = " ".join(operation.get("description", "").split())
    yield f"{told}. {detail}".strip()
    yield ""
    for parameter in operation.get("parameters", ()):
        if parameter["in"] == "query":
            yield f"- `?{parameter['name']}` {_type(parameter['schema'])}{_said(parameter)}"
        if parameter["in"] == "header":
            yield f"- header `{parameter['name']}`{_said(parameter)}"
    for content, body in operation.get("requestBody", {}).get("content", {}).items():
        form = "" if content == "application/json" else f" as `{content}`"
        yield f"- takes {_type(body.get('schema', {}))}{form}{_size(operation['requestBody']['x-max-bytes'])}"
    for status, answer in operation["responses"].items():
        if status < "300":
            kinds = [
                f"{_type(body.get('schema', {}))}{'' if content == 'application/json' else f' as `{content}`'}"
                for content, body in answer.get("content", {}).items()
            ]
            yield f"- gives {status} {' or '.join(kinds)}".rstrip()
    yield ""


def _size(most: int) -> str:
    """The limit of a body, where it is not that of most."""
    if most == SMALL_BODY:
        return ""
    return f", at most {most >> 20} MB" if most >= 1 << 20 else f", at most {most >> 10} kB"


def _shapes(shapes: Mapping[str, Document]) -> Iterator[str]:
    yield "## Shapes"
    yield ""
    for name, shape in sorted(shapes.items()):
        if not {"properties", "enum"} & shape.keys() or name.startswith("Body_"):
            continue
        yield f"### {name}"
        yield ""
        if "description" in shape:
            yield " ".join(shape["description"].split())
            yield ""
        if "enum" in shape:
            yield f"- {_type(shape)}"
        required = set(shape.get("required", ()))
        for field, kind in shape.get("properties", {}).items():
            optional = "" if field in required else " (optional)"
            yield f"- `{field}` {_type(kind)}{optional}{_said(kind)}"
        yield ""


def _said(described: Mapping[str, Any]) -> str:
    return f": {' '.join(described['description'].split())}" if described.get("description") else ""


def _type(schema: Mapping[str, Any]) -> str:  # noqa: PLR0911 (one line a kind of schema)
    if "$ref" in schema:
        name = schema["$ref"].rsplit("/", 1)[-1]
        return "a file" if name.startswith("Body_") else f"[{name}](#{name.lower()})"
    if "anyOf" in schema:
        return " or ".join(dict.fromkeys(_type(one) for one in schema["anyOf"]))
    if "enum" in schema:
        return " or ".join(f"`{value}`" for value in schema["enum"])
    if "const" in schema:
        return f"`{schema['const']}`"
    if schema.get("type") == "array":
        return f"list of {_type(schema.get('items', {}))}"
    if schema.get("type") == "object":
        inner = schema.get("additionalProperties")
        return f"object of {_type(inner)}" if isinstance(inner, Mapping) else "object"
    return str(schema.get("format") or schema.get("type", "anything"))


def main() -> None:
    """Prints the page."""
    app = create_app(Library(Path("library"), Settings("starter")), ServerSettings(), extensions=STUDIES)
    sys.stdout.write(write_page(app.openapi()))


if __name__ == "__main__":
    main()
