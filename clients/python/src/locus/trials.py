"""Trials: in lists, in full, and the blobs they made."""

from __future__ import annotations

from dataclasses import dataclass, field
from datetime import datetime
from typing import Any, Iterator


@dataclass(frozen=True)
class TrialStage:
    """A stage of a trial, in short."""

    role: str
    stage: int
    kind: str
    state: str
    failure_class: str
    reason: str
    attempts: int
    identity: str
    step: int
    steps: int
    shared: bool
    """Another experiment references it too."""
    retries: int
    """Of the attempts, those in the place of one that failed or was lost; going on after a rung is none."""


@dataclass(frozen=True)
class Trial:
    """One cell at one seed. `state` is that of its least finished stage, `reason` why it failed, is held or waits."""

    name: str
    ordinal: int
    cell: int
    cell_label: str
    seed: int
    state: str
    reason: str
    retired: bool
    stages: list[TrialStage] = field(hash=False)
    tags: list[str] = field(hash=False)
    note: str


@dataclass(frozen=True)
class SeriesKey:
    """A metric series: name, split and labels."""

    metric: str
    split: str
    labels: str


@dataclass(frozen=True)
class Result:
    """A scalar of a finished stage."""

    key: SeriesKey
    reducer: str
    value: float
    step: int


@dataclass(frozen=True)
class Attempt:
    """One run of a stage on a worker."""

    number: int
    worker: str
    state: str
    failure_class: str
    reason: str
    resume_step: int
    resume_sha256: str
    """Empty: it began afresh."""
    start_time: datetime | None
    end_time: datetime | None
    environment: dict[str, Any] = field(hash=False)
    points: int
    device: str
    device_name: str
    path: str
    log_bytes: int
    slots: list[int] = field(hash=False)


@dataclass(frozen=True)
class Checkpoint:
    attempt: int
    step: int
    sha256: str
    best: bool
    bytes: int
    pinned: bool
    present: bool
    """False: retention has removed its blob."""
    role: str
    """Why it is kept: "resume", "best", "last", "output", "pinned"; empty: it may go."""


@dataclass(frozen=True)
class Output:
    slot: str
    sha256: str
    step: int


@dataclass(frozen=True)
class StageInput:
    slot: str
    from_stage: int
    sha256: str


@dataclass(frozen=True)
class StageDetail:
    """A stage in full: its configuration, every attempt with its reason, results, checkpoints."""

    stage: int
    role: str
    kind: str
    state: str
    failure_class: str
    explanation: str
    identity: str
    seed: int
    failures: int
    faults: int
    config: dict[str, Any] = field(hash=False)
    attempts: list[Attempt] = field(hash=False)
    results: list[Result] = field(hash=False)
    checkpoints: list[Checkpoint] = field(hash=False)
    outputs: list[Output] = field(hash=False)
    inputs: list[StageInput] = field(hash=False)


@dataclass(frozen=True)
class TrialDetail:
    """A trial with its stages in full."""

    trial: Trial
    experiment: str
    assignment: dict[str, Any] = field(hash=False)
    stages: list[StageDetail] = field(hash=False)

    @property
    def name(self) -> str:
        return self.trial.name

    @property
    def state(self) -> str:
        return self.trial.state

    @property
    def results(self) -> list[Result]:
        """Those of all stages."""
        return [one for stage in self.stages for one in stage.results]

    def result(self, metric: str, split: str = "", reducer: str = "") -> float:
        """The first result of that metric (and split, and reducer); NaN without one."""
        found: Iterator[float] = (
            one.value
            for one in self.results
            if one.key.metric == metric and split in ("", one.key.split) and reducer in ("", one.reducer)
        )
        return next(found, float("nan"))


@dataclass(frozen=True)
class Artifact:
    """A checkpoint or an output, named by its SHA-256."""

    sha256: str
    kind: str
    bytes: int
    pinned: bool
    present: bool
    trial: str
    role: str
    stage: int
    attempt: int
    step: int
    best: bool
    slot: str
    """Of a stage's output; empty for a checkpoint."""
