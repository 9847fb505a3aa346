"""`viewfinder bench`: how fast this library answers on this machine."""

from __future__ import annotations

import time
from collections.abc import Callable
from functools import partial
from statistics import median
from typing import TYPE_CHECKING, Annotated

import typer

from viewfinder.cli.options import JsonOption, LibraryOption, open_library
from viewfinder.cli.output import print_json, print_line
from viewfinder.errors import UnknownName

if TYPE_CHECKING:
    from viewfinder.library import Library

ROUNDS = 40


def bench(
    what: Annotated[str, typer.Argument(metavar="WHAT", help="What to measure: find.")] = "find",
    library: LibraryOption = None,
    as_json: JsonOption = False,
) -> int:
    """Measure speed on your library; changes nothing."""
    if what not in BENCHES:
        raise UnknownName(f"no bench is called {what!r}; there are: {', '.join(BENCHES)}")
    figures = BENCHES[what](open_library(library))
    if as_json:
        print_json({"bench": what, **figures})
    else:
        for name, value in figures.items():
            print_line(
                f"{name.replace('_', ' '):28} {value:10.3f}" if isinstance(value, float) else f"{name:28} {value:>10,}"
            )
    return 0


def bench_find(library: Library) -> dict[str, float | int]:
    """A warm `find`, beside its least cost: encoding the words and one exact scan. Medians, in ms.

    The three are measured in turns, each with words that no cache has seen.
    """
    from viewfinder.index import dot_scores

    gallery = library.gallery()
    encoder = gallery.encoder
    vector_d = encoder.words(["a picture"])[0]
    library.find("warm up")

    def scan() -> None:
        dot_scores(gallery.snapshot.matrix_nd, vector_d)

    words_ms, scan_ms, find_ms = [], [], []
    for number in range(ROUNDS):
        words_ms.append(_ms(partial(encoder.words, [f"picture {number} of a red car in a street"])))
        scan_ms.append(_ms(scan))
        find_ms.append(_ms(partial(library.find, f"picture {number} of a blue boat on a lake")))
    least = median(words_ms) + median(scan_ms)
    return {
        "pictures": len(gallery),
        "words_p50_ms": median(words_ms),
        "scan_p50_ms": median(scan_ms),
        "find_p50_ms": median(find_ms),
        "find_over_words_and_scan": median(find_ms) / least,
    }


BENCHES: dict[str, Callable[..., dict[str, float | int]]] = {"find": bench_find}


def _ms(action: Callable[[], object]) -> float:
    started = time.perf_counter()
    action()
    return (time.perf_counter() - started) * 1000
