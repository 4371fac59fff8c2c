"""Tables and curves, as dataclasses and as pandas frames."""

from __future__ import annotations

import html
import math
from dataclasses import asdict, dataclass, field
from typing import TYPE_CHECKING, Any, Iterator

from locus import plots
from locus._wire import read, refuse
from locus.frames import frame
from locus.trials import SeriesKey

if TYPE_CHECKING:
    import pandas

    from locus.v1 import analysis_pb2


@dataclass(frozen=True)
class LeaderboardRow:
    """One cell. Numbers are as computed, NaN where undefined; differences are this minus the baseline, paired by seed."""

    rank: int | None
    label: str
    baseline: bool
    n: int
    missing_seeds: list[int]
    mean: float
    std: float
    ci_low: float
    ci_high: float
    pairs: int
    difference: float
    difference_std: float
    difference_low: float
    difference_high: float
    p_sign_flip: float
    p_floor: float
    p_t: float
    p_holm: float
    parameters: int | None = field(metadata={"none": -1})
    parameters_added: int | None = field(metadata={"none": -1})
    ms_per_step: float
    selection: float
    cell: int
    assignment: dict[str, Any] = field(hash=False)
    values: dict[int, float] = field(hash=False)
    """By seed."""
    trials: dict[int, str] = field(hash=False)
    """Where they come from, by seed."""
    baseline_label: str
    """Of the cell it is compared with; empty: none, or this is one."""
    baseline_cell: int | None
    baseline_mean: float
    """NaN without one; of a baseline its own."""
    ms_per_step_std: float
    times_vary: bool
    """One seed's steps took half as long again as another's: something else ran there."""
    chosen_by: str
    """Where a search or phase chose it: "validation, the best of 32"."""
    standing: str
    """Of a unit that its search did not send to the end, so that it is compared with nothing: "raced", "stopped" or
    "parked"."""
    mean_all: float
    """Over all seeds, where `mean` is over the best; otherwise as `mean`."""
    std_all: float


@dataclass(frozen=True)
class SweepPoint:
    """A cell at one label set of a sweep; `x` is the one label that varies, NaN when it is no number."""

    labels: str
    x: float
    mean: float
    std: float
    n: int


@dataclass(frozen=True)
class SweepSeries:
    """A cell over the label sets of a sweep, such as its resolutions."""

    cell: int
    label: str
    points: list[SweepPoint] = field(hash=False)


class Leaderboard:
    """The table of an experiment, best first; rows without any result last."""

    def __init__(self, message: analysis_pb2.Table) -> None:
        self.message = message
        self.rows: list[LeaderboardRow] = []
        for one in message.rows:
            measured = sum(row.rank is not None for row in self.rows)
            self.rows.append(_row(one, None if math.isnan(one.mean) else measured + 1))
        self.experiment: str = message.experiment
        self.metric: str = message.metric
        self.split: str = message.split
        self.labels: str = message.labels
        self.unit: str = message.unit
        self.direction: str = message.direction
        """"max" or "min"; empty: it was not declared, so nothing is called best."""
        self.reduce: str = message.reduce
        """What of a trial's series counts: "last", "best", "top-3", "mean", "at-step-300"."""
        self.selects_on: str = message.selects_on
        """The split that chooses it; empty where nothing is chosen."""
        self.baseline: str = message.baseline
        """What the rows are compared with: a label, or "none, same train.lr"; a row's own is its `baseline_label`."""
        self.correction: str = message.correction
        """"holm over 5 comparisons"."""
        self.matched: str = message.matched
        """"only the prior differs", or what else does."""
        self.seeds: int = message.seeds
        """Replicates asked for."""
        self.label_sets: list[str] = list(message.label_sets)
        """Every label set this metric and split has results for."""
        self.sweep: list[SweepSeries] = [read(SweepSeries, one) for one in message.sweep]
        self.available: list[SeriesKey] = [read(SeriesKey, one) for one in message.available]
        """Everything some trial has a result of."""
        self.top_seeds: int = message.top_seeds
        """Means are over so many best seeds by this very metric, without spread, interval and test; 0: over all."""
        self.chosen: bool = message.chosen
        """A row for each group of a search, of the proposal that the split that selects chose."""
        self.chose: bool = message.chose
        """The values of this metric and split have chosen: nothing is ranked, tested or marked."""
        self.phase: str = message.phase
        self.phases: list[str] = list(message.phases)
        """That the experiment has; empty without."""
        self.warnings: list[str] = list(message.warnings)
        """Missing seeds, mixed devices and the like: read them before believing the table."""

    def __len__(self) -> int:
        return len(self.rows)

    def __iter__(self) -> Iterator[LeaderboardRow]:
        return iter(self.rows)

    def __getitem__(self, index: int) -> LeaderboardRow:
        return self.rows[index]

    def to_pandas(self) -> pandas.DataFrame:
        """A frame with a row a cell, indexed by label."""
        columns = list(LeaderboardRow.__dataclass_fields__)
        out: pandas.DataFrame = frame([asdict(row) for row in self.rows], columns).set_index("label")
        return out

    def plot(self, ax: Any = None) -> Any:
        """Means with their 95 % intervals and every seed's value, best above; needs matplotlib. The axes drawn on."""
        axes = plots.axes(ax)
        rows = [row for row in self.rows if row.rank is not None]
        for height, row in enumerate(reversed(rows)):
            color = "0.55" if row.baseline else f"C{height % 10}"
            if not math.isnan(row.ci_low):
                axes.plot([row.ci_low, row.ci_high], [height, height], color=color, linewidth=2, alpha=0.6)
            axes.plot(list(row.values.values()), [height] * len(row.values), "|", color=color)
            axes.plot([row.mean], [height], "o", color=color)
        axes.set_yticks(range(len(rows)), [row.label for row in reversed(rows)])
        unit = f" ({self.unit})" if self.unit else ""
        axes.set_xlabel(f"{self.metric}{unit}, {self.split}")
        return axes

    def __str__(self) -> str:
        lines = [f"{self.experiment}: {self.metric} on {self.split}, {self.seeds} seeds"]
        width = max([len(row.label) for row in self.rows], default=0)
        for row in self.rows:
            text = f"{row.rank or '-':>3}  {row.label:<{width}}  {row.mean:.4f} ± {row.std:.4f}  n={row.n}"
            if row.pairs:
                text += f"  {row.difference:+.4f} vs baseline, p={row.p_sign_flip:.4f} (lowest {row.p_floor:.4f})"
            lines.append(text)
        return "\n".join(lines + [f"warning: {one}" for one in self.warnings])

    def _repr_html_(self) -> str:
        cells = "".join(
            f"<tr><td>{row.rank or ''}</td><td>{html.escape(row.label)}</td><td>{row.n}</td>"
            f"<td>{row.mean:.3f} ± {row.std:.3f}</td><td>{row.difference:+.3f}</td><td>{row.p_sign_flip:.4f}</td></tr>"
            for row in self.rows
        )
        head = "".join(f"<th>{one}</th>" for one in ("#", "cell", "n", "mean ± std", "difference", "p"))
        return f"<table><tr>{head}</tr>{cells}</table>"


