"""A server and a worker for the tests, as users start them: the programs of the build, on free ports."""

from __future__ import annotations

import json
import os
import subprocess
from pathlib import Path
from typing import Iterator

import pytest

import locus

BIN = Path(os.environ["LOCUS_BIN"])
ROOT = Path(os.environ["LOCUS_ROOT"])

SMALL = {
    "version": 1,
    "dataset": "fashion-mnist",
    "model": {"backbone": "vit", "dim": 16, "depth": 1, "heads": 2, "patch": 14},
    "train": {"epochs": 1, "batch": 32, "lr": 3e-3, "limit": 128, "validation_images": 64},
    "matrix": {"prior": ["none", "learned-absolute"]},
    "replicates": {"seed": [0, 1]},
    "baseline": {"prior": "none"},
    "metric": {"name": "top1", "reports": "validation", "selects_on": "validation"},
}


class Process:
    """A `locus` program that says on its first line, in JSON, that it is ready."""

    def __init__(self, *arguments: str, log: Path) -> None:
        self._log = log.open("a")
        self._process = subprocess.Popen(
            [str(BIN / "locus"), *arguments, "--json"], stdout=subprocess.PIPE, stderr=self._log, text=True
        )
        assert self._process.stdout is not None
        line = self._process.stdout.readline()
        if not line:
            raise RuntimeError(f"locus {arguments[0]} did not start: {log.read_text()}")
        self.ready = json.loads(line)

    def stop(self) -> None:
        self._process.terminate()
        self._process.wait(timeout=60)
        assert self._process.stdout is not None
        self._process.stdout.close()
        self._log.close()


class Service:
    """`locus serve`, which may be stopped and started again at the same address."""

    def __init__(self, folder: Path, *options: str) -> None:
        self._folder = folder
        self._options = options
        self._process: Process | None = None
        self.address = "127.0.0.1:0"
        self.http = ""
        self.start()

    def start(self) -> None:
        data = str(self._folder / "data")
        catalog = str(ROOT / "engine" / "catalog.json")
        self._process = Process(
            "serve", "--data", data, "--grpc-address", self.address, "--http-address", "127.0.0.1:0", "--catalog", catalog, *self._options,
            log=self._folder / "server.log",
        )
        self.address = self._process.ready["grpc"]
        self.http = self._process.ready["http"]

    def stop(self) -> None:
        if self._process is not None:
            self._process.stop()
            self._process = None


@pytest.fixture(autouse=True)
def _no_settings(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path / "config"))
    monkeypatch.delenv("LOCUS_SERVER", raising=False)


@pytest.fixture(scope="session")
def service(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Service]:
    """One server with a worker of two slots for the whole run."""
    folder = tmp_path_factory.mktemp("service")
    server = Service(folder)
    worker = Process(
        "worker", "--server", server.address, "--name", "pytest", "--slots", "2", "--work", str(folder / "worker"),
        "--trainer", os.environ["LOCUS_TRAINER"], log=folder / "worker.log",
    )
    yield server
    worker.stop()
    server.stop()


@pytest.fixture
def client(service: Service) -> Iterator[locus.Client]:
    with locus.connect(service.address) as one:
        yield one


@pytest.fixture
def quiet(tmp_path: Path) -> Iterator[Service]:
    """A server without a worker, for this test alone."""
    server = Service(tmp_path)
    yield server
    server.stop()


def run_locus(*arguments: str, given: str | None = None, variables: dict[str, str] | None = None) -> str:
    """What the command line prints; `given` is its standard input, `variables` are added to the environment."""
    environment = os.environ | (variables or {})
    command = [str(BIN / "locus"), *arguments]
    return subprocess.run(command, check=True, capture_output=True, text=True, input=given, env=environment).stdout
