"""What the server says, as dataclasses: trials, plans, comparisons, logs, artifacts, exports, pictures."""

from __future__ import annotations

import hashlib
import json
import math
from pathlib import Path
from typing import Callable

import numpy as np
import pandas as pd
import pytest
from conftest import ROOT, SMALL, Service, run_locus

import locus


@pytest.fixture(scope="module")
def done(service: Service) -> locus.Experiment:
    """An experiment of four trials that has completed."""
    return locus.connect(service.address).submit(SMALL, changes={"name": "objects"}).wait(timeout=240)


def test_trials_are_dataclasses_with_times_and_parsed_configurations(done: locus.Experiment) -> None:
    trials = done.trials()
    assert [(one.name, one.state) for one in trials] == [(f"objects/{i}", "succeeded") for i in range(4)]
    assert [stage.kind for stage in trials[0].stages] == ["train"]
    frame = trials.to_pandas()
    assert list(frame["seed"]) == [0, 1, 0, 1] and "cell_label" in frame.columns

    trial = done.trial(np.int64(0))
    assert (trial.name, trial.state, trial.assignment) == ("objects/0", "succeeded", {"prior": [{"none": {}}]})
    train = trial.stages[0]
    assert train.config["recipe"]["options"]["epochs"] == 1
    attempt = train.attempts[-1]
    assert attempt.start_time is not None and attempt.end_time is not None and attempt.start_time <= attempt.end_time
    assert attempt.device == "cpu" and attempt.environment["device"] == "cpu"
    board = {row.label: row for row in done.leaderboard()}
    assert trial.result("top1", "validation") == board["none"].values[0]
    assert math.isnan(trial.result("nothing"))


def test_a_plan_is_counted_by_cell_and_kind(done: locus.Experiment) -> None:
    plan = done.client.plan(SMALL, changes={"name": "objects", "replicates.seed": range(3)})
    assert (plan.trials, plan.trials_added, plan.exists) == (6, 2, True)
    first = plan.cell_list[0]
    assert (first.label, first.trials, first.assignment) == ("none", 3, {"prior": [{"none": {}}]})
    assert {one.kind: one.to_run for one in plan.kinds} == {"train": 2}
    assert "objects: 6 trials of 2 cells" in str(plan)


def test_a_plan_says_what_it_costs_and_from_what_that_is_known(done: locus.Experiment) -> None:
    plan = done.client.plan(SMALL, changes={"name": "objects", "replicates.seed": range(3)})
    assert plan.parameters is not None and plan.parameters.least > 1000
    cells = {one.label: one for one in plan.cell_list}
    assert {one.parameters for one in plan.cell_list} <= set(range(plan.parameters.least, plan.parameters.most + 1))
    assert cells["none"].prior_parameters == 0 and cells["none"].uncounted_priors == []
    assert plan.memory_bytes is not None and plan.memory_bytes.most > 16 * plan.parameters.most
    assert plan.compute_seconds is not None and plan.compute_seconds > 0
    assert [(one.kind, one.basis, one.runs, one.stages) for one in plan.history] == [("train", "same-setting", 2, 2)]
    assert "train: 2 stages by up to 2 runs of the same setting on cpu" in str(plan)
    large = done.client.plan(SMALL, changes={"name": "large", "model.depth": 7})
    assert (large.compute_seconds, large.wall_seconds, large.history) == (None, None, [])
    assert large.stages_without_history == large.stages_to_run


def test_cells_are_compared_side_by_side(done: locus.Experiment) -> None:
    both = done.client.compare(["objects/cells/0", "objects/cells/1"])
    assert [item.label for item in both.items] == ["none", "learned-absolute"]
    pair = both.paired[0]
    board = {row.label: row for row in done.leaderboard()}
    assert pair.n == 2 and pair.mean == pytest.approx(board["learned-absolute"].difference)
    assert list(both.settings().columns) == ["objects/cells/0", "objects/cells/1"] and len(both.settings()) > 0
    means = both.to_pandas().query("metric == 'top1' and split == 'validation'")
    assert set(means["label"]) == {"none", "learned-absolute"}
    assert "objects/cells/1 - objects/cells/0: top1" in str(both)


def test_logs_are_what_the_trainer_printed(done: locus.Experiment) -> None:
    text = done.logs(0, stage="train")
    assert text and text == "".join(done.follow_logs(0, stage="train"))
    assert text.strip() in run_locus("logs", "objects/0", "--stage", "train", "--server", done.client.address)
    with pytest.raises(locus.NotFound, match="has no stage"):
        done.logs(0, stage="nothing")


