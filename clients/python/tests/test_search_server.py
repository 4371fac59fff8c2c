"""Searches and phases on the real server, with a worker that trains."""

from __future__ import annotations

from typing import Any

import pytest
from conftest import SMALL

import locus
from locus.search import Search
from locus.search.optuna import OptunaSearch

EXTERNAL = {
    **{key: value for key, value in SMALL.items() if key not in ("matrix", "baseline", "replicates")},
    "prior": "none",
    "replicates": {"seed": [0]},
    "search": {
        "propose": "external",
        "seed": 3,
        "proposals": 4,
        "parallel": 2,
        "space": {"train.lr": {"log": [1e-4, 1e-2]}, "train.weight_decay": {"linear": [0.0, 0.1]}},
    },
}


def _others(search: Search) -> list[dict[str, Any]]:
    """As many cells as the search allows at all, none of which is there."""
    return [{"train.lr": 1e-3 + 1e-4 * index, "train.weight_decay": 0.05} for index in range(4)]


def test_a_search_on_a_server_follows_the_log(client: locus.Client) -> None:
    search = client.submit(EXTERNAL, changes={"name": "outside"}).search
    optimizer = OptunaSearch(search)
    assert len(optimizer.ask(2)) == 2
    with pytest.raises(locus.ResourceExhausted) as full:
        search.propose(_others(search), request_id="c0ffee00-0000-4000-8000-000000000001")
    assert full.value.reason == "SEARCH_EXHAUSTED"
    assert optimizer.run(timeout=240).ended
    state = search.get()
    assert state.ended and len(state.phase.units) == 4
    assert {one.state for one in state.phase.units} == {"finished"}
    log = list(search.log())
    assert [one.number for one in log] == list(range(1, state.decided + 1))
    assert [one.kind for one in log][0] == "begin" and log[-1].kind == "end"
    assert all(one.text for one in log) and log[0].document
    assert [one.number for one in search.log(after=log[2].number)] == [one.number for one in log[3:]]
    best = search.best_so_far()
    assert best.curves[0].value == sorted(best.curves[0].value)
    importance = search.importance()
    assert importance.units == 4 and not importance.factors and importance.note, "four are too few to tell"


def test_a_server_takes_the_same_request_once(client: locus.Client) -> None:
    search = client.submit(EXTERNAL, changes={"name": "repeated"}).search
    cell = {"train.lr": 1e-3, "train.weight_decay": 0.05}
    search.wait(after=0, timeout=60)
    first = search.propose([cell], request_id="c0ffee00-0000-4000-8000-000000000002")
    again = search.propose([cell], request_id="c0ffee00-0000-4000-8000-000000000002")
    assert [one.trials for one in again] == [one.trials for one in first]
    assert len(search.get().phase.units) == 1
    with pytest.raises(locus.InvalidArgument) as outside:
        search.propose([{**cell, "train.lr": 1.0}], request_id="c0ffee00-0000-4000-8000-000000000003")
    assert outside.value.field == "cells[0].train.lr"
    with pytest.raises(locus.Aborted):
        search.propose(
            [{**cell, "train.lr": 2e-3}], request_id="c0ffee00-0000-4000-8000-000000000004", after_decision=1
        )
    with pytest.raises(locus.InvalidArgument, match="needs a request_id"):
        search.propose([cell], request_id="")
    search.experiment.cancel()


PHASES = {
    **{key: value for key, value in SMALL.items() if key != "replicates"},
    "phases": [
        {
            "name": "select",
            "matrix": {"train.lr": [1e-3, 3e-3, 1e-2]},
            "replicates": {"seed": [0, 1]},
            "choose": {"factors": ["train.lr"]},
        },
        {"name": "final", "use": {"train.lr": "select"}, "replicates": {"seed": [2, 3]}},
    ],
}


def test_a_second_phase_trains_what_the_first_has_chosen(client: locus.Client) -> None:
    plan = client.plan(PHASES, changes={"name": "phased"})
    assert [one.name for one in plan.phases] == ["select", "final"]
    assert plan.phases[1].deferred and plan.trials_deferred == 4
    experiment = client.submit(PHASES, changes={"name": "phased"})
    experiment.wait(timeout=240)
    state = experiment.search.get()
    assert state.ended and [one.state for one in state.phases] == ["ended", "ended"]
    choices = {one.group: one for one in state.phases[0].choices}
    assert len(choices) == 2 and all(one.values["train.lr"] in (1e-3, 3e-3, 1e-2) for one in choices.values())
    assert all(one.seeds == 2 for one in choices.values())
    board = experiment.leaderboard()
    assert (board.phase, board.phases) == ("final", ["select", "final"])
    assert {row.label: sorted(row.values) for row in board} == {"none": [2, 3], "learned-absolute": [2, 3]}

    started = client.server().attempts_started
    client.submit(PHASES, changes={"name": "phased"}).wait(timeout=60)
    assert client.server().attempts_started == started, "nothing is trained twice"
    written = {
        **{key: value for key, value in SMALL.items() if key != "replicates"},
        "name": "written",
        "replicates": {"seed": [2, 3]},
        "overrides": [
            {
                "where": {"prior": prior},
                "set": {
                    "train.lr": next(
                        one.values["train.lr"] for one in choices.values() if prior in str(one.group_values)
                    )
                },
            }
            for prior in ("none", "learned-absolute")
        ],
    }
    assert client.plan(written).stages_to_run == 0, "the chosen values name the same stages as written ones"


def test_a_verdict_needs_a_reason(client: locus.Client) -> None:
    specification = {
        **{key: value for key, value in SMALL.items() if key not in ("baseline", "replicates")},
        "replicates": {"seed": [0]},
        "train": {**SMALL["train"], "epochs": 4, "validate_every": 1},
        "search": {"advance": {"rule": "halve", "rungs": [1, 4], "keep": "1/2"}},
    }
    search = client.submit(specification, changes={"name": "overruled"}).search
    search.experiment.wait(timeout=240)
    parked = next(one for one in search.get().phase.units if one.state != "finished")
    with pytest.raises(locus.InvalidArgument):
        search.stop(parked.trials, reason="")
    assert [one.kind for one in search.log()][-1] == "end"


def test_an_experiment_without_a_search_says_so(quiet: Any) -> None:
    with locus.connect(quiet.address) as client:
        plain = client.submit(SMALL, changes={"name": "plain"})
        with pytest.raises(locus.NotFound) as missing:
            plain.search.get()
        assert missing.value.reason == "SEARCH_NOT_FOUND"
