#!/usr/bin/env python3
"""What tools/vtab knows about tables: the page of results. Every accuracy is the server's (`locus leaderboard --json`), as is
every choice (`locus search --json`); what is computed here of several accuracies is said on the page.

    vtab_page.py weights ARTIFACTS          digest of the model that a training made
    vtab_page.py page FOLDER REVISION       the page, Markdown

ARTIFACTS: `locus artifacts --json`; FOLDER holds tables, the search and exports as tools/vtab names them.
"""

import itertools
import json
import math
import pathlib
import statistics
import sys

from priors_page import Run, fixed

BEST = 3  # seeds of the published mean
CHANCE = {"caltech101": 10, "eurosat": 20, "dsprites-loc": 6.25}  # percent, of the stand-in's classes
FACTORS = ("dataset", "adapter", "prior")


class Table:
    """A leaderboard whose rows are named by the factors of the protocol."""

    def __init__(self, path):
        self.json = json.loads(pathlib.Path(path).read_text())
        self.rows = sorted(self.json["rows"], key=lambda row: row["cell"])  # in the order of the matrix
        wanting = [row["label"] for row in self.rows if row["missing_seeds"] or not row["values"]]
        if wanting or not self.rows:
            sys.exit(f"vtab: {self.json['experiment']} is not complete: {', '.join(wanting) or 'it has no rows'}")

    @staticmethod
    def key(row):
        """(task, tuning, prior) of a row, short."""
        assignment = json.loads(row["assignment_json"])
        task = next(iter(assignment["dataset"])).removeprefix("vtab-")
        adapter = assignment["adapter"]
        tuning = adapter if isinstance(adapter, str) else next(iter(adapter))
        extra = [name for each in assignment["prior"] for name in each if name != "learned-absolute"]
        return task, {"none": "full"}.get(tuning, tuning), " + ".join(extra) or "none"

    def by_key(self):
        return {self.key(row): row for row in self.rows}


class Choices:
    """What the first phase chose for each task, tuning and prior."""

    def __init__(self, path):
        self.json = json.loads(pathlib.Path(path).read_text())
        self.phase = next(phase for phase in self.json["phases"] if phase["choices"])
        if self.phase["split"] != "validation":
            sys.exit(f"vtab: rates are chosen on the validation split, and these on {self.phase['split']}")
        self.found = {}
        for choice in self.phase["choices"]:
            key = Table.key({"assignment_json": choice["group_json"]})
            if not json.loads(choice["values_json"] or "{}"):
                sys.exit(f"vtab: no rate is left for {', '.join(key)}: {choice['note']}")
            self.found[key] = choice


def values(row):
    return [float(one["value"]) for one in sorted(row["values"], key=lambda one: int(one["seed"]))]


def best_mean(numbers):
    return statistics.mean(sorted(numbers, reverse=True)[:BEST])


def spread(numbers):
    return statistics.stdev(numbers) if len(numbers) > 1 else math.nan


def distinct(keys, position):
    return list(dict.fromkeys(key[position] for key in keys))


def table_of(final):
    rows = final.by_key()
    tasks, tunings, priors = (distinct(rows, position) for position in range(3))
    seeds = len(values(final.rows[0]))
    head = ["tuning", "prior"]
    for name in (*tasks, "mean of the tasks"):
        head += [f"{name}, all {seeds}", f"{name}, best {BEST}"]
    lines = ["| " + " | ".join(head) + " |", "|---" * len(head) + "|"]
    for tuning, prior in itertools.product(tunings, priors):
        cells, alls, tops = [], [], []
        for task in tasks:
            numbers = values(rows[task, tuning, prior])
            alls.append(statistics.mean(numbers))
            tops.append(best_mean(numbers))
            cells += [f"{fixed(alls[-1])} ± {fixed(spread(numbers))}", fixed(tops[-1])]
        cells += [fixed(statistics.mean(alls)), fixed(statistics.mean(tops))]
        lines.append("| " + " | ".join([tuning, prior, *cells]) + " |")
    return "\n".join(lines)


def chosen_table(choices):
    lines = [
        "| task | tuning | prior | chosen rate | validation top1 % | ahead of the next by | error of the images "
        "| seeds that agree |",
        "|---" * 8 + "|",
    ]
    for key, one in choices.found.items():
        rate = json.loads(one["values_json"])["train.lr"]
        numbers = [fixed(one[name], 1) if name in one else "–" for name in ("value", "margin", "image_error")]
        lines.append("| " + " | ".join([*key, f"{rate:g}", *numbers, f"{one['agreed']} of {one['seeds']}"]) + " |")
    return "\n".join(lines)


def differences(final):
    """Lines: what the prior changes under each tuning, paired by seed over the mean of the tasks."""
    rows = final.by_key()
    tasks, tunings = distinct(rows, 0), distinct(rows, 1)
    priors = [prior for prior in distinct(rows, 2) if prior != "none"]
    lines = []
    for tuning, prior in itertools.product(tunings, priors):
        with_it = [statistics.mean(v) for v in zip(*(values(rows[task, tuning, prior]) for task in tasks))]
        without = [statistics.mean(v) for v in zip(*(values(rows[task, tuning, "none"]) for task in tasks))]
        each = [a - b for a, b in zip(with_it, without)]
        lines.append(
            f"- {tuning}: {prior} {fixed(statistics.mean(each), 2, True)} ± {fixed(spread(each))} points "
            f"({len(each)} pairs; {sum(d > 0 for d in each)} above 0)"
        )
    return lines


