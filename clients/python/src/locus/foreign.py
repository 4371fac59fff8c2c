"""Series that another program measured, beside an experiment. Nothing that is ranked, compared or claimed reads them."""

from __future__ import annotations

from dataclasses import dataclass, field
from datetime import datetime
from typing import TYPE_CHECKING, Any, Mapping, Sequence

from locus._wire import labels_json, read, refuse
from locus.frames import frame
from locus.v1 import metric_service_pb2

if TYPE_CHECKING:
    import pandas


@dataclass
class ForeignSeries:
    """One metric of a run. `step`, `value` and `time_us` (microseconds since 1970, 0 where it is not known) are as long as
    one another, by step, each step once; `time_us` may be empty."""

    metric: str
    split: str = ""
    labels: Mapping[str, Any] | str = ""
    step: Sequence[int] = ()
    value: Sequence[float] = ()
    time_us: Sequence[int] = ()
    points: int = 0
    """How many the server has; `step` is empty where they were not asked for."""


@dataclass
class Import:
    """What one run of another program left, named by the digest of its series."""

    digest: str
    source: str
    format: str
    imported_by: str
    imported_time: datetime
    existing: bool
    """It was there before it was imported again."""
    series: list[ForeignSeries] = field(default_factory=list)

    def to_pandas(self) -> pandas.DataFrame:
        """A long frame: source, metric, split, labels, step, value."""
        points = [
            (self.source, one.metric, one.split, one.labels, *point)
            for one in self.series
            for point in zip(one.step, one.value)
        ]
        return frame(points, ["source", "metric", "split", "labels", "step", "value"])


def imported(message: metric_service_pb2.ForeignImport) -> Import:
    """The message as a record."""
    series = [
        ForeignSeries(
            metric=one.key.metric,
            split=one.key.split,
            labels=one.key.labels,
            step=list(one.step),
            value=list(one.value),
            time_us=list(one.time_us),
            points=one.points,
        )
        for one in message.series
    ]
    return read(Import, message, series=series)


def foreign_message(series: ForeignSeries) -> metric_service_pb2.ForeignSeries:
    """The record as a message. InvalidArgument for columns that hold no numbers."""
    out = metric_service_pb2.ForeignSeries()
    out.key.metric, out.key.split, out.key.labels = series.metric, series.split, labels_json(series.labels)
    try:
        out.step.extend(int(step) for step in series.step)
        out.value.extend(float(value) for value in series.value)
        out.time_us.extend(int(time) for time in series.time_us)
    except (TypeError, ValueError) as error:
        refuse(f"the series {series.metric} holds what is no number: {error}", "series")
    return out
