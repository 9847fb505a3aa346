"""The texts of the page in every language: none is missing, unused, without a plural that its language has, or glued.

When keys are added to `en.json`, these tests list for each language what is to be translated.
"""

from __future__ import annotations

import ast
import json
import re
from pathlib import Path

import pytest
from babel import Locale

from viewfinder.server.pages import DEFAULT, LOCALES, STATIC, TAGS, choose_language, list_languages, render_page
from viewfinder.server.problems import KINDS, UNFORESEEN

PLURAL = re.compile(r"_(zero|one|two|few|many|other)$")
PLACE = re.compile(r"\{(\w+)\}")
SCRIPTS = {file.name: file.read_text(encoding="utf-8") for file in sorted((STATIC / "js").glob("*.js"))}
PAGES = sorted(STATIC.glob("*.html"))
SERVER = STATIC.parent
NOT_TRANSLATED = frozenset({"start.examples", "login.command", "app.name"})
"""What is typed, or said to the search, which understands English."""

Catalogue = dict[str, str]


def read_texts(language: str) -> Catalogue:
    pairs = json.loads((LOCALES / f"{language}.json").read_text(encoding="utf-8"), object_pairs_hook=list)
    keys = [key for key, _ in pairs]
    assert len(keys) == len(set(keys)), f"{language}: said twice: {sorted(key for key in keys if keys.count(key) > 1)}"
    return dict(pairs)


TEXTS = {language: read_texts(language) for language in list_languages()}
ENGLISH = TEXTS[DEFAULT]
OTHERS = sorted(TEXTS.keys() - {DEFAULT})


def name_of(key: str) -> str:
    """A key without its plural."""
    return PLURAL.sub("", key)


def forms_of(texts: Catalogue, name: str) -> dict[str, str]:
    """The texts of one name by plural; "" is the one that needs none."""
    found = {key: text for key, text in texts.items() if name_of(key) == name}
    return {(PLURAL.search(key) or ("", ""))[1]: text for key, text in found.items()}


def main_form(texts: Catalogue, name: str) -> str:
    forms = forms_of(texts, name)
    return forms.get("", forms.get("other", ""))


NAMES = sorted({name_of(key) for key in ENGLISH})


def test_the_languages_are_those_that_were_promised() -> None:
    assert set(TEXTS) >= {"en", "de", "es", "fr", "zh"}


@pytest.mark.parametrize("language", OTHERS)
def test_every_text_is_in_every_language(language: str) -> None:
    names = {name_of(key) for key in TEXTS[language]}
    missing = {name: main_form(ENGLISH, name) for name in NAMES if name not in names}
    assert missing == {}, f"{language}.json lacks {len(missing)} texts"
    assert names - set(NAMES) == set(), f"{language}.json has texts that en.json has not"


@pytest.mark.parametrize("language", sorted(TEXTS))
def test_a_plural_has_all_forms_of_its_language(language: str) -> None:
    locale = Locale.parse(TAGS.get(language, language), sep="-")
    wanted = {*locale.plural_form.tags, "other"}
    wrong = {}
    for name in NAMES:
        forms = set(forms_of(TEXTS[language], name))
        counts = set(forms_of(ENGLISH, name)) - {""}
        if (forms - {""} or counts) and forms - {"zero"} != wanted:
            wrong[name] = sorted(forms)
        if "zero" in counts and "zero" not in forms:
            wrong[name] = sorted(forms)
    assert wrong == {}


@pytest.mark.parametrize("language", OTHERS)
def test_a_translation_has_the_places_of_the_english_text(language: str) -> None:
    wrong = {}
    for name in NAMES:
        forms, wanted = forms_of(TEXTS[language], name), set(PLACE.findall(main_form(ENGLISH, name)))
        main = set(PLACE.findall(main_form(TEXTS[language], name)))
        known = wanted | ({"n"} if set(forms) - {""} else set())  # what chooses the plural may be written in any form
        if not wanted - {"n"} <= main <= known or any(not set(PLACE.findall(text)) <= known for text in forms.values()):
            wrong[name] = main_form(TEXTS[language], name)
    assert wrong == {}


@pytest.mark.parametrize("language", OTHERS)
def test_what_is_typed_is_the_same_in_every_language(language: str) -> None:
    for name in NOT_TRANSLATED:
        assert TEXTS[language][name] == ENGLISH[name]
    for name in NAMES:
        typed = re.findall(r"`[^`]+`", main_form(ENGLISH, name))
        assert re.findall(r"`[^`]+`", main_form(TEXTS[language], name)) == typed, name


@pytest.mark.parametrize("language", OTHERS)
def test_texts_are_translated(language: str) -> None:
    same = [name for name in NAMES if len(main_form(ENGLISH, name).split()) > 3 and name not in NOT_TRANSLATED]
    assert [name for name in same if main_form(TEXTS[language], name) == main_form(ENGLISH, name)] == []


