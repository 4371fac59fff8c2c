"""What a server says of a search."""

from __future__ import annotations

import json
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any

from locus.terms import SearchTerms


@dataclass(frozen=True)
class SearchDimension:
    """One path of the space. `kind` is "linear", "log", "int" or "choice"; `choices` are as text."""

    path: str
    kind: str
    low: float
    high: float
    choices: list[str] = field(hash=False)


@dataclass(frozen=True)
class SearchRung:
    """How many units were sent to a rung (of so many epochs or seeds), have a value there, went on, stopped, failed."""

    rung: int
    sent: int
    there: int
    advanced: int
    stopped: int
    failed: int


@dataclass(frozen=True)
class SearchBracket:
    rungs: list[SearchRung] = field(hash=False)


@dataclass(frozen=True)
class SearchBudgetLine:
    """What was granted of a limit: "proposals", "stages", "epochs", "slot_hours", "target" or "parallel"."""

    name: str
    spent: float
    limit: float


@dataclass(frozen=True)
class SearchChoice:
    """What a phase chose for a group. `margin` is how far ahead of the next candidate, `agreed` how many of the `seeds` put
    it first by themselves, `image_error` the standard error of a proportion on so many images, in the metric's unit."""

    group: str
    group_values: dict[str, Any] = field(hash=False, metadata={"from": "group_json"})
    values: dict[str, Any] = field(hash=False)
    value: float | None
    margin: float | None
    image_error: float | None
    seeds: int
    agreed: int
    note: str


@dataclass(frozen=True)
class SearchScore:
    """Of a unit at a rung, in the metric's own direction; None: failed or not finite."""

    rung: int
    value: float | None


@dataclass(frozen=True)
class SearchUnit:
    """What is judged: a cell with all its seeds, or a trial. `state` is "waiting", "running", "parked", "stopped", "failed" or
    "finished", `reason` why, in a sentence."""

    group: int
    proposal: int
    cell: int
    label: str
    values: dict[str, Any] = field(hash=False)
    trials: list[int] = field(hash=False)
    state: str
    bracket: int
    rung: int
    """Place of the highest it was sent to; -1: none."""
    scores: list[SearchScore] = field(hash=False)
    reason: str
    cells: list[int] = field(hash=False)
    """Where each rung trains anew: those of its rungs, the first being `cell`; otherwise empty."""


@dataclass(frozen=True)
class SearchPhase(SearchTerms):
    """`name` is empty without phases; `state` is "waiting", "running" or "ended"."""

    name: str
    state: str
    metric: str
    split: str
    direction: str
    groups: list[str] = field(hash=False)
    proposed: int
    brackets: list[SearchBracket] = field(hash=False)
    budget: list[SearchBudgetLine] = field(hash=False)
    choices: list[SearchChoice] = field(hash=False)
    units: list[SearchUnit] = field(hash=False)
    reason: str
    space: list[SearchDimension] = field(hash=False)

    def limit(self, name: str) -> float | None:
        """The limit of a budget's line; None without one."""
        return next((one.limit for one in self.budget if one.name == name), None)


@dataclass(frozen=True)
class SearchState:
    """Where a search stands: the fold of its first `decided` decisions. `next` says what it waits for."""

    experiment: str
    generation: int
    decided: int
    state: str
    reason: str
    phases: list[SearchPhase] = field(hash=False)
    next: list[str] = field(hash=False)

    @property
    def ended(self) -> bool:
        return self.state == "ended"

    @property
    def phase(self) -> SearchPhase:
        """The one under way: the first that is running, else the last that has begun, else the first."""
        begun = [one for one in self.phases if one.state != "waiting"]
        return next((one for one in begun if one.state == "running"), (begun or self.phases[:1])[-1])


@dataclass(frozen=True)
class SearchDecision:
    """One line of the log. `kind` is "begin", "observe", "propose", "advance", "stop", "choose", "override" or "end"."""

    number: int
    generation: int
    phase: str
    kind: str
    json: str
    rule: str
    rule_revision: int
    principal: str
    time: datetime | None
    text: str
    trials: list[int] = field(hash=False)

    @property
    def document(self) -> dict[str, Any]:
        """What it says, as stored."""
        out: dict[str, Any] = json.loads(self.json)
        return out


@dataclass(frozen=True)
class BestCurve:
    """The best value so far of a group against the epochs granted to it, and whose it is."""

    group: str
    epochs: list[float] = field(hash=False)
    value: list[float] = field(hash=False)
    trial: list[int] = field(hash=False)


@dataclass(frozen=True)
class BestSoFar:
    metric: str
    split: str
    curves: list[BestCurve] = field(hash=False)


@dataclass(frozen=True)
class FactorImportance:
    """The share of the values' variance that a path explains, with its 95 % interval."""

    path: str
    share: float
    low: float
    high: float


@dataclass(frozen=True)
class Importance:
    """`note` says how it was estimated, and what cannot be said."""

    metric: str
    split: str
    units: int
    factors: list[FactorImportance] = field(hash=False)
    unexplained: float
    note: str


@dataclass(frozen=True)
class ProposedUnit:
    """What a proposed cell became; `repeated_before`: the same values were there already."""

    cell: int
    trials: list[int] = field(hash=False)
    repeated_before: bool
