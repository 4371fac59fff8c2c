"""Optimizers from outside: built from the log alone, so that nothing depends on the life of a client."""

from __future__ import annotations

import math
from typing import Any, Callable, Mapping, Sequence

import pytest

import locus
from locus.search import ProposedUnit, SearchPhase, SearchScore, SearchState, SearchUnit
from locus.search.external import ExternalSearch, SpaceDimension, history, space_of
from locus.search.nevergrad import NevergradSearch
from locus.search.optuna import OptunaSearch

SPACE = {
    "train.lr": {"log": [1e-4, 1e-1]},
    "train.weight_decay": {"linear": [0.0, 0.1], "digits": 2},
    "train.batch": {"choice": [16, 32, 64]},
    "train.warmup_epochs": {"int": [0, 3]},
}


class Killed(Exception):
    """The client is gone at this point."""


class FakeSearch:
    """A log in memory that takes proposals as the server does, and knows what each would score."""

    def __init__(self, *, parallel: int = 2, proposals: int = 12, seed: int = 7, direction: str = "max") -> None:
        self.specification = {"search": {"propose": "external", "seed": seed, "space": SPACE, "proposals": proposals}}
        self.identity = "fake@1.000000000"
        self.name = "fake"
        self.units: list[SearchUnit] = []
        self.requests: dict[str, list[ProposedUnit]] = {}
        self.proposers: list[str] = []
        self.decided = 1
        self.parallel, self.proposals, self.direction = parallel, proposals, direction
        self.lose_answers = 0  # how many of the next answers never arrive

    def get(self, *, units: bool = True) -> SearchState:
        ended = len(self.units) == self.proposals and all(one.state != "running" for one in self.units)
        line = locus.search.SearchBudgetLine("parallel", 0.0, float(self.parallel))
        phase = SearchPhase(
            name="",
            state="ended" if ended else "running",
            propose="external",
            advance="none",
            resource="epochs",
            unit="cell",
            shared=True,
            metric="top1",
            split="validation",
            direction=self.direction,
            groups=["{}"],
            proposals=self.proposals,
            proposed=len(self.units),
            brackets=[],
            budget=[line],
            choices=[],
            units=list(self.units) if units else [],
            reason="",
            space=[],
        )
        return SearchState("fake", 1, self.decided, phase.state, "", [phase], [])

    def propose(
        self,
        cells: Sequence[Mapping[str, Any]],
        *,
        request_id: str,
        after_decision: int | None = None,
        proposer: str = "",
    ) -> list[ProposedUnit]:
        if request_id not in self.requests:
            if after_decision is not None and after_decision != self.decided:
                raise locus.Aborted("the log has grown", code="ABORTED", reason="WRONG_STATE")
            running = sum(one.state == "running" for one in self.units)
            if running + len(cells) > self.parallel or len(self.units) + len(cells) > self.proposals:
                raise locus.ResourceExhausted("no more", code="RESOURCE_EXHAUSTED", reason="SEARCH_EXHAUSTED")
            self.requests[request_id] = [self._take(dict(cell)) for cell in cells]
            self.proposers.append(proposer)
            self.decided += 1
        if self.lose_answers > 0:
            self.lose_answers -= 1
            raise Killed
        return self.requests[request_id]

    def _take(self, values: dict[str, Any]) -> ProposedUnit:
        number = len(self.units)
        self.units.append(SearchUnit(0, number, number, "", values, [number], "running", 0, 0, [], "", []))
        return ProposedUnit(number, [number], False)

    def wait(self, *, after: int, timeout: float | None = None, pause: float = 0.5) -> SearchState:
        """Time passes: the unit that was proposed first is done."""
        if self.decided == after:
            self.finish(next(one.proposal for one in self.units if one.state == "running"))
        return self.get(units=False)

    def finish(self, number: int, state: str = "finished") -> None:
        one = self.units[number]
        far = abs(math.log10(one.values["train.lr"]) + 3) + one.values["train.weight_decay"]
        scores = [SearchScore(3, 90 - 10 * far if self.direction == "max" else far)] if state != "failed" else []
        self.units[number] = SearchUnit(
            one.group, number, one.cell, "", one.values, one.trials, state, 0, 0, scores, "", []
        )
        self.decided += 1

    @property
    def proposed(self) -> list[dict[str, Any]]:
        return [one.values for one in self.units]


