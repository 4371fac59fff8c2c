"""What a script declares, and its life as the trainer of a worker's slot."""

from __future__ import annotations

import argparse
import hashlib
import io
import json
import os
import platform
import re
import sys
import sysconfig
import traceback
from pathlib import Path
from typing import Any, Callable, Mapping, Sequence, TypeVar

from locus.training.canonical import digest
from locus.training.channel import Channel, Ended
from locus.training.options import declared_options, filled
from locus.training.run import DataError, Diverged, Ending, Item, Run

PROTOCOL = 2

Declared = TypeVar("Declared", bound=type)
Stage = Callable[[Run], None]

_SKIPPED = {"__pycache__", "node_modules"}
_MEMBERS = {"backbone": "model", "recipe": "recipe", "dataset": "dataset", "task": "task"}


class Engine:
    """The items of a script, and what runs its stages. `name` is that of the extension; the digest of its code, all
    Python files beside the script and `lock`, is part of the identity of every stage that it runs. `datasets` are
    those of Locus that it reads: a worker announces them where it holds them."""

    def __init__(
        self,
        name: str,
        *,
        lock: str,
        datasets: Sequence[str] = (),
        code: Sequence[str] = ("**/*.py",),
        root: Path | None = None,
    ) -> None:
        if not re.fullmatch(r"[a-z]([a-z0-9-]{0,61}[a-z0-9])?", name):
            raise ValueError(
                f"'{name}' is no name: lower-case letters, digits and dashes, at most 63, a letter first"
            )
        self.name = name
        self.root = (root or Path(sys.argv[0]).resolve().parent).resolve()
        self.datasets = list(datasets)
        self._lock = self.root / lock
        self._code = list(code)
        self._items: list[dict[str, Any]] = []
        self._kinds: dict[tuple[str, str], type] = {}
        self._stages: dict[str, Stage] = {}

    # ---- declaring ----

    def backbone(
        self, id: str, *, summary: str, revision: int = 1, facts: Mapping[str, Any] | None = None
    ) -> Callable[[Declared], Declared]:
        """The dataclass is what `model:` of a specification may set beside `backbone: ID`."""
        return self._declare("backbone", id, summary, revision, facts)

    def recipe(
        self, id: str, *, summary: str, revision: int = 1, facts: Mapping[str, Any] | None = None
    ) -> Callable[[Declared], Declared]:
        """What `train:` may set beside `recipe: ID`."""
        return self._declare("recipe", id, summary, revision, facts)

    def dataset(
        self, id: str, *, summary: str, facts: Mapping[str, Any], revision: int = 1
    ) -> Callable[[Declared], Declared]:
        """Data of its own. `facts`: `channels`, `extent`, `classes`, `splits`, and `digest`, what tells this data from others
        (docs/formats/catalog.md)."""
        return self._declare("dataset", id, summary, revision, {"rank": 2, "manifest": {}, **facts})

    def task(
        self, id: str, *, summary: str, metrics: Sequence[Mapping[str, str]], revision: int = 1
    ) -> Callable[[Declared], Declared]:
        """What is learned. `metrics`: of each `name`, `unit`, `direction` (max or min) and `help`, the first one by default."""
        facts = {"metrics": [dict(one) for one in metrics], "default_metric": metrics[0]["name"]}
        return self._declare("task", id, summary, revision, facts)

    def prior(
        self,
        id: str,
        *,
        summary: str,
        formula: str,
        paper: str = "",
        revision: int = 1,
        ranks: Sequence[int] = (2,),
        excludes: Sequence[str] = (),
    ) -> Callable[[Declared], Declared]:
        """A way of telling the model where its patches are."""
        more = {"formula": formula, "paper": paper, "layouts": {"ranks": list(ranks)}, "excludes": list(excludes)}
        return self._declare("prior", id, summary, revision, None, more)

    def train(self, function: Stage) -> Stage:
        """Runs the stage `train`, which hands over the output "checkpoint"."""
        self._stages["train"] = function
        return function

    def evaluate(self, function: Stage) -> Stage:
        """Runs the stage `evaluate`, whose input "checkpoint" is what `train` handed over."""
        self._stages["evaluate"] = function
        return function

    def _declare(
        self,
        kind: str,
        id: str,
        summary: str,
        revision: int,
        facts: Mapping[str, Any] | None,
        more: Mapping[str, Any] | None = None,
    ) -> Callable[[Declared], Declared]:
        def declare(options: Declared) -> Declared:
            if (kind, id) in self._kinds:
                raise ValueError(f"two items of kind {kind} are called '{id}'")
            self._kinds[kind, id] = options
            item: dict[str, Any] = {"kind": kind, "id": id, "aliases": [], "revision": revision, "summary": summary}
            item |= {"constraints": [], "provides": [], "excludes": [], "hooks": [], **(more or {})}
            item["options"] = declared_options(options)
            if facts is not None:
                item["facts"] = dict(facts)
            self._items.append(item)
            return options

        return declare

    # ---- what it says of itself ----

    def code_files(self) -> list[Path]:
        """Those whose digest is the code's, by name."""
        found = {self._lock}
        for pattern in self._code:
            for path in self.root.glob(pattern):
                parts = path.relative_to(self.root).parts
                inside = [self.root.joinpath(*parts[:n]) for n in range(1, len(parts))]
                if path.is_file() and not any(
                    one.name in _SKIPPED or one.name.startswith(".") or (one / "pyvenv.cfg").exists() for one in inside
                ):
                    found.add(path)
        return sorted(found)

    def code_digest(self) -> str:
        all_of_it = hashlib.sha256()
        for path in self.code_files():
            try:
                content = hashlib.sha256(path.read_bytes()).hexdigest()
            except OSError as error:
                raise SystemExit(
                    f"{path}: {error.strerror}; Engine(lock=...) names the file that pins the packages"
                ) from error
            all_of_it.update(f"{path.relative_to(self.root).as_posix()}\0{content}\n".encode())
        return all_of_it.hexdigest()

    def catalog(self) -> dict[str, Any]:
        """The document that the daemon announces (docs/formats/catalog.md)."""
        if not self._items or "train" not in self._stages:
            raise SystemExit("the script declares no item, or no function with @engine.train")
        origin = {"name": self.name, "by": "training", "digest": self.code_digest()}
        document = {"version": 1, "items": [{**item, "origin": origin} for item in self._items]}
        if self.datasets:
            document["uses"] = [f"dataset/{name}" for name in self.datasets]
        return document

    @staticmethod
    def devices() -> dict[str, Any]:
        """What it can use; a GPU through torch, where that is installed."""
        out: dict[str, Any] = {"cpu": True, "cuda": []}
        try:
            import torch

            for index in range(torch.cuda.device_count()):
                memory = torch.cuda.get_device_properties(index).total_memory
                out["cuda"].append({"index": index, "name": torch.cuda.get_device_name(index), "memory_bytes": memory})
        except ImportError:
            out["cuda_unusable"] = "this Python has no torch"
        paths = {sys.prefix, sys.base_prefix, sys.exec_prefix, *sysconfig.get_paths().values(), *sys.path}
        folders = {Path(one).resolve() for one in paths if one and Path(one).is_dir()}
        out["libraries"] = sorted(str(one) for one in folders if one != Path("/"))
        return out

    # ---- its life ----

    def main(self, arguments: Sequence[str] | None = None) -> None:
        """What the worker asks of a trainer (docs/formats/trainer.md): `catalog`, `devices` and `run --fd N`."""
        parser = argparse.ArgumentParser(description=f"{self.name}, for `locus worker --trainer {sys.argv[0]}`")
        asked = parser.add_subparsers(dest="asked", required=True)
        asked.add_parser("catalog", help="print what it can do")
        asked.add_parser("devices", help="print what it can use")
        asked.add_parser("run", help="serve a worker").add_argument("--fd", type=int, required=True)
        given = parser.parse_args(arguments)
        if given.asked == "run":
            self._serve(Channel(given.fd))
        else:
            print(json.dumps(self.catalog() if given.asked == "catalog" else self.devices(), indent=1))

    def _serve(self, channel: Channel) -> None:
        if isinstance(sys.stdout, io.TextIOWrapper):
            sys.stdout.reconfigure(line_buffering=True)  # what it prints is the attempt's log, as it is printed
        os.environ.setdefault("USER", self.name)  # torch asks, and an isolated process cannot look itself up
        try:
            said = digest(self.catalog())
            channel.send({"type": "hello", "protocol": PROTOCOL, "pid": os.getpid(), "catalog_digest": said})
            while True:
                frame = channel.receive()
                if frame.get("type") == "shutdown":
                    return
                if frame.get("type") == "start":
                    self._attempt(channel, frame)
        except Ended:
            return

    def _item(self, kind: str, chosen: Mapping[str, Any]) -> Item:
        declared = self._kinds.get((kind, chosen["id"]))
        given = chosen.get("options", {})
        return Item(str(chosen["id"]), filled(declared, given) if declared else dict(given))

    def _attempt(self, channel: Channel, frame: Mapping[str, Any]) -> None:
        stage = frame["stage"]
        items: dict[str, Any] = {
            member: self._item(kind, stage[member]) for kind, member in _MEMBERS.items() if member in stage
        }
        items["priors"] = [self._item("prior", one) for one in stage.get("priors", [])]
        for member in _MEMBERS.values():
            items.setdefault(member, Item("", {}))
        run = Run(channel, frame, items, self.name)
        function = self._stages.get(run.kind)
        if function is None:
            has = ", ".join(sorted(self._stages))
            run.failed("code", f"{self.name} runs no stage of the kind {run.kind}: it has {has}")
            return
        if gang := frame["execution"].get("gang"):
            devices = gang["world"]
            run.failed("code", f"{self.name} trains on one device, and is given {devices}: set placement.devices to 1")
            return
        try:
            function(run)
        except Ended:
            raise
        except Ending as ending:
            run.done(ending.outcome)
        except Diverged as error:
            run.failed("diverged", str(error) or "the loss is no number")
        except DataError as error:
            run.failed("data", str(error))
        except MemoryError:
            run.failed("out-of-memory", "Python could not allocate memory")
        except Exception as error:  # noqa: BLE001 - whatever the script raises ends its attempt, not the trainer
            traceback.print_exc()
            memory = type(error).__name__ == "OutOfMemoryError"
            run.failed("out-of-memory" if memory else "code", f"{type(error).__name__}: {error}")
        else:
            run.done(run.ending or "succeeded")


def build_of(*packages: str) -> str:
    """What numbers depend on beside the device, for `Run.begin(build=...)`: Python and these packages."""
    from importlib import metadata

    versions = [f"{name} {metadata.version(name)}" for name in packages]
    return ", ".join([f"python {platform.python_version()}", *versions])
