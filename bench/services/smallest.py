#!/usr/bin/env python3
"""The smallest real training, as often a second as two slots make it: one step of 32 images, one validation, a checkpoint
and a model.

    smallest.py FOLDER TRIALS [SLOTS] [--bin FOLDER]

Starts a server and a worker of our own, submits the trials and prints one JSON object. train_in_torch() is the same
training in PyTorch, for bench/services/ray_trials.py.
"""
import argparse
import gzip
import json
import os
import pathlib
import signal
import subprocess
import sys
import time

ROOT = pathlib.Path(__file__).resolve().parents[2]
DIM, HEADS, PATCH, BATCH = 16, 1, 7, 32
VALIDATION = 5000
DATA = pathlib.Path(os.environ.get("LOCUS_FASHION_MNIST", "/usr/share/datasets/fashion-mnist"))


def images(first, count):
    import torch

    with gzip.open(DATA / "train-images-idx3-ubyte.gz") as file:
        file.read(16 + first * 784)
        pixels = torch.frombuffer(bytearray(file.read(count * 784)), dtype=torch.uint8).view(count, 1, 28, 28)
    with gzip.open(DATA / "train-labels-idx1-ubyte.gz") as file:
        file.read(8 + first)
        labels = torch.frombuffer(bytearray(file.read(count)), dtype=torch.uint8).long()
    return (pixels.float() / 255 - 0.2860) / 0.3530, labels


_loaded = {}  # of this process: a trial that comes second finds the data read, as in a trainer of ours


def train_in_torch(seed, folder):
    """One trial; checkpoint and model into `folder`. Returns the accuracy on the validation images."""
    import torch
    from torch import nn

    torch.set_num_threads(1)
    if not _loaded:
        _loaded["train"] = images(0, 1000)
        _loaded["validation"] = images(55000, VALIDATION)

    class Block(nn.Module):
        def __init__(self):
            super().__init__()
            self.norm1, self.norm2 = nn.LayerNorm(DIM), nn.LayerNorm(DIM)
            self.qkv, self.out = nn.Linear(DIM, 3 * DIM), nn.Linear(DIM, DIM)
            self.mlp = nn.Sequential(nn.Linear(DIM, 4 * DIM), nn.GELU(), nn.Linear(4 * DIM, DIM))

        def forward(self, x):
            b, t, _ = x.shape
            q, k, v = self.qkv(self.norm1(x)).view(b, t, 3, HEADS, DIM // HEADS).permute(2, 0, 3, 1, 4)
            mixed = nn.functional.scaled_dot_product_attention(q, k, v).transpose(1, 2).reshape(b, t, DIM)
            x = x + self.out(mixed)
            return x + self.mlp(self.norm2(x))

    torch.manual_seed(seed)
    embed, block = nn.Conv2d(1, DIM, PATCH, PATCH), Block()
    norm, head = nn.LayerNorm(DIM), nn.Linear(DIM, 10)
    model = nn.ModuleList([embed, block, norm, head])

    def predict(pixels):
        return head(norm(block(embed(pixels).flatten(2).transpose(1, 2))).mean(1))

    optimizer = torch.optim.AdamW(model.parameters(), lr=1e-3, fused=True)
    pixels, labels = _loaded["train"]
    chosen = torch.randperm(len(pixels))[:BATCH]
    nn.functional.cross_entropy(predict(pixels[chosen]), labels[chosen]).backward()
    optimizer.step()
    with torch.no_grad():
        pixels, labels = _loaded["validation"]
        top1 = (predict(pixels).argmax(1) == labels).float().mean().item()
    checkpoint = {"model": model.state_dict(), "optimizer": optimizer.state_dict()}
    torch.save(checkpoint, os.path.join(folder, "checkpoint.pt"))
    torch.save(model.state_dict(), os.path.join(folder, "model.pt"))
    return top1


def specification(trials):
    return {"version": 1, "name": "smallest", "dataset": "fashion-mnist",
            "model": {"backbone": "vit", "dim": DIM, "depth": 1, "heads": HEADS, "patch": PATCH, "pool": "mean"},
            "train": {"epochs": 1, "batch": BATCH, "limit": BATCH}, "matrix": {"prior": ["none"]},
            "replicates": {"seed": list(range(trials))}, "metric": {"name": "top1", "reports": "validation"}}  # fmt: skip


def first_steps(export):
    """Milliseconds from the grant of each training to the point of its first step, of an experiment's lines."""
    granted, stepped = {}, {}
    for line in map(json.loads, export.splitlines()):
        if line["type"] == "attempt":
            granted[line["stage"]] = line["started_us"]
        elif line["type"] == "points" and line["metric"] == "loss" and line["split"] == "train":
            stepped[line["stage"]] = line["time_us"][0]
    return sorted((stepped[stage] - granted[stage]) / 1e3 for stage in stepped)


def wait_for(condition, what, seconds=60):
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        found = condition()
        if found:
            return found
        time.sleep(0.05)
    sys.exit(f"smallest: {what} did not come within {seconds} s")


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("folder", type=pathlib.Path)
    parser.add_argument("trials", type=int)
    parser.add_argument("slots", type=int, nargs="?", default=2)
    parser.add_argument("--bin", type=pathlib.Path, default=ROOT / "build/release/bin")
    given = parser.parse_args()
    locus, home = str(given.bin / "locus"), given.folder
    home.mkdir(parents=True, exist_ok=True)
    state = home / "data/server.json"
    if state.exists():
        sys.exit(f"smallest: {home} has been used already; give a new folder")

    def ask(*words):
        return subprocess.run([locus, *words, "--server", address], check=True, capture_output=True, text=True).stdout

    log = open(home / "log", "w")
    started = [subprocess.Popen([locus, "serve", "--data", str(home / "data"), "--grpc-address", "127.0.0.1:0",
                                 "--http-address", "127.0.0.1:0"], stdout=log, stderr=log)]  # fmt: skip
    try:
        address = wait_for(lambda: state.exists() and json.loads(state.read_text()).get("grpc"), "the server")
        started.append(subprocess.Popen([locus, "worker", "--server", address, "--slots", str(given.slots),
                                         "--work", str(home / "worker")], stdout=log, stderr=log))  # fmt: skip
        wait_for(lambda: '"active"' in ask("workers", "--json"), "the worker")
        for name, count in (("warm", 2 * given.slots), ("smallest", given.trials)):
            spec = dict(specification(count), name=name)
            if name == "smallest":  # other seeds than those that warmed the trainers
                spec["replicates"]["seed"] = list(range(100, 100 + count))
            (home / f"{name}.json").write_text(json.dumps(spec))
            start = time.perf_counter()
            ask("submit", "--watch", str(home / f"{name}.json"))
            seconds = time.perf_counter() - start
        first = first_steps(ask("export", "smallest"))
        print(json.dumps({"case": "smallest trainings", "slots": given.slots, "trials": given.trials,
                          "seconds": seconds, "per_second": given.trials / seconds,
                          "first_step_ms": first[len(first) // 2]}))  # fmt: skip
    finally:
        for process in reversed(started):
            process.send_signal(signal.SIGTERM)
            process.wait()


if __name__ == "__main__":
    main()
