#!/usr/bin/env python3
"""A training step of segmentation and of depth beside the same networks in eager PyTorch, alternately in one run.

    dense.py STEP_BENCH [--rounds 7] [--threads 2] [--batch 4] [--json FILE]
    dense.py --alone segmentation|depth [--threads 2] [--batch 4]      the memory of PyTorch's steps, in its own process

STEP_BENCH is our program (bench/steps.cc). A plain ViT of DeiT-Ti's width on 14 x 14 patches of 8 pixels, with the
token decoder and 150 classes, and with the head of DPT. Before anything is measured, PyTorch's network takes our
weights: networks whose parameters or outputs differ end the program. Both sides take their turn in rounds
(bench/rounds.py). Printed are medians and quartiles of the rounds' ratios, and the most memory that steps take beyond
the process without a network.
"""
import argparse
import json
import pathlib
import subprocess
import sys
import tempfile

import torch
from dense_networks import DenseVit
from rounds import Ours, apart, check_outputs, check_parameters, cpu, in_turn, quartiles, ratio, shown, timed

SIZE = {"dim": 192, "depth": 12, "heads": 3, "side": 14, "patch": 8, "classes": 150}
DECODERS = {"segmentation": "token-pyramid", "depth": "dpt"}
TARGETS = {"segmentation": "mask", "depth": "depth"}
STEPS_FOR_MEMORY = 3


def request_of(task, batch, written=None):
    side = SIZE["side"] * SIZE["patch"]
    options = {key: SIZE[key] for key in ("dim", "depth", "heads", "patch")} | {"pool": "mean"}
    return {"label": task, "model": {"id": "vit", "options": options}, "priors": [], "channels": 3,
            "extent": [side, side], "classes": SIZE["classes"], "batch": batch, "task": {"id": task, "options": {}},
            "decoder": {"id": DECODERS[task], "options": {}}} | ({"written": written} if written else {})  # fmt: skip


class Theirs:
    """The network in PyTorch with AdamW, and a batch."""

    def __init__(self, task, batch):
        self.task, self.model = task, DenseVit(task, **SIZE)
        side = SIZE["side"] * SIZE["patch"]
        self.images = torch.randn(batch, 3, side, side)
        self.target = (torch.rand(batch, side, side) * 9 + 0.5 if task == "depth"
                       else torch.randint(0, SIZE["classes"], (batch, side, side)))  # fmt: skip
        self.optimizer = torch.optim.AdamW(self.model.parameters(), lr=1e-3, weight_decay=0.05, fused=True)

    def parameters(self):
        return sum(p.numel() for p in self.model.parameters())

    def take(self, path):
        """Our weights and batch; how far apart the outputs are, as a part of the largest one."""
        from safetensors.torch import load_file

        found = load_file(path)
        self.model.load_ours(found)
        self.images, self.target = found["batch.image"], found["batch." + TARGETS[self.task]]
        with torch.no_grad():
            expected = self.model.eval()(self.images)
        self.model.train()
        return apart(found["output"], expected)

    def step(self):
        self.model.loss(self.images, self.target).backward()
        self.optimizer.step()
        self.optimizer.zero_grad()


def status_bytes(key):
    for line in pathlib.Path("/proc/self/status").read_text().splitlines():
        if line.startswith(key + ":"):
            return 1024 * int(line.split()[1])
    return 0


def alone(task, batch):
    before = status_bytes("VmRSS")
    network = Theirs(task, batch)
    for _ in range(STEPS_FOR_MEMORY):
        network.step()
    print(json.dumps({"bytes": status_bytes("VmHWM") - before}))


def memory_of_ours(program, task, given):
    with Ours(program, [request_of(task, given.batch)], given.threads) as ours:
        for _ in range(STEPS_FOR_MEMORY):
            ours.step(task)
        return ours.memory()


def memory_of_theirs(task, given):
    words = [sys.executable, __file__, "--alone", task, "--threads", str(given.threads), "--batch", str(given.batch)]
    return json.loads(subprocess.run(words, check=True, capture_output=True, text=True).stdout)["bytes"]


def measured(given):
    """A row for each task."""
    memory = {task: (memory_of_ours(given.program, task, given), memory_of_theirs(task, given)) for task in DECODERS}
    with tempfile.TemporaryDirectory() as folder:
        files = {task: str(pathlib.Path(folder) / f"{task}.safetensors") for task in DECODERS}
        requests = [request_of(task, given.batch, file) for task, file in files.items()]
        with Ours(given.program, requests, given.threads) as ours:
            sides, distances = {}, {}
            for task, file in files.items():
                network = Theirs(task, given.batch)
                check_parameters(task, ours.facts[task]["parameters"], network.parameters())
                distances[task] = network.take(file)
                check_outputs(task, distances[task])
                sides[task] = {"ours": lambda task=task: ours.step(task), "eager": lambda of=network: timed(of.step)}
            taken = in_turn(sides, given.rounds)
    return [
        {**ours.facts[task], "seconds": quartiles(found["ours"]), "distance": distances[task], "bytes": memory[task][0],
         "eager": ratio(found["eager"], found["ours"]), "eager_bytes": memory[task][1]}
        for task, found in taken.items()
    ]  # fmt: skip


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("program", nargs="?")
    for name, default in (("rounds", 7), ("threads", 2), ("batch", 4)):
        parser.add_argument(f"--{name}", type=int, default=default)
    parser.add_argument("--alone", choices=DECODERS)
    parser.add_argument("--json")
    given = parser.parse_args()
    torch.set_num_threads(given.threads)
    if given.alone:
        return alone(given.alone, given.batch)
    if given.program is None:
        parser.error("STEP_BENCH is missing")
    rows = measured(given)
    print(f"{cpu()}, {given.threads} threads, batch {given.batch}, float32; torch {torch.__version__}")
    for row in rows:
        text = f"{row['label']:13s} {row['parameters']:11,d} parameters "
        text += f"{1e3 * row['seconds']['median']:9.1f} ms a step, {shown(row['eager'])} times as fast as eager; "
        text += f"{row['bytes'] / 2**20:.0f} MiB beside {row['eager_bytes'] / 2**20:.0f}; "
        print(text + f"outputs {row['distance']:.0e} apart")
    if given.json:
        with open(given.json, "w") as out:
            json.dump({"version": 1, "cpu": cpu(), "torch": torch.__version__, **SIZE, "batch": given.batch,
                       "rounds": given.rounds, "threads": given.threads, "rows": rows}, out, indent=1)  # fmt: skip
    return None


if __name__ == "__main__":
    main()
