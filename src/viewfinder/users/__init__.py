"""Simulated users: who want a picture, know it, and talk with a system that looks for it.

A `Person` is made of what they can do (describe, answer, compare) and how they do it (`Manners`). Answerers and
describers that look at pictures with a model are in `users.vqa`, and the trained captioner is in `users.captioner`,
apart because they bring torch along.
"""

from viewfinder.users.annotations import AnnotatedPhotos, AnnotationAnswerer, PhotoNotes, read_annotations
from viewfinder.users.base import Answerer, Comparer, Describer, Screen, SimulatedUser
from viewfinder.users.comparer import TruthComparer, list_differences
from viewfinder.users.describer import SentenceDescriber, caption_sentences, truth_sentences
from viewfinder.users.manners import POLICIES, SpeakingStyle
from viewfinder.users.names import USERS, load_user
from viewfinder.users.oracle import Oracle
from viewfinder.users.person import Person
from viewfinder.users.recorded import (
    RecordedAnswerer,
    RecordedUser,
    dialogue_turns,
    make_recorded_answerer,
    make_recorded_user,
)

__all__ = [
    "POLICIES",
    "USERS",
    "AnnotationAnswerer",
    "Answerer",
    "Comparer",
    "Describer",
    "SpeakingStyle",
    "PhotoNotes",
    "AnnotatedPhotos",
    "Oracle",
    "Person",
    "RecordedAnswerer",
    "RecordedUser",
    "SentenceDescriber",
    "Screen",
    "SimulatedUser",
    "TruthComparer",
    "make_recorded_answerer",
    "caption_sentences",
    "list_differences",
    "load_user",
    "read_annotations",
    "truth_sentences",
    "dialogue_turns",
    "make_recorded_user",
]
