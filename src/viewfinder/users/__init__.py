"""Simulated users: who want a picture, know it, and talk with a system that looks for it.

A `Person` is made of what they can do (describe, answer, compare) and how they do it (`Manners`). Answerers and
describers that look at pictures with a model are in `users.vqa`, and the trained captioner is in `users.captioner`,
apart because they bring torch along.
"""

from viewfinder.users.annotations import AnnotationAnswerer, Note, Notes, read_notes
from viewfinder.users.base import Answerer, Comparer, Describer, Screen, SimulatedUser
from viewfinder.users.comparer import TruthComparer, differences
from viewfinder.users.describer import Sayer, caption_sayings, truth_sayings
from viewfinder.users.manners import POLICIES, Manners
from viewfinder.users.names import USERS, load_user
from viewfinder.users.oracle import Oracle
from viewfinder.users.person import Person
from viewfinder.users.recorded import RecordedAnswerer, RecordedUser, answerer_of, turns_of, user_of

__all__ = [
    "POLICIES",
    "USERS",
    "AnnotationAnswerer",
    "Answerer",
    "Comparer",
    "Describer",
    "Manners",
    "Note",
    "Notes",
    "Oracle",
    "Person",
    "RecordedAnswerer",
    "RecordedUser",
    "Sayer",
    "Screen",
    "SimulatedUser",
    "TruthComparer",
    "answerer_of",
    "caption_sayings",
    "differences",
    "load_user",
    "read_notes",
    "truth_sayings",
    "turns_of",
    "user_of",
]
