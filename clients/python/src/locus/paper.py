"""The table for the paper, as the server computed and rendered it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Mapping, Sequence

from locus.results import _pandas
from locus.v1 import analysis_service_pb2

if TYPE_CHECKING:
    import pandas

    from locus.client import Client


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

    def cell(self, row: int, column: int) -> analysis_service_pb2.PaperCell:
        return self.message.cells[row * len(self.message.columns) + column]

    def to_pandas(self) -> pandas.DataFrame:
        """A frame with a row a cell: the axes by name, then the numbers of the command line, every digit."""
        columns = len(self.message.columns)
        lines = [self._line(i // columns, i % columns) for i in range(len(self.message.cells))]
        out: pandas.DataFrame = _pandas().DataFrame(lines)
        return out

    def render(self, format: str) -> str:
        """"text", "latex", "markdown", "csv", "json" or "html", as `locus table --format` prints it."""
        request = analysis_service_pb2.GetPaperTableRequest()
        request.CopyFrom(self._request)
        request.format = format
        answer = self._client.call(self._client._analysis.GetPaperTable, request)
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
    experiments: Sequence[str],
    *,
    rows: Sequence[str] = (),
    columns: Sequence[str] = (),
    metrics: Sequence[str] = (),
    where: Mapping[str, Any] | None = None,
    **options: Any,
) -> PaperTable:
    request = analysis_service_pb2.GetPaperTableRequest(experiments=experiments, rows=rows, columns=columns, **options)
    for text in metrics:
        metric, split, reduce = (text.split(":") + ["", ""])[:3]
        request.metrics.add(metric=metric, split=split, reduce=reduce)
    for axis, values in (where or {}).items():
        many = values if isinstance(values, (list, tuple)) else [values]
        request.where.add(axis=axis, values=[str(value) for value in many])
    return PaperTable(client, request, client.call(client._analysis.GetPaperTable, request))