def test_artifacts_are_listed_and_fetched_whole(done: locus.Experiment, tmp_path: Path) -> None:
    every = done.artifacts()
    mine = [one for one in done.artifacts(0) if one.present]
    assert mine and {one.trial for one in every} == {f"objects/{i}" for i in range(4)}
    path = done.client.download(mine[0].sha256, tmp_path / "model.safetensors")
    assert path.stat().st_size == mine[0].bytes
    assert hashlib.sha256(path.read_bytes()).hexdigest() == mine[0].sha256
    with pytest.raises(locus.NotFound):
        done.client.download("0" * 64, tmp_path / "none")
    with pytest.raises(locus.InvalidArgument, match="cannot write"):
        done.client.download(mine[0].sha256, tmp_path / "no" / "folder")
    assert [one.name for one in tmp_path.iterdir()] == ["model.safetensors"]


def test_an_export_is_that_of_the_command_line(done: locus.Experiment, tmp_path: Path) -> None:
    path = done.export(tmp_path / "objects.jsonl")
    said = run_locus("export", "objects", "--server", done.client.address)
    assert path.read_text() == said
    assert list(done.records()) == [json.loads(line) for line in said.splitlines()]
    assert "points" not in {one["type"] for one in done.records(points=False)}


def test_tables_and_curves_can_be_drawn(done: locus.Experiment) -> None:
    matplotlib = pytest.importorskip("matplotlib")
    matplotlib.use("agg")
    axes = done.leaderboard().plot()
    assert {text.get_text() for text in axes.get_yticklabels()} == {"none", "learned-absolute"}
    axes = done.curves("loss", split="train").plot(x="epoch")
    assert [line.get_label() for line in axes.get_lines()] == ["none", "learned-absolute"]
    assert axes.get_lines()[0].get_xdata()[-1] == 1.0 and axes.get_ylabel() == "train loss"
    assert done.curves("loss", split="train").plot(ax=axes) is axes
    with pytest.raises(locus.InvalidArgument, match="no curve runs over 'time'"):
        done.curves("loss", split="train").plot(x="time")


