"""The connection: one object for everything one asks a server."""

from __future__ import annotations

import json
import os
import random
import time
import uuid
from pathlib import Path
from typing import Any, Callable, Iterator, Mapping, Sequence, TypeVar

import grpc

from locus import errors, paper
from locus.claims import Claims
from locus.experiment import Experiment
from locus.paper import PaperTable
from locus.specification import Specification, as_json
from locus.v1 import (
    analysis_pb2,
    analysis_service_pb2,
    analysis_service_pb2_grpc,
    catalog_service_pb2,
    catalog_service_pb2_grpc,
    experiment_service_pb2,
    experiment_service_pb2_grpc,
    worker_service_pb2,
    worker_service_pb2_grpc,
)

DEFAULT_ADDRESS = "127.0.0.1:7171"
DEADLINE = 10.0
PLAN_DEADLINE = 120.0  # expanding 100,000 trials takes longer than ten seconds
PAGE = 1000

Response = TypeVar("Response")


def connect(address: str | None = None, *, patience: float = 2.0) -> Client:
    """A client of the server at `address`, HOST:PORT.

    Without an address: the variable LOCUS_SERVER, else `server` of the configuration file, else 127.0.0.1:7171.
    The first call connects. `patience` is how many seconds a call goes on trying while no server answers; every call
    is safe to repeat.
    """
    return Client(address or os.environ.get("LOCUS_SERVER") or _configured() or DEFAULT_ADDRESS, patience=patience)


def _configured() -> str:
    """`server` of the command line's configuration file; a line of the form `server: HOST:PORT`."""
    home = os.environ.get("XDG_CONFIG_HOME") or os.path.join(os.path.expanduser("~"), ".config")
    try:
        lines = Path(home, "locus", "config.yaml").read_text(encoding="utf-8").splitlines()
    except OSError:
        return ""
    for line in lines:
        key, colon, value = line.split("#")[0].partition(":")
        if colon and key == "server":
            return value.strip().strip("'\"")
    return ""


def _well_formed(address: str) -> bool:
    host, colon, port = address.rpartition(":")
    return bool(host and colon and port.isdigit() and 0 < int(port) < 65536) and not set(address) & set(" /\t\n")


