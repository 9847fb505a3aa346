"""What the graph of a network takes and gives, found out by looking: exports differ in names, types and fixed sizes.

An export that cannot be used is refused in one line that names the file and what it has.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from jaxtyping import Float, Int64

from viewfinder.encoders.onnx import inference_session
from viewfinder.errors import BadInput, EncoderMismatch

REGIONS_OUTPUT = "region_embeds"
"""The output of graphs that `viewfinder export` made: vectors of the 36 regions (b, 36, d)."""

_UNPROJECTED = "pooler_output"
"""A tower's own vector. Of SigLIP it is the vector of the shared space, of CLIP it lacks the projection."""

PICTURE_OUTPUTS = (
    "image_embeds", "image_embeddings", "image_embedding", "l2norm_image_embeddings", "embedding", "output",
    _UNPROJECTED,
)  # fmt: skip
TEXT_OUTPUTS = (
    "text_embeds", "text_embeddings", "text_embedding", "l2norm_text_embeddings", "embedding", "output", _UNPROJECTED,
)  # fmt: skip
"""Names of the vector that is wanted, the best first; an only output may have any name."""

_KINDS = {
    "tensor(float)": np.float32,
    "tensor(float16)": np.float16,
    "tensor(double)": np.float64,
    "tensor(int64)": np.int64,
    "tensor(int32)": np.int32,
}

_TOKENS, _MASK, _KIND_OF_TOKEN, _PLACES = "input_ids", "attention_mask", "token_type_ids", "position_ids"
_OTHER_TOKENS = ("text", "input", "tokens")

MAX_WIDTH = 65_536
"""Numbers of a vector: an output that has more is no vector of a picture or text."""


@dataclass(frozen=True, eq=False)
class Graph:
    """One network: its session, and what it takes and gives, by name; sizes are None where they are free."""

    file: Path
    session: Any
    inputs: Mapping[str, tuple[type, tuple[int | None, ...]]]
    outputs: Mapping[str, tuple[int | None, ...] | None]

    def run(self, outputs: list[str], feed: Mapping[str, np.ndarray]) -> list[np.ndarray]:
        """The outputs for these inputs; of a graph with both towers only the one that is needed is computed.

        Raises:
            BadInput: ONNX Runtime refuses them, or fails.
        """
        import onnxruntime

        options = onnxruntime.RunOptions()
        options.only_execute_path_to_fetches = True
        try:
            return self.session.run(outputs, dict(feed), options)  # type: ignore[no-any-return]
        except Exception as error:  # ONNX Runtime has a class an error code
            raise BadInput(f"{self.file}: {_first_line(error)}; give another export of the model") from error


def open_graph(file: Path, *, on_gpu: bool = False, is_brief: bool = False) -> Graph:
    """Loads a network; `is_brief`: it will be run once at most.

    Raises:
        BadInput: the file is damaged, cut short, or needs what this ONNX Runtime lacks.
    """
    try:
        session = inference_session(file, threads=1, on_gpu=on_gpu, is_brief=is_brief)
        given, made = session.get_inputs(), session.get_outputs()
    except Exception as error:
        raise BadInput(
            f"{file} cannot be loaded ({_first_line(error)}): fetch it again, or give another export of the model"
        ) from error
    return Graph(
        file,
        session,
        {one.name: (_KINDS.get(one.type, type(None)), _sizes(one.shape)) for one in given},
        {one.name: _sizes(one.shape) or None for one in made},
    )


def _sizes(shape: Any) -> tuple[int | None, ...]:
    return tuple(size if isinstance(size, int) and size > 0 else None for size in shape or ())


def _first_line(error: Exception) -> str:
    lines = str(error).strip().splitlines() or [type(error).__name__]
    return " ".join(lines[0].split())[:200]


