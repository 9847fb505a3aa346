"""Server-sent events in the OpenAPI document: what each of them is."""

from __future__ import annotations

from typing import Any


def event_schema(*names: str, data: str | None = None) -> dict[str, Any]:
    """An event of one of these names, whose data are JSON: an object, or the shape of that name."""
    content = {"type": "object"} if data is None else {"$ref": f"#/components/schemas/{data}"}
    return {
        "type": "object",
        "properties": {
            "event": {"enum": list(names)},
            "data": {"type": "string", "contentMediaType": "application/json", "contentSchema": content},
        },
        "required": ["event", "data"],
    }
