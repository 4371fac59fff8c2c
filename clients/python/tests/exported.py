"""A small export, as the server writes it (docs/formats/export.md): two cells, two seeds, one of them still running."""

from __future__ import annotations

import json
from typing import Any, Iterator

LABELS = ["none", 'violin(curves=["z"])']


def lines() -> list[dict[str, Any]]:
    out: list[dict[str, Any]] = [
        {
            "type": "experiment",
            "format": 1,
            "name": "small",
            "owner": "ada",
            "revision": 2,
            "state": "active",
            "created_us": 1_700_000_000_000_000,
            "catalog_digest": "c" * 64,
            "specification": {"name": "small"},
            "tags": [],
            "note": "",
        }
    ]
    for cell, label in enumerate(LABELS):
        out.append(
            {"type": "cell", "cell": cell, "label": label, "assignment": {"prior": {label[:6]: {"order": [1, 2]}}}}
        )
    for trial in range(4):
        cell, seed, train, test = trial // 2, trial % 2, 10 + trial, 20 + trial
        running = trial == 3
        out.append(
            {
                "type": "trial",
                "trial": trial,
                "cell": cell,
                "seed": seed,
                "retired": False,
                "stages": {"train": train, "test": test},
                "tags": ["paper"] if trial == 0 else [],
                "note": "first" if trial == 0 else "",
            }
        )
        out += _stage(train, "train", "running" if running else "succeeded", {"lr": 0.1 + trial, "model": {"dim": 16}})
        values: list[Any] = [2.5 - trial, "NaN", 1 / 3]
        out.append(
            {
                "type": "points",
                "stage": train,
                "metric": "loss",
                "split": "train",
                "labels": {},
                "step": [1, 2, 3],
                "epoch": [0.5, 1.0, 1.5],
                "images": [32, 64, 96],
                "time_us": [1_700_000_001_000_000 + i for i in range(3)],
                "value": values,
            }
        )
        out += _stage(test, "evaluate", "blocked" if running else "succeeded", {"resolution": [28, 42]})
        if not running:
            for resolution in (28, 42):
                out.append(
                    {
                        "type": "result",
                        "stage": test,
                        "metric": "top1",
                        "split": "test",
                        "labels": {"resolution": resolution},
                        "reducer": "last",
                        "value": 80.1 + trial + resolution / 1000,
                        "step": 3,
                    }
                )
    out.append(
        {
            "type": "trial",
            "trial": 4,
            "cell": 0,
            "seed": 9,
            "retired": True,
            "stages": {"train": 10},
            "tags": [],
            "note": "",
        }
    )
    out.append({"type": "end", "trials": 5, "stages": 8, "points": 12})
    return out


def _stage(stage: int, kind: str, state: str, config: dict[str, Any]) -> list[dict[str, Any]]:
    return [
        {
            "type": "stage",
            "stage": stage,
            "kind": kind,
            "identity": f"{stage:064x}",
            "state": state,
            "failure_class": "none",
            "reason": "",
            "config": config,
            "outputs": [],
        },
        {
            "type": "attempt",
            "stage": stage,
            "attempt": 1,
            "state": state,
            "failure_class": "none",
            "reason": "",
            "resume_step": 0,
            "started_us": 1_700_000_000_500_000,
            "ended_us": 0 if state == "running" else 1_700_000_009_000_000,
            "environment": {},
        },
    ]


class Saved:
    """An export in a file, or here in memory, as something that has records()."""

    def __init__(self, records: list[dict[str, Any]]) -> None:
        self._lines = [json.dumps(record) for record in records]

    def records(self, *, points: bool = True) -> Iterator[dict[str, Any]]:
        for line in self._lines:
            record = json.loads(line)
            if points or record["type"] != "points":
                yield record
