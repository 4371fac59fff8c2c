"""What a submission would run, and what a deletion would take away."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any


@dataclass(frozen=True)
class PlanCell:
    label: str
    assignment: dict[str, Any] = field(hash=False)
    trials: int
    stages_done: int
    stages_to_run: int


@dataclass(frozen=True)
class PlanKind:
    """The counts of one stage kind."""

    kind: str
    total: int
    done: int
    to_run: int


@dataclass(frozen=True)
class Plan:
    """What a specification would run; counts of cells, trials and stages."""

    name: str
    cells: int
    trials: int
    stages_total: int
    stages_done: int
    """Succeeded already, in other experiments or an earlier submission."""
    stages_running: int
    stages_to_run: int
    exists: bool
    """An experiment of this name is stored."""
    trials_added: int
    trials_removed: int
    trials_changed: int
    cell_list: list[PlanCell] = field(hash=False)
    """At most the first 1000."""
    kinds: list[PlanKind] = field(hash=False)
    warnings: list[str] = field(hash=False)

    def __str__(self) -> str:
        lines = [
            f"{self.name}: {self.trials} trials of {self.cells} cells; {self.stages_done} of {self.stages_total} "
            f"stages done already, {self.stages_to_run} to run"
        ]
        lines += [f"  {one.label}: {one.trials} trials, {one.stages_to_run} stages to run" for one in self.cell_list]
        return "\n".join(lines + [f"warning: {one}" for one in self.warnings])


@dataclass(frozen=True)
class Deletion:
    """What went, or with `deleted` False would go."""

    name: str
    deleted: bool
    trials: int
    stages: int
    stages_kept: int
    stages_unfinished: int
    attempts: int
    points: int
    artifacts: int
    bytes: int
    kept_for: list[str] = field(hash=False)
    """The experiments that need what stays."""
    purging: bool
    """It is gone; its rows and blobs are still being taken away."""


@dataclass(frozen=True)
class Annotation:
    """Tags and note of an experiment or a trial."""

    name: str
    note: str
    tags: list[str] = field(hash=False)
