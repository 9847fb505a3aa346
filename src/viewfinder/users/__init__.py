"""Simulated users: who want a picture, know it, and help a system to find it.

A `Person` is made of what they can do (describe, answer, compare) and how they do it (`SpeakingStyle`). Answerers and
describers that look at pictures with a model are in `users.vqa`, and the trained captioner is in `users.captioner`,
apart because they bring torch along.
"""

from viewfinder.users.annotations import AnnotatedPhotos, AnnotationAnswerer, PhotoNotes, read_annotations
from viewfinder.users.base import (
    Answerer,
    Comparer,
    Describer,
    RecordedUser,
    Screen,
    SimulatedUser,
    dialogue_turns,
    make_recorded_user,
)
from viewfinder.users.descriptions import (
    SentenceDescriber,
    TruthComparer,
    caption_sentences,
    list_differences,
    truth_sentences,
)
from viewfinder.users.names import USERS, load_user
from viewfinder.users.oracle import Oracle
from viewfinder.users.person import POLICIES, Person, SpeakingStyle

__all__ = [
    "POLICIES",
    "USERS",
    "AnnotatedPhotos",
    "AnnotationAnswerer",
    "Answerer",
    "Comparer",
    "Describer",
    "Oracle",
    "Person",
    "PhotoNotes",
    "RecordedUser",
    "Screen",
    "SentenceDescriber",
    "SimulatedUser",
    "SpeakingStyle",
    "TruthComparer",
    "caption_sentences",
    "dialogue_turns",
    "list_differences",
    "load_user",
    "make_recorded_user",
    "read_annotations",
    "truth_sentences",
]
