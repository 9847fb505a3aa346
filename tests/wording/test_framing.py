from __future__ import annotations

import re

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
        "my dog:<3",
        "my wedding: 2009",
        "our house: red roof",
    ],
)
def test_a_description_stays_as_it_is(text: str) -> None:
    assert take_content(text) == text


@pytest.mark.parametrize(
    "frame",
    [
        # two sentences, and letters
        "Hello there! I was hoping you might help me find a certain image. It shows {}.",
        "Hi team, hope you are all well. I am after a picture of {}. Best wishes, Peter",
        "To whom it may concern: we would like to request an image of {}. Yours sincerely",
        "Subject: photo request. Body: {}. Kind regards",
        "I've lost a photo. {}. Any ideas?",
        "{}. That is everything I can tell you.",
        "Is this the place to ask for photos? I need {}.",
        "anybody got a copy of the picture with {}? been searching for hours",
        # terse, chatty, spoken to a machine
        "{} plz n thx",
        "looking 4 a pic of {}",
        "ok google find pictures where {}",
        "computer, search {}",
        "yo gimme the one with {}",
        "Q: which picture shows {}?",
        "tbh all i remember is {}",
        # of whom English is not the first language
        "i no remember good but is {}",
        "I search a foto with {}",
        "i want see photo {}",
        # what is known of the speaker
        "My grandma wants the picture where {}",
        "I'm putting together a slideshow, so I need {}",
        "I'd be over the moon if you found {}",
        "{} (that's how my wife described it)",
        "{}. I need it for a birthday card.",
        "{}, if that makes sense",
        "my memory is foggy, but I believe it was {}",
        # where the picture is
        "it's probably in the holiday folder, {}",
        "Let me know if there's a photo of {} in the archive.",
        "Do you happen to know where the photo of {} is?",
        "We once had a photo on the wall, it showed {}",
        "Is {} somewhere in your collection?",
        "in this picture, {}",
        # what is said of the picture itself
        "{} (the photo is on my phone)",
        "I need the photo with {}, it's urgent",
        "I would be interested in {}",
    ],
)
def test_frames_of_many_registers_are_taken_away(frame: str) -> None:
    assert take_content(frame.format(CONTENT)) == CONTENT


@pytest.mark.parametrize(
    "frame",
    [
        "{}, I mean, {}",
        "{} - hmm, how should I put it - {}",
        "{} (at least I think so) {}",
        "{}, or so I believe, {}",
        "{}... no wait... {}",
        "so basically {}, like, {}",
        "the one, you know, where {}, right, {}",
        "{}, sorry, I meant to say, {}",
    ],
)
def test_an_afterthought_in_the_middle_is_taken_away(frame: str) -> None:
    assert take_content(frame.format("two boys play football", "in the mud")) == CONTENT


@pytest.mark.parametrize(
    "text",
    [
        # words of asking that describe
        "people waiting in line for help",
        "a family photo",
        "a woman taking a photo of her friends",
        "a dog looking at me",
        "people looking at each other, some with flags",
        "two women look for something, one takes a picture",
        "a room with a bed, and pictures",
        "dogs ignore a plate of food, look up at the counter",
        "a girl smiles and cheers",
        "well dressed children play on the carpet",
        "the head of a child with dark glasses",
        "has hardwood floors",
        "a man, seen from the back, with a backpack",
        "a phone with a banana where the receiver should be",
        "children on a pedestal, first, second, and third place",
        "a man, old, on a bench",
        "a man waterskis, while being pulled",
        # the words on a sign
        'a man walks past a wall with "Where are you?" painted on it',
        'a woman holds a sign, "I need money for food", in the street',
    ],
)
def test_words_of_asking_in_a_description_stay(text: str) -> None:
    assert take_content(text) == text


def test_what_is_said_of_something_else_than_the_picture_never_takes_the_description_with_it() -> None:
    assert take_content("I see a dog, I think it was brown") == "a dog brown"
    assert take_content("show me dogs, running on a beach") == "dogs, running on a beach"


def test_a_text_of_very_many_clauses_is_a_description() -> None:
    text = ", ".join(["please"] * 100)
    assert take_content(text) == text


@given(st.lists(st.sampled_from(["please", "a dog", "I think", ",", ".", "the photo of", '"', "it", "-"]), max_size=40))
def test_what_is_left_stands_in_the_text_word_by_word(parts: list[str]) -> None:
    text = " ".join(parts)
    words = iter(text.split())
    left = re.findall(r"\w+", take_content(text))
    said = iter(re.findall(r"\w+", text))
    assert all(word in said for word in left)
    assert next(words, None) is None or take_content(text)


