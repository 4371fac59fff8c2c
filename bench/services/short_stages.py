#!/usr/bin/env python3
"""Where the time of a short stage goes, in trainers that have run one of the same data: one training step of 32 images,
one validation, a model; every stage under another seed.

    short_stages.py TRAINER [TRAINER ...] [--stages N] [--rounds N]

Speaks to each trainer as its daemon does (docs/formats/trainer.md), in turn, and prints one JSON object a trainer:
medians and quartiles of the milliseconds from the start frame to what the trainer tells, and of its processor time a
stage.
"""
import argparse
import json
import os
import pathlib
import socket
import struct
import subprocess
import sys
import tempfile
import time

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))
import rounds  # noqa: E402

CLOCK = os.sysconf("SC_CLK_TCK")
DATA = os.environ.get("LOCUS_DATA_ROOT", "/usr/share/datasets")


def configuration(seed):
    model = {"dim": 16, "depth": 1, "heads": 1, "patch": 7, "pool": "mean"}
    return {"kind": "train", "dataset": {"id": "fashion-mnist"}, "task": {"id": "classification"},
            "model": {"id": "vit", "options": model}, "priors": [{"id": "none"}],
            "recipe": {"id": "supervised", "options": {"epochs": 1, "batch": 32, "limit": 32}}, "seed": seed}  # fmt: skip


class Trainer:
    """A trainer process and its socket."""

    def __init__(self, program, folder, threads=1, output=subprocess.DEVNULL):
        self.folder, self.stages, self.rest = pathlib.Path(folder), 0, b""
        ours, theirs = socket.socketpair()
        environment = dict(os.environ, OMP_NUM_THREADS=str(threads), MKL_NUM_THREADS=str(threads))
        self.process = subprocess.Popen([program, "run", "--fd", str(theirs.fileno())], pass_fds=[theirs.fileno()],
                                        env=environment, stdout=output)  # fmt: skip
        theirs.close()
        self.socket = ours
        self.frame()

    def whole(self):
        """Whether a frame has been read that nobody has taken."""
        return len(self.rest) >= 4 and len(self.rest) >= 4 + struct.unpack("<I", self.rest[:4])[0]

    def frame(self):
        while not self.whole():
            more = self.socket.recv(1 << 16)
            if not more:
                sys.exit(f"short_stages: {self.process.args[0]} is gone")
            self.rest += more
        end = 4 + struct.unpack("<I", self.rest[:4])[0]
        frame, self.rest = json.loads(self.rest[4:end]), self.rest[end:]
        return frame

    def send(self, frame):
        text = json.dumps(frame).encode()
        self.socket.sendall(struct.pack("<I", len(text)) + text)

    def processor_seconds(self):
        with open(f"/proc/{self.process.pid}/stat") as stat:
            fields = stat.read().rsplit(")", 1)[1].split()
        return (int(fields[11]) + int(fields[12])) / CLOCK

    def stage(self):
        """Milliseconds from the start frame to each event."""
        work = self.folder / str(self.stages)
        work.mkdir()
        execution = {"device": "cpu", "threads": 1, "data_root": DATA, "work": str(work), "checkpoint_seconds": 60}
        start = time.perf_counter()
        self.send({"type": "start", "attempt": f"{self.stages}/1", "stage": configuration(self.stages), "inputs": {},
                   "resume": None, "until": 0, "execution": execution})  # fmt: skip
        self.stages += 1
        seen = {}
        while True:
            frame = self.frame()
            name = {"started": "built", "done": "done"}.get(frame["type"])
            if frame["type"] == "progress":
                name = {"train": "first step", "validate": "validation begins"}.get(frame["phase"])
            if frame["type"] == "failed":
                sys.exit(f"short_stages: {frame['reason']}")
            if name:
                seen.setdefault(name, 1000 * (time.perf_counter() - start))
            if name == "done":
                return seen

    def end(self):
        self.send({"type": "shutdown"})
        self.process.wait()


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("trainers", nargs="+", metavar="TRAINER")
    parser.add_argument("--stages", type=int, default=20, help="of each trainer in a round")
    parser.add_argument("--rounds", type=int, default=5)
    given = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        trainers = []
        for number, program in enumerate(given.trainers):
            work = pathlib.Path(folder) / str(number)
            work.mkdir()
            trainers.append(Trainer(program, work))
        times = [[] for _ in trainers]
        processor = [[] for _ in trainers]
        for number in range(-1, given.rounds):  # one round warms up
            for which, trainer in enumerate(trainers):
                before = trainer.processor_seconds()
                seen = [trainer.stage() for _ in range(given.stages)]
                if number >= 0:
                    times[which] += seen
                    processor[which].append(1000 * (trainer.processor_seconds() - before) / given.stages)
        for which, trainer in enumerate(trainers):
            trainer.end()
            events = {name: rounds.quartiles([seen[name] for seen in times[which]]) for name in times[which][0]}
            print(json.dumps({"case": "short stages", "trainer": given.trainers[which], "milliseconds": events,
                              "processor_milliseconds": rounds.quartiles(processor[which])}))  # fmt: skip


if __name__ == "__main__":
    main()
