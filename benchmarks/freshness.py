"""Which speed figures are older than a change to what they measure?

A benchmark of speed signs its figures: beside them, under "measured", its result file keeps the names and the content
hashes of the source files that they measure. `report.py --check` compares these with the files as they are now. Hashes
leave out comments, docstrings and empty lines, and need no history, so that a shallow clone will do.

A figure that cannot be measured again at once is put in overdue.toml, with the reason: it is then listed on every
check, and no failure.
"""

from __future__ import annotations

import ast
import hashlib
import io
import json
import tokenize
import tomllib
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[1]
RESULTS = ROOT / "benchmarks" / "results"
OVERDUE = ROOT / "benchmarks" / "overdue.toml"
SOURCE = "src/viewfinder"


@dataclass(frozen=True)
class Figure:
    """Figures that are measured together.

    Attributes:
        result: the name of their result file, without .json.
        part: the table that holds them there, dotted where it is in another one; "all": the file is measured at once.
        files: globs below src/viewfinder, or "/" and a path from the root: the few files whose speed this is.
        command: what measures them again, in `benchmarks/`.
    """

    result: str
    part: str
    files: tuple[str, ...]
    command: str

    @property
    def name(self) -> str:
        """The name of the figures, such as "speed/finding"."""
        return f"{self.result}/{self.part}"


SENTENCES = ("encoders/starter/sentence_network.py", "encoders/starter/sentences.onnx")
STARTER = ("encoders/starter/encoder.py", "encoders/starter/network.onnx", *SENTENCES)
MODELS = (
    "encoders/onnx.py",
    *(f"encoders/onnx_models/{name}.py" for name in ("encoder", "graphs", "pixels", "tokens")),
)
DECODING = ("pictures/decode.py", "pictures/sandbox.py", "pictures/worker.py")
ADDING = ("store/ingest.py", *DECODING, *STARTER)
TURN = (
    *(f"session/{name}.py" for name in ("session", "resolve", "evidence", "said")),
    "retrievers/composer.py",
    *(
        f"search/{name}.py"
        for name in ("gallery", "scores", "ranking", "judging", "kernels", "parts", "verdicts", "written_words")
    ),
    "search/own_scale.py",
)
QUESTIONS = ("questioners/pool.py", "questioners/information_gain/*.py")
TALKING = tuple(f"server/conversations/{name}.py" for name in ("conversations", "open_sessions", "questions", "routes"))
SERVER = ("server/access/gate.py", *TALKING)
PAGE = ("index.html", "js/main.js", "js/conversation.js", "js/grid.js", "css/base.css", "css/grid.css")
INDEX = tuple(
    f"search/{name}.py"
    for name in ("approximate", "index_files", "indexed_pictures", "samples", "turn_scores", "kernels")
)
SCALE = (10_000, 50_000, 200_000, 1_000_000, 3_000_000, 10_000_000)
REGION_SCORES = ("search/region_scores.py", "retrievers/shared/numpy_network.py")


def figures_of(result: str, command: str, parts: Mapping[str, tuple[str, ...]]) -> Iterator[Figure]:
    """The figures of one file; `command` says {part}, or {last} for what stands after the dot."""
    for part, files in parts.items():
        yield Figure(result, part, files, command.format(part=part, last=part.rpartition(".")[2]))


