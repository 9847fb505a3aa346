"""What people put around a description: greetings, requests, "a photo of", "please". A search is for the rest.

    take_content("hi, do you have a photo of a dog in the snow, please?")
    'a dog in the snow'

It is told by classes of words (`talk`), not by phrases. A clause that consists only of such words, and that speaks (to
somebody, of the search, of the picture as such), goes; so does the longest beginning, and the longest end, of the
others that does. What shows that words speak: a person who speaks or is spoken to and does something ("I think", "you
have"), a courtesy, a word for the picture that leads to what it shows ("photo of"), a verb that asks and stands where a
description begins. A sentence without any of this stays as it is.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import lru_cache
from itertools import pairwise

from viewfinder.wording.numbers import NUMBER_WORDS
from viewfinder.wording.talk import (
    ADJECTIVES,
    ADVERBS,
    ASKING_NOUNS,
    ASKING_VERBS,
    AUXILIARIES,
    BEARING_WORDS,
    CLOSINGS,
    CONJUNCTIONS,
    COURTESIES,
    DETERMINERS,
    DEVICES,
    DISCOURSE,
    GREETING_VERBS,
    LINKERS,
    NEVER_SEEN,
    OPENINGS,
    OTHER_NOUNS,
    OTHER_VERBS,
    OTHERS,
    PICTURE_NOUNS,
    PREPOSITIONS,
    SAYING_VERBS,
    SOMEBODY,
    SOUNDS,
    SPEAKERS,
    STANDING_FOR_PICTURES,
    SUBJECTS,
    THIS_OR_SO,
    VOCATIVES,
    WORDS_FOR_WORDS,
    fold_word,
    is_of,
    is_talk,
    list_words,
)

_TOKEN = re.compile(r"w/(?!\w)|\w+(?:['’&%+#./-]*\w)*|[^\w\s]+")
_VERBS = ASKING_VERBS | OTHER_VERBS

_SPLITTING = re.compile(r"[^\w\s'’\"“”&%+#$€£@°]")
_QUOTED, _ON_A_SIGN = re.compile(r'"[^"]+(?:"|$)|“[^”]+(?:”|$)'), "''"
_DIGITS = {"4": "for", "2": "to"}
"""How some write these words after a verb."""


def _list_phrases(text: str) -> frozenset[tuple[str, ...]]:
    return frozenset(tuple(phrase.split()) for phrase in text.split("|"))


_TO_BE = list_words("is are was were am be been being")
_IMPERATIVES = list_words("""
    find search show give get bring send fetch locate retrieve display browse try remind gimme lemme
""")
"""Verbs with which one tells somebody to search; nobody begins to describe a picture with one."""
_OF_SEARCHING = list_words("find search fetch locate retrieve browse remind gimme lemme")
"""Those that are said of nothing that is seen."""
_SEARCHING_PAIRS = _list_phrases("look for|looking for|hunt for|pull up|look up|bring up|dig up|dig out")
_GOES_TO_SPEAKER = _IMPERATIVES | list_words("tell help let remind hand pass pull")
_ELLIPTIC = list_words("""
    hope need want wish remember recall think guess believe know mean appreciate swear reckon suppose assume imagine
    been did do does can could would will wasn't isn't aren't weren't didn't don't doesn't can't couldn't
""")
"""What follows a description begins with one of these only where who speaks is left out, or a question is asked."""
_LEFT_OUT_I = _ELLIPTIC | list_words("got not unsure sure certain glad happy")
"""What a sentence begins with where who speaks is left out: "not sure how to describe it"."""
_OF_OTHERS = _TO_BE | list_words("has had having does it's that's there's here's its")
"""Auxiliaries with which a description may begin: "has hardwood floors"."""
_SAID_OF_SEARCH = SPEAKERS | ASKING_VERBS | ASKING_NOUNS | COURTESIES | list_words("it's do does did")
_LABELS = list_words("subject body topic content contents motif text re")
_IT = list_words("that it this that'd it'd that'll it'll anything any all")
_VISIBLE = list_words("""
    old older oldest new newer newest beautiful lovely long short little single clear whole full entire same similar
    different near far
""")
"""Adjectives that also say how something looks."""
_COUNTED = list_words("a first second next minute moment")
_WOULD = list_words("would will should might could may must")
_RATHER = list_words("rather maybe perhaps hang hold on a second sec minute moment")
_ASIDE = list_words("if as unless though although because since that's")
_OF_THINKING = list_words("think believe guess know see say thought")
_OF_SEEING = list_words("""
    think believe guess see saw know have had has there was show found shows took like love
""")
_TELLING = ASKING_VERBS | list_words("""
    said says told describes described mentioned thinks thought believes sent showed insists swears calls called
""")
_HAVING = list_words("have has got seen know knows please")
_ARCHIVES = list_words("archive archives album albums folder folders collection database files records")
_STORES = list_words("""
    folder folders album albums library collection archive drive phone camera cloud gallery disk
""")
_SOFTENING = list_words("""
    subject topic just only simply basically maybe perhaps probably possibly preferably ideally specifically
""")
"""They may stand before a description that was asked for."""
_IN_SENTENCES = _VERBS | AUXILIARIES | SPEAKERS | PICTURE_NOUNS | STANDING_FOR_PICTURES
_COURTEOUS = COURTESIES | NEVER_SEEN
_TOWARDS = _GOES_TO_SPEAKER | {"for", "to"}
_INVISIBLE = ADVERBS | (ADJECTIVES - _VISIBLE)
_OF_SPEAKERS = AUXILIARIES - _OF_OTHERS
_INVERTED = _OF_SPEAKERS | _TO_BE
"""Auxiliaries with which a question begins."""
_BEGINNING_TO_SPEAK = AUXILIARIES | SUBJECTS
_BETWEEN = ADVERBS | ADJECTIVES | CONJUNCTIONS
_ENDS = re.compile(r"[.!?;()\[\]…—–|]|^-+$")
_GREETED = list_words("morning evening afternoon day night")

_SHOWING = list_words("""
    shows show showed showing depicts depict depicting features feature featuring contains contain containing has have
    had having includes include including resembling resembles
""")
_TAKEN = list_words("taken shot made captured snapped")
_TAKING = list_words("""
    take takes taking took pose poses posing posed holding holds frame framed hanging looking looks showing