def test_a_photo_that_is_taken_in_the_picture_is_described() -> None:
    assert take_content("I'm looking for a man taking a photo of a dog") == "a man taking a photo of a dog"


def test_a_word_for_the_picture_at_the_end_is_taken_away() -> None:
    assert take_content("beach photos") == "beach"


@given(st.text(max_size=200))
def test_something_is_left_of_every_text_that_says_something(text: str) -> None:
    assert bool(take_content(text)) == bool(text.strip())


@pytest.mark.parametrize(
    "text",
    [
        "a sign that says please wait",
        "a sign saying, please wait",
        "a boy saying thank you",
        "a banner that reads thank you",
        "a sign saying please and thank you",
        "a girl waving goodbye",
        "two people hugging goodbye",
        "a dog named Sorry",
        "the word please on a wall",
        "a sign with the words thank you",
        "a wall with thank you written on it",
        "a thank you card",
        "thank you card",
        "a sorry note on a door",
        "an ok sign",
        "help wanted sign in a window",
        "Google sign on a building",
        "google headquarters",
        "a goodbye kiss",
    ],
)
def test_a_courtesy_that_is_said_written_or_part_of_a_name_stays(text: str) -> None:
    assert take_content(text) == text
    assert take_content(f"hi, can you find me a picture of {text}") == text
    assert take_content(f"show me {text}, please") == text


def test_the_end_of_what_a_sign_says_stays() -> None:
    assert take_content("a sign reading no photos please") == "a sign reading no photos please"
    assert take_content("show me a sign that says stop, please") == "a sign that says stop"


def test_a_courtesy_after_a_thing_is_said_to_who_searches() -> None:
    assert take_content("a stop sign please") == "a stop sign"
    assert take_content("show me a girl waving please") == "a girl waving"
    assert take_content("a dog with a stick in its mouth please") == "a dog with a stick in its mouth"
    assert take_content("a girl taking a picture with a camera thank you so much").endswith("with a camera")


def test_people_who_are_known_are_described() -> None:
    assert take_content("a couple I know, dancing") == "a couple dancing"


@pytest.mark.parametrize(
    "frame",
    [
        # whom one calls
        "Computer, bring up {} on the screen",
        "assistant: find {}",
        "hey assistant, open {}",
        "Alexa, show me {} on the tv",
        # doubts
        "Not sure it exists, but {}?",
        "I doubt it's there, but {}",
        "maybe {}",
        "perhaps {}",
        "probably {}",
        "erm, let me think... {} maybe?",
        "I remember {}, it was kind of a nice one. Where is it?",
        # having and lying around
        "hiya, any pics of {} lying around?",
        "any {} floating around?",
        "u got any {}",
        "do we possess any photographs depicting {}?",
        "a picture that has got {} on it",
        "My phone died, so I lost {}. Help!",
        # kinds of files and of likeness
        "a jpeg of {}",
        "pngs of {}",
        "anything resembling {}",
        "something similar to {}",
        "something along the lines of {}",
        "show me everything that has to do with {}, no rush",
        "anything to do with {}",
        # of other languages
        "Hello, I am looking since two days the image of {}, it is possible?",
        "I have searched for 2 hours for {}",
        "please to give me the photo in which one can see {}",
        "it is possible to see {}?",
        # where, when and to whom
        "{} on screen please",
        "need {} by Monday",
        "show {} to my wife",
        "scroll to {}",
        "Let's see {} next",
        "{} real quick",
        "what does {} look like?",
        # longing and begging
        "I'd kill for {}",
        "I'm dying to see {}",
        "{}, pretty please with sugar on top",
        "{} pretty please",
        "good morning! today I am hunting for {}",
        "since yesterday I try to find {}",
    ],
)
@pytest.mark.parametrize("content", [CONTENT, "a red car", "beach at sunset"])
def test_frames_of_people_in_a_hurry_in_doubt_or_of_other_languages_are_taken_away(frame: str, content: str) -> None:
    assert take_content(frame.format(content)) == content


@pytest.mark.parametrize(
    "text",
    [
        "a computer on a desk",
        "an open door",
        "a man lying around on a beach",
        "a man waving to my wife",
        "a computer screen",
        "a hat with a feather on it",
        "a picture of a plate with food on it",
        "jump to the basket",
    ],
)
def test_words_of_such_frames_stay_where_nobody_is_asked(text: str) -> None:
    assert take_content(text).removeprefix("a picture of ") == text.removeprefix("a picture of ")
