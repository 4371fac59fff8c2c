#!/usr/bin/env python3
"""A training step of every host beside the same network of timm in eager PyTorch, alternately, in one run.

    hosts.py STEP_BENCH [--rounds 7] [--threads 2] [--batch 4] [--only LABEL,...] [--json FILE]

STEP_BENCH is our program (bench/steps.cc). `bench/peers` installs timm. Networks that timm
has not, RMT among them, are measured alone. A round measures each case once, ours and then theirs; printed are medians
and quartiles of the rounds and the median of the rounds' ratios. Parameters are compared before anything is measured: a
row whose two networks are not the same size is refused.
"""
import argparse
import json
import os
import statistics
import subprocess
import sys
import tempfile
import time



def rmt_priors():
    """The position encodings of RMT (arXiv:2309.11523), by stage."""
    return [
        {"id": "cpe", "options": {"place": "every-block"}},
        {"id": "rope-axial", "options": {"flavor": "rmt"}},
        {
            "id": "manhattan-decay",
            "options": {"form": "full", "range": 4},
            "stages": [{"form": "decomposed"}, {"form": "decomposed"}, {"range": 6}, {"range": 6}],
        },
        {"id": "lepe", "options": {}},
    ]


LEARNED = {"id": "learned-absolute", "options": {"rows": "with-class"}}
# label, our model, its priors, side of the images, timm's name or None
CASES = [
    ("deit-tiny", {"id": "vit", "options": {"size": "deit-tiny"}}, [LEARNED], 224, "deit_tiny_patch16_224"),
    ("deit-small", {"id": "vit", "options": {"size": "deit-small"}}, [LEARNED], 224, "deit_small_patch16_224"),
    ("swin-tiny", {"id": "swin", "options": {"size": "tiny"}}, [{"id": "relative-bias", "options": {}}], 224,
     "swin_tiny_patch4_window7_224"),
    ("rmt-tiny", {"id": "rmt", "options": {"size": "tiny"}}, rmt_priors(), 224, None),
]  # fmt: skip


class Ours:
    """Our program with its models made."""

    def __init__(self, program, cases, threads, batch):
        requests = [
            {"label": label, "model": model, "priors": priors, "channels": 3, "extent": [side, side], "classes": 1000,
             "batch": batch}
            for label, model, priors, side, _ in cases
        ]  # fmt: skip
        self.file = tempfile.NamedTemporaryFile("w", suffix=".json")
        json.dump(requests, self.file)
        self.file.flush()
        environment = dict(os.environ, OMP_NUM_THREADS=str(threads))
        self.process = subprocess.Popen([program, self.file.name, str(threads)], stdin=subprocess.PIPE,
                                        stdout=subprocess.PIPE, text=True, env=environment)  # fmt: skip
        self.facts = {}
        for line in self.process.stdout:
            if line.strip() == "ready":
                return
            fact = json.loads(line)
            self.facts[fact["label"]] = fact
        sys.exit("hosts: step_bench ended before its models were made")

    def step(self, label):
        self.process.stdin.write(f"{label} 1\n")
        self.process.stdin.flush()
        return float(self.process.stdout.readline())


class Theirs:
    """The same networks of timm."""

    def __init__(self, cases, threads, batch):
        import timm
        import torch

        torch.set_num_threads(threads)
        self.torch, self.models = torch, {}
        self.version = f"torch {torch.__version__}, timm {timm.__version__}"
        for label, _, _, side, name in cases:
            if name is None:
                continue
            model = timm.create_model(name, pretrained=False, num_classes=1000)
            optimizer = torch.optim.AdamW(model.parameters(), lr=1e-3, weight_decay=0.05, fused=True)
            images, labels = torch.randn(batch, 3, side, side), torch.arange(batch)
            self.models[label] = (model.train(), optimizer, images, labels)

    def parameters(self, label):
        return sum(p.numel() for p in self.models[label][0].parameters())

    def step(self, label):
        model, optimizer, images, labels = self.models[label]
        start = time.perf_counter()
        self.torch.nn.functional.cross_entropy(model(images), labels).backward()
        optimizer.step()
        optimizer.zero_grad()
        return time.perf_counter() - start


def quartiles(values):
    low, median, high = statistics.quantiles(values, n=4, method="inclusive")
    return {"median": median, "low": low, "high": high}


def cpu():
    with open("/proc/cpuinfo") as lines:
        return next((line.split(":", 1)[1].strip() for line in lines if line.startswith("model name")), "unknown")


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("program")
    for name, default in (("rounds", 7), ("threads", 2), ("batch", 4)):
        parser.add_argument(f"--{name}", type=int, default=default)
    parser.add_argument("--only", help="labels, separated by commas")
    parser.add_argument("--json")
    arguments = parser.parse_args()
    wanted = arguments.only.split(",") if arguments.only else [case[0] for case in CASES]
    cases = [case for case in CASES if case[0] in wanted]
    ours = Ours(arguments.program, cases, arguments.threads, arguments.batch)
    theirs = Theirs(cases, arguments.threads, arguments.batch)
    for label in theirs.models:
        if ours.facts[label]["parameters"] != theirs.parameters(label):
            sys.exit(f"hosts: {label} has {ours.facts[label]['parameters']} parameters here and "
                     f"{theirs.parameters(label)} in timm: not the same network")  # fmt: skip
    taken = {case[0]: ([], []) for case in cases}
    for round_ in range(arguments.rounds + 1):  # the first one warms up
        for label, (mine, other) in taken.items():
            mine.append(ours.step(label))
            if label in theirs.models:
                other.append(theirs.step(label))
            if round_ == 0:
                mine.clear()
                other.clear()
    rows = []
    print(f"{cpu()}, {arguments.threads} threads, batch {arguments.batch}, float32; {theirs.version}")
    for label, (mine, other) in taken.items():
        row = {**ours.facts[label], "seconds": quartiles(mine)}
        text = f"{label:12s} {row['parameters']:12,d} parameters {1e3 * row['seconds']['median']:9.1f} ms a step"
        if other:
            row["eager"] = quartiles(other)
            row["speedup"] = quartiles([b / a for a, b in zip(mine, other)])
            text += f", eager {1e3 * row['eager']['median']:9.1f} ms: {row['speedup']['median']:.2f} times as fast"
        print(text)
        rows.append(row)
    if arguments.json:
        with open(arguments.json, "w") as out:
            json.dump({"version": 1, "cpu": cpu(), "peers": theirs.version,
                       "settings": {k: getattr(arguments, k) for k in ("rounds", "threads", "batch")}, "rows": rows},
                      out, indent=1)  # fmt: skip


if __name__ == "__main__":
    main()