OPTIMIZERS: list[Callable[[FakeSearch], ExternalSearch]] = [OptunaSearch, NevergradSearch]


@pytest.mark.parametrize("make", OPTIMIZERS)
def test_two_independent_runs_propose_the_same(make: Callable[[FakeSearch], ExternalSearch]) -> None:
    first, second, other = FakeSearch(), FakeSearch(), FakeSearch(seed=8)
    assert make(first).run().ended
    while not second.get().ended:  # every proposal by a client of its own
        try:
            make(second).ask()
        except locus.ResourceExhausted:
            second.wait(after=second.decided)
    make(other).run()
    assert len(first.proposed) == 12
    assert second.proposed == first.proposed
    assert other.proposed != first.proposed


@pytest.mark.parametrize("make", OPTIMIZERS)
def test_values_lie_in_the_space_and_are_rounded_as_the_servers_own(
    make: Callable[[FakeSearch], ExternalSearch],
) -> None:
    search = FakeSearch()
    make(search).run()
    for one in search.proposed:
        assert set(one) == set(SPACE)
        assert 1e-4 <= one["train.lr"] <= 1e-1 and one["train.lr"] == float(f"{one['train.lr']:.3e}")
        assert 0 <= one["train.weight_decay"] <= 0.1 and one["train.weight_decay"] == float(
            f"{one['train.weight_decay']:.1e}"
        )
        assert one["train.batch"] in (16, 32, 64)
        assert one["train.warmup_epochs"] in (0, 1, 2, 3) and isinstance(one["train.warmup_epochs"], int)
    assert len({str(one) for one in search.proposed}) > 6


@pytest.mark.parametrize("make", OPTIMIZERS)
def test_a_client_killed_between_proposal_and_answer_makes_no_duplicate(
    make: Callable[[FakeSearch], ExternalSearch],
) -> None:
    undisturbed, disturbed = FakeSearch(parallel=1), FakeSearch(parallel=1)
    make(undisturbed).run()
    kills = 0
    while not disturbed.get().ended:
        disturbed.lose_answers = 1
        try:
            make(disturbed).run()  # a new client every time
        except Killed:
            kills += 1
    assert kills == 12, "every answer was lost once"
    assert disturbed.proposed == undisturbed.proposed


@pytest.mark.parametrize("make", OPTIMIZERS)
def test_the_same_log_gives_the_same_request(make: Callable[[FakeSearch], ExternalSearch]) -> None:
    search = FakeSearch()
    seen: list[tuple[str, Any]] = []
    take = search.propose

    def refuse(cells: Sequence[Mapping[str, Any]], **terms: Any) -> list[ProposedUnit]:
        seen.append((terms["request_id"], [dict(one) for one in cells]))
        raise Killed

    search.propose = refuse  # type: ignore[method-assign]
    for _ in range(2):
        with pytest.raises(Killed):
            make(search).ask()
    assert seen[0] == seen[1]
    search.propose = take  # type: ignore[method-assign]
    make(search).ask()
    search.propose = refuse  # type: ignore[method-assign]
    with pytest.raises(Killed):
        make(search).ask()
    assert seen[2][0] != seen[0][0]


@pytest.mark.parametrize("make", OPTIMIZERS)
def test_a_request_of_several_cells_is_several_requests_of_one(make: Callable[[FakeSearch], ExternalSearch]) -> None:
    together, apart = FakeSearch(parallel=4), FakeSearch(parallel=4)
    assert [one.cell for one in make(together).ask(3)] == [0, 1, 2]
    for _ in range(3):
        make(apart).ask()
    assert together.proposed == apart.proposed
    with pytest.raises(locus.ResourceExhausted):
        make(together).ask(2)
    assert len(together.proposed) == 3, "all or none are taken"


