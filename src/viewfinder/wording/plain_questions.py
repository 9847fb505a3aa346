"""Questions in plain words: without contractions, politeness and "in the picture", as rules can match them."""

from __future__ import annotations

import re

_CONTRACTIONS = {
    r"\b(what|where|who|which|how|there|it|that|he|she)'s\b": r"\1 is",
    r"\b(what|where|who|there|they|we|you)'re\b": r"\1 are",
    r"\b(is|are|does|do|can|has|have|was)n't\b": r"\1",
    r"\bcolor": "colour",
    r"(?<!single)-coloured\b|(?<!-)\bcoloured\b": "",
    r"\bgray": "grey",
}
_FILLERS = r"""
(?:in|on|of|into|across)\ (?:the|this|that|your)\ (?:whole\ )?(?:picture|photo|photograph|image|scene|frame)\b
|(?<=\ )(?:visible|anywhere|at\ all|to\ be\ seen|exactly|precisely|overall|roughly|please|then)$
|^(?:please|ok|okay|well|so|and|now|then|great|thanks|also|hm+)\b
|^(?:all\ right|alright|by\ the\ way|if\ i\ may(?:\ ask)?|one\ more\ thing|let\ me\ see)\b
|\bby\ any\ chance\b
|^(?:can|could|would|do)\ you\ (?:please\ )?(?:tell|say|know|remember|recall)(?:\ me)?\b(?:\ if|\ whether)?
|^(?:tell|say)\ me\b
|(?<=^is\ there)\ (?:maybe|perhaps|also)|(?<=^are\ there)\ (?:maybe|perhaps|also)
"""
_FILLER = re.compile(_FILLERS, re.VERBOSE)


def normalize_question(text: str) -> str:
    """A question in lower case without punctuation, contractions, politeness and "in the picture".

    >>> normalize_question("What's the color of the dog in the picture, please?")
    'what is the colour of the dog'
    >>> normalize_question("Can you tell me if it's dark?")
    'is it dark'
    >>> normalize_question("One more thing: where is the dog?")
    'where is the dog'
    """
    said = re.sub(r",\s*(?:right|correct|yes|no)\s*\?*$", "", text.lower().replace("’", "'").strip())
    for pattern, instead in _CONTRACTIONS.items():
        said = re.sub(pattern, instead, said)
    said = " ".join(re.sub(r"[^\w\s'-]|(?<!\w)[-']|[-'](?!\w)", " ", said).split())
    while (shorter := " ".join(_FILLER.sub(" ", said).split())) != said:
        said = shorter
    return re.sub(r"^(it|this|that|there|they) (is|are|was|were)\b", r"\2 \1", said)
