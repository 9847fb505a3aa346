"""`viewfinder encoders`, and the question that `add --encoder NAME` asks before it fetches a model."""

from __future__ import annotations

import io
import os
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import huggingface_hub.constants
import pytest
import torch
from PIL import Image

from tests.cli.conftest import PROGRAM, Run
from tests.encoders.hub_server import Hub, serving, sha256
from tests.encoders.tiny_checkpoints import save_clip
from viewfinder import testing
from viewfinder.encoders import hub as ours
from viewfinder.encoders import load_encoder
from viewfinder.encoders.models import ListedModel, ModelFile, list_models
from viewfinder.encoders.short_names import SHORT_NAMES
from viewfinder.errors import BadInput

WEIGHTS = "model.safetensors"


@pytest.fixture(scope="module")
def clip(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A small CLIP of transformers."""
    folder = tmp_path_factory.mktemp("model") / "clip"
    torch.manual_seed(4)
    save_clip(folder)
    return folder


@pytest.fixture
def hub(monkeypatch: pytest.MonkeyPatch, tmp_path: Path, clip: Path) -> Iterator[Hub]:
    """A hub that has it, under a name of the hub and under the short name "clip"; an empty cache."""
    with serving() as served:
        served.add_folder("tiny/clip", clip)
        cache, constants = str(tmp_path / "cache"), huggingface_hub.constants
        monkeypatch.setenv("HF_HUB_CACHE", cache)
        for name, value in {
            "HF_HUB_CACHE": cache,
            "ENDPOINT": served.endpoint,
            "HF_HUB_OFFLINE": False,
            "HUGGINGFACE_CO_URL_TEMPLATE": served.endpoint + "/{repo_id}/resolve/{revision}/{filename}",
        }.items():
            monkeypatch.setattr(constants, name, value)
        monkeypatch.setattr(ours, "PAUSES_S", (0.0,))
        files = tuple(ModelFile(path, len(one), sha256(one)) for path, one in served.files["tiny/clip"].items())
        short = ListedModel(
            name="clip", title="a tiny CLIP", repository="tiny/clip", commit=served.commit, layout="torch",
            licence="MIT", licence_note="ours", languages="letters", width=16, measured_as="nothing", files=files,
        )  # fmt: skip
        find = lambda name: short if name == "clip" else None  # noqa: E731
        monkeypatch.setattr(ours, "find_model", find)
        monkeypatch.setattr("viewfinder.encoders.models.find_model", find)
        yield served


class Typed(io.StringIO):
    """What a person types at a terminal."""

    def isatty(self) -> bool:
        return True


def type_in(monkeypatch: pytest.MonkeyPatch, answer: str) -> None:
    monkeypatch.setattr("sys.stdin", Typed(f"{answer}\n"))
    monkeypatch.setattr(sys.stderr, "isatty", lambda: True, raising=False)


@pytest.fixture
def drawn_pictures(tmp_path: Path) -> Path:
    testing.tiny_pictures(tmp_path / "pictures", 6)
    return tmp_path / "pictures"


def test_where_nobody_can_be_asked_one_line_says_what_would_be_fetched(
    viewfinder: Run, hub: Hub, drawn_pictures: Path, tmp_path: Path
) -> None:
    outcome = viewfinder("add", drawn_pictures, "--library", tmp_path / "new", "--encoder", "clip")
    assert (outcome.code, outcome.out, outcome.err.count("\n")) == (2, "", 1)
    assert "clip: a tiny CLIP, for letters; 1 MB from huggingface.co/tiny/clip; licence: MIT (ours)." in outcome.err
    assert "repeat with --yes to fetch it" in outcome.err
    assert hub.asked == []
    assert not (tmp_path / "new").exists()


@pytest.mark.parametrize("name", ["clip", "tiny/clip"])
def test_a_model_is_fetched_with_yes_and_used_offline_ever_after(
    viewfinder: Run, hub: Hub, drawn_pictures: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, name: str
) -> None:
    library = tmp_path / "new"
    added = viewfinder("add", drawn_pictures, "--library", library, "--encoder", name, "--yes", "--workers", "1")
    assert added.code == 0, added.err
    assert "6 added" in added.out
    assert f"fetching {name}" in added.err
    hub.down = True
    monkeypatch.setattr(huggingface_hub.constants, "HF_HUB_OFFLINE", True)
    found = viewfinder("find", "a red picture", "--library", library, "--json")
    assert len(found.json["results"]) == 6, found.err
    Image.new("RGB", (40, 30), "olive").save(drawn_pictures / "one-more.png")
    assert viewfinder("add", drawn_pictures, "--library", library, "--workers", "1").code == 0


def test_yes_at_the_terminal_fetches_and_no_changes_nothing(
    viewfinder: Run, hub: Hub, drawn_pictures: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    command = ("add", drawn_pictures, "--library", tmp_path / "new", "--encoder", "clip", "--workers", "1")
    type_in(monkeypatch, "n")
    refused = viewfinder(*command)
    assert (refused.code, hub.asked, (tmp_path / "new").exists()) == (1, [], False)
    assert refused.err.endswith("viewfinder: clip was not fetched, and nothing was changed\n")
    type_in(monkeypatch, "y")
    assert viewfinder(*command).code == 0
    assert (tmp_path / "new" / "library.json").exists()


def test_a_dry_run_fetches_nothing(viewfinder: Run, hub: Hub, drawn_pictures: Path, tmp_path: Path) -> None:
    outcome = viewfinder("add", drawn_pictures, "--library", tmp_path / "new", "--encoder", "clip", "--dry-run")
    assert (outcome.code, hub.asked) == (0, [])
    assert "6 would be read" in outcome.out
    assert "the encoder clip is not on this machine; nothing is fetched in a dry run" in outcome.err


def test_a_library_whose_model_is_gone_says_how_to_get_it_again(
    viewfinder: Run, hub: Hub, drawn_pictures: Path, tmp_path: Path
) -> None:
    library = tmp_path / "new"
    viewfinder("add", drawn_pictures, "--library", library, "--encoder", "clip", "--yes", "--workers", "1")
    shutil.rmtree(tmp_path / "cache")
    lost = viewfinder("find", "red", "--library", library)
    assert lost.code == 2
    assert "the encoder clip is not on this machine" in lost.err
    assert "`viewfinder encoders --get clip` fetches it" in lost.err
    assert viewfinder("encoders", "--get", "clip").code == 2
    got = viewfinder("encoders", "--get", "clip", "--yes")
    assert got.code == 0
    assert got.out.startswith(f"clip is here: {tmp_path / 'cache'}")
    assert viewfinder("find", "red", "--library", library).code == 0


def test_a_folder_that_is_called_like_a_short_name_comes_before_it(
    viewfinder: Run, hub: Hub, clip: Path, drawn_pictures: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "clip").mkdir()
    command = ("add", drawn_pictures, "--library", tmp_path / "new", "--encoder", "clip", "--workers", "1")
    assert "repeat with --yes to fetch it" in viewfinder(*command).err, "an empty folder is no model"
    shutil.copytree(clip, tmp_path / "clip", dirs_exist_ok=True)
    assert viewfinder(*command).code == 0
    assert viewfinder("find", "red", "--library", tmp_path / "new").code == 0
    assert hub.asked == []


def test_a_torch_model_is_not_fetched_where_torch_is_not(
    viewfinder: Run, hub: Hub, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("viewfinder.cli.models.find_spec", lambda name: None)
    outcome = viewfinder("encoders", "--get", "tiny/clip", "--yes")
    assert outcome.code == 2
    assert "pip install 'viewfinder[torch]'" in outcome.err
    assert hub.fetched(WEIGHTS) == []


@pytest.mark.parametrize("name", ["starter", "nobody", "./folder", ""])
def test_what_is_nothing_to_fetch_is_refused(viewfinder: Run, hub: Hub, name: str) -> None:
    outcome = viewfinder("encoders", "--get", name, "--yes")
    assert outcome.code == 2
    assert "is nothing to fetch: give owner/model of the hub, or one of clip," in outcome.err


def test_a_missing_package_is_named_with_its_extra(viewfinder: Run, hub: Hub, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "huggingface_hub", None)
    outcome = viewfinder("encoders", "--get", "clip", "--yes")
    assert outcome.code == 2
    assert "pip install 'viewfinder[hub]'" in outcome.err


def test_the_list_says_what_is_here_and_what_each_costs(
    viewfinder: Run, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setenv("HF_HUB_CACHE", str(tmp_path / "cache"))
    told = viewfinder("encoders")
    assert told.code == 0
    lines = told.out.splitlines()
    assert [line.split()[0] for line in lines[1 : 2 + len(SHORT_NAMES)]] == ["starter", *SHORT_NAMES]
    clip = next(line for line in lines if line.startswith("clip "))
    assert clip.split()[1:6] == ["no", "156", "MB", "1,004", "62"]
    data = viewfinder("encoders", "--json").json
    by_name: dict[str, Any] = {one["name"]: one for one in data["encoders"]}
    assert by_name["starter"]["here"] is True
    assert by_name["siglip2"] == by_name["siglip2"] | {
        "kind": "model", "here": False, "download_mb": 412, "picture_ms": None, "memory_mb": 3038,
        "licence": "Apache-2.0 (of google/siglip2-base-patch16-224; this copy names none)",
    }  # fmt: skip
    assert data["used"] is None


def test_the_list_shows_what_was_fetched_and_what_the_library_uses(
    viewfinder: Run, hub: Hub, drawn_pictures: Path, tmp_path: Path, clip: Path
) -> None:
    library = tmp_path / "new"
    viewfinder("add", drawn_pictures, "--library", library, "--encoder", str(clip), "--workers", "1")
    viewfinder("encoders", "--get", "tiny/clip", "--yes")
    data = viewfinder("encoders", "--library", library, "--json").json
    by_name: dict[str, Any] = {one["name"]: one for one in data["encoders"]}
    assert (by_name["tiny/clip"]["kind"], by_name["tiny/clip"]["here"]) == ("cache", True)
    assert data["used"] in by_name
    assert by_name[data["used"]]["here"] is True
    assert f"{data['used']} *" in viewfinder("encoders", "--library", library).out


def test_a_killed_download_goes_on_from_there(hub: Hub, tmp_path: Path) -> None:
    environment = {**os.environ, "HF_ENDPOINT": hub.endpoint, "HF_HUB_CACHE": str(tmp_path / "own")}
    command = [*PROGRAM, "encoders", "--get", "tiny/clip", "--yes"]
    hub.stall_after[WEIGHTS] = 50_000
    with subprocess.Popen(command, env=environment, stdout=subprocess.PIPE, stderr=subprocess.PIPE) as process:
        part = tmp_path / "own" / "models--tiny--clip" / "blobs"
        deadline = time.monotonic() + 120
        while not [one for one in part.glob("*.part") if one.stat().st_size == 50_000]:
            assert time.monotonic() < deadline, process.poll()
            time.sleep(0.05)
        process.send_signal(signal.SIGKILL)
        process.communicate()
    hub.stall_after.clear()
    hub.asked.clear()
    done = subprocess.run(command, env=environment, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    assert hub.fetched(WEIGHTS) == ["bytes=50000-"]
    weights = hub.files["tiny/clip"][WEIGHTS]
    [file] = (tmp_path / "own").glob(f"models--tiny--clip/snapshots/*/{WEIGHTS}")
    assert file.read_bytes() == weights


# -- the list itself


def test_the_page_of_encoders_has_the_figures_of_the_list() -> None:
    page = (Path(__file__).parents[2] / "docs" / "encoders.md").read_text(encoding="utf-8")
    languages = ("English", "German", "French", "Spanish", "Russian", "Arabic", "Finnish")
    assert {name for model in list_models().values() for name in model.recall} == set(languages)
    for model in list_models().values():
        milliseconds = "" if model.picture_ms is None else model.picture_ms
        cells = (f"`{model.name}`", model.title, model.describe_size(), model.memory_mb, milliseconds, model.languages)
        assert tidy(f"| {' | '.join(map(str, cells))} | {model.licence} |") in tidy(page)
        recalls = [f"{model.recall[name]:.1f}" if name in model.recall else "" for name in languages]
        assert tidy(f"| `{model.name}` | {' | '.join(recalls)} |") in tidy(page)


def tidy(text: str) -> str:
    return " ".join(text.split())


def test_every_model_of_the_list_is_whole() -> None:
    assert tuple(list_models()) == SHORT_NAMES
    for model in list_models().values():
        paths = {file.path for file in model.files}
        assert len(paths) == len(model.files)
        assert len(model.commit) == 40
        assert 0 < model.recall["English"] < 100
        assert model.megabytes > 100
        for file in model.files:
            assert (file.bytes is None) == (file.sha256 is None)
            assert file.sha256 is None or (len(file.sha256) == 64 and int(file.sha256, 16))
        towers = {"transformers.js": "onnx/", "Immich": "visual/"}[model.layout]
        assert any(path.startswith(towers) for path in paths)
        assert any(path.endswith("tokenizer.json") for path in paths)


def test_what_would_be_chosen_of_a_listed_repository_is_what_the_list_has() -> None:
    from viewfinder.encoders.hub_layouts import choose_files

    for model in list_models().values():
        paths = {file.path for file in model.files}
        assert choose_files(sorted(paths)) == (model.layout, tuple(sorted(paths)))


def test_a_misspelt_name_lists_the_names_and_asks_no_hub() -> None:
    with pytest.raises(BadInput, match=r"there is no encoder 'clpi': there are clip, .*starter; or give a folder"):
        load_encoder("clpi")
