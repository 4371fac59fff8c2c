#!/usr/bin/env python3
"""Images a second of one model trained by two processes with a thread each, beside one process with two threads and beside
PyTorch's DistributedDataParallel over Gloo, in turn.

    gang.py TRAINER [--size small|large] [--rounds 9] [--windows 6] [--json FILE]

TRAINER is locus-trainer: both of ours are real trainings of Fashion-MNIST by start frames, as a daemon sends them
(docs/formats/trainer.md). Theirs are steps of bench/networks.py on noise, two processes as torchrun starts them,
whose group forms through a file. A turn makes windows of five steps each and one that is not counted; it is the
median of their means. Networks that have not the same number of parameters are refused. Printed are medians and
quartiles of the rounds (bench/rounds.py), and what part of its time the gang waited for sums that the backward pass
did not hide.
"""
import argparse
import json
import os
import pathlib
import re
import select
import statistics
import subprocess
import sys
import tempfile
import time

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent / "services"))
from rounds import check_parameters, cpu, in_turn, quartiles, ratio, settle, shown  # noqa: E402
from short_stages import DATA, Trainer  # noqa: E402

SIZES = {
    "small": {"dim": 64, "depth": 3, "heads": 4, "side": 7, "patch": 4, "batch": 64},
    "large": {"dim": 192, "depth": 4, "heads": 3, "side": 14, "patch": 2, "batch": 32},
}
STEPS = 5  # a window
WAITED = re.compile(r"waited ([0-9.]+) s for sums of gradients, in ([0-9.]+) s of steps")


class Board:
    """What the daemon holds for trainers of one attempt until they have met (core/base/rendezvous.h), for `set` and `wait`."""

    def __init__(self, trainers):
        self.trainers, self.values, self.waiting = trainers, {}, []

    def take(self, trainer, question):
        if question["op"] == "set":
            self.values[question["key"]] = question["value"]
            self._answer(trainer, question)
        elif question["op"] == "wait":
            self.waiting.append((trainer, question))
        else:
            sys.exit(f"gang: trainers ask for {question['op']}, which this board does not know")
        for one in [one for one in self.waiting if all(key in self.values for key in one[1]["keys"])]:
            self.waiting.remove(one)
            self._answer(*one, values=[self.values[key] for key in one[1]["keys"]])

    @staticmethod
    def _answer(trainer, question, **said):
        trainer.send({"type": "stored", "attempt": question["attempt"], "ask": question["ask"], **said})


class Ours:
    """Trainers of one model, kept for all rounds."""

    def __init__(self, program, size, processes, threads, windows):
        self.size, self.windows, self.attempts = size, windows, 0
        self.folder = tempfile.TemporaryDirectory()
        self.trainers = [Trainer(program, self.folder.name, threads, subprocess.PIPE) for _ in range(processes)]
        self.threads, self.parameters, self.waits = threads, None, []

    def stage(self, steps):
        model = {key: self.size[key] for key in ("dim", "depth", "heads", "patch")} | {"pool": "mean"}
        options = {"epochs": 1000, "batch": self.size["batch"], "limit": self.size["batch"] * steps, "log_every": STEPS,
                   "validate_every": 0, "warmup_epochs": 0, "validation_images": 1}  # fmt: skip
        return {"kind": "train", "dataset": {"id": "fashion-mnist"}, "task": {"id": "classification"},
                "model": {"id": "vit", "options": model}, "priors": [],
                "recipe": {"id": "supervised", "options": options}, "seed": self.attempts}  # fmt: skip

    def start(self, stage):
        self.attempts += 1
        attempt = f"1/{self.attempts}"
        for rank, trainer in enumerate(self.trainers):
            execution = {"device": "cpu", "threads": self.threads, "data_root": DATA, "checkpoint_seconds": 1e9,
                         "work": str(pathlib.Path(self.folder.name) / str(self.attempts))}  # fmt: skip
            if len(self.trainers) > 1:
                execution["gang"] = {"rank": rank, "world": len(self.trainers)}
            trainer.send({"type": "start", "attempt": attempt, "stage": stage, "inputs": {}, "resume": None, "until": 0,
                          "execution": execution})  # fmt: skip
        return attempt

    def frames(self):
        """Those of all trainers, with the trainer's rank, until each is done; what they leave for one another is passed on."""
        board, left = Board(self.trainers), set(range(len(self.trainers)))
        while left:
            ready, _, _ = select.select([self.trainers[rank].socket for rank in left], [], [])
            for rank in [rank for rank in left if self.trainers[rank].socket in ready]:
                trainer = self.trainers[rank]
                frame = trainer.frame()
                while True:
                    if frame["type"] == "failed":
                        sys.exit(f"gang: {frame['reason']}")
                    if frame["type"] == "store":
                        board.take(trainer, frame)
                    elif frame["type"] == "done":
                        left.discard(rank)
                        yield rank, frame
                    else:
                        yield rank, frame
                    if not trainer.whole():
                        break
                    frame = trainer.frame()

    def count(self):
        """Parameters, by a training of one step."""
        stage = self.stage(1)
        stage["recipe"]["options"]["epochs"] = 1
        self.start(stage)
        for rank, frame in self.frames():
            if frame["type"] == "done" and rank == 0:
                self.parameters = next(int(one["value"]) for one in frame["results"] if one["metric"] == "parameters")
        return self.parameters

    def turn(self):
        """Images a second."""
        settle()
        attempt, ends = self.start(self.stage(500)), []
        for rank, frame in self.frames():
            if rank > 0 or frame["type"] != "points":
                continue
            losses = [number for number, one in enumerate(frame["series"]) if one["metric"] == "loss"]
            ends += [row[4] for row in frame["rows"] if row[0] in losses]
            if len(ends) > self.windows + 1:
                self.trainers[0].send({"type": "wish", "attempt": attempt, "wish": "cancel"})
        windows = [after - before for before, after in zip(ends, ends[1:])][: self.windows]
        self._note_waits()
        return self.size["batch"] * STEPS / (statistics.median(windows) / 1e6)

    def _note_waits(self):
        output = self.trainers[0].process.stdout
        os.set_blocking(output.fileno(), False)
        found = WAITED.findall((output.read() or b"").decode())
        self.waits += [float(waited) / float(of) for waited, of in found]

    def end(self):
        for trainer in self.trainers:
            trainer.end()
        self.folder.cleanup()


