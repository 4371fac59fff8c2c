"""What a submission would run, and what a deletion would take away."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from locus.terms import SearchTerms


@dataclass(frozen=True)
class PlanRange:
    """From the least to the most of the cells; equal where all agree."""

    least: int
    most: int


@dataclass(frozen=True)
class PlanHistory:
    """The runs that the time of some stages is estimated from: the median over those that succeeded."""

    kind: str
    basis: str
    """"same-setting": runs of their very configuration; "same-size": of other settings with the same model sizes, data and batch."""
    device: str
    runs: int
    """That an estimate is the median of, at most."""
    stages: int
    """That are estimated so."""

    def __str__(self) -> str:
        what = "the same setting" if self.basis == "same-setting" else "other settings of this size"
        return f"{self.kind}: {self.stages} stages by up to {self.runs} runs of {what} on {self.device}"


@dataclass(frozen=True)
class PlanCell:
    label: str
    assignment: dict[str, Any] = field(hash=False)
    trials: int
    stages_done: int
    stages_to_run: int
    parameters: int | None
    """Of the trained network, its priors and head included; None: not known."""
    prior_parameters: int | None
    """Of these, the priors' own."""
    training_parameters: int
    """More, while it trains."""
    uncounted_priors: list[str] = field(hash=False)
    """Whose parameters the catalog does not count: they are left out of the above."""
    flops: int | None
    """Operations of the backbone for one image, a multiply-add counted as two; None: not known."""
    memory_bytes: int | None
    """That a training is estimated to need, its data included."""
    data_bytes: int
    compute_seconds: float | None
    """Expected of its stages to run, shared ones included; None: none has history."""
    stages_without_history: int
    history: list[PlanHistory] = field(hash=False)


@dataclass(frozen=True)
class PlanKind:
    """The counts of one stage kind, and what it costs."""

    kind: str
    total: int
    done: int
    to_run: int
    compute_seconds: float | None
    stages_without_history: int


@dataclass(frozen=True)
class PlanRung:
    rung: int
    """Epochs or seeds."""
    least: int
    """Units of all groups that get there."""
    most: int


@dataclass(frozen=True)
class PlanBracket:
    rungs: list[PlanRung] = field(hash=False)


@dataclass(frozen=True)
class PlanSearch(SearchTerms):
    """What a search proposes, and the work that its rules leave open.

    All else of the plan counts its cells as if each were trained to its end.
    """

    groups: int
    """Combinations of the matrix outside the space; each has its proposals."""
    repeats: int
    """Of all groups: with the values of an earlier proposal, whose cells they share."""
    decides: bool
    """Something is promoted, stopped or limited while it runs; otherwise every cell is trained."""
    units: int
    """0, and nothing of what follows, before a client has proposed anything."""
    brackets: list[PlanBracket] = field(hash=False)
    """One; of "hyperband", its own."""
    least_trainings: int
    most_trainings: int
    least_epochs: float
    """Of all trainings together."""
    most_epochs: float
    parked: int
    """Checkpoints of trainings that wait at a rung or were stopped, at most at one time."""
    parked_bytes: int | None
    """That these take; None: no model's size is known."""

    def __str__(self) -> str:
        whose = "of a client" if self.propose == "external" else f"by {self.propose}"
        lines = [f"search: {self.proposals} proposals {whose} for each of {self.groups} groups"]
        if self.shared and self.groups > 1:
            lines[0] += ", the same for all"
        if self.decides and self.units:
            lines.append(
                f"work: {self.least_trainings} to {self.most_trainings} trainings, {self.least_epochs:g} to "
                f"{self.most_epochs:g} epochs"
            )
        if self.parked_bytes:
            lines.append(f"parked: at most {self.parked} checkpoints, about {self.parked_bytes / 2**30:.2f} GiB")
        return "\n".join(lines)


@dataclass(frozen=True)
class PlanPhase:
    """One of several phases: what it runs, uses and chooses."""

    name: str
    cells: int
    trials: int
    stages_to_run: int
    deferred: bool
    """It uses what is not chosen yet."""
    uses: list[str] = field(hash=False)
    """"train.lr of select"."""
    chooses: list[str] = field(hash=False)
    groups: int
    """That have a choice each; 0: it chooses nothing."""
    candidates: int
    search: PlanSearch | None


@dataclass(frozen=True)
class Plan:
    """What a specification would run and cost."""

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
    parameters: PlanRange | None
    prior_parameters: PlanRange | None
    flops: PlanRange | None
    """As of a cell, over those where it is known."""
    memory_bytes: PlanRange | None
    """That a training is estimated to need."""
    compute_seconds: float | None
    """Expected of the stages to run that have history; None: none has."""
    stages_without_history: int
    wall_seconds: float | None
    """On the slots that are free now; None where that is unknown."""
    free_slots: int
    history: list[PlanHistory] = field(hash=False)
    """What compute_seconds goes by."""
    search: PlanSearch | None
    """None with phases, which have their own."""
    phases: list[PlanPhase] = field(hash=False)
    trials_deferred: int
    """That wait for a choice; their stages are not among those above."""

    def __str__(self) -> str:
        lines = [
            f"{self.name}: {self.trials} trials of {self.cells} cells; {self.stages_done} of {self.stages_total} "
            f"stages done already, {self.stages_to_run} to run"
        ]
        lines += [f"  {one.label}: {one.trials} trials, {one.stages_to_run} stages to run" for one in self.cell_list]
        if self.parameters:
            lines.append(f"parameters: {self.parameters.least:,} to {self.parameters.most:,}")
        if self.memory_bytes:
            lines.append(f"memory: about {self.memory_bytes.most / 2**30:.2f} GiB a training at most")
        if self.compute_seconds is not None:
            lines.append(f"time: about {self.compute_seconds:.0f} s of computing")
            lines += [f"  {one}" for one in self.history]
        if self.stages_without_history:
            lines.append(f"time of {self.stages_without_history} stages: not known, none of their size has run here")
        if self.search:
            lines.append(str(self.search))
        for one in self.phases:
            waits = f", which wait for {', '.join(one.uses)}" if one.deferred else ""
            lines.append(f"phase {one.name}: {one.trials} trials of {one.cells} cells{waits}")
            lines += [str(one.search)] if one.search else []
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
