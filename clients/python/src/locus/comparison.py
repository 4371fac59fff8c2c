"""Trials or cells side by side."""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from locus.frames import frame
from locus.trials import SeriesKey

if TYPE_CHECKING:
    import pandas


@dataclass(frozen=True)
class SeedValue:
    seed: int
    value: float
    trial: str


@dataclass(frozen=True)
class ComparedItem:
    name: str
    kind: str
    """"trial" or "cell"."""
    experiment: str
    cell: int
    label: str
    title: str
    """Short, unique among the items."""
    trials: list[int] = field(hash=False)
    seeds: list[int] = field(hash=False)
    values: list[SeedValue] = field(hash=False)
    standing: str
    """"raced", "stopped" or "parked" where a search did not send it to its end; then nothing is tested."""
    chosen_by: str
    mean: float
    """Of the metric compared; over the best seeds where `top_seeds` says so."""
    mean_all: float
    """Over all seeds."""


@dataclass(frozen=True)
class ComparedPart:
    """An option within a setting that differs, such as `prior.violin.sigma`: its values by item, None where an item has
    no such option or its default."""

    path: str
    values: list[Any] = field(hash=False, metadata={"json": True})


@dataclass(frozen=True)
class ComparedSetting:
    """A setting's values by item; None: the item has no such setting."""

    path: str
    values: list[Any] = field(hash=False, metadata={"json": True})
    texts: list[str] = field(hash=False, metadata={"from": "values"})
    """Likewise, as people read them: "violin (sigma=0.1)"."""
    parts: list[ComparedPart] = field(hash=False)


@dataclass(frozen=True)
class ComparedResult:
    """A result's means by item, NaN without a value."""

    key: SeriesKey
    reducer: str
    n: list[int] = field(hash=False)
    mean: list[float] = field(hash=False)
    std: list[float] = field(hash=False)


@dataclass(frozen=True)
class PairedDifference:
    """An item minus the first, paired by seed."""

    item: int
    n: int
    mean: float
    std: float
    low: float
    high: float
    p_sign_flip: float
    p_floor: float
    p_t: float
    seeds: list[int] = field(hash=False)
    differences: list[float] = field(hash=False)


@dataclass(frozen=True)
class Comparison:
    """Settings that differ and that do not, results, paired differences of each item from the first."""

    items: list[ComparedItem] = field(hash=False)
    differing: list[ComparedSetting] = field(hash=False)
    common: list[ComparedSetting] = field(hash=False)
    results: list[ComparedResult] = field(hash=False)
    paired: list[PairedDifference] = field(hash=False)
    metric: str
    split: str
    labels: str
    direction: str
    unit: str
    warnings: list[str] = field(hash=False)
    top_seeds: int
    """Means are over so many best seeds by this very metric; 0: over all. `paired` is of all seeds whatever it says."""

    def to_pandas(self) -> pandas.DataFrame:
        """A frame of results: a row for each result and item."""
        lines = [
            {
                "metric": one.key.metric,
                "split": one.key.split,
                "labels": one.key.labels,
                "reducer": one.reducer,
                "item": item.name,
                "label": item.label,
                "n": one.n[index],
                "mean": one.mean[index],
                "std": one.std[index],
            }
            for one in self.results
            for index, item in enumerate(self.items)
        ]
        return frame(lines)

    def settings(self) -> pandas.DataFrame:
        """A frame of the settings that differ: a row a setting, a column an item."""
        table = frame([one.values for one in self.differing], [item.name for item in self.items])
        table.index = [one.path for one in self.differing]
        return table

    def __str__(self) -> str:
        lines = [" | ".join(item.name for item in self.items)]
        lines += [f"{one.path}: " + " | ".join(map(str, one.values)) for one in self.differing]
        for pair in self.paired:
            text = f"{self.items[pair.item].name} - {self.items[0].name}: {self.metric} "
            if math.isnan(pair.mean):
                text += "has no pair of seeds"
            else:
                text += f"{pair.mean:+.4f}, n={pair.n}, p={pair.p_sign_flip:.4f} (lowest {pair.p_floor:.4f})"
            lines.append(text)
        return "\n".join(lines + [f"warning: {one}" for one in self.warnings])
