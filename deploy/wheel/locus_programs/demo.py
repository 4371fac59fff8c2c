"""`locus demo`: six ways of telling a Vision Transformer where its patches are, on real images.

Starts a server and a worker on loopback, submits examples/fashion-mnist-priors.yaml, shows progress, prints the table
and stops. Fetches nothing: the images must be there.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

DATA = Path("/usr/share/datasets")
FILES = [f"{part}-{kind}-ubyte.gz" for part in ("train", "t10k") for kind in ("images-idx3", "labels-idx1")]
SMALL = [
    "matrix.prior=[none,learned-absolute,rope-axial]",
    "replicates.seed=[0,1]",
    "train.epochs=1",
    "train.limit=2000",
]
USUAL, ANY = ("127.0.0.1:7171", "127.0.0.1:7172"), ("127.0.0.1:0", "127.0.0.1:0")
PATIENCE = 15  # seconds for a server to answer


def say(text: str) -> None:
    print(f"demo: {text}", flush=True)


def missing_data(root: Path) -> str:
    """How to get Fashion-MNIST, where `root` does not have it; empty: it does."""
    lacks = [name for name in FILES if not (root / "fashion-mnist" / name).is_file()]
    if not lacks:
        return ""
    return (
        f"Fashion-MNIST is not in {root / 'fashion-mnist'}: {', '.join(lacks)} missing. This demo downloads nothing.\n"
        "  Debian and Ubuntu have it, 30 MB:    sudo apt-get install dataset-fashion-mnist\n"
        "  Elsewhere put its four files of gzip into FOLDER/fashion-mnist and run:    locus demo --data-root FOLDER"
    )


class Service:
    """A server and a worker of the folder `home`, which outlives this program only if it is told to."""

    def __init__(self, bin_folder: Path, home: Path, data_root: Path) -> None:
        self.program, self.home, self.data_root = bin_folder / "locus", home, data_root
        self.server: subprocess.Popen[bytes] | None = None
        self.worker: subprocess.Popen[bytes] | None = None
        self.addresses: dict[str, Any] = {}

    def _said(self) -> dict[str, Any]:
        try:
            said = json.loads((self.home / "data/server.json").read_text())
        except (OSError, ValueError):
            return {}
        return said if isinstance(said, dict) else {}

    def _answers(self) -> bool:
        self.addresses = self._said()
        return bool(self.addresses) and self.ask("workers", "--json").returncode == 0

    def _start(self, *arguments: str, log: str) -> subprocess.Popen[bytes]:
        with (self.home / log).open("ab") as out:
            return subprocess.Popen([self.program, *arguments], stdout=out, stderr=out, stdin=subprocess.DEVNULL)

    def _try(self, grpc: str, http: str) -> bool:
        data = self.home / "data"
        (data / "server.json").unlink(missing_ok=True)
        options = ("--grpc-address", grpc, "--http-address", http, "--data-root", str(self.data_root))
        self.server = self._start("serve", "--data", str(data), *options, log="server.log")
        end = time.monotonic() + PATIENCE
        while time.monotonic() < end:
            if self._answers():
                return True
            if self.server.poll() is not None:
                break
            time.sleep(0.1)
        self._stop(self.server)
        self.server = None
        return False

    def start_server(self) -> bool:
        """The one that runs already, else a new one at the usual ports, else at free ones."""
        self.home.mkdir(parents=True, exist_ok=True)
        if self._answers():
            say("using the server that is already running")
            return True
        return self._try(*USUAL) or self._try(*ANY)

    def start_worker(self, slots: int) -> None:
        options = ("--name", "demo", "--slots", str(slots), "--data-root", str(self.data_root))
        at = ("--server", str(self.addresses["grpc"]), "--work", str(self.home / "worker"))
        self.worker = self._start("worker", *at, *options, log="worker.log")

    def ask(self, command: str, *arguments: str) -> subprocess.CompletedProcess[str]:
        """A command of the program, quietly."""
        line = [self.program, command, "--server", self.addresses["grpc"], *arguments]
        return subprocess.run(line, capture_output=True, text=True, check=False)

    def show(self, command: str, *arguments: str) -> int:
        line = [self.program, command, "--server", self.addresses["grpc"], *arguments]
        return subprocess.run(line, check=False).returncode

    @staticmethod
    def _stop(process: subprocess.Popen[bytes] | None) -> None:
        if process is not None and process.poll() is None:
            process.terminate()
            process.wait()

    def stop(self) -> None:
        self._stop(self.worker)
        self._stop(self.server)


def default_home() -> Path:
    data = os.environ.get("XDG_DATA_HOME", "")
    return (Path(data) if os.path.isabs(data) else Path.home() / ".local/share") / "locus-demo"


def tail(log: Path) -> str:
    try:
        return "\n".join(log.read_text(errors="replace").splitlines()[-5:])
    except OSError:
        return ""


def run(service: Service, specification: Path, changes: list[str], keep: bool, again: str) -> int:
    sets = [word for change in changes for word in ("--set", change)]
    planned = service.ask("plan", "--json", *sets, str(specification))
    if planned.returncode != 0:
        print(planned.stderr, end="", file=sys.stderr)
        return planned.returncode
    plan = json.loads(planned.stdout)
    count = {key: int(plan.get(key, 0)) for key in ("cells", "trials", "stages_done", "stages_to_run", "stages_total")}
    page = f"http://{service.addresses['http'].removeprefix('http://').rstrip('/')}/experiments/{plan['name']}"
    say(f"dashboard at {page}")
    done = f"{count['stages_done']} of {count['stages_total']} stages done already, {count['stages_to_run']} to run"
    say(f"{count['trials']} trials of {count['cells']} priors; {done}")
    if keep or count["stages_to_run"]:
        service.start_worker(max(1, min(2, os.cpu_count() or 1)))
    if service.show("submit", *sets, "--watch", str(specification)) != 0:
        print(tail(service.home / "worker.log"), file=sys.stderr)
        print(f"demo: the experiment did not complete; logs are in {service.home}", file=sys.stderr)
        return 1
    print(flush=True)
    service.show("leaderboard", plan["name"])
    server = service.addresses["grpc"]
    leaves = "" if keep else f"   ({again} --keep leaves it running)"
    print(
        f"\nWhat now?\n"
        f"  1. Open {page}{leaves}\n"
        f"  2. Add a seed; what was trained is not trained again:   {again} --set 'replicates.seed=[0,1,2,3,4,5]'\n"
        f"  3. Let another machine help (through an SSH tunnel to port {server.rpartition(':')[2]}):   "
        f"locus worker --server {server}",
        flush=True,
    )
    return 0


def parse(arguments: list[str]) -> argparse.Namespace:
    how = argparse.RawDescriptionHelpFormatter
    parser = argparse.ArgumentParser(prog="locus demo", description=__doc__, formatter_class=how)
    add = parser.add_argument
    add("--small", action="store_true", help="three priors, two seeds, one epoch of 2000 images: a minute")
    add("--keep", action="store_true", help="leave server, worker and dashboard running")
    add("--set", action="append", default=[], metavar="PATH=VALUE", help="change the specification (repeatable)")
    add("--data-root", type=Path, default=DATA, metavar="FOLDER", help="holds fashion-mnist (%(default)s)")
    add("--home", type=Path, default=default_home(), metavar="FOLDER", help="database and logs (%(default)s)")
    return parser.parse_args(arguments)


def main(arguments: list[str], bin_folder: Path, examples: Path, again: str = "locus demo") -> int:
    """Runs the demo with the programs of a folder. The exit status: 0 done, 1 failed, 2 the images are missing."""
    asked = parse(arguments)
    if why := missing_data(asked.data_root):
        print(f"demo: {why}", file=sys.stderr)
        return 2
    service, status = Service(bin_folder, asked.home.resolve(), asked.data_root), 1
    try:
        if not service.start_server():
            print(tail(service.home / "server.log"), file=sys.stderr)
            print(f"demo: the server did not start; its log is {service.home / 'server.log'}", file=sys.stderr)
            return status
        changes = (SMALL if asked.small else []) + asked.set
        status = run(service, examples / "fashion-mnist-priors.yaml", changes, asked.keep, again)
    except KeyboardInterrupt:
        status = 130
    finally:
        if asked.keep and status == 0:
            pids = [str(one.pid) for one in (service.worker, service.server) if one is not None]
            say(f"still running; stop with: kill {' '.join(pids)}" if pids else "still running")
        else:
            say("stopping")
            service.stop()
    return status


if __name__ == "__main__":
    sys.exit(main(sys.argv[3:], Path(sys.argv[1]), Path(sys.argv[2]), again="tools/demo"))
