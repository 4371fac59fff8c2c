"""No field of a message is forgotten: each has its place in what the client hands out, or is left out for a reason said here."""

from __future__ import annotations

import math
from dataclasses import fields, is_dataclass
from typing import Any

import pytest

import locus
from locus import search
from locus._wire import source
from locus.v1 import (
    analysis_pb2,
    analysis_service_pb2,
    artifact_service_pb2,
    catalog_service_pb2,
    common_pb2,
    experiment_service_pb2,
    metric_service_pb2,
    search_service_pb2,
    trial_pb2,
    worker_service_pb2,
)

LOOK = {"look"}  # colors and dashes of the dashboard's charts

RECORDS: list[tuple[type, Any, set[str]]] = [
    (locus.LeaderboardRow, analysis_pb2.TableRow, LOOK),
    (locus.SweepSeries, analysis_pb2.SweepSeries, LOOK),
    (locus.SweepPoint, analysis_pb2.SweepPoint, set()),
    (locus.SeedValue, analysis_pb2.SeedValue, set()),
    (locus.PivotCell, analysis_service_pb2.PaperCell, set()),
    (locus.PivotHeading, analysis_service_pb2.TableHeading, LOOK),
    (locus.PivotSummary, analysis_service_pb2.PaperSummary, set()),
    (locus.PivotAxis, analysis_service_pb2.TableAxis, set()),
    (locus.Comparison, analysis_pb2.Comparison, set()),
    (locus.ComparedItem, analysis_pb2.ComparedItem, LOOK),
    (locus.ComparedSetting, analysis_pb2.ComparedSetting, set()),
    (locus.ComparedPart, analysis_pb2.ComparedPart, set()),
    (locus.ComparedResult, analysis_pb2.ComparedResult, set()),
    (locus.PairedDifference, analysis_pb2.PairedDifference, set()),
    (locus.SeriesKey, common_pb2.SeriesKey, set()),
    (locus.Result, common_pb2.Result, set()),
    (locus.Output, common_pb2.Output, set()),
    (locus.Trial, trial_pb2.Trial, LOOK | {"values"}),  # trials() asks for no metrics; results are those of trial()
    (locus.TrialStage, trial_pb2.TrialStage, set()),
    (locus.TrialDetail, trial_pb2.TrialDetail, set()),
    (locus.StageDetail, trial_pb2.StageDetail, set()),
    (locus.StageInput, trial_pb2.StageInputView, set()),
    (locus.Attempt, trial_pb2.Attempt, set()),
    (locus.Checkpoint, trial_pb2.Checkpoint, set()),
    (locus.Artifact, artifact_service_pb2.Artifact, set()),
    (locus.Plan, experiment_service_pb2.Plan, set()),
    (locus.PlanCell, experiment_service_pb2.PlanCell, set()),
    (locus.PlanKind, experiment_service_pb2.PlanKind, set()),
    (locus.PlanSearch, experiment_service_pb2.PlanSearch, set()),
    (locus.PlanPhase, experiment_service_pb2.PlanPhase, set()),
    (locus.PlanBracket, experiment_service_pb2.PlanBracket, set()),
    (locus.PlanRung, experiment_service_pb2.PlanRung, set()),
    (locus.Deletion, experiment_service_pb2.DeleteExperimentResponse, set()),
    (locus.Slot, worker_service_pb2.Slot, set()),
    (locus.RunningAttempt, worker_service_pb2.RunningAttempt, set()),
    (locus.Worker, worker_service_pb2.Worker, set()),
    (locus.WorkerExtension, worker_service_pb2.WorkerExtension, set()),
    (locus.Import, metric_service_pb2.ForeignImport, set()),
    (locus.HeldData, worker_service_pb2.HeldData, set()),
    (locus.Server, catalog_service_pb2.Server, set()),
    (search.SearchState, search_service_pb2.Search, set()),
    (search.SearchPhase, search_service_pb2.SearchPhase, set()),
    (search.SearchDimension, search_service_pb2.SearchDimension, set()),
    (search.SearchBracket, search_service_pb2.SearchBracket, set()),
    (search.SearchRung, search_service_pb2.SearchRung, set()),
    (search.SearchBudgetLine, search_service_pb2.SearchBudgetLine, set()),
    (search.SearchChoice, search_service_pb2.SearchChoice, set()),
    (search.SearchUnit, search_service_pb2.SearchUnit, set()),
    (search.SearchScore, search_service_pb2.SearchScore, set()),
    (search.SearchDecision, search_service_pb2.SearchDecision, set()),
    (search.BestSoFar, search_service_pb2.BestSoFar, set()),
    (search.BestCurve, search_service_pb2.BestCurve, set()),
    (search.Importance, search_service_pb2.Importance, set()),
    (search.FactorImportance, search_service_pb2.FactorImportance, set()),
    (search.ProposedUnit, search_service_pb2.ProposedUnit, set()),
]


@pytest.mark.parametrize(("record", "message", "left_out"), RECORDS, ids=lambda one: getattr(one, "__name__", None))
def test_a_dataclass_has_every_field_of_its_message(record: type, message: Any, left_out: set[str]) -> None:
    assert is_dataclass(record)
    there = set(message.DESCRIPTOR.fields_by_name)
    taken = {source(one, message.DESCRIPTOR) for one in fields(record)}
    assert there - taken - left_out == set()
    assert left_out <= there - taken, "said to be left out, and is there"


def pivot_table(message: analysis_service_pb2.PaperTable) -> locus.PivotTable:
    return locus.PivotTable(None, analysis_service_pb2.GetPaperTableRequest(), message)  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("table", "left_out"),
    [
        (locus.Leaderboard(analysis_pb2.Table()), {"rows_total"}),  # the client asks for all rows
        (pivot_table(analysis_service_pb2.PaperTable()), {"rows_total", "rendered"}),  # render() asks for a format
    ],
    ids=["Leaderboard", "PivotTable"],
)
def test_a_table_has_every_field_of_its_message(table: Any, left_out: set[str]) -> None:
    assert {one for one in table.message.DESCRIPTOR.fields_by_name if not hasattr(table, one)} == left_out


def test_a_summary_says_over_how_many_columns_it_is() -> None:
    message = analysis_service_pb2.PaperTable()
    message.summaries.add(row=1, metric="top1", columns=1, columns_total=2, mean=math.nan, mean_rank=2.0)
    table = pivot_table(message)
    (one,) = table.summaries
    assert (one.columns, one.columns_total, one.mean_rank) == (1, 2, 2.0) and math.isnan(one.mean)
    assert table.summaries.to_pandas()["columns_total"].tolist() == [2]