""")
_AFTER_PICTURE = list_words("of with w/ where when about like but titled called named concerning regarding") | (
    _SHOWING - {"has", "have", "had"}
)
_BEFORE_A_NOUN = list_words("a an the this that these those my our your his her its their any some another")
_SETTING_OFF = list_words("so basically actually anyway anyways honestly literally listen lets")
_WHEREABOUTS = list_words("here somewhere once there again around anywhere mine ours")
"""They may stand between a word for the picture and what it shows."""
_OF_SOME_KIND = list_words("print lines kind sort type copy copies version example examples sample memory memories")
_IN_MIND = list_words("mind head memory heart thoughts dreams collection library album archive")
_TIMES = list_words("""
    a some the long few couple of while time ages day days week weeks month months year years quite
""")
_PURPOSES = list_words("""
    friend friends colleague colleagues client boss mum mom dad wife husband sister brother grandma grandpa family
    poster flyer brochure calendar invitation newsletter magazine cover collage scrapbook assignment essay thesis talk
    lecture presentation project homework website blog article report card work school class slide slides
""")
"""For whom or what one searches, where something asks at the beginning of the sentence."""
_POINTING = list_words("""
    the that this which what whichever those these my our your any some other another no
""")
_ASKING_WHICH = list_words("which what whose")
_PARTICLES = list_words("up out down back")
_COMING_ACROSS = _list_phrases("come across|came across|stumbled upon|run into")
_LOOKING = list_words("look looks looking looked search searching searched hunting")
_COMPOUNDS = list_words("""
    album albums booth frame frames shoot book books gallery camera studio session paper
""")
"""After a word for the picture they make a thing of it."""
_ORDERED = list_words("""
    in on at from by near under behind beside next a an the some two three his her their many
""")
"""Words with which a description may go on after a word for the picture."""
_SIGNED = list_words("thanks thank thx cheers regards sincerely faithfully yours wishes best ta love")
"""A name may stand after these."""
_CALLED = VOCATIVES | _SIGNED
_GREETING = _CALLED | ADJECTIVES
_OR_SO = list_words("something anything so sth whatever similar such thereabouts")
_IF_ANY = list_words("any possible available there")
_TRAILING = _list_phrases("""
    again|anymore|asap|now|bad|badly|quick|quickly|fast|somewhere|anywhere|ever|once|yet|right|real|really|so|soon|here
    |today|please|lot|much|too|at all|still around|still there|still here|is|are|was|were|went|lives
    |in there|in here|over there|on there|by any chance
    |the other day|at once|already|exist|exists|be|might|could|in them|on file|at hand|will do|would do|is fine|got to
    |went to|ended up|called|gone|next
""")
"""Words at the end of a sentence that go with what asked at its beginning: "so bad", "real quick", "where ... is"."""
_OF_PEOPLE = list_words("group family wedding school team class")
_ASKING_COURTESIES = list_words("please pls plz plss pleas plis plse plx kindly asap tbh imo imho btw lol haha")
"""Those that nobody waves or writes."""
_UNFINISHED = list_words("a an the of with at to from for showing shows displaying displays")
"""No description ends with one of these before a courtesy."""
_FAREWELLS = list_words("bye goodbye ciao")
_LOOKING_SO = list_words("look looks looking seem seems feel feels feeling be being is are")
_UNCERTAIN = list_words("maybe perhaps probably possibly")
_SEEN_NOUNS = list_words("couple boss camera laptop phone bell")
"""Words of talk that may also be what a picture shows: "a couple I know"."""
_OPENING_VERBS = list_words("open load launch play pull")
"""Verbs that tell a device to show something where it was called before; else "open" says how a door is."""
_GOING = list_words("go scroll navigate skip switch")
_SCREENS = list_words("screen screens tv monitor display projector desktop")
_DAYS = list_words("""
    monday tuesday wednesday thursday friday saturday sunday tomorrow tonight noon lunch lunchtime midnight eod
