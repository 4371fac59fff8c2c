"""The toy training as a program of this Python, and a daemon that speaks to it in frames."""

from __future__ import annotations

import json
import shutil
import socket
import subprocess
import sys
from pathlib import Path
from typing import Any

from locus.training.channel import Channel

HERE = Path(__file__).parent


def script(folder: Path) -> Path:
    """A copy of the toy that finds the package."""
    shutil.copytree(HERE / "own_training", folder)
    path = folder / "train.py"
    paths = [one for one in sys.path if one and Path(one).is_dir() and "tests" not in Path(one).parts]
    text = path.read_text().replace("from __future__ import annotations\n", "")
    path.write_text(f"#!{sys.executable}\nimport sys\nsys.path[1:1] = {paths!r}\n" + text)
    path.chmod(0o755)
    return path


class Daemon:
    """The worker's end of the socket. What is said of an attempt goes out in one piece with its start: it is there when
    the trainer first looks, so that no outcome depends on who is faster."""

    def __init__(self, folder: Path) -> None:
        self._ours, theirs = socket.socketpair()
        self._channel = Channel(self._ours.fileno())
        self._unsent = b""
        handed = theirs.fileno()
        self._trainer = subprocess.Popen([script(folder / "own"), "run", "--fd", str(handed)], pass_fds=[handed])
        theirs.close()
        assert self._channel.receive()["type"] == "hello"

    def close(self) -> None:
        self._ours.close()  # the trainer ends with it
        assert self._trainer.wait(timeout=60) == 0

    def start(self, work: Path, attempt: str = "1/1", *, gang: dict[str, Any] | None = None, resume: Path | None = None,
              until: int = 0, stage: dict[str, Any] | None = None, **line: Any) -> None:  # fmt: skip
        """`line`: options of the toy's backbone."""
        chosen = {
            "kind": "train",
            "seed": 1,
            "model": {"id": "toy-line", "options": line},
            "recipe": {"id": "toy-descent", "options": {}},
            "dataset": {"id": "toy-points", "options": {}},
            "priors": [{"id": "toy-offset", "options": {}}],
        }
        execution: dict[str, Any] = {"device": "cpu", "work": str(work), "checkpoint_seconds": 3600}
        if gang is not None:
            execution["gang"] = gang
        self.say("start", attempt, stage=stage or chosen, execution=execution, until=until,
                 resume=None if resume is None else str(resume))  # fmt: skip

    def say(self, kind: str, attempt: str = "1/1", **fields: Any) -> None:
        text = json.dumps({"type": kind, "attempt": attempt, **fields}).encode()
        self._unsent += len(text).to_bytes(4, "little") + text

    def answer(self) -> list[dict[str, Any]]:
        """What the trainer says of the attempt, to its end."""
        self._ours.sendall(self._unsent)
        self._unsent = b""
        out = [self._channel.receive()]
        while out[-1]["type"] not in ("done", "failed"):
            out.append(self._channel.receive())
        return out


def of(kind: str, frames: list[dict[str, Any]]) -> list[dict[str, Any]]:
    return [frame for frame in frames if frame["type"] == kind]


def curves(frames: list[dict[str, Any]]) -> dict[str, list[tuple[int, Any]]]:
    """Step and value of every point, by metric."""
    out: dict[str, list[tuple[int, Any]]] = {}
    for frame in of("points", frames):
        for series, step, _, _, _, value in frame["rows"]:
            out.setdefault(frame["series"][series]["metric"], []).append((step, value))
    return out
