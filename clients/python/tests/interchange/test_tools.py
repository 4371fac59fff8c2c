"""Exports read back by the tools they are for: pandas and Arrow, TensorBoard, MLflow with its database. `make interchange`."""

from __future__ import annotations

import math
from pathlib import Path
from typing import Any

import pandas
import pyarrow.parquet
from exported import LABELS, Saved, lines
from mlflow import MlflowClient
from tensorboard.backend.event_processing.event_accumulator import EventAccumulator
from tensorboard.plugins.hparams import metadata

from locus.interchange import write_parquet
from locus.interchange.mlflow import write_mlflow
from locus.interchange.tensorboard import write_tensorboard


def test_pandas_reads_the_parquet_with_types_and_arrow_its_experiment(tmp_path: Path) -> None:
    results, points, settings = (pandas.read_parquet(path) for path in write_parquet(Saved(lines()), tmp_path))
    assert results["value"].tolist()[:2] == [80.1 + 28 / 1000, 80.1 + 42 / 1000]
    assert str(results["trial"].dtype) == "int64" and str(points["value"].dtype) == "float64"
    assert math.isnan(points["value"][1]) and points["value"][2] == 1 / 3
    assert set(settings.columns) == {"experiment", "trial", "cell", "label", "seed", "setting", "value"}
    metadata = pyarrow.parquet.read_schema(tmp_path / "results.parquet").metadata
    assert metadata[b"locus.name"] == b"small" and metadata[b"locus.revision"] == b"2"


def test_an_experiment_without_trials_gives_empty_tables(tmp_path: Path) -> None:
    empty = [line for line in lines() if line["type"] in ("experiment", "cell", "end")]
    assert all(pandas.read_parquet(path).empty for path in write_parquet(Saved(empty), tmp_path))


def scalars(folder: Path, tag: str) -> list[Any]:
    reader = EventAccumulator(str(folder))
    reader.Reload()
    return list(reader.Scalars(tag))


def test_tensorboard_reads_steps_times_and_values(tmp_path: Path) -> None:
    folders = write_tensorboard(Saved(lines()), tmp_path)
    assert len({folder.name for folder in folders}) == 4
    points = scalars(folders[1], "train/loss")
    assert [point.step for point in points] == [1, 2, 3]
    assert points[0].value == 1.5 and math.isnan(points[1].value) and abs(points[2].value - 1 / 3) < 1e-7
    assert abs(points[0].wall_time - 1_700_000_001) < 1e-3
    assert abs(scalars(folders[1], "result/test/top1/resolution_42")[0].value - 81.142) < 1e-4


def test_hparams_name_settings_and_the_results_that_stand_beside_them(tmp_path: Path) -> None:
    folder = write_tensorboard(Saved(lines()), tmp_path)[2] / "settings"
    reader = EventAccumulator(str(folder))
    reader.Reload()

    def said(tag: str) -> bytes:
        return bytes(reader.summary_metadata[tag].plugin_data.content)

    chosen = metadata.parse_session_start_info_plugin_data(said(metadata.SESSION_START_INFO_TAG)).hparams
    assert chosen["label"].string_value == LABELS[1] and chosen["train.lr"].number_value == 2.1
    shown = metadata.parse_experiment_plugin_data(said(metadata.EXPERIMENT_TAG)).metric_infos
    assert {one.name.tag for one in shown} == set(reader.Tags()["scalars"])
    assert abs(scalars(folder, "result/test/top1/resolution_28")[0].value - 82.128) < 1e-4


def test_the_export_that_is_kept_for_importing_it_again_is_what_is_written_today(tmp_path: Path) -> None:
    kept = Path(__file__).parents[4] / "tests" / "core" / "testdata" / "foreign" / "export" / "0000-none-seed-0"
    written = write_tensorboard(Saved(lines()), tmp_path)[0]
    assert written.name == kept.name
    for tag in ("train/loss", "result/test/top1/resolution_42"):
        points = [[(one.step, one.wall_time, str(one.value)) for one in scalars(at, tag)] for at in (kept, written)]
        assert points[0] == points[1] and points[0]


def test_a_trial_written_again_is_there_once(tmp_path: Path) -> None:
    for _ in range(2):
        folders = write_tensorboard(Saved(lines()), tmp_path)
    assert len(scalars(folders[0], "train/loss")) == 3
    assert sorted(path.name for path in (tmp_path / "small").iterdir()) == sorted(folder.name for folder in folders)


def test_mlflow_gives_back_settings_curves_results_and_states(tmp_path: Path) -> None:
    uri = f"sqlite:///{tmp_path}/mlflow.db"
    ids = write_mlflow(Saved(lines()), tracking_uri=uri)
    client = MlflowClient(tracking_uri=uri)
    runs = [client.get_run(one) for one in ids]
    assert [run.info.status for run in runs] == ["FINISHED", "FINISHED", "FINISHED", "RUNNING"]
    assert runs[2].data.params["label"] == LABELS[1] and runs[2].data.params["train.lr"] == "2.1"
    assert runs[0].data.tags["locus.trial"] == "small/0" and runs[0].data.tags["mlflow.note.content"] == "first"
    assert runs[0].data.metrics["result/test/top1/resolution_42"] == 80.1 + 42 / 1000
    curve = sorted(client.get_metric_history(ids[0], "train/loss"), key=lambda metric: metric.step)
    assert [metric.step for metric in curve] == [1, 2, 3] and curve[2].value == 1 / 3 and math.isnan(curve[1].value)
    assert curve[0].timestamp == 1_700_000_001_000


def test_an_experiment_written_again_replaces_its_runs_in_mlflow(tmp_path: Path) -> None:
    uri = f"sqlite:///{tmp_path}/mlflow.db"
    write_mlflow(Saved(lines()), tracking_uri=uri)
    ids = write_mlflow(Saved(lines()), tracking_uri=uri)
    client = MlflowClient(tracking_uri=uri)
    home = client.get_experiment_by_name("small")
    assert home is not None
    assert {run.info.run_id for run in client.search_runs([home.experiment_id])} == set(ids)
