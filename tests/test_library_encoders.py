"""Several encoders in one library: built, switched, moved, forgotten, and never mixed up."""

from __future__ import annotations

import json
import os
import shutil
import signal
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from viewfinder.cluster.searching import Shown, hash_order, open_shown
from viewfinder.errors import BadInput, EncoderMismatch, LibraryError, UnknownName
from viewfinder.library import Library
from viewfinder.questioners.looks import picture_looks
from viewfinder.questioners.photographs import photograph_labels
from viewfinder.session.predicted import can_predict, predict_labels
from viewfinder.store import encoder_keeper
from viewfinder.store.settings import read_settings
from viewfinder.testing import TinyPicture, tiny_pictures

WARM, COLD, WIDE, REPLACED = "shades:Warm", "shades:Cold", "shades:Wide", "shades:Replaced"
HERE = Path(__file__).parent


@pytest.fixture(autouse=True)
def shades(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    monkeypatch.syspath_prepend(str(HERE))
    monkeypatch.setenv("PYTHONPATH", os.pathsep.join([str(HERE), os.environ.get("PYTHONPATH", "")]))
    yield
    sys.modules.pop("shades", None)


def made(folder: Path, encoder: str = WARM, count: int = 8) -> tuple[Library, list[TinyPicture]]:
    drawn = tiny_pictures(folder / "pictures", count)
    library = Library.open(folder / "library", encoder=encoder)
    library.add(folder / "pictures", workers=1, without_starter=True)
    return library, drawn


def check_answers(library: Library, count: int) -> None:
    """Every picture is found, and the first one for a colour has it on top."""
    hits = library.find("red", n=count + 5)
    assert len(hits) == count
    scores = [hit.score for hit in hits]
    assert scores[0] > 0.3, "words and pictures are of different spaces"
    assert scores == sorted(scores, reverse=True)


def spaces(library: Library) -> set[str]:
    return set(library.store.spaces())


# -- building and switching


def test_an_encoder_is_built_beside_another_one_and_switched_to_when_it_has_all_pictures(tmp_path: Path) -> None:
    library, drawn = made(tmp_path)
    with pytest.raises(EncoderMismatch, match="adds it beside"):
        Library.open(library.folder, encoder=WIDE)
    before = library.find("red", n=3)
    report = library.add(encoder=WIDE, workers=1)
    assert library.settings.encoder == library.encoder.name == WIDE
    assert library.gallery().snapshot.matrix_nd.shape == (len(drawn), 64)
    assert [hit.id for hit in library.find("red", n=3)] == [hit.id for hit in before]
    assert spaces(library) == {"Warm-1", "Wide-3"}
    assert any("searched with shades:Wide from now on; shades:Warm stays beside it" in line for line in report.notes)
    assert [(one.name, one.is_active, one.pictures, one.lacking) for one in library.encoders()] == [
        (WIDE, True, 8, 0), (WARM, False, 8, 0),
    ]  # fmt: skip


def test_new_pictures_get_vectors_of_all_encoders_in_the_batch_that_acknowledges_them(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    library, drawn = made(tmp_path)
    library.add(encoder=WIDE, workers=1)
    more = tiny_pictures(tmp_path / "more", 14)

    def nothing_left(*_: object, **__: object) -> None:
        raise AssertionError("vectors were made after the pictures were acknowledged")

    with monkeypatch.context() as patch:
        patch.setattr(encoder_keeper, "fill_vectors", nothing_left)
        library.add(tmp_path / "more", workers=1)
    count = len({*(one.path.read_bytes() for one in (*drawn, *more))})
    assert {name: len(library.store.ids_with_vectors(name)) for name in spaces(library)} == {
        "Warm-1": count, "Wide-3": count,
    }  # fmt: skip
    library.use_encoder(WARM)
    check_answers(library, count)


def test_an_encoder_that_lacks_pictures_never_becomes_the_active_one(tmp_path: Path) -> None:
    library, drawn = made(tmp_path)
    drawn[0].path.rename(tmp_path / "away.png")
    report = library.add(encoder=COLD, workers=1)
    assert library.settings.encoder == WARM
    check_answers(library, len(drawn))
    [line] = [line for line in report.notes if "has no vector of" in line]
    assert "shades:Cold has no vector of 1 picture (first:" in line
    assert "`viewfinder encoder use shades:Cold`" in line
    with pytest.raises(LibraryError, match="has no vector of 1 picture"):
        library.use_encoder(COLD)
    assert library.settings.encoder == WARM
    (tmp_path / "away.png").rename(drawn[0].path)
    library.use_encoder(COLD)
    check_answers(library, len(drawn))


def test_building_goes_on_where_it_stopped_also_with_an_add_that_does_not_name_the_encoder(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    library, drawn = made(tmp_path, count=12)
    calls: list[int] = []
    monkeypatch.setattr("viewfinder.store.tables.FIRST_BATCH", 4)
    report = library.add(encoder=COLD, workers=1, should_stop=lambda: calls.append(1) or True)  # type: ignore[func-returns-value]
    assert report.stopped
    assert 0 < len(library.store.ids_with_vectors("Cold-2")) < len(drawn)
    assert (library.settings.encoder, library.encoders()[1].is_wanted) == (WARM, True)
    library.add(tmp_path / "pictures", workers=1)
    assert library.settings.encoder == COLD
    check_answers(library, len(drawn))


def test_a_wish_for_another_encoder_is_taken_back(tmp_path: Path) -> None:
    library, drawn = made(tmp_path)
    drawn[0].path.unlink()
    library.add(encoder=COLD, workers=1)
    library.use_encoder(WARM)
    library.prune()
    library.add(tmp_path / "pictures", workers=1)
    assert library.settings.encoder == WARM
    assert not any(one.is_wanted for one in library.encoders())


def test_the_last_name_of_an_encoder_is_enough_and_a_wrong_one_lists_them(tmp_path: Path) -> None:
    library, _ = made(tmp_path)
    library.add(encoder=COLD, workers=1)
    with pytest.raises(UnknownName, match="has no encoder 'cold'; there are: shades:Cold, shades:Warm"):
        library.use_encoder("cold")


# -- forgetting


def test_an_encoder_is_forgotten_with_its_vectors_but_never_the_active_one(tmp_path: Path) -> None:
    library, drawn = made(tmp_path)
    library.add(encoder=WIDE, workers=1)
    with pytest.raises(BadInput, match="is searched with shades:Wide"):
        library.forget_encoder(WIDE)
    assert library.forget_encoder(WARM) == WARM
    assert spaces(library) == {"Wide-3"}
    assert not list((library.folder / "tables").glob("vectors._57arm*"))
    assert [one.name for one in library.encoders()] == [WIDE]
    check_answers(Library.open(library.folder), len(drawn))


def test_vectors_that_two_names_share_stay_when_one_is_forgotten(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("SHADE_SEED", str(tmp_path / "seed"))
    (tmp_path / "seed").write_text("1", encoding="utf-8")
    library, drawn = made(tmp_path, REPLACED)
    (tmp_path / "seed").write_text("7", encoding="utf-8")
    again = Library.open(library.folder)
    again.add(encoder=REPLACED, workers=1)
    former = again.encoders()[1].name
    assert former == "shades:Replaced@Replaced"
    again.forget_encoder(former)
    check_answers(again, len(drawn))


# -- another model


def test_words_of_one_model_are_never_compared_with_pictures_of_another(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("SHADE_SEED", str(tmp_path / "seed"))
    (tmp_path / "seed").write_text("1", encoding="utf-8")
    library, drawn = made(tmp_path, REPLACED)
    (tmp_path / "seed").write_text("2", encoding="utf-8")
    uses: tuple[Callable[[Library], object], ...] = (
        lambda it: it.find("red"), lambda it: it.chat(), lambda it: it.add(tmp_path / "pictures", workers=1),
    )  # fmt: skip
    for use in uses:
        with pytest.raises(EncoderMismatch) as caught:
            use(Library.open(library.folder))
        line = str(caught.value)
        assert "\n" not in line
        assert "is another model (Replaced-2) than the one that made this library's vectors (Replaced-1)" in line
        assert "`viewfinder add --encoder shades:Replaced` makes them anew" in line
    assert read_settings(library.folder / "library.json").space == "Replaced-1"
    assert any("another model" in line for line in Library.open(library.folder).verify())
    (tmp_path / "seed").write_text("1", encoding="utf-8")
    check_answers(Library.open(library.folder), len(drawn))
    (tmp_path / "seed").write_text("2", encoding="utf-8")
    renewed = Library.open(library.folder)
    renewed.add(tmp_path / "pictures", encoder=REPLACED, workers=1)
    check_answers(renewed, len(drawn))
    assert [one.name for one in renewed.encoders()] == [REPLACED, "shades:Replaced@Replaced"]


def test_a_version_that_changed_while_no_number_did_is_recognised_by_a_few_pictures(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    library, drawn = made(tmp_path)
    shades = sys.modules["shades"]
    monkeypatch.setattr(shades.Warm, "label", "Renamed")
    again = Library.open(library.folder)
    assert again.encoder.version == "Renamed-1"
    check_answers(again, len(drawn))
    assert (again.settings.space, again.settings.known_as) == ("Renamed-1", ("Warm-1",))
    more = tiny_pictures(tmp_path / "more", 14)
    again.add(tmp_path / "more", workers=1)
    count = len({one.path.read_bytes() for one in (*drawn, *more)})
    check_answers(again, count)
    monkeypatch.setattr(shades.Warm, "label", "")
    check_answers(Library.open(library.folder), count)  # an older program on the same library


def test_a_repair_finds_vectors_under_a_name_that_they_had_before(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    library, drawn = made(tmp_path)
    monkeypatch.setattr(sys.modules["shades"].Warm, "label", "Renamed")
    check_answers(Library.open(library.folder), len(drawn))
    shutil.rmtree(library.folder / "tables/spaces.lance")
    (tmp_path / "pictures").rename(tmp_path / "unplugged")
    report = Library.repair(library.folder)
    assert not report.lost or all("gone: " in line for line in report.lost), report.lost
    check_answers(Library.open(library.folder), len(drawn))


def test_where_no_picture_is_there_to_compare_nothing_is_guessed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    library, _ = made(tmp_path)
    (tmp_path / "pictures").rename(tmp_path / "unplugged")
    shades = sys.modules["shades"]
    monkeypatch.setattr(shades.Warm, "label", "Renamed")
    with pytest.raises(EncoderMismatch, match="too few of the pictures' files are there to compare"):
        Library.open(library.folder).find("red")


def test_a_machine_of_a_cluster_with_another_model_refuses_to_search(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("SHADE_SEED", str(tmp_path / "seed"))
    (tmp_path / "seed").write_text("1", encoding="utf-8")
    library, drawn = made(tmp_path, REPLACED)
    snapshot = library.gallery().snapshot
    shown = Shown(snapshot.generation, snapshot.space, REPLACED, None, hash_order(snapshot.ids), None)
    assert len(open_shown(str(library.folder), shown).gallery) == len(drawn)
    (tmp_path / "seed").write_text("2", encoding="utf-8")
    with pytest.raises(EncoderMismatch, match="put the same model on all machines"):
        open_shown(str(library.folder), shown)


def test_a_library_from_which_photographs_have_vanished_gets_them_back_with_the_next_add(tmp_path: Path) -> None:
    """As earlier viewfinders left it: the active space, of a new version, has only the pictures that came after."""
    library, drawn = made(tmp_path)
    vanished = sorted(library.store.ids())[:6]
    vectors_nd = library.store.read_vectors_of("Warm-1", vanished)
    library.store.write_space("former", [(vanished, vectors_nd)])
    kept = [picture for picture in library.store.ids() if picture not in vanished]
    library.store.write_space("Warm-1", [(kept, library.store.read_vectors_of("Warm-1", kept))])
    assert len(Library.open(library.folder).find("red", n=20)) == len(kept)
    assert len(Library.open(library.folder).verify()) == len(vanished)
    again = Library.open(library.folder)
    again.add(tmp_path / "pictures", workers=1)
    check_answers(again, len(drawn))
    assert again.verify() == []


# -- the starter beside another one

SYSTEMS = ("chatir", "chatsearcher", "drilldown", "fashioniq", "mai")


@pytest.fixture(scope="module")
def both(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Path]:
    """A library of the starter and one of another encoder, of the same pictures."""
    home = tmp_path_factory.mktemp("both")
    tiny_pictures(home / "pictures", 9, size=(64, 48))
    sys.path.insert(0, str(HERE))
    try:
        for name, encoder in (("starter", "starter"), ("warm", WARM)):
            Library.open(home / name, encoder=encoder).add(home / "pictures", workers=1)
    finally:
        sys.path.remove(str(HERE))
    return home / "starter", home / "warm"


def test_labels_and_looks_go_on_with_the_starters_vectors_beside_another_encoders(both: tuple[Path, Path]) -> None:
    alone, beside = (Library.open(folder).gallery() for folder in both)
    assert beside.encoder.name == WARM
    assert beside.companion is not None
    assert can_predict(beside, picture_looks())
    expected_nl, found_nl = (predict_labels(gallery, photograph_labels()) for gallery in (alone, beside))
    assert expected_nl is not None
    assert found_nl is not None
    np.testing.assert_allclose(found_nl, expected_nl, atol=1e-3)


@pytest.mark.parametrize("system", SYSTEMS)
def test_the_five_systems_find_beside_another_encoder_what_they_find_with_the_starter(
    system: str, both: tuple[Path, Path]
) -> None:
    found = []
    for folder in both:
        library = Library.open(folder)
        chat = library.chat(system, None, n=9)
        chat.say("a red thing over a blue one")
        hits = chat.like(chat.ranking().gallery.snapshot.ids[3], "greener")
        found.append([hit.id for hit in hits])
    assert found[0] == found[1]


def test_the_starter_is_left_out_where_it_is_not_wanted_and_comes_with_the_next_add_where_it_is_lacking(
    tmp_path: Path,
) -> None:
    library, drawn = made(tmp_path)
    assert [one.name for one in library.encoders()] == [WARM]
    library.add(tmp_path / "pictures", workers=1)
    assert [one.name for one in library.encoders()] == [WARM], "it was not wanted"
    library._save_settings(replace(library.settings, without_starter=False))  # as of an earlier viewfinder
    report = library.add(tmp_path / "pictures", workers=1)
    assert f"starter: vectors of {len(drawn)} pictures that were here before" in report.notes
    assert library.gallery().companion is not None
    check_answers(library, len(drawn))
    library.forget_encoder("starter")
    assert library.gallery().companion is None
    library.use_encoder(WARM)
    library.add(tmp_path / "pictures", workers=1)
    assert spaces(library) == {"Warm-1"}


def test_a_library_is_switched_to_the_starter_whose_vectors_are_there(tmp_path: Path) -> None:
    tiny_pictures(tmp_path / "pictures", 6, size=(64, 48))
    library = Library.open(tmp_path / "library", encoder=WARM)
    library.add(tmp_path / "pictures", workers=1)
    for picture in (tmp_path / "pictures").iterdir():
        picture.rename(tmp_path / picture.name)  # no picture is read again
    library.use_encoder("starter")
    assert library.settings.space == library.encoder.version != library.encoder.raw_version
    assert len(library.find("red", n=20)) == 6
    assert library.gallery().companion is None
    library.use_encoder(WARM)
    check_answers(library, 6)


# -- open sessions, threads and processes


def test_an_open_session_goes_on_over_a_switch(tmp_path: Path) -> None:
    library, _ = made(tmp_path)
    chat = library.chat(questioner=None, n=4)
    first = [hit.id for hit in chat.say("red")]
    Library.open(library.folder).add(encoder=WIDE, workers=1)
    assert [hit.id for hit in chat.back_to(1)] == first
    assert library.settings.encoder == WIDE
    assert len(chat.like(first[0], "green")) == 4


def search_until(folder: Path, ended: Callable[[], bool]) -> int:
    """Searches again and again; returns how often. An AssertionError or any other error ends it."""
    library, turns = Library.open(folder), 0
    while not ended():
        check_answers(library, 8)
        turns += 1
    return turns


SEARCHER = """
import sys
from pathlib import Path
from tests.test_library_encoders import search_until
stop = Path(sys.argv[2])
print("ready", flush=True)
print(search_until(Path(sys.argv[1]), stop.exists), flush=True)
"""


def switch_while_people_search(tmp_path: Path, rounds: int) -> None:
    library, _ = made(tmp_path)
    library.add(encoder=COLD, workers=1)
    library.add(encoder=WIDE, workers=1)
    stop = tmp_path / "stop"
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join([os.environ["PYTHONPATH"], str(HERE.parent)])}
    other = subprocess.Popen(
        [sys.executable, "-c", SEARCHER, str(library.folder), str(stop)], env=environment, text=True,
        stdout=subprocess.PIPE, stderr=subprocess.PIPE,
    )  # fmt: skip
    assert other.stdout is not None
    assert other.stdout.readline() == "ready\n"
    failed: list[BaseException] = []
    shared = Library.open(library.folder)

    def search() -> None:
        try:
            while not stop.exists():
                check_answers(shared, 8)
        except BaseException as error:
            failed.append(error)

    threads = [threading.Thread(target=search) for _ in range(2)]
    for thread in threads:
        thread.start()
    try:
        for _ in range(rounds):
            for name in (WARM, COLD, WIDE):
                library.use_encoder(name)
                check_answers(library, 8)
        library.forget_encoder(WARM)
    finally:
        stop.touch()
        for thread in threads:
            thread.join()
        said, complaint = other.communicate(timeout=120)
    assert not failed, failed
    assert complaint == ""
    assert int(said) > 0


@pytest.mark.long
def test_encoders_are_switched_while_threads_and_another_process_search(tmp_path: Path) -> None:
    switch_while_people_search(tmp_path, 2)


@pytest.mark.long
def test_encoders_are_switched_many_times_while_people_search(tmp_path: Path) -> None:
    switch_while_people_search(tmp_path, 40)


# -- kill -9


KILLED = """
import os, signal, sys
from pathlib import Path
import viewfinder.library
from viewfinder.library import Library
from viewfinder.store import settings, store, tables

point, at = sys.argv[2], int(sys.argv[3])
tables.FIRST_BATCH = 4
count = [0]

def dies(call, before):
    def run(*given, **named):
        count[0] += 1
        if before and count[0] == at:
            os.kill(os.getpid(), signal.SIGKILL)
        result = call(*given, **named)
        if not before and count[0] == at:
            os.kill(os.getpid(), signal.SIGKILL)
        return result
    return run

place, name, before = {
    "before vectors": (store.Store, "add_vectors", True),
    "after vectors": (store.Store, "add_vectors", False),
    "before a commit": (store.Store, "_merge_rows", True),
    "after a commit": (store.Store, "_merge_rows", False),
    "before settings": (viewfinder.library, "write_settings", True),
    "after settings": (viewfinder.library, "write_settings", False),
    "between the copies of settings": (settings, "write_file", False),
    "announcing": (store.Store, "announce_vectors", True),
    "forgetting": (store.Store, "forget_spaces", False),
}[point]
setattr(place, name, dies(getattr(place, name), before))
library = Library.open(Path(sys.argv[1]))
library.add(encoder="shades:Cold", workers=1)
library.use_encoder("shades:Warm")
library.use_encoder("shades:Cold")
library.forget_encoder("shades:Warm")
print("ended")
"""

POINTS = (
    "before vectors", "after vectors", "before a commit", "after a commit", "before settings", "after settings",
    "between the copies of settings", "announcing", "forgetting",
)  # fmt: skip


FEW = ("after vectors", "before a commit", "before settings", "forgetting")
"""Points of which one kill each is in the ordinary suite."""


def kill_at(folder: Path, point: str, at: int) -> bool:
    """Builds and switches in a process that is killed there; returns whether it was."""
    done = subprocess.run(
        [sys.executable, "-c", KILLED, str(folder), point, str(at)], capture_output=True, text=True, check=False
    )
    assert done.returncode in (0, -signal.SIGKILL), done.stderr[-2000:]
    return done.returncode != 0


def check_after_kill(folder: Path, pictures: Path, count: int) -> None:
    """What is searched has all pictures, whichever encoder it is; and the next `add` brings all in order."""
    library = Library.open(folder, create=False)
    check_answers(library, count)
    assert library.settings.space in library.store.spaces()
    assert not library.verify()
    library.add(pictures, encoder=COLD, workers=1)
    check_answers(library, count)
    assert library.settings.encoder == COLD
    assert library.store.ids_with_vectors("Cold-2") == set(library.store.ids())
    assert not library.verify()


@pytest.mark.parametrize(
    "point", [point if point in FEW else pytest.param(point, marks=pytest.mark.long) for point in POINTS]
)
def test_after_kill_9_anywhere_in_a_switch_all_pictures_are_found(point: str, tmp_path: Path) -> None:
    library, drawn = made(tmp_path)
    assert kill_at(library.folder, point, 1 if point in ("announcing", "forgetting") else 2)
    check_after_kill(library.folder, tmp_path / "pictures", len(drawn))


@pytest.mark.long
@pytest.mark.parametrize("point", POINTS)
def test_after_kill_9_at_every_step_of_a_switch_all_pictures_are_found(point: str, tmp_path: Path) -> None:
    at, is_killed = 1, True
    while is_killed:
        home = tmp_path / str(at)
        library, drawn = made(home)
        is_killed = kill_at(library.folder, point, at)
        check_after_kill(library.folder, home / "pictures", len(drawn))
        at += 1
    assert at > 2, "it was never killed"


# -- the command


def run_command(*arguments: object) -> tuple[int, str]:
    done = subprocess.run(
        [sys.executable, "-m", "viewfinder", *map(str, arguments)], capture_output=True, text=True, check=False
    )
    return done.returncode, done.stdout + done.stderr


@pytest.mark.long
def test_the_command_lists_uses_and_forgets_encoders(tmp_path: Path) -> None:
    tiny_pictures(tmp_path / "pictures", 5)
    home = ("--library", tmp_path / "library")
    assert run_command("add", tmp_path / "pictures", "--encoder", WARM, "--without-starter", *home)[0] == 0
    code, said = run_command("add", "--encoder", COLD, *home)
    assert (code, "searched with shades:Cold from now on" in said) == (0, True)
    code, said = run_command("encoder", "list", "--json", *home)
    assert [(one["name"], one["is_active"], one["pictures"]) for one in json.loads(said)["encoders"]] == [
        (COLD, True, 5), (WARM, False, 5),
    ]  # fmt: skip
    assert run_command("encoder", "use", "shades:Warm", *home) == (0, "searched with shades:Warm from now on\n")
    code, said = run_command("encoder", "forget", "shades:Warm", *home)
    assert (code, "the library is searched with shades:Warm" in said, said.count("\n")) == (2, True, 1)
    assert run_command("encoder", "forget", COLD, *home)[0] == 0
    code, said = run_command("encoder", "list", *home)
    assert [line.split() for line in said.splitlines()] == [
        ["pictures", "lacking", "encoder"], ["searched", "with", "5", "0", "shades:Warm"],
    ]  # fmt: skip
