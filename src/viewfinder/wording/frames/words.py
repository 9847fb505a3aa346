"""Classes of words that only the rules of frames need; those that others read as well are in `talk`."""

from __future__ import annotations

import re

from viewfinder.wording.talk import (
    ADJECTIVES,
    ADVERBS,
    ASKING_NOUNS,
    ASKING_VERBS,
    AUXILIARIES,
    CONJUNCTIONS,
    COURTESIES,
    NEVER_SEEN,
    OTHER_VERBS,
    PICTURE_NOUNS,
    SPEAKERS,
    STANDING_FOR_PICTURES,
    SUBJECTS,
    VOCATIVES,
    list_words,
)

VERBS = ASKING_VERBS | OTHER_VERBS


def _list_phrases(text: str) -> frozenset[tuple[str, ...]]:
    return frozenset(tuple(phrase.split()) for phrase in text.split("|"))


TO_BE = list_words("is are was were am be been being")
IMPERATIVES = list_words("""
    find search show give get bring send fetch locate retrieve display browse try remind gimme lemme
""")
"""Verbs with which one tells somebody to search; nobody begins to describe a picture with one."""
OF_SEARCHING = list_words("find search fetch locate retrieve browse remind gimme lemme")
"""Those that are said of nothing that is seen."""
SEARCHING_PAIRS = _list_phrases("look for|looking for|hunt for|pull up|look up|bring up|dig up|dig out")
GOES_TO_SPEAKER = IMPERATIVES | list_words("tell help let remind hand pass pull")
ELLIPTIC = list_words("""
    hope need want wish remember recall think guess believe know mean appreciate swear reckon suppose assume imagine
    been did do does can could would will wasn't isn't aren't weren't didn't don't doesn't can't couldn't
""")
"""What follows a description begins with one of these only where who speaks is left out, or a question is asked."""
LEFT_OUT_I = ELLIPTIC | list_words("got not unsure sure certain glad happy")
"""What a sentence begins with where who speaks is left out: "not sure how to describe it"."""
_OF_OTHERS = TO_BE | list_words("has had having does it's that's there's here's its")
"""Auxiliaries with which a description may begin: "has hardwood floors"."""
SAID_OF_SEARCH = SPEAKERS | ASKING_VERBS | ASKING_NOUNS | COURTESIES | list_words("it's do does did")
LABELS = list_words("subject body topic content contents motif text re")
IT = list_words("that it this that'd it'd that'll it'll anything any all")
VISIBLE = list_words("""
    old older oldest new newer newest beautiful lovely long short little single clear whole full entire same similar
    different near far
""")
"""Adjectives that also say how something looks."""
COUNTED = list_words("a first second next minute moment")
WOULD = list_words("would will should might could may must")
RATHER = list_words("rather maybe perhaps hang hold on a second sec minute moment")
ASIDE = list_words("if as unless though although because since that's")
OF_THINKING = list_words("think believe guess know see say thought")
OF_SEEING = list_words("""
    think believe guess see saw know have had has there was show found shows took like love
""")
TELLING = ASKING_VERBS | list_words("""
    said says told describes described mentioned thinks thought believes sent showed insists swears calls called
""")
HAVING = list_words("have has got seen know knows please")
ARCHIVES = list_words("archive archives album albums folder folders collection database files records")
STORES = list_words("""
    folder folders album albums library collection archive drive phone camera cloud gallery disk
""")
SOFTENING = list_words("""
    subject topic just only simply basically maybe perhaps probably possibly preferably ideally specifically
""")
"""They may stand before a description that was asked for."""
IN_SENTENCES = VERBS | AUXILIARIES | SPEAKERS | PICTURE_NOUNS | STANDING_FOR_PICTURES
COURTEOUS = COURTESIES | NEVER_SEEN
TOWARDS = GOES_TO_SPEAKER | {"for", "to"}
INVISIBLE = ADVERBS | (ADJECTIVES - VISIBLE)
OF_SPEAKERS = AUXILIARIES - _OF_OTHERS
INVERTED = OF_SPEAKERS | TO_BE
"""Auxiliaries with which a question begins."""
BEGINNING_TO_SPEAK = AUXILIARIES | SUBJECTS
BETWEEN = ADVERBS | ADJECTIVES | CONJUNCTIONS
ENDS = re.compile(r"[.!?;()\[\]…—–|]|^-+$")
GREETED = list_words("morning evening afternoon day night")

