"""How well sentences are understood that speak of earlier pictures: the lists were written before the rules were."""

from __future__ import annotations

import json
import random
import time
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from viewfinder.query import Operation
from viewfinder.wording import modifications
from viewfinder.wording.back_references import (
    BackReference,
    KeptAttribute,
    find_back_reference,
    to_operations,
    turn_of_place,
)
from viewfinder.worlds.catalogue.items import sample_item
from viewfinder.worlds.catalogue.transactions import SETTINGS, Setting, make_transactions

CAPTIONS = Path(__file__).resolve().parents[3].parent / "shared" / "data" / "fashion-iq" / "captions"

# "> 1" goes back to place 1; "collar@0" keeps the collar of place 0, "@0" all of it; then what is left of the sentence.
LOOKS_BACK = """
I still prefer the second one, but in blue | > 1 | in blue
go back to the first | > 0 |
Go back to the first one please | > 0 |
the first was better, only longer | > 0 | longer
like the first but with sleeves | > 0 | with sleeves
keep the collar of the first and the sleeves of the second | collar@0 sleeves@1 |
the first one's colour with the pattern of the second | colour@0 pattern@1 |
with the colour from picture 1 | colour@0 |
same colour as the first one | colour@0 |
back to the one before, but red | > -1 | red
I prefer the FIRST, and 1. is red 2. is shorter | > 0 | 1. is red 2. is shorter
Compared to this one I prefer the second, and it should be darker | > 1 | it should be darker
Compared to the most recent turn, I prefer the item in the second turn. Building on that, it is red | > 1 | it is red
I would rather choose the first, and is more formal | > 0 | is more formal
Keep the colour in the first turn | colour@0 |
Keep the logo in the second turn and the pattern in the third turn | logo@1 pattern@2 |
keep the FIRST's v-neck design and keep the SECOND's floral design | v-neck design@0 floral design@1 |
1. is blue 2. is longer 4. keep the FIRST's collar and the SECOND's None | collar@0 | 1. is blue 2. is longer
let's go back to picture 2 | > 1 |
back to turn 2, but without the hood | > 1 | without the hood
Turn 1 was nicer | > 0 |
number three, but cheaper looking | > 2 | cheaper looking
I liked number 2 better | > 1 |
#2 again, but in leather | > 1 | in leather
the 1st one was closer to what I want | > 0 |
The 3rd one, only in green | > 2 | in green
I want the tenth one but smaller | > 9 | smaller
the previous one was better | > -1 |
I preferred the previous picture, but with a belt | > -1 | with a belt
more like the previous one | > -1 |
something similar to the second picture but warmer | > 1 | warmer
similar to the first one, but with a round neck | > 0 | with a round neck
I'd like the first one, just a bit shorter | > 0 | a bit shorter
Actually the first dress was nicer, but make it black | > 0 | make it black
take the second shirt, except that it has short sleeves | > 1 | has short sleeves
No, the first one! | > 0 |
no, rather something like the second, only that it is white | > 1 | is white
On second thoughts I like the first better | > 0 |
the second photo was almost right, but I need pockets | > 1 | I need pockets
let us return to the original, but with stripes | > 0 | with stripes
the one we started with, but in red | > 0 | in red
I'd go with the one we began with | > 0 |
the one I picked first was best | > 0 |
bring back the second one | > 1 |
show me the first one again | > 0 |
can we go back to the third one? | > 2 |
I'll take the second one but with flat heels | > 1 | with flat heels
let's continue from the first picture, with a longer skirt | > 0 | with a longer skirt
start again from picture 1 and make it blue | > 0 | make it blue
the second one but longer | > 1 | longer
second one, but with a zip | > 1 | with a zip
the first one in black | > 0 | in black
not the second, the first one | > 0 |
I don't like this one, the first one was better | > 0 | I don't like this one
I prefer the second to the first | > 1 |
I prefer the first over the third, but in yellow | > 0 | in yellow
more like the first than the second | > 0 |
the last one was better | > -1 |
go back to the last one | > -1 |
the one before that was closer | > -1 |
the picture before was nicer, but with buttons | > -1 | with buttons
the one from two turns ago, in white | > -2 | in white
keep the collar of the first one | collar@0 |
keep the red colour of the second, but make it longer | red colour@1 | make it longer
Keep the first one's sleeves | sleeves@0 |
a long dress with the colour from picture 1 and short sleeves | colour@0 | a long dress with short sleeves
combine the collar of the first with the sleeves of the second | collar@0 sleeves@1 |
combine the first and the second | @0 @1 |
a mix of the first and the third one | @0 @2 |
something between the first one and the second one | @0 @1 |
the colour of the first and the length of the second, with a hood | colour@0 length@1 | with a hood
I like the pattern of the second one | pattern@1 |
I like the colour on the first one | colour@0 |
use the logo from the second picture | logo@1 |
take the heel from picture 2 and the strap from picture 1 | heel@1 strap@0 |
it should have the neckline of the first dress | neckline@0 |
give it the second's buttons | buttons@1 |
in the colour of the first one | colour@0 |
the colour and the length of the first | colour@0 length@0 |
keep the style and fabric of the second one | style@1 fabric@1 |
the sleeves should be like the first one | sleeves@0 |
the color is more like the first one | color@0 |
is the same length as the second item | length@1 |
with a collar like the first one | collar@0 |
make the sleeves like those of the second | sleeves@1 |
darker, with the same pattern as picture 2 | pattern@1 | darker
like the first but with the sleeves of the second | > 0 sleeves@1 |
back to the first, but keep the colour of the third | > 0 colour@2 |
I prefer the second one, with the first one's collar and no belt | > 1 collar@0 | no belt
the collar of the previous one | collar@-1 |
the first one's collar was nicer | collar@0 |
keep the original colour | colour@0 |
a longer version of the first one | > 0 | longer
looks like the second one but slightly darker | > 1 | slightly darker
is the same as the first one but pink | > 0 | pink
based on picture 3, with laces | > 2 | with laces
this isn't as nice as the first one | > 0 |
Let's stick with the second | > 1 |
I LIKE THE FIRST ONE BETTER | > 0 |
number one was better but I want it in grey | > 0 | I want it in grey
let's go back to the second dress but with a shorter hem | > 1 | with a shorter hem
I think the first one was the best so far | > 0 |
can you show something like picture 3, only in brown? | > 2 | in brown
hmm, the second looked nicer | > 1 |
I want the neckline from the first and the fabric from the third | neckline@0 fabric@2 |
same heel as in picture 2 please | heel@1 |
go to the first one again, with less decoration | > 0 | with less decoration
the earlier one was more what I had in mind | > -1 |
prefer number 2, add a pocket | > 1 | add a pocket
please keep the 2nd one's print but on a white shirt | print@1 | on a white shirt
as dark as the first one | dark@0 |
a skirt with the length of the second one and the colour of the first one | length@1 colour@0 | a skirt
what about the first one with long sleeves | > 0 | with long sleeves
I liked the first one most, could it be cheaper | > 0 | could it be cheaper
the third option but waterproof | > 2 | waterproof
try the first one without the logo | > 0 | without the logo
I'd rather have the second one | > 1 |
the one from turn 2, but sleeveless | > 1 | sleeveless
the colour was better in the first one | colour@0 |
mix the second and the third | @1 @2 |
same shape as the previous one but lighter | shape@-1 | lighter
return to my first choice | > 0 |
has the stripes of the first and is long like the second | stripes@0 long@1 |
the second one again | > 1 |
okay, first one, in navy | > 0 | in navy
I like the straps of the first shoe better | straps@0 |
closest was the second | > 1 |
with sleeves as in the first picture | sleeves@0 |
resembles the first product, has a bigger print | > 0 | has a bigger print
let me have the collar of the second one, the hem of the first one and long sleeves | collar@1 hem@0 | long sleeves
Hmm, I think I'd go back to the first sneaker, but in a darker shade | > 0 | in a darker shade
could we return to the second picture and drop the logo? | > 1 | drop the logo
the first dress had better sleeves | sleeves@0 |
what I liked about the first one was the collar | collar@0 |
give me the print of number 3 on the shape of number 1 | print@2 shape@0 |
the first one, but the sleeves from the second one | > 0 sleeves@1 |
with the first one's long sleeves, but plain | long sleeves@0 | plain
I want this with the pattern of the first one | pattern@0 |
this one but with the first one's colour | colour@0 | this one
this in the second one's colour | colour@1 |
can I have the second one in a smaller size | > 1 | in a smaller size
like number 4, but not so bright | > 3 | not so bright
none of these, the first one was better | > 0 | none of these
none of these; back to the previous one | > -1 | none of these
go back one picture and make it red | > -1 | make it red
I was happier with the second one | > 1 |
the second was my favourite | > 1 |
my favourite was the first one, but a cheaper version | > 0 | a cheaper version
keep everything of the first one but make it blue | > 0 | make it blue
something in between the second and the fourth | @1 @3 |
merge the first two | @0 @1 |
same as the first one in grey | > 0 | in grey
the exact same dress as the first one, in grey | > 0 | in grey
picture 1 but with picture 2's shoes | > 0 shoes@1 |
turn 1's collar and turn 2's sleeves | collar@0 sleeves@1 |
undo that and go back to the original picture | > 0 | undo
the one you showed me first, but with pockets | > 0 | with pockets
I want the bag from the second picture in brown | > 1 | in brown
revert to image 2 | > 1 |
ok so like the first, more like the first with the heel of the third | > 0 heel@2 | more like the first
"""

