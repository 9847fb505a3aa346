"""What people say around a description, of facts, and in reply: the wordings with which people.py measures.

Three thirds, written before anything was measured with them: with `BUILT_WITH` the rules were written (they are those
of tests/wording/test_framing.py), on `CHOSEN_ON` they were mended, and `REPORTED` was only looked at at the end.
"""

from __future__ import annotations

from collections.abc import Mapping

BUILT_WITH = (
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
)

CHOSEN_ON = (
    "anything with {}?",
    "have you got something showing {}",
    "can we see {}",
    "I could swear I took a shot of {} once",
    "what about {}",
    "my sister sent me a pic where {}",
    "which photo has {}",
    "are there any where {}",
    "it's the picture where you can see {}",
    "{} - that's the photo I want",
    "ummm... {}?",
    "please search for {} in my photos",
    "in this picture, {}",
    "photo: {}",
    "{} photo",
    "I'd be grateful for an image of {}",
)

REPORTED = (
    "would you happen to have an image featuring {}",
    "it shows {}, that's all I remember",
    "there should be a photo somewhere with {}",
    "all photos in which {}",
    "help me find the picture, it had {}",
    "the photograph I want is of {}",
    "remember the one with {}?",
    "where did I put the pic of {}",
    "{} <- this one please",
    "good evening, my request: {}",
    "I need to find an old photo, {}, thank you so much",
    "anyone seen the picture with {}",
    "well, I guess what I want is {}",
    "{}, could you look for that?",
    "so there's {} in it",
    "what I have in mind is {}, you know",
)

MORE = (
    "Morning! Any pictures of {}?",
    "would it be a big ask to find {}",
    "I recall a scene: {}",
    "{}. Anything close to that would be fine.",
    "We have somewhere a photo from {}",
    "pls help find pic, {}",
    "can you search my album for {}",
    "please look for an image, it should show {}",
    "as a reference: {}",
    "what i saw was {}",
    "I'm not good at describing, but {}",
    "if you could just find {}",
    "Could you check whether we have {}?",
    "the photographer took {}",
    "{}: that is all I have",
    "I'd love it if you found {}",
    "need {} for a poster",
    "Which one shows {}?",
    "Ok, next search, {}",
    "Quick favour: find {}",
    "there's a shot I've been hunting for, {}",
    "I'd describe it as {}",
    "you'll know it when you see it: {}",
    "Could I have a look at {}?",
    "What images are there of {}?",
    "I need to see {} now",
    "does the collection include {}",
    "I guess you have {}?",
    "The picture I mean is the one with {}",
    "{}, I'm positive",
    "I can't quite remember, perhaps {}",
    "This one: {}",
    "Excuse my typing, {}",
    "someone showed me {} once",
    "I would like you to find {}",
    "it has to be {}",
    "photos pls of {}",
    "{} is the photo I need",
    "I'm in search of {}",
    "Good evening! Is there an image with {}?",
    "bring back the photo of {}",
    "my favourite picture: {}",
    "I've a feeling it showed {}",
    "the search term is {}",
    "is this the right place for photos of {}?",
    "A nice photo of {} is what I'm after.",
    "send {} to me",
    "Anyone with a picture of {}?",
    "I seek {}",
    "{}, can you see if you have it?",
    "if it helps: {}",
    "Let me think. {}.",
    "that photograph where you see {}",
    "I'd really appreciate a picture of {}",
    "there were {}",
    "{} in a photo",
    "Do we still keep images of {}?",
    "i no remember good but is {}",
    "Hi team, hope you are all well. I am after a picture of {}. Best wishes",
    "To whom it may concern: we would like to request an image of {}. Yours sincerely",
    "computer, search {}",
    "My grandma wants the picture where {}",
    "I'm putting together a slideshow, so I need {}",
    "We once had a photo on the wall, it showed {}",
    "{} (that's how my wife described it)",
    "{first}, I mean, {second}",
    "{first}, if I remember correctly, {second}",
    "{first} - hmm, how should I put it - {second}",
    "{first}, or so I believe, {second}",
    "{first}, let me think, {second}",
    "{first} (at least I think so) {second}",
    "{first}, you know what I mean, {second}",
    "so basically {first}, like, {second}",
    "{first}, uh, {second}, yeah",
    "{first}, sorry, I meant to say {second}",
    "{first}, wait, {second}",
    "the one, you know, where {first}, right, {second}",
)
"""Later ones, of more registers, also with an afterthought between two parts of a description: with such as these the
rules became general, batch after batch, each written before it was tried."""