FIGURES = (
    *figures_of(
        "speed",
        "speed.py PICTURES --only {part}",
        {
            "indexing": ADDING,
            "large_pictures": ADDING,
            "batches": STARTER,
            "memory": ("store/ingest.py", "store/store.py", "pictures/sandbox.py", "pictures/worker.py"),
            "finding": (*TURN, *STARTER),
            "asking": ("session/session.py", *QUESTIONS),
            "long_talks": (*TURN, *QUESTIONS, *SENTENCES),
            "cold_start": (
                "cli/app.py",
                "cli/library.py",
                "library.py",
                "session/finding.py",
                "store/snapshot.py",
                *STARTER,
            ),
        },
    ),
    *figures_of(
        "serving",
        "serving.py PICTURES --only {part}",
        {
            "turns": (*SERVER, *TURN, *SENTENCES),
            "crowd": (*SERVER, *TURN, *SENTENCES),
            "workers": (*SERVER, "server/workers.py"),
            "idle": (*TALKING, "server/running.py"),
            "memory": ("server/conversations/open_sessions.py", "session/states.py", "byte_cache.py"),
            "indexing": (*SERVER, "server/jobs/worker.py", "server/live_library.py", "store/ingest.py"),
            "paint": tuple(f"server/static/{name}" for name in PAGE),
        },
    ),
    *figures_of(
        "page",
        "page.py PICTURES --only {part}",
        {
            "cold": (*(f"server/static/{name}" for name in (*PAGE, "js/early.js", "js/actions.js")), "server/pages.py"),
            "enter": (
                *(f"server/static/{name}" for name in ("js/actions.js", "js/grid.js", "js/say.js")),
                *SERVER,
                *TURN,
            ),
        },
    ),
    *figures_of(
        "feedback",
        "feedback.py DATA",
        {"all": ("retrievers/fashioniq/numpy_network.py", "retrievers/fashioniq/retriever.py")},
    ),
    *figures_of("iteration", "iteration.py", {"all": ("retrievers/mai/memory.py", "retrievers/mai/numpy_network.py")}),
    *figures_of("asking", "asking.py DATA", {"all": QUESTIONS}),
    *figures_of(
        "twins", "twins.py", {"all": ("retrievers/chatir/numpy_network.py", "retrievers/shared/numpy_network.py")}
    ),
    *figures_of("ranks", "ranks.py", {"all": ("metrics/ranks.py",)}),
    *figures_of(
        "late_interaction",
        "late_interaction.py FEATURES --only {part}",
        dict.fromkeys(("product", "large", "million", "step"), REGION_SCORES),
    ),
    *figures_of(
        "capacity",
        "capacity.py --only {part}",
        {"turns": (*TURN, *SENTENCES), "small": ("search/shard_scores.py", "search/verdicts.py")},
    ),
    *figures_of(
        "scale",
        "scale.py DATA --work FOLDER --sizes {last}",
        dict.fromkeys([f"sizes.{size}" for size in SCALE], (*INDEX, "store/half_rows.py", *SENTENCES)),
    ),
    *figures_of(
        "sharded",
        "sharded.py DATA --work FOLDER --only {part}",
        {
            "shards": (*INDEX, "search/shard_scores.py"),
            "recall": INDEX,
            "messages": ("search/shard_scores.py",),
            "actors": (*INDEX, "search/shard_scores.py", "cluster/searching.py", "cluster/part_indexes.py"),
        },
    ),
    *figures_of(
        "encoders",
        "encoders.py PICTURES --only {part}",
        {
            "finding": (*MODELS, "cli/library.py", "cli/options.py"),
            "indexing": (
                *MODELS,
                "encoders/transformers.py",
                "encoders/checkpoints.py",
                "encoders/checkpoint_sources.py",
                "encoders/checkpoint_versions.py",
            ),
        },
    ),
    *figures_of(
        "since",
        "since.py DATA --before SOURCE --libraries BEFORE NOW",
        {
            "all": (
                "search/indexed_pictures.py",
                "search/turn_scores.py",
                "session/chances.py",
                "session/evidence.py",
                "store/half_rows.py",
                *SENTENCES,
            )
        },
    ),
    *figures_of("sentences", "sentences.py DATA --work FOLDER", {"all": SENTENCES}),
    *figures_of(
        "start",
        "start.py LIBRARY LIBRARY --before SOURCE",
        {
            "all": (
                "cli/app.py",
                "cli/options.py",
                "cli/output.py",
                "encoders/starter/encoder.py",
                *SENTENCES,
                "pictures/__init__.py",
                "store/growing_arrays.py",
                "store/checksums.py",
            )
        },
    ),
    *figures_of("installed", "installed.py", {"all": ("/pyproject.toml",)}),
)
"""All speed figures of the committed results."""


def content_hash(path: Path) -> str:
    """A short hash of what a file does: of Python without comments, docstrings and empty lines."""
    return _hash(path.read_bytes(), path.suffix == ".py")