class Theirs:
    """Two processes of DistributedDataParallel, kept for all rounds."""

    def __init__(self, given):
        self.folder = tempfile.TemporaryDirectory()
        words = [sys.executable, __file__, "--ddp", self.folder.name]
        words += ["--size", given.size, "--windows", str(given.windows)]
        environment = dict(os.environ, OMP_NUM_THREADS="1", MKL_NUM_THREADS="1", GLOO_SOCKET_IFNAME="lo")
        self.ranks = [subprocess.Popen([*words, "--rank", str(rank)], stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                                       text=True, env=environment) for rank in (0, 1)]  # fmt: skip
        self.parameters = int(self._answer())

    def _answer(self):
        line = self.ranks[0].stdout.readline()
        if not line:
            sys.exit("gang: DistributedDataParallel ended where an answer was expected: it says why above")
        return line

    def turn(self):
        settle()
        for rank in self.ranks:
            rank.stdin.write("go\n")
            rank.stdin.flush()
        return float(self._answer())

    def end(self):
        for rank in self.ranks:
            rank.communicate()
        self.folder.cleanup()


def run_ddp(given):
    """One rank: a line of its parameters, then one of images a second for each line it is given."""
    import torch
    import torch.distributed
    from networks import Vit
    from torch import nn

    class Loss(nn.Module):
        def __init__(self, model):
            super().__init__()
            self.model = model

        def forward(self, images, labels):
            return self.model.loss(images, labels)

    torch.set_num_threads(1)
    torch.distributed.init_process_group("gloo", init_method=f"file://{given.ddp}/meet", rank=given.rank, world_size=2)
    size = dict(SIZES[given.size])
    batch = size.pop("batch") // 2
    torch.manual_seed(0)
    model = Vit("none", **size)
    ddp = nn.parallel.DistributedDataParallel(Loss(model))
    optimizer = torch.optim.AdamW(model.parameters(), lr=1e-3, weight_decay=0.05, fused=True)
    images, labels = torch.randn(batch, 1, *(2 * [size["patch"] * size["side"]])), torch.arange(batch) % 10

    def window():
        start = time.perf_counter()
        for _ in range(STEPS):
            optimizer.zero_grad()
            ddp(images, labels).backward()
            optimizer.step()
        return time.perf_counter() - start

    if given.rank == 0:
        print(sum(p.numel() for p in model.parameters()), flush=True)
    for _ in sys.stdin:
        window()
        taken = statistics.median(window() for _ in range(given.windows))
        if given.rank == 0:
            print(2 * batch * STEPS / taken, flush=True)
    torch.distributed.destroy_process_group()


def measured(given):
    size = SIZES[given.size]
    ours = {side: Ours(given.program, size, processes, 2 // processes, given.windows)
            for side, processes in (("gang", 2), ("alone", 1))}  # fmt: skip
    theirs = Theirs(given)
    try:
        for side in ours.values():
            check_parameters("none", side.count(), theirs.parameters)
        sides = {name: side.turn for name, side in ours.items()} | {"ddp": theirs.turn}
        taken = in_turn({"none": sides}, given.rounds)["none"]
    finally:
        for side in (*ours.values(), theirs):
            side.end()
    rates = {side: quartiles(found) for side, found in taken.items()}
    return {"parameters": theirs.parameters, "images_per_second": rates,
            "beside_alone": ratio(taken["gang"], taken["alone"]), "beside_ddp": ratio(taken["gang"], taken["ddp"]),
            "exposed_wait": quartiles(ours["gang"].waits)}  # fmt: skip


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("program", nargs="?")
    parser.add_argument("--size", choices=SIZES, default="large")
    parser.add_argument("--rounds", type=int, default=9)
    parser.add_argument("--windows", type=int, default=6)
    parser.add_argument("--json")
    parser.add_argument("--ddp", help=argparse.SUPPRESS)  # this process is a rank of theirs, which meet in that folder
    parser.add_argument("--rank", type=int, help=argparse.SUPPRESS)
    given = parser.parse_args()
    if given.ddp:
        return run_ddp(given)
    if not given.program:
        parser.error("name locus-trainer")
    found = measured(given)
    print(f"{cpu()}, {given.size}, {found['parameters']} parameters, batch {SIZES[given.size]['batch']}, float32")
    for side, text in (("gang", "two trainers, a thread each"), ("alone", "one trainer, two threads"),
                       ("ddp", "DistributedDataParallel, two processes, a thread each")):  # fmt: skip
        print(f"{text:54s} {shown(found['images_per_second'][side], digits=0)} images a second")
    print(f"two trainers beside one {shown(found['beside_alone'])}, "
          f"beside DistributedDataParallel {shown(found['beside_ddp'])}")  # fmt: skip
    print(f"of its steps, two trainers waited {shown(found['exposed_wait'], 100, 1)} % for sums of gradients")
    if given.json:
        with open(given.json, "w") as out:
            json.dump({"version": 1, "cpu": cpu(), "size": given.size, **SIZES[given.size], "rounds": given.rounds,
                       **found}, out, indent=1)  # fmt: skip


if __name__ == "__main__":
    sys.exit(main())
