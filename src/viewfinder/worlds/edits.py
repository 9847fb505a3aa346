"""A scene, the same with one thing changed, and the instruction that leads from one to the other, as InstructPix2Pix
has them (Brooks et al., CVPR 2023). Everything said is true of the pictures.

As files they have the layout of InstructPix2Pix's data set:

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
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from viewfinder.data.files import write_json
from viewfinder.data.truth import TRUTH_FILE, truth_line
from viewfinder.errors import ViewfinderError
from viewfinder.wording.nouns import join_with_and, with_article
from viewfinder.worlds import making
from viewfinder.worlds.drawing.draw import SHEET_PICTURES, caption_sheet, draw_scene
from viewfinder.worlds.grammar import Speaker, make_speaker
from viewfinder.worlds.kinds import PATTERNS, PLACES, WIDTH
from viewfinder.worlds.records import picture_truth
from viewfinder.worlds.scene import MARGIN, Scene, Thing, is_box_free, kind_fits, order_for_drawing, sample_scene
from viewfinder.worlds.stock import DRAWN, Product, Stock
from viewfinder.worlds.words import LIGHT_WORDS, PATTERN_ADJECTIVES, PLACE_NOUNS, WHERE, spot_words

MIN_LEFT = 2
"""Things that a scene has at least after one was taken away."""

_MAX_TRIES = 12


@dataclass(frozen=True)
class Edit:
    """One thing changed: a scene, the same otherwise, which kind of change (of `CHANGES`), a command that makes it.

    `input` and `output` are captions of the two, in the same words but for what is changed.
    """

    before: Scene
    after: Scene
    change: str
    instruction: str
    input: str
    output: str

    @property
    def folder(self) -> str:
        """The folder of the pair, in that of the world."""
        return f"{self.before.number:07d}"

    @property
    def pictures_seed(self) -> int:
        """A number for its pictures' names that no other pair of any world has."""
        return self.before.seed * (making.MAX_PICTURES + 1) + self.before.number

    def picture(self, which: int) -> str:
        """The path of its first picture (0) or its second (1), in the world's folder."""
        return f"{self.folder}/{self.pictures_seed}_{which}.jpg"


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
    speaker = make_speaker(scene, "edit")
    for _ in range(_MAX_TRIES):
        for change in speaker.rng.sample(tuple(CHANGES), len(CHANGES)):
            draft = CHANGES[change](speaker)
            if draft is not None:
                before, after = _write_captions(draft)
                return Edit(draft.before, draft.after, change, draft.instruction, before, after)
    raise ViewfinderError(f"scene {number} of seed {seed}: nothing can be changed here; take another seed")


# Changes of one thing


def _change_colour(speaker: Speaker) -> _Draft | None:
    """Gives a thing another colour; a product is exchanged for another one of its kind."""
    thing = speaker.pick(speaker.scene.things)
    colours = speaker.other_colours(thing)
    named = speaker.pinpoint(thing)
    if not colours or not named:
        return None
    colour, shop = speaker.pick(colours), speaker.scene.stock.shop
    if shop is None:
        new: Thing | None = replace(thing, colour=colour)
    else:
        alike = [product for product in shop.products[thing.kind].get(colour, ()) if product.pattern == thing.pattern]
        new = _pick_other_product(speaker, thing, alike)
    if new is None:
        return None
    colour = speaker.colour_word(new)
    ways = (f"make {named} {colour}", f"turn {named} {colour}", f"change the colour of {named} to {colour}")
    return _draft_replacement(speaker, thing, new, speaker.pick(ways))


def _change_pattern(speaker: Speaker) -> _Draft | None:
    """Gives a thing another pattern; a product is exchanged for another one of its kind and colour."""
    thing = speaker.pick(speaker.scene.things)
    named = speaker.pinpoint(thing)
    if not named or not speaker.knows_pattern(thing):
        return None
    shop = speaker.scene.stock.shop
    if shop is None:
        pattern = speaker.pick([name for name in PATTERNS if name != thing.pattern])
        new: Thing | None = replace(thing, pattern=pattern)
    else:
        alike = [one for one in shop.products[thing.kind][thing.colour] if one.pattern not in ("", thing.pattern)]
        new = _pick_other_product(speaker, thing, alike)
    if new is None:
        return None
    words = PATTERN_ADJECTIVES[new.pattern]
    ways = (f"make {named} {speaker.pick(words)}", f"change {named} to {with_article(speaker.pick(words))} one")
    return replace(_draft_replacement(speaker, thing, new, speaker.pick(ways)), tells="pattern")