SHOWING = list_words("""
    shows show showed showing depicts depict depicting features feature featuring contains contain containing has have
    had having includes include including resembling resembles
""")
TAKEN = list_words("taken shot made captured snapped")
TAKING = list_words("""
    take takes taking took pose poses posing posed holding holds frame framed hanging looking looks showing
""")
AFTER_PICTURE = list_words("of with w/ where when about like but titled called named concerning regarding") | (
    SHOWING - {"has", "have", "had"}
)
BEFORE_A_NOUN = list_words("a an the this that these those my our your his her its their any some another")
SETTING_OFF = list_words("so basically actually anyway anyways honestly literally listen lets")
WHEREABOUTS = list_words("here somewhere once there again around anywhere mine ours")
"""They may stand between a word for the picture and what it shows."""
OF_SOME_KIND = list_words("print lines kind sort type copy copies version example examples sample memory memories")
IN_MIND = list_words("mind head memory heart thoughts dreams collection library album archive")
TIMES = list_words("""
    a some the long few couple of while time ages day days week weeks month months year years quite
""")
PURPOSES = list_words("""
    friend friends colleague colleagues client boss mum mom dad wife husband sister brother grandma grandpa family
    poster flyer brochure calendar invitation newsletter magazine cover collage scrapbook assignment essay thesis talk
    lecture presentation project homework website blog article report card work school class slide slides
""")
"""For whom or what one searches, where something asks at the beginning of the sentence."""
POINTING = list_words("""
    the that this which what whichever those these my our your any some other another no
""")
ASKING_WHICH = list_words("which what whose")
PARTICLES = list_words("up out down back")
COMING_ACROSS = _list_phrases("come across|came across|stumbled upon|run into")
LOOKING = list_words("look looks looking looked search searching searched hunting")
COMPOUNDS = list_words("""
    album albums booth frame frames shoot book books gallery camera studio session paper
""")
"""After a word for the picture they make a thing of it."""
ORDERED = list_words("""
    in on at from by near under behind beside next a an the some two three his her their many
""")
"""Words with which a description may go on after a word for the picture."""
SIGNED = list_words("thanks thank thx cheers regards sincerely faithfully yours wishes best ta love")
"""A name may stand after these."""
CALLED = VOCATIVES | SIGNED
GREETING = CALLED | ADJECTIVES
OR_SO = list_words("something anything so sth whatever similar such thereabouts")
IF_ANY = list_words("any possible available there")
TRAILING = _list_phrases("""
    again|anymore|asap|now|bad|badly|quick|quickly|fast|somewhere|anywhere|ever|once|yet|right|real|really|so|soon|here
    |today|please|lot|much|too|at all|still around|still there|still here|is|are|was|were|went|lives
    |in there|in here|over there|on there|by any chance
    |the other day|at once|already|exist|exists|be|might|could|in them|on file|at hand|will do|would do|is fine|got to
    |went to|ended up|called|gone|next
""")
"""Words at the end of a sentence that go with what asked at its beginning: "so bad", "real quick", "where ... is"."""
OF_PEOPLE = list_words("group family wedding school team class")
ASKING_COURTESIES = list_words("please pls plz plss pleas plis plse plx kindly asap tbh imo imho btw lol haha")
"""Those that nobody waves or writes."""
UNFINISHED = list_words("a an the of with at to from for showing shows displaying displays")
"""No description ends with one of these before a courtesy."""
FAREWELLS = list_words("bye goodbye ciao")
LOOKING_SO = list_words("look looks looking seem seems feel feels feeling be being is are")
UNCERTAIN = list_words("maybe perhaps probably possibly")
SEEN_NOUNS = list_words("couple boss camera laptop phone bell")
"""Words of talk that may also be what a picture shows: "a couple I know"."""
OPENING_VERBS = list_words("open load launch play pull")
"""Verbs that tell a device to show something where it was called before; else "open" says how a door is."""
GOING = list_words("go scroll navigate skip switch")
SCREENS = list_words("screen screens tv monitor display projector desktop")
DAYS = list_words("""
    monday tuesday wednesday thursday friday saturday sunday tomorrow tonight noon lunch lunchtime midnight eod
""")
"""When something is needed by."""
LYING = list_words("lying laying floating kicking knocking hanging flying sitting")
SENDING = list_words("show send give forward bring present")
EXISTING = list_words("any anything have has got there anyone anybody")
TO_SEE = list_words("see find get view have show")
UNITS = list_words("second seconds minute minutes hour hours day days week weeks month months year years")
KINDS_OF_PHOTOS = list_words("black white colour color old large small big framed to for of")
"""Where these are said, a photograph is in the picture, or is told of a kind."""

MAX_FRAME_WORDS, MAX_NOUN_PHRASE_WORDS, MAX_HEADING_WORDS, MAX_CALLED_WORDS = 32, 4, 12, 3
"""Words that may stand before or after a description; words of a phrase that ends with "photos"; words before a colon
that are looked at; words with which somebody is called."""
