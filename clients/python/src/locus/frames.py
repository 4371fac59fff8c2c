"""What tables and lists have in common, and the packages that only some calls want."""

from __future__ import annotations

from dataclasses import asdict
from typing import TYPE_CHECKING, Any, Generic, Iterator, Sequence, TypeVar, overload

from locus.errors import MissingPackage

if TYPE_CHECKING:
    import pandas

Row = TypeVar("Row")


def wanted(package: str, call: str, instead: str) -> Any:
    """The module; MissingPackage says what wants it and what does without."""
    import importlib

    try:
        return importlib.import_module(package)
    except ImportError as error:
        name = {"yaml": "PyYAML"}.get(package, package.partition(".")[0])
        raise MissingPackage(
            f"{call} needs {name}, which this Python has not: pip install {name}, or {instead}",
            code="FAILED_PRECONDITION",
            metadata={"package": name},
        ) from error


def frame(lines: Sequence[Any], columns: Sequence[str] | None = None) -> pandas.DataFrame:
    out: pandas.DataFrame = wanted("pandas", "to_pandas()", "read .rows").DataFrame(lines, columns=columns)
    return out


class Rows(Sequence[Row], Generic[Row]):
    """Dataclasses in order: a sequence, and a pandas frame."""

    def __init__(self, kind: type[Row], rows: Sequence[Row]) -> None:
        self.rows = list(rows)
        self._columns = list(kind.__dataclass_fields__)  # type: ignore[attr-defined]

    def __len__(self) -> int:
        return len(self.rows)

    def __iter__(self) -> Iterator[Row]:
        return iter(self.rows)

    @overload
    def __getitem__(self, index: int) -> Row: ...
    @overload
    def __getitem__(self, index: slice) -> Sequence[Row]: ...
    def __getitem__(self, index: int | slice) -> Row | Sequence[Row]:
        return self.rows[index]

    def __repr__(self) -> str:
        return repr(self.rows)

    def to_pandas(self) -> pandas.DataFrame:
        """A frame with a row each and the fields as columns."""
        return frame([asdict(one) for one in self.rows], self._columns)  # type: ignore[call-overload]
