"""Series of other programs: what was exported comes back by `locus import`, and is shown for what it is."""

from __future__ import annotations

import json
import math
import struct
import subprocess
from pathlib import Path

import pytest
from conftest import BIN, ROOT, SMALL, Service, run_locus
from exported import Saved, lines

import locus
from locus.interchange import runs

EXPORT = ROOT / "tests" / "core" / "testdata" / "foreign" / "export"


def rounded(value: float) -> float:
    """As event files hold it."""
    return float(struct.unpack("f", struct.pack("f", value))[0])


def same(a: float, b: float) -> bool:
    return a == b or math.isnan(a) and math.isnan(b)


def test_what_write_tensorboard_exported_comes_back_as_the_same_series(quiet: Service) -> None:
    with locus.connect(quiet.address) as client:
        experiment = client.submit({**SMALL, "name": "beside"})
        where = ("--experiment", "beside", "--server", quiet.address, "--json")
        first = json.loads(run_locus("import", str(EXPORT), *where))["imports"]
        assert [one["source"] for one in first] == ["export/0000-none-seed-0", "export/0001-none-seed-1"]
        again = json.loads(run_locus("import", str(EXPORT), *where))["imports"]
        assert all(one["existing"] for one in again), "the same runs again"
        found = {one.source: one for one in experiment.foreign("loss", split="train")}
        exported = [run for run in runs(Saved(lines())) if run.trial in (0, 1)]
        assert len(found) == len(exported) == 2
        for run in exported:
            (mine,) = [one for one in run.stages[0].series if one.name == "train/loss"]
            (theirs,) = found[f"export/{run.trial:04d}-none-seed-{run.seed}"].series
            assert list(theirs.step) == mine.steps and list(theirs.time_us) == mine.times
            assert all(same(one, rounded(other)) for one, other in zip(theirs.value, mine.values, strict=True))
        (labeled,) = experiment.foreign("top1", split="validation", labels={"resolution": 42})
        assert [list(labeled.series[0].step), list(labeled.series[0].value)] == [[2, 3], [50.5, 62.25]]


def test_a_table_is_imported_under_the_names_said_and_removed_by_the_beginning_of_its_digest(
    quiet: Service, tmp_path: Path
) -> None:
    table = tmp_path / "other.csv"
    table.write_text("step,acc,loss\n1,50,2\n2,60,\n")
    with locus.connect(quiet.address) as client:
        experiment = client.submit({**SMALL, "name": "beside"})
        where = ("--experiment", "beside", "--server", quiet.address)
        command = ("import", str(table), "--rename", "acc=validation/top1", "--source", "a peer", *where)
        assert "nothing was imported" in run_locus(*command, "--dry-run") and experiment.foreign() == []
        run_locus(*command)
        (found,) = experiment.foreign("top1", split="validation")
        assert (found.source, found.format, list(found.series[0].value)) == ("a peer", "csv", [50, 60])
        assert found.to_pandas()["step"].tolist() == [1, 2]
        assert "a peer" in run_locus("import", *where)
        run_locus("import", *where, "--drop", found.digest[:8])
        assert experiment.foreign() == []


def test_what_cannot_be_read_is_refused_with_the_file_and_what_to_do(quiet: Service, tmp_path: Path) -> None:
    long = tmp_path / "long.csv"
    long.write_text("step,metric,value\n1,loss,2\n")
    damaged = tmp_path / "events.out.tfevents.1"
    damaged.write_bytes(next(EXPORT.glob("0000*/events*")).read_bytes()[:-9] + b"123456789")
    (tmp_path / "empty").mkdir()
    with locus.connect(quiet.address) as client:
        client.submit({**SMALL, "name": "beside"})
        for path, says in (
            (long, "this is a long table"), (damaged, "check sum is wrong"),
            (tmp_path / "empty", "holds no event files"), (tmp_path / "absent", "is not there"),
            (Path(__file__), "--format tensorboard or csv"),
        ):
            words = [str(BIN / "locus"), "import", str(path), "--experiment", "beside", "--server", quiet.address]
            done = subprocess.run(words, capture_output=True, text=True)
            assert done.returncode == 1 and says in done.stderr and str(path) in done.stderr, done.stderr


def test_series_of_a_program_are_put_there_without_files(quiet: Service) -> None:
    with locus.connect(quiet.address) as client:
        experiment = client.submit({**SMALL, "name": "beside"})
        series = [locus.ForeignSeries("loss", split="train", step=[1, 5], value=[2.0, math.nan])]
        put = experiment.import_series("a script", series)
        assert not put.existing and experiment.import_series("renamed", series).existing
        (found,) = experiment.foreign("loss", split="train")
        assert found.digest == put.digest and math.isnan(found.series[0].value[1])
        with pytest.raises(locus.InvalidArgument):
            experiment.import_series("a script", [locus.ForeignSeries("loss", step=[5, 1], value=[1, 2])])
        experiment.remove_import(put.digest)
        with pytest.raises(locus.NotFound):
            experiment.remove_import(put.digest)
