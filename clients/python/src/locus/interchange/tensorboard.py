"""Event files for TensorBoard: a run a trial, its settings as hyperparameters. Needs tensorboardX."""

from __future__ import annotations

import json
import os
import re
import shutil
from pathlib import Path
from typing import Any

from locus.frames import wanted
from locus.interchange.runs import Exported, Run, number, results_of, runs, settings_of

_SIMPLE = (bool, int, float, str)


def folder_name(run: Run) -> str:
    """Of a trial's run: "0003-violin-seed-1"."""
    plain = "".join(letter if letter.isalnum() or letter in "._=" else "-" for letter in run.label)
    return f"{run.trial:04d}-{plain.strip('-') or 'cell'}-seed-{run.seed}"


def write_tensorboard(
    experiment: Exported, folder: str | os.PathLike[str], *, hyperparameters: bool = True
) -> list[Path]:
    """Writes FOLDER/EXPERIMENT/TRIAL with its series (steps and times as they were) and results; returns those folders.

    A trial that was written before is replaced whole. TensorBoard's names hold no "=": there it is "_", and the name
    itself stands beside it as the title, by which `locus import` knows the series again. Values that are not finite are
    written as they are. With `hyperparameters`, what distinguishes the trials stands in the HPARAMS tab beside the
    results. MissingPackage without tensorboardX.
    """
    tensorboard = wanted("tensorboardX", "write_tensorboard()", "write_csv()")
    all_runs = runs(experiment)
    varying = _varying(all_runs)
    return [_write(tensorboard, run, Path(folder), varying if hyperparameters else set()) for run in all_runs]


def _varying(all_runs: list[Run]) -> set[str]:
    """The settings in which the trials differ."""
    seen: dict[str, set[str]] = {}
    for run in all_runs:
        for name, value in settings_of(run).items():
            seen.setdefault(name, set()).add(json.dumps(value, sort_keys=True))
    return {name for name, values in seen.items() if len(values) > 1} | {"label", "seed"}


def _plain(tag: str) -> str:
    """A tag as event files hold it."""
    return re.sub(r"[^-/\w.]", "_", tag)


def _title(name: str) -> str:
    """What stands beside a tag that cannot hold the name."""
    return name if "=" in name else ""


def _write(tensorboard: Any, run: Run, folder: Path, varying: set[str]) -> Path:
    target = folder / str(run.experiment["name"]) / folder_name(run)
    fresh = target.with_name(f".{target.name}.new")
    shutil.rmtree(fresh, ignore_errors=True)
    with tensorboard.SummaryWriter(logdir=str(fresh)) as writer:
        for stage in run.stages:
            for series in stage.series:
                title = _title(series.name)
                for step, time, value in zip(series.steps, series.times, series.values, strict=True):
                    writer.add_scalar(series.name, value, global_step=step, walltime=time / 1e6, display_name=title)
        results = {}
        for stage, result, name in results_of(run):
            tag, value = f"result/{name}", number(result["value"])
            results[_plain(tag)] = value  # HPARAMS look for the series by what it is called in the file
            ended = max((one["ended_us"] for one in stage.attempts), default=0)  # an equal export gives equal files
            writer.add_scalar(tag, value, global_step=0, walltime=ended / 1e6, display_name=_title(tag))
        if varying:
            settings = {name: value for name, value in settings_of(run).items() if name in varying}
            plain = {
                name: value if isinstance(value, _SIMPLE) else json.dumps(value) for name, value in settings.items()
            }
            writer.add_hparams(plain, results, name="settings")
    shutil.rmtree(target, ignore_errors=True)
    fresh.rename(target)
    return target
