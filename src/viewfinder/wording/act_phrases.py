"""Whole sentences that do something with what is on the screen (`acts`), by what they do."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Literal

Kind = Literal[
    "pick", "other", "middle", "which", "several", "reject", "accept", "undo", "before", "redo", "restart", "results",
    "turn", "more", "skip", "nothing",
]  # fmt: skip


def _list_phrases(text: str) -> frozenset[str]:
    return frozenset(" ".join(phrase.split()) for phrase in text.split("|"))


PHRASES: Mapping[Kind, frozenset[str]] = {
    "skip": _list_phrases("""
        skip|skip it|skip this|skip that|skip the question|skip this question|skip that question|another question
        |next question|ask something else|ask me something else|pass|stop asking|stop asking me|stop asking questions
        |stop asking me questions|no questions|no more questions|don't ask|dont ask|don't ask me|don't ask me that
        |dont ask me that|don't ask me questions|just show me|just show them|just search|just find it
        |just show me something|just show me pictures|enough questions|too many questions
    """),
    "undo": _list_phrases("""
        undo|undo that|undo this|undo it|undo the last one|undo the last step|undo the last turn|go back|go back one
        |go back one step|go back a step|back|one back|one step back|step back|take that back|take it back|forget that
        |forget it|forget what i said|forget what i just said|scratch that|ignore that|ignore what i said|never mind
        |nevermind|never mind that|previous|cancel|cancel that|oops|whoops|my mistake|previous page|last page|prev
        |page back|undo last|undo please|take that back please|go back please|scrap that|scrap it|delete that
        |that was a mistake|undo my last one
    """),
    "restart": _list_phrases("""
        start over|start again|start anew|start from scratch|let's start over|let's start again|begin again|restart
        |reset|new search|clear|clear all|clear everything|from the beginning|start again from scratch
        |start over from scratch|start all over|start all over again|begin from scratch|let's start from scratch
        |lets start over|lets start again|start fresh|start afresh|forget everything|forget all that|forget all of that
        |forget all of it
        |start from the beginning|start again from the beginning|start a new search|go back to the start
        |go back to the beginning|go to the start|back to the start|back to the beginning|from scratch
        |another search|different search|a different search|a new search|next search|new query|another query
        |forget it all|forget all|forget about it|forget about that|forget about it all|scrap everything|scrap it all
        |let's start a new search|do a new search|search again from scratch|begin anew|begin a new search
    """),
    "redo": _list_phrases("redo|redo that|redo it|undo the undo|go forward|forward|forwards|one step forward"),
    "more": _list_phrases("""
        more|some more|show more|show me more|show me some more|give me more|more results|more pictures|more photos
        |more of these|more of them|more of those|next|next page|further|keep going|go on|what else|anything else
        |more of the same|more of this|more of that|more of it|see others|see more|see some more|see some others
        |see other ones|see other pictures|see other photos|see more pictures|see more photos|see the others
        |see the next ones|show others|show me others|show some others|show me some others|show me the others
        |show me other ones|show me other pictures|show me other photos|have more|get more|see more of them
        |see more of these|see more like these|other pictures|other photos|other ones|any more|are there more
        |are there any more|is there more|any others|are there others|are there any others|got more|got any more
        |got any others|have any more|have any others|have others|see more results|show more results|show me the rest
        |the rest|another|another one|another picture|another photo|a different one|different picture
        |different pictures|different photo|different photos|next ones|the next ones|show the next ones|load more
        |scroll down|even more|keep looking
        |continue
    """),
    "accept": _list_phrases("""
        yes|yeah|yep|yup|exactly|perfect|great|correct|right|bingo|got it|found|found it|i found it|you found it
        |that's it|thats it|that is it|this is it|that's the one|this is the one|that is the one|that's right
        |that's correct|that's exactly it|that's perfect|that's him|that's her|there it is|here it is
    """),
    "reject": _list_phrases("""
        no|nope|nah|wrong|all wrong|not these|not those|not them|not this|not that|not it|not any of these
        |not any of them|not right|not quite|not really|not correct|not even close|not close|not what i want
        |not what i meant|not what i mean|not what i'm looking for|not what i am looking for|none|none of these
        |none of them|none of those|none of the above|neither|neither of these|neither of them|not this one
        |not that one|not this picture|not that picture|not this photo|not that photo|that's not it|that's not right
        |that's not the one|that's not what i want|that's not what i meant|that's wrong|it's wrong|it's not there
        |it's not here|it's not this|it's not that|it's not in there|it's none of these|it's none of them
        |it's not any of these|nothing like that|nothing like it|nothing like this|nothing like these|not like that
        |not like this|not like these|not at all like that|not at all|these are wrong|these are all wrong
        |these are not it|these aren't it|these aren't right
        |those are wrong|they are wrong|they're wrong|this is wrong|this is not it|that is not it|i don't see it
        |i don't find it|i can't see it|you got it wrong|you got that wrong|wrong ones|the wrong ones|all the wrong ones
        |not what i was looking for|not what i asked for|not what i said|not what i had in mind|that's not what i said
        |something else|something different|try again|others|different ones|none at all|none of it|no none|no match
        |no matches|nothing here|nothing matches|not there|not here|they are all wrong|they're all wrong
        |all of them wrong|all are wrong|those are all wrong|all no|no to all|bad results|wrong results
        |wrong pictures|wrong picture
        |you're wrong|you are wrong|completely wrong|totally wrong|way off|not even|that isn't it
        |not that either|not these either|nothing good|none good
        |i don't like any|i don't like them|hate these|hate it|hate them|not her|not him|not that person|not that guy
        |not that woman|not that man
        |nothing useful|nothing right|no luck|not found|not yet|found nothing|no good|no use
    """),
    "several": _list_phrases("""
        both|both of them|both of these|both of those|both ones|both pictures|both photos|all|all of them|all of these
        |all of those|all of the above|all three|all four|i like both|i like both of them|i like them all
        |i like all of them|i like them both|any|any of them|any of these|any of those|any one|any one of them|either
        |either of them|either of these|either one|either one of them
    """),
    "pick": _list_phrases("""
        this|that|yes this|yes that|similar|similar ones|similar pictures|similar photos|show similar
        |show similar ones|show similar pictures|show me similar|show me similar ones|show me similar pictures
        |find similar|find similar ones|find me similar ones|more similar ones|the best|the best one|best one
        |your best guess|best guess|the best match|like that|like this|like these
        |like those
    """),
    "before": _list_phrases("""
        the one before|the one before that|the one from before|the previous one|the previous picture
        |the previous photo|the earlier one|go back to the one before|go back to the previous one|back to the one before
        |back to the previous one|show me the one before|show me the previous one
    """),
    "nothing": _list_phrases("""
        thanks|thank you|thank you very much|thank you so much|thanks a lot|many thanks|thx|cheers|ok|okay|k|cool|nice
        |very nice|good|very good|alright|all right|fine|awesome|wow|sure|i see|interesting|hold on|hang on|wait
        |wait a moment|wait a minute|wait a second|wait a sec|one moment|one second|one sec|just a moment|just a minute
        |just a second|a moment|let me think|let me see|let me look|help|help me|help me out|i need help|why|why this
        |why that|why these|why is that|how|what|huh|hm|hmm|um|uh|er|hi|hello|hey|hi there|hello there|good morning
        |good evening|good afternoon|bye|goodbye|please|sorry|that helps|lol|haha|how does this work|what can i say
        |what can you do|what now|again|same|same thing|same again|the same|as i said|like i said|as before|i give up
        |really|seriously|come on|omg|wtf|ugh|argh|enough|that's enough|is that all|is that it|is this all
        |is that everything|is this everything|yes i think so|i think so|i guess|i guess so|maybe|perhaps|probably
        |better|much better|a bit better|worse|much worse|getting closer|getting there|closer now|almost there
        |where|where is it|where are they|which one|which ones|who|when|who are you|are you there|are you sure|and
        |and now|now what|so|then|but|find it|show it|do it|what is this|what is that|what are these
        |i want it|i need it|this is hard|this is difficult|not helpful|that doesn't help|useless|stupid|bad|very bad
        |i like it|i like this|i love it|it's complicated
        |nothing|show|show me|results|show results|show me results|show me the results|show me pictures
        |show me photos|that's better|that is better|warmer|getting warmer|almost|nearly|close|very close|so close
        |not bad|not too bad
    """),
}  # fmt: skip
"""In lower case, without marks at their end, and with apostrophes; what stands first counts."""

YES, NO = (
    _list_phrases("yes|yeah|yep|ok|okay|ah|oh|wow|well|so|hm|hmm"),
    _list_phrases("no|nope|nah|oh|oops|wait|sorry|well|hm|hmm|ugh|argh|hell|damn|god|omg|lol|still|just|but|and"),
)
"""Words that may stand between the pieces of a sentence that accepts, and of any other."""
