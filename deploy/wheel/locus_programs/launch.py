"""Starts a program of the wheel. The trainer takes LibTorch from the torch wheel beside it: that is looked at first."""

from __future__ import annotations

import importlib.util
import os
import re
import subprocess
import sys
from pathlib import Path
from typing import NoReturn

FOLDER = Path(__file__).resolve().parent
TRAINING = frozenset({"data", "demo", "measure", "picture", "plugin", "probe", "weights", "worker"})
"""Commands that come to nothing without a trainer. A server works without one: it draws no pictures then."""

_USAGE = 2


def wanted_torch(folder: Path = FOLDER) -> str:
    """The version of LibTorch that the trainer of this wheel was compiled against: "2.11.0"."""
    return (folder / "torch-version").read_text().strip()


def found_torch() -> Path | None:
    """The folder of the torch that Python would import; nothing is imported."""
    spec = importlib.util.find_spec("torch")
    places = spec.submodule_search_locations if spec else None
    return Path(next(iter(places))) if places else None


def version_of(torch: Path) -> str:
    """Of an installed torch, as its version.py says: "2.11.0+cpu"; empty where there is none."""
    try:
        text = (torch / "version.py").read_text()
    except OSError:
        return ""
    said = re.search(r"^__version__ = ['\"]([^'\"]+)['\"]", text, re.MULTILINE)
    return said.group(1) if said else ""


def trouble(folder: Path, torch: Path | None, wanted: str) -> str:
    """Why the trainer in `folder` cannot run with `torch`, and the command that mends it; empty: it can."""
    mend = f"{sys.executable} -m pip install torch=={wanted}"
    if torch is None:
        return f"locus trains with PyTorch {wanted}, and this environment has none; run\n  {mend}"
    found = version_of(torch)
    if found.partition("+")[0] != wanted:
        return f"locus trains with PyTorch {wanted}, and {torch} is {found or 'of an unknown version'}; run\n  {mend}"
    if torch.resolve().parent != folder.parent:
        return (
            f"locus looks for PyTorch beside itself, in {folder.parent}, and this environment takes it from "
            f"{torch.parent}; run\n  {mend} --ignore-installed"
        )
    return ""


def needs_torch(arguments: list[str]) -> bool:
    """Whether it comes to nothing without this wheel's trainer. `locus worker --trainer FILE` names another program, which
    takes the torch that it likes, or none."""
    if not arguments or arguments[0] not in TRAINING or any(word in ("--help", "-h") for word in arguments):
        return False
    another = any(word == "--trainer" or word.startswith("--trainer=") for word in arguments)
    return not (arguments[0] == "worker" and another)


def refuse(why: str) -> NoReturn:
    print(f"locus: {why}", file=sys.stderr)
    sys.exit(_USAGE)


def run(program: str, arguments: list[str]) -> NoReturn:
    path = FOLDER / "bin" / program
    if not path.exists():
        refuse(f"{path} is missing: this is no whole installation; install the wheel again, with --force-reinstall")
    os.execv(path, [program, *arguments])


def locus() -> NoReturn:
    """The command `locus`: what the program does, and `locus demo`."""
    arguments = sys.argv[1:]
    command = arguments[0] if arguments else ""
    if needs_torch(arguments) and (why := trouble(FOLDER, found_torch(), wanted_torch())):
        refuse(why)
    if command == "demo":
        from locus_programs import demo

        sys.exit(demo.main(arguments[1:], FOLDER / "bin", FOLDER / "share/locus/examples"))
    if command in ("", "--help", "-h"):
        done = subprocess.run([FOLDER / "bin/locus", *arguments], check=False)
        print("With images of Fashion-MNIST here, `locus demo` compares six priors and prints the table.")
        sys.exit(done.returncode)
    run("locus", arguments)


def trainer() -> NoReturn:
    """The command `locus-trainer`."""
    if why := trouble(FOLDER, found_torch(), wanted_torch()):
        refuse(why)
    run("locus-trainer", sys.argv[1:])
