"""What every optimizer from outside has in common: the log is its only state.

An optimizer is built anew from the log at every proposal and seeded by the search's seed and the count of proposals so
far, so a client that was killed, or another one beside it, goes on exactly where the log ends.
"""

from __future__ import annotations

import json
import math
import time
import uuid
from abc import ABC, abstractmethod
from dataclasses import dataclass, field
from typing import Any, Mapping, Protocol, Sequence

from locus._wire import refuse
from locus.errors import Aborted, ResourceExhausted, TimedOut
from locus.search.records import ProposedUnit, SearchPhase, SearchState, SearchUnit

NAMESPACE = uuid.UUID("4f8a1f6e-6a3c-5c0e-9d49-2f1f5a1c7e0b")  # of request ids
SEED_FACTOR = 1_000_003
SEEDS = 2**32  # that generators of numpy take


class Searchable(Protocol):
    """What an optimizer needs of a search: that of locus.search.Search."""

    @property
    def identity(self) -> str: ...
    @property
    def name(self) -> str: ...
    @property
    def specification(self) -> dict[str, Any]: ...
    def get(self, *, units: bool = True) -> SearchState: ...
    def propose(
        self,
        cells: Sequence[Mapping[str, Any]],
        *,
        request_id: str,
        after_decision: int | None = None,
        proposer: str = "",
    ) -> list[ProposedUnit]: ...
    def wait(self, *, after: int, timeout: float | None = None, pause: float = 0.5) -> SearchState: ...


@dataclass(frozen=True)
class SpaceDimension:
    """How the values of one path lie, as the specification has it. `kind` is "linear", "log", "int" or "choice"."""

    path: str
    kind: str
    low: float = 0.0
    high: float = 1.0
    digits: int = 4
    choices: list[Any] = field(default_factory=list, hash=False)

    def rounded(self, value: Any) -> Any:
        """As the server's own proposals are: so many significant digits, within the bounds.

        Stages are named by their values, so the last bit of a power must not tell two apart.
        """
        if self.kind == "int":
            return int(value)
        if self.kind == "choice":
            return value
        return min(max(float(f"{float(value):.{self.digits - 1}e}"), self.low), self.high)

    def place(self, value: Any) -> int:
        """Of a choice: which one it is."""
        wanted = json.dumps(value, sort_keys=True)
        for index, one in enumerate(self.choices):
            if json.dumps(one, sort_keys=True) == wanted or _same_number(one, value):
                return index
        refuse(f"{value!r} is none of the choices of {self.path}: {self.choices}", self.path)


def _same_number(one: Any, other: Any) -> bool:
    numbers = all(isinstance(each, (int, float)) and not isinstance(each, bool) for each in (one, other))
    return numbers and one == other


@dataclass(frozen=True)
class Proposal:
    """Values that were proposed, over all groups that meet them.

    `state` is "complete" (every group's unit is at the top), "pruned" (none runs, some stopped or parked below), "running"
    or "failed"; `scores` are the means over the groups by rung, in the metric's own direction.
    """

    values: dict[str, Any] = field(hash=False)
    state: str = "running"
    scores: dict[int, float] = field(default_factory=dict, hash=False)

    @property
    def value(self) -> float | None:
        """At the highest rung that every group has."""
        return self.scores[max(self.scores)] if self.scores else None


def space_of(specification: Mapping[str, Any], phase: str) -> list[SpaceDimension]:
    """The space of a search, or of that of a phase, by path."""
    search = _section(specification, phase)
    out = []
    for path, terms in sorted(search.get("space", {}).items()):
        digits = int(terms.get("digits", 4))
        for kind in ("linear", "log", "int"):
            if kind in terms:
                out.append(SpaceDimension(path, kind, float(terms[kind][0]), float(terms[kind][1]), digits))
        if "choice" in terms:
            out.append(SpaceDimension(path, "choice", choices=list(terms["choice"])))
    return out


def _section(specification: Mapping[str, Any], phase: str) -> Mapping[str, Any]:
    for one in specification.get("phases", []):
        if one.get("name") == phase and "search" in one:
            specification = one
    search = specification.get("search")
    return search if isinstance(search, Mapping) else {}


