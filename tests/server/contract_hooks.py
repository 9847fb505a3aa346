"""For the program `schemathesis` (SCHEMATHESIS_HOOKS): what would saw off the branch that it sits on is left out."""

from __future__ import annotations

from typing import Any

import schemathesis

TOKEN = "contract"
"""The name of the token that all requests come with."""


@schemathesis.hook
def before_call(context: Any, case: Any, kwargs: Any) -> None:
    """Its own token is not revoked: all that follows would be answered with 401."""
    if case.operation.path.endswith("/tokens/{name}") and case.path_parameters.get("name") == TOKEN:
        case.path_parameters["name"] = "another"
