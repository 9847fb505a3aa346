import os
from pathlib import Path

import pytest
import torch
from safetensors.torch import save_file
from torch import nn

from viewfinder.errors import BadInput, DiskFull, EncoderMismatch, NewerLibrary
from viewfinder.training import Card, checkpoints, load_network, read_card, save_network

CARD = Card(system="chatir", preset="lab", encoder="raw-1", settings={"width": 3}, figures={"recall": 0.1 + 0.2})


@pytest.fixture
def file(tmp_path: Path) -> Path:
    save_network(tmp_path / "best.safetensors", nn.Linear(3, 2), CARD)
    return tmp_path / "best.safetensors"


def test_a_network_comes_back_bit_for_bit_with_its_card(tmp_path: Path) -> None:
    network, other = nn.Linear(3, 2), nn.Linear(3, 2)
    save_network(tmp_path / "new" / "n.safetensors", network, CARD)
    assert load_network(tmp_path / "new" / "n.safetensors", other, system="chatir", encoder="raw-1") == CARD
    assert all(torch.equal(a, b) for a, b in zip(network.parameters(), other.parameters(), strict=True))
    assert read_card(tmp_path / "new" / "n.safetensors") == CARD


def test_tied_weights_views_empty_and_odd_types_are_written(tmp_path: Path) -> None:
    network = nn.Module()
    network.first, network.second = nn.Linear(3, 3, bias=False), nn.Linear(3, 3, bias=False)
    network.second.weight = network.first.weight
    network.register_buffer("turned", torch.arange(6.0).reshape(2, 3).T)
    network.register_buffer("empty", torch.zeros(0, 4))
    network.register_buffer("brief", torch.tensor(1.5, dtype=torch.bfloat16))
    network.register_buffer("count", torch.tensor(7))
    save_network(tmp_path / "n.safetensors", network, CARD)
    before = {name: tensor.clone() for name, tensor in network.state_dict().items()}
    for tensor in network.state_dict().values():
        tensor.zero_()
    load_network(tmp_path / "n.safetensors", network, system="chatir", encoder="raw-1")
    assert all(torch.equal(tensor, before[name]) for name, tensor in network.state_dict().items())


def test_another_encoder_or_system_is_refused(file: Path) -> None:
    with pytest.raises(
        EncoderMismatch, match="trained on vectors of the encoder 'raw-1', not 'raw-2'; use that encoder"
    ):
        load_network(file, nn.Linear(3, 2), system="chatir", encoder="raw-2")
    with pytest.raises(BadInput, match="this is a network of chatir, not of mai; name another file"):
        load_network(file, nn.Linear(3, 2), system="mai", encoder="raw-1")


def test_a_network_of_other_weights_is_refused_with_the_first_difference(file: Path) -> None:
    for network, complaint in (
        (nn.Linear(4, 2), r"weight is \(2, 3\), not \(2, 4\)"),
        (nn.Sequential(nn.Linear(3, 2)), "0.weight is missing"),
        (nn.Linear(3, 2, bias=False), "bias is unknown here"),
    ):
        before = [parameter.clone() for parameter in network.parameters()]
        with pytest.raises(BadInput, match=f"best.safetensors: {complaint}; the file belongs to a network of other"):
            load_network(file, network, system="chatir", encoder="raw-1")
        assert all(torch.equal(a, b) for a, b in zip(before, network.parameters(), strict=True))


def _refusal(path: Path) -> str:
    with pytest.raises(BadInput) as caught:
        load_network(path, nn.Linear(3, 2), system="chatir", encoder="raw-1")
    assert "\n" not in str(caught.value) and str(path) in str(caught.value)
    return str(caught.value)


def test_every_cut_and_a_flipped_bit_are_seen(file: Path) -> None:
    data = file.read_bytes()
    for length in (0, 7, 40, len(data) - 1):
        file.write_bytes(data[:length])
        assert "damaged (" in _refusal(file)
    file.write_bytes(data[:-3] + bytes([data[-3] ^ 1]) + data[-2:])
    assert "damaged (its checksum differs); delete it" in _refusal(file)


def test_a_foreign_file_and_none_are_told_apart_from_damage(tmp_path: Path) -> None:
    save_file({"weight": torch.zeros(2, 3)}, tmp_path / "other.safetensors")
    assert "this is no network of viewfinder" in _refusal(tmp_path / "other.safetensors")
    assert "no such file" in _refusal(tmp_path / "none.safetensors")
    checkpoints.write_tensors(tmp_path / "c.safetensors", {}, {}, schema=checkpoints.CHECKPOINT)
    assert "this is no network of viewfinder" in _refusal(tmp_path / "c.safetensors")


def test_a_file_of_a_later_version_is_refused(file: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(checkpoints, "VERSION", 2)
    save_network(file, nn.Linear(3, 2), CARD)
    monkeypatch.undo()
    with pytest.raises(NewerLibrary, match="written by a later version of viewfinder"):
        read_card(file)


def test_a_failed_write_leaves_the_file_before_and_no_scrap(file: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    before = file.read_bytes()

    def fail(handle: int) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(os, "fsync", fail)
    with pytest.raises(DiskFull, match="the disk is full; make room"):
        save_network(file, nn.Linear(3, 2), CARD)
    assert file.read_bytes() == before and list(file.parent.iterdir()) == [file]


def test_others_may_read_the_file_as_the_umask_says(file: Path) -> None:
    (file.parent / "plain").touch()
    assert file.stat().st_mode == (file.parent / "plain").stat().st_mode
