"""A live conversation: turns resolved, a retriever stepped, answers weighed, pictures ranked, the next question chosen.

session     `Session`: what one can say, and what comes of it
resolve     what a turn refers to: pictures, the user's own image, attributes, answers, values to change
states      retrievers' states after turns, kept for the whole process
said        what was said of the wanted picture, and what of it is written about pictures
evidence    answers as evidence: how likely each picture is to be answered so
candidates  the likeliest pictures, as questioners see them
"""

from viewfinder.session.session import Session

__all__ = ["Session"]