@dataclass(frozen=True, eq=False)
class PictureGraph:
    """A network that reads pictures: `takes` is its input, `gives` the vector, `regions` those of regions, if any.

    `batch` is None where any number of pictures may be given at once.
    """

    graph: Graph
    takes: str
    gives: str
    regions: str | None
    kind: type
    batch: int | None
    height: int | None
    width: int | None
    beside: Mapping[str, np.ndarray]

    def __call__(self, pixels_b3hw: Float[np.ndarray, "b 3 h w"], *, regions: bool = False) -> list[np.ndarray]:
        """Vectors of as many pictures as the graph takes, of any length; with `regions` those of regions too."""
        names = [self.gives, *([self.regions] if regions and self.regions else [])]
        made = self.graph.run(names, {**self.beside, self.takes: pixels_b3hw.astype(self.kind, copy=False)})
        return [self._check(name, rows, len(pixels_b3hw)) for name, rows in zip(names, made, strict=True)]

    def _check(self, name: str, rows: np.ndarray, count: int) -> np.ndarray:
        wanted = 2 if name == self.gives else 3
        if rows.ndim != wanted or len(rows) != count or not 0 < rows.shape[-1] <= MAX_WIDTH:
            raise BadInput(
                f"{self.graph.file}: {name} has shape {rows.shape} for {count} pictures, which are no vectors; "
                "give another export of the model"
            )
        return rows.astype(np.float32, copy=False)


@dataclass(frozen=True, eq=False)
class TextGraph:
    """A network that reads texts, one at a time; `length` is None where it takes any."""

    graph: Graph
    takes: str
    gives: str
    mask: str | None
    kind: type
    batch: int
    length: int | None
    others: tuple[str, ...]
    beside: Mapping[str, np.ndarray]

    def __call__(self, ids_l: Int64[np.ndarray, " l"], filled_from: int) -> Float[np.ndarray, " d"]:
        """The vector of a text, of any length; `filled_from`: where the filling begins, if there is any."""
        ids_bl = np.repeat(ids_l[None], self.batch, axis=0)
        feed = {**self.beside, self.takes: ids_bl.astype(self.kind)}
        if self.mask:
            is_said_bl = np.zeros_like(ids_bl)
            is_said_bl[:, :filled_from] = 1
            feed[self.mask] = is_said_bl.astype(self.graph.inputs[self.mask][0])
        for name in self.others:
            values_bl = np.zeros_like(ids_bl) if name == _KIND_OF_TOKEN else np.arange(len(ids_l)) + 0 * ids_bl
            feed[name] = values_bl.astype(self.graph.inputs[name][0])
        [rows] = self.graph.run([self.gives], feed)
        if rows.ndim != 2 or len(rows) != self.batch or not 0 < rows.shape[-1] <= MAX_WIDTH:
            raise BadInput(
                f"{self.graph.file}: {self.gives} has shape {rows.shape} for a text, which is no vector; "
                "give another export of the model"
            )
        row_d: Float[np.ndarray, " d"] = rows[0].astype(np.float32)
        return row_d


def read_picture_graph(graph: Graph, *, projects: bool) -> PictureGraph:
    """How a graph reads pictures; `projects`: its family has a projection, without which a vector is not comparable.

    Raises:
        BadInput: it takes no pictures, needs more than pictures, or gives no vector of one.
    """
    pictures = {
        name: (kind, sizes) for name, (kind, sizes) in graph.inputs.items() if _is_real(kind) and len(sizes) == 4
    }
    if len(pictures) != 1:
        raise BadInput(f"{graph.file} takes {_list_inputs(graph)}, none of which is a batch of pictures{_OTHER_EXPORT}")
    [(takes, (kind, (batch, channels, height, width)))] = pictures.items()
    if channels not in {3, None}:
        raise BadInput(f"{graph.file} takes pictures of {channels} colours, not of 3{_OTHER_EXPORT}")
    texts = {name: given for name, given in graph.inputs.items() if name != takes}
    gives = _choose_output(graph, PICTURE_OUTPUTS, projects, "picture")
    regions = REGIONS_OUTPUT if REGIONS_OUTPUT in graph.outputs else None
    beside: dict[str, np.ndarray] = {
        name: np.zeros([n or 1 for n in sizes], kind) for name, (kind, sizes) in _only_tokens(graph, texts)
    }
    return PictureGraph(graph, takes, gives, regions, kind, batch, height, width, beside)


