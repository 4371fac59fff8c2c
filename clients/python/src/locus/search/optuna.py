"""Optuna proposes: locus.search.optuna.OptunaSearch."""

from __future__ import annotations

from typing import Any, Callable

from locus.frames import wanted
from locus.search.external import ExternalSearch, Proposal, Searchable, SpaceDimension

_STATES = {"complete": "COMPLETE", "pruned": "PRUNED", "running": "RUNNING", "failed": "FAIL"}


class OptunaSearch(ExternalSearch):
    """A sampler of Optuna, TPE by default, over a study that is built from the log at every ask.

    `sampler` makes one from a seed, such as `lambda seed: optuna.samplers.GPSampler(seed=seed)`. A study holds what the
    log says: finished proposals with their values at the top, stopped and parked ones as pruned with those of their
    rungs, others as running. No state of Optuna is stored anywhere, so the same log gives the same proposal.
    """

    def __init__(self, search: Searchable, sampler: Callable[[int], Any] | None = None) -> None:
        super().__init__(search)
        self._optuna = wanted("optuna", "OptunaSearch", "install the wheel with [optuna]")
        self._sampler = sampler or (lambda seed: self._optuna.samplers.TPESampler(seed=seed))
        self.proposer = f"optuna {self._optuna.__version__} {type(self._sampler(0)).__name__}"

    def suggest(self, space: list[SpaceDimension], told: list[Proposal], maximize: bool, seed: int) -> dict[str, Any]:
        optuna = self._optuna
        level = optuna.logging.get_verbosity()
        optuna.logging.set_verbosity(optuna.logging.WARNING)  # a study is made for every ask
        try:
            study = optuna.create_study(direction="maximize" if maximize else "minimize", sampler=self._sampler(seed))
        finally:
            optuna.logging.set_verbosity(level)
        distributions = {one.path: self._distribution(one) for one in space}
        for one in told:
            study.add_trial(self._trial(one, space, distributions))
        trial = study.ask(distributions)
        return {
            one.path: one.choices[trial.params[one.path]] if one.kind == "choice" else trial.params[one.path]
            for one in space
        }

    def _distribution(self, dimension: SpaceDimension) -> Any:
        distributions = self._optuna.distributions
        if dimension.kind == "int":
            return distributions.IntDistribution(int(dimension.low), int(dimension.high))
        if dimension.kind == "choice":  # by place: a choice may be a list or a mapping
            return distributions.CategoricalDistribution(list(range(len(dimension.choices))))
        return distributions.FloatDistribution(dimension.low, dimension.high, log=dimension.kind == "log")

    def _trial(self, one: Proposal, space: list[SpaceDimension], distributions: dict[str, Any]) -> Any:
        params = {
            each.path: each.place(one.values[each.path]) if each.kind == "choice" else one.values[each.path]
            for each in space
        }
        return self._optuna.trial.create_trial(
            state=self._optuna.trial.TrialState[_STATES[one.state]],
            value=one.value if one.state == "complete" else None,
            params=params,
            distributions=distributions,
            intermediate_values={rung: score for rung, score in one.scores.items()},
        )
