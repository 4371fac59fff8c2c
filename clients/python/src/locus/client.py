"""The connection: one object for everything one asks a server."""

from __future__ import annotations

import hashlib
import json
import os
import random
import time
import uuid
from pathlib import Path
from typing import Any, Callable, Iterable, Iterator, Mapping, NoReturn, Sequence, TypeVar

import grpc

from locus import errors, files, pictures, pivot, trust
from locus._wire import labels_json, read, refuse, request
from locus.catalog import Catalog
from locus.claims import Claims
from locus.comparison import Comparison
from locus.experiment import Experiment
from locus.frames import Rows
from locus.pictures import Picture
from locus.pivot import Names, PivotTable
from locus.plans import Plan
from locus.specification import Specification, as_json
from locus.trust import Identity, Token
from locus.v1 import (
    analysis_pb2,
    analysis_service_pb2,
    analysis_service_pb2_grpc,
    artifact_service_pb2,
    artifact_service_pb2_grpc,
    catalog_service_pb2,
    catalog_service_pb2_grpc,
    experiment_service_pb2,
    experiment_service_pb2_grpc,
    metric_service_pb2_grpc,
    picture_service_pb2_grpc,
    search_service_pb2_grpc,
    worker_service_pb2,
    worker_service_pb2_grpc,
)
from locus.workers import Server, Worker

DEFAULT_ADDRESS = "127.0.0.1:7171"
DEADLINE = 10.0
PLAN_DEADLINE = 120.0  # expanding 100,000 trials takes longer than ten seconds
PAGE = 1000

Response = TypeVar("Response")


def connect(
    address: str | None = None,
    *,
    profile: str | None = None,
    identity: Identity | Token | None = None,
    patience: float = 2.0,
) -> Client:
    """A client of the server at `address`, HOST:PORT.

    Without an address: the variable LOCUS_SERVER, else that of the profile, else `server` of the configuration file,
    else 127.0.0.1:7171. `profile`, else the variable LOCUS_PROFILE, else, where no server is named, `profile` of the
    configuration file: what `locus login` keeps under that name. `identity` names the files of another certificate,
    or is a token, for a server on this machine without TLS. The first call connects. `patience` is how many seconds a
    call goes on trying while no server answers; every call is safe to repeat.
    """
    named = address or os.environ.get("LOCUS_SERVER") or ""
    chosen = profile or os.environ.get("LOCUS_PROFILE") or ("" if named or identity else _configured("profile"))
    if chosen:
        server, kept = trust.profile(chosen)
        return Client(named or server, identity=identity or kept, patience=patience)
    return Client(named or _configured("server") or DEFAULT_ADDRESS, identity=identity, patience=patience)


def _configured(wanted: str) -> str:
    """A value of the command line's configuration file; a line of the form `server: HOST:PORT`."""
    path = trust.configuration_folder() / "config.yaml"
    try:
        lines = path.read_text(encoding="utf-8").splitlines()
    except OSError:
        return ""
    except UnicodeDecodeError:
        refuse(f"{path} is not UTF-8; save it so, or name the server with LOCUS_SERVER", wanted)
    for line in lines:
        key, colon, value = line.split("#")[0].partition(":")
        if colon and key == wanted:
            return value.strip().strip("'\"")
    return ""


def _well_formed(address: str) -> bool:
    host, colon, port = address.rpartition(":")
    return bool(host and colon and port.isdigit() and 0 < int(port) < 65536) and not set(address) & set(" /\t\n")


