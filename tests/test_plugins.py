"""Parts of other packages: found by entry points or where they stand, and every way in which one can be no good."""

from __future__ import annotations

import re
import subprocess
import sys
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from viewfinder.cli.app import run
from viewfinder.cli.ending import explain_error
from viewfinder.conversation import Question
from viewfinder.encoders import load_encoder
from viewfinder.errors import BadInput, PartFailed, PictureError, UnknownName
from viewfinder.pictures import AtMost, Limits, can_be_read_now, formats
from viewfinder.pictures.decode import decode
from viewfinder.plugins import _warn
from viewfinder.query import Opinion, Part, Query
from viewfinder.questioners import load_questioner
from viewfinder.questioners.base import Questioner
from viewfinder.retrievers import PLUGINS, Composer, load_retriever
from viewfinder.search.gallery import Gallery
from viewfinder.session.session import Session
from viewfinder.store.store import Store
from viewfinder.testing import ColourEncoder, tiny_pictures, tiny_snapshot
from viewfinder.users import load_user
from viewfinder.users.base import Screen, check_turn

Offer = Callable[..., str]

PARTS = """
from viewfinder.retrievers import Composer
from viewfinder.conversation import Question, Say

class Mine(Composer):
    name = "mine"
    def __init__(self, checkpoint=None):
        self.checkpoint = checkpoint

def make():
    return Mine("made by a function")

READY = Mine("ready")

class Asks:
    name = "asks"
    def __init__(self, about="colour"):
        self.about = about
    def ask(self, view):
        return Question(f"Which {self.about}?", (), by=self.name, why="it is all I know")

class Tells:
    name = "tells"
    def __init__(self, folder, seed=0, words="a picture"):
        self.words, self.folder = words, folder
    def reply(self, wanted, screen):
        return Say(self.words)

class Half:
    name = "half"
    def begin(self):
        return ()

class Fails(Composer):
    def __init__(self):
        raise RuntimeError("no weights\\nhere")
"""


