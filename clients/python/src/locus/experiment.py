"""An experiment on a server."""

from __future__ import annotations

import json
import time
from typing import TYPE_CHECKING, Any, Mapping

from locus import errors
from locus.paper import PaperTable
from locus.progress import Progress
from locus.results import Curves, Leaderboard
from locus.v1 import analysis_pb2, experiment_service_pb2, trial_pb2

if TYPE_CHECKING:
    from locus.client import Client

OVER = ("completed", "failed", "cancelled")
AWAY_MOST = 1800.0  # seconds: a server away for longer is not restarting


class Experiment:
    """What the server said last; refresh() asks again."""

    def __init__(self, client: Client, message: experiment_service_pb2.Experiment) -> None:
        self.client = client
        self.message = message
        """The message itself, with everything that has no property here."""

    def __repr__(self) -> str:
        return f"<Experiment {self.name}: {self.state}, {self.message.trials_done} of {self.message.trials} trials>"

    @property
    def name(self) -> str:
        return self.message.name

    @property
    def state(self) -> str:
        """"active", "paused", "cancelled", "completed" or "failed"."""
        return self.message.state

    @property
    def over(self) -> bool:
        return self.state in OVER

    @property
    def specification(self) -> dict[str, Any]:
        out: dict[str, Any] = json.loads(self.message.spec_json)
        return out

    def refresh(self) -> Experiment:
        request = experiment_service_pb2.GetExperimentRequest(name=self.name)
        self.message = self.client.call(self._stub.GetExperiment, request)
        return self

    def wait(self, *, timeout: float | None = None, progress: bool | None = None, check: bool = True) -> Experiment:
        """Waits until it is over; TimeoutError after `timeout` seconds.

        Shows a progress bar on a terminal or in a notebook; `progress` says so for certain. Outlives restarts of the
        server. With `check`, an experiment that did not complete raises ExperimentFailed with the reasons.
        """
        until = None if timeout is None else time.monotonic() + timeout
        bar = Progress(progress)
        try:
            self._follow(bar, until)
        finally:
            bar.close()
        if check and self.state != "completed":
            raise errors.ExperimentFailed(self._failure(), self)
        return self

    def leaderboard(
        self, *, metric: str = "", split: str = "", labels: Mapping[str, Any] | None = None
    ) -> Leaderboard:
        """The table: means, paired differences from the baseline, exact tests. The numbers of `locus leaderboard`."""
        request = analysis_pb2.GetTableRequest(
            experiment=self.name, metric=metric, split=split, labels=_canonical(labels) if labels else ""
        )
        return Leaderboard(self.client.call(self._stub.GetTable, request))

    def paper_table(self, **options: Any) -> PaperTable:
        """The table for the paper; `options` as those of Client.paper_table()."""
        return self.client.paper_table([self.name], **options)

    def curves(
        self,
        metric: str = "",
        *,
        split: str = "",
        labels: Mapping[str, Any] | None = None,
        max_points: int = 400,
    ) -> Curves:
        """Curves of one metric over the steps, a trial each; `metric` defaults to the experiment's own.

        Curves with more than `max_points` points are reduced so that every spike survives.
        """
        request = analysis_pb2.GetCurvesRequest(
            experiment=self.name,
            metric=metric or self.message.primary_metric,
            split=split,
            labels=_canonical(labels) if labels else "",
            max_points=max_points,
        )
        return Curves(self.client.call(self._stub.GetCurves, request))

    def trials(self) -> list[trial_pb2.Trial]:
        """Every trial with its state, by number."""
        out: list[trial_pb2.Trial] = []
        request = trial_pb2.ListTrialsRequest(experiment=self.name, page_size=1000)
        while True:
            page = self.client.call(self._stub.ListTrials, request)
            out.extend(page.trials)
            request.page_token = page.next_page_token
            if not request.page_token:
                return out

    def trial(self, number: int) -> trial_pb2.TrialDetail:
        """One trial in full: configuration, attempts with their reasons, results, checkpoints."""
        return self.client.call(self._stub.GetTrial, trial_pb2.GetTrialRequest(name=f"{self.name}/{number}"))

    def why(self, number: int) -> str:
        """Why a trial is in its state, in a sentence."""
        request = trial_pb2.ExplainRequest(trial=f"{self.name}/{number}")
        return self.client.call(self._stub.Explain, request).sentence

    def pause(self) -> Experiment:
        return self._verb(self._stub.PauseExperiment, experiment_service_pb2.PauseExperimentRequest(name=self.name))

    def resume(self) -> Experiment:
        return self._verb(self._stub.ResumeExperiment, experiment_service_pb2.ResumeExperimentRequest(name=self.name))

    def cancel(self) -> Experiment:
        return self._verb(self._stub.CancelExperiment, experiment_service_pb2.CancelExperimentRequest(name=self.name))

    def rerun(self) -> int:
        """Queues failed, held and cancelled stages again; how many."""
        request = experiment_service_pb2.RerunExperimentRequest(name=self.name)
        answer = self.client.call(self._stub.RerunExperiment, request)
        self.message = answer.experiment
        return int(answer.stages)

    def delete(self, *, dry_run: bool = False, force: bool = False) -> experiment_service_pb2.DeleteExperimentResponse:
        """Removes it with everything that no other experiment uses; `dry_run` only says what would go."""
        request = experiment_service_pb2.DeleteExperimentRequest(name=self.name, dry_run=dry_run, force=force)
        return self.client.call(self._stub.DeleteExperiment, request)

    @property
    def _stub(self) -> Any:
        return self.client._experiments

    def _verb(self, method: Any, request: object) -> Experiment:
        self.message = self.client.call(method, request)
        return self

    def _follow(self, bar: Progress, until: float | None) -> None:
        answered = time.monotonic()
        pause = 0.1
        while True:
            try:
                for _ in self._changes(until):
                    bar.show(self.refresh().message)
                    answered, pause = time.monotonic(), 0.1
                    if self.over:
                        return
            except errors.Unavailable as error:
                if time.monotonic() - answered > AWAY_MOST:
                    raise
                bar.note(f"the server does not answer; waiting for it ({error.metadata.get('found', error.code)})")
            if until is not None and time.monotonic() >= until:
                raise TimeoutError(f"{self.name} is {self.state} after the time-out; ask again with wait()")
            time.sleep(min(pause, max(0.0, until - time.monotonic())) if until is not None else pause)
            pause = min(pause * 2, 5.0)

    def _changes(self, until: float | None) -> Any:
        """Yields at once and then whenever something changed, and every 15 s as a sign of life."""
        request = experiment_service_pb2.WatchEventsRequest(cursor=-1, experiment=self.name)
        deadline = None if until is None else max(0.01, until - time.monotonic())
        # Open before the state is read for the first time, so that no change falls between the two.
        stream = self.client.stream(self._stub.WatchEvents, request, deadline)
        yield None
        yield from stream

    def _failure(self) -> str:
        reasons = sorted({one.reason for one in self.trials() if one.state in ("failed", "held") and one.reason})
        shown = "; ".join(reasons[:3]) + (f" and {len(reasons) - 3} more reasons" if len(reasons) > 3 else "")
        done = f"{self.message.trials_done} of {self.message.trials} trials"
        return f"{self.name} {self.state} with {done}" + (f": {shown}" if shown else "")


def _canonical(labels: Mapping[str, Any]) -> str:
    return json.dumps(labels, sort_keys=True, separators=(",", ":"))