LAST = (
    "can't find the picture I took of {}",
    "please pull up {}",
    "{} — got that one?",
    "a friend asked me for {}, do we have it",
    "which of my pictures has {}",
    "okay google, find me {}",
    "I only remember that there was {}",
    "hmm {} I believe",
    "dear all, I am in need of {}",
    "give me all you have on {}",
    "my memory says {}",
    "was there not one with {}?",
    "find: {}",
    "I want to print the photo with {}",
    "{} if I'm not mistaken",
    "do u have the pic wit {}",
)
"""Written after the rules were last changed, and not tried before they were measured."""

THIRDS: Mapping[str, tuple[str, ...]] = {
    "build": BUILT_WITH, "choose": CHOSEN_ON, "report": REPORTED, "more": MORE, "last": LAST,
}  # fmt: skip
"""Wordings of every third, and later ones; {} stands for the description, {first} and {second} for its two parts."""

MONTHS = (
    "photos from {month} {year}",
    "taken in {month} {year}",
    "pictures of {short} {year}",
    "{month} {year}",
    "what did I shoot in {month} of {year}",
    "photos between {first} and {last}",
    "from {year}-{number:02d}",
    "everything from {number:02d}/{year}",
    "photos I took in {month} '{two:02d}",
    "do you have pictures that were taken in {month}, {year}?",
)
"""A month of a year: its name, short name and number, the year whole and in two digits, its first and last day."""

FACTS: Mapping[str, tuple[str, ...]] = {
    "camera": ("taken with the {}", "photos shot on my {}", "pics made by the {} camera", "{} pictures"),
    "folder": ("in the folder {}", "what is in my {} folder", "photos from the {} album"),
    "file name": ("{}", "the file {}.jpg", "show me {}"),
    "person": ("with {}", "photos of {}", "pictures where {} is in it", "do we have one with {}?"),
    "place": ("in {}", "photos from {}", "the ones we took in {}", "pictures near {}"),
    "rating": ("{} stars", "photos with {} stars", "rated {} stars"),
    "shape": ("{} photos", "{}", "show me {} pictures"),
    "file kind": ("screenshots", "my screenshots", "show me all screen shots"),
}
"""Other facts; {} stands for the name or value."""

SHOP: Mapping[str, str] = {
    "plain": "{what}",
    "elegant": "elegant {what}",
    "size 42": "{what} size 42",
    "filler": "i am looking for {what}",
    "filler at both ends": "do you have any {what} please",
    "unknown word": "zorvlex {what}",
    "kind and colour only": "{short}",
}
"""What is said in a shop: `what` is colour, kind and for whom, `short` without for whom."""

NAMED = ("{name}", "the {name} {kind}", "i am looking for the {name}", "do you have {name} {kind}s?")
"""How a product is asked for whose name is made up."""

REPLIES: Mapping[str, tuple[str, ...]] = {
    "like 2": ("the second one", "more like 2", "2nd please", "number two", "i like the second one", "similar to #2"),
    "like 2 but black": ("second one but black", "like the second but black", "number 2, but black"),
    "like the last": ("the last one", "more like the last one"),
    "like 1": ("yes", "that's it", "perfect, thanks", "this is the one"),
    "reject all": ("no", "nope", "wrong", "not this", "not that one", "none of these", "no, none of them", "try again"),
    "reject 1": ("not the first", "the first one is wrong", "no, not number 1"),
    "back": ("undo", "go back", "never mind", "forget that"),
    "start": ("start over", "new search", "reset"),
    "answer nobody": ("nobody", "no one", "No one.", "no people", "there is nobody"),
    "skip": ("skip", "next question", "ask something else"),
    "say": ("two dogs", "no people", "without a hat", "the second floor of a house", "a man with no shirt"),
}
"""Replies to two turns and what is shown, by the turn that is meant: under "answer nobody" and "skip" to the question
"Who is in it?", under the others where nothing is asked."""
