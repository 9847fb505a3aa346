"""The way of several talks through MAI's network, turn by turn: BSA, MIO, MSA (Sec. 4.2). In torch.

A talk goes from picture to picture: at turn n the user is at picture n (0 is the reference) and says what to change. In
its last turn it may look back. Axes: b talks, p pictures of a talk, n turns, l words, t tokens, d numbers of a query.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import NamedTuple

import torch
from jaxtyping import Bool, Float, Int
from torch import Tensor

from viewfinder.retrievers.mai.images import PictureComponents
from viewfinder.retrievers.mai.memory import MemoryState
from viewfinder.retrievers.mai.network import FusedTokens, MaiNetwork
from viewfinder.retrievers.mai.settings import Treatment
from viewfinder.retrievers.mai.text import EmbeddedTexts

NOWHERE = -1
"""In place of the place of a picture: the talk goes back to none."""


class ModificationDialogues(NamedTuple):
    """Talks of the same number of turns.

    Attributes:
        pictures_bp: the pictures in the order of the turns, by their rows; the last is what is wanted in the end.
        words_bnl: what is said at each, by numbers of words.
        seen_bp: whether anything is seen of a picture when it is named: not where it is only described.
        captioned_bp: whether its caption is read, when it is named and when it is looked for.
        back_b: the place of the picture to which the last turn goes back; `NOWHERE`: to none.
        recalled_bp: whose captions, or pictures, the last turn recalls.
        recall_bl: these captions as one text, by numbers of words.
        drawn_b: an earlier place for each talk, for the treatment "random".
    """

    pictures_bp: Int[Tensor, "b p"]
    words_bnl: Int[Tensor, "b n l"]
    seen_bp: Bool[Tensor, "b p"]
    captioned_bp: Bool[Tensor, "b p"]
    back_b: Int[Tensor, " b"]
    recalled_bp: Bool[Tensor, "b p"]
    recall_bl: Int[Tensor, "b l"]
    drawn_b: Int[Tensor, " b"]

    @property
    def turns(self) -> int:
        """How many."""
        return self.words_bnl.shape[1]


class CaptionedGallery(NamedTuple):
    """All pictures that talks are about, and their captions by numbers of words."""

    looks: PictureComponents
    captions_nl: Int[Tensor, "n l"]

    def captions(self, rows_b: Int[Tensor, " b"], read_b: Bool[Tensor, " b"]) -> Int[Tensor, "b l"]:
        """The captions of some pictures, nothing where they are not read."""
        return self.captions_nl[rows_b] * read_b[:, None]

    def without_captions(self) -> CaptionedGallery:
        """The same pictures, of which nobody wrote anything."""
        return self._replace(captions_nl=torch.zeros_like(self.captions_nl))


class EncodedTurns(NamedTuple):
    """What came of a turn: the query, and the tokens after its modification was read."""

    queries_bd: Float[Tensor, "b d"]
    fused: FusedTokens


def encode_dialogues(
    network: MaiNetwork,
    shelf: CaptionedGallery,
    talks: ModificationDialogues,
    heard: Callable[[EmbeddedTexts], EmbeddedTexts] = lambda text: text,
) -> Iterator[EncodedTurns]:
    """The talks turn by turn; `heard`: what becomes of modifications on the way (noise, in training)."""
    memory, settings = network.memory, network.settings
    carried: MemoryState = memory.begin()
    for turn in range(talks.turns):
        tokens_bth = memory.tokens(carried, network.begin(len(talks.back_b)))
        modification = heard(network.text(talks.words_bnl[:, turn]))
        looks, captions_bl = select_reference(shelf, talks, turn, settings.rollback)
        if settings.stages == "two":
            first = network.text(captions_bl if settings.captions else captions_bl[:, :0])
            seen = network.read(tokens_bth, first, network.images(looks))  # BSA
            carried = memory.after(carried, seen.tokens_bth)  # MIO
            # MSA reads the tokens of BSA as they are, as the published code does; the paper: those that MIO kept.
            tokens_bth = seen.tokens_bth
            if turn == talks.turns - 1:
                tokens_bth = recall_pictures(network, shelf, talks, tokens_bth)
            fused = network.read(tokens_bth, modification, None)  # MSA
        else:
            fused = network.read(tokens_bth, modification, network.images(looks))
            carried = memory.after(carried, fused.tokens_bth)
            if settings.stages == "sprc":
                fused = network.read(fused.tokens_bth, modification, None)
        yield EncodedTurns(network.query(fused), fused)


def select_reference(
    shelf: CaptionedGallery, talks: ModificationDialogues, turn: int, treatment: Treatment
) -> tuple[PictureComponents, Int[Tensor, "b l"]]:
    """The pictures that a turn is read with, and their captions: those it is said of, or those it goes back to.

    The last turn of a talk that goes back reads, by `treatment` (table 9): the earlier picture ("replace"), the one
    it is said of ("ignore"), any of the earlier ones ("random"), the mean of both ("blend").
    """
    place_b = torch.full_like(talks.back_b, turn)
    goes_b = (talks.back_b != NOWHERE) & (turn == talks.turns - 1)
    if treatment != "ignore":
        place_b = torch.where(goes_b, talks.drawn_b if treatment == "random" else talks.back_b, place_b)
    here_b = torch.arange(len(place_b), device=place_b.device)
    rows_b = talks.pictures_bp[here_b, place_b]
    looks = _seen(shelf.looks.of(rows_b), talks.seen_bp[here_b, place_b])
    if treatment == "blend":
        latest = shelf.looks.of(talks.pictures_bp[:, turn])
        looks = looks.mixed(latest, goes_b)
    return looks, shelf.captions(rows_b, talks.captioned_bp[here_b, place_b])


def recall_pictures(
    network: MaiNetwork, shelf: CaptionedGallery, talks: ModificationDialogues, tokens_bth: Float[Tensor, "b t h"]
) -> Float[Tensor, "b t h"]:
    """The tokens after earlier pictures were recalled: by one text of their captions, or one picture after another."""
    if not bool(talks.recalled_bp.any()):
        return tokens_bth
    if network.settings.recall == "captions":
        some_b = (talks.recall_bl != 0).any(dim=1)
        if not network.settings.captions or not bool(some_b.any()):
            return tokens_bth
        read = network.read(tokens_bth[some_b], network.text(talks.recall_bl[some_b]), None)
        return tokens_bth.index_put((some_b,), read.tokens_bth)
    for place in range(talks.turns):
        some_b = talks.recalled_bp[:, place]
        if not bool(some_b.any()):
            continue
        rows_b = talks.pictures_bp[some_b, place]
        captions_bl = shelf.captions(rows_b, talks.captioned_bp[some_b, place] & network.settings.captions)
        image = network.images(_seen(shelf.looks.of(rows_b), talks.seen_bp[some_b, place]))
        read = network.read(tokens_bth[some_b], network.text(captions_bl), image)
        tokens_bth = tokens_bth.index_put((some_b,), read.tokens_bth)
    return tokens_bth


def _seen(looks: PictureComponents, seen_b: Bool[Tensor, " b"]) -> PictureComponents:
    """Zeros where nothing is seen."""
    return PictureComponents(looks.whole_bx * seen_b[:, None], looks.regions_bry * seen_b[:, None, None])
