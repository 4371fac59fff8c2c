"""Three tables that any program reads: results, points and settings, as CSV or Parquet."""

from __future__ import annotations

import csv
import io
import json
import math
import os
from pathlib import Path
from typing import Any, Iterator, Sequence

from locus.files import save
from locus.frames import wanted
from locus.interchange.runs import Exported, Run, number, results_of, runs, settings_of

WHO = ["experiment", "trial", "cell", "label", "seed", "role", "stage"]
RESULTS = [*WHO, "metric", "split", "labels", "reducer", "step", "value"]
POINTS = [*WHO, "metric", "split", "labels", "step", "epoch", "images", "time_us", "value"]
SETTINGS = ["experiment", "trial", "cell", "label", "seed", "setting", "value"]


def _who(run: Run, role: str, stage: int) -> list[Any]:
    return [run.experiment["name"], run.trial, run.cell, run.label, run.seed, role, stage]


def _labels(labels: dict[str, Any]) -> str:
    return json.dumps(labels, sort_keys=True)


def _results(all_runs: Sequence[Run]) -> Iterator[list[Any]]:
    for run in all_runs:
        for stage, result, _ in results_of(run):
            value = number(result["value"])
            yield [
                *_who(run, stage.role, stage.record["stage"]),
                *(result["metric"], result["split"], _labels(result["labels"])),
                *(result["reducer"], result["step"], value),
            ]


def _points(all_runs: Sequence[Run]) -> Iterator[list[Any]]:
    for run in all_runs:
        for stage in run.stages:
            who = _who(run, stage.role, stage.record["stage"])
            for one in stage.series:
                key = [one.metric, one.split, _labels(one.labels)]
                for row in zip(one.steps, one.epochs, one.images, one.times, one.values, strict=True):
                    yield [*who, *key, *row]


def _settings(all_runs: Sequence[Run]) -> Iterator[list[Any]]:
    for run in all_runs:
        who = [run.experiment["name"], run.trial, run.cell, run.label, run.seed]
        for name, value in settings_of(run).items():
            yield [*who, name, json.dumps(value)]


_TABLES = {"results": (RESULTS, _results), "points": (POINTS, _points), "settings": (SETTINGS, _settings)}


def _exact(value: Any) -> Any:
    """Floats as the shortest text that reads back to the same number; what is not finite as pandas and Arrow read it."""
    if not isinstance(value, float) or math.isfinite(value):
        return value
    return "nan" if math.isnan(value) else "inf" if value > 0 else "-inf"


def _folder(folder: str | os.PathLike[str]) -> Path:
    path = Path(folder)
    path.mkdir(parents=True, exist_ok=True)
    return path


def write_csv(experiment: Exported, folder: str | os.PathLike[str], *, points: bool = True) -> list[Path]:
    """Writes results.csv, points.csv and settings.csv (RFC 4180, UTF-8) into a folder, which is made.

    Each appears whole or not at all.
    """
    target, all_runs, out = _folder(folder), runs(experiment, points=points), []
    for name, (columns, rows) in _TABLES.items():
        text = io.StringIO()
        writer = csv.writer(text)
        writer.writerow(columns)
        writer.writerows([[_exact(value) for value in row] for row in rows(all_runs)])
        out.append(save(target / f"{name}.csv", [text.getvalue().encode()]))
    return out


def write_parquet(experiment: Exported, folder: str | os.PathLike[str], *, points: bool = True) -> list[Path]:
    """The same as results.parquet, points.parquet and settings.parquet, typed; their metadata name experiment and revision.

    MissingPackage without pyarrow.
    """
    arrow = wanted("pyarrow", "write_parquet()", "write_csv()")
    parquet = wanted("pyarrow.parquet", "write_parquet()", "write_csv()")
    kinds = {"labels": arrow.string(), "epoch": arrow.float64(), "value": arrow.float64()}
    numbers = {"trial", "cell", "seed", "stage", "step", "images", "time_us"}
    target, all_runs, out = _folder(folder), runs(experiment, points=points), []
    for name, (columns, rows) in _TABLES.items():
        lines = list(rows(all_runs))
        schema = arrow.schema(
            [
                (
                    column,
                    arrow.int64()
                    if column in numbers
                    else arrow.string()
                    if name == "settings"
                    else kinds.get(column, arrow.string()),
                )
                for column in columns
            ]
        )
        head = all_runs[0].experiment if all_runs else {}
        schema = schema.with_metadata(
            {f"locus.{key}": str(head[key]) for key in ("name", "revision", "catalog_digest") if key in head}
        )
        table = arrow.table(
            {column: [line[at] for line in lines] for at, column in enumerate(columns)}, schema=schema
        )
        sink = arrow.BufferOutputStream()
        parquet.write_table(table, sink, compression="zstd")
        out.append(save(target / f"{name}.parquet", [sink.getvalue().to_pybytes()]))
    return out
