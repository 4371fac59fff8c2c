#!/usr/bin/env python3
"""The page of tools/vtab: choices and accuracies are the server's, and rates are chosen on validation alone."""

import itertools
import json
import pathlib
import subprocess
import sys
import tempfile
import unittest

ROOT = pathlib.Path(sys.argv.pop(1))
cells = itertools.count()
TASKS, TUNINGS = ("caltech101", "dsprites-loc"), ("none", {"lora": {"rank": 4}})
PRIORS = ([{"learned-absolute": {}}], [{"learned-absolute": {}}, {"violin": {"alpha_mean": 1}}])


def row(task, tuning, prior, values, rate=None):
    assignment = {"dataset": {"vtab-" + task: {"test": 200}}, "adapter": tuning, "prior": prior}
    if rate is not None:
        assignment["train.lr"] = rate
    return {
        "cell": next(cells),
        "label": f"{task} {rate}",
        "assignment_json": json.dumps(assignment),
        "missing_seeds": [],
        "mean": sum(values) / len(values),
        "values": [{"seed": str(seed), "value": value} for seed, value in reversed(list(enumerate(values)))],
    }


def choice(task, tuning, prior, margin=10.0):
    group = {"dataset": {"vtab-" + task: {"test": 200}}, "adapter": tuning, "prior": prior}
    return {"group": task, "group_json": json.dumps(group), "values_json": '{"train.lr":0.003}', "value": 55.04,
            "margin": margin, "image_error": 3.52, "seeds": 2, "agreed": 1, "note": ""}


def leaderboard(name, split, rows):
    return {"experiment": name, "split": split, "rows": rows}


def export(datasets):
    config = {
        "model": {"id": "vit", "options": {"dim": 64}},
        "recipe": {"id": "vtab", "options": {"lr": 0.01, "epochs": 10}},
    }
    environment = {"device": "cpu", "device_name": "Some CPU", "threads": 1, "dtype": "float32", "build": "b"}
    lines = [{"type": "experiment", "specification": {"replicates": {"seed": [0, 1]}}}]
    lines += [{"type": "stage", "stage": 1, "kind": "train", "config": config}]
    lines += [{"type": "trial"} for _ in range(datasets)]
    lines += [{"type": "attempt", "stage": 1, "state": "succeeded", "environment": environment,
               "started_us": 1, "ended_us": 120_000_000}]
    return "\n".join(map(json.dumps, [*lines, {"type": "end"}]))


class Vtab(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = pathlib.Path(folder.name)
        self.choices = [choice(task, tuning, prior) for task in TASKS for tuning in TUNINGS for prior in PRIORS]
        self.split = "validation"
        self.final = leaderboard("vtab-protocol", "test", [
            row(task, tuning, prior, [10, 20, 30, 40, 50 + 5 * len(prior)])
            for task in TASKS for tuning in TUNINGS for prior in PRIORS
        ])

    def run_tool(self, *arguments):
        (self.folder / "final.json").write_text(json.dumps(self.final))
        (self.folder / "protocol.jsonl").write_text(export(8))
        phases = [{"name": "select", "split": self.split, "choices": self.choices}, {"name": "final", "choices": []}]
        (self.folder / "search.json").write_text(json.dumps({"experiment": "vtab-protocol", "phases": phases}))
        pretraining = leaderboard("vtab-pretraining", "test", [row("x", "none", PRIORS[0], [12.5])])
        (self.folder / "pretrain.json").write_text(json.dumps(pretraining))
        (self.folder / "pretraining.jsonl").write_text(export(1))
        return subprocess.run([sys.executable, ROOT / "tools/lib/vtab_page.py", *map(str, arguments)],
                              capture_output=True, text=True)

    def page(self):
        done = self.run_tool("page", self.folder, "abc123")
        self.assertEqual(done.returncode, 0, done.stderr)
        return done.stdout

    def refused(self):
        done = self.run_tool("page", self.folder, "abc123")
        self.assertNotEqual(done.returncode, 0)
        return done.stderr

    def test_the_test_split_chooses_nothing(self):
        self.split = "test"
        self.assertIn("chosen on the validation split", self.refused())

    def test_a_group_without_a_choice_is_refused_by_name(self):
        self.choices[1].update(values_json="", note="every candidate lacks seed 1")
        self.assertIn("no rate is left for caltech101, full, violin: every candidate lacks seed 1", self.refused())

    def test_a_table_that_lacks_seeds_is_refused_by_name(self):
        self.final["rows"][1]["missing_seeds"] = ["1"]
        self.assertIn("vtab-protocol is not complete: caltech101 None", self.refused())

    def test_a_row_has_the_mean_of_all_seeds_and_of_the_three_best(self):
        page = self.page()
        self.assertIn("| full | none | 31.00 ± 17.46 | 41.67 | 31.00 ± 17.46 | 41.67 | 31.00 | 41.67 |", page)
        self.assertIn("caltech101, all 5 | caltech101, best 3", page)

    def test_differences_are_paired_by_seed_over_the_tasks(self):
        self.assertIn("- lora: violin +1.00 ± 2.24 points (5 pairs; 1 above 0)", self.page())

    def test_the_chosen_rates_stand_beside_what_supports_them(self):
        self.assertIn("| caltech101 | lora | violin | 0.003 | 55.0 | 10.0 | 3.5 | 1 of 2 |", self.page())
        del self.choices[0]["margin"]
        self.assertIn("| caltech101 | full | none | 0.003 | 55.0 | – | 3.5 | 1 of 2 |", self.page())

    def test_a_choice_within_the_error_of_the_validation_images_is_said_to_be_one(self):
        self.assertIn("in 0 of 8 cells", self.page())
        for each in self.choices:
            each["margin"] = 2.0
        self.assertIn("in 8 of 8 cells", self.page())

    def test_machine_time_and_revision_are_there(self):
        for part in ("Some CPU (cpu)", "9 trials", "(2 minutes)", "revision abc123", "make vtab", "stand-in"):
            self.assertIn(part, self.page())

    def test_the_specification_names_its_cells_as_the_page_does(self):
        text = (ROOT / "examples/vtab/protocol.yaml").read_text()
        for label in ("caltech101", "eurosat", "dsprites-loc", "full", "lora", "dora", "none", "violin"):
            self.assertIn(f"label: {label}}}", text)


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1])
