#!/usr/bin/env python3
"""The tables of tools/vtab: rates are chosen on validation alone, accuracies are the server's."""

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
        self.select = leaderboard("vtab-select", "validation", [
            row(task, tuning, prior, [50, 50 + 10 * (rate == 0.003)], rate)
            for task in TASKS for tuning in TUNINGS for prior in PRIORS for rate in (0.01, 0.003, 0.001)
        ])
        self.final = leaderboard("vtab-final", "test", [
            row(task, tuning, prior, [10, 20, 30, 40, 50 + 5 * len(prior)])
            for task in TASKS for tuning in TUNINGS for prior in PRIORS
        ])

    def run_tool(self, *arguments):
        for name, table in (("select", self.select), ("final", self.final)):
            (self.folder / f"{name}.json").write_text(json.dumps(table))
            (self.folder / f"{name}.jsonl").write_text(export(4))
        pretraining = leaderboard("vtab-pretraining", "test", [row("x", "none", PRIORS[0], [12.5])])
        (self.folder / "pretrain.json").write_text(json.dumps(pretraining))
        (self.folder / "pretraining.jsonl").write_text(export(1))
        return subprocess.run([sys.executable, ROOT / "tools/lib/vtab_page.py", *map(str, arguments)],
                              capture_output=True, text=True)

    def overrides(self):
        done = self.run_tool("overrides", self.folder / "select.json")
        self.assertEqual(done.returncode, 0, done.stderr)
        return json.loads(done.stdout)

    def page(self):
        done = self.run_tool("page", self.folder, "abc123")
        self.assertEqual(done.returncode, 0, done.stderr)
        return done.stdout

    def test_each_cell_gets_the_rate_of_the_best_validation_mean(self):
        found = self.overrides()
        self.assertEqual(len(found), 8)
        self.assertEqual({one["set"]["train.lr"] for one in found}, {0.003})
        cells_named = [one["where"] for one in found]
        self.assertIn({"dataset": "dsprites-loc", "adapter": "lora", "prior": "violin"}, cells_named)
        self.assertIn({"dataset": "caltech101", "adapter": "full", "prior": "none"}, cells_named)

    def test_of_equal_means_the_smaller_rate_is_chosen(self):
        for each in self.select["rows"]:
            each["mean"] = 50
        self.assertEqual({one["set"]["train.lr"] for one in self.overrides()}, {0.001})

    def test_the_test_split_chooses_nothing(self):
        self.select["split"] = "test"
        done = self.run_tool("overrides", self.folder / "select.json")
        self.assertNotEqual(done.returncode, 0)
        self.assertIn("chosen on the validation split", done.stderr)

    def test_a_table_that_lacks_seeds_is_refused_by_name(self):
        self.select["rows"][1]["missing_seeds"] = ["1"]
        done = self.run_tool("overrides", self.folder / "select.json")
        self.assertNotEqual(done.returncode, 0)
        self.assertIn("vtab-select is not complete: caltech101 0.003", done.stderr)

    def test_a_row_has_the_mean_of_all_seeds_and_of_the_three_best(self):
        page = self.page()
        self.assertIn("| full | none | 31.00 ± 17.46 | 41.67 | 31.00 ± 17.46 | 41.67 | 31.00 | 41.67 |", page)
        self.assertIn("caltech101, all 5 | caltech101, best 3", page)

    def test_differences_are_paired_by_seed_over_the_tasks(self):
        self.assertIn("- lora: violin +1.00 ± 2.24 points (5 pairs; 1 above 0)", self.page())

    def test_the_chosen_rates_stand_beside_their_candidates(self):
        self.assertIn("| caltech101 | lora | violin | 50.0 | 55.0 | 50.0 | 0.003 |", self.page())

    def test_a_choice_within_the_error_of_the_validation_images_is_said_to_be_one(self):
        self.assertIn("in 0 of 8 cells", self.page())
        for each in self.select["rows"]:
            each["mean"] = 50 + 2 * (json.loads(each["assignment_json"])["train.lr"] == 0.003)
        self.assertIn("in 8 of 8 cells", self.page())

    def test_machine_time_and_revision_are_there(self):
        for part in ("Some CPU (cpu)", "9 trials", "(2 minutes)", "revision abc123", "make vtab", "stand-in"):
            self.assertIn(part, self.page())

    def test_the_specifications_name_their_cells_as_the_choice_does(self):
        for name in ("select", "final"):
            text = (ROOT / f"examples/vtab/{name}.yaml").read_text()
            for label in ("caltech101", "eurosat", "dsprites-loc", "full", "lora", "dora", "none", "violin"):
                self.assertIn(f"label: {label}}}", text)


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1])