LOOKS_AHEAD = """
the first floor of a building
a second-hand jacket
a first class carriage
a dress for the first day of school
keep it simple
two buttons
a second button on the cuff
a woman in her first marathon
the dog comes second
a second pocket
keep the collar
keep the colour but make it longer
like this but in red
the same colour
the same, but with a hood
a man on the second step of the stairs
the second man from the left wears a hat
first, make it longer
secondly it should be black
is longer and has a second layer
one button and two pockets
back to school outfit
with an open back
a low back and long sleeves
a t-shirt with a number 10 on the back
a jersey with number 7
picture of a dog on the beach
a picture with two dogs
turn the collar up
a one piece swimsuit
has one sleeve
this one but in blue
I like this one
I prefer this one in green
not like the first one
I don't like the first one
unlike the second, it should have a hood
nothing like the first picture
darker than the first one
I don't want the collar of the first one
without the sleeves of the second
the first one was too short
the second one's colour is ugly
two dogs, the second one is black
two men shake hands, the first one wears a hat
a runner in first place
the first snow of the year
the first of May
on the second of June
a second picture on the wall
a photo of the third world
the third row of seats
a twenty-first birthday cake
for the second time
it is my first choice of fabric
at first glance it looks plain
first aid kit
love at first sight
the last day of summer
a dress that lasts
from last season
the previous owner
the day before
the house before the bridge
an original design
is more original
a stop sign on 2nd avenue
1st avenue at night
size 1 shoes
the number 3 on the shirt
a 3 inch heel
turn left
a man on first base
a second hand on the watch
it has a one-second timer
seconds before the jump
a girl in second grade
the back of the first car
is a better version of this
longer sleeves than this one
a mix of red and blue
something between grey and black
I prefer long sleeves
I still prefer blue
go back
take me home
the better one
both
less formal and more like a shirt
1. is red 2. is shorter 3. has a hood
1. is a second layer 2. is plain
with the colour of the sea
the colour of wine
in the style of the seventies
keep the first button open
a child holding the first prize
a first for the team
the second half of the match
the man in front is the first to cross the line
a small dog next to a second one
less like the first one
the first one is too bright
a plane on the first leg of its flight
no collar, first button undone
three cups, the first one is empty
her second dress of the day
a player wearing number 2
the picture in the middle
third party logo on the chest
please don't go back to the first one
a book whose first page is torn
a lady with the second biggest hat
the original poster
previous season style
a one shoulder top
the first and last letters are red
the first photograph of the album
two women, the one before the mirror smiles
the third one along has a red roof
she picked the first flower
a first edition book on the table
number plates on the wall
the dress on the second mannequin
the third dog in the pack
someone taking a picture of the second boat
player 2 on the court
the ship is the second largest
the first and the second man are laughing
he finished before the second runner
no second thoughts, just red
bus number 3 at a stop
the last bus home
a wedding dress for my second wedding
the first row, on the left
I never liked the second one
the third was even worse
"""

