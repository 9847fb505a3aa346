"""An ONNX image-text model behind the `Encoder` protocol; ONNX Runtime, Pillow and tokenizers are all it needs.

Networks are loaded when they are first needed, so that searching loads that of texts alone. Pictures and texts go
through them one at a time, on all cores: a batch is no faster on a CPU, and networks in 8 bits scale their numbers by
the largest of a batch, so that a picture's vector would depend on its company.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from functools import cached_property, lru_cache
from pathlib import Path
from threading import RLock
from typing import TypeVar

import numpy as np
from jaxtyping import Float

from viewfinder.encoders.base import REGIONS, Calibration, Encoded, Pixels, Vocabulary, grid_boxes, unit_rows
from viewfinder.encoders.onnx_models.graphs import (
    Graph,
    PictureGraph,
    TextGraph,
    check_widths,
    open_graph,
    read_picture_graph,
    read_text_graph,
)
from viewfinder.encoders.onnx_models.layouts import ModelFiles, find_model_files, read_settings
from viewfinder.encoders.onnx_models.pixels import PixelSettings, find_seen, prepare_pixels, read_pixel_settings
from viewfinder.encoders.onnx_models.tokens import TextTokenizer
from viewfinder.encoders.onnx_models.version import compute_version, hash_weights, list_weights
from viewfinder.encoders.origins import Origin, Pin, find_pinned_weights
from viewfinder.errors import EncoderMismatch
from viewfinder.pictures import AtMost, Fit
from viewfinder.processors import count_processors

MAX_DECODED_SIDE = 768
"""In pixels, as for checkpoints of transformers: the vectors of an exported model are those of its checkpoint."""

TILES = 3
"""A picture's regions, where its network gives none, are those of 3 x 3 crops, each standing for 2 x 2 regions."""

Given = TypeVar("Given")
Made = TypeVar("Made")


def load_onnx_encoder(
    folder: Path,
    precision: str | None = None,
    *,
    pin: Pin | None = None,
    called: str | None = None,
    commit: str | None = None,
) -> OnnxEncoder:
    """The encoder in a folder of one of the three layouts, in a precision if it has several.

    `pin`: what a library knows of its files. `called` and `commit`: the name and the state on the hub of a model that
    lies in a folder of its cache.

    Raises:
        BadInput: a file is missing or unreadable, or asks for what cannot be done here.
        EncoderMismatch: files belong to different models.
    """
    return OnnxEncoder(find_model_files(folder.expanduser(), precision), pin=pin, called=called, commit=commit)


