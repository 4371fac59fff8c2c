"""One attempt at a stage, as the script sees it."""

from __future__ import annotations

import os
import shutil
import time
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Mapping, NoReturn, Protocol

from locus.training.channel import Channel, plain

_POINTS_MOST = 256  # that wait before they are sent
_SECONDS_MOST = 1.0


class Ending(Exception):
    """What ends an attempt before it is done: to be let pass."""

    outcome = ""


class Stopped(Ending):
    """The worker wants the attempt to end, and its last checkpoint is sent: return at once, or let it pass."""

    outcome = "stopped"


class Cancelled(Ending):
    """Nobody wants what the attempt would give: let it pass."""

    outcome = "cancelled"


class Parked(Ending):
    """The stop point is reached, and its checkpoint is sent: let it pass."""

    outcome = "parked"


class Diverged(Exception):
    """To be raised where the loss is no number any more: the attempt fails as such, and is not tried again."""


class DataError(Exception):
    """To be raised where the data cannot be read or is not what it should be."""


@dataclass(frozen=True)
class Item:
    """An item that the specification chose, with its options: the dataclass, where the script declared one."""

    id: str
    options: Any


class Saver(Protocol):
    def __call__(self, path: Path) -> None: ...


class Run:
    """What a stage is given and what it reports. Call `step` after every optimizer step, `validated` after every validation;
    both may raise what ends the attempt."""

    def __init__(self, channel: Channel, start: Mapping[str, Any], items: Mapping[str, Any], engine: str) -> None:
        self._channel = channel
        self._attempt = str(start["attempt"])
        self._stage = start["stage"]
        execution = start["execution"]
        self._engine = engine
        self.seed = int(self._stage["seed"])
        self.kind = str(self._stage["kind"])
        self.configuration: Mapping[str, Any] = self._stage
        self.inputs = {slot: Path(path) for slot, path in start.get("inputs", {}).items()}
        self.resume = Path(start["resume"]) if start.get("resume") else None
        self.data_root = Path(execution.get("data_root", "/usr/share/datasets"))
        self.work = Path(execution["work"])
        self.threads = int(execution.get("threads", 1))
        self.device = execution["device"] if execution["device"] == "cpu" else f"cuda:{int(execution.get('index', 0))}"
        self.model: Item = items["model"]
        self.recipe: Item = items["recipe"]
        self.dataset: Item = items["dataset"]
        self.task: Item = items["task"]
        self.priors: list[Item] = items["priors"]
        self.options: Mapping[str, Any] = self._stage.get("stage", {}).get("options", {})
        self.work.mkdir(parents=True, exist_ok=True)
        self._until = int(start.get("until", 0))
        self._every = float(execution.get("checkpoint_seconds", 60))
        self._saved_at = self._sent_at = time.monotonic()
        self._saved_step = -1
        self._step = self._steps = 0
        self._wish = ""
        self.ending = ""  # how the attempt ends before it is done, once that is decided
        self._series: dict[tuple[str, str, str], int] = {}
        self._described: list[dict[str, Any]] = []
        self._rows: list[list[Any]] = []
        self._files = 0
        self._environment: dict[str, Any] = {}
        self._results: list[dict[str, Any]] = []
        self._outputs: list[dict[str, Any]] = []

    # ---- what is to be reported ----

    def begin(self, steps: int, resumed_step: int = 0, **environment: Any) -> None:
        """Once, before the first step. `environment`: what else the numbers depend on (`device_name`, `build`, ...)."""
        self._steps, self._step = steps, resumed_step
        self._environment = {
            "engine": self._engine,
            "device": self.device.partition(":")[0],
            "dtype": "float32",
            "threads": self.threads,
            **environment,
        }
        self._send("started", environment=self._environment, steps=steps, resumed_step=resumed_step)
        if self.resume and 0 < self._until <= resumed_step < steps:  # it has been where it is to park
            shutil.copyfile(self.resume, copy := self.work / "parked.file")
            self._send("checkpoint", step=resumed_step, path=str(copy), bytes=copy.stat().st_size, best=False)
            self._end(Parked)

    def log(
        self, metric: str, value: float, step: int, *, split: str = "train", epoch: float = 0, images: int = 0
    ) -> None:
        """A point of a curve."""
        key = (metric, split, "{}")
        if key not in self._series:
            self._series[key] = len(self._described)
            self._described.append({"metric": metric, "split": split, "labels": {}})
        self._rows.append([self._series[key], step, epoch, images, time.time_ns() // 1000, plain(float(value))])
        if len(self._rows) >= _POINTS_MOST or time.monotonic() - self._sent_at > _SECONDS_MOST:
            self._flush()

    def step(self, step: int, save: Saver, *, phase: str = "train") -> None:
        """After an optimizer step. Saves a checkpoint with `save` when it is time or wished; raises Stopped or Cancelled."""
        self._step = step
        self._take_frames()
        if time.monotonic() - self._sent_at > _SECONDS_MOST:
            self._flush()
            self._send("progress", step=step, steps=self._steps, phase=phase)
        if self._wish == "cancel":
            self._end(Cancelled)
        if self._wish == "checkpoint-and-stop":
            self._checkpoint(step, save)
            self._end(Stopped)
        if time.monotonic() - self._saved_at > self._every:
            self._checkpoint(step, save)

    def validated(self, step: int, save: Saver) -> None:
        """After a validation, where a training may park: raises what ends it there."""
        self._step = step
        self._take_frames()
        if step < self._steps and (self._until < 0 or 0 < self._until <= step):
            self._checkpoint(step, save)
            self._end(Parked)
        self.step(step, save, phase="validate")

    def save_now(self, step: int, save: Saver) -> None:
        """A checkpoint between those that `step` makes by the clock."""
        self._checkpoint(step, save)

    def result(
        self,
        metric: str,
        value: float,
        *,
        split: str,
        reducer: str = "last",
        labels: Mapping[str, Any] | None = None,
    ) -> None:
        """A number of the whole stage: what leaderboards compare."""
        key = {"metric": metric, "split": split, "labels": dict(labels or {})}
        self._results.append({**key, "reducer": reducer, "value": plain(float(value)), "step": self._step})

    def output(self, slot: str, save: Saver) -> None:
        """A file that later stages take: the trained model is "checkpoint"."""
        path = self._file(save)
        self._outputs.append({"slot": slot, "path": str(path), "step": self._step})

    # ---- the end ----

    def done(self, outcome: str) -> None:
        self._flush()
        finished = outcome == "succeeded"
        self._send(
            "done",
            outcome=outcome,
            results=self._results if finished else [],
            outputs=self._outputs if finished else [],
            environment=self._environment,
            step=self._step,
        )

    def failed(self, failure_class: str, reason: str) -> None:
        self._flush()
        self._send("failed", **{"class": failure_class, "reason": reason[:2000]})

    # ---- within ----

    def _end(self, kind: type[Ending]) -> NoReturn:
        self.ending = kind.outcome  # a script that does not let it pass has ended all the same
        raise kind

    def _send(self, kind: str, **fields: Any) -> None:
        self._channel.send({"type": kind, "attempt": self._attempt, **fields})

    def _flush(self) -> None:
        self._sent_at = time.monotonic()
        if not self._rows:
            return
        self._send("points", series=self._described, rows=self._rows)
        self._rows = []

    def _file(self, save: Saver) -> Path:
        self._files += 1
        path = self.work / f"{self._files}.file"
        save(path)
        with path.open("rb") as file:
            os.fsync(file.fileno())
        return path

    def _checkpoint(self, step: int, save: Saver) -> None:
        self._flush()
        if step != self._saved_step:
            path = self._file(save)
            self._send("checkpoint", step=step, path=str(path), bytes=path.stat().st_size, best=False)
        self._saved_at, self._saved_step = time.monotonic(), step

    def _take_frames(self) -> None:
        while self._channel.waiting():
            frame = self._channel.receive()
            if frame.get("attempt") != self._attempt:
                continue
            if frame.get("type") == "wish":
                self._wish = str(frame.get("wish"))
            elif frame.get("type") == "until":
                self._until = int(frame.get("step", 0))