def reading(choices, final):
    every = list(choices.found.values())
    error = max((one["image_error"] for one in every if "image_error" in one), default=math.nan)
    close = sum(one["margin"] < one["image_error"] for one in every if "margin" in one and "image_error" in one)
    seeds = len(final.rows[0]["values"])
    return [
        f"- **all {seeds}**: mean ± sample deviation over the {seeds} seeds of the last model's top1. **best {BEST}**: "
        f"mean of the {BEST} highest of these test accuracies, as the paper prints it. That one selects on the test "
        "split and is optimistic: for normal noise by about 0.55 deviations; compare models by the mean of all.",
        "- The mean over tasks weighs each task alike. A rate is chosen by the highest mean validation accuracy over "
        f"{max(one['seeds'] for one in every)} seeds (of equal ones the first written); the test split takes no part.",
        f"- 200 validation images alone leave a standard error of up to {error:.1f} points; in {close} of {len(every)} "
        "cells the second best rate lies within it, so another rate might as well have been chosen.",
        "- What the prior changes, mean over the tasks, paired by seed. The exact sign-flip test of "
        f"{seeds} pairs has no p below {2 / 2 ** seeds:g}:",
        *("  " + line for line in differences(final)),
        "- A model this small, pre-trained on 600 scenes, shows that the protocol runs from end to end, not what the "
        "papers claim of large models.",
    ]


def settings(runs):
    out = []
    for name, run in runs.items():
        config = run.configuration()
        options = {k: v for k, v in config["recipe"]["options"].items() if k != "lr" or name == "pretraining"}
        recipe = ", ".join(f"{k} {v}" for k, v in sorted(options.items()))
        model = ", ".join(f"{k} {v}" for k, v in sorted(config["model"]["options"].items()))
        phases = run.specification.get("phases") or [run.specification]
        seeds = "; ".join(", ".join(map(str, one["replicates"]["seed"])) for one in phases)
        out.append(f"- {name}: {config['model']['id']} ({model}); {config['recipe']['id']} ({recipe}); seeds {seeds}")
    return out + [
        "- stand-in: scenes that `locus data make fashion-scenes` composes of Fashion-MNIST, in the format of ImageNet-1K "
        "(10 kinds, 600 images) and of three VTAB-1K tasks (caltech101: 10 kinds; eurosat: 5 backgrounds; dsprites-loc: "
        "16 columns), 800 + 200 images to train on and 200 to test with",
        "- other than in the paper: sizes of model and images, 12 epochs for 50, three rates for five, two seeds for five "
        "where rates are chosen, float32 for bfloat16",
    ]


def machine(runs, revision):
    found = runs["protocol"].environments()

    def text(key):
        return ", ".join(sorted(found[key])) or "unknown"

    spans = [run.span() for run in runs.values()]
    start, end = min(s for s, _ in spans), max(e for _, e in spans)
    trials = sum(len(run.lines["trial"]) for run in runs.values())
    return [
        f"- {text('device_name')} ({text('device')}), {text('threads')} thread a trial, {text('dtype')}; "
        f"{text('build')}",
        f"- {trials} trials, from {start:%Y-%m-%d %H:%M} to {end:%Y-%m-%d %H:%M} UTC "
        f"({(end - start).total_seconds() / 60:.0f} minutes)",
        f"- revision {revision}",
    ]


def page(folder, revision):
    folder = pathlib.Path(folder)
    pretrain, final = (Table(folder / f"{name}.json") for name in ("pretrain", "final"))
    choices = Choices(folder / "search.json")
    runs = {
        "pretraining": Run(folder / "pretrain.json", folder / "pretraining.jsonl"),
        "protocol": Run(folder / "final.json", folder / "protocol.jsonl"),
    }
    if final.json["split"] != "test":
        sys.exit("vtab: the last table is of the test split")
    parts = [
        "# The VTAB-1K protocol on a stand-in",
        "",
        "Written by `make vtab` (`tools/vtab`) from runs of `examples/vtab`: do not edit.",
        "",
        f"top1 (%) on test. The pre-trained model itself has {fixed(pretrain.rows[0]['mean'])} % on its own ten kinds. "
        "Chance: 10 there, " + ", ".join(f"{task} {chance:g}" for task, chance in CHANCE.items()) + ".",
        "",
        table_of(final),
    ]
    for title, lines in (
        ("How to read it", reading(choices, final)),
        (
            "Chosen rates",
            [
                "By the mean of top1 on 200 validation images. The error of the images is that of a proportion on so many, "
                "which seeds do not reduce.",
                "",
                chosen_table(choices),
            ],
        ),
        ("Settings", settings(runs)),
        ("Machine", machine(runs, revision)),
        ("Again", ["```sh", "make vtab", "```"]),
    ):
        parts += ["", "## " + title, "", *lines]
    return "\n".join(parts)


def main(arguments):
    what = arguments[0] if arguments else ""
    if what == "weights":
        made = json.loads(pathlib.Path(arguments[1]).read_text())["artifacts"]
        print(next(one["sha256"] for one in made if one["slot"] == "checkpoint"))
    elif what == "page":
        print(page(arguments[1], arguments[2]))
    else:
        sys.exit(__doc__)


if __name__ == "__main__":
    main(sys.argv[1:])
