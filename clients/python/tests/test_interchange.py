"""What an export becomes in other tools; the tools themselves are asked by interchange/."""

from __future__ import annotations

import csv
import json
import math
import sys
from pathlib import Path

import pytest
from exported import LABELS, Saved, lines

import locus
from locus.interchange import runs, write_csv, write_parquet


def table(path: Path) -> list[dict[str, str]]:
    with path.open(newline="", encoding="utf-8") as handle:
        return list(csv.DictReader(handle))


def test_runs_are_the_trials_that_are_not_retired_with_their_stages_by_role() -> None:
    found = runs(Saved(lines()))
    assert [run.trial for run in found] == [0, 1, 2, 3]
    assert [run.label for run in found] == [LABELS[0], LABELS[0], LABELS[1], LABELS[1]]
    assert [stage.role for stage in found[0].stages] == ["train", "test"]
    assert [run.state for run in found] == ["succeeded", "succeeded", "succeeded", "running"]
    assert found[2].stages[1].series == [] and len(found[2].stages[1].results) == 2
    assert found[0].stages[0].series[0].name == "train/loss"


def test_an_export_that_was_cut_off_is_refused() -> None:
    with pytest.raises(ValueError, match="export the experiment again"):
        runs(Saved(lines()[:-1]))


def test_csv_gives_back_every_number_to_the_bit(tmp_path: Path) -> None:
    written = write_csv(Saved(lines()), tmp_path / "new" / "folder")
    assert [path.name for path in written] == ["results.csv", "points.csv", "settings.csv"]
    results, points, settings = (table(path) for path in written)
    assert len(results) == 6 and len(points) == 12
    assert float(results[1]["value"]) == 80.1 + 0 + 42 / 1000
    assert json.loads(results[1]["labels"]) == {"resolution": 42}
    first = [float(row["value"]) for row in points[:3]]
    assert first[0] == 2.5 and math.isnan(first[1]) and first[2] == 1 / 3
    rates = [row["value"] for row in settings if row["setting"] == "train.lr"]
    assert rates == ["0.1", "1.1", "2.1", "3.1"]
    assert {row["setting"] for row in settings} >= {"label", "seed", "train.model.dim", "test.resolution"}


def test_csv_without_points_leaves_them_out(tmp_path: Path) -> None:
    assert table(write_csv(Saved(lines()), tmp_path, points=False)[1]) == []


def test_a_package_that_is_missing_is_named_with_what_does_without(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, "pyarrow", None)
    with pytest.raises(locus.MissingPackage, match=r"pip install pyarrow, or write_csv\(\)"):
        write_parquet(Saved(lines()), tmp_path)