class OnnxEncoder:
    """A model of two ONNX graphs. Its raw vectors are those of the shared space.

    Its name is that of the folder (`onnx:clip-vit-base-patch32`), its version that of what it computes (`version`).
    What scores mean, and a vocabulary, were not measured for these models.
    """

    def __init__(
        self,
        files: ModelFiles,
        *,
        threads: int | None = None,
        pin: Pin | None = None,
        called: str | None = None,
        commit: str | None = None,
    ) -> None:
        precision = "" if files.precision == "fp32" else f"?{files.precision}"
        self.name: str = called or f"onnx:{files.folder.resolve().name}{precision}"
        self.fit: Fit = AtMost(MAX_DECODED_SIDE)
        self.calibration: Calibration | None = None
        self.vocabulary: Vocabulary | None = None
        self._files, self._pin, self._commit = files, pin, commit
        self._threads = threads or count_processors()
        needs_config = files.layout != "rclip"
        self._config = read_settings(files.folder / "config.json", needed=needs_config)
        self._pixel_settings = read_pixel_settings(files)
        self._tokenizer = TextTokenizer(files, self._config)
        self._loading = RLock()
        self._one = lru_cache(maxsize=4096)(self._read_text)

    @cached_property
    def version(self) -> str:
        """Identifies weights, and how pictures and texts are prepared: vectors of equal version can be compared."""
        return compute_version(self.origin.weights, self._pixel_settings, self._tokenizer)

    @cached_property
    def origin(self) -> Origin:
        """Where its files lie, and what its weights are. Files that are as they were pinned are not read for it."""
        graphs = dict.fromkeys((self._files.visual, self._files.textual))
        listed = [file for graph in graphs for file in list_weights(graph)]
        files = {str(file.relative_to(self._files.folder).as_posix()): file for file in listed}
        weights = find_pinned_weights(self._pin, files) or hash_weights(list(files.values()))
        return Origin(None if self._commit else self._files.folder, self._commit, files, weights)

    @property
    def raw_version(self) -> str:
        """As `version`: there is no head here."""
        return self.version

    @property
    def sentences_version(self) -> str:
        """As `version`: there is no head here."""
        return self.version

    @cached_property
    def width(self) -> int:
        """Numbers in a vector of the shared space."""
        known = self._textual if "_textual" in self.__dict__ else self._open_texts(is_brief=True)
        size = known.graph.outputs[known.gives]
        return size[-1] if size and size[-1] else len(known(*self._tokenizer("", length=known.length)))

    @property
    def _projects(self) -> bool:
        """Whether this family has projections after its towers: all but SigLIP's, and those that do not say."""
        kind = str(self._config.get("model_type", ""))
        return self._files.layout == "transformers.js" and bool(kind) and not kind.startswith("siglip")

    @cached_property
    def _both(self) -> Graph:
        """The one graph that has both towers."""
        return open_graph(self._files.visual, on_gpu=True)

    @property
    def _is_one_graph(self) -> bool:
        return self._files.visual == self._files.textual

    @cached_property
    def _textual(self) -> TextGraph:
        return self._open_texts()

    def _open_texts(self, *, is_brief: bool = False) -> TextGraph:
        """The network of texts; `is_brief`: to look at it, not to use it."""
        graph = self._both if self._is_one_graph else open_graph(self._files.textual, is_brief=is_brief)
        return read_text_graph(graph, projects=self._projects, shape=self._pixel_settings.shape)

    @cached_property
    def _visual(self) -> tuple[PictureGraph, PixelSettings]:
        file = self._files.visual
        graph = read_picture_graph(
            self._both if self._is_one_graph else open_graph(file, on_gpu=True), projects=self._projects
        )
        try:
            settings = self._pixel_settings.fill_in(graph.height, graph.width)
        except EncoderMismatch as error:
            raise EncoderMismatch(f"{file}: {error}; they belong to different models") from error
        size = graph.graph.outputs[graph.gives]
        if size and size[-1]:
            check_widths(size[-1], self.width, file)
        return graph, settings

    def _load(self, tower: Callable[[], Made]) -> Made:
        """A tower, which one thread loads while others wait."""
        with self._loading:
            return tower()

    def pictures(self, batch: Sequence[Pixels], *, regions: bool = False) -> Encoded:
        """Unit vectors of upright pictures, and of their 36 regions (`region_boxes`).

        Regions come from the network's patches where the export gives them, else from 9 crops: 10 times the work.
        """
        graph, settings = self._load(lambda: self._visual)
        if not len(batch):
            empty = np.zeros((0, self.width), np.float32)
            return Encoded(empty, np.zeros((0, REGIONS, self.width), np.float32) if regions else None)

        def encode(pixels: Pixels) -> list[np.ndarray]:
            made = self._look(graph, prepare_pixels(pixels, settings), regions=regions)
            if regions and graph.regions is None:
                made.append(self._look_at_tiles(graph, pixels, settings))
            return made

        blocks = self._spread(encode, batch)
        global_bd = unit_rows(np.stack([made[0] for made in blocks]))
        check_widths(global_bd.shape[1], self.width, self._files.visual)
        return Encoded(global_bd, unit_rows(np.stack([made[1] for made in blocks])) if regions else None)

    def _look(self, graph: PictureGraph, pixels_3hw: Float[np.ndarray, "3 h w"], *, regions: bool) -> list[np.ndarray]:
        """The vector of one picture, and those of its regions if the graph gives them; a fixed batch repeats it."""
        pixels_b3hw = np.repeat(pixels_3hw[None], graph.batch or 1, axis=0)
        return [rows[0] for rows in graph(pixels_b3hw, regions=regions)]

    def _look_at_tiles(self, graph: PictureGraph, pixels: Pixels, settings: PixelSettings) -> Float[np.ndarray, "r d"]:
        """Vectors of 36 regions: those of the crops that they lie in."""
        height, width = pixels.shape[:2]
        tiles = []
        for x0, y0, x1, y1 in divide_box(find_seen(width, height, settings), TILES).tolist():
            left, top = min(int(x0), width - 1), min(int(y0), height - 1)
            tile = pixels[top : max(round(y1), top + 1), left : max(round(x1), left + 1)]
            tiles.append(self._look(graph, prepare_pixels(tile, settings), regions=False)[0])
        tiles_yxd = np.stack(tiles).reshape(TILES, TILES, -1)
        cells = round(REGIONS**0.5) // TILES
        return tiles_yxd.repeat(cells, axis=0).repeat(cells, axis=1).reshape(REGIONS, -1)

    def _spread(self, work: Callable[[Given], Made], given: Sequence[Given]) -> list[Made]:
        """The work on all of these, one a core."""
        if len(given) == 1 or self._threads == 1:
            return [work(one) for one in given]
        with ThreadPoolExecutor(min(self._threads, len(given))) as pool:
            return list(pool.map(work, given))

    def project(self, raw_nd: Float[np.ndarray, "n raw"]) -> Float[np.ndarray, "n d"]:
        """The vectors at unit length: this model's raw vectors lie in the shared space."""
        return unit_rows(np.asarray(raw_nd, np.float32))

    def words(self, texts: Sequence[str]) -> Float[np.ndarray, "n d"]:
        """Unit vectors of texts, cut at the model's length."""
        if not len(texts):
            return np.zeros((0, self.width), np.float32)
        self._load(lambda: self._textual)
        return np.stack(self._spread(self._one, texts))

    def _read_text(self, text: str) -> Float[np.ndarray, " d"]:
        graph = self._load(lambda: self._textual)
        ids_l, said = self._tokenizer(text, length=graph.length)
        return unit_rows(graph(ids_l, said))

    def sentences(self, texts: Sequence[str]) -> Float[np.ndarray, "n s"]:
        """As `words`: there is no head here."""
        return self.words(texts)

    def background(self, pictures_nd: Float[np.ndarray, "n d"]) -> Float[np.ndarray, " n"]:
        """Zeros: no bank of captions was measured for these models."""
        return np.zeros(len(pictures_nd), np.float32)

    def region_boxes(self, width: int, height: int) -> Float[np.ndarray, "r 4"]:
        """Boxes (x0, y0, x1, y1) of a picture's 36 regions in its upright pixels, row by row.

        They divide the part that the network sees: if pictures are cropped, the crop; if its patches do not fill the
        input, the filled part.
        """
        graph, settings = self._load(lambda: self._visual)
        patch = self._config.get("vision_config", {}).get("patch_size", 1) if graph.regions is not None else 1
        return divide_box(find_seen(width, height, settings, patch=patch), round(REGIONS**0.5))


def divide_box(box: tuple[float, float, float, float], side: int) -> Float[np.ndarray, "r 4"]:
    """Boxes of side x side parts of a box, row by row."""
    x0, y0, x1, y1 = box
    offset_4 = np.array([x0, y0, x0, y0], dtype=np.float32)
    scale_4 = np.array([x1 - x0, y1 - y0, x1 - x0, y1 - y0], dtype=np.float32)
    return np.asarray(grid_boxes(1, 1, side) * scale_4 + offset_4, dtype=np.float32)