class Client:
    """Thread-safe. Use it as a context manager, or close() it."""

    def __init__(self, address: str, *, patience: float = 2.0) -> None:
        if not _well_formed(address):
            raise errors.make_error(
                "INVALID_ARGUMENT",
                f'"{address}" is not an address: write HOST:PORT, such as {DEFAULT_ADDRESS}',
                "INVALID_ARGUMENT",
                "server",
                {"address": address},
            )
        self.address = address
        self.patience = patience
        self._channel = grpc.insecure_channel(
            address,
            options=[
                ("grpc.enable_http_proxy", 0),
                ("grpc.enable_retries", 0),
                ("grpc.keepalive_time_ms", 30_000),
                ("grpc.initial_reconnect_backoff_ms", 50),
                ("grpc.max_reconnect_backoff_ms", 1_000),
            ],
        )
        self._experiments = experiment_service_pb2_grpc.ExperimentServiceStub(self._channel)
        self._analysis = analysis_service_pb2_grpc.AnalysisServiceStub(self._channel)
        self._catalogs = catalog_service_pb2_grpc.CatalogServiceStub(self._channel)
        self._workers = worker_service_pb2_grpc.WorkerServiceStub(self._channel)

    def __enter__(self) -> Client:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def __repr__(self) -> str:
        return f"locus.connect({self.address!r})"

    def close(self) -> None:
        self._channel.close()

    # ---- experiments ----

    def plan(
        self, specification: Specification, *, changes: Mapping[str, Any] | None = None
    ) -> experiment_service_pb2.Plan:
        """What a specification would run; nothing is stored. InvalidArgument names the offending field."""
        request = experiment_service_pb2.PlanExperimentRequest(spec_json=as_json(specification, changes))
        return self.call(self._experiments.PlanExperiment, request, deadline=PLAN_DEADLINE)

    def submit(
        self,
        specification: Specification,
        *,
        changes: Mapping[str, Any] | None = None,
        owner: str = "",
        replace: bool = False,
    ) -> Experiment:
        """Stores a specification; only stages that nobody ran yet will run.

        `changes` are applied first: {"train.epochs": 5}. The same specification again changes nothing; one that would drop trials
        of the experiment raises AlreadyExists unless `replace`.
        """
        request = experiment_service_pb2.CreateExperimentRequest(
            spec_json=as_json(specification, changes),
            request_id=str(uuid.uuid4()),
            owner=owner or os.environ.get("USER", ""),
            replace=replace,
        )
        answer = self.call(self._experiments.CreateExperiment, request, deadline=PLAN_DEADLINE)
        return Experiment(self, answer.experiment)

    def experiment(self, name: str) -> Experiment:
        """The experiment of that name; NotFound without one."""
        request = experiment_service_pb2.GetExperimentRequest(name=name)
        return Experiment(self, self.call(self._experiments.GetExperiment, request))

    def experiments(self) -> list[Experiment]:
        """All experiments, newest first."""
        out: list[Experiment] = []
        request = experiment_service_pb2.ListExperimentsRequest(page_size=PAGE)
        while True:
            page = self.call(self._experiments.ListExperiments, request)
            out.extend(Experiment(self, one) for one in page.experiments)
            request.page_token = page.next_page_token
            if not request.page_token:
                return out

    def compare(
        self, items: Sequence[str], *, metric: str = "", split: str = "", labels: str = ""
    ) -> analysis_pb2.Comparison:
        """Two or more trials ("NAME/3") or cells ("NAME/cells/0") side by side, with paired differences from the first."""
        request = analysis_pb2.CompareRequest(items=items, metric=metric, split=split, labels=labels)
        return self.call(self._experiments.Compare, request)

    def claims(self, paper: str = "", *, experiment: str = "", table: str = "", matched: bool | None = None) -> Claims:
        """Numbers printed in papers; with an experiment, beside what it measured.

        `matched` leaves only claims that the experiment has a cell for: the default with an experiment.
        """
        request = analysis_service_pb2.ListClaimsRequest(
            paper=paper, experiment=experiment, table=table, matched=bool(experiment) if matched is None else matched
        )
        return Claims(self.call(self._analysis.ListClaims, request))

    def paper_table(
        self,
        experiments: Sequence[str],
        *,
        rows: Sequence[str] = (),
        columns: Sequence[str] = (),
        metrics: Sequence[str] = (),
        where: Mapping[str, Any] | None = None,
        **options: Any,
    ) -> PaperTable:
        """The table for the paper over one experiment or several; the numbers of `locus table`.

        `rows` and `columns` are axes: factors, labels such as "resolution", "experiment", "metric". `metrics` are
        "top1" or "loss:validation"; `where` maps an axis to a value or several. `options` are fields of
        GetPaperTableRequest: test, correction, level, alpha, spread, digits, differences, detect.
        """
        return paper.ask(self, experiments, rows=rows, columns=columns, metrics=metrics, where=where, **options)

    # ---- the rest ----

    def catalog(self) -> dict[str, Any]:
        """What the engine can do: docs/formats/catalog.md."""
        answer = self.call(self._catalogs.GetCatalog, catalog_service_pb2.GetCatalogRequest())
        document: dict[str, Any] = json.loads(answer.json)
        return document

    def server(self) -> catalog_service_pb2.Server:
        return self.call(self._catalogs.GetServer, catalog_service_pb2.GetServerRequest())

    def workers(self) -> list[worker_service_pb2.Worker]:
        return list(self.call(self._workers.ListWorkers, worker_service_pb2.ListWorkersRequest()).workers)

    # ---- how calls are made ----

    def call(
        self,
        method: Callable[..., Response],
        request: object,
        *,
        deadline: float = DEADLINE,
        patience: float | None = None,
    ) -> Response:
        """One unary call with retries while the server is away; raises LocusError."""
        give_up = time.monotonic() + (self.patience if patience is None else patience)
        wait = 0.05
        while True:
            try:
                return method(request, timeout=deadline)
            except grpc.RpcError as error:
                left = give_up - time.monotonic()
                away = (grpc.StatusCode.UNAVAILABLE, grpc.StatusCode.CANCELLED)
                if error.code() not in away or left <= 0:
                    raise errors.from_grpc(error, self.address) from None
            time.sleep(min(random.uniform(0, wait), left))
            wait = min(wait * 2, 2.0)

    def stream(
        self, method: Callable[..., Iterator[Response]], request: object, deadline: float | None
    ) -> Iterator[Response]:
        """Opens a stream at once; its messages until it ends or `deadline` seconds are over. A broken one raises."""
        messages: Any = method(request, timeout=deadline)

        def read() -> Iterator[Response]:
            try:
                yield from messages
            except grpc.RpcError as error:
                if error.code() != grpc.StatusCode.DEADLINE_EXCEEDED:
                    raise errors.from_grpc(error, self.address) from None
            finally:
                messages.cancel()

        return read()
