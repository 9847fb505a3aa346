"""The program of the process that reads text: pixels in, lines with their boxes out, as JSON."""

from __future__ import annotations

import json
import os
import signal
from multiprocessing.connection import Connection
from typing import Any

import numpy as np

from viewfinder.pictures.text_reader import READ_MEMORY
from viewfinder.pictures.worker import limit_memory, read_address_space


def serve(descriptor: int) -> None:
    """Answers on a socket until its other end is closed. Does not return."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    pipe = Connection(descriptor)
    read = _load_engine()
    limit_memory(read_address_space(), READ_MEMORY)
    pipe.send_bytes(json.dumps("ready").encode())
    while True:
        try:
            shape = json.loads(pipe.recv_bytes())
            pixels_hw3 = np.frombuffer(pipe.recv_bytes(), np.uint8).reshape(shape)
        except (EOFError, OSError):
            os._exit(0)
        pipe.send_bytes(json.dumps(_read_lines(read, pixels_hw3)).encode())


def _load_engine() -> Any:
    """The reader, with the networks that its package ships."""
    from rapidocr import RapidOCR

    engine = RapidOCR(params={"Global.log_level": "critical"})
    engine(np.full((64, 64, 3), 255, np.uint8))  # loads the networks, before memory is limited
    return engine


def _read_lines(read: Any, pixels_hw3: Any) -> list[Any]:
    """[text, confidence, [x0, y0, x1, y1]] of each line; the engine wants blue first."""
    found = read(np.ascontiguousarray(pixels_hw3[..., ::-1]))
    if found.boxes is None or found.txts is None or found.scores is None:
        return []
    height, width = pixels_hw3.shape[:2]
    lines = []
    for box_42, text, score in zip(found.boxes, found.txts, found.scores, strict=True):
        corners_42 = np.asarray(box_42, float) / (width, height)
        lines.append([str(text), float(score), [*corners_42.min(axis=0).tolist(), *corners_42.max(axis=0).tolist()]])
    return lines
