"""A training of one's own: what a script declares, and its life on a worker of a real server."""

from __future__ import annotations

import json
import os
import subprocess
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
from conftest import Process, Service
from toy import Daemon, curves, script

import locus
from locus import training
from locus.training.canonical import canonical
from locus.training.options import declared_options, filled

SPECIFICATION: dict[str, Any] = {
    "version": 1,
    "name": "toy",
    "dataset": "toy-points",
    "model": {"backbone": "toy-line"},
    "train": {"recipe": "toy-descent", "steps": 60},
    "matrix": {"prior": ["toy-none", "toy-offset"]},
    "replicates": {"seed": [0, 1, 2]},
    "baseline": {"prior": "toy-none"},
    "metric": {"name": "top1", "reports": "validation", "selects_on": "validation"},
}


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (1e-5, "0.00001"), (1e-7, "1e-7"), (3e-3, "0.003"), (1.0, "1"), (1e21, "1e+21"), (-2.5, "-2.5"), (0.0, "0"),
        (0.1 + 0.2, "0.30000000000000004"), (1e20, "100000000000000000000"), (5e-324, "5e-324"),
    ],
)
def test_numbers_are_written_as_digests_are_taken_of_them(value: float, text: str) -> None:
    assert canonical({"b": [value], "a": True}) == f'{{"a":true,"b":[{text}]}}'


def test_options_are_the_fields_of_a_dataclass() -> None:
    @dataclass
    class Kind:
        rate: float = training.option(1, "how fast", above=0, neutral=True)
        names: list[str] = training.option(["a"], "which", choices=["a", "b"])

    assert declared_options(Kind) == [
        {"name": "rate", "help": "how fast", "default": 1.0, "type": "number", "exclusive_minimum": 0, "neutral": 1.0},
        {"name": "names", "help": "which", "default": ["a"], "type": "list", "element": "string", "choices": ["a", "b"]},
    ]
    assert filled(Kind, {"names": ["b"]}) == Kind(1.0, ["b"])
    assert isinstance(filled(Kind, {"rate": 2}).rate, float)


def test_an_option_without_help_or_of_another_type_is_refused() -> None:
    @dataclass
    class Bare:
        rate: float = 1

    @dataclass
    class Odd:
        rate: dict[str, int] = training.option(None, "what")

    with pytest.raises(TypeError, match="'rate' has no help"):
        declared_options(Bare)
    with pytest.raises(TypeError, match="int, float, str, bool or lists"):
        declared_options(Odd)


def test_the_digest_is_that_of_the_code_and_of_the_lock_file(tmp_path: Path) -> None:
    (tmp_path / "train.py").write_text("1")
    (tmp_path / "lock").write_text("a==1")
    (tmp_path / "venv").mkdir()
    (tmp_path / "venv" / "pyvenv.cfg").write_text("")
    (tmp_path / "venv" / "other.py").write_text("1")
    engine = training.Engine("one", lock="lock", root=tmp_path)
    assert [one.name for one in engine.code_files()] == ["lock", "train.py"]
    first = engine.code_digest()
    (tmp_path / "lock").write_text("a==2")
    second = engine.code_digest()
    (tmp_path / "part.py").write_text("2")
    assert len({first, second, engine.code_digest()}) == 3
    (tmp_path / "lock").unlink()
    with pytest.raises(SystemExit, match="names the file that pins"):
        engine.code_digest()


def test_names_are_those_of_extensions() -> None:
    with pytest.raises(ValueError, match="is no name"):
        training.Engine("Own Training", lock="lock")


def worker_of(service: Service, trainer: Path, folder: Path, name: str = "own") -> Process:
    return Process(
        "worker", "--server", service.address, "--name", name, "--slots", "2", "--work", str(folder / name),
        "--trainer", str(trainer), "--checkpoint-seconds", "3600", log=folder / "worker.log",
    )


def test_a_script_says_what_it_has(tmp_path: Path) -> None:
    program = script(tmp_path / "own")
    said = json.loads(subprocess.run([program, "catalog"], check=True, capture_output=True, text=True).stdout)
    named = {item["kind"] + "/" + item["id"] for item in said["items"]}
    assert named >= {"backbone/toy-line", "prior/toy-offset", "recipe/toy-descent"}
    assert all(item["origin"]["by"] == "training" for item in said["items"])
    devices = json.loads(subprocess.run([program, "devices"], check=True, capture_output=True, text=True).stdout)
    assert devices["cpu"] and os.path.dirname(program) in devices["libraries"]


