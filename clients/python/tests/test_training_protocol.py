"""A training of one's own between a worker's wishes and its own ends, frame by frame (docs/formats/trainer.md)."""

from __future__ import annotations

from pathlib import Path
from typing import Any, Iterator

import pytest
from toy import Daemon, curves, of

Frames = list[dict[str, Any]]


@pytest.fixture(scope="module")
def daemon(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Daemon]:
    """One process of the toy, which serves every attempt of this module."""
    one = Daemon(tmp_path_factory.mktemp("toy"))
    yield one
    one.close()


@pytest.fixture(scope="module")
def whole(daemon: Daemon, tmp_path_factory: pytest.TempPathFactory) -> Frames:
    """What is said of a training that nobody disturbs."""
    daemon.start(tmp_path_factory.mktemp("whole"))
    return daemon.answer()


def test_one_that_nobody_disturbs_says_points_results_and_its_model(whole: Frames) -> None:
    started, done = whole[0], whole[-1]
    assert started["type"] == "started" and started["steps"] == 60 and started["resumed_step"] == 0
    assert started["environment"]["engine"] == "toy-training" and started["environment"]["build"] == "toy"
    assert done["outcome"] == "succeeded" and done["step"] == 60 and done["environment"] == started["environment"]
    assert [one["metric"] for one in done["results"]] == ["top1"] and done["results"][0]["step"] == 60
    assert [one["slot"] for one in done["outputs"]] == ["checkpoint"] and Path(done["outputs"][0]["path"]).exists()
    assert [step for step, _ in curves(whole)["loss"]] == list(range(1, 61))
    assert [step for step, _ in curves(whole)["top1"]] == list(range(10, 61, 10))
    assert not of("checkpoint", whole), "it was not yet time for one"


def rest(daemon: Daemon, work: Path, frames: Frames, until: int = 0) -> Frames:
    """A later attempt goes on from the newest checkpoint of these frames."""
    daemon.start(work, "1/2", resume=Path(of("checkpoint", frames)[-1]["path"]), until=until)
    return daemon.answer()


def same(first: Frames, second: Frames, whole: Frames) -> None:
    """Both together are the one that nobody disturbed."""
    both = {metric: curves(first).get(metric, []) + points for metric, points in curves(second).items()}
    assert both == curves(whole) and second[-1]["results"] == whole[-1]["results"]


@pytest.mark.parametrize("returns", [False, True])
def test_one_that_is_to_stop_sends_a_checkpoint_and_goes_on_elsewhere(
    returns: bool, daemon: Daemon, tmp_path: Path, whole: Frames
) -> None:
    daemon.start(tmp_path / "first", returns=returns)
    daemon.say("wish", wish="checkpoint-and-stop")
    stopped = daemon.answer()
    (checkpoint,) = of("checkpoint", stopped)
    assert checkpoint["step"] == 1 and checkpoint["bytes"] == Path(checkpoint["path"]).stat().st_size
    assert stopped.index(checkpoint) > stopped.index(of("points", stopped)[-1]), "points come before their checkpoint"
    done = stopped[-1]
    assert (done["outcome"], done["step"], done["results"], done["outputs"]) == ("stopped", 1, [], [])
    again = rest(daemon, tmp_path / "second", stopped)
    assert again[0]["resumed_step"] == 1
    same(stopped, again, whole)


def test_one_that_nobody_wants_ends_without_a_checkpoint(daemon: Daemon, tmp_path: Path) -> None:
    daemon.start(tmp_path)
    daemon.say("wish", wish="cancel")
    frames = daemon.answer()
    assert frames[-1]["outcome"] == "cancelled" and frames[-1]["results"] == [] and not of("checkpoint", frames)


def test_wishes_and_stop_points_of_another_attempt_are_not_its_own(daemon: Daemon, tmp_path: Path) -> None:
    daemon.start(tmp_path)
    daemon.say("wish", "9/9", wish="cancel")
    daemon.say("until", "9/9", step=10)
    daemon.say("something-new")
    assert daemon.answer()[-1]["outcome"] == "succeeded"


