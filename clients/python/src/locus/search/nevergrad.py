"""Nevergrad proposes: locus.search.nevergrad.NevergradSearch."""

from __future__ import annotations

from typing import Any

from locus._wire import refuse
from locus.frames import wanted
from locus.search.external import ExternalSearch, Proposal, Searchable, SpaceDimension


class NevergradSearch(ExternalSearch):
    """An optimizer of Nevergrad by its name in `nevergrad.optimizers.registry`, built from the log at every ask.

    It is told the finished proposals, in their order, each at its value; it knows nothing of running ones, which its
    seed alone keeps apart, nor of those that were stopped early. `budget` is how many proposals it plans for, where the
    optimizer wants to know. One that cannot be told what it did not ask for is refused.
    """

    def __init__(self, search: Searchable, optimizer: str = "OnePlusOne", budget: int | None = None) -> None:
        super().__init__(search)
        self._nevergrad = wanted("nevergrad", "NevergradSearch", "install the wheel with [nevergrad]")
        registry = self._nevergrad.optimizers.registry
        if optimizer not in registry:
            refuse(f"Nevergrad has no optimizer {optimizer!r}; see nevergrad.optimizers.registry", "optimizer")
        self._optimizer = optimizer
        self._budget = budget
        self.proposer = f"nevergrad {self._nevergrad.__version__} {optimizer}"

    def suggest(self, space: list[SpaceDimension], told: list[Proposal], maximize: bool, seed: int) -> dict[str, Any]:
        import numpy

        ng = self._nevergrad
        parametrization = ng.p.Dict(**{f"p{i}": self._parameter(one) for i, one in enumerate(space)})
        parametrization.random_state = numpy.random.RandomState(seed)
        optimizer = ng.optimizers.registry[self._optimizer](parametrization, budget=self._budget)
        for _ in told:  # its first answer is often the middle of the space, whatever it is told before
            optimizer.ask()
        for one in told:
            if one.state != "complete" or one.value is None:
                continue
            candidate = parametrization.spawn_child(
                new_value={f"p{i}": self._told(each, one.values[each.path]) for i, each in enumerate(space)}
            )
            try:
                optimizer.tell(candidate, -one.value if maximize else one.value)
            except ng.errors.TellNotAskedNotSupportedError:
                refuse(f"{self._optimizer} cannot be told what it did not ask for; take another optimizer", "optimizer")
        values = optimizer.ask().value
        return {
            each.path: each.choices[values[f"p{i}"]] if each.kind == "choice" else values[f"p{i}"]
            for i, each in enumerate(space)
        }

    def _told(self, dimension: SpaceDimension, value: Any) -> Any:
        return dimension.place(value) if dimension.kind == "choice" else value

    def _parameter(self, dimension: SpaceDimension) -> Any:
        p = self._nevergrad.p
        if dimension.kind == "choice":
            return p.Choice(list(range(len(dimension.choices))))
        if dimension.kind == "log":
            return p.Log(lower=dimension.low, upper=dimension.high)
        scalar = p.Scalar(lower=dimension.low, upper=dimension.high)
        return scalar.set_integer_casting() if dimension.kind == "int" else scalar
