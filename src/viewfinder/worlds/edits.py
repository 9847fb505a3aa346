"""A scene, the same with one thing changed, and the instruction that leads from one to the other, as InstructPix2Pix
has them (Brooks et al. 2023). Everything said is true of the pictures.

>>> edit = sample_edit(seed=1, number=1)
>>> edit.before != edit.after, edit.change in CHANGES
(True, True)

Edits of scenes as files, in the layout of InstructPix2Pix's data set.

0000001/<seed>_0.jpg, <seed>_1.jpg   a scene, and the same with one thing changed
0000001/prompt.json                  {"input": caption, "edit": instruction, "output": caption, "change": what kind}
0000001/metadata.jsonl               {"seed": ...}; no CLIP figures, nothing had to be filtered
truth.jsonl                          everything that is known of each picture
preview.png                          the first pairs on a sheet; .viewfinderignore says that it is no picture of the set
seeds.json                           which pairs there are; written last
world.json                           how the world was made; written first
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import closing
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from viewfinder.data.records import write_json
from viewfinder.data.truth import TRUTH_FILE, truth_line
from viewfinder.errors import BadInput, ViewfinderError
from viewfinder.worlds.drawing.draw import SHEET_PICTURES, caption_sheet, draw_scene
from viewfinder.worlds.grammar import (
    Speaker,
    colour_word,
    described,
    knows_pattern,
    noun,
    other_colours,
    speaker_for,
    spot,
    stands,
    the,
)
from viewfinder.worlds.kinds import PATTERNS, PLACES, WIDTH
from viewfinder.worlds.making import (
    MOST_PICTURES,
    QUALITY,
    Progress,
    WorldPlan,
    WorldReport,
    claim_folder,
    make_in_order,
)
from viewfinder.worlds.records import picture_truth
from viewfinder.worlds.scene import MARGIN, Scene, Thing, in_drawing_order, is_box_free, kind_fits, sample_scene
from viewfinder.worlds.stock import DRAWN, Product, Stock, stock_of
from viewfinder.worlds.words import (
    LIGHT_WORDS,
    PATTERN_ADJECTIVES,
    PLACE_NOUNS,
    WHERE,
    join_with_and,
    spot_words,
    with_article,
)

FEWEST_LEFT = 2
"""Things that a scene has at least after one was taken away."""

_TRIES = 12


@dataclass(frozen=True)
class Edit:
    """One thing changed.

    Attributes:
        before, after: the scenes; they have one number, and the same background unless that is what changes.
        change: what kind of change it is, one of `CHANGES`.
        instruction: how to come from one to the other, as a command: "make the umbrella blue".
        input, output: a caption of each, in the same words but for what is changed.
    """

    before: Scene
    after: Scene
    change: str
    instruction: str
    input: str
    output: str


@dataclass(frozen=True)
class _Draft:
    """An edit before captions are written: the things these speak of, `old` before and `new` after it.

    `tells` is what they must say besides looks: "pattern" or "spot" of the first of them, "light"; or "".
    """

    before: Scene
    after: Scene
    instruction: str
    old: tuple[Thing, ...]
    new: tuple[Thing, ...]
    tells: str = ""


def sample_edit(*, seed: int, number: int, stock: Stock = DRAWN) -> Edit:
    """Edit `number` of a world; it depends on nothing but the two numbers and what the things are taken from.

    Raises:
        ViewfinderError: nothing in the scene can be changed (of the stocks there are, that never happens).
    """
    scene = sample_scene(seed=seed, number=number, stock=stock)
    talk = speaker_for(scene, "edit")
    for _ in range(_TRIES):
        for change in talk.rng.sample(tuple(CHANGES), len(CHANGES)):
            draft = CHANGES[change](talk)
            if draft is not None:
                before, after = _captions(draft)
                return Edit(draft.before, draft.after, change, draft.instruction, before, after)
    raise ViewfinderError(f"scene {number} of seed {seed}: nothing can be changed here; take another seed")


# Changes of one thing


def _colour(talk: Speaker) -> _Draft | None:
    """A thing in another colour; of products, another one of the kind."""
    thing = talk.thing()
    colours = other_colours(talk, thing)
    named = the(talk, thing)
    new = _recoloured(talk, thing, talk.one(colours)) if colours and named else None
    if new is None:
        return None
    colour = colour_word(talk, new)
    ways = (f"make {named} {colour}", f"turn {named} {colour}", f"change the colour of {named} to {colour}")
    return _replaced(talk, thing, new, talk.one(ways))


def _recoloured(talk: Speaker, thing: Thing, colour: str) -> Thing | None:
    shop = talk.scene.stock.shop
    if shop is None:
        return replace(thing, colour=colour)
    return _exchanged(talk, thing, [one for one in shop.shelves[thing.kind][colour] if one.pattern == thing.pattern])


def _pattern(talk: Speaker) -> _Draft | None:
    """A thing with another pattern; of products, another one of the kind and colour."""
    thing = talk.thing()
    named = the(talk, thing)
    if not named or not knows_pattern(talk, thing):
        return None
    new = _repatterned(talk, thing)
    if new is None:
        return None
    words = PATTERN_ADJECTIVES[new.pattern]
    ways = (f"make {named} {talk.one(words)}", f"change {named} to {with_article(talk.one(words))} one")
    return replace(_replaced(talk, thing, new, talk.one(ways)), tells="pattern")


def _repatterned(talk: Speaker, thing: Thing) -> Thing | None:
    shop = talk.scene.stock.shop
    if shop is None:
        return replace(thing, pattern=talk.one([name for name in PATTERNS if name != thing.pattern]))
    alike = shop.shelves[thing.kind][thing.colour]
    return _exchanged(talk, thing, [one for one in alike if one.pattern not in ("", thing.pattern)])


def _exchanged(talk: Speaker, old: Thing, products: Sequence[Product]) -> Thing | None:
    """One of some products where the thing is; None where it cannot be cut out, or would hide something.

    It may have another shape, but keeps its size, its foot and its third of the picture.
    """
    product = talk.rng.choice(products) if products else None
    stock = talk.scene.stock
    if product is None or stock.shop is None or not stock.shop.aspect(old.kind, product.id):
        return None
    (before, _), (medium, aspect) = stock.extent(old.kind, old.product), stock.extent(old.kind, product.id)
    height = round(old.box[3] * medium / before)
    width = min(round(height * aspect), WIDTH - 2 * MARGIN)
    left = min(max(round(old.centre[0] - width / 2), MARGIN), WIDTH - MARGIN - width)
    box = (left, old.bottom - height, width, height)
    new = replace(old, colour=product.colour, pattern=product.pattern, product=product.id, box=box)
    return new if new.column == old.column and _has_room(talk.scene, old, new) else None


def _moved(talk: Speaker) -> _Draft | None:
    """A thing in another third of the picture, at the same height."""
    thing = talk.thing()
    named = the(talk, thing, hide="column")
    _, y, width, height = thing.box
    lefts = (talk.rng.randint(MARGIN, WIDTH - MARGIN - width) for _ in range(_TRIES))
    moved = (replace(thing, box=(left, y, width, height)) for left in lefts)
    new = next((new for new in moved if new.column != thing.column and _has_room(talk.scene, thing, new)), None)
    if not named or new is None:
        return None
    to = "to the middle" if new.column == "middle" else f"to the {new.column}"
    at = "in the middle" if new.column == "middle" else f"on the {new.column}"
    draft = _replaced(talk, thing, new, talk.one((f"move {named} {to}", f"put {named} {at}", f"shift {named} {to}")))
    return replace(draft, tells="spot")


def _has_room(scene: Scene, old: Thing, new: Thing) -> bool:
    return is_box_free(new.box, [other for other in scene.things if other != old])


def _replaced(talk: Speaker, old: Thing, new: Thing, instruction: str) -> _Draft:
    things = (new if thing == old else thing for thing in talk.scene.things)
    other = _companion(talk, old)
    after = _with_things(talk.scene, things)
    return _Draft(talk.scene, after, instruction, (old, *other), (new, *other))


# Things that come and go


def _removed(talk: Speaker) -> _Draft | None:
    """One thing less."""
    thing = talk.thing()
    named = the(talk, thing)
    if not named or len(talk.scene.things) <= FEWEST_LEFT:
        return None
    fewer, other = _without(talk.scene, thing), _companion(talk, thing)
    ways = (f"remove {named}", f"take {named} away", f"leave out {named}", f"take out {named}", f"get rid of {named}")
    return _Draft(talk.scene, fewer, talk.one(ways), (thing, *other), other)


def _added(talk: Speaker) -> _Draft | None:
    """One thing more: the scene is what comes of it."""
    thing = talk.thing()
    if len(talk.scene.things) <= FEWEST_LEFT:
        return None
    named, other = with_article(described(talk, thing, colour=1.0)), _companion(talk, thing)
    ways = (f"add {named}", f"put {named} {stands(talk, thing)}", f"add {named} {spot(talk, thing)}")
    return _Draft(_without(talk.scene, thing), talk.scene, talk.one(ways), other, (thing, *other))


def _without(scene: Scene, gone: Thing) -> Scene:
    return _with_things(scene, (thing for thing in scene.things if thing != gone))


def _with_things(scene: Scene, things: Iterable[Thing]) -> Scene:
    return replace(scene, things=in_drawing_order(things, scene.stock))


# Changes of the whole


def _place(talk: Speaker) -> _Draft | None:
    """The same things elsewhere, at the same hour, unless there is but one hour there."""
    scene = talk.scene
    moved = [
        replace(scene, place=other, light=scene.light if scene.light in place.lights else place.lights[0])
        for other, place in PLACES.items()
        if other != scene.place and (scene.light in place.lights or len(set(place.lights)) == 1)
    ]
    possible = [after for after in moved if _all_fit(after)]
    if not possible:
        return None
    after = talk.rng.choice(possible)
    name, where = talk.one(PLACE_NOUNS[after.place]), talk.one(WHERE[after.place])
    ways = (
        f"change the background to {name}",
        f"put it all {where}",
        f"make it look as if it were {where}",
        f"swap the background for {name}",
    )
    shown = (scene.main(),)
    return _Draft(scene, after, talk.one(ways), shown, shown)


def _light(talk: Speaker) -> _Draft | None:
    """Another hour."""
    scene = talk.scene
    others = sorted(set(PLACES[scene.place].lights) - {scene.light})
    possible = [after for light in others if _all_fit(after := replace(scene, light=light))]
    if not possible:
        return None
    after = talk.rng.choice(possible)
    hour = {"day": "daytime", "sunset": "sunset", "night": "night"}[after.light]
    ways = (f"make it {hour}", f"change the time of day to {hour}", f"have it be {hour}", f"turn it into {hour}")
    shown = (scene.main(),)
    return _Draft(scene, after, talk.one(ways), shown, shown, "light")


def _all_fit(scene: Scene) -> bool:
    """Whether all things of a scene can be at its place and hour, where they stand."""
    kinds, zones = scene.stock.kinds, PLACES[scene.place].zones
    return all(
        kind_fits(thing.kind, kinds[thing.kind], scene.place, scene.light)
        and zones[kinds[thing.kind].zone][0] <= thing.bottom <= zones[kinds[thing.kind].zone][1]
        for thing in scene.things
    )


CHANGES: dict[str, Callable[[Speaker], _Draft | None]] = {
    "colour": _colour,
    "pattern": _pattern,
    "removed": _removed,
    "added": _added,
    "moved": _moved,
    "place": _place,
    "light": _light,
}
"""Each changes something at random; None where it cannot, or where no words would tell which thing is meant."""


# Captions


def _companion(talk: Speaker, thing: Thing) -> tuple[Thing, ...]:
    """Another thing to speak of, of another kind."""
    others = [other for other in talk.scene.things if other.kind != thing.kind]
    return (talk.rng.choice(others),) if others else ()


def _captions(draft: _Draft) -> tuple[str, str]:
    """What is changed, and another thing, where they are: in the same words, before and after."""
    talk = speaker_for(draft.before, "edit captions")
    nouns = {thing.kind: noun(talk, thing.kind) for thing in (*draft.old, *draft.new)}
    wheres = {scene.place: talk.one(WHERE[scene.place]) for scene in (draft.before, draft.after)}
    order = talk.rng.random()

    def caption(scene: Scene, things: Sequence[Thing]) -> str:
        hour = LIGHT_WORDS[scene.light][0] if draft.tells == "light" else ""
        named = [_named(thing, nouns[thing.kind], draft.tells if at == 0 else "") for at, thing in enumerate(things)]
        said = join_with_and(named[::-1] if order < 0.5 else named) if named else talk.one(PLACE_NOUNS[scene.place])
        return f"{said} {wheres[scene.place] if named else ''} {hour}".strip()

    return caption(draft.before, draft.old), caption(draft.after, draft.new)


def _named(thing: Thing, word: str, tells: str) -> str:
    """A thing by its looks, its pattern where it has one, and what else is to be told."""
    pattern = thing.pattern if tells == "pattern" or thing.pattern != "plain" else ""
    looks = with_article(" ".join(filter(None, (thing.colour, pattern, word))))
    return f"{looks} {spot_words(thing.column, 'centre')[0]}" if tells == "spot" else looks


_SCHEMA = "viewfinder/world"
_VERSION = 1


def write_edits(
    out: Path,
    *,
    count: int,
    seed: int,
    sprites: Path | None = None,
    workers: int = 1,
    progress: Progress = lambda written: None,
) -> WorldReport:
    """Draw `count` pairs of pictures and write them; arguments, and what can be relied on, as `write_scenes` has it.

    Raises:
        BadInput: `count` is not 1 to a million, `workers` is less than 1, the sprites cannot be read, or `out` is a
            file, not empty, or not writable.
        DiskFull: the disk is full.
    """
    if not 1 <= count <= MOST_PICTURES:
        raise BadInput(f"--count {count}: ask for 1 to {MOST_PICTURES} pairs")
    if workers < 1:
        raise BadInput(f"--workers {workers}: at least one process has to draw")
    stock = stock_of(sprites)
    with claim_folder(out, _marker(stock, count, seed), ()):
        (out / ".viewfinderignore").write_text("/preview.png\n", encoding="utf-8", newline="\n")
        with closing(make_in_order(make_pair, WorldPlan(out, seed, stock), count, workers)) as made:
            edits = []
            for written, edit in enumerate(made, start=1):
                edits.append(edit)
                progress(written)
        _write_lists(out, edits)
    return WorldReport(
        out=out,
        kind="edits",
        seed=seed,
        pictures=2 * count,
        captions=2 * count,
        things=sum(len(scene.things) for edit in edits for scene in (edit.before, edit.after)),
        edits=count,
    )


def make_pair(plan: WorldPlan, number: int) -> Edit:
    """Draw a pair, and write it with what is said of it."""
    edit = sample_edit(seed=plan.seed, number=number, stock=plan.stock)
    home = plan.out / prompt_of(edit)
    home.mkdir(exist_ok=True)
    for scene, name in ((edit.before, 0), (edit.after, 1)):
        draw_scene(scene).save(plan.out / picture_of(edit, name), quality=QUALITY)
    said = {"input": edit.input, "edit": edit.instruction, "output": edit.output, "change": edit.change}
    _write(home / "prompt.json", json.dumps(said, ensure_ascii=False))
    _write(home / "metadata.jsonl", json.dumps({"seed": seed_of(edit)}) + "\n")
    return edit


def prompt_of(edit: Edit) -> str:
    """The folder of a pair."""
    return f"{edit.before.number:07d}"


def seed_of(edit: Edit) -> int:
    """What its pictures are called by: of all pairs of all worlds another."""
    return edit.before.seed * (MOST_PICTURES + 1) + edit.before.number


def picture_of(edit: Edit, which: int) -> str:
    """The path of its first picture (0) or its second (1), in the world's folder."""
    return f"{prompt_of(edit)}/{seed_of(edit)}_{which}.jpg"


def _write_lists(out: Path, edits: list[Edit]) -> None:
    pictures = [
        (picture_of(edit, which), scene, said)
        for edit in edits
        for which, (scene, said) in enumerate(((edit.before, edit.input), (edit.after, edit.instruction)))
    ]
    truths = (truth_line(replace(picture_truth(scene), image=name)) for name, scene, _ in pictures)
    _write(out / TRUTH_FILE, "".join(f"{line}\n" for line in truths))
    caption_sheet([(out / name, said) for name, _, said in pictures[:SHEET_PICTURES]]).save(out / "preview.png")
    # Last, so that whoever finds it knows that the world is whole.
    write_json(out / "seeds.json", [[prompt_of(edit), [str(seed_of(edit))]] for edit in edits])


def _marker(stock: Stock, count: int, seed: int) -> Mapping[str, Any]:
    """What world.json says; see `write._marker`."""
    made = {"schema": _SCHEMA, "version": _VERSION, "kind": "edits", "count": count, "seed": seed}
    return made | ({} if stock.shop is None else {"sprites": stock.shop.digest})


def _write(file: Path, text: str) -> None:
    file.write_text(text, encoding="utf-8", newline="\n")