def test_it_is_planned_trained_compared_and_resumed_like_any_other(quiet: Service, tmp_path: Path) -> None:
    program = script(tmp_path / "own")
    with locus.connect(quiet.address) as client:
        with pytest.raises(locus.InvalidArgument):
            client.plan(SPECIFICATION)
        worker = worker_of(quiet, program, tmp_path)
        try:
            experiment = client.submit(SPECIFICATION).wait(timeout=120, progress=False)
            assert experiment.state == "completed"
            rows = {row.label: row for row in experiment.leaderboard().rows}
            assert rows["toy-offset"].mean > rows["toy-none"].mean and rows["toy-offset"].n == 3
            assert rows["toy-offset"].pairs == 3 and 0 < rows["toy-offset"].p_t < 1
            assert "says something to its log" in experiment.logs(0, stage="train")
            detail = experiment.trial(0)
            attempt = detail.stages[0].attempts[-1]
            assert attempt.environment["engine"] == "toy-training"

            # Killed in the middle, and gone on with from its checkpoint: the same curve.
            dies = {**SPECIFICATION, "name": "dies", "model": {"backbone": "toy-line", "die_at": 25}}
            other = client.submit(dies).wait(timeout=180, progress=False)
            assert other.state == "completed"
            assert len(other.trial(0).stages[0].attempts) == 2
            for metric, split in (("loss", "train"), ("top1", "validation")):
                whole = experiment.curves(metric, split=split).rows
                again = other.curves(metric, split=split).rows
                assert [(c.step, c.value) for c in whole] == [(c.step, c.value) for c in again]
        finally:
            worker.stop()

        # Other code is another training: nothing of the former counts for it.
        (program.parent / "requirements.txt").write_text("# something else")
        worker = worker_of(quiet, program, tmp_path, "newer")
        try:
            plan = client.plan(SPECIFICATION)
            assert plan.stages_to_run == plan.stages_total and plan.trials_changed == 6
            assert experiment.refresh().leaderboard().rows[0].n == 3, "the table is that of what ran"
        finally:
            worker.stop()


def test_one_that_diverges_fails_as_such_and_is_not_tried_again(quiet: Service, tmp_path: Path) -> None:
    worker = worker_of(quiet, script(tmp_path / "own"), tmp_path)
    diverging = {**SPECIFICATION, "model": {"backbone": "toy-line", "fails": "diverged"}, "replicates": {"seed": [0]}}
    try:
        with locus.connect(quiet.address) as client:
            experiment = client.submit(diverging).wait(timeout=120, progress=False, check=False)
            assert experiment.state != "completed"
            stage = experiment.trial(0).stages[0]
            assert [(one.failure_class, one.reason) for one in stage.attempts] == [("diverged", "the loss is nan")]
    finally:
        worker.stop()


SEARCH: dict[str, Any] = {
    **{key: value for key, value in SPECIFICATION.items() if key not in ("matrix", "baseline")},
    "name": "searched",
    "prior": "toy-offset",
    "train": {"recipe": "toy-epochs", "epochs": 4},
    "replicates": {"seed": [0]},
    "search": {
        "seed": 7,
        "propose": "sobol",
        "proposals": 4,
        "space": {"train.lr": {"log": [1e-3, 1e-1]}},
        "advance": {"rule": "halve", "rungs": [1, 2, 4], "keep": "1/2"},
    },
}


def test_a_search_halves_it_and_what_goes_on_is_what_ran_through(quiet: Service, tmp_path: Path) -> None:
    worker = worker_of(quiet, script(tmp_path / "own"), tmp_path)
    try:
        with locus.connect(quiet.address) as client:
            experiment = client.submit(SEARCH).wait(timeout=180, progress=False)
            units = experiment.search.get().phase.units
            assert sorted(one.state for one in units) == ["finished", "stopped", "stopped", "stopped"]
            for one in (one for one in units if one.state == "stopped"):
                stage = experiment.trial(one.trials[0]).stages[0]
                steps = (4, 8)[one.rung]
                assert stage.state == "parked" and stage.attempts[-1].reason.startswith(f"parked at step {steps}")
                assert stage.checkpoints[-1].step == steps, "it stands at the validation of its rung"
            winner = next(one for one in units if one.state == "finished").trials[0]
            stage = experiment.trial(winner).stages[0]
            assert [one.resume_step for one in stage.attempts] == [0, 4, 8]
            found = {}
            for metric, split in (("loss", "train"), ("top1", "validation")):
                row = next(one for one in experiment.curves(metric, split=split) if one.trial == winner)
                found[metric] = list(zip(row.step, row.value, strict=True))
    finally:
        worker.stop()
    daemon = Daemon(tmp_path / "straight")
    daemon.start(tmp_path / "work", stage=stage.config)
    assert found == curves(daemon.answer())
    daemon.close()