def read_text_graph(graph: Graph, *, projects: bool, shape: tuple[int, int] | None) -> TextGraph:
    """How a graph reads texts; `shape`: height and width of the pictures that one with both towers takes besides.

    Raises:
        BadInput: it takes no tokens, needs more than tokens, or gives no vector of a text.
    """
    pictures = {name for name, (kind, sizes) in graph.inputs.items() if _is_real(kind) and len(sizes) == 4}
    texts = {name: given for name, given in graph.inputs.items() if name not in pictures}
    takes = next((name for name in (_TOKENS, *_OTHER_TOKENS) if name in texts), None)
    takes = takes or (next(iter(texts)) if len(texts) == 1 else None)
    if takes is None or len(texts[takes][1]) != 2:
        raise BadInput(f"{graph.file} takes {_list_inputs(graph)}, none of which are tokens of a text{_OTHER_EXPORT}")
    _only_tokens(graph, texts)
    kind, (batch, length) = texts[takes]
    gives = _choose_output(graph, TEXT_OUTPUTS, projects, "text")
    beside: dict[str, np.ndarray] = {}
    for name in pictures:
        picture_kind, sizes = graph.inputs[name]
        free = (1, 3, *(shape or (224, 224)))
        beside[name] = np.zeros([size or other for size, other in zip(sizes, free, strict=True)], picture_kind)
    others = tuple(name for name in (_KIND_OF_TOKEN, _PLACES) if name in texts)
    mask = _MASK if _MASK in texts else None
    return TextGraph(graph, takes, gives, mask, kind, batch or 1, length, others, beside)


_OTHER_EXPORT = ": give another export of the model"


def _is_real(kind: type) -> bool:
    return kind in {np.float32, np.float16, np.float64}


def _only_tokens(
    graph: Graph, inputs: Mapping[str, tuple[type, tuple[int | None, ...]]]
) -> list[tuple[str, tuple[type, tuple[int | None, ...]]]]:
    """Those of inputs, of which all must be understood. Raises BadInput: one is neither tokens nor beside them."""
    known = {_TOKENS, *_OTHER_TOKENS, _MASK, _KIND_OF_TOKEN, _PLACES}
    for name, (kind, sizes) in inputs.items():
        is_alone = len(inputs) == 1
        if (name not in known and not is_alone) or kind not in {np.int64, np.int32} or len(sizes) != 2:
            raise BadInput(f"{graph.file} takes {name}, which viewfinder does not know how to give{_OTHER_EXPORT}")
    return list(inputs.items())


def _list_inputs(graph: Graph) -> str:
    return ", ".join(list(graph.inputs)[:6]) or "nothing"


def _choose_output(graph: Graph, names: tuple[str, ...], projects: bool, of: str) -> str:
    vectors = [name for name, sizes in graph.outputs.items() if sizes is None or len(sizes) == 2]
    usable = [name for name in vectors if not (projects and name == _UNPROJECTED)]
    chosen = next((name for name in names if name in usable), usable[0] if len(usable) == 1 else None)
    if chosen is not None:
        return chosen
    given = ", ".join(list(graph.outputs)[:6]) or "nothing"
    if _UNPROJECTED in vectors:
        raise BadInput(
            f"{graph.file} gives {given}: the vector of a {of} before its projection, which compares with nothing; "
            "give an export with the projection"
        )
    raise BadInput(f"{graph.file} gives {given}, none of which is the vector of a {of}{_OTHER_EXPORT}")


def check_widths(pictures: int, texts: int, file: Path) -> None:
    """Raises EncoderMismatch if vectors of pictures and of texts cannot be compared."""
    if pictures != texts:
        raise EncoderMismatch(
            f"{file} gives pictures {pictures} numbers, and texts get {texts}: "
            "the two graphs belong to different models; fetch the folder again"
        )
