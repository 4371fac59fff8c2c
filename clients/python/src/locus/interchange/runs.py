"""The trials of an experiment with all that is known of them, from its export."""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from typing import Any, Iterable, Iterator, Mapping, Protocol


class Exported(Protocol):
    """What has an export: locus.Experiment, or a saved export read by json.loads."""

    def records(self, *, points: bool = True) -> Iterator[dict[str, Any]]: ...


@dataclass
class Series:
    """One metric of a stage; the lists are of equal length, `times` in microseconds since 1970."""

    metric: str
    split: str
    labels: dict[str, Any]
    steps: list[int]
    epochs: list[float]
    images: list[int]
    times: list[int]
    values: list[float]

    @property
    def name(self) -> str:
        """As a tag: "train/loss", "validation/top1/resolution=42"."""
        return metric_name(self.metric, self.split, self.labels)


@dataclass
class StageOf:
    """A stage as a trial sees it, under its role."""

    role: str
    record: dict[str, Any]
    attempts: list[dict[str, Any]] = field(default_factory=list)
    results: list[dict[str, Any]] = field(default_factory=list)
    series: list[Series] = field(default_factory=list)


@dataclass
class Run:
    """One trial: a cell of the matrix at one seed."""

    experiment: dict[str, Any]
    trial: int
    cell: int
    label: str
    seed: int
    assignment: dict[str, Any]
    tags: list[str]
    note: str
    stages: list[StageOf]

    @property
    def name(self) -> str:
        """For people: "priors/3 violin seed 1"."""
        return f"{self.experiment['name']}/{self.trial} {self.label} seed {self.seed}"

    @property
    def state(self) -> str:
        """`succeeded`, `failed`, `running` or `waiting`: of all its stages together."""
        states = {stage.record["state"] for stage in self.stages}
        if states and states <= {"succeeded"}:
            return "succeeded"
        if states & {"failed", "held", "cancelled"}:
            return "failed"
        return "running" if "running" in states else "waiting"


def number(value: Any) -> float:
    """A number of the export, where what is not finite is text."""
    return float({"Infinity": math.inf, "-Infinity": -math.inf, "NaN": math.nan}.get(value, value))


def metric_name(metric: str, split: str, labels: Mapping[str, Any]) -> str:
    parts = [split, metric] if split else [metric]
    return "/".join(parts + [f"{key}={value}" for key, value in sorted(labels.items())])


def flat(settings: Mapping[str, Any], prefix: str = "") -> dict[str, Any]:
    """Nested settings by dotted names; lists stay as they are."""
    out: dict[str, Any] = {}
    for key, value in settings.items():
        name = f"{prefix}{key}"
        if isinstance(value, Mapping) and value:
            out.update(flat(value, f"{name}."))
        else:
            out[name] = value
    return out


def _series(record: Mapping[str, Any]) -> Series:
    return Series(
        metric=record["metric"],
        split=record["split"],
        labels=dict(record["labels"]),
        steps=[int(step) for step in record["step"]],
        epochs=[number(epoch) for epoch in record["epoch"]],
        images=[int(count) for count in record["images"]],
        times=[int(time) for time in record["time_us"]],
        values=[number(value) for value in record["value"]],
    )


def runs(experiment: Exported, *, points: bool = True) -> list[Run]:
    """Every trial that is not retired, by number. A stage that several trials share is in each of them.

    ValueError where the export was cut off.
    """
    head: dict[str, Any] = {}
    cells: dict[int, dict[str, Any]] = {}
    trials: list[dict[str, Any]] = []
    stages: dict[int, StageOf] = {}
    ended = False
    for record in experiment.records(points=points):
        kind = record["type"]
        if kind == "experiment":
            head = record
        elif kind == "cell":
            cells[record["cell"]] = record
        elif kind == "trial":
            trials.append(record)
        elif kind == "stage":
            stages[record["stage"]] = StageOf("", record)
        elif kind == "attempt":
            stages[record["stage"]].attempts.append(record)
        elif kind == "result":
            stages[record["stage"]].results.append(record)
        elif kind == "points":
            stages[record["stage"]].series.append(_series(record))
        ended = kind == "end"
    if not ended:
        raise ValueError("the export ends before its last line: export the experiment again")
    return [_run(head, cells[trial["cell"]], trial, stages) for trial in trials if not trial["retired"]]


def _run(head: dict[str, Any], cell: Mapping[str, Any], trial: Mapping[str, Any], stages: Mapping[int, StageOf]) -> Run:
    mine = [
        StageOf(role, stages[stage].record, stages[stage].attempts, stages[stage].results, stages[stage].series)
        for role, stage in trial["stages"].items()
    ]
    return Run(
        experiment=head,
        trial=trial["trial"],
        cell=trial["cell"],
        label=cell["label"],
        seed=trial["seed"],
        assignment=dict(cell["assignment"]),
        tags=list(trial.get("tags", [])),
        note=trial.get("note", ""),
        stages=mine,
    )


def settings_of(run: Run) -> dict[str, Any]:
    """What a trial ran with, by dotted names: its place in the matrix, its seed and the configuration of each stage."""
    out: dict[str, Any] = {"label": run.label, "seed": run.seed, **flat(run.assignment, "matrix.")}
    for stage in run.stages:
        out.update(flat(stage.record["config"], f"{stage.role}."))
    return out


def results_of(run: Run) -> Iterable[tuple[StageOf, dict[str, Any], str]]:
    """Every result with its stage and its name: "test/top1", "test/top1/resolution=42"."""
    for stage in run.stages:
        for result in stage.results:
            yield stage, result, metric_name(result["metric"], result["split"], result["labels"])
