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


@engine.dataset(
    "toy-points",
    summary="Points near a line",
    facts={
        "digest": "0" * 64,
        "channels": 1,
        "extent": [4, 4],
        "classes": 2,
        "splits": {"train": 64, "validation": 16, "test": 16},
    },
)
@dataclass
class Points:
    noise: float = training.option(0.1, "deviation of the points", minimum=0)


@engine.backbone("toy-line", summary="A line")
@dataclass
class Line:
    patch: int = training.option(4, "of no meaning here", minimum=1)
    die_at: int = training.option(0, "the first attempt is killed there", minimum=0)


@engine.recipe("toy-descent", summary="Gradient descent, a point a step")
@dataclass
class Descent:
    steps: int = training.option(60, "points shown", minimum=1)
    lr: float = training.option(0.05, "learning rate", above=0)


@engine.prior("toy-none", summary="Nothing", formula="y = w x")
@dataclass
class Nothing:
    pass


@engine.prior("toy-offset", summary="An offset that is learned", formula="y = w x + b")
@dataclass
class Offset:
    start: float = training.option(0.0, "first value of b")


@engine.train
def train(run: training.Run) -> None:
    descent, offset = run.recipe.options, any(isinstance(one.options, Offset) for one in run.priors)
    w, b, step = random.Random(run.seed).gauss(0, 1), 0.0, 0
    if run.resume:
        w, b, step = json.loads(run.resume.read_text())
    resumed = step

    def save(path: Path) -> None:
        path.write_text(json.dumps([w, b, step]))

    run.begin(descent.steps, step, build="toy")
    print("says something to its log")
    while step < descent.steps:
        draws = random.Random(run.seed * 1000 + step)
        x = draws.uniform(-1, 1)
        error = w * x + b - (2 * x + 1 + draws.gauss(0, run.dataset.options.noise))
        w -= descent.lr * error * x
        b -= descent.lr * error * offset
        step += 1
        run.log("loss", error * error, step)
        if step % 10 == 0:
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
