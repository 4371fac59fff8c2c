"""What benchmarks share that are held beside something else: our program of training steps, the check that two networks
are the same, rounds in which every side takes its turn, and what is said of them. Needs nothing but Python.
"""
import json
import os
import statistics
import subprocess
import tempfile
import time

# Of the largest output, in float32: the two sum in other orders.
TOLERANCE = 1e-4


class Ours:
    """Our program with its models made, one for each request (bench/steps.cc). A context: the program ends with it."""

    def __init__(self, program, requests, threads):
        environment = dict(os.environ, OMP_NUM_THREADS=str(threads))
        with tempfile.NamedTemporaryFile("w", suffix=".json") as file:
            json.dump(requests, file)
            file.flush()
            self.process = subprocess.Popen([program, file.name, str(threads)], stdin=subprocess.PIPE,
                                            stdout=subprocess.PIPE, text=True, env=environment)  # fmt: skip
            try:
                made = [json.loads(line) for line in iter(self._answer, "ready")]
            except BaseException:
                self.__exit__()
                raise
        self.facts = {fact["label"]: fact for fact in made}

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.process.communicate()

    def step(self, label, steps=1):
        """Seconds of a step, the mean of some, after one that is not counted."""
        settle()
        self._ask(f"{label} 1")
        return float(self._ask(f"{label} {steps}"))

    def memory(self):
        """Bytes that the program has held at most, beyond those before its first model."""
        return int(self._ask("memory 0"))

    def _ask(self, question):
        try:
            self.process.stdin.write(question + "\n")
            self.process.stdin.flush()
        except BrokenPipeError:
            pass  # it has ended, which _answer() says
        return self._answer()

    def _answer(self):
        line = self.process.stdout.readline()
        if not line:
            raise SystemExit(f"{self.process.args[0]} ended with {self.process.wait()} where an answer was expected: "
                             "it says why above")  # fmt: skip
        return line.strip()


def settle():
    """Threads of the side before spin for some milliseconds when their work is done, on the cores that this one needs."""
    time.sleep(0.05)


def timed(step, steps=1):
    """Seconds of a step, the mean of some, after one that is not counted: its caches hold what another side computed."""
    settle()
    step()
    start = time.perf_counter()
    for _ in range(steps):
        step()
    return (time.perf_counter() - start) / steps


def apart(found, expected):
    """How far apart two tensors are at most, as a part of the largest number expected."""
    return ((found - expected).abs().max() / expected.abs().max()).item()


def check_parameters(label, ours, theirs):
    if ours != theirs:
        raise SystemExit(f"{label} has {ours} parameters here and {theirs} there: not the same network")


def check_outputs(label, distance):
    """`distance`: apart() of what both make of the same weights and inputs."""
    if not distance < TOLERANCE:
        raise SystemExit(f"of the same weights {label} gives outputs that differ by {distance:.1e} of the largest one; "
                         f"rounding explains {TOLERANCE:.0e}: not the same network")  # fmt: skip


def in_turn(cases, rounds, warm_up=1):
    """Measures cases, {label: {side: a function that measures it once}}; {label: {side: [a number a round]}}.

    A round measures every case once, its sides right after one another, so that a machine that slows down slows all of
    them; every other round begins with the last side. Rounds that warm up come first and are not kept.
    """
    taken = {label: {side: [] for side in sides} for label, sides in cases.items()}
    for number in range(-warm_up, rounds):
        for label, sides in cases.items():
            for side in sides if number % 2 == 0 else reversed(sides):
                measured = sides[side]()
                if number >= 0:
                    taken[label][side].append(measured)
    return taken


def quartiles(values):
    if len(values) == 1:
        return {"median": values[0], "low": values[0], "high": values[0]}
    low, median, high = statistics.quantiles(values, n=4, method="inclusive")
    return {"median": median, "low": low, "high": high}


def ratio(above, below):
    """Quartiles of the rounds' ratios."""
    return quartiles([a / b for a, b in zip(above, below, strict=True)])


def shown(spread, scale=1, digits=2):
    """Quartiles as text: median (low to high)."""
    median, low, high = (f"{scale * spread[key]:.{digits}f}" for key in ("median", "low", "high"))
    return f"{median} ({low} to {high})"


def cpu():
    with open("/proc/cpuinfo") as lines:
        return next((line.split(":", 1)[1].strip() for line in lines if line.startswith("model name")), "unknown")
