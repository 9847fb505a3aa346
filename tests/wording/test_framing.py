from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from viewfinder.wording.framing import take_content

CONTENT = "two boys play football in the mud"


@pytest.mark.parametrize(
    "frame",
    [
        "{}",
        "do you have a photo of {}?",
        "that photo where {}",
        "I'm looking for a picture of {}",
        "I remember {}",
        "pics of my friends: {}",
        "hi, can you please find me a picture with {}",
        "show me {}",
        "um, so, like, {}",
        "is there an image in which {}",
        "could you show me that shot of {} please",
        "we had this picture, {}",
        "where's the one with {}",
        "{}, please, if you have it",
        "there's this photo i took of {}",
        "looking for {}, thanks",
        "any chance of a photo showing {}",
        "I think there was one where {}",
        "do we have anything like {}",
        "it was {}",
        "hey, I wonder if you could find {} for me",
        "a pic that shows {}",
        "{} - do you have that?",
        "{} or something",
        "the picture I have in mind shows {}",
        "I am pretty sure there is a photo of {}",
        "you know the one where {}",
        "I'd like to see a photograph of {}",
        "ok so basically i'm after {}",
        "need a pic of {} asap",
        "anything with {}?",
        "I could swear I took a shot of {}",
        "my sister sent me a pic where {}",
        "which photo has {}",
        "it's the picture where you can see {}",
        "{} - that's the photo I want",
        "please search for {} in my photos",
        "{} photo",
        "I'd be grateful for an image of {}",
    ],
)
def test_a_frame_around_a_description_is_taken_away(frame: str) -> None:
    assert take_content(frame.format(CONTENT)) == CONTENT


@pytest.mark.parametrize(
    "text",
    [
        "a man looking for something in the grass",
        "a woman takes photos",
        "people looking at a picture on the wall",
        "a show jumping horse",
        "a girl remembers",
        "a black and white dog",
        "two women want to buy bread",
        "photo album",
        "a kid who is a little shy",
        "someone on a bench",
        "a dog, not a cat",
        "my dad taking a photo of a dog",
        "a family stands close together for a photo",
        "people pose for a group photo",
        "a woman who holds up a framed photo",
    ],
)
def test_a_description_stays_as_it_is(text: str) -> None:
    assert take_content(text) == text


def test_a_photo_that_is_taken_in_the_picture_is_described() -> None:
    assert take_content("I'm looking for a man taking a photo of a dog") == "a man taking a photo of a dog"


def test_a_word_for_the_picture_at_the_end_is_taken_away() -> None:
    assert take_content("beach photos") == "beach"


@given(st.text(max_size=200))
def test_something_is_left_of_every_text_that_says_something(text: str) -> None:
    assert bool(take_content(text)) == bool(text.strip())