def test_asks_for_matplotlib_only_where_it_is_used(done: locus.Experiment, monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("matplotlib", "matplotlib.pyplot"):
        monkeypatch.setitem(__import__("sys").modules, name, None)
    with pytest.raises(locus.MissingPackage, match="plot\\(\\) needs matplotlib.*pip install matplotlib"):
        done.leaderboard().plot()


def test_pivot_tables_have_typed_cells_and_arguments(done: locus.Experiment) -> None:
    both = {"prior": ["none", "learned-absolute"]}
    table = done.pivot_table(rows="prior", metrics=("top1",), where=both, level=np.float64(0.9))
    cell = table.cell(0, 0)
    assert (cell.n, cell.seeds_needed, len(cell.values)) == (2, None, 2)
    assert table.message.level == 0.9
    with pytest.raises(locus.InvalidArgument, match="no cell at row 9"):
        table.cell(9, 0)
    with pytest.raises(locus.InvalidArgument, match="no argument 'colums'; did you mean 'columns'"):
        done.pivot_table(colums=["prior"])  # type: ignore[arg-type]
    with pytest.raises(locus.InvalidArgument, match="digits cannot be 'two'"):
        done.pivot_table(digits="two")  # type: ignore[arg-type]
    with pytest.raises(locus.InvalidArgument, match="where maps an axis"):
        done.pivot_table(where=["prior"])  # type: ignore[arg-type]


def test_tables_say_over_what_they_are_and_what_they_compare_with(done: locus.Experiment) -> None:
    board = done.leaderboard()
    assert (board.experiment, board.split, board.direction, board.reduce) == ("objects", "validation", "max", "last")
    assert board.baseline == "none" and board.correction.startswith("holm over 1 comparison") and board.seeds == 2
    assert {row.label: row.baseline_label for row in board} == {"none": "", "learned-absolute": "none"}
    other = next(row for row in board if not row.baseline)
    assert other.baseline_cell == 0 and other.mean - other.difference == pytest.approx(other.baseline_mean)
    assert other.trials == {0: "objects/2", 1: "objects/3"}
    assert {"baseline_label", "baseline_mean", "times_vary"} <= set(board.to_pandas().columns)

    table = done.pivot_table(rows=["prior"], metrics=["top1", "loss:validation"], test="paired-t")
    frame = table.to_pandas()
    assert {(row["prior"], row["split"], row["baseline"], row["test"]) for _, row in frame.iterrows()} == {
        ("none", "validation", True, ""),
        ("learned-absolute", "validation", False, "paired-t"),
    }
    assert [one.baseline for one in table.rows] == [True, False] and table.baseline == "none"
    assert [(one.metric, one.direction) for one in table.columns] == [("top1", "max"), ("loss", "min")]


def test_pictures_are_of_priors_and_of_what_training_made_of_them(done: locus.Experiment, tmp_path: Path) -> None:
    drawn = done.client.picture("alibi-2d", grid=(3, np.int64(4)), heads=2)
    assert drawn.document["prior"] == "alibi-2d" and drawn.document["grid"] == [3, 4] and drawn.step is None
    assert json.loads(drawn.save(tmp_path / "alibi.json").read_bytes()) == drawn.document
    with pytest.raises(locus.InvalidArgument) as unknown:
        done.client.picture("violin", options={"curvse": ["snake"]})
    assert unknown.value.reason == "UNKNOWN_KEY"

    trained = done.picture(2)
    weights = next(one for one in done.artifacts(2) if one.slot == "checkpoint")
    assert (trained.step, trained.sha256) == (weights.step, weights.sha256)
    assert trained.document["kind"] == "trained-prior" and trained.document["states"] == ["initial", "trained"]
    assert [one["prior"] for one in trained.document["priors"]] == ["learned-absolute"]
    seen = done.picture(2, attention=True, images=[3, np.int64(5)], layers=0, checkpoint=trained.step)
    assert [one["image"] for one in seen.document["images"]] == [3, 5]
    assert trained.document["model"]["stages"] == [trained.document["model"]["layers"]], "a network of one stage"
    with pytest.raises(locus.LocusError, match="no stage 1"):
        done.picture(2, stage=1)
    with pytest.raises(locus.NotFound, match="has kept no checkpoint of step 3"):
        done.picture(2, checkpoint=3)
    before = done.picture(2, checkpoint="initial")
    assert (before.step, before.sha256, before.document["states"]) == (0, "", ["initial"])
    with pytest.raises(locus.InvalidArgument) as nonsense:
        done.picture(2, checkpoint="first")
    assert nonsense.value.field == "checkpoint"


def test_snapshots_of_a_training_are_kept_and_can_be_looked_at(done: locus.Experiment) -> None:
    changes = {"name": "snapshots", "train.snapshots": 2, "matrix.prior": ["learned-absolute"], "replicates.seed": [0]}
    experiment = done.client.submit(SMALL, changes={**changes, "baseline": None}).wait(timeout=240)
    kept = {one.slot: (one.step, one.sha256) for one in experiment.artifacts(0) if one.slot}
    assert {slot: step for slot, (step, _) in kept.items()} == {"checkpoint": 4, "snapshot-1": 1, "snapshot-2": 2}
    shown = {at: experiment.picture(0, checkpoint=at) for at in ("initial", 1, 2, "last")}
    assert [one.step for one in shown.values()] == [0, 1, 2, 4]
    assert (shown[2].step, shown[2].sha256) == kept["snapshot-2"]
    for at, one in shown.items():
        said = run_locus("picture", "snapshots/0", "--checkpoint", str(at), "--server", done.client.address)
        assert json.loads(said) == one.document, "the command line draws what the server draws"
    became = [one.document["layers"][0]["views"][0].get("trained") for one in shown.values()]
    assert became[0] is None and became[1] != became[2] != became[3]
    assert experiment.trial(0).result("top1", "validation") == done.trial(2).result("top1", "validation")


def test_tags_and_notes_are_in_trials_and_in_the_export(done: locus.Experiment) -> None:
    done.annotate(add=["paper"], note="the first")
    done.annotate(add=["outlier"], trial=1)
    trial = done.trial(1).trial
    assert (trial.tags, trial.note) == (["outlier"], "") and done.trials()[1].tags == ["outlier"]
    said = {(one["type"], one.get("trial")): one for one in done.records(points=False)}
    assert (said["experiment", None]["tags"], said["experiment", None]["note"]) == (["paper"], "the first")
    assert said["trial", 1]["tags"] == ["outlier"] and "note" not in said["trial", 1] and "tags" not in said["trial", 0]


@pytest.mark.parametrize(
    "seeds",
    [np.arange(2), (0, 1), range(2), [np.int64(0), np.int32(1)], pd.Series([0, 1])],
    ids=lambda one: type(one).__name__,
)
def test_numbers_of_numpy_tuples_and_ranges_are_numbers(done: locus.Experiment, seeds: object) -> None:
    plan = done.client.plan(SMALL, changes={"name": "objects", "replicates.seed": seeds, "train.lr": np.float32(0.5)})
    assert plan.trials == 4
    same = done.client.plan({**SMALL, "name": "objects", "replicates": {"seed": seeds}})
    assert same.stages_to_run == 0


def test_labels_may_hold_numpy_scalars(done: locus.Experiment) -> None:
    stages = [{"evaluate": {"resolution": np.array([28, 42])}}]
    changes = {"name": "labels", "stages": stages, "metric.reports": "test", "replicates.seed": (0,)}
    experiment = done.client.submit(SMALL, changes=changes).wait(timeout=240)
    board = experiment.leaderboard(labels={"resolution": np.int64(42)})
    assert board.message.labels == '{"resolution":42}' and [row.n for row in board] == [1, 1]


@pytest.mark.parametrize(
    ("wrong", "says"),
    [
        (lambda client, folder: client.plan([SMALL]), "this is a list"),
        (lambda client, folder: client.plan(None), "this is a NoneType"),
        (lambda client, folder: client.plan({**SMALL, "name": object()}), "name is a object"),
        (lambda client, folder: client.plan({**SMALL, "matrix": {"prior": {"none"}}}), "matrix.prior is a set"),
        (lambda client, folder: client.plan(SMALL, changes=["train.lr"]), "changes are a mapping"),
        (lambda client, folder: client.plan(folder / "latin.yaml"), "not UTF-8: byte 0xe9 at offset 37"),
        (lambda client, folder: client.plan(folder), "cannot read the specification"),
        (lambda client, folder: client.plan("a\0b"), "is no path of a specification"),
        (lambda client, folder: client.experiment(["objects"]), "name cannot be"),
        (lambda client, folder: client.experiment(7), "name cannot be 7"),
        (lambda client, folder: client.compare("objects/0"), ""),
        (lambda client, folder: client.experiment("objects").curves(max_points="many"), "max_points cannot be 'many'"),
        (lambda client, folder: client.experiment("objects").curves(max_points=2**40), "max_points cannot be"),
        (lambda client, folder: client.experiment("objects").curves(labels=["resolution"]), "labels are a mapping"),
        (lambda client, folder: client.experiment("objects").trial("x"), ""),
        (lambda client, folder: locus.connect(7171), "HOST:PORT"),
    ],
)
def test_whatever_makes_no_sense_raises_a_locus_error(
    done: locus.Experiment, tmp_path: Path, wrong: Callable[[locus.Client, Path], object], says: str
) -> None:
    (tmp_path / "latin.yaml").write_bytes("version: 1\nname: bad\ndescription: café\n".encode("latin-1"))
    with pytest.raises(locus.LocusError) as refused:
        wrong(done.client, tmp_path)
    assert says in str(refused.value)


def test_a_closed_client_says_so(service: Service) -> None:
    client = locus.connect(service.address)
    client.close()
    with pytest.raises(locus.FailedPrecondition, match="was closed; connect again"):
        client.server()


def test_progress_goes_to_standard_output(done: locus.Experiment, capsys: pytest.CaptureFixture[str]) -> None:
    done.wait(progress=True)
    said = capsys.readouterr()
    assert "objects" in said.out and said.err == ""


def test_no_document_installs_a_strangers_package() -> None:
    """The package index has a `locus` of somebody else, and nothing of ours: documents install the wheel's file."""
    documents = ("*.md", "docs/**/*.md", "clients/python/*.md")
    patterns = (*documents, "clients/python/src/**/*.py", "examples/*.*", "examples/papers/*")
    texts = [path for pattern in patterns for path in ROOT.glob(pattern)]
    assert ROOT / "clients/python/README.md" in texts
    for path in texts:
        for line in path.read_text().splitlines():
            head, found, tail = line.partition("pip install")
            name = tail.split("`")[0].strip(" '\"")
            assert not found or not name.startswith("locus") or ".whl" in name, f"{path}: {line}"
    assert 'name = "locus-vit-client"' in (ROOT / "clients/python/pyproject.toml").read_text()
