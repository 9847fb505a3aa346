"""The classes of words with which people speak to who searches for them, instead of describing a picture.

All are closed: words that hold a sentence together, words for pictures as such, verbs and nouns of searching, speaking
and remembering, courtesies. Whoever describes a picture uses many of them, too, so none alone says that a phrase is
none of the description; what does is in `framing`.
"""

from __future__ import annotations

import re
from functools import lru_cache


def list_words(text: str) -> frozenset[str]:
    """A set of words that are parted by blanks."""
    return frozenset(text.split())


def _inflect(text: str) -> frozenset[str]:
    """Verbs with their regular forms; some that are no words do no harm."""
    forms: set[str] = set()
    for verb in text.split():
        stem = verb[:-1] if verb.endswith("e") and not verb.endswith("ee") else verb
        forms |= {verb, f"{verb}s", f"{stem}ing"}
        if not verb.endswith("ee"):
            forms.add(f"{stem}ed")
        if verb.endswith(("s", "sh", "ch", "x", "o")):
            forms.add(f"{verb}es")
        if verb.endswith("y") and verb[-2] not in "aeiou":
            forms |= {f"{verb[:-1]}ies", f"{verb[:-1]}ied"}
    return frozenset(forms)


PICTURE_NOUNS = list_words("""
    photo photos photograph photographs photography pic pics pix picture pictures image images img imgs shot shots
    snap snaps snapshot snapshots foto fotos fotograf piccy piccie piccies photie illustration illustrations
    thumbnail thumbnails jpg jpgs jpeg jpegs png pngs gif gifs bmp bmps tif tiff tiffs webp heic heics
""")
"""The words for a picture as such."""

STANDING_FOR_PICTURES = list_words("one ones something anything some any time moment day stuff everything thing")
"""Words that may stand for a picture: "the one with", "anything showing"."""

DETERMINERS = list_words("""
    a an the that this these those some any all every each no another other more most many much few several both
    either neither own same such which whichever whatever what
""")

SPEAKERS = list_words("""
    i you we me us u ya ye my your our mine yours ours myself yourself yourselves ourselves i'm im i'd i'll i've ive
    we're we'd we've we'll you're you'd you've you'll youve lemme gimme wanna dunno y'all yall let's
""")
"""Words for who speaks and who is spoken to. Descriptions of pictures only say with them whose something is."""

SUBJECTS = SPEAKERS - list_words("me us my your our mine yours ours myself yourself yourselves ourselves")
"""Those of them that do something in a sentence."""

OTHERS = list_words("he she they him her them his their hers theirs himself herself themselves its itself")
"""Words for those of whom a description speaks."""

SOMEBODY = list_words("someone somebody anyone anybody everyone everybody")
"""Words for whoever may be there: in the picture, or among those who are asked."""

AUXILIARIES = list_words("""
    am is are was were be been being do does did done doing have has had having can could will would shall should may
    might must ought gotta gonna used cannot ain't aint isn't isnt aren't arent wasn't wasnt weren't werent don't dont
    doesn't doesnt didn't didnt haven't havent hasn't hasnt hadn't hadnt can't cant couldn't couldnt won't wont
    wouldn't wouldnt shouldn't shouldnt mustn't not it's its that's thats there's theres here's heres what's whats
    where's wheres who's whos how's hows let's lets
""")

LINKERS = list_words("""
    of with where when that which who whose whether if like about is are was were it to for but because so as though
    although since be been being shows show showed showing shown depicting depicts depicted featuring features
    featured resembling resembles containing contains contain including includes include has have had having there
    it's it'd its that's thats there's theres follows following concerning regarding titled called named whereby
    wherein via re per than and w/ namely viz ie i.e
""")
"""They stand between what asks and what is asked for; a description begins with none of them."""

PREPOSITIONS = list_words("""
    of in on at by for from to with about around into onto over under through up down out off after before between
    among amongst during until till via per within along across behind beside besides near
""")

CONJUNCTIONS = list_words(
    "and or but if because so though although while as than unless whereas plus nor n & cause cos"
)

ADVERBS = list_words("""
    just really fairly absolutely relatively extremely incredibly awfully terribly genuinely undoubtedly supposedly
    evidently still actually currently basically maybe perhaps probably possibly only then also too very quite rather
    pretty so well now again once twice ever never always already yet even almost nearly exactly precisely roughly
    approximately certainly definitely surely apparently presumably obviously honestly frankly literally simply
    specifically particularly especially mostly mainly generally usually sometimes often lately recently previously
    originally earlier later ago afterwards someday sometime somewhere anywhere everywhere elsewhere somehow anyhow
    anyway anyways otherwise instead else indeed however hopefully unfortunately sadly luckily vaguely clearly
    distinctly correctly rightly right far long away back here there together immediately urgently quickly quick fast
    real straight high low sorta kinda somewhat slightly anymore longer less least more most likely unlikely next
    first last finally lastly secondly further furthermore moreover all both bit little lot lots bunch couple few half
    directly seriously truly strongly forward onward upon enough aside altogether badly bad desperately gladly happily
    greatly highly dearly super totally fully entirely completely mine kind sort type kinds sorts today tonight
    tomorrow yesterday nowadays meanwhile forever everytime anytime whenever wherever whoever nothing how why what
    which who where when whether
""")