@pytest.fixture
def offer(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Offer:
    """Installs a package that offers parts; gives the name of its module, one that no other test has."""

    def install(group: str = "retrievers", package: str = "lab", code: str = PARTS, **points: str) -> str:
        module = f"{package}_{tmp_path.name}".replace("-", "_")
        site = tmp_path / package
        info = site / f"{package}-1.0.dist-info"
        info.mkdir(parents=True)
        (site / f"{module}.py").write_text(code, encoding="utf-8")
        (info / "METADATA").write_text(f"Metadata-Version: 2.1\nName: {package}\nVersion: 1.0\n", encoding="utf-8")
        lines = [f"{name} = {module}:{attribute}" for name, attribute in points.items()]
        (info / "entry_points.txt").write_text(f"[viewfinder.{group}]\n" + "\n".join(lines) + "\n", encoding="utf-8")
        monkeypatch.syspath_prepend(site)
        return module

    _warn.cache_clear()
    return install


def test_a_retriever_is_found_by_its_entry_point_or_where_it_stands(offer: Offer) -> None:
    module = offer(mine="Mine", made="make", ready="READY")
    by_name, where, made, ready = map(load_retriever, ("mine", f"{module}:Mine", "made", "ready"))
    assert type(by_name) is type(where) is type(made) is type(ready)
    assert by_name is not load_retriever("mine")
    assert load_retriever("ready") is ready
    weights = Path("weights.safetensors")
    assert vars(load_retriever("mine", weights)) == {"checkpoint": weights}
    with pytest.raises(
        BadInput, match=r"ready is an object that is made already: it cannot be given weights.safetensors"
    ):
        load_retriever("ready", weights)
    with pytest.raises(
        BadInput, match=r"the retriever made cannot be made of weights.safetensors: too many positional"
    ):
        load_retriever("made", weights)


def test_a_class_or_an_object_is_as_good_as_a_name() -> None:
    composer = Composer()
    assert load_retriever(composer) is composer
    assert isinstance(load_retriever(Composer), Composer)
    with pytest.raises(BadInput, match="Path is no retriever: it lacks begin, step, query"):
        load_retriever(Path)  # type: ignore[arg-type]


def test_an_unknown_name_is_answered_with_ours_and_theirs(offer: Offer) -> None:
    offer(mine="Mine")
    with pytest.raises(UnknownName, match=r"no retriever is called 'mien'; there are: chatir.*mai, mine, one, plugir"):
        load_retriever("mien")


def test_our_names_win_and_that_is_said(offer: Offer, caplog: pytest.LogCaptureFixture) -> None:
    offer(composer="Mine")
    offer(package="other", mine="Mine")
    offer(package="third", mine="Mine")
    assert type(load_retriever("composer")) is Composer
    assert list(PLUGINS.offered()) == ["mine"]
    lines = [record.message for record in caplog.records]
    assert "viewfinder: the retriever 'composer' of the package lab 1.0 is not used: viewfinder has its own" in lines
    assert any("is not used: the package other 1.0 has one of that name" in line for line in lines)


def test_our_names_are_never_looked_up() -> None:
    code = """
from viewfinder.encoders import load_encoder
from viewfinder.plugins import Plugins
from viewfinder.questioners import load_questioner
from viewfinder.retrievers import load_retriever
del Plugins.offered
load_retriever("composer"), load_questioner("information_gain"), load_encoder("starter")
"""
    subprocess.run([sys.executable, "-c", code], check=True)


@pytest.mark.parametrize(
    ("attribute", "said"),
    [
        ("Half", "broken is no retriever: it lacks step, query"),
        ("Fails", r"the retriever broken cannot be made: RuntimeError: no weights here \(/.*\.py:\d+\)"),
        (
            "Nothing",
            r"the retriever broken cannot be imported \(AttributeError: .*mend the package lab 1.0, or uninstall",
        ),
    ],
)
def test_a_part_that_is_no_good_is_one_clear_line(offer: Offer, attribute: str, said: str) -> None:
    offer(broken=attribute)
    with pytest.raises(BadInput, match=said) as caught:
        load_retriever("broken")
    assert "\n" not in str(caught.value)


def test_a_module_that_ends_the_program_is_one_clear_line(offer: Offer) -> None:
    offer(code="import sys\nsys.exit(3)", broken="Mine")
    with pytest.raises(BadInput, match=r"cannot be imported \(SystemExit: 3, /.*\.py:2\)"):
        load_retriever("broken")


@pytest.mark.parametrize(
    ("code", "said"),
    [
        ("x = 1\nimport nothing_of_that_name", "ModuleNotFoundError: No module named 'nothing_of_that_name', {file}:2"),
        ("x = 1\n\ndef step(:\n", "SyntaxError: invalid syntax .*{file}:3"),
        ("import json\njson.loads('{')", "JSONDecodeError: .*{file}:2"),
    ],
)
def test_what_cannot_be_imported_is_said_with_its_file_and_line(offer: Offer, code: str, said: str) -> None:
    """The line of the part itself, not that of what it calls."""
    module = offer(code=code, broken="Mine")
    with pytest.raises(BadInput, match=said.format(file=rf"/.*{module}\.py")) as caught:
        load_retriever("broken")
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize("load", [load_retriever, load_encoder, load_questioner])
def test_what_is_no_such_part_is_never_called(load: Callable[[str], object]) -> None:
    # "os:abort" would end this very process.
    with pytest.raises(BadInput, match=r"os:abort is no (retriever|encoder|questioner): it lacks"):
        load("os:abort")


def test_a_questioner_is_made_of_its_source(offer: Offer) -> None:
    module = offer("questioners", asks="Asks")
    for name in ("asks=shape", f"{module}:Asks=shape"):
        assert vars(load_questioner(name)) == {"about": "shape"}
    snapshot = tiny_snapshot([("red", "red"), ("blue", "blue")])
    found: Questioner = load_questioner("asks")
    for choice in ("asks", type(found), found):
        session = Session(Gallery(snapshot, ColourEncoder()), Composer(), choice)
        session.say("red")
        assert session.question is not None and session.question.text == "Which colour?"


def test_a_user_is_made_of_the_folder_and_the_manners(offer: Offer, tmp_path: Path) -> None:
    module = offer("users", tells="Tells")
    user = load_user("tells", tmp_path, seed=1, words="a dog")
    assert vars(user) == {"words": "a dog", "folder": tmp_path}
    assert vars(load_user(type(user), tmp_path)) == vars(load_user(f"{module}:Tells", tmp_path))
    assert load_user(user, tmp_path) is user
    with pytest.raises(BadInput, match=r"tells cannot be made of .* noise: got an unexpected keyword argument 'noise'"):
        load_user("tells", tmp_path, noise=0.1)


def test_a_picture_reader_that_cannot_be_imported_stops_no_other(
    offer: Offer, caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch
) -> None:
    stripes = """
from PIL import Image
class Stripes:
    format, extensions, starts = "stripes", ("stripes",), (b"stripes",)
    def read_size(self, data):
        return int(data[7:11]), 2
    def read_picture(self, data):
        return Image.new("RGB", (int(data[7:11]) - len(data[11:]), 2), "red")
"""
    offer("readers", stripes="Stripes", code=stripes)
    offer("readers", package="other", broken="Nothing")
    formats.picture_readers.cache_clear()
    try:
        seen = decode(b"stripes0003", limits=Limits(), fit=AtMost(9))
        assert (seen.facts.format, seen.pixels.shape, seen.pixels[0, 0].tolist()) == ("stripes", (2, 3, 3), [255, 0, 0])
        assert formats.is_extension_of_reader("stripes")
        assert formats.is_installed_since("not a picture (starts with 'stripes0003')")
        with pytest.raises(PictureError, match="damaged stripes: 2 x 2, where the header says 3 x 2"):
            decode(b"stripes0003.", limits=Limits(), fit=AtMost(9))
        with pytest.raises(PictureError, match="too many pixels: 9999 x 2"):
            decode(b"stripes9999", limits=Limits(max_pixels=100), fit=AtMost(9))
    finally:
        formats.picture_readers.cache_clear()
    assert [record.message for record in caplog.records if "broken" in record.message] != []


# -- whose fault it is

FAULTY = """
from viewfinder.conversation import Question, Say
from viewfinder.retrievers import Composer, Part, Query, Reads

class Raises(Composer):
    name = "raises"
    def step(self, state, turn):
        return {}["nothing is here"]  # its fault

class Gives(Composer):
    name = "gives"
    what = None
    def query(self, state):
        return type(self).what

class Stateless(Composer):
    name = "stateless"
    def begin(self):
        return None

class ReadsNothing(Composer):
    name = "reads-nothing"
    reads = "everything"

class AsksWrongly:
    name = "asks-wrongly"
    what = "Which colour?"
    def ask(self, view):
        return type(self).what
"""


def a_gallery() -> Gallery:
    return Gallery(tiny_snapshot([("red", "red"), ("blue", "blue")]), ColourEncoder())


def place_of(module: str, what: str) -> str:
    """The file and line of the first line of a module that has this."""
    file = str(sys.modules[module].__file__)
    lines = Path(file).read_text(encoding="utf-8").splitlines()
    return f"{file}:{next(number for number, line in enumerate(lines, 1) if what in line)}"


def test_what_a_part_raises_is_said_with_its_package_and_its_line(
    offer: Offer, capsys: pytest.CaptureFixture[str]
) -> None:
    module = offer(code=FAULTY, raises="Raises")
    session = Session(a_gallery(), load_retriever("raises"), None)
    with pytest.raises(KeyError) as caught:
        session.say("red")
    line, code = explain_error(caught.value)
    assert code == 1
    where = place_of(module, "its fault")
    assert line.startswith(f"the retriever raises of the package lab 1.0 failed (KeyError: 'nothing is here', {where})")
    assert "report" not in line
    by_place = Session(a_gallery(), load_retriever(f"{module}:Raises"), None)
    with pytest.raises(KeyError) as caught:
        by_place.say("red")
    assert "of the package lab 1.0 failed" in explain_error(caught.value)[0]


def test_what_we_raise_is_not_said_to_be_theirs(offer: Offer) -> None:
    offer(code=FAULTY, raises="Raises")
    load_retriever("raises")
    with pytest.raises(ZeroDivisionError) as caught:
        _ = 1 / 0
    assert "please report it" in explain_error(caught.value)[0]


VECTOR = np.zeros(48, np.float32)
PART = Part("words", 1, "red", 1.0, VECTOR)
WRONG_QUERIES: dict[str, object] = {
    "`query` gave None, not a Query": None,
    "`query` gave str, not a Query": "red",
    "`query` gave parts that are list, not a tuple": Query([PART]),  # type: ignore[arg-type]
    "`query` gave str among the parts, not a Part": Query(("red",)),  # type: ignore[arg-type]
    "`query` gave a weight of nan in the part 'red' of kind 'words'": Query((replace(PART, weight=np.nan),)),
    "`query` gave a kind that does not exist": Query((replace(PART, kind="sound"),)),  # type: ignore[arg-type]
    "`query` gave a vector that is None": Query((replace(PART, vector_d=None),)),
    "`query` gave a vector that is list": Query((replace(PART, vector_d=[0.0] * 48),)),  # type: ignore[arg-type]
    "`query` gave a vector that is no finite numbers": Query((replace(PART, vector_d=VECTOR * np.nan),)),
    "`query` gave a vector that is an array of float32 of shape (3,) (finite numbers, 48 of them": Query(
        (replace(PART, vector_d=VECTOR[:3]),)
    ),
    "`query` gave rivals that are None": Query((replace(PART, kind="contrast"),)),
    "`query` gave vectors that these pictures are not compared with": Query((replace(PART, kind="regions"),)),
    "`query` gave no value in the part": Query((replace(PART, kind="value"),)),
    "`query` gave a sharpness of inf": Query((PART,), sharpness=np.inf),
    "`query` gave a sharpness of 0": Query((PART,), sharpness=0),
    "`query` gave a shown_factor of nan": Query((PART,), shown_factor=np.nan),
    "`query` gave 'red' among the opinions": Query((PART,), opinions=("red",)),  # type: ignore[arg-type]
    "`query` gave a sharpness of nan": Query(
        (PART,), opinions=(Opinion("it", 1, Query((PART,), sharpness=np.nan), 1.0),)
    ),
}


@pytest.mark.parametrize("said", WRONG_QUERIES)
def test_a_query_that_is_none_is_said_with_the_package_and_the_class(offer: Offer, said: str) -> None:
    module = offer(code=FAULTY, gives="Gives")
    retriever = load_retriever("gives")
    type(retriever).what = Query(())  # type: ignore[attr-defined]
    session = Session(a_gallery(), retriever, None)
    session.say("red")
    type(retriever).what = WRONG_QUERIES[said]  # type: ignore[attr-defined]
    with pytest.raises(PartFailed) as caught:
        session.say("blue")
    line = str(caught.value)
    assert line.startswith(f"the retriever gives of the package lab 1.0 ({place_of(module, 'class Gives')}): {said}")
    assert len(session.conversation.path()) == 1  # the turn was not taken


@pytest.mark.parametrize(
    ("name", "said"),
    [("Stateless", "`begin` gave None, not a state"), ("ReadsNothing", "`reads` is str, not Reads")],
)
def test_a_retriever_without_state_or_reads_is_named(offer: Offer, name: str, said: str) -> None:
    offer(code=FAULTY, broken=name)
    with pytest.raises(PartFailed, match=rf"the retriever broken of the package lab 1\.0 .*: {said}"):
        Session(a_gallery(), load_retriever("broken"), None)


@pytest.mark.parametrize(
    ("what", "said"),
    [
        ("Which colour?", "`ask` gave str, not a Question or None"),
        (Question("Which colour?", ["red"]), "fields are not texts"),  # type: ignore[arg-type]
        (Question(7), "fields are not texts"),  # type: ignore[arg-type]
    ],
)
def test_a_question_that_is_none_is_said_with_the_package(offer: Offer, what: object, said: str) -> None:
    offer("questioners", code=FAULTY, asks="AsksWrongly")
    questioner = load_questioner("asks")
    type(questioner).what = what  # type: ignore[attr-defined]
    session = Session(a_gallery(), Composer(), questioner)
    with pytest.raises(PartFailed, match=rf"the questioner asks of the package lab 1\.0 .*{said}"):
        session.say("red")


ENCODERS = """
from viewfinder.testing import ColourEncoder

class Fails(ColourEncoder):
    def project(self, raw_nd):
        if len(raw_nd):
            raise RuntimeError("CUDA error: out of luck")
        return raw_nd

class Short(ColourEncoder):
    def project(self, raw_nd):
        return super().project(raw_nd)[:1]
"""


@pytest.mark.parametrize(
    ("name", "said"),
    [
        ("Fails", r"of the package lab 1\.0 failed \(RuntimeError: CUDA error: out of luck, .*\.py:7\)"),
        ("Short", r"of the package lab 1\.0 \(.*\.py:10\): one vector a picture is needed, 3 in all, and it gave"),
    ],
)
def test_an_encoder_that_fails_is_no_damage_of_the_library(
    offer: Offer, tmp_path: Path, capsys: pytest.CaptureFixture[str], name: str, said: str
) -> None:
    offer("encoders", code=ENCODERS, colourful=name)
    tiny_pictures(tmp_path / "pictures", 3)
    assert run(["add", str(tmp_path / "pictures"), "--library", str(tmp_path / "l"), "--encoder", "colourful"]) == 1
    line = capsys.readouterr().err
    assert re.search(f"the encoder colourful {said}", line)
    assert "repair" not in line
    assert "report" not in line


def test_an_encoder_that_fails_while_a_table_is_made_is_no_damage_either(offer: Offer, tmp_path: Path) -> None:
    offer("encoders", code=ENCODERS, colourful="Fails")
    encoder = load_encoder("colourful")
    store = Store.create(tmp_path / "library")
    batches = ((["a"], encoder.project(np.ones((1, 48), np.float32))) for _ in range(1))
    with pytest.raises(PartFailed, match=r"the encoder colourful of the package lab 1\.0 failed \(RuntimeError: CUDA"):
        store.write_space("new", batches)


READERS = """
from PIL import Image

class Dots:
    format, extensions, starts = "dots", ("dots",), (b"dots",)
    def read_size(self, data):
        return {b"1": (1, 1), b"2": (0, 1), b"3": None}.get(data[4:5], (1, 1))
    def read_picture(self, data):
        if data[4:5] == b"4":
            return data.pixels  # its fault
        if data[4:5] == b"5":
            raise ValueError("odd dots")
        return [[0]] if data[4:5] == b"6" else Image.new("L", (1, 1))
"""


def test_a_bug_of_a_picture_reader_is_told_from_damage_of_a_file(offer: Offer, monkeypatch: pytest.MonkeyPatch) -> None:
    offer("readers", code=READERS, dots="Dots")
    formats.picture_readers.cache_clear()

    def reason(data: bytes) -> str:
        with pytest.raises(PictureError) as caught:
            decode(data, limits=Limits(), fit=AtMost(9))
        return str(caught.value)

    try:
        assert decode(b"dots1", limits=Limits(), fit=AtMost(9)).facts.format == "dots"
        label = "the picture reader dots of the package lab 1.0 "
        assert re.match(label + r"\(.*\.py:4\): `read_size` gave \(0, 1\), not two whole numbers", reason(b"dots2"))
        assert re.match(label + r"\(.*\.py:4\): `read_size` gave None, not two whole numbers", reason(b"dots3"))
        assert re.match(label + r"failed \(AttributeError: .*'pixels', .*\.py:10\)", reason(b"dots4"))
        assert reason(b"dots5") == "damaged dots: odd dots"
        assert re.match(label + r"\(.*\.py:4\): `read_picture` gave list, not an image", reason(b"dots6"))
        assert can_be_read_now(reason(b"dots4"))  # once it is mended, the next `add` reads these files
    finally:
        formats.picture_readers.cache_clear()


def test_a_simulated_user_who_says_no_turn_is_named(offer: Offer, tmp_path: Path) -> None:
    code = """
class Mumbles:
    name = "mumbles"
    def __init__(self, folder):
        pass
    def reply(self, wanted, screen):
        return "a red thing"
"""
    offer("users", code=code, mumbles="Mumbles")
    user = load_user("mumbles", tmp_path)
    with pytest.raises(PartFailed, match=r"the simulated user mumbles of the package lab 1\.0 .*: `reply` gave str"):
        check_turn(user, user.reply("a", Screen((), None, 0)))