def _row(one: analysis_pb2.TableRow, rank: int | None) -> LeaderboardRow:
    values = {value.seed: value.value for value in one.values}
    trials = {value.seed: value.trial for value in one.values}
    against = one.baseline_cell if one.baseline_label else None
    return read(LeaderboardRow, one, rank=rank, values=values, trials=trials, baseline_cell=against)


@dataclass(frozen=True)
class Curve:
    """One trial's points of the metric, in step order."""

    trial: int
    cell: int
    label: str
    seed: int
    step: list[int]
    value: list[float]
    reduced: bool
    """More points are stored than were asked for; every spike is among these."""
    epoch: list[float]
    images: list[int]
    seconds: list[float]
    """Of training so far."""


class Curves:
    """The curves of a metric, a trial each."""

    def __init__(self, message: analysis_pb2.Curves) -> None:
        self.message = message
        labels = {cell.cell: cell.label for cell in message.cells}
        self.rows = [_curve(one, labels.get(one.cell, "")) for one in message.trials]

    @property
    def available(self) -> list[tuple[str, str, str]]:
        """Metric, split and labels of every series the experiment has."""
        return [(key.metric, key.split, key.labels) for key in self.message.available]

    def __len__(self) -> int:
        return len(self.rows)

    def __iter__(self) -> Iterator[Curve]:
        return iter(self.rows)

    def __getitem__(self, index: int) -> Curve:
        return self.rows[index]

    def to_pandas(self) -> pandas.DataFrame:
        """A long frame: trial, cell, label, seed, step, epoch, images, seconds, value."""
        points = [
            (one.trial, one.cell, one.label, one.seed, *point)
            for one in self.rows
            for point in zip(one.step, one.epoch, one.images, one.seconds, one.value)
        ]
        return frame(points, ["trial", "cell", "label", "seed", "step", "epoch", "images", "seconds", "value"])

    def plot(self, x: str = "step", ax: Any = None) -> Any:
        """Each cell's mean and band over "step", "epoch", "images" or "seconds"; needs matplotlib. The axes drawn on."""
        if x not in plots.ABSCISSAS:
            refuse(f"no curve runs over {x!r}; there are {', '.join(plots.ABSCISSAS)}", "x")
        axes = plots.axes(ax)
        for cell in self.message.cells:
            across = list(getattr(cell, x))
            axes.plot(across, list(cell.mean), label=cell.label)
            color = axes.lines[-1].get_color()
            axes.fill_between(across, list(cell.low), list(cell.high), color=color, alpha=0.2, lw=0)
        axes.set_xlabel(plots.ABSCISSAS[x])
        axes.set_ylabel(" ".join(filter(None, (self.message.split, self.message.metric))))
        if self.message.cells:
            axes.legend()
        return axes


def _curve(one: analysis_pb2.TrialCurve, label: str) -> Curve:
    return Curve(
        trial=one.trial,
        cell=one.cell,
        label=label,
        seed=one.seed,
        step=list(one.step),
        value=list(one.value),
        reduced=one.reduced,
        epoch=list(one.epoch),
        images=list(one.images),
        seconds=list(one.seconds),
    )
