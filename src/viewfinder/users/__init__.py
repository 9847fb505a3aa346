"""Simulated users, who want a picture, know it, and help a system to find it.

A `Person` combines what they can do (describe, answer, compare) with how they do it (`SpeakingStyle`). An answerer
that looks at pictures with a model is in `users.vqa`, and the trained captioner is in `users.captioner`; both are
separate because they import torch.
"""

from viewfinder.users.annotations import (
    AnnotatedPhotos,
    AnnotationAnswerer,
    PhotoNotes,
    read_annotations,
    read_photo_notes,
)
from viewfinder.users.base import (
    Answerer,
    Comparer,
    Describer,
    RecordedUser,
    Screen,
    SimulatedUser,
    dialogue_turns,
)
from viewfinder.users.descriptions import (
    SentenceDescriber,
    TruthComparer,
    caption_sentences,
    list_differences,
    truth_sentences,
)
from viewfinder.users.names import PLUGINS, USERS, load_user, photo_person
from viewfinder.users.oracle import Oracle
from viewfinder.users.person import Person, SpeakingStyle
from viewfinder.users.photographs import PhotoComparer, noun_phrases, photo_sentences

__all__ = [
    "PLUGINS",
    "USERS",
    "AnnotatedPhotos",
    "AnnotationAnswerer",
    "Answerer",
    "Comparer",
    "Describer",
    "Oracle",
    "Person",
    "PhotoComparer",
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
    "noun_phrases",
    "photo_person",
    "photo_sentences",
    "read_annotations",
    "read_photo_notes",
    "truth_sentences",
]
