"""A training without torch, in seconds: a line fitted to points by gradient descent, which can be made to die on the way."""

from __future__ import annotations

import json
import os
import random
import signal
from dataclasses import dataclass
from pathlib import Path

from locus import training

engine = training.Engine("toy-training", lock="requirements.txt")
POINTS = 64


@engine.dataset(
    "toy-points",
    summary="Points near a line",
    facts={
        "digest": "0" * 64,
        "channels": 1,
        "extent": [4, 4],
        "classes": 2,
        "splits": {"train": POINTS, "validation": 16, "test": 16},
    },
)
@dataclass
class Points:
    noise: float = training.option(0.1, "deviation of the points", minimum=0)


class OutOfMemoryError(RuntimeError):
    """Called as torch's is."""


FAILURES = {
    "diverged": training.Diverged("the loss is nan"),
    "data": training.DataError("labels.gz is damaged"),
    "memory": MemoryError(),
    "device-memory": OutOfMemoryError("tried to allocate 80 GiB"),
    "code": ZeroDivisionError("division by zero"),
}


@engine.backbone("toy-line", summary="A line")
@dataclass
class Line:
    patch: int = training.option(4, "of no meaning here", minimum=1)
    die_at: int = training.option(0, "the first attempt is killed there", minimum=0)
    fails: str = training.option("never", "how every attempt fails at step 5", choices=["never", *FAILURES])
    returns: bool = training.option(False, "where the worker has it stop it returns, instead of letting Stopped pass")


@engine.recipe("toy-descent", summary="Gradient descent, a point a step")
@dataclass
class Descent:
    steps: int = training.option(60, "points shown", minimum=1)
    lr: float = training.option(0.05, "learning rate", above=0)


@engine.recipe("toy-epochs", summary="The same in epochs, as searches count")
@dataclass
class Epochs:
    epochs: int = training.option(4, "passes over the points", minimum=1)
    batch: int = training.option(16, "points a step", minimum=1)
    validate_every: float = training.option(1.0, "epochs between validations", minimum=0)
    lr: float = training.option(0.05, "learning rate", above=0)


@engine.prior("toy-none", summary="Nothing", formula="y = w x")
@dataclass
class Nothing:
    pass


@engine.prior("toy-offset", summary="An offset that is learned", formula="y = w x + b")
@dataclass
class Offset:
    start: float = training.option(0.0, "first value of b")


def length(run: training.Run) -> tuple[int, int]:
    """How many steps there are, and how many between validations."""
    if isinstance(run.recipe.options, Descent):
        return run.recipe.options.steps, 10
    steps = POINTS // run.recipe.options.batch
    return run.recipe.options.epochs * steps, int(run.recipe.options.validate_every * steps)


@engine.train
def train(run: training.Run) -> None:
    try:
        descend(run)
    except training.Stopped:
        if not run.model.options.returns:
            raise


def descend(run: training.Run) -> None:
    offset = any(isinstance(one.options, Offset) for one in run.priors)
    steps, every = length(run)
    w, b, step = random.Random(run.seed).gauss(0, 1), 0.0, 0
    if run.resume:
        w, b, step = json.loads(run.resume.read_text())
    resumed = step

    def save(path: Path) -> None:
        path.write_text(json.dumps([w, b, step]))

    run.begin(steps, step, build="toy")
    print("says something to its log")
    while step < steps:
        draws = random.Random(run.seed * 1000 + step)
        x = draws.uniform(-1, 1)
        error = w * x + b - (2 * x + 1 + draws.gauss(0, run.dataset.options.noise))
        w -= run.recipe.options.lr * error * x
        b -= run.recipe.options.lr * error * offset
        step += 1
        run.log("loss", error * error, step)
        if step == 5 and run.model.options.fails in FAILURES:
            raise FAILURES[run.model.options.fails]
        if step % every == 0:
            run.log("top1", 100 / (1 + (w - 2) ** 2 + (b - 1) ** 2), step, split="validation")
            run.validated(step, save)
        run.step(step, save)
        if run.resume is None and resumed == 0 and step == run.model.options.die_at:
            run.save_now(step, save)
            os.kill(os.getpid(), signal.SIGKILL)
    run.result("top1", 100 / (1 + (w - 2) ** 2 + (b - 1) ** 2), split="validation")
    run.output("checkpoint", save)


if __name__ == "__main__":
    engine.main()
