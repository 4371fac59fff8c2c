"""Runs in MLflow: one a trial, with its settings, curves and results. Needs mlflow, or mlflow-skinny and a server."""

from __future__ import annotations

import json
from typing import Any, Iterator, Sequence, TypeVar

from locus.frames import wanted
from locus.interchange.runs import Exported, Run, number, results_of, runs, settings_of

_BATCH_METRICS, _BATCH_PARAMS, _LONGEST = 1000, 100, 6000  # what MLflow takes at a time, and of a parameter's value
_STATUS = {"succeeded": "FINISHED", "failed": "FAILED", "running": "RUNNING", "waiting": "SCHEDULED"}
_LETTERS = set("abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_-. /:")

Item = TypeVar("Item")


def write_mlflow(experiment: Exported, *, tracking_uri: str | None = None, name: str | None = None) -> list[str]:
    """Writes every trial as a run of MLflow's experiment `name` (default: that of ours) and returns the runs' ids.

    A run carries the tags locus.experiment, locus.trial, locus.revision, locus.seed and the identities of its stages,
    the settings as parameters (values longer than 6,000 characters are cut), every point of every series as a metric
    with its step and time, and each result as the metric result/NAME. A trial that was written before is replaced: its
    former run is deleted after the new one is whole. MissingPackage without mlflow.
    """
    mlflow = wanted("mlflow", "write_mlflow()", "write_csv()")
    client = mlflow.MlflowClient(tracking_uri=tracking_uri)
    all_runs = runs(experiment)
    if not all_runs:
        return []
    title = name or str(all_runs[0].experiment["name"])
    found = client.get_experiment_by_name(title)
    home = found.experiment_id if found else client.create_experiment(title)
    return [_write(mlflow, client, home, run) for run in all_runs]


def _pieces(items: Sequence[Item], most: int) -> Iterator[Sequence[Item]]:
    for begin in range(0, len(items), most):
        yield items[begin : begin + most]


def _key(text: str) -> str:
    """MLflow's names hold no other characters."""
    return "".join(letter if letter in _LETTERS else "_" for letter in text)[:250]


def _tags(run: Run) -> dict[str, str]:
    tags = {
        "mlflow.runName": run.name,
        "locus.experiment": run.experiment["name"],
        "locus.revision": run.experiment["revision"],
        "locus.trial": f"{run.experiment['name']}/{run.trial}",
        "locus.seed": run.seed,
        "locus.label": run.label,
        **{f"locus.identity.{stage.role}": stage.record["identity"] for stage in run.stages},
        **{f"locus.tag.{tag}": "true" for tag in run.tags},
    }
    if run.note:
        tags["mlflow.note.content"] = run.note
    return {_key(key): str(value) for key, value in tags.items()}


def _params(mlflow: Any, run: Run) -> list[Any]:
    out = []
    for key, value in settings_of(run).items():
        text = value if isinstance(value, str) else json.dumps(value)
        out.append(mlflow.entities.Param(_key(key), text[:_LONGEST]))
    return out


def _metrics(mlflow: Any, run: Run, ended: int) -> list[Any]:
    out = []
    for stage in run.stages:
        for series in stage.series:
            key = _key(series.name)
            for step, time, value in zip(series.steps, series.times, series.values, strict=True):
                out.append(mlflow.entities.Metric(key, value, time // 1000, step))
    for _, result, name in results_of(run):
        out.append(mlflow.entities.Metric(_key(f"result/{name}"), number(result["value"]), ended, 0))
    return out


def _write(mlflow: Any, client: Any, home: str, run: Run) -> str:
    times = [attempt[key] for stage in run.stages for attempt in stage.attempts for key in ("started_us", "ended_us")]
    times = [time // 1000 for time in times if time] or [int(run.experiment["created_us"]) // 1000]
    trial = f"{run.experiment['name']}/{run.trial}".replace("'", "")
    former = client.search_runs([home], filter_string=f"tags.`locus.trial` = '{trial}'")
    made = client.create_run(home, start_time=min(times), tags=_tags(run)).info.run_id
    for params in _pieces(_params(mlflow, run), _BATCH_PARAMS):
        client.log_batch(made, params=params)
    for metrics in _pieces(_metrics(mlflow, run, max(times)), _BATCH_METRICS):
        client.log_batch(made, metrics=metrics)
    status = _STATUS[run.state]
    if status in ("FINISHED", "FAILED"):
        client.set_terminated(made, status=status, end_time=max(times))
    else:
        client.update_run(made, status=status)
    for old in former:
        client.delete_run(old.info.run_id)
    return str(made)
