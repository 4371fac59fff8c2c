"""An experiment on a server."""

from __future__ import annotations

import json
import os
import time
from pathlib import Path
from typing import TYPE_CHECKING, Any, Iterable, Iterator, Mapping, NoReturn

from locus import errors, pictures
from locus._wire import labels_json, read, request
from locus.foreign import ForeignSeries, Import, foreign_message, imported
from locus.frames import Rows
from locus.pictures import Numbers, Picture
from locus.pivot import Names, PivotTable
from locus.plans import Annotation, Deletion
from locus.progress import Progress
from locus.results import Curves, Leaderboard
from locus.search import Search
from locus.trials import Artifact, Trial, TrialDetail
from locus.v1 import analysis_pb2, artifact_service_pb2, experiment_service_pb2, metric_service_pb2, trial_pb2

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

    @property
    def search(self) -> Search:
        """Its search, whose calls raise NotFound (SEARCH_NOT_FOUND) where nothing is decided."""
        return Search(self)

    def refresh(self) -> Experiment:
        question = experiment_service_pb2.GetExperimentRequest(name=self.name)
        self.message = self.client.call(self._stub.GetExperiment, question)
        return self

    def wait(self, *, timeout: float | None = None, progress: bool | None = None, check: bool = True) -> Experiment:
        """Waits until it is over; TimedOut, which is a TimeoutError, after `timeout` seconds.

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
        self,
        *,
        metric: str = "",
        split: str = "",
        labels: Mapping[str, Any] | str | None = None,
        phase: str = "",
        proposals: bool = False,
    ) -> Leaderboard:
        """The table: means, paired differences from the baseline, exact tests. The numbers of `locus leaderboard`.

        Of an experiment with phases that of `phase`, by default the last; of a search with `proposals` every one.
        """
        question = request(
            analysis_pb2.GetTableRequest,
            experiment=self.name,
            metric=metric,
            split=split,
            labels=labels_json(labels),
            phase=phase,
            proposals=proposals,
        )
        return Leaderboard(self.client.call(self._stub.GetTable, question))

    def pivot_table(
        self,
        *,
        rows: Names = (),
        columns: Names = (),
        metrics: Names = (),
        where: Mapping[str, Any] | None = None,
        test: str = "",
        correction: str = "",
        level: float = 0.0,
        alpha: float = 0.0,
        spread: str = "",
        digits: int = 0,
        differences: bool = False,
        detect: float = 0.0,
        phase: str = "",
        proposals: bool = False,
        **unknown: NoReturn,
    ) -> PivotTable:
        """The pivot table; the arguments are those of Client.pivot_table()."""
        return self.client.pivot_table(
            [self.name],
            rows=rows,
            columns=columns,
            metrics=metrics,
            where=where,
            test=test,
            correction=correction,
            level=level,
            alpha=alpha,
            spread=spread,
            digits=digits,
            differences=differences,
            detect=detect,
            phase=phase,
            proposals=proposals,
            **unknown,
        )

    def curves(
        self,
        metric: str = "",
        *,
        split: str = "",
        labels: Mapping[str, Any] | str | None = None,
        max_points: int = 400,
        band: str = "",
    ) -> Curves:
        """Curves of one metric over the steps, a trial each; `metric` defaults to the experiment's own.

        Curves with more than `max_points` points are reduced so that every spike survives. `band`, around a cell's
        mean: "std" (the default) or "interval".
        """
        question = request(
            analysis_pb2.GetCurvesRequest,
            experiment=self.name,
            metric=metric or self.message.primary_metric,
            split=split,
            labels=labels_json(labels),
            max_points=max_points,
            band=band,
        )
        return Curves(self.client.call(self._stub.GetCurves, question))

    def foreign(
        self, metric: str = "", *, split: str = "", labels: Mapping[str, Any] | str | None = None
    ) -> list[Import]:
        """Series of other programs that were put beside it, to be looked at: nothing ranks, compares or claims them.

        With `metric`, that series alone of each run, with its points; without one what there is, without points.
        """
        question = request(
            metric_service_pb2.ListForeignSeriesRequest,
            experiment=self.name,
            metric=metric,
            split=split,
            labels=labels_json(labels),
        )
        answer = self.client.call(self.client._metrics.ListForeignSeries, question)
        return [imported(one) for one in answer.imports]

    def import_series(self, source: str, series: Iterable[ForeignSeries], *, format: str = "python") -> Import:
        """Puts what one run of another program measured beside it. The same series again change nothing.

        `source` says where they come from, for people. `locus import` reads TensorBoard's files and CSV.
        """
        question = request(metric_service_pb2.ImportSeriesRequest, experiment=self.name, source=source, format=format)
        question.series.extend(foreign_message(one) for one in series)
        return imported(self.client.call(self.client._metrics.ImportSeries, question))

    def remove_import(self, digest: str) -> Import:
        """Lets go of one import; what it was. NotFound (SERIES_NOT_FOUND) where there is none."""
        question = request(metric_service_pb2.RemoveImportRequest, experiment=self.name, digest=digest)
        return imported(self.client.call(self.client._metrics.RemoveImport, question))

    def trials(self) -> Rows[Trial]:
        """Every trial with its state, by number."""
        question = trial_pb2.ListTrialsRequest(experiment=self.name, page_size=1000)
        pages = self.client.pages(self._stub.ListTrials, question)
        return Rows(Trial, [read(Trial, one) for page in pages for one in page.trials])

    def trial(self, number: int) -> TrialDetail:
        """One trial in full: configuration, attempts with their reasons, results, checkpoints."""
        question = trial_pb2.GetTrialRequest(name=self._of(number))
        return read(TrialDetail, self.client.call(self._stub.GetTrial, question))

    def why(self, number: int) -> str:
        """Why a trial is in its state, in a sentence."""
        question = trial_pb2.ExplainRequest(trial=self._of(number))
        return self.client.call(self._stub.Explain, question).sentence

    def logs(self, number: int, *, stage: str = "", attempt: int = 0) -> str:
        """What a trial's trainer printed, the last MiB: the newest attempt of the stage that ran last, or of "train"."""
        return "".join(self._log(number, stage, attempt, follow=False))

    def follow_logs(self, number: int, *, stage: str = "", attempt: int = 0) -> Iterator[str]:
        """The same in pieces as they are printed, until the attempt has ended."""
        return self._log(number, stage, attempt, follow=True)

    def artifacts(self, number: int | None = None) -> Rows[Artifact]:
        """The checkpoints and outputs of all trials, or of one. Client.download() fetches one."""
        name = self.name if number is None else self._of(number)
        question = artifact_service_pb2.ListArtifactsRequest(name=name, page_size=1000)
        pages = self.client.pages(self.client._artifacts.ListArtifacts, question)
        return Rows(Artifact, [read(Artifact, one) for page in pages for one in page.artifacts])

    def picture(
        self,
        number: int,
        *,
        attention: bool = False,
        checkpoint: int | str | None = None,
        layers: Numbers = (),
        queries: Numbers = (),
        images: Numbers = (),
        split: str = "",
        stage: int = 0,
    ) -> Picture:
        """What training made of a trial's prior, beside its initialization; with `attention`, where the model looks.

        Drawn by the server from the newest weights there are. `checkpoint` names others: a step that was kept
        (`train: {snapshots: 4}` keeps some on the way), "best" on validation, "initial". `images` are rows of `split`
        ("test", unless you say "train" or "validation"); attention is of the first without any. `layers` and `queries`
        (patches) narrow it down. `stage` is that of the network, counted from 0, whose grid or window is shown.
        """
        return pictures.of_trial(
            self.client,
            self._of(number),
            attention=attention,
            checkpoint=checkpoint,
            layers=layers,
            queries=queries,
            images=images,
            split=split,
            stage=stage,
        )

    def export(self, path: str | os.PathLike[str], *, points: bool = True) -> Path:
        """Writes everything of it as JSON lines (docs/formats/export.md); `points` False leaves out the series.

        The file appears whole or not at all.
        """
        return self.client.save(path, self._exported(points))

    def records(self, *, points: bool = True) -> Iterator[dict[str, Any]]:
        """The lines of export(), one by one, as dictionaries."""
        rest = b""
        for chunk in self._exported(points):
            *lines, rest = (rest + chunk).split(b"\n")
            yield from (json.loads(line) for line in lines if line)
        if rest:
            yield json.loads(rest)

    @property
    def tags(self) -> list[str]:
        return list(self.message.tags)

    @property
    def note(self) -> str:
        return self.message.note

    def annotate(
        self, *, add: Names = (), remove: Names = (), note: str | None = None, trial: int | None = None
    ) -> Annotation:
        """Adds and takes away tags, and replaces the note, of the experiment or of one trial; what it then has.

        Nothing measured depends on them. A note of "" takes it away, None leaves it.
        """
        name = self.name if trial is None else self._of(trial)
        question = request(
            experiment_service_pb2.AnnotateRequest, name=name, add_tags=add, remove_tags=remove, note=note
        )
        answer = read(Annotation, self.client.call(self._stub.Annotate, question))
        if trial is None:
            self.refresh()
        return answer

    def pause(self) -> Experiment:
        return self._verb(self._stub.PauseExperiment, experiment_service_pb2.PauseExperimentRequest(name=self.name))

    def resume(self) -> Experiment:
        return self._verb(self._stub.ResumeExperiment, experiment_service_pb2.ResumeExperimentRequest(name=self.name))

    def cancel(self) -> Experiment:
        return self._verb(self._stub.CancelExperiment, experiment_service_pb2.CancelExperimentRequest(name=self.name))

    def rerun(self) -> int:
        """Queues failed, held and cancelled stages again; how many."""
        question = experiment_service_pb2.RerunExperimentRequest(name=self.name)
        answer = self.client.call(self._stub.RerunExperiment, question)
        self.message = answer.experiment
        return int(answer.stages)

    def delete(self, *, dry_run: bool = False, force: bool = False) -> Deletion:
        """Removes it with everything that no other experiment uses; `dry_run` only says what would go."""
        question = request(
            experiment_service_pb2.DeleteExperimentRequest, name=self.name, dry_run=dry_run, force=force
        )
        return read(Deletion, self.client.call(self._stub.DeleteExperiment, question))

    @property
    def _stub(self) -> Any:
        return self.client._experiments

    def _of(self, number: int) -> str:
        """The name of a trial; the server says which are wrong."""
        return f"{self.name}/{number}"

    def _verb(self, method: Any, question: object) -> Experiment:
        self.message = self.client.call(method, question)
        return self

    def _log(self, number: int, stage: str, attempt: int, follow: bool) -> Iterator[str]:
        question = request(trial_pb2.ReadLogRequest, trial=self._of(number), role=stage, attempt=attempt)
        pause = 0.1
        while True:
            part = self.client.call(self._stub.ReadLog, question)
            question.stage, question.attempt, question.trial, question.role = part.stage, part.attempt, "", ""
            question.offset = part.next_offset
            if part.text:
                pause = 0.1
                yield part.text
            if part.ended or not follow and part.next_offset >= part.total:
                return
            if not part.text:
                time.sleep(pause)
                pause = min(pause * 2, 2.0)

    def _exported(self, points: bool) -> Iterator[bytes]:
        kind = analysis_pb2.ExportExperimentRequest
        question = request(kind, name=self.name, without_points=not points)
        return (part.chunk for part in self.client.stream(self._stub.ExportExperiment, question, None))

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
                raise errors.TimedOut(
                    f"{self.name} is {self.state} after the time-out; ask again with wait()", code="DEADLINE_EXCEEDED"
                )
            time.sleep(min(pause, max(0.0, until - time.monotonic())) if until is not None else pause)
            pause = min(pause * 2, 5.0)

    def _changes(self, until: float | None) -> Any:
        """Yields at once and then whenever something changed, and every 15 s as a sign of life."""
        question = experiment_service_pb2.WatchEventsRequest(cursor=-1, experiment=self.name)
        deadline = None if until is None else max(0.01, until - time.monotonic())
        # Open before the state is read for the first time, so that no change falls between the two.
        stream = self.client.stream(self._stub.WatchEvents, question, deadline)
        yield None
        yield from stream

    def _failure(self) -> str:
        reasons = sorted({one.reason for one in self.trials() if one.state in ("failed", "held") and one.reason})
        shown = "; ".join(reasons[:3]) + (f" and {len(reasons) - 3} more reasons" if len(reasons) > 3 else "")
        done = f"{self.message.trials_done} of {self.message.trials} trials"
        return f"{self.name} {self.state} with {done}" + (f": {shown}" if shown else "")