def written_keys() -> tuple[set[str], list[re.Pattern[str]]]:
    """Keys that stand in the scripts and pages, and patterns of those that are put together (`t(`match.${match}`)`)."""
    whole, patterns = set[str](), list[re.Pattern[str]]()
    for source in SCRIPTS.values():
        whole |= set(re.findall(r'"([a-z]+(?:\.[\w-]+)+)"', source))
        for template in re.findall(r"`([a-z]+\.[^`\s]*\$\{[^`\s]*)`", source) + re.findall(
            r"`([a-z]+\.[^`]*\$\{[^`]*\}[\w-]*)`", source
        ):
            parts = re.split(r"\$\{(?:[^{}]|\{[^{}]*\})*\}", template)
            if all(re.fullmatch(r"[\w.-]*", part) for part in parts):
                patterns.append(re.compile("[\\w.-]*".join(map(re.escape, parts))))
    for page in PAGES:
        whole |= set(re.findall(r"\{\{([a-z]+\.[\w.-]+)\}\}", page.read_text(encoding="utf-8")))
    return whole, patterns


def test_no_text_is_unused() -> None:
    whole, patterns = written_keys()
    words = {
        word for source in SCRIPTS.values() for said in re.findall(r'"([^"\n]*)"', source) for word in said.split()
    }
    words |= {key for source in SCRIPTS.values() for key in re.findall(r"\b(\w+)(?=:)", source)}
    words |= {word for pattern in patterns for word in re.findall(r"[a-z]+", pattern.pattern)}

    def is_put_together(name: str) -> bool:
        """Whether a script puts it together, of words that stand in some script."""
        parts = name.split(".", 1)[1].split(".")
        known = all(part in words or set(part.split("-")) <= {each.strip("-") for each in words} for part in parts)
        return known and any(pattern.fullmatch(name) for pattern in patterns)

    from_server = {name for name in NAMES if name.startswith(("way.", "about.", "say.but.", "problem.", "program."))}
    unused = [name for name in NAMES if name not in whole | from_server and not is_put_together(name)]
    assert unused == []


def test_no_text_is_missing() -> None:
    asked = {key for source in SCRIPTS.values() for key in re.findall(r'\bt\(\s*"([^"]+)"', source)}
    chosen = {
        key
        for source in SCRIPTS.values()
        for pair in re.findall(r'\bt\([^"`(){}]*\? "([^"]+)" : "([^"]+)"', source)
        for key in pair
    }
    in_pages = {key for page in PAGES for key in re.findall(r"\{\{([a-z]+\.[\w.-]+)\}\}", page.read_text("utf-8"))}
    assert sorted((asked | chosen | in_pages) - set(NAMES)) == []
    assert len(asked) > 200


def test_no_sentence_is_glued_from_texts() -> None:
    glued = []
    for name, source in SCRIPTS.items():
        if name.startswith(("study", "review")):
            continue
        glued += [(name, found) for found in re.findall(r'(?:\bt\("[^"]+"[^;\n]{0,40}\) \+ |\+ t\()', source)]
        for template in re.findall(r"`((?:[^`$]|\$(?!\{)|\$\{(?:[^{}`]|\{[^{}]*\})*\})*)`", source):
            around = re.sub(r"\$\{(?:[^{}]|\{[^{}]*\})*\}", "", template)
            if re.search(r"\$\{t\(", template) and re.search(r"[^\W\d_]", around):
                glued.append((name, template))
    assert glued == []


def problem_kinds() -> set[str]:
    """The kinds of all problems that the server may answer with."""
    kinds = {UNFORESEEN, *(kind for _, kind in KINDS.values())}
    for file in SERVER.rglob("*.py"):
        for node in ast.walk(ast.parse(file.read_text(encoding="utf-8"))):
            if isinstance(node, ast.Call) and getattr(node.func, "id", None) == "Problem" and len(node.args) > 1:
                kind = node.args[1]
                if isinstance(kind, ast.Constant) and isinstance(kind.value, str):
                    kinds.add(kind.value)
    return kinds


def test_every_kind_of_problem_has_a_sentence() -> None:
    notice = SCRIPTS["notice.js"]
    told = {
        kind: as_
        for as_, kinds in re.findall(r'^    "?([\w-]+)"?: "([^"]+)",$', notice, re.M)
        for kind in kinds.split()
    }
    silent = [kind for kind in sorted(problem_kinds()) if f"problem.{told.get(kind, kind)}" not in ENGLISH]
    assert silent == []


@pytest.mark.parametrize("language", sorted(TEXTS))
@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.stem)
def test_a_page_says_its_language_and_direction(page: Path, language: str) -> None:
    html = render_page(page, language)
    tag = TAGS.get(language, language)
    assert f'<html lang="{tag}" dir="ltr"' in html
    assert "{{" not in html


def test_an_arabic_catalogue_would_be_read_from_the_right() -> None:
    assert Locale.parse("ar").text_direction == "rtl"


@pytest.mark.parametrize(
    ("chosen", "accepted", "language"),
    [
        (None, "", "en"),
        (None, "de-AT,de;q=0.9,en;q=0.5", "de"),
        (None, "en;q=0.3, fr;q=0.8", "fr"),
        (None, "zh-CN", "zh"),
        (None, "zh-Hant-TW, en;q=0.4", "zh"),
        (None, "pt, es-MX;q=0.2", "es"),
        (None, "pt, fi", "en"),
        (None, "de;q=0, fr", "fr"),
        (None, "*;q=1,;;;,=,q=de, " + "x" * 5000, "en"),
        ("es", "de", "es"),
        ("../../etc/passwd", "de", "de"),
    ],
)
def test_the_language_is_the_one_chosen_or_the_browsers_own(chosen: str | None, accepted: str, language: str) -> None:
    assert choose_language(chosen, accepted) == language