def _pick_other_product(speaker: Speaker, old: Thing, products: Sequence[Product]) -> Thing | None:
    """One of some products where the thing is; None where it cannot be cut out, or would hide something.

    It may have another shape, but keeps its size, its foot and its third of the picture.
    """
    product = speaker.pick(products) if products else None
    stock = speaker.scene.stock
    if product is None or stock.shop is None or not stock.shop.aspect(old.kind, product.id):
        return None
    (before, _), (medium, aspect) = stock.extent(old.kind, old.product), stock.extent(old.kind, product.id)
    height = round(old.box[3] * medium / before)
    width = min(round(height * aspect), WIDTH - 2 * MARGIN)
    left = min(max(round(old.centre[0] - width / 2), MARGIN), WIDTH - MARGIN - width)
    box = (left, old.bottom - height, width, height)
    new = replace(old, colour=product.colour, pattern=product.pattern, product=product.id, box=box)
    return new if new.column == old.column and _has_room(speaker.scene, old, new) else None


def _move_thing(speaker: Speaker) -> _Draft | None:
    """Moves a thing to another third of the picture, at the same height."""
    thing = speaker.pick(speaker.scene.things)
    named = speaker.pinpoint(thing, hide="column")
    _, y, width, height = thing.box
    lefts = (speaker.rng.randint(MARGIN, WIDTH - MARGIN - width) for _ in range(_MAX_TRIES))
    moved = (replace(thing, box=(left, y, width, height)) for left in lefts)
    new = next((new for new in moved if new.column != thing.column and _has_room(speaker.scene, thing, new)), None)
    if not named or new is None:
        return None
    to = f"to the {new.column}"
    at = spot_words(new.column, "centre")[0]
    ways = (f"move {named} {to}", f"put {named} {at}", f"shift {named} {to}")
    return replace(_draft_replacement(speaker, thing, new, speaker.pick(ways)), tells="spot")


def _has_room(scene: Scene, old: Thing, new: Thing) -> bool:
    return is_box_free(new.box, [other for other in scene.things if other != old])


def _draft_replacement(speaker: Speaker, old: Thing, new: Thing, instruction: str) -> _Draft:
    other = _pick_companion(speaker, old)
    return _Draft(speaker.scene, _exchange_things(speaker.scene, old, new), instruction, (old, *other), (new, *other))


def _exchange_things(scene: Scene, old: Thing, *new: Thing) -> Scene:
    things = (*(thing for thing in scene.things if thing != old), *new)
    return replace(scene, things=order_for_drawing(things, scene.stock))


# Things that come and go


def _remove_thing(speaker: Speaker) -> _Draft | None:
    """Takes one thing away."""
    thing = speaker.pick(speaker.scene.things)
    named = speaker.pinpoint(thing)
    if not named or len(speaker.scene.things) <= MIN_LEFT:
        return None
    fewer, other = _exchange_things(speaker.scene, thing), _pick_companion(speaker, thing)
    ways = (f"remove {named}", f"take {named} away", f"leave out {named}", f"take out {named}", f"get rid of {named}")
    return _Draft(speaker.scene, fewer, speaker.pick(ways), (thing, *other), other)


def _add_thing(speaker: Speaker) -> _Draft | None:
    """Adds one thing: the sampled scene is the picture after it."""
    thing = speaker.pick(speaker.scene.things)
    if len(speaker.scene.things) <= MIN_LEFT:
        return None
    named, other = with_article(speaker.describe(thing, colour=1.0)), _pick_companion(speaker, thing)
    ways = (f"add {named}", f"put {named} {speaker.footing(thing)}", f"add {named} {speaker.spot(thing)}")
    return _Draft(_exchange_things(speaker.scene, thing), speaker.scene, speaker.pick(ways), other, (thing, *other))


# Changes of the whole


def _change_place(speaker: Speaker) -> _Draft | None:
    """Moves all things to another place, at the same hour unless that place has only one."""
    scene = speaker.scene
    moved = [
        replace(scene, place=other, light=scene.light if scene.light in place.lights else place.lights[0])
        for other, place in PLACES.items()
        if other != scene.place and (scene.light in place.lights or len(set(place.lights)) == 1)
    ]
    possible = [after for after in moved if _can_all_be_there(after)]
    if not possible:
        return None
    after = speaker.pick(possible)
    name, where = speaker.pick(PLACE_NOUNS[after.place]), speaker.pick(WHERE[after.place])
    ways = (
        *(f"change the background to {name}", f"put it all {where}"),
        *(f"make it look as if it were {where}", f"swap the background for {name}"),
    )
    shown = (scene.main(),)
    return _Draft(scene, after, speaker.pick(ways), shown, shown)


def _change_light(speaker: Speaker) -> _Draft | None:
    """Changes the hour."""
    scene = speaker.scene
    others = sorted(set(PLACES[scene.place].lights) - {scene.light})
    possible = [after for light in others if _can_all_be_there(after := replace(scene, light=light))]
    if not possible:
        return None
    after = speaker.pick(possible)
    hour = {"day": "daytime", "sunset": "sunset", "night": "night"}[after.light]
    ways = (f"make it {hour}", f"change the time of day to {hour}", f"have it be {hour}", f"turn it into {hour}")
    shown = (scene.main(),)
    return _Draft(scene, after, speaker.pick(ways), shown, shown, "light")


