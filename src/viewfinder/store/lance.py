"""LanceDB, imported when tables are first touched."""

from __future__ import annotations

import sys
import threading
from functools import cache
from importlib.util import find_spec, module_from_spec
from typing import Any

_IMPORTING = threading.Lock()


CLIENT = "lance_namespace_urllib3_client"
"""A REST client that nothing here calls; LanceDB imports the models in it."""


@cache
def import_lancedb() -> Any:
    """LanceDB, imported in half the time: without its REST client."""
    with _IMPORTING:
        if CLIENT in sys.modules or (found := find_spec(CLIENT)) is None:
            import lancedb

            return lancedb
        # An empty package in its place: its own code makes a hundred methods that check their arguments, in 0.6 s.
        sys.modules[CLIENT] = module_from_spec(found)
        try:
            import lancedb
        finally:
            del sys.modules[CLIENT]  # whatever imports the client itself gets all of it
    return lancedb
