"""What is known of one picture, and which pictures are like it."""

from __future__ import annotations

from pathlib import PurePath
from typing import TYPE_CHECKING, Any

from viewfinder.server.discreet import to_unicode
from viewfinder.server.images.known import find_picture
from viewfinder.server.schemas.pictures import Facts, PictureDetails

if TYPE_CHECKING:
    from viewfinder.index import Gallery
    from viewfinder.library import Library


def describe_picture(library: Library, picture: str, *, originals: bool) -> PictureDetails:
    """Facts of the file, what people wrote, what the encoder sees.

    Raises:
        Problem: 404, there is no such picture.
    """
    gallery, row = find_picture(library, picture)
    snapshot = gallery.snapshot
    names = dict.fromkeys(to_unicode(PurePath(path).name) for path in snapshot.paths(row))
    return PictureDetails(
        id=picture,
        names=list(names),
        facts=_facts(snapshot.facts(row)),
        captions=[to_unicode(caption) for caption in snapshot.captions(row)],
        attributes={
            to_unicode(name): [to_unicode(value) for value in values]
            for name, values in snapshot.attributes(row).items()
        },
        tags=_tags(gallery, row),
        original=originals,
    )


def _facts(facts: dict[str, Any]) -> Facts:
    texts = {
        name: None if facts[name] is None else to_unicode(facts[name]) for name in ("captured", "camera", "folder")
    }
    return Facts(**{name: facts[name] for name in ("width", "height", "format", "bytes")}, **texts)


def _tags(gallery: Gallery, row: int) -> dict[str, tuple[str, float]]:
    """The likeliest answer of each group; groups of which nothing fits best are left out."""
    found = {}
    for name, probability_1t in gallery.tags.probabilities(gallery.snapshot.matrix_nd[row : row + 1]).items():
        best = int(probability_1t[0].argmax())
        chance = float(probability_1t[0, best])
        if chance > 1.0 - float(probability_1t[0].sum()):
            found[name] = (gallery.tags.group(name).tags[best].name, round(chance, 3))
    return found
