"""Numbers printed in papers, beside what an experiment measured."""

from __future__ import annotations

import json
import math
from dataclasses import asdict, dataclass, field
from typing import TYPE_CHECKING, Any, Iterator

from locus.frames import frame

if TYPE_CHECKING:
    import pandas

    from locus.v1 import analysis_service_pb2


@dataclass(frozen=True)
class ClaimMatch:
    """What one cell of the experiment measured of a claim. Numbers are as computed, NaN where undefined."""

    cell: int
    label: str
    n: int
    mean: float
    std: float
    difference: float
    """From the cell of the paper's baseline, paired by seed."""
    difference_low: float
    difference_high: float
    pairs: int
    sentence: str
    verdict: str
    """"agrees", "contradicts", "undecided" or "not-comparable" (docs/claims.md)."""
    differences: list[str] = field(hash=False)
    """Of the setting: "dataset: imagenet-1k in the paper, fashion-mnist here"."""


@dataclass(frozen=True)
class Claim:
    """One printed number. `std` and `difference` are NaN where nothing is printed to take them from."""

    paper: str
    table: str
    row: str
    column: str
    prior: list[Any] | None = field(hash=False)
    """The combination of priors it is about; None where Locus has no such method."""
    metric: str
    unit: str
    direction: str
    value: float
    std: float
    n: int | None
    baseline: str
    difference: float
    note: str
    setting: dict[str, str] = field(hash=False)
    options: dict[str, str] = field(hash=False)
    """Of its priors beyond `prior`, as printed: "guidance.lambda"."""
    code_options: dict[str, str] = field(hash=False)
    """The same, known from the paper's published code alone."""
    verdict: str
    """Beside an experiment, as of its nearest match; empty otherwise."""
    why: str
    """Not comparable: "setting", "no-cell" and so on."""
    measured: list[ClaimMatch] = field(hash=False)


@dataclass(frozen=True)
class ClaimSummary:
    """What an experiment says of the numbers of a paper, or of one of its tables (docs/claims.md)."""

    paper: str
    table: str
    """Empty: all of the paper's that were asked for."""
    numbers: int
    agrees: int
    contradicts: int
    undecided: int
    not_comparable: int
    same_direction: int
    """Of those in another setting, as are the next two: the measured difference goes the printed way."""
    opposite_direction: int
    open_direction: int
    why: dict[str, int] = field(hash=False)
    """Not comparable, by reason; they add up."""
    settings: dict[str, int] = field(hash=False)
    """Another setting, by what differs; they overlap."""


class Claims:
    """Printed numbers, paper by paper, table by table, row by row."""

    def __init__(self, message: analysis_service_pb2.ListClaimsResponse) -> None:
        self.message = message
        self.rows = [_claim(table, one) for table in message.tables for one in table.claims]

    @property
    def papers(self) -> dict[str, str]:
        """Titles by id, of every paper there is."""
        return {paper.id: paper.title for paper in self.message.papers}

    @property
    def summaries(self) -> list[ClaimSummary]:
        """Beside an experiment: verdicts counted, of each paper (empty `table`) and of each of its tables."""
        return [_summary(one) for one in self.message.summaries]

    def __len__(self) -> int:
        return len(self.rows)

    def __iter__(self) -> Iterator[Claim]:
        return iter(self.rows)

    def __getitem__(self, index: int) -> Claim:
        return self.rows[index]

    def to_pandas(self) -> pandas.DataFrame:
        """A frame with a row a claim; with measurements, a row for every cell that one is about."""
        lines: list[dict[str, Any]] = []
        for claim in self.rows:
            printed = asdict(claim)
            del printed["measured"]
            for match in claim.measured:
                lines.append({**printed, **{f"here_{key}": value for key, value in asdict(match).items()}})
            if not claim.measured:
                lines.append(printed)
        return frame(lines)

    def __str__(self) -> str:
        lines = []
        for claim in self.rows:
            spread = "" if math.isnan(claim.std) else f" ± {claim.std}"
            number = f"{claim.value}{spread} {claim.unit}".rstrip()
            lines.append(f"{claim.paper}, {claim.table}: {claim.row}, {claim.column}: {number}")
            lines.extend(f"    {match.label}: {match.sentence}" for match in claim.measured)
        return "\n".join(lines)


def _summary(one: analysis_service_pb2.ClaimSummary) -> ClaimSummary:
    return ClaimSummary(
        paper=one.paper,
        table=one.table,
        numbers=one.numbers,
        agrees=one.agrees,
        contradicts=one.contradicts,
        undecided=one.undecided,
        not_comparable=one.not_comparable,
        same_direction=one.same_direction,
        opposite_direction=one.opposite_direction,
        open_direction=one.open_direction,
        why={each.name: each.count for each in one.why},
        settings={each.name: each.count for each in one.settings},
    )


def _claim(table: analysis_service_pb2.ClaimTable, one: analysis_service_pb2.Claim) -> Claim:
    return Claim(
        paper=table.paper,
        table=table.table,
        row=one.row,
        column=one.column,
        prior=json.loads(one.prior_json) if one.prior_json else None,
        metric=one.metric,
        unit=one.unit,
        direction=one.direction,
        value=one.value,
        std=one.std,
        n=one.n or None,
        baseline=one.baseline,
        difference=one.difference,
        note=one.note,
        setting={each.name: each.value for part in (table.setting, one.setting) for each in part},
        options={each.name: each.value for each in one.options if getattr(each, "from") != "code"},
        code_options={each.name: each.value for each in one.options if getattr(each, "from") == "code"},
        verdict=one.verdict,
        why=one.why,
        measured=[
            ClaimMatch(
                cell=match.cell,
                label=match.label,
                n=match.n,
                mean=match.mean,
                std=match.std,
                difference=match.difference,
                difference_low=match.difference_low,
                difference_high=match.difference_high,
                pairs=match.pairs,
                sentence=match.sentence,
                verdict=match.verdict,
                differences=list(match.differences),
            )
            for match in one.measured
        ],
    )
