"""Frames between the worker daemon and a trainer (docs/formats/trainer.md)."""

from __future__ import annotations

import json
import math
import os
import select
import struct
from typing import Any

_MOST = 16 << 20


class Ended(Exception):
    """The daemon is gone."""


def plain(value: float) -> float | str:
    """A number as frames have it: those that JSON lacks are words."""
    if math.isnan(value):
        return "NaN"
    if math.isinf(value):
        return "Infinity" if value > 0 else "-Infinity"
    return value


class Channel:
    """The descriptor that the daemon handed over. Of one thread."""

    def __init__(self, descriptor: int) -> None:
        self._descriptor = descriptor

    def send(self, frame: dict[str, Any]) -> None:
        text = json.dumps(frame, allow_nan=False).encode()
        if len(text) > _MOST:
            raise ValueError(f"a frame of {len(text)} bytes; at most {_MOST} are taken")
        data = memoryview(struct.pack("<I", len(text)) + text)
        try:
            while data:
                data = data[os.write(self._descriptor, data) :]
        except OSError as error:
            raise Ended(str(error)) from error

    def receive(self) -> dict[str, Any]:
        """The next frame; waits for it."""
        (size,) = struct.unpack("<I", self._read(4))
        if size > _MOST:
            raise Ended(f"a frame of {size} bytes")
        frame = json.loads(self._read(size))
        if not isinstance(frame, dict):
            raise Ended("a frame that is no object")
        return frame

    def waiting(self) -> bool:
        """Whether a frame, or the end, is there to be received."""
        return bool(select.select([self._descriptor], [], [], 0)[0])

    def _read(self, size: int) -> bytes:
        out = b""
        while len(out) < size:
            try:
                piece = os.read(self._descriptor, size - len(out))
            except OSError as error:
                raise Ended(str(error)) from error
            if not piece:
                raise Ended("the daemon closed the socket")
            out += piece
        return out