def _can_all_be_there(scene: Scene) -> bool:
    """Whether all things of a scene can be at its place and hour, where they stand."""
    for thing in scene.things:
        kind = scene.stock.kinds[thing.kind]
        if not kind_fits(thing.kind, kind, scene.place, scene.light):
            return False
        top, bottom = PLACES[scene.place].zones[kind.zone]
        if not top <= thing.bottom <= bottom:
            return False
    return True


CHANGES: dict[str, Callable[[Speaker], _Draft | None]] = {
    **{
        "colour": _change_colour,
        "pattern": _change_pattern,
        "removed": _remove_thing,
        "added": _add_thing,
        "moved": _move_thing,
    },
    **{"place": _change_place, "light": _change_light},
}
"""Each changes something at random; None where it cannot, or where no words would tell which thing is meant."""


# Captions


def _pick_companion(speaker: Speaker, thing: Thing) -> tuple[Thing, ...]:
    """A second thing for the captions, of another kind."""
    others = [other for other in speaker.scene.things if other.kind != thing.kind]
    return (speaker.pick(others),) if others else ()


def _write_captions(draft: _Draft) -> tuple[str, str]:
    """Captions before and after, in the same words: the changed thing and a companion, with their place."""
    speaker = make_speaker(draft.before, "edit captions")
    nouns = {thing.kind: speaker.noun(thing.kind) for thing in (*draft.old, *draft.new)}
    wheres = {scene.place: speaker.pick(WHERE[scene.place]) for scene in (draft.before, draft.after)}
    order = speaker.rng.random()
    said: list[str] = []
    for scene, things in ((draft.before, draft.old), (draft.after, draft.new)):
        named: list[str] = []
        for thing in things:
            tells = "" if named else draft.tells
            pattern = thing.pattern if tells == "pattern" or thing.pattern != "plain" else ""
            looks = with_article(" ".join(filter(None, (thing.colour, pattern, nouns[thing.kind]))))
            named.append(f"{looks} {spot_words(thing.column, 'centre')[0]}" if tells == "spot" else looks)
        what = join_with_and(named[::-1] if order < 0.5 else named) if named else speaker.pick(PLACE_NOUNS[scene.place])
        hour = LIGHT_WORDS[scene.light][0] if draft.tells == "light" else ""
        said.append(f"{what} {wheres[scene.place] if named else ''} {hour}".strip())
    return said[0], said[1]


# As files

EDITS_VERSION = 2


def write_edits(
    out: Path,
    *,
    count: int,
    seed: int,
    sprites: Path | None = None,
    workers: int = 1,
    progress: making.Progress = lambda written: None,
) -> making.WorldReport:
    """Draw `count` pairs of pictures and write them; arguments, errors and what can be relied on as `write_scenes`."""
    world = making.drawing_world(
        "edits", EDITS_VERSION, out, count=count, seed=seed, sprites=sprites, workers=workers, what="pairs"
    )
    with world as plan:
        making.write_lines(out / ".viewfinderignore", ["/preview.png"])
        edits = making.make_in_order(make_pair, plan, count, workers, progress)
        _write_lists(out, edits)
    things = sum(len(scene.things) for edit in edits for scene in (edit.before, edit.after))
    return making.WorldReport(out, "edits", seed, pictures=2 * count, captions=2 * count, things=things, edits=count)


def make_pair(plan: making.WorldPlan, number: int) -> Edit:
    """Draw a pair, and write it with what is said of it."""
    edit = sample_edit(seed=plan.seed, number=number, stock=plan.stock.of_split(f"{number:07d}"))
    home = plan.out / edit.folder
    home.mkdir(exist_ok=True)
    for which, scene in enumerate((edit.before, edit.after)):
        draw_scene(scene).save(plan.out / edit.picture(which), quality=making.SCENE_JPEG_QUALITY)
    said = {"input": edit.input, "edit": edit.instruction, "output": edit.output, "change": edit.change}
    write_json(home / "prompt.json", said)
    making.write_lines(home / "metadata.jsonl", [json.dumps({"seed": edit.pictures_seed})])
    return edit


def _write_lists(out: Path, edits: list[Edit]) -> None:
    pictures = [
        (edit.picture(which), scene, said)
        for edit in edits
        for which, (scene, said) in enumerate(((edit.before, edit.input), (edit.after, edit.instruction)))
    ]
    truths = (replace(picture_truth(scene), image=name) for name, scene, _ in pictures)
    making.write_lines(out / TRUTH_FILE, map(truth_line, truths))
    caption_sheet([(out / name, said) for name, _, said in pictures[:SHEET_PICTURES]]).save(out / "preview.png")
    # Written last: where it exists, the world is whole.
    write_json(out / "seeds.json", [[edit.folder, [str(edit.pictures_seed)]] for edit in edits])