OPENINGS = list_words("""
    hi hii hello helo hey heya hiya hallo howdy yo greetings excuse pardon welcome ah aha oh ooh oops ok okay okey k
    kk alright yeah yea yep yes yup nah nope wow aw aww gosh damn dammit ugh phew hm hmm mm um umm uh uhm uhh er erm
    eh fyi ps p.s btw omg omfg cc fwd re listen sorry sry soz apologies nvm good-day heh
""")
"""Greetings and sounds with which people begin."""

CLOSINGS = list_words("""
    please thanks thank thankyou thx thanx tnx tx ty tysm tyvm ta merci gracias danke pls plz plss pleas plis plse plx
    kindly sorry sry soz regards rgds sincerely faithfully bye goodbye ciao lol lmao rofl haha hahaha hehe wtf tbh imo
    imho afaik afair iirc idk idc ikr asap appreciated obliged xx xoxo cya ttyl tia bitte um umm uh uhm uhh er erm hm
    hmm ok okay yeah yep eh btw
""")
"""Thanks, requests and sounds with which people end."""

VOCATIVES = list_words("""
    mate mates dude bro bruv buddy folks sir madam ma'am siri alexa google cortana bixby chatgpt bot assistant
    viewfinder dear amigo cheers respected all everyone everybody there
""")
"""Whom one greets, and what is a greeting only beside another, or between marks."""

COURTESIES = OPENINGS | CLOSINGS
"""All of these but whom one greets."""

SOUNDS = list_words("um umm uh uhm uhh er erm hm hmm mm eh ah oh ooh like")
"""Sounds of those who think: they stand anywhere and are of nothing."""

DEVICES = list_words("computer machine robot app siri alexa google cortana bixby assistant viewfinder")
"""Whom one calls to have something shown."""

SAYING_VERBS = _inflect("say shout scream yell whisper spell plead") | list_words("""
    said spelt reads mouthing mouthed begging begs named called titled labeled labelled marked lettered inscribed
""")
"""What follows one of these is said or written in the picture, whatever it is: "a sign that says please wait"."""

GREETING_VERBS = list_words("""
    waving waved writes writing wrote written bids bidding wishes wishing signing signed painted printed chalked
    gesturing sings singing sang
""")
"""With these a greeting or thanks is said or written in the picture; people do it in silence, too."""

WORDS_FOR_WORDS = list_words("word words letters text message phrase")
"""What follows one of these is what it says: "the word please"."""

BEARING_WORDS = list_words("""
    sign signs card cards note notes letter letters banner banners poster posters balloon balloons cake cakes sticker
    stickers mug mugs message messages shirt t-shirt tshirt board plaque mat doormat gesture stamp ad advert logo
    billboard placard placards flyer flyers kitty
""")
"""Things that are called by what is written on them: "a thank you card", "a help wanted sign"."""

ADJECTIVES = list_words("""
    old older oldest new newer newest nice nicer nicest good better best great lovely beautiful awesome amazing
    wonderful perfect fantastic favourite favorite fave particular specific certain special random recent latest last
    first next previous correct exact similar same whole full entire possible available able sure positive unsure glad
    happy grateful thankful interested curious keen desperate eager ready familiar vague clear short quick little lost
    missing following additional extra further only important urgent real late early soon brief simple easy hard
    difficult impossible useful helpful kind fine cool sweet ideal proper relevant suitable different single near far
    long said aforementioned mentioned described wanted needed requested desired original precise faint dim hazy fuzzy
    strange weird odd crazy honest blunt fair fab ace awkward silly stupid dumb wrong worth due forthcoming faithful
""")
"""They may stand before a word for pictures or for the search, or say how the speaker is."""

ASKING_VERBS = _inflect("""
    find search seek fetch locate retrieve display browse recall recollect remember want need require request desire
    wish hope wonder ask query reminisce google hunt hunting identify
""") | list_words("found sought wanna lemme gimme thinking googling")
"""Verbs that ask, or remember, by themselves."""