class Client:
    """Thread-safe. Use it as a context manager, or close() it."""

    def __init__(self, address: str, *, identity: Identity | Token | None = None, patience: float = 2.0) -> None:
        if not isinstance(address, str) or not _well_formed(address):
            raise errors.make_error(
                "INVALID_ARGUMENT",
                f'"{address}" is not an address: write HOST:PORT, such as {DEFAULT_ADDRESS}',
                "INVALID_ARGUMENT",
                "server",
                {"address": str(address)},
            )
        self.address = address
        self.patience = patience
        self.identity = identity
        options = [
            ("grpc.enable_http_proxy", 0),
            ("grpc.enable_retries", 0),
            ("grpc.keepalive_time_ms", 30_000),
            ("grpc.initial_reconnect_backoff_ms", 50),
            ("grpc.max_reconnect_backoff_ms", 1_000),
        ]
        self._shown: dict[str, Any] = {}
        if isinstance(identity, Identity):
            self._channel = grpc.secure_channel(address, identity.credentials(), options=options)
        else:
            if identity is not None:
                self._shown = {"metadata": identity.metadata(address)}
            self._channel = grpc.insecure_channel(address, options=options)
        self._experiments = experiment_service_pb2_grpc.ExperimentServiceStub(self._channel)
        self._analysis = analysis_service_pb2_grpc.AnalysisServiceStub(self._channel)
        self._catalogs = catalog_service_pb2_grpc.CatalogServiceStub(self._channel)
        self._metrics = metric_service_pb2_grpc.MetricServiceStub(self._channel)
        self._artifacts = artifact_service_pb2_grpc.ArtifactServiceStub(self._channel)
        self._pictures = picture_service_pb2_grpc.PictureServiceStub(self._channel)
        self._searches = search_service_pb2_grpc.SearchServiceStub(self._channel)
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

    def plan(self, specification: Specification, *, changes: Mapping[str, Any] | None = None) -> Plan:
        """What a specification would run; nothing is stored. InvalidArgument names the offending field."""
        question = experiment_service_pb2.PlanExperimentRequest(spec_json=as_json(specification, changes))
        return read(Plan, self.call(self._experiments.PlanExperiment, question, deadline=PLAN_DEADLINE))

    def submit(
        self,
        specification: Specification,
        *,
        changes: Mapping[str, Any] | None = None,
        owner: str = "",
        replace: bool = False,
        choose_again: bool = False,
    ) -> Experiment:
        """Stores a specification; only stages without a result will run.

        `changes` are applied first: {"train.epochs": 5}. The same specification again changes nothing; one that would drop trials
        of the experiment raises AlreadyExists unless `replace`. With `choose_again` phases that would by now choose
        otherwise than they did choose again.
        """
        question = request(
            experiment_service_pb2.CreateExperimentRequest,
            spec_json=as_json(specification, changes),
            request_id=str(uuid.uuid4()),
            owner=owner or self._usual_owner(),
            replace=replace,
            choose_again=choose_again,
        )
        answer = self.call(self._experiments.CreateExperiment, question, deadline=PLAN_DEADLINE)
        return Experiment(self, answer.experiment)

    def _usual_owner(self) -> str:
        """Empty where the server knows who calls: then it is the caller's account."""
        return "" if self.identity else os.environ.get("USER", "")

    def experiment(self, name: str) -> Experiment:
        """The experiment of that name; NotFound without one."""
        question = request(experiment_service_pb2.GetExperimentRequest, name=name)
        return Experiment(self, self.call(self._experiments.GetExperiment, question))

    def experiments(self, *, tags: Names = ()) -> list[Experiment]:
        """All experiments, newest first; with `tags`, those that have every one of them."""
        question = request(experiment_service_pb2.ListExperimentsRequest, page_size=PAGE, tag=tags)
        pages = self.pages(self._experiments.ListExperiments, question)
        return [Experiment(self, one) for page in pages for one in page.experiments]

    def compare(
        self, items: Names, *, metric: str = "", split: str = "", labels: Mapping[str, Any] | str | None = None
    ) -> Comparison:
        """Two or more trials ("NAME/3") or cells ("NAME/cells/0") side by side, with paired differences from the first."""
        question = request(
            analysis_pb2.CompareRequest, items=items, metric=metric, split=split, labels=labels_json(labels)
        )
        return read(Comparison, self.call(self._experiments.Compare, question))

    def claims(self, paper: str = "", *, experiment: str = "", table: str = "", matched: bool | None = None) -> Claims:
        """Numbers printed in papers; with an experiment, beside what it measured.

        `matched` leaves only claims that the experiment has a cell for: the default with an experiment.
        """
        question = request(
            analysis_service_pb2.ListClaimsRequest,
            paper=paper,
            experiment=experiment,
            table=table,
            matched=bool(experiment) if matched is None else matched,
        )
        return Claims(self.call(self._analysis.ListClaims, question))

    def pivot_table(
        self,
        experiments: Names,
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
        """The pivot table over one experiment or several; the numbers of `locus table`.

        `rows` and `columns` are axes: factors, labels such as "resolution", "experiment", "metric". `metrics` are
        "top1" or "loss:validation"; `where` maps an axis to a value or several. `test` is "sign-flip" (the default),
        "paired-t" or "welch", `correction` "holm" (the default) or "none", `level` that of intervals (0.95), `alpha`
        the p at which a difference is marked (0.05), `spread` "std" (the default), "interval" or "none", `digits` those
        after the point (2). `differences` shows the difference from the baseline in every cell, `detect` says how many
        seeds would show a difference of that size. `phase` is that of experiments with phases (the last); `proposals`
        shows every one of a search.
        """
        options = {
            "rows": rows,
            "columns": columns,
            "test": test,
            "correction": correction,
            "level": level,
            "alpha": alpha,
            "spread": spread,
            "digits": digits,
            "differences": differences,
            "detect": detect,
            "phase": phase,
            "proposals": proposals,
        }
        return pivot.ask(self, experiments, metrics, where, options, unknown)

    # ---- the rest ----

    def picture(
        self,
        prior: str,
        *,
        options: Mapping[str, Any] | None = None,
        grid: Sequence[int] | None = None,
        heads: int = 0,
        head_width: int = 0,
        layer: int = 0,
        layers: int = 0,
        seed: int = 0,
    ) -> Picture:
        """What a prior of the catalog does at initialization, drawn by the server; Experiment.picture() is of a trial.

        Without more: with its default options, over 6 x 6 patches, in the first layer of one, 4 heads of 16 channels.
        `grid` is rows and columns.
        """
        settings = {"heads": heads, "head_width": head_width, "layer": layer, "layers": layers, "seed": seed}
        return pictures.of_prior(self, prior, options, grid, settings)

    def catalog(self) -> Catalog:
        """What the engine can do: priors, datasets, backbones and their options."""
        answer = self.call(self._catalogs.GetCatalog, catalog_service_pb2.GetCatalogRequest())
        return Catalog(json.loads(answer.json), answer.digest)

    def server(self) -> Server:
        return read(Server, self.call(self._catalogs.GetServer, catalog_service_pb2.GetServerRequest()))

    def workers(self) -> Rows[Worker]:
        """Every worker with what it runs."""
        answer = self.call(self._workers.ListWorkers, worker_service_pb2.ListWorkersRequest())
        return Rows(Worker, [read(Worker, one) for one in answer.workers])

    def download(self, sha256: str, path: str | os.PathLike[str]) -> Path:
        """Fetches a blob, such as a checkpoint of Experiment.artifacts(), and holds it against its SHA-256.

        The file appears whole or not at all.
        """
        question = request(artifact_service_pb2.DownloadArtifactRequest, sha256=sha256)
        digest = hashlib.sha256()

        def chunks() -> Iterator[bytes]:
            for part in self.stream(self._artifacts.DownloadArtifact, question, None):
                digest.update(part.chunk)
                yield part.chunk
            if digest.hexdigest() != sha256:
                raise errors.make_error(
                    "DATA_LOSS", f"what arrived of {sha256} hashes to {digest.hexdigest()}; ask again", "DIGEST_MISMATCH"
                )

        return self.save(path, chunks())

    def save(self, path: str | os.PathLike[str], chunks: Iterable[bytes]) -> Path:
        """Writes chunks to a file that appears when it is whole."""
        return files.save(path, chunks)

    # ---- how calls are made ----

    def pages(self, method: Callable[..., Response], question: Any) -> Iterator[Response]:
        """Every page of a list."""
        while True:
            page: Any = self.call(method, question)
            yield page
            question.page_token = page.next_page_token
            if not question.page_token:
                return

    def call(
        self,
        method: Callable[..., Response],
        question: object,
        *,
        deadline: float = DEADLINE,
        patience: float | None = None,
    ) -> Response:
        """One unary call with retries while the server is away; raises LocusError."""
        give_up = time.monotonic() + (self.patience if patience is None else patience)
        wait = 0.05
        while True:
            try:
                return method(question, timeout=deadline, **self._shown)
            except ValueError:
                raise self._closed() from None
            except grpc.RpcError as error:
                left = give_up - time.monotonic()
                away = (grpc.StatusCode.UNAVAILABLE, grpc.StatusCode.CANCELLED)
                if error.code() not in away or left <= 0:
                    raise self._refusal(error) from None
            time.sleep(min(random.uniform(0, wait), left))
            wait = min(wait * 2, 2.0)

    def stream(
        self, method: Callable[..., Iterator[Response]], question: object, deadline: float | None
    ) -> Iterator[Response]:
        """Opens a stream at once; its messages until it ends or `deadline` seconds are over. A broken one raises."""
        try:
            messages: Any = method(question, timeout=deadline, **self._shown)
        except ValueError:
            raise self._closed() from None

        def read() -> Iterator[Response]:
            try:
                yield from messages
            except grpc.RpcError as error:
                if error.code() != grpc.StatusCode.DEADLINE_EXCEEDED:
                    raise self._refusal(error) from None
            finally:
                messages.cancel()

        return read()

    def _refusal(self, error: grpc.RpcError) -> errors.LocusError:
        meaning = trust.explain(error.details() or "", isinstance(self.identity, Identity))
        return errors.from_grpc(error, self.address, meaning)

    def _closed(self) -> errors.LocusError:
        return errors.make_error(
            "FAILED_PRECONDITION", f"this client of {self.address} was closed; connect again with locus.connect()"
        )