MISSED = frozenset({"go back one picture and make it red", "merge the first two"})
"""Sentences of the list that are known not to be understood; none is misunderstood."""

RIGHT = [tuple(part.strip() for part in line.split("|")) for line in LOOKS_BACK.split("\n") if line]
WRONG = [line for line in LOOKS_AHEAD.split("\n") if line]


def short(looked: BackReference | None) -> str:
    """As the list above has it."""
    if looked is None:
        return ""
    back = [] if looked.rollback is None else [f"> {looked.rollback}"]
    return " ".join([*back, *(f"{kept.attribute}@{kept.place}" for kept in looked.keeps)])


@pytest.mark.parametrize(("sentence", "meant", "rest"), [row for row in RIGHT if row[0] not in MISSED])
def test_a_sentence_that_looks_back_is_understood(sentence: str, meant: str, rest: str) -> None:
    looked = find_back_reference(sentence)
    assert looked is not None and (short(looked), looked.rest) == (meant, rest)


@pytest.mark.parametrize("sentence", WRONG)
def test_a_sentence_about_what_is_wanted_looks_nowhere(sentence: str) -> None:
    assert find_back_reference(sentence) is None


def test_of_the_sentences_that_look_back_few_are_missed_and_none_is_misread() -> None:
    missed = {sentence for sentence, _, _ in RIGHT if find_back_reference(sentence) is None}
    assert missed <= MISSED and len(missed) < 0.02 * len(RIGHT) and len(RIGHT) + len(WRONG) > 280