""")
"""When something is needed by."""
_LYING = list_words("lying laying floating kicking knocking hanging flying sitting")
_SENDING = list_words("show send give forward bring present")
_EXISTING = list_words("any anything have has got there anyone anybody")
_TO_SEE = list_words("see find get view have show")
_UNITS = list_words("second seconds minute minutes hour hours day days week weeks month months year years")
_KINDS_OF_PHOTOS = list_words("black white colour color old large small big framed to for of")
"""Where these are said, a photograph is in the picture, or is told of a kind."""

MAX_CLAUSES = 64
"""Clauses of a text in which what frames a description is looked for."""

MAX_FRAME_WORDS, MAX_NOUN_PHRASE_WORDS, MAX_HEADING_WORDS, MAX_CALLED_WORDS = 32, 4, 12, 3
"""Words that may stand before or after a description; words of a phrase that ends with "photos"; words before a colon
that are looked at; words with which somebody is called."""


@dataclass(frozen=True)
class _Clause:
    """Words of a sentence between two marks, as `fold_word` gives them, and where each begins and ends."""

    words: tuple[str, ...]
    spans: tuple[tuple[int, int], ...]
    mark: str = ""  # the marks after it

    def cut(self, start: int, end: int) -> _Clause:
        """The words from `start` to before `end`."""
        return _Clause(self.words[start:end], self.spans[start:end], self.mark)


@lru_cache(maxsize=16_384)
def take_content(text: str) -> str:
    """The description in what a person says; the text itself, stripped, if nothing else is in it.

    >>> take_content("I'm looking for that picture where two boys play football")
    'two boys play football'
    >>> take_content("a man looking for something in the grass")
    'a man looking for something in the grass'
    """
    whole = " ".join(text.split())
    clauses = _split_at_marks(whole)
    kept = _drop_frames(clauses, whole) if len(clauses) <= MAX_CLAUSES else clauses
    if not kept:
        return whole
    if kept == clauses:
        return _drop_noun_at_end(whole.rstrip("? ")) or whole
    return _drop_noun_at_end(_join(whole, clauses, kept))


def says_nothing(text: str) -> bool:
    """Whether a text is only what people put around a description.

    >>> [says_nothing(text) for text in ("do we have one?", "any photos", "a dog", "")]
    [True, True, False, True]
    """
    return all(is_talk(word) and word not in OTHER_NOUNS for clause in _split_at_marks(text) for word in clause.words)


def _split_at_marks(text: str) -> list[_Clause]:
    clauses: list[_Clause] = []
    words: list[str] = []
    spans: list[tuple[int, int]] = []
    quoted = [match.span() for match in _QUOTED.finditer(text)]
    for token in _TOKEN.finditer(text):
        is_quoted = any(start < token.start() and token.end() < end for start, end in quoted)
        if token[0][0].isalnum() or token[0][0] == "_":
            # What is quoted is seen: the words on a sign.
            words.append(_ON_A_SIGN if is_quoted else _read_word(token[0], words))
            spans.append(token.span())
        elif not is_quoted and _SPLITTING.search(token[0]):
            if words:
                clauses.append(_Clause(tuple(words), tuple(spans), token[0]))
                words, spans = [], []
            elif clauses:
                clauses[-1] = replace(clauses[-1], mark=clauses[-1].mark + token[0])
    return [*clauses, _Clause(tuple(words), tuple(spans))] if words else clauses


def _read_word(word: str, before: Sequence[str]) -> str:
    """A word as the rules know it: "good evening" is a greeting, and who looks "4" something looks for it."""
    folded = fold_word(word)
    if folded in _GREETED and before and before[-1] == "good":
        return "hello"
    if folded in _DIGITS and before and is_of(before[-1], _VERBS):
        return _DIGITS[folded]
    return folded


def _join(text: str, clauses: Sequence[_Clause], kept: Sequence[_Clause]) -> str:
    """What is kept of a text, with the marks between it where nothing was left out in between."""
    follows = {a.spans[-1]: b.spans[0] for a, b in pairwise(clauses)}
    parts = [text[kept[0].spans[0][0] : kept[0].spans[-1][1]]]
    for a, b in pairwise(kept):
        is_next = follows.get(a.spans[-1]) == b.spans[0]
        ends = re.search(r"(?<!\.)[.!?;:](?!\.)", a.mark)
        between = text[a.spans[-1][1] : b.spans[0][0]] if is_next else f"{ends[0]} " if ends else " "
        if not is_next:
            parts[-1] = re.sub(r" (?:and|or|but)$", "", parts[-1])
        parts += [between, text[b.spans[0][0] : b.spans[-1][1]]]
    return "".join(parts)


# -- clauses


def _drop_frames(clauses: Sequence[_Clause], text: str) -> list[_Clause]:
    """What describes of each clause, without the clauses of which nothing does."""
    kept: list[_Clause] = []
    is_framed = closes = False
    head: tuple[str, ...] = ()
    for at, clause in enumerate(clauses):
        follows, is_last = bool(kept), at == len(clauses) - 1
        is_heading = not is_last and _is_heading(clause)
        is_whole = (at == 0 or _ENDS.search(clauses[at - 1].mark) is not None) and (
            is_last or _ENDS.search(clause.mark) is not None
        )
        is_said = kept and kept[-1].spans[-1] == clauses[at - 1].spans[-1] and kept[-1].words[-1] in SAYING_VERBS
        if is_said or _asks_for_looks(clause.words):
            kept.append(clause if is_said else clause.cut(2, -2))  # "a sign saying: please wait"
            continue
        is_device = at == 0 and not is_last and _calls_device(clause.words, clauses[1].words)
        if is_heading or is_device or _says_nothing(clause.words, follows=follows, is_whole=is_whole):
            is_framed, closes = True, not is_heading and not _SIGNED.isdisjoint(clause.words)
            continue
        if closes and follows and is_last and _is_signature(clause, text):
            continue
        is_of_it = (
            is_framed
            and clause.words[0] == "it"
            and any(not PICTURE_NOUNS.isdisjoint(one.words) for one in clauses[:at])
        )
        start = _find_beginning(clause.words, follows=follows and not is_of_it)
        head = head or clause.words[:start]
        is_framed |= bool(head)
        if (
            start
            and kept
            and _only_leads_up(clauses[:at], kept, clause.words, start, is_framed=is_framed, is_of_it=is_of_it)
        ):
            kept = []
        start = start or _find_beginning_where(clause.words, is_called=not kept and at > 0 and _calls(clauses[at - 1]))
        head = head or clause.words[:start]
        if not start and is_framed and not kept:
            start = _skip_linkers(clause.words, 0)
        is_short = len(clause.words) - start <= MAX_NOUN_PHRASE_WORDS
        is_place = not is_last and clause.words[start] in PREPOSITIONS  # "we took it on holiday"
        is_of_it = is_short and (follows or is_place) and _is_about_it(clause.words[: start + 1])
        is_aside = start > 0 and (is_of_it or _is_stored(clause.words[start:]))
        if is_aside and len(clauses) > 1:
            continue
        end = _find_end(clause.words, is_framed=is_framed, head=head)
        if not start and end < len(clause.words) and is_of(clause.words[0], _INVERTED) and end > 2:
            start = 1  # "is a dog somewhere in your collection?"
            end = _find_end(clause.words[:end], is_framed=True, head=head)
        kept.append(clause.cut(start, end) if start < end else clause)
    return kept


def _only_leads_up(
    before: Sequence[_Clause],
    kept: Sequence[_Clause],
    words: Sequence[str],
    start: int,
    *,
    is_framed: bool,
    is_of_it: bool,
) -> bool:
    """Whether what was kept only leads up to a clause that asks with its words before `start`."""
    acts = _has_speaker_acting(words[:start])
    asks = acts and not ASKING_VERBS.isdisjoint(words[:start])
    if asks and is_framed and all(_tells_of_oneself(one) for one in before):
        return True  # "I'm putting together a slideshow, so I need ..."
    is_order = words[0] in _IMPERATIVES and len(kept) == 1 and len(kept[0].words) == 1
    is_turned = words[0] in ("but", "so") and is_framed and sum(len(one.words) for one in kept) <= 2
    if is_order or is_of_it or is_turned:
        return True  # "computer, find ...", "we had a photo on the wall, it showed ..."
    # "My phone died, so I lost ..."
    return acts and words[0] in ("so", "but", "and") and all(_tells_of_belongings(one) for one in kept)


def _asks_for_looks(words: Sequence[str]) -> bool:
    """ "What does a heron look like"."""
    is_asked = words[0] == "what" and words[-2:] == ("look", "like")
    return is_asked and len(words) > 4 and words[1] in ("does", "do", "did", "would")


def _find_beginning_where(words: Sequence[str], *, is_called: bool) -> int:
    """Where the description begins after "open", said to a device, and in "any dogs lying around"."""
    if is_called and words[0] in _OPENING_VERBS and len(words) > 1:
        return _skip_linkers(words, 1)
    return int(words[0] == "any" and len(words) > 3 and words[-1] == "around" and words[-2] in _LYING)


def _calls(clause: _Clause) -> bool:
    return not (VOCATIVES | DEVICES).isdisjoint(clause.words) and len(clause.words) <= MAX_CALLED_WORDS


def _calls_device(words: Sequence[str], following: Sequence[str]) -> bool:
    """ "Computer, bring up ...": a word that names a device, before what it is told to do."""
    first = following[0]
    is_told = first in _IMPERATIVES or first in _OPENING_VERBS or following[:2] in _SEARCHING_PAIRS
    is_told = is_told or is_of(first, _BEGINNING_TO_SPEAK)
    return len(words) == 1 and words[0] in DEVICES and is_told


def _tells_of_belongings(clause: _Clause) -> bool:
    """ "My phone died": of something in which pictures are kept."""
    words = clause.words
    return len(words) > 2 and words[0] in ("my", "our") and is_talk(words[1]) and words[1] not in PICTURE_NOUNS


def _tells_of_oneself(clause: _Clause) -> bool:
    """ "I'm making an album": somebody speaks, and of nothing that is searched."""
    of_search = PICTURE_NOUNS | ASKING_VERBS | _OF_SEEING
    return _has_speaker_acting(clause.words) and of_search.isdisjoint(clause.words)


def _is_heading(clause: _Clause) -> bool:
    """ "Pics of my friends: two men on a bench" is about two men on a bench."""
    words = clause.words
    return (
        ":" in clause.mark
        and len(words) <= MAX_HEADING_WORDS
        and (
            (len(words) == 1 and (len(words[0]) == 1 or words[0] in _LABELS))
            or not PICTURE_NOUNS.isdisjoint(words)
            or (len(words) > 1 and all(map(is_talk, words)))
            or words[-1] in _TO_BE | {"it", "this", "follows", "below", "reads", "says"}
            or any(is_of(word, _SAID_OF_SEARCH) for word in words)
        )
    )


def _is_stored(words: Sequence[str]) -> bool:
    """ "In the holiday folder": where a picture is kept, not what it shows."""
    return (
        words[0] in ("in", "from", "on", "inside") and words[-1] in _STORES and len(words) <= MAX_NOUN_PHRASE_WORDS + 1
    )


def _is_about_it(words: Sequence[str]) -> bool:
    """ "I need it for a card": what was described before is spoken of."""
    return any(
        before not in _OF_THINKING
        and is_of(before, _VERBS)
        and word in ("it", "them")
        and not is_of(after, AUXILIARIES)
        for before, word, after in zip(words, words[1:], words[2:], strict=False)
    )


def _is_signature(clause: _Clause, text: str) -> bool:
    return len(clause.words) <= 2 and all(text[start].isupper() for start, _ in clause.spans)


def _says_nothing(words: Sequence[str], *, follows: bool, is_whole: bool) -> bool:  # noqa: PLR0911 (one return a kind)
    """Whether a clause is none of the description; `follows`: one with a description was before it, `is_whole`: it is a
    sentence, or stands in brackets."""
    if len(words) <= MAX_CALLED_WORDS and words[0] in OPENINGS and sum(not is_talk(word) for word in words) == 1:
        return True  # "hi Anna"
    is_greeting = words in (("morning",), ("afternoon",)) or (
        len(words) <= MAX_CALLED_WORDS + 1 and "dear" in words[:2]
    )
    if not follows and is_greeting:
        return True  # "my dear friend"
    if follows and words[0] in _SIGNED and words[0] in CLOSINGS and len(words) <= MAX_NOUN_PHRASE_WORDS:
        return True  # "thanks a million"
    if words[:2] == ("pretty", "please") or (
        words[0] in ("not", "it", "that") and _doubts_or_judges(words, follows=follows)
    ):
        return True
    if follows and is_of(words[0], _IT) and _would_be(words) and len(words) <= 2 * MAX_NOUN_PHRASE_WORDS:
        return True  # "that'd be fab"
    if words[:2] == ("to", "be") and len(words) <= MAX_CALLED_WORDS + 1:
        return True  # "to be honest"
    if follows and is_whole and is_of(words[0], SUBJECTS) and words[2:3] == ("it",):
        return True  # "I deleted it by accident"
    strange = [at for at, word in enumerate(words) if not is_talk(word) and not _is_speakers(words, at)]
    if strange:
        is_aside = (words[0] in _ASIDE and _has_speaker_acting(words)) or (
            is_of(words[0], AUXILIARIES) and not (PICTURE_NOUNS | ASKING_VERBS).isdisjoint(words[strange[0] :])
        )
        if words[0] == "or" and len(words) > 1 and words[1] in _OR_SO:
            return True
        return is_aside and len(strange) == 1 and not _find_beginning(words, follows=False)
    if _is_of_people(words, follows=follows):
        return False
    if is_whole and len(words) == 1 and (words[0] in SOMEBODY or words[0] in ASKING_NOUNS):
        return True
    is_joined = words[0] in PREPOSITIONS or words[0] in ("one", "some", "no", "while", "as", "i.e")
    is_phrase = not any(is_of(word, _IN_SENTENCES) for word in words)
    if is_whole and len(words) > 1 and not is_joined and not is_phrase and OTHERS.isdisjoint(words):
        return True
    return _speaks(words, follows=follows) or _is_afterthought(words)


def _doubts_or_judges(words: Sequence[str], *, follows: bool) -> bool:
    """ "Not sure it exists", before a description; "it was kind of a nice one", after it."""
    if not follows:
        return words[0] == "not" and len(words) > 2 and words[1] in ADJECTIVES and all(map(is_talk, words))
    between = [word for word in words[2:-1] if word not in ("a", "an", "the", "of", "such")]
    is_judged = len(words) > 2 and is_of(words[1], _TO_BE) and words[-1] in PICTURE_NOUNS | {"one"}
    return is_judged and bool(between) and all(map(_says_no_looks, between))


def _is_of_people(words: Sequence[str], *, follows: bool) -> bool:
    """Whether words that are all of talk are of people who are seen: "a couple I know", "somebody saying sorry"."""
    if not follows and words[0] in ("a", "an") and words[1:2] and words[1] in _SEEN_NOUNS:
        return True
    said = any(_is_seen_written(words, at, is_framed=True) for at, word in enumerate(words) if word in COURTESIES)
    return said and not SOMEBODY.isdisjoint(words)


def _would_be(words: Sequence[str]) -> bool:
    return any(
        (is_of(first, _WOULD) or first.endswith(("'d", "'ll"))) and second in ("be", "do", "help")
        for first, second in pairwise(words)
    )


def _is_speakers(words: Sequence[str], at: int) -> bool:
    """Whether a word is for somebody who speaks of the search: "my wife described it"."""
    if at == 0 or words[at - 1] not in ("my", "our") or at + 1 >= len(words):
        return False
    following, next_one = words[at + 1], words[at + 2] if at + 2 < len(words) else ""
    is_of_it = next_one in ("it", "that", "this")
    is_of_it = is_of_it or (next_one in ("", "of", "with", "where") and not PICTURE_NOUNS.isdisjoint(words[:at]))
    return following in _TELLING or (is_of(following, _VERBS) and is_of_it)


def _speaks(words: Sequence[str], *, follows: bool) -> bool:  # noqa: PLR0911 (one return a kind)
    """Whether somebody speaks in a clause of such words, or is spoken to, of the search or of the picture as such."""
    if not _COURTEOUS.isdisjoint(words) or words[0] in ("me", "us"):
        return True
    if all(word in _GREETING for word in words) and not _CALLED.isdisjoint(words):
        return True
    if _has_speaker_acting(words) or any(b in ("me", "us") and a in _TOWARDS for a, b in pairwise(words)):
        return True
    is_mine = len(words) > 2 and words[1] in ("my", "our", "your")
    if is_mine and words[0] in ("from", "on", "in") and words[-1] in _STORES | PICTURE_NOUNS:
        return True
    if not follows and all(map(_says_no_looks, words)) and not ADJECTIVES.isdisjoint(words):
        return True  # "just curious"
    if not follows:
        if all(word in DISCOURSE for word in words):
            return True
        named = PICTURE_NOUNS | ASKING_NOUNS | ASKING_VERBS
        return words[0] in _IMPERATIVES or words[-1] in _TO_BE or not named.isdisjoint(words)
    if words[0] in _OF_SEARCHING | _ELLIPTIC or words[:2] in (("is", "that"), ("is", "it"), ("is", "there")):
        return True
    if words[0] in ("not", "unsure") and not (ADJECTIVES | ASKING_NOUNS).isdisjoint(words):
        return True
    if words[0] in ("where", "how", "what", "why") and is_of(words[min(1, len(words) - 1)], AUXILIARIES):
        return True
    if words[-1] in PICTURE_NOUNS and all(word in ADJECTIVES or word in ("a", "an") for word in words[:-1]):
        return len(words) > 1
    return _TAKING.isdisjoint(words) and any(
        word in PICTURE_NOUNS and not {"this", "that", "my", "our", "your"}.isdisjoint(words[max(at - 2, 0) : at])
        for at, word in enumerate(words)
    )


def _has_speaker_acting(words: Sequence[str]) -> bool:
    """ "I think", "did you see": not "looking at me"."""
    for at, word in enumerate(words):
        if _is_speakers(words, at) or (is_of(word, SUBJECTS) and "'" in word):
            return True
        following = next((later for later in words[at + 1 : at + 4] if later not in ADVERBS), "")
        is_asked = at > 0 and is_of(words[at - 1], AUXILIARIES)
        if is_of(word, SUBJECTS) and (is_asked or is_of(following, _VERBS) or is_of(following, AUXILIARIES)):
            return True
    return "thank" in words or "im" in words


def _is_afterthought(words: Sequence[str]) -> bool:
    """ "Or so", "that kind of thing", "as far as I know": nobody of whom a description speaks does anything in it."""
    if words == ("no",) or (
        words[0] not in _COUNTED
        and all(word in DISCOURSE or (word in ("no", "or") and len(words) > 1) or word in _RATHER for word in words)
    ):
        return True
    first, second = words[0], words[1] if len(words) > 1 else ""
    if is_of(first, _IT) and (second or "'" in first) and all(map(_says_no_looks, words[1:])):
        return True  # "it was", before a fact; "it's urgent"
    if first == "the" and words[-1] in ("one", "ones") and "other" not in words:
        return True
    is_begun = (
        is_of(first, THIS_OR_SO)
        or (first, second) in (("at", "least"), ("more", "or"), ("not", "that"), ("not", "this"), ("not", "those"))
        or (words[-1] in ("ago", "back") and words[-2:-1] != ("the",) and not _TIMES.isdisjoint(words))
        or (first == "nothing" and second in ("else", "more", "special"))
        or (first in ("no", "not") and not ASKING_NOUNS.isdisjoint(words))
        or (first == "as" and second in ("far", "it", "that", "said", "described", "mentioned", "always"))
    )
    return is_begun and OTHERS.isdisjoint(words) and not (first == "or" and second not in _OR_SO)


def _says_no_looks(word: str) -> bool:
    return is_of(word, AUXILIARIES) or word in _INVISIBLE


# -- beginnings


def _find_beginning(words: Sequence[str], *, follows: bool) -> int:
    """Where the description begins in a clause: 0 if nothing stands before it."""
    end, speaks = (
        0,
        not follows
        and (
            words[0] in _LEFT_OUT_I
            or is_of(words[0], _OF_SPEAKERS)
            or (words[0] in _TO_BE and words[1:2] in (("it",), ("there",), ("this",), ("that",)))
        ),
    )
    for at, word in enumerate(words[: min(MAX_FRAME_WORDS, _find_name_of_thing(words))]):
        before, after = words[at - 1] if at else "", words[at + 1] if at + 1 < len(words) else ""
        is_duration = at > 1 and after in _UNITS and (word in NUMBER_WORDS or word.isdigit())
        if not is_talk(word) and not _is_speakers(words, at) and not is_duration:
            is_called = before in OPENINGS and (after in _IMPERATIVES or is_of(after, _BEGINNING_TO_SPEAK))
            if not is_called:
                break
        is_anyone = at == 0 and word in ("anyone", "anybody")
        if word in OTHERS or (word in SOMEBODY and not is_anyone and not _is_asked(before, after)):
            break
        owns = word in PICTURE_NOUNS and before in ("my", "our", "your")
        speaks |= is_of(word, SUBJECTS) or word in SOMEBODY or owns or _is_speakers(words, at)
        connected = _find_connector(words, at, speaks=speaks or end > 0, follows=follows)
        if connected is not None:
            end = max(end, connected)
        elif word in PICTURE_NOUNS and not is_of(before, SUBJECTS) and before not in SOMEBODY:
            goes_on = after in _ORDERED or after in NUMBER_WORDS
            is_bare = before not in DETERMINERS and not is_talk(after) and after not in _COMPOUNDS
            if end and after and (goes_on or is_bare):
                end = at + 1
        elif _asks(words, at, end, speaks=speaks, follows=follows) or ((end or speaks) and _goes_through(words, at)):
            end = at + 1
    end = end or _find_end_of_telling(words)
    leads = range(max(end, 1), min(end + 9, len(words))) if end or is_of(words[0], SUBJECTS) else ()
    if at := next((at for at in leads if _orders(words, at)), 0):
        end = at + 1 + _find_beginning(words[at + 1 :], follows=False)
    end = _skip_linkers(words, end) if end else 0
    return end if end < len(words) else 0


def _find_name_of_thing(words: Sequence[str]) -> int:
    """Where the first thing begins that is called by what is written on it: "thank you card", "help wanted sign"."""
    for at, word in enumerate(words[:MAX_FRAME_WORDS]):
        start = at
        while start and (words[start - 1] in COURTESIES - SOUNDS or words[start - 1] in ("wanted", "help", "you")):
            start -= 1
        if word in BEARING_WORDS and start < at and words[start:at] not in (("you",), ("please",), ("help", "you")):
            return start
    return len(words)


def _is_seen_written(  # noqa: PLR0911 (one return a kind)
    words: Sequence[str], at: int, *, is_framed: bool
) -> bool:
    """Whether a courtesy is said or written in the picture: "waving goodbye", "the word please", "a sorry note"."""
    first = at
    while first and (words[first - 1] in COURTESIES - SOUNDS or words[first - 1] in ("and", "you")):
        first -= 1
    before = words[first - 1] if first else ""
    if words[at] in SOUNDS or not before:
        return False
    if before in SAYING_VERBS:
        return first < 2 or not (is_of(words[first - 2], SUBJECTS) or words[first - 2] == "to")
    said = next((one for one in range(first) if words[one] in SAYING_VERBS or words[one] == "reading"), 0)
    if said and not BEARING_WORDS.isdisjoint(words[:said]) and (said == first - 1 or not is_framed):
        return True  # "a sign reading no entry please"
    if before in GREETING_VERBS:
        return not (is_framed and words[at] in _ASKING_COURTESIES)
    if words[at] in _FAREWELLS:
        return not is_talk(before)  # "hugging goodbye"
    if words[at] == "sorry" and before in _LOOKING_SO:
        return True
    return before in WORDS_FOR_WORDS and words[max(first - 2, 0)] in ("a", "the")


def _is_unfinished(words: Sequence[str], at: int) -> bool:
    """Whether what stands before a courtesy needs it: "a sorry note", "a wall with thank you on it"."""
    before = words[at - 1] if at else ""
    return words[at] not in SOUNDS and before in _UNFINISHED


def _orders(words: Sequence[str], at: int) -> bool:
    """ "And find", "to search": wherever it stands after the words of somebody who speaks."""
    if (words[at - 1], words[at]) in _SEARCHING_PAIRS and at > 1:
        return is_of(words[at - 2], SUBJECTS) or words[at - 2] in ("and", "to")
    is_led = words[at - 1] in ("and", "to", "so", "but") or is_of(words[at - 1], SUBJECTS)
    return words[at] in ASKING_VERBS and is_led and at + 1 < len(words)


def _goes_through(words: Sequence[str], at: int) -> bool:
    """ "Along the lines of", "search my library for"."""
    word, before = words[at], words[at - 1]
    is_owned = at > 1 and words[at - 2] in ("my", "our", "your", "the", "all")
    is_searched = before in _STORES | PICTURE_NOUNS and is_owned
    return (word == "of" and before in _OF_SOME_KIND) or (
        word == "for" and (is_searched or before in ("anything", "something", "everything"))
    )


def _is_asked(before: str, after: str) -> bool:
    """Whether "anybody" is one of those who are spoken to: "does anybody have", "anyone seen"."""
    return is_of(before, AUXILIARIES) or after in _TELLING or after in _HAVING


def _asks(  # noqa: PLR0911, PLR0912 (one return a kind)
    words: Sequence[str], at: int, end: int, *, speaks: bool, follows: bool
) -> bool:
    """Whether what asks, or tells of the search, reaches to a word."""
    word, before, after = words[at], words[at - 1] if at else "", words[at + 1] if at + 1 < len(words) else ""
    begins = at == 0 or before in COURTESIES or before in VOCATIVES or before in ADVERBS
    is_courtesy = word in COURTESIES and end != at
    if is_courtesy and (_is_seen_written(words, at, is_framed=end > 0) or before in ("a", "an", "the")):
        return False
    is_bare = at == 0 or before in ("me", "us") or (before in LINKERS and before != "to")
    if word == "google" and is_bare and after and not is_talk(after):
        return False  # "Google offices"
    if before in _UNITS and word in ("for", "to") and end and speaks:
        return True
    if before in _ASKING_COURTESIES and word in _OPENING_VERBS | {"forward"} and not follows:
        return True
    if word == "you" and before == "thank":
        return end == at
    if not follows and at == 0 and (word in _UNCERTAIN or (word in _GOING and after == "to")):
        return True
    if (
        word in CLOSINGS
        or word in NEVER_SEEN
        or (word in OPENINGS and begins)
        or (word in VOCATIVES and before in OPENINGS)
    ):
        return True
    if (before, word) in _SEARCHING_PAIRS and (speaks or not follows):
        return True
    if word in _SETTING_OFF and all(earlier in _SETTING_OFF for earlier in words[:at]) and not follows:
        return True
    if word in ("look", "glimpse", "peek") and before == "a" and after in ("at", "of") and (speaks or end):
        return True
    is_pronoun = before in ("this", "that") and word.endswith("s")
    if before in _BEFORE_A_NOUN and not is_pronoun:  # "a display", "the request"
        return word in ASKING_NOUNS and (speaks or not follows) and (speaks or after in LINKERS)
    if is_of(word, _VERBS) and (speaks or (after in ("me", "us") and word in _GOES_TO_SPEAKER)):
        return True
    if word in (_OF_SEARCHING if follows else _IMPERATIVES) and begins and after != "of":
        return True
    if (
        speaks
        and before in ADJECTIVES
        and before not in _VISIBLE
        and word in ("in", "about", "for", "if", "that", "to")
    ):
        return True  # "I'd be interested in"
    if before in ("me", "us") and is_of(word, _VERBS) and at > 1 and words[at - 2] in ("let", "help", "make"):
        return True
    if follows:
        return False
    if word == "of" and before == "more" and at == 1:
        return True
    if word == "there" and is_of(before, AUXILIARIES):
        return True
    if word in _TO_BE and before == "there" and (not PICTURE_NOUNS.isdisjoint(words[:at]) or word in ("was", "were")):
        return True
    if before in ASKING_NOUNS and word in OTHER_NOUNS and after in _TO_BE:
        return True  # "the search term is"
    if word in _TO_BE and words[:at] == ("the", "scene"):
        return True
    if word == "about" and (before in ("what", "how") or (is_of(before, _TO_BE) and is_of(words[0], _IT))):
        return True
    if words[0] == "it" and at and all(is_of(one, AUXILIARIES) or one in ADVERBS for one in words[1 : at + 1]):
        return True
    if is_of(word, _TO_BE) and before in ("where", "what", "which", "who", "it"):
        return True
    if word in ("where's", "wheres", "what's", "whats", "it's") or (
        word in _SHOWING and before in ("it", "this", "that")
    ):
        return True
    if word == "after" and (is_of(before, _TO_BE) or before in ("i'm", "im", "we're")):
        return True
    return word in ASKING_VERBS or (word in ASKING_NOUNS and (speaks or after in LINKERS))


def _find_connector(  # noqa: PLR0911, PLR0912 (one return a kind)
    words: Sequence[str], at: int, *, speaks: bool, follows: bool
) -> int | None:
    """Where the description begins that a word for the picture leads to; None: that word may be part of one."""
    word, before = words[at], words[at - 1] if at else ""
    is_picture = word in PICTURE_NOUNS
    is_pointed_at = (
        before in _POINTING or before in ("there", "have", "got", "find", "see") or before in ADJECTIVES or speaks
    )
    if words[at + 1 : at + 3] in (("in", "here"), ("in", "there")):
        at += 2
    if at == 0 and not follows and (word == "those" or (word == "one" and words[1:2] in (("with",), ("where",)))):
        is_pointed_at = True
    elif not is_picture and (word not in STANDING_FOR_PICTURES or (follows and not is_pointed_at)):
        return None
    if word in ("one", "ones", "some", "any", "time", "day", "moment") and not is_pointed_at:
        return None
    while (
        words[at + 1 : at + 2]
        and words[at + 1] in _WHEREABOUTS
        and not is_of(words[min(at + 2, len(words) - 1)], _TO_BE)
    ):
        at += 1
    following = [*words[at + 1 : at + 4], "", "", ""]
    match following:
        case ["of", *_] if word in ("some", "any"):
            return None
        case ["along", "the", "lines", *_] if words[at + 4 : at + 5] == ("of",):
            return at + 5
        case ["to", "do", "with", *_] if not is_picture:
            return at + 4
        case ["similar" | "related" | "relating" | "pertaining" | "akin", "to", *_]:
            return at + 3
        case ["from", "a" | "an", *_] if speaks:
            return at + 2
        case [first, *_] if first in _AFTER_PICTURE:
            return at + 2
        case ["that" | "which", second, *_] if second in _SHOWING or second in _TO_BE:
            return at + 3
        case ["in" | "on", "which", *_] | ["from", "when", *_]:
            return at + 3
        case [first, second, *_] if is_of(first, AUXILIARIES) and second in _AFTER_PICTURE | _SHOWING:
            return at + 3
        case [first, *_] if (first in _SHOWING and before in _POINTING) or (
            first in _TO_BE and before in _ASKING_WHICH
        ):
            return at + 2
        case [first, second, *_] if is_picture and first in _TAKEN and (second in _ORDERED or second in LINKERS):
            return at + 2
    return None


def _find_end_of_telling(words: Sequence[str]) -> int:
    """Where a description begins after "my sister sent me a pic where": 0 without such words."""
    for at, word in enumerate(words[:MAX_FRAME_WORDS]):
        if word not in PICTURE_NOUNS:
            continue
        connected = _find_connector(words, at, speaks=False, follows=False)
        before = [word for word in words[:at] if word not in DETERMINERS]
        has_speaker = any(is_of(word, SPEAKERS) or word in ASKING_VERBS for word in before)
        has_speaker = has_speaker or is_of(words[0], _INVERTED)
        is_taken = before and before[-1] in _TAKING and not any(is_of(word, SPEAKERS) for word in before[-2:])
        return 0 if connected is None or is_taken or not has_speaker else connected
    return 0


def _skip_linkers(words: Sequence[str], end: int) -> int:
    """Past the words that only link what asks to what is asked for: "to see", "of", "where there is"."""
    while end < len(words) - 1:
        word, after, before = words[end], words[end + 1], words[end - 1] if end else ""
        is_particle = word in _PARTICLES and is_of(before, _VERBS) and before not in _TAKEN
        is_particle = (
            is_particle
            or (before in _LOOKING | {"peek", "glimpse"} and word in ("at", "into", "of"))
            or (before, word) in _COMING_ACROSS
        )
        is_particle = is_particle or (word == "on" and before in ("have", "got", "info", "information"))
        is_between = word != "next" and word in _BETWEEN and after in LINKERS
        if (
            words[end : end + 2] in (("in", "my"), ("in", "our"))
            and words[end + 2] in _IN_MIND
            and end + 3 < len(words)
        ):
            end += 3
            continue
        target = words.index("for", end) if before in _LOOKING and "for" in words[end : end + 4] else end
        if target > end and all(map(is_talk, words[end:target])):
            end = target + 1  # "looking all day for"
            continue
        if words[end - 1 : end + 2] == ("to", "do", "with") and end + 2 < len(words):
            end += 2
            continue
        if word == "one" and after in ("can", "could", "may") and words[end + 2 : end + 3] in (("see",), ("find",)):
            end = min(end + 3, len(words) - 1)  # "in which one can see"
            continue
        if end and (
            (before == "to" and word in _TO_SEE)
            or (word == "got" and before in ("has", "have", "had"))
            or (word == "any" and is_of(before, _VERBS | {"there"}) and after not in ("of", "more", "other"))
        ):
            end += 1
            continue
        if before == "of" and word in ("them", "these", "those") and after in _TO_BE:
            end += 1
            continue
        if word == "there" and after in _TO_BE - {"being"} and before not in ("if", "whether"):
            break  # "there is a dog" is how some describe
        is_link = word in LINKERS or word in _SOFTENING or word in ("me", "us", "please")
        if not (is_link or is_particle or is_between):
            break
        end += 1
    return end


# -- ends


def _find_end(words: Sequence[str], *, is_framed: bool, head: Sequence[str]) -> int:
    """Where the description ends in a clause: at its end if nothing stands after it.

    `is_framed`: something asked before, `head`: the words that did, if they stood before some of the description.
    """
    begins = bool(head)
    start = len(words)
    while start > max(1, len(words) - MAX_FRAME_WORDS) and is_talk(words[start - 1]):
        start -= 1
    end = next((cut for cut in range(start, len(words)) if _closes_at(words, cut, is_framed=is_framed)), len(words))
    if words[-2:] == ("on", "top") and words[-3:-2] in (("sugar",), ("cherry",)) and "please" in words[1:]:
        end = words.index("please", 1)
        end -= end > 1 and words[end - 1] == "pretty"
    end -= _count_where_shown(words[:end], head=head, closes=end < len(words))
    if is_framed and end > 3 and words[end - 1] in _PURPOSES and "for" in words[end - 3 : end - 1]:
        end -= 3 if words[end - 3] == "for" else 2
    while is_framed and end > max(start, 1):
        length = next((count for count in (3, 2, 1) if words[end - count : end] in _TRAILING), 0)
        length = length or 3 * (
            words[end - 1] in _ARCHIVES and words[end - 3] in ("in", "from", "on") and words[end - 2] in _BEFORE_A_NOUN
        )
        length = length or (begins and words[end - 1] == "at" and not is_of(words[end - 2], _VERBS))
        length = length or 2 * (begins and words[end - 2 : end] == ("in", "it")) or _count_ago(words[start:end])
        if not length:
            break
        end = max(end - length, 1)
    return end


def _closes_at(words: Sequence[str], cut: int, *, is_framed: bool) -> bool:
    """Whether the words from one on are said to who searches, and none of them is said in the picture."""
    tail = words[cut:]
    if not _closes(tail) or (tail[0] == "you" and words[cut - 1] == "thank"):
        return False
    courtesies = [at for at in range(cut, len(words)) if words[at] in COURTESIES]
    if tail[0] in COURTESIES and _is_unfinished(words, cut):
        return False
    return not any(_is_seen_written(words, at, is_framed=is_framed) for at in courtesies)


def _count_where_shown(words: Sequence[str], *, head: Sequence[str], closes: bool) -> int:  # noqa: PLR0911 (one return a kind)
    """How many words at the end say where, when or to whom something is to be shown: "on the screen", "by Monday"."""
    if len(words) < 3:
        return 0
    third, second, last = words[-3:]
    if last in _SCREENS and head and second in ("the", "my", "your", "our") and third == "on":
        return 3
    if last in _SCREENS and (head or closes) and second == "on":
        return 2
    if not head:
        return 0
    if last in _DAYS and second in ("by", "before", "until"):
        return 2
    is_sent = not _SENDING.isdisjoint(head) and "me" not in head
    if last in _PURPOSES and second in ("my", "our") and third == "to" and is_sent:
        return 3
    if last == "around" and second in _LYING and not _EXISTING.isdisjoint(head):
        return 2
    is_had = not PICTURE_NOUNS.isdisjoint(head) and head[-1] in ("has", "have", "got", "having", "with")
    return 2 if (second, last) == ("on", "it") and is_had and {"with", "having"}.isdisjoint(words[len(head) :]) else 0


def _count_ago(words: Sequence[str]) -> int:
    """How many words at the end say that something was long ago: "a while back"."""
    if len(words) < 2 or words[-1] not in ("ago", "back") or words[-2] not in _TIMES - {"day", "week", "month"}:
        return 0
    at = len(words) - 1
    while at and words[at - 1] in _TIMES:
        at -= 1
        if words[at] in ("a", "some", "the"):
            break
    return len(words) - at


def _closes(tail: Sequence[str]) -> bool:  # noqa: PLR0911 (one return a kind)
    """Whether words at an end are said to who searches, from the first of them on."""
    first, second = tail[0], tail[1] if len(tail) > 1 else ""
    if first in CLOSINGS or first in NEVER_SEEN or (first in ("by", "for", "before") and second in NEVER_SEEN):
        return True
    if first in _TO_BE and second in ("in", "on") and tail[-1] in PICTURE_NOUNS:
        return len(tail) == 4 and tail[2] in ("the", "this", "that", "my")
    if first in VOCATIVES and second in CLOSINGS | VOCATIVES:
        return True
    if (first, second) in (("pretty", "please"), ("real", "quick")) or (first in _UNCERTAIN and not second):
        return True
    if first in _WOULD and (second in ("do", "help", "work", "suffice") or (second == "be" and len(tail) > 2)):
        return True
    acts = _has_speaker_acting(tail)
    if is_of(first, SUBJECTS):
        return acts
    if is_of(first, AUXILIARIES) and (is_of(second, SUBJECTS) or second in SOMEBODY or second in ("that", "there")):
        return True
    if first in ("for", "to") and second in ("me", "us"):
        return len(tail) < 3 or tail[2] in CLOSINGS or tail[2] in ADVERBS
    if first in ("or", "and"):
        return second in _OR_SO or tail[1:3] in (("so", "on"), ("all", "that")) or second == "stuff" or acts
    if first == "if":
        return second in _IF_ANY or acts
    if first in ("in", "from", "among", "amongst", "for"):
        owns = not {"my", "our", "your", "all"}.isdisjoint(tail[1:4])
        return owns and is_talk(tail[-1]) and (tail[-1] in PICTURE_NOUNS or tail[-1] in OTHER_NOUNS)
    if (first, second) in (("at", "least"), ("at", "some"), ("back", "then"), ("as", "far"), ("any", "idea")):
        return True
    begins = is_of(first, list_words("is was that which what as but because the how like"))
    return begins and _has_speaker_acting(tail[: tail.index("thank")] if "thank" in tail else tail)


def _drop_noun_at_end(text: str) -> str:
    """ "Beach photos" are of a beach; "a woman takes photos" and "people pose for a group photo" are whole."""
    words = text.lower().replace("’", "'").split()
    if len(words) < 2 or words[-1] not in PICTURE_NOUNS:
        return text
    before = words[-2]
    if before in _BEFORE_A_NOUN or before in CONJUNCTIONS or before in NUMBER_WORDS or before in _OF_PEOPLE:
        return text
    if len(words) <= MAX_NOUN_PHRASE_WORDS:
        describes = not before.endswith(("ing", "s")) and not is_talk(before)
    else:
        is_kind = (
            before in _KINDS_OF_PHOTOS
            or before.endswith("'s")
            or words[-1].startswith(("shot", "snap", "illustration"))
        )
        describes = not is_kind and _TAKING.isdisjoint(words)
    return " ".join(text.split()[:-1]) if describes else text
