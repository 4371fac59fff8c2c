"""The table for the paper, as the server computed and rendered it."""

from __future__ import annotations

import difflib
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Mapping, Sequence, Union

from locus._wire import plain, read, refuse, request, texts
from locus.comparison import SeedValue
from locus.frames import frame
from locus.v1 import analysis_service_pb2

if TYPE_CHECKING:
    import pandas

    from locus.client import Client


Names = Union[str, Sequence[str]]
"""One name, or several."""

OPTIONS = (
    *("rows", "columns", "metrics", "where", "test", "correction"),
    *("level", "alpha", "spread", "digits", "differences", "detect"),
)


@dataclass(frozen=True)
class PaperCell:
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


class PaperTable:
    """Cells by row and column. Numbers are as computed, NaN where undefined; documents come from the server."""

    def __init__(
        self,
        client: Client,
        request: analysis_service_pb2.GetPaperTableRequest,
        message: analysis_service_pb2.PaperTable,
    ) -> None:
        self._client, self._request = client, request
        self.message = message
        """The message itself: headings, summaries, axes to pivot by."""

    @property
    def warnings(self) -> list[str]:
        """What a reader must know before trusting a number."""
        return list(self.message.warnings)

    def cell(self, row: int, column: int) -> PaperCell:
        """The cell of that row and column, counted from 0."""
        rows, columns = len(self.message.rows), len(self.message.columns)
        if not (0 <= row < rows and 0 <= column < columns):
            refuse(f"no cell at row {row}, column {column}: the table has {rows} rows and {columns} columns", "cell")
        return read(PaperCell, self.message.cells[row * columns + column])

    def to_pandas(self) -> pandas.DataFrame:
        """A frame with a row a cell: the axes by name, then the numbers of the command line, every digit."""
        columns = len(self.message.columns)
        lines = [self._line(i // columns, i % columns) for i in range(len(self.message.cells))]
        return frame(lines)

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
        message, cell = self.message, self.cell(row, column)
        out: dict[str, Any] = dict(zip(message.row_axes, message.rows[row].labels))
        out.update(zip(message.column_axes, message.columns[column].labels))
        out["metric"] = message.columns[column].metric
        for name in ("n", "mean", "std", "low", "high", "pairs", "difference", "difference_low", "difference_high"):
            out[name] = getattr(cell, name)
        for name in ("p", "p_floor", "p_adjusted", "best", "second", "significant", "seeds_needed"):
            out[name] = getattr(cell, name)
        out["missing_seeds"] = list(cell.missing_seeds)
        out["flags"] = list(cell.flags)
        out["trials"] = list(cell.trials)
        return out


def ask(
    client: Client,
    experiments: Names,
    metrics: Names,
    where: Mapping[str, Any] | None,
    options: Mapping[str, Any],
    unknown: Mapping[str, Any],
) -> PaperTable:
    for name in unknown:
        near = difflib.get_close_matches(name, OPTIONS, n=1)
        hint = f"did you mean {near[0]!r}?" if near else f"there are {', '.join(OPTIONS)}"
        refuse(f"paper_table() has no argument {name!r}; {hint}", name)
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
    return PaperTable(client, message, client.call(client._analysis.GetPaperTable, message))