@pytest.mark.parametrize("setting", SETTINGS)
def test_published_modifications_are_read_as_their_operations_say(setting: Setting) -> None:
    items = [sample_item(seed=8, number=number) for number in range(1, 81)]
    for chain, told in make_transactions(items, setting, 20, random.Random(1)):
        looked = [find_back_reference(said) for said in told.modifications]
        assert looked[:2] == [None, None] and looked[2] is not None
        if setting == "rollback":
            assert (looked[2].rollback, looked[2].keeps) == (chain.back, ())
        else:
            assert [(kept.attribute, kept.place) for kept in looked[2].keeps] == [
                (k.say(), k.place) for k in chain.kept
            ]
        said = modifications.split_modification(looked[2].rest).clauses
        assert said == modifications.split_modification(told.modifications[2]).clauses[:3]


def test_a_phrase_that_nobody_foresaw_counts_where_data_has_it_in_capitals() -> None:
    looked = find_back_reference("Summoning the SECOND, 1. is red 2. is shorter")
    assert looked == BackReference(1, (), "SECOND", "1. is red 2. is shorter")
    assert find_back_reference("Summoning the second, make it red") is None


def test_what_was_said_is_kept_beside_what_it_means() -> None:
    looked = find_back_reference("I'd go back to the 2nd one, but with the FIRST's red collar")
    assert looked == BackReference(1, (KeptAttribute("red collar", 0, "the FIRST's red collar"),), "the 2nd one", "")


@given(
    place=st.integers(0, 9),
    call=st.sampled_from(["the {} one", "the {}", "picture {n}", "turn {n}", "#{n}", "THE {} Picture"]),
    say=st.sampled_from(["I prefer {}, but in red", "back to {}, but in red", "{} was better, only in red"]),
)
def test_ten_places_can_be_called_in_words_and_digits(place: int, call: str, say: str) -> None:
    ordinals = ["first", "second", "third", "fourth", "fifth", "sixth", "seventh", "eighth", "ninth", "tenth"]
    looked = find_back_reference(say.format(call.format(ordinals[place], n=place + 1)))
    assert looked is not None and (looked.rollback, looked.keeps, looked.rest) == (place, (), "in red")


@given(
    st.lists(st.tuples(st.sampled_from(["collar", "red colour", "v-neck"]), st.integers(0, 9)), min_size=1, max_size=4)
)
def test_any_number_of_attributes_is_kept_in_the_order_of_the_sentence(wanted: list[tuple[str, int]]) -> None:
    said = " and ".join(f"the {attribute} of picture {place + 1}" for attribute, place in wanted)
    looked = find_back_reference(f"keep {said}")
    assert looked is not None and [(kept.attribute, kept.place) for kept in looked.keeps] == wanted
    assert looked.rest == ""


PIECES = ("the", "first", "second", "one", "of", "colour", "'s", "not", "but", ",", ".", "like")


@given(st.text(max_size=60) | st.lists(st.sampled_from(PIECES)).map(" ".join))
def test_any_text_is_read_or_left_alone(text: str) -> None:
    looked = find_back_reference(text)
    assert looked is None or looked.rollback is not None or looked.keeps


@pytest.mark.parametrize("word", ["so ", "a ", ", ", "the first ", "red collar, ", "collar and the ", "not the "])
def test_a_sentence_of_a_thousand_words_takes_no_minutes(word: str) -> None:
    begun = time.process_time()
    find_back_reference(word * 1000 + "the first one")
    assert time.process_time() - begun < 30  # a fraction of a second; where repetitions are tried in all ways, forever


def test_places_are_turns_counted_from_either_end() -> None:
    turns = (1, 4, 5)  # pictures: first, second, and the latest, of which the sentence is said
    assert [turn_of_place(place, turns) for place in (0, 1, 2, 3, -1, -2, -3)] == [1, 4, 5, None, 4, 1, None]
    assert turn_of_place(0, ()) is None


def test_operations_name_turns_and_what_the_dialogue_lacks_is_told() -> None:
    looked = find_back_reference("back to the first one, with the collar of the second and the sleeves of the ninth")
    assert looked is not None
    operations, lines = to_operations(looked, (2, 3, 7))
    assert operations == (
        Operation("rollback", 2, "", "the first one"),
        Operation("keep", 3, "collar", "the collar of the second"),
    )
    assert lines == ('drop: "the sleeves of the ninth" is no picture of this conversation, which has come to 3',)
    assert to_operations(looked, ())[0] == ()


@pytest.mark.data
@pytest.mark.skipif(not CAPTIONS.is_dir(), reason="the captions of Fashion IQ are not there")
def test_captions_that_people_wrote_about_two_pictures_look_nowhere() -> None:
    records = json.loads((CAPTIONS / "cap.shirt.val.json").read_text())
    said = sorted({caption for record in records for caption in record["captions"]})[::8]
    assert len(said) > 250 and [caption for caption in said if find_back_reference(caption)] == []