@cache  # several figures name the same files
def _hash(content: bytes, is_python: bool) -> str:
    if is_python:
        content = "\n".join(code_lines(content.decode("utf-8"))).encode("utf-8")
    return hashlib.sha256(content).hexdigest()[:12]


def code_lines(source: str) -> list[str]:
    """The lines of Python that hold code, without comments and docstrings.

    >>> code_lines('def f():  # why\\n    "What it is."\\n\\n    return "#"\\n')
    ['def f():', '    return "#"']
    """
    lines = source.splitlines()
    for token in tokenize.generate_tokens(io.StringIO(source).readline):
        if token.type == tokenize.COMMENT:
            row, column = token.start
            lines[row - 1] = lines[row - 1][:column]
    for node in ast.walk(ast.parse(source)):
        match node:
            # A string that stands alone does nothing, wherever it is.
            case ast.Expr(value=ast.Constant(value=str()), lineno=first, end_lineno=int(last)):
                lines[first - 1 : last] = [""] * (last - first + 1)
    return [line.rstrip() for line in lines if line.strip()]


def hashes_of(files: Iterable[str], root: Path = ROOT) -> dict[str, str]:
    """The content hashes of the files that globs of a figure name, by their path from the root."""
    found = {}
    for pattern in files:
        base, glob = (root, pattern[1:]) if pattern.startswith("/") else (root / SOURCE, pattern)
        for path in base.glob(glob):
            if path.is_file() and path.suffix != ".pyc":
                found[path.relative_to(root).as_posix()] = content_hash(path)
    return dict(sorted(found.items()))


def sign(results: dict[str, Any], name: str, parts: Iterable[str] = ("all",), *, root: Path = ROOT) -> None:
    """Keeps beside figures that were just measured what they measure; `name` is that of the result file."""
    signed = results.setdefault("measured", {})
    for figure in FIGURES:
        if figure.result == name and figure.part in set(parts):
            signed[figure.part] = {"files": list(figure.files), "hashes": hashes_of(figure.files, root)}


def why_stale(signed: Mapping[str, Any] | None, root: Path = ROOT) -> str:
    """Names the files that have changed since figures were signed; "" if none has."""
    if signed is None:
        return "it does not say which files it measured"
    before, now = signed["hashes"], hashes_of(signed["files"], root)
    changed = sorted(path for path in before.keys() | now.keys() if before.get(path) != now.get(path))
    if not changed:
        return ""
    more = f" and {len(changed) - 2} more" if len(changed) > 2 else ""
    return f"{', '.join(path.removeprefix(f'{SOURCE}/') for path in changed[:2])}{more} changed since"


def stale_figures(figures: Iterable[Figure] = FIGURES, results: Path = RESULTS, root: Path = ROOT) -> dict[str, str]:
    """One line for each figure that is older than a change to what it measures, by its name."""
    found = {}
    for figure in figures:
        file = results / f"{figure.result}.json"
        kept = json.loads(file.read_text(encoding="utf-8")) if file.is_file() else {}
        if figures_in(kept, figure.part) and (why := why_stale(kept.get("measured", {}).get(figure.part), root)):
            found[figure.name] = f"{figure.name}: {why}; run python benchmarks/{figure.command}"
    return found


def figures_in(kept: Mapping[str, Any], part: str) -> Any:
    """The part of a result file; None if it has not been measured."""
    found: Any = kept
    for key in part.split(".") if part != "all" else ():
        found = found.get(key) if isinstance(found, dict) else None
    return found


def check_freshness(stale: Mapping[str, str], overdue: Mapping[str, str]) -> tuple[list[str], list[str]]:
    """Lines to print (stale figures that wait), and lines to fail with (others, and those that wait in vain)."""
    waiting = [f"overdue ({overdue[name]}): {line}" for name, line in stale.items() if name in overdue]
    wrong = [f"stale: {line}" for name, line in stale.items() if name not in overdue]
    wrong += [f"{name}: is up to date; take it out of benchmarks/overdue.toml" for name in overdue if name not in stale]
    return waiting, wrong


def read_overdue(file: Path = OVERDUE) -> dict[str, str]:
    """Why figures that are known to be stale wait, by their name."""
    return {str(name): str(why) for name, why in tomllib.loads(file.read_text(encoding="utf-8")).items()}