OTHER_VERBS = _inflect("""
    see look show give get bring send pull dig open pick hand pass point tell say describe help assist try think
    believe guess suppose reckon assume mean know understand forget imagine picture visualize visualise swear bet like
    love prefer fancy appreciate mind happen exist lose miss save store keep put upload download post share take shoot
    snap capture make check track go come hear talk speak mention refer concern provide supply deliver offer use work
    let call name remind ring serve receive write reply answer start begin continue stop wait hold hang spot recognise
    recognize notice matter care figure trust buy scroll explain add rush bother ruin manage seem sound turn fit match
    depict feature contain include exhibit present thank greet hurry worry appear suggest recommend own belong depend
    clarify specify confirm confuse correct inform contact respond consider accept expect return thought end forward
    apologise apologize regret owe beg dream bug wrack rack tag file label sort stick pic photograph film adore
    cherish print edit order publish crop copy illustrate catch rely insist strike possess obtain request submit
    doubt die kill crave yearn navigate resemble
""") | list_words("""
    saw seen shown gave given giving got gotten getting brought sent dug digging told said thought meant knew known
    understood forgot forgotten forgetting lost putting took taken taking shot made making went gone came coming heard
    spoke spoken kept wrote written writing began begun beginning held hung bought swore sworn let letting stuck
    misplaced hitting planning stopping spotting tagging swearing betting snapping snapped tagged spotted stopped do
    does have has had having done doing dunno dying
""")
"""Verbs of seeing, showing, getting, speaking, thinking and keeping."""

ASKING_NOUNS = list_words("""
    request requests question questions query search description descriptions desc detail details memory memories idea
    ideas clue clues luck chance chances help favour favor trouble bother rush hurry copy version attempt task mission
    match matches result results hits info information example examples sample hint hints recollection recollections
    knowledge opinion imagination need wish criteria caption captions motif keyword keywords context guess lookup
    assistance advance consideration patience attention reply answer response inquiry enquiry suggestion suggestions
    feedback comment comments thoughts confusion note notes feeling hunch inkling suspicion impression term
""")
"""Nouns of searching, speaking and remembering."""

OTHER_NOUNS = list_words("""
    kind kinds sort sorts type types thing things stuff case point fact way ways lines line time times while moment
    day days week weeks month months year years age ages hour hours minute minutes second seconds sec secs bit lot
    collection collections library album albums archive archives gallery galleries folder folders file files database
    records record system format quality resolution phone camera laptop storage disk drive cloud option options match
    matches result results hit hits list lists title number end rest bunch couple matter reason reasons word words
    term terms text name names everything all best wishes english language mistake mistakes spelling grammar typo
    typos difference sense business project presentation article blog website slide slides report work school homework
    reference whom mind head dream message mail email subject body topic bell shame pity hell heck god goodness sake
    boss part scene peek glimpse glance bells million ton heap loads tons
""")
"""Nouns that stand in requests, and seldom alone in descriptions."""

DISCOURSE = list_words("""
    like well right wait so actually basically honestly literally look listen now then anyway anyways again also next
    first finally say see hold on one more time quick question long story short
""")
"""Words that stand between marks and only keep the talk going."""

NEVER_SEEN = list_words("tomorrow asap urgently immediately")
"""No picture is described with them: they are of the search."""

THIS_OR_SO = list_words("that this or if any that's thats such something sth anything whatever")
"""Words with which an afterthought may begin that has neither speaker nor verb: "or so", "that kind of thing"."""

_CLITIC = re.compile(r"(?:n['’]t|['’](?:m|re|s|ve|ll|d|all))$")
_DRAWN_OUT = re.compile(r"([a-z])\1{2,}")

_CLOSED = (
    PICTURE_NOUNS | STANDING_FOR_PICTURES | DETERMINERS | SPEAKERS | OTHERS | SOMEBODY | AUXILIARIES | LINKERS
    | PREPOSITIONS | CONJUNCTIONS | ADVERBS | COURTESIES | VOCATIVES | DISCOURSE | ADJECTIVES | ASKING_VERBS
    | OTHER_VERBS | ASKING_NOUNS | OTHER_NOUNS | NEVER_SEEN | THIS_OR_SO
)  # fmt: skip


@lru_cache(maxsize=16_384)
def fold_word(word: str) -> str:
    """A word in lower case, with straight apostrophes, and without letters that are drawn out.

    >>> [fold_word(word) for word in ("Pleeease", "I’M", "ummm", "Room")]
    ['please', "i'm", 'um', 'room']
    """
    plain = word.lower().replace("’", "'")
    if _DRAWN_OUT.search(plain) is None:
        return plain
    twice, once = _DRAWN_OUT.sub(r"\1\1", plain), _DRAWN_OUT.sub(r"\1", plain)
    return twice if twice in _CLOSED and once not in _CLOSED else once


def find_bases(word: str) -> tuple[str, ...]:
    """A word, and the word in it to which another was joined: "isn't", "i'm"."""
    base = _CLITIC.sub("", word)
    return (word,) if base == word or not base else (word, base)


@lru_cache(maxsize=16_384)
def is_talk(word: str) -> bool:
    """Whether a word, as `fold_word` gives it, is of one of the classes.

    >>> [is_talk(word) for word in ("please", "what's", "dog")]
    [True, True, False]
    """
    return any(base in _CLOSED for base in find_bases(word))


def is_of(word: str, words: frozenset[str]) -> bool:
    """Whether a word is of a class, by itself or without what is joined to it ("you've" is "you")."""
    return any(base in words for base in find_bases(word))
