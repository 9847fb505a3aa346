"""Tuning of encoders other than the starter, whose words are moved: the stand-in for CLIP on a drawn world."""

from __future__ import annotations

import csv
from pathlib import Path

import numpy as np
import pytest
from pseudo_clip import PseudoClip

import viewfinder
from viewfinder.data import CaptionedPicture, read_coco
from viewfinder.encoders import load_encoder
from viewfinder.encoders.base import unit_rows
from viewfinder.encoders.tuned import WordHead, load_word_head
from viewfinder.errors import EncoderMismatch
from viewfinder.library import Library
from viewfinder.testing import check_encoder
from viewfinder.tuning.word_maps import CaptionedWords, WordMaps, choose_map
from viewfinder.worlds import write_world

WIDTH = 32


def write_captions(table: Path, pictures: list[CaptionedPicture]) -> Path:
    with table.open("w", newline="", encoding="utf-8") as file:
        writer = csv.writer(file)
        writer.writerow(("image", "caption"))
        writer.writerows((picture.path.name, text) for picture in pictures for text in picture.captions)
    return table


def share_found_first(library: Library, pictures: list[CaptionedPicture]) -> float:
    asked = [(picture.path.name, text) for picture in pictures for text in picture.captions]
    return sum(Path(library.find(text, n=1)[0].path).name == name for name, text in asked) / len(asked)


def turned_words() -> tuple[CaptionedWords, np.ndarray]:
    """Pictures with two texts each, which an encoder gives turned halfway away from them; and texts of nothing."""
    drawn = np.random.default_rng(1)
    seen_nd = unit_rows(drawn.standard_normal((150, WIDTH))).astype(np.float32)
    turn_dd = np.linalg.qr(drawn.standard_normal((WIDTH, WIDTH)))[0]
    owners_m = np.repeat(np.arange(150), 2)
    said_md = seen_nd[owners_m] + 0.14 * drawn.standard_normal((300, WIDTH))
    texts_md = unit_rows(0.4 * said_md + said_md @ turn_dd)
    sayings_bd = unit_rows(drawn.standard_normal((60, WIDTH))).astype(np.float32)
    return CaptionedWords(seen_nd, texts_md.astype(np.float32), owners_m), sayings_bd


@pytest.mark.slow
@pytest.mark.long
def test_a_library_of_another_encoder_finds_more_after_tuning_and_can_be_switched_back(tmp_path: Path) -> None:
    write_world(tmp_path / "scenes", kind="scenes", count=60, seed=3)
    pictures = read_coco(tmp_path / "scenes")[0]
    table = write_captions(tmp_path / "captions.csv", pictures[:40])
    with viewfinder.open(tmp_path / "clip.vf", encoder="pseudo_clip:PseudoClip") as library:
        library.add(tmp_path / "scenes" / "images", without_starter=True)
        before = [share_found_first(library, some) for some in (pictures[:40], pictures[40:])]
        report = library.tune(captions=table)
        assert (report.pictures, report.texts, report.chosen) == (40, 200, "tuned")
        assert report.held_out["tuned"] >= report.held_out["shipped"]
        after = [share_found_first(library, some) for some in (pictures[:40], pictures[40:])]
        assert after[0] > before[0] + 0.2 and after[1] >= before[1]
        assert library.status()["tuned"] and library.status()["space"] == report.space
        assert library.encoder.raw_version == PseudoClip.raw_version, "systems that read its vectors still fit"
        chat = library.chat()
        assert len(chat.say(pictures[0].captions[0])) == 10
    with viewfinder.open(tmp_path / "clip.vf") as library:
        assert share_found_first(library, pictures[:40]) == after[0]
        library.switch_back()
        assert not library.status()["tuned"] and library.status()["space"] == PseudoClip.version
        assert share_found_first(library, pictures[40:]) == before[1]
        library.switch_back()
        again = library.tune(captions=table)
        assert again.held_out == report.held_out, "what was learnt before is no part of what it is compared with"
        write_world(tmp_path / "more", kind="scenes", count=4, seed=5)
        library.add(tmp_path / "more" / "images")
        assert library.status()["space"] == again.space and len(library.find("a ball", n=100)) == 64


def test_words_that_were_turned_away_are_turned_back() -> None:
    kind, sayings_bd = turned_words()
    chosen = choose_map(kind, sayings_bd, "turned", sharpness=10.0)
    assert chosen.ridge is not None and not chosen.others_lose
    assert chosen.held_out["tuned"] > chosen.held_out["shipped"] + 0.2
    assert chosen.own["tuned"] >= chosen.held_out["tuned"]


def test_texts_that_tell_nothing_change_nothing() -> None:
    kind, sayings_bd = turned_words()
    drawn = np.random.default_rng(2)
    others = CaptionedWords(kind.pictures_nd, kind.texts_md, drawn.permutation(kind.owners_m))
    chosen = choose_map(others, sayings_bd, "turned", sharpness=10.0, ridges=(1.0, 0.1))
    assert chosen.ridge is None or chosen.held_out["tuned"] >= chosen.held_out["shipped"]
    same = CaptionedWords(kind.pictures_nd, np.repeat(kind.texts_md[:1], 300, axis=0), kind.owners_m)
    assert choose_map(same, sayings_bd, "turned", sharpness=10.0).ridge is None


def test_the_stronger_a_map_is_held_the_less_it_changes() -> None:
    kind, _ = turned_words()
    maps = WordMaps(kind, "turned")
    moved = [np.linalg.norm(maps.head_with(ridge).map(kind.texts_md) - kind.texts_md) for ridge in (1.0, 100.0, 1e6)]
    assert moved[0] > moved[1] > moved[2] and moved[2] < 0.05


def test_a_head_is_read_back_as_it_was_and_no_other_file_is_one(tmp_path: Path) -> None:
    kind, _ = turned_words()
    head = WordMaps(kind, "turned").head_with(1.0)
    head.save(tmp_path / "heads" / "mine.safetensors")
    read = load_word_head(tmp_path / "heads" / "mine.safetensors")
    assert read.fingerprint() == head.fingerprint()
    np.testing.assert_array_equal(read.map(kind.texts_md), head.map(kind.texts_md))
    (tmp_path / "other.safetensors").write_bytes(b"no head")
    with pytest.raises(EncoderMismatch, match=r"other.safetensors is not a tuned head that this viewfinder reads"):
        load_word_head(tmp_path / "other.safetensors")
    with pytest.raises(EncoderMismatch, match=r"a head for 32 numbers a text, and pseudo-clip gives 512: tune again"):
        load_encoder("pseudo_clip:PseudoClip", head_file=tmp_path / "heads" / "mine.safetensors")


def test_an_encoder_with_a_head_keeps_the_contract_of_encoders(tmp_path: Path) -> None:
    drawn = np.random.default_rng(0)
    WordHead("pseudo-clip-44", np.zeros(512, np.float32), 0.01 * drawn.standard_normal((512, 512), np.float32)).save(
        tmp_path / "head.safetensors"
    )
    encoder = load_encoder("pseudo_clip:PseudoClip", head_file=tmp_path / "head.safetensors")
    check_encoder(encoder)
    assert encoder.version.startswith("pseudo-clip-44-tune-")
    assert not hasattr(encoder, "origin") and not hasattr(encoder, "scale")