@pytest.mark.parametrize(("until", "parks_at"), [(1, 10), (10, 10), (15, 20), (-1, 10)])
def test_it_parks_at_the_first_validation_at_its_stop_point_and_goes_on_from_there(
    until: int, parks_at: int, daemon: Daemon, tmp_path: Path, whole: Frames
) -> None:
    daemon.start(tmp_path / "first", until=until)
    parked = daemon.answer()
    assert parked[-1]["outcome"] == "parked" and parked[-1]["step"] == parks_at and parked[-1]["results"] == []
    assert [one["step"] for one in of("checkpoint", parked)] == [parks_at]
    assert curves(parked)["top1"][-1][0] == parks_at, "its value there is known"
    same(parked, rest(daemon, tmp_path / "second", parked), whole)


@pytest.mark.parametrize("until", [60, 100])
def test_at_its_last_step_it_succeeds_whatever_the_stop_point(until: int, daemon: Daemon, tmp_path: Path) -> None:
    daemon.start(tmp_path, until=until)
    assert daemon.answer()[-1]["outcome"] == "succeeded"


@pytest.mark.parametrize(
    ("before", "after", "outcome", "step"),
    [(10, 0, "succeeded", 60), (10, 40, "parked", 40), (0, 30, "parked", 30), (30, -1, "parked", 10)],
)
def test_a_stop_point_that_moves_counts_from_then_on(
    before: int, after: int, outcome: str, step: int, daemon: Daemon, tmp_path: Path
) -> None:
    daemon.start(tmp_path, until=before)
    daemon.say("until", step=after)
    done = daemon.answer()[-1]
    assert (done["outcome"], done["step"]) == (outcome, step)


def test_resumed_where_it_would_have_parked_it_sends_that_checkpoint_again(daemon: Daemon, tmp_path: Path) -> None:
    daemon.start(tmp_path / "first", until=20)
    parked = daemon.answer()
    again = rest(daemon, tmp_path / "second", parked, until=20)
    assert [one["type"] for one in again] == ["started", "checkpoint", "done"]
    assert again[-1]["outcome"] == "parked" and again[1]["step"] == again[-1]["step"] == 20
    first, second = (Path(of("checkpoint", each)[-1]["path"]) for each in (parked, again))
    assert first != second and first.read_bytes() == second.read_bytes()
    further = rest(daemon, tmp_path / "third", again, until=30)
    assert further[-1]["outcome"] == "parked" and further[-1]["step"] == 30


@pytest.mark.parametrize(
    ("fails", "failure_class", "reason"),
    [
        ("diverged", "diverged", "the loss is nan"),
        ("data", "data", "labels.gz is damaged"),
        ("memory", "out-of-memory", "Python could not allocate memory"),
        ("device-memory", "out-of-memory", "OutOfMemoryError: tried to allocate 80 GiB"),
        ("code", "code", "ZeroDivisionError: division by zero"),
    ],
)
def test_a_failure_has_its_class_and_the_process_serves_on(
    fails: str, failure_class: str, reason: str, daemon: Daemon, tmp_path: Path, whole: Frames
) -> None:
    daemon.start(tmp_path / "first", fails=fails)
    failed = daemon.answer()
    assert (failed[-1]["type"], failed[-1]["class"], failed[-1]["reason"]) == ("failed", failure_class, reason)
    assert [step for step, _ in curves(failed)["loss"]] == [1, 2, 3, 4, 5], "what it measured is kept"
    daemon.start(tmp_path / "second", "2/1")
    after = daemon.answer()
    assert after[-1]["outcome"] == "succeeded" and curves(after) == curves(whole)
    assert {frame["attempt"] for frame in after} == {"2/1"}


def test_a_kind_of_stage_that_it_does_not_run_is_a_failure_of_the_code(daemon: Daemon, tmp_path: Path) -> None:
    daemon.start(tmp_path, stage={"kind": "measure", "seed": 1})
    (failed,) = daemon.answer()
    assert failed["class"] == "code" and "runs no stage of the kind measure: it has train" in failed["reason"]


def test_it_refuses_to_be_one_of_several(daemon: Daemon, tmp_path: Path) -> None:
    daemon.start(tmp_path, gang={"rank": 0, "world": 2})
    (failed,) = daemon.answer()
    assert failed["class"] == "code" and "trains on one device, and is given 2" in failed["reason"]