def test_a_log_that_grew_meanwhile_is_read_again() -> None:
    search = FakeSearch()
    optimizer = OptunaSearch(search)
    optimizer.ask()
    read = search.get

    def read_and_then_grow(**terms: Any) -> SearchState:
        state = read(**terms)
        if search.units[0].state == "running":
            search.finish(0)
        return state

    search.get = read_and_then_grow  # type: ignore[method-assign]
    optimizer.ask()
    assert len(search.proposed) == 2 and search.units[0].state == "finished"
    assert search.proposers[0].startswith("optuna 5.0.0 TPESampler")


@pytest.mark.parametrize("make", OPTIMIZERS)
@pytest.mark.parametrize("direction", ["max", "min"])
def test_optimizers_learn_from_what_the_log_says(make: Callable[[FakeSearch], ExternalSearch], direction: str) -> None:
    search = FakeSearch(parallel=1, proposals=40, direction=direction)
    make(search).run()
    far = [abs(math.log10(one["train.lr"]) + 3) + one["train.weight_decay"] for one in search.proposed]
    assert sorted(far[20:])[10] < sorted(far[:10])[5], "later ones lie nearer to the best than the first"


def test_a_history_says_what_became_of_every_proposal() -> None:
    search = FakeSearch(parallel=9)
    OptunaSearch(search).ask(5)
    for number, state in enumerate(["finished", "stopped", "parked", "failed"]):
        search.finish(number, state)
    told = history(search.get().phase)
    assert [one.state for one in told] == ["complete", "pruned", "pruned", "failed", "running"]
    assert told[0].value == told[0].scores[3] and told[4].value is None
    OptunaSearch(search).ask()
    NevergradSearch(search).ask()
    assert len(search.proposed) == 7


def test_groups_that_share_a_proposal_are_judged_by_their_mean() -> None:
    def unit(group: int, state: str, *values: float | None) -> SearchUnit:
        scores = [SearchScore(rung, value) for rung, value in zip((1, 3), values)]
        return SearchUnit(group, 0, group, "", {"train.lr": 0.1}, [group], state, 0, 0, scores, "", [])

    def judged(*units: SearchUnit) -> Any:
        phase = FakeSearch().get().phases[0]
        phase.units.extend(units)
        return history(phase)[0]

    assert judged(unit(0, "finished", 50, 60), unit(1, "finished", 70, 90)).value == 75
    half = judged(unit(0, "finished", 50, 60), unit(1, "stopped", 70))
    assert (half.state, half.scores) == ("pruned", {1: 60})
    assert judged(unit(0, "finished", 50, 60), unit(1, "running", 70)).state == "running"
    assert judged(unit(0, "finished", 50, 60), unit(1, "failed", None)).state == "failed"
    assert judged(unit(0, "finished", math.nan)).state == "failed"


def test_the_space_is_that_of_the_phase() -> None:
    outer = {"search": {"space": {"train.lr": {"log": [1e-4, 1e-2]}}}}
    inner = {"name": "second", "search": {"space": {"model.depth": {"int": [1, 3]}}}}
    both = {**outer, "phases": [{"name": "first"}, inner]}
    assert space_of(outer, "") == [SpaceDimension("train.lr", "log", 1e-4, 1e-2)]
    assert space_of(both, "first")[0].path == "train.lr"
    assert space_of(both, "second")[0].path == "model.depth"
    with pytest.raises(locus.InvalidArgument, match="proposes by itself"):
        search = FakeSearch()
        search.specification = {"search": {"propose": "sobol"}}
        OptunaSearch(search).ask()


def test_an_optimizer_that_is_not_there_is_named() -> None:
    with pytest.raises(locus.InvalidArgument, match="no optimizer 'nothing'"):
        NevergradSearch(FakeSearch(), "nothing")
