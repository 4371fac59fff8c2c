"""Searches: where one stands, its log, and optimizers that propose from outside.

search = client.experiment("tuned").search
search.get().phase.brackets             # the rungs, and how many units got to each
for decision in search.log():
    print(decision.text)

from locus.search.optuna import OptunaSearch
OptunaSearch(search).run()              # proposes until the search has ended
"""

from __future__ import annotations

import json
import time
from typing import TYPE_CHECKING, Any, Iterator, Mapping, Sequence

from locus._wire import plain, read, refuse, request
from locus.errors import TimedOut
from locus.search.external import ExternalSearch, Proposal, SpaceDimension
from locus.search.records import (
    BestCurve,
    BestSoFar,
    FactorImportance,
    Importance,
    ProposedUnit,
    SearchBracket,
    SearchBudgetLine,
    SearchChoice,
    SearchDecision,
    SearchDimension,
    SearchPhase,
    SearchRung,
    SearchScore,
    SearchState,
    SearchUnit,
)
from locus.v1 import search_service_pb2

if TYPE_CHECKING:
    from locus.experiment import Experiment

PAGE = 1000

__all__ = [
    "BestCurve",
    "BestSoFar",
    "ExternalSearch",
    "FactorImportance",
    "Importance",
    "Proposal",
    "ProposedUnit",
    "Search",
    "SearchBracket",
    "SearchBudgetLine",
    "SearchChoice",
    "SearchDecision",
    "SearchDimension",
    "SearchPhase",
    "SearchRung",
    "SearchScore",
    "SearchState",
    "SearchUnit",
    "SpaceDimension",
]


class Search:
    """The search of an experiment. Everything is asked of the server anew; NotFound without one."""

    def __init__(self, experiment: Experiment) -> None:
        self.experiment = experiment
        self.client = experiment.client
        self._stub = self.client._searches

    def __repr__(self) -> str:
        return f"<Search of {self.name}>"

    @property
    def name(self) -> str:
        return self.experiment.name

    @property
    def identity(self) -> str:
        """Tells it from a later experiment of the same name."""
        created = self.experiment.message.create_time
        return f"{self.name}@{created.seconds}.{created.nanos:09d}"

    @property
    def specification(self) -> dict[str, Any]:
        """The experiment's, as it was read last."""
        return self.experiment.specification

    def get(self, *, units: bool = True) -> SearchState:
        """Where it stands: phases, rungs, budget, choices, what it waits for; `units` with every unit."""
        question = request(search_service_pb2.GetSearchRequest, experiment=self.name, all_units=units)
        return read(SearchState, self.client.call(self._stub.GetSearch, question))

    def log(self, *, after: int = 0) -> Iterator[SearchDecision]:
        """The decisions after that number, as far as they are there."""
        question = request(search_service_pb2.ListDecisionsRequest, experiment=self.name, after=after, page_size=PAGE)
        while True:
            page = self.client.call(self._stub.ListDecisions, question)
            for one in page.decisions:
                yield read(SearchDecision, one)
                question.after = one.number
            if not page.more:
                return

    def wait(self, *, after: int, timeout: float | None = None, pause: float = 0.5) -> SearchState:
        """Waits until the log has grown past that number or the search has ended; TimedOut after `timeout` seconds."""
        until = None if timeout is None else time.monotonic() + timeout
        while True:
            state = self.get(units=False)
            if state.decided > after or state.ended:
                return state
            if until is not None and time.monotonic() >= until:
                raise TimedOut(
                    f"the search of {self.name} has decided nothing after decision {after}; it waits for: "
                    + ("; ".join(state.next) or "nothing"),
                    code="DEADLINE_EXCEEDED",
                )
            time.sleep(pause)

    def propose(
        self,
        cells: Sequence[Mapping[str, Any]],
        *,
        request_id: str,
        after_decision: int | None = None,
        proposer: str = "",
    ) -> list[ProposedUnit]:
        """Proposes settings, each a value of every path of the space; all or none are taken.

        Asking again with the same `request_id` gives the same units. Aborted if the log has grown past
        `after_decision`; ResourceExhausted at as many unfinished proposals as are allowed, or at the end of the
        budget; InvalidArgument at "cells[2].train.lr".
        """
        if not request_id:
            refuse("a proposal needs a request_id: the same one says that it is the same proposal", "request_id")
        question = request(
            search_service_pb2.ProposeRequest,
            experiment=self.name,
            request_id=request_id,
            after_decision=after_decision,
            proposer=proposer,
        )
        for index, cell in enumerate(cells):
            question.cells.add(values_json=json.dumps(plain(dict(cell), f"cells[{index}]"), sort_keys=True))
        answer = self.client.call(self._stub.Propose, question)
        return [read(ProposedUnit, one) for one in answer.units]

    def stop(self, trials: Sequence[int], *, reason: str) -> SearchState:
        """Stops the units of these trials: what runs parks at its next validation, its checkpoint is kept."""
        question = search_service_pb2.StopTrialsRequest(experiment=self.name, trials=_numbers(trials), reason=reason)
        return read(SearchState, self.client.call(self._stub.StopTrials, question))

    def resume(self, trials: Sequence[int], *, reason: str) -> SearchState:
        """Sends units that were stopped or are parked on, to the top."""
        question = search_service_pb2.ContinueTrialsRequest(
            experiment=self.name, trials=_numbers(trials), reason=reason
        )
        return read(SearchState, self.client.call(self._stub.ContinueTrials, question))

    def best_so_far(self) -> BestSoFar:
        """The best value so far against what was spent, for each group."""
        question = search_service_pb2.GetBestSoFarRequest(experiment=self.name)
        return read(BestSoFar, self.client.call(self._stub.GetBestSoFar, question))

    def importance(self) -> Importance:
        """How much of the spread of the values each path of the space explains."""
        question = search_service_pb2.GetImportanceRequest(experiment=self.name)
        return read(Importance, self.client.call(self._stub.GetImportance, question))


def _numbers(trials: Any) -> list[int]:
    many = plain(trials, "trials")
    many = many if isinstance(many, list) else [many]
    if not all(isinstance(one, int) and not isinstance(one, bool) for one in many):
        refuse("trials are numbers, such as [3, 17]", "trials")
    return list(many)
