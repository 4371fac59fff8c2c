"""The pivot table, as the server computed and rendered it."""

from __future__ import annotations

import difflib
from dataclasses import dataclass, field, fields
from typing import TYPE_CHECKING, Any, Mapping, Sequence, Union

from locus._wire import plain, read, refuse, request, texts
from locus.comparison import SeedValue
from locus.frames import Rows, frame
from locus.v1 import analysis_service_pb2

if TYPE_CHECKING:
    import pandas

    from locus.client import Client


Names = Union[str, Sequence[str]]
"""One name, or several."""

OPTIONS = (
    *("rows", "columns", "metrics", "where", "test", "correction"),
    *("level", "alpha", "spread", "digits", "differences", "detect", "phase", "proposals"),
)


@dataclass(frozen=True)
class PivotCell:
    """One cell. Numbers are as computed, NaN where undefined; differences are from the baseline's cell of the column."""

    n: int
    mean: float
    std: float
    low: float
    high: float
    values: list[SeedValue] = field(hash=False)
    missing_seeds: list[int] = field(hash=False)
    failed_seeds: list[int] = field(hash=False)
    pairs: int
    difference: float
    difference_std: float
    difference_low: float
    difference_high: float
    p: float
    p_floor: float
    p_adjusted: float
    best: bool
    second: bool
    significant: bool
    seeds_needed: int | None = field(metadata={"none": 0})
    """To see `detect` with 80 % power; None: not asked or unknown."""
    flags: list[str] = field(hash=False)
    trials: list[str] = field(hash=False)
    test: str
    """Behind `p`: "sign-flip", "paired-t" or "welch"; empty: not compared."""
    mean_all: float
    """Over all seeds, where `mean` is over the best; otherwise as `mean`."""
    std_all: float
    chosen_by: str
    """Where a search or phase chose all that it is made of alike: "validation, the best of 32"."""


@dataclass(frozen=True)
class PivotHeading:
    """A row or a column: its place on each axis, as shown and as it is. Rows have no metric."""

    labels: list[str] = field(hash=False)
    keys: list[str] = field(hash=False)
    """Canonical JSON, by axis."""
    baseline: bool
    metric: str
    split: str
    unit: str
    direction: str
    reduce: str
    top_seeds: int
    """Of columns: means are over so many best seeds by this very metric; 0: over all."""


@dataclass(frozen=True)
class PivotSummary:
    """A row across the columns of one metric. NaN where a column is missing: `columns` of `columns_total` have a mean."""

    row: int
    metric: str
    columns: int
    columns_total: int
    mean: float
    iqm: float
    """Interquartile mean over columns and seeds."""
    iqm_low: float
    iqm_high: float
    mean_rank: float


@dataclass(frozen=True)
class PivotAxis:
    """Something to pivot by: "factor", "label", "experiment" or "metric", and the places on it."""

    name: str
    kind: str
    keys: list[str] = field(hash=False)
    labels: list[str] = field(hash=False)


class PivotTable:
    """Cells by row and column. Numbers are as computed, NaN where undefined; documents come from the server."""

    def __init__(
        self,
        client: Client,
        request: analysis_service_pb2.GetPaperTableRequest,
        message: analysis_service_pb2.PaperTable,
    ) -> None:
        self._client, self._request = client, request
        self.message = message
        self.row_axes: list[str] = list(message.row_axes)
        self.column_axes: list[str] = list(message.column_axes)
        self.rows: list[PivotHeading] = [read(PivotHeading, one) for one in message.rows]
        self.columns: list[PivotHeading] = [read(PivotHeading, one) for one in message.columns]
        self.cells: list[PivotCell] = [read(PivotCell, one) for one in message.cells]
        """Row by row, a cell for every column."""
        self.summaries: Rows[PivotSummary] = Rows(PivotSummary, [read(PivotSummary, one) for one in message.summaries])
        """Of each row and metric; none with fewer than two columns."""
        self.axes: list[PivotAxis] = [read(PivotAxis, one) for one in message.axes]
        """Everything one can pivot by."""
        self.baseline: str = message.baseline
        """Label of the baseline rows; empty without one."""
        self.test: str = message.test
        """The one asked for; a cell says which was taken."""
        self.correction: str = message.correction
        self.level: float = message.level
        self.alpha: float = message.alpha
        self.matched: str = message.matched
        """"only the prior differs", or what else does."""
        self.warnings: list[str] = list(message.warnings)
        """What a reader must know before trusting a number."""
        self.notes: list[str] = list(message.notes)
        """What the marks mean."""

    def cell(self, row: int, column: int) -> PivotCell:
        """The cell of that row and column, counted from 0."""
        rows, columns = len(self.rows), len(self.columns)
        if not (0 <= row < rows and 0 <= column < columns):
            refuse(f"no cell at row {row}, column {column}: the table has {rows} rows and {columns} columns", "cell")
        return self.cells[row * columns + column]

    def to_pandas(self) -> pandas.DataFrame:
        """A frame with a row a cell: the axes by name, what is measured, then every number of the cell, every digit."""
        columns = len(self.columns)
        return frame([self._line(i // columns, i % columns) for i in range(len(self.cells))])

    def render(self, format: str) -> str:
        """"text", "latex", "markdown", "csv", "json" or "html", as `locus table --format` prints it."""
        again = analysis_service_pb2.GetPaperTableRequest()
        again.CopyFrom(self._request)
        again.format = format
        answer = self._client.call(self._client._analysis.GetPaperTable, again)
        return str(answer.rendered)

    @property
    def latex(self) -> str:
        return self.render("latex")

    @property
    def markdown(self) -> str:
        return self.render("markdown")

    def __str__(self) -> str:
        return self.render("text")

    def _repr_html_(self) -> str:
        return self.render("html")

    def _line(self, row: int, column: int) -> dict[str, Any]:
        over, beside, cell = self.columns[column], self.rows[row], self.cell(row, column)
        out: dict[str, Any] = dict(zip(self.row_axes, beside.labels))
        out.update(zip(self.column_axes, over.labels))
        for name in ("metric", "split", "reduce"):
            out[name] = getattr(over, name)
        out["baseline"] = beside.baseline or over.baseline
        out.update({one.name: getattr(cell, one.name) for one in fields(cell) if one.name != "values"})
        out["values"] = {one.seed: one.value for one in cell.values}
        return out


def ask(
    client: Client,
    experiments: Names,
    metrics: Names,
    where: Mapping[str, Any] | None,
    options: Mapping[str, Any],
    unknown: Mapping[str, Any],
) -> PivotTable:
    for name in unknown:
        near = difflib.get_close_matches(name, OPTIONS, n=1)
        hint = f"did you mean {near[0]!r}?" if near else f"there are {', '.join(OPTIONS)}"
        refuse(f"pivot_table() has no argument {name!r}; {hint}", name)
    message = request(analysis_service_pb2.GetPaperTableRequest, experiments=experiments, **options)
    for text in texts(metrics, "metrics"):
        metric, split, reduce = (text.split(":") + ["", ""])[:3]
        message.metrics.add(metric=metric, split=split, reduce=reduce)
    if where is not None and not isinstance(where, Mapping):
        kind = type(where).__name__
        refuse(f"where maps an axis to a value or several, as in {{'resolution': 28}}; it is a {kind}", "where")
    for axis, values in (where or {}).items():
        many = plain(values, f"where.{axis}")
        message.where.add(axis=str(axis), values=texts(many if isinstance(many, list) else [many], f"where.{axis}"))
    return PivotTable(client, message, client.call(client._analysis.GetPaperTable, message))
