"""A progress bar on standard output: in place on a terminal or in a notebook, a line a change elsewhere."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING, TextIO

if TYPE_CHECKING:
    from locus.v1 import experiment_service_pb2

WIDTH = 24


def _in_notebook() -> bool:
    shell = sys.modules.get("IPython")
    return shell is not None and getattr(shell, "get_ipython", lambda: None)() is not None


def line(experiment: experiment_service_pb2.Experiment) -> str:
    """One line that says how far an experiment is."""
    done = experiment.stages["succeeded"] if "succeeded" in experiment.stages else 0
    share = done / experiment.stages_total if experiment.stages_total else 0.0
    filled = int(share * WIDTH)
    bar = "█" * filled + "░" * (WIDTH - filled)
    text = f"{experiment.name} {bar} {experiment.trials_done}/{experiment.trials} trials"
    for state in ("failed", "held", "parked"):
        if state in experiment.stages and experiment.stages[state]:
            text += f", {experiment.stages[state]} {state}"
    if experiment.state != "active":
        text += f", {experiment.state}"
    elif experiment.eta_seconds >= 0:
        text += f", about {_duration(experiment.eta_seconds)} left"
    return text


def _duration(seconds: int) -> str:
    if seconds >= 3600:
        return f"{seconds // 3600} h {seconds % 3600 // 60} min"
    return f"{seconds // 60} min {seconds % 60} s" if seconds >= 60 else f"{seconds} s"


class Progress:
    """`wanted` None: only where somebody looks."""

    def __init__(self, wanted: bool | None = None, stream: TextIO | None = None) -> None:
        self._stream = stream or sys.stdout
        self._in_place = self._stream.isatty() or _in_notebook()
        self._wanted = self._in_place if wanted is None else wanted
        self._last = ""

    def show(self, experiment: experiment_service_pb2.Experiment) -> None:
        text = line(experiment)
        if not self._wanted or text == self._last:
            return
        padding = " " * max(0, len(self._last) - len(text))
        self._stream.write(f"\r{text}{padding}" if self._in_place else f"{text}\n")
        self._stream.flush()
        self._last = text

    def note(self, text: str) -> None:
        if self._wanted and text != self._last:
            self._stream.write(f"\n{text}\n" if self._in_place else f"{text}\n")
            self._stream.flush()
            self._last = text

    def close(self) -> None:
        if self._wanted and self._in_place and self._last:
            self._stream.write("\n")
            self._stream.flush()
