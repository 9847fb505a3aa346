"""Models of the hub: fetched once, verified, resumed, found again without the network."""

from __future__ import annotations

import json
import socket
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import huggingface_hub.constants
import pytest

from tests.encoders.hub_server import Hub, git_hash, serving, sha256
from viewfinder.encoders import hub as ours
from viewfinder.encoders.hub import (
    HubModel,
    fetch_model,
    find_snapshot,
    is_here,
    list_cached,
    locate_model,
    plan_model,
    read_record,
)
from viewfinder.encoders.hub_layouts import choose_files
from viewfinder.encoders.models import ListedModel, ModelFile
from viewfinder.errors import BadInput, DownloadFailed

TOWERS = {
    "config.json": b'{"model_type": "clip"}',
    "tokenizer.json": b"{}",
    "onnx/text_model.onnx": bytes(range(256)) * 100,
    "onnx/vision_model.onnx": bytes(reversed(range(256))) * 400,
}
VISION = "onnx/vision_model.onnx"


@pytest.fixture
def hub(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Iterator[Hub]:
    """A hub of one repository, and an empty cache."""
    with serving() as served:
        point_at(served, monkeypatch, tmp_path / "cache")
        served.files["tiny/model"] = dict(TOWERS)
        yield served


def point_at(served: Hub, monkeypatch: pytest.MonkeyPatch, cache: Path) -> None:
    """Makes huggingface-hub and us use this hub, as HF_ENDPOINT and HF_HUB_CACHE do where a program starts."""
    monkeypatch.setenv("HF_HUB_CACHE", str(cache))
    monkeypatch.delenv("HF_ENDPOINT", raising=False)
    constants: Any = huggingface_hub.constants
    monkeypatch.setattr(constants, "HF_HUB_CACHE", str(cache))
    monkeypatch.setattr(constants, "ENDPOINT", served.endpoint)
    monkeypatch.setattr(constants, "HF_HUB_OFFLINE", False)
    monkeypatch.setattr(
        constants, "HUGGINGFACE_CO_URL_TEMPLATE", served.endpoint + "/{repo_id}/resolve/{revision}/{filename}"
    )
    monkeypatch.setattr(ours, "PAUSES_S", (0.0,))


def content(folder: Path) -> dict[str, bytes]:
    return {path.relative_to(folder).as_posix(): path.read_bytes() for path in folder.rglob("*") if path.is_file()}


def test_a_model_is_fetched_whole_and_is_then_here_without_the_network(
    hub: Hub, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert not is_here("tiny/model")
    model = plan_model("tiny/model")
    assert (model.layout, model.licence, model.commit) == ("transformers.js", "mit", hub.commit)
    told: list[tuple[int, int]] = []
    folder = fetch_model(model, lambda done, total: told.append((done, total)))
    assert content(folder) == TOWERS
    whole = sum(map(len, TOWERS.values()))
    assert told[-1] == (whole, whole)
    assert [done for done, _ in told] == sorted(done for done, _ in told)
    hub.asked.clear()
    monkeypatch.setattr(socket, "create_connection", None)
    assert (is_here("tiny/model"), find_snapshot("tiny/model")) == (True, folder)
    assert locate_model("tiny/model") == str(folder)
    assert fetch_model(model) == folder
    assert hub.asked == []
    assert list_cached() == [("tiny/model", folder)]


def test_what_was_verified_is_recorded_with_its_hashes(hub: Hub) -> None:
    fetch_model(plan_model("tiny/model"))
    record = read_record("tiny/model", hub.commit)
    assert record == {path: ModelFile(path, len(one), sha256(one)) for path, one in TOWERS.items()}


def test_other_programs_find_what_was_fetched(hub: Hub, monkeypatch: pytest.MonkeyPatch) -> None:
    folder = fetch_model(plan_model("tiny/model"))
    monkeypatch.setattr(huggingface_hub.constants, "HF_HUB_OFFLINE", True)
    assert Path(huggingface_hub.snapshot_download("tiny/model")) == folder
    [repository] = huggingface_hub.scan_cache_dir().repos
    assert (repository.repo_id, repository.nb_files) == ("tiny/model", 4)


def test_a_broken_download_goes_on_where_it_broke_off(hub: Hub) -> None:
    hub.break_after[VISION] = 40_000
    model = plan_model("tiny/model")
    assert len(TOWERS[VISION]) == 102_400, "it breaks twice, and is then whole"
    assert content(fetch_model(model)) == TOWERS
    assert hub.fetched(VISION) == [None, "bytes=40000-", "bytes=80000-"]


def test_the_next_attempt_goes_on_where_one_that_gave_up_broke_off(hub: Hub, monkeypatch: pytest.MonkeyPatch) -> None:
    hub.break_after[VISION] = 0
    first = hub.files["tiny/model"][VISION][:30_000]
    model = plan_model("tiny/model")
    part = Path(str(ours._storage("tiny/model"))) / "blobs" / f"{sha256(TOWERS[VISION])}.viewfinder.part"
    part.parent.mkdir(parents=True)
    part.write_bytes(first)  # what a killed program leaves
    with pytest.raises(DownloadFailed, match="what came is kept, and the same command goes on from there"):
        fetch_model(model)
    assert part.read_bytes() == first
    assert not is_here("tiny/model")
    hub.break_after.clear()
    hub.asked.clear()
    assert content(fetch_model(model)) == TOWERS
    assert hub.fetched(VISION) == ["bytes=30000-"]
    assert hub.fetched("text_model.onnx") == [], "what is whole is not fetched again"
    assert not part.exists()


def test_a_server_that_cannot_resume_sends_it_all_again(hub: Hub) -> None:
    hub.deaf_to_ranges = True
    part = ours._storage("tiny/model") / "blobs" / f"{sha256(TOWERS[VISION])}.viewfinder.part"
    part.parent.mkdir(parents=True)
    part.write_bytes(TOWERS[VISION][:30_000])
    assert content(fetch_model(plan_model("tiny/model"))) == TOWERS


@pytest.mark.parametrize("length", [30_000, 200_000])
def test_a_part_of_something_else_does_no_harm_twice(hub: Hub, length: int) -> None:
    part = ours._storage("tiny/model") / "blobs" / f"{sha256(TOWERS[VISION])}.viewfinder.part"
    part.parent.mkdir(parents=True)
    part.write_bytes(b"x" * length)
    if length < len(TOWERS[VISION]):
        with pytest.raises(DownloadFailed, match="arrived damaged"):
            fetch_model(plan_model("tiny/model"))
    assert content(fetch_model(plan_model("tiny/model"))) == TOWERS


@pytest.mark.parametrize("path", [VISION, "config.json"])
def test_content_that_is_not_what_was_announced_is_deleted(hub: Hub, path: str) -> None:
    hub.spoilt.add(path)
    model = plan_model("tiny/model")
    with pytest.raises(DownloadFailed, match=rf"{path} arrived damaged .* deleted: repeat the command"):
        fetch_model(model)
    assert not is_here("tiny/model")
    assert not any(ours.cache_folder().rglob("*.part"))
    hub.spoilt.clear()
    assert content(fetch_model(model)) == TOWERS


def test_content_that_others_left_damaged_in_the_cache_is_not_used(hub: Hub) -> None:
    blob = ours._storage("tiny/model") / "blobs" / sha256(TOWERS[VISION])
    blob.parent.mkdir(parents=True)
    blob.write_bytes(b"x" * len(TOWERS[VISION]))
    with pytest.raises(DownloadFailed, match="arrived damaged"):
        fetch_model(plan_model("tiny/model"))
    assert content(fetch_model(plan_model("tiny/model"))) == TOWERS


def listed(hub: Hub, monkeypatch: pytest.MonkeyPatch, **changes: Any) -> ListedModel:
    """The short name "clip" for what this hub has, as if it stood in the list."""
    files = tuple(ModelFile(path, len(one), sha256(one)) for path, one in TOWERS.items())
    model = ListedModel(
        name="clip", title="a tiny model", repository="tiny/model", commit=hub.commit, layout="transformers.js",
        licence="MIT", licence_note="ours", languages="English", width=16, measured_as="nothing",
        files=changes.pop("files", files), **changes,
    )  # fmt: skip
    monkeypatch.setattr(ours, "find_model", lambda name: model if name == "clip" else None)
    return model


def test_a_short_name_is_planned_without_the_network_and_fetched_at_its_commit(
    hub: Hub, monkeypatch: pytest.MonkeyPatch
) -> None:
    listed(hub, monkeypatch)
    with pytest.raises(BadInput, match=r"the encoder clip is not on this machine .* `viewfinder encoders --get clip`"):
        locate_model("clip")
    model = plan_model("clip")
    assert hub.asked == []
    folder = fetch_model(model)
    assert (locate_model("clip"), folder.name) == (str(folder), hub.commit)
    assert {path.split("/")[4] for _, path, _ in hub.asked if "/resolve/" in path} == {hub.commit}
    (folder / VISION).unlink()
    assert not is_here("clip"), "a short name is here with all its files"


def test_a_short_name_whose_commit_changed_is_still_found_at_the_one_before(
    hub: Hub, monkeypatch: pytest.MonkeyPatch
) -> None:
    listed(hub, monkeypatch)
    before = fetch_model(plan_model("clip"))
    commit, hub.commit = hub.commit, "2e" * 20
    hub.files["tiny/model"][VISION] += b"one byte more"
    listed(hub, monkeypatch, files=(ModelFile(VISION, len(TOWERS[VISION]) + 13, "0" * 64),))
    assert not is_here("clip")
    assert find_snapshot("clip", commit) == before
    assert locate_model("clip", commit) == str(before)


@pytest.mark.parametrize("changed", [{"bytes": 5}, {"sha256": "0" * 64}])
def test_another_file_than_the_list_knows_is_not_even_fetched(
    hub: Hub, monkeypatch: pytest.MonkeyPatch, changed: dict[str, Any]
) -> None:
    file = {"path": VISION, "bytes": len(TOWERS[VISION]), "sha256": sha256(TOWERS[VISION]), **changed}
    listed(hub, monkeypatch, files=(ModelFile(**file),))
    with pytest.raises(DownloadFailed, match=f"{VISION} is another file there than the one that was expected"):
        fetch_model(plan_model("clip"))
    assert hub.fetched(VISION) == []


def test_a_small_file_is_checked_against_the_hash_of_the_list(hub: Hub, monkeypatch: pytest.MonkeyPatch) -> None:
    small = TOWERS["config.json"]
    listed(hub, monkeypatch, files=(ModelFile("config.json", len(small), "0" * 64),))
    with pytest.raises(DownloadFailed, match=r"config\.json arrived damaged"):
        fetch_model(plan_model("clip"))
    assert git_hash(small) not in {path.name for path in ours.cache_folder().rglob("*")}


def test_a_hub_that_is_out_of_reach_is_told_in_one_line(hub: Hub, monkeypatch: pytest.MonkeyPatch) -> None:
    model = plan_model("tiny/model")
    hub.down = True
    with pytest.raises(DownloadFailed, match="tiny/model could not be fetched from the hub") as caught:
        fetch_model(model)
    assert "\n" not in str(caught.value)
    monkeypatch.setattr(huggingface_hub.constants, "ENDPOINT", "http://127.0.0.1:1")
    with pytest.raises(DownloadFailed, match="check the network"):
        plan_model("tiny/model")


def test_offline_nothing_is_asked_and_the_line_says_so(hub: Hub, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(huggingface_hub.constants, "HF_HUB_OFFLINE", True)
    with pytest.raises(BadInput, match="tiny/model is not on this machine, and HF_HUB_OFFLINE forbids fetching it"):
        plan_model("tiny/model")
    assert hub.asked == []


def test_a_mirror_is_named_where_a_model_would_come_from_it(hub: Hub, monkeypatch: pytest.MonkeyPatch) -> None:
    assert plan_model("tiny/model").address == "huggingface.co/tiny/model"
    monkeypatch.setenv("HF_ENDPOINT", "https://mirror.example")
    assert plan_model("tiny/model").address == "mirror.example/tiny/model"


def test_a_name_that_the_hub_does_not_know_is_refused(hub: Hub) -> None:
    with pytest.raises(BadInput, match="the hub has no model tiny/absent, or not for everyone"):
        plan_model("tiny/absent")


def test_a_repository_without_a_model_is_refused(hub: Hub) -> None:
    hub.files["tiny/words"] = {"README.md": b"# words", "pickled.pkl": b"x"}
    with pytest.raises(BadInput, match="tiny/words holds no model that viewfinder can use"):
        plan_model("tiny/words")


def test_a_precision_after_the_name_is_the_one_that_is_fetched(hub: Hub) -> None:
    more = {f"onnx/{tower}_model_quantized.onnx": b"8 bits of " + tower.encode() for tower in ("vision", "text")}
    hub.files["tiny/model"] |= more
    hub.files["tiny/model"] |= {
        "onnx/vision_model_fp16.onnx": b"half",
        "onnx/vision_model_quantized.onnx_data": b"more",
    }
    assert VISION in {file.path for file in plan_model("tiny/model").files}
    folder = fetch_model(plan_model("tiny/model?q8"))
    expected = {*more, "config.json", "tokenizer.json", "onnx/vision_model_quantized.onnx_data"}
    assert set(content(folder)) == expected
    assert (is_here("tiny/model?q8"), is_here("tiny/model?fp32")) == (True, False)
    assert locate_model("tiny/model?q8") == f"{folder}?q8"
    assert locate_model("tiny/model") == str(folder)
    with pytest.raises(BadInput, match=r"holds no model that viewfinder can use \(no weights in fp16\)"):
        plan_model("tiny/model?fp16")


@pytest.mark.parametrize(
    ("paths", "layout", "chosen"),
    [
        (["visual/model.onnx", "textual/model.onnx", "textual/tokenizer.json", "visual/model.armnn", "visual/fp16/a",
          "visual/0b1c-weights", "config.json", "README.md"], "Immich",
         {"visual/model.onnx", "textual/model.onnx", "textual/tokenizer.json", "visual/0b1c-weights", "config.json"}),
        (["visual.onnx", "textual.onnx", "tokenizer/vocab.json", "notes.txt"], "rclip",
         {"visual.onnx", "textual.onnx", "tokenizer/vocab.json"}),
        (["onnx/model_quantized.onnx", "onnx/decoder.onnx", "config.json"], "transformers.js",
         {"onnx/model_quantized.onnx", "config.json"}),
        (["config.json", "model.safetensors", "pytorch_model.bin", "tf_model.h5", "vocab.json"], "torch",
         {"config.json", "model.safetensors", "vocab.json"}),
        (["pytorch_model.bin.index.json", "pytorch_model-00001-of-00002.bin", "pytorch_model-00002-of-00002.bin",
          "model-00001-of-00009.safetensors"], "torch",
         {"pytorch_model.bin.index.json", "pytorch_model-00001-of-00002.bin", "pytorch_model-00002-of-00002.bin"}),
        (["open_clip_config.json", "open_clip_pytorch_model.bin", "open_clip_model.safetensors"], "torch",
         {"open_clip_config.json", "open_clip_model.safetensors"}),
        (["modules.json", "0_CLIPModel/model.safetensors", "0_CLIPModel/config.json", "config_sentence.json"], "torch",
         {"modules.json", "0_CLIPModel/model.safetensors", "0_CLIPModel/config.json"}),
        (["README.md", "onnx/vision_model.onnx", "visual/model.onnx"], "", set()),
    ],
)  # fmt: skip
def test_of_each_layout_only_what_it_needs_is_chosen(paths: list[str], layout: str, chosen: set[str]) -> None:
    found, files = choose_files(paths)
    assert (found, set(files)) == (layout, chosen)


@pytest.mark.parametrize("path", ["../../outside.onnx", "/etc/passwd", "a\\b"])
def test_a_path_that_leaves_the_cache_is_refused(hub: Hub, path: str) -> None:
    model = HubModel("tiny/model", "tiny/model", hub.commit, (ModelFile(path, 5),), 1, "torch")
    with pytest.raises(BadInput, match="is no repository of a model"):
        fetch_model(model)
    assert hub.asked == []


def test_a_disk_with_too_little_room_is_told_before_anything_is_fetched(hub: Hub) -> None:
    huge = ModelFile(VISION, 50_000_000_000_000 // 1000)
    model = HubModel("tiny/model", "tiny/model", hub.commit, (huge,) * 1, 50_000_000, "torch")
    with pytest.raises(BadInput, match=r"MB are to come, and .* MB are free"):
        fetch_model(model)
    assert hub.asked == []


def test_no_token_goes_to_the_host_that_large_files_come_from(hub: Hub, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HF_TOKEN", "hf_secret")
    seen: list[tuple[str, str | None]] = []
    from tests.encoders.hub_server import Handler

    before = Handler._answer

    def answer(handler: Handler) -> None:
        seen.append((handler.path, handler.headers.get("Authorization")))
        before(handler)

    monkeypatch.setattr(Handler, "_answer", answer)
    fetch_model(plan_model("tiny/model"))
    assert {given for path, given in seen if path.startswith("/cdn/")} == {None}
    assert "Bearer hf_secret" in {given for path, given in seen if "/resolve/" in path}


def test_a_record_that_is_damaged_is_as_none(hub: Hub) -> None:
    fetch_model(plan_model("tiny/model"))
    file = ours._record("tiny/model", hub.commit)
    for damaged in ("", "[]", '{"a": 1}', json.dumps({"a": {"bytes": 1}})):
        file.write_text(damaged)
        assert read_record("tiny/model", hub.commit) == {}