def history(phase: SearchPhase) -> list[Proposal]:
    """What the units of a phase say, proposal by proposal."""
    units: dict[int, list[SearchUnit]] = {}
    for unit in phase.units:
        units.setdefault(unit.proposal, []).append(unit)
    return [_proposal(units[number]) for number in sorted(units)]


def _proposal(units: list[SearchUnit]) -> Proposal:
    states = {one.state for one in units}
    if "failed" in states:
        state = "failed"
    elif states & {"running", "waiting"} or any(one.state == "parked" and not one.scores for one in units):
        state = "running"
    else:
        state = "complete" if states == {"finished"} else "pruned"
    scores: dict[int, float] = {}
    for rung in sorted({score.rung for one in units for score in one.scores}):
        values = [score.value for one in units for score in one.scores if score.rung == rung]
        finite = [value for value in values if value is not None and math.isfinite(value)]
        if len(finite) == len(units):
            scores[rung] = sum(finite) / len(finite)
    if state in ("complete", "pruned") and not scores:
        state = "failed"  # nothing finite was ever seen of it
    return Proposal(dict(units[0].values), state, scores)


class ExternalSearch(ABC):
    """Proposes to a search with `propose: external`. Not thread-safe; another client beside it is safe."""

    proposer = ""
    """What the log says of who proposed: name and version."""

    def __init__(self, search: Searchable) -> None:
        self.search = search

    @abstractmethod
    def suggest(self, space: list[SpaceDimension], told: list[Proposal], maximize: bool, seed: int) -> dict[str, Any]:
        """A value for every path. A pure function of its arguments: nothing is kept from call to call."""

    def ask(self, count: int = 1) -> list[ProposedUnit]:
        """Proposes `count` cells in one request, each as if those before it were running.

        The request is named by the experiment and the length of its log: a client that was killed before it had the
        answer asks for the same thing again and is told what became of it. ResourceExhausted as in Search.propose().
        """
        while True:
            state = self.search.get()
            try:
                return self._propose(state, count)
            except Aborted:
                continue  # something was decided meanwhile: suggest from the longer log

    def run(self, *, parallel: int | None = None, timeout: float | None = None, pause: float = 0.5) -> SearchState:
        """Proposes until the search has ended, one cell at a time; what it then is. TimedOut after `timeout` seconds.

        At most `parallel` proposals are unfinished at a time: by default as many as the search allows, or one. A search
        without a bound on its proposals or a budget never ends by itself: give it one.
        """
        until = None if timeout is None else time.monotonic() + timeout
        while True:
            state = self.search.get()
            if state.ended or state.phase.propose != "external":
                return state
            allowed = state.phase.limit("parallel")
            most = parallel if parallel is not None else int(allowed) if allowed else 1
            told = history(state.phase)
            room = state.decided > 0 and sum(one.state == "running" for one in told) < most
            bound = state.phase.proposals
            if room and not (bound and len(told) >= bound) and self._proposed(state):
                continue
            left = None if until is None else until - time.monotonic()
            if left is not None and left <= 0:
                raise TimedOut(f"the search of {self.search.name} has not ended", code="DEADLINE_EXCEEDED")
            self.search.wait(after=state.decided, timeout=left, pause=pause)

    def _proposed(self, state: SearchState) -> bool:
        """Whether a try changed anything; False: the search takes no more now."""
        try:
            self._propose(state, 1)
        except Aborted:
            return True
        except ResourceExhausted:
            return False
        return True

    def _propose(self, state: SearchState, count: int) -> list[ProposedUnit]:
        phase = state.phase
        space = space_of(self.search.specification, phase.name)
        if phase.propose != "external" or not space:
            refuse(
                f"the search of {self.search.name} proposes by itself; write `propose: external` and a `space`",
                "search.propose",
            )
        told = history(phase)
        seed = int(_section(self.search.specification, phase.name).get("seed", 0))
        cells: list[dict[str, Any]] = []
        for _ in range(count):
            cell = self.suggest(space, told, phase.direction != "min", (seed * SEED_FACTOR + len(told)) % SEEDS)
            cells.append({one.path: one.rounded(cell[one.path]) for one in space})
            told = told + [Proposal(cells[-1])]
        name = f"{self.search.identity}/{state.generation}/{state.decided}"
        return self.search.propose(
            cells,
            request_id=str(uuid.uuid5(NAMESPACE, name)),
            after_decision=state.decided,
            proposer=self.proposer,
        )
