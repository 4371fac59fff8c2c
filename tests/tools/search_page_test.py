#!/usr/bin/env python3
"""The page of tools/search: every number is the server's, and what selected is never what is reported."""

import json
import pathlib
import subprocess
import sys
import tempfile
import unittest

ROOT = pathlib.Path(sys.argv.pop(1))
PRIORS = {"none": [{"none": {}}], "violin": [{"learned-absolute": {}}, {"violin": {}}]}


def row(cell, name, mean, tuned):
    assignment = {"prior": PRIORS[name]}
    if tuned:
        assignment["train.lr"] = {"$chosen": "tune"}
    baseline = name == "none"
    nan = "NaN"
    return {
        "cell": cell,
        "label": name,
        "assignment_json": json.dumps(assignment),
        "missing_seeds": [],
        "mean": mean,
        "std": 0.5,
        "values": [{"seed": str(seed), "value": mean} for seed in (11, 10)],
        "baseline": baseline,
        "pairs": 0 if baseline else 2,
        "difference": nan if baseline else 1.25,
        "difference_low": nan if baseline else -0.5,
        "difference_high": nan if baseline else 3.0,
        "p_holm": nan if baseline else 0.5,
    }


def export():
    environment = {"device": "cpu", "device_name": "Some CPU", "threads": 1, "dtype": "float32", "build": "b"}
    lines = [{"type": "experiment", "specification": {}}, {"type": "stage", "stage": 1, "kind": "train", "config": {}}]
    lines += [
        {
            "type": "attempt",
            "stage": 1,
            "state": state,
            "environment": environment,
            "started_us": 1,
            "ended_us": 120_000_000,
        }
        for state in ("parked", "succeeded")
    ]
    return "\n".join(map(json.dumps, [*lines, {"type": "end"}]))


class SearchPage(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = pathlib.Path(folder.name)
        self.tables = {
            "tuned": {
                "experiment": "tuned-priors",
                "split": "test",
                "rows": [row(7, "violin", 82.5, True), row(6, "none", 81.25, True)],
            },
            "untuned": {
                "experiment": "untuned-priors",
                "split": "test",
                "rows": [row(0, "none", 80.0, False), row(1, "violin", 79.0, False)],
            },
        }
        choice = {
            "values_json": '{"train.lr":0.00123,"train.weight_decay":0.05}',
            "value": 83.1,
            "margin": 0.25,
            "image_error": 0.4,
        }
        self.search = {
            "decided": 321,
            "phases": [
                {
                    "proposals": 32,
                    "resource": "epochs",
                    "brackets": [{"rungs": [{"rung": "1", "sent": 8, "there": 8, "advanced": 2, "failed": 1}]}],
                    "choices": [{**choice, "group_json": json.dumps({"prior": one})} for one in PRIORS.values()],
                },
                {"proposals": 0, "brackets": [], "choices": []},
            ],
        }
        self.changes = [
            {"item": 1, "mean": 1.25, "low": 0.5, "high": 2.0, "p_sign_flip": 0.5, "p_floor": 0.5},
            {"item": 1, "mean": 3.5, "low": -1.0, "high": 8.0, "p_sign_flip": 0.5, "p_floor": 0.5},
        ]

    def run_tool(self, *arguments):
        for name, table in self.tables.items():
            (self.folder / f"{name}.json").write_text(json.dumps(table))
            (self.folder / f"{name}.jsonl").write_text(export())
        for number, change in enumerate(self.changes):
            (self.folder / f"pair-{number}.json").write_text(json.dumps({"paired": [change]}))
        (self.folder / "search.json").write_text(json.dumps(self.search))
        return subprocess.run(
            [sys.executable, ROOT / "tools/lib/search_page.py", *map(str, arguments)], capture_output=True, text=True
        )

    def page(self):
        done = self.run_tool("page", self.folder, "abc123")
        self.assertEqual(done.returncode, 0, done.stderr)
        return done.stdout

    def test_an_encoding_is_compared_with_itself_by_its_priors(self):
        done = self.run_tool("pairs", self.folder)
        self.assertEqual(
            done.stdout,
            "0 untuned-priors/cells/0 tuned-priors/cells/6\n1 untuned-priors/cells/1 tuned-priors/cells/7\n",
        )

    def test_a_row_has_the_servers_means_and_its_paired_difference(self):
        self.assertIn("| violin | 79.00 ± 0.50 | 82.50 ± 0.50 | +3.50 | -1.00 to +8.00 | 0.5 (0.5) |", self.page())
        self.changes[1]["mean"] = -7.0
        self.assertIn("| violin | 79.00 ± 0.50 | 82.50 ± 0.50 | -7.00 |", self.page())

    def test_differences_from_the_baseline_stand_with_their_places(self):
        self.assertIn("| violin | +1.25 | -0.50 to +3.00 | 0.5 | 2 | +1.25 | -0.50 to +3.00 | 0.5 | 1 |", self.page())
        self.assertIn("| none | baseline | – | – | 1 | baseline | – | – | 2 |", self.page())

    def test_it_says_how_far_choices_and_changes_can_be_trusted(self):
        page = self.page()
        self.assertIn("Tuning moved 1 of 2 encodings", page)
        self.assertIn("In 2 of 2 encodings the chosen setting leads the next by less", page)
        self.assertIn("from seeds 10, 11", page)
        self.assertIn("| violin | 0.00123 | 0.05 | 83.10 | 0.25 | 0.40 |", page)

    def test_rungs_machine_time_and_revision_are_there(self):
        for part in (
            "| 1 | 8 | 8 | 2 | 1 |",
            "Some CPU (cpu)",
            "321 decisions and 4 attempts",
            "(2 minutes)",
            "revision abc123",
            "make search",
        ):
            self.assertIn(part, self.page())

    def test_what_selected_is_not_reported(self):
        self.tables["tuned"]["split"] = "validation"
        done = self.run_tool("page", self.folder, "abc123")
        self.assertNotEqual(done.returncode, 0)
        self.assertIn("a tuned number counts on test alone", done.stderr)

    def test_a_table_that_lacks_seeds_or_encodings_is_refused_by_name(self):
        self.tables["tuned"]["rows"][0]["missing_seeds"] = ["10"]
        self.assertIn("tuned-priors is not complete: violin", self.run_tool("page", self.folder, "a").stderr)
        del self.tables["tuned"]["rows"][0]
        self.assertIn("nothing tuned is there for violin", self.run_tool("page", self.folder, "a").stderr)


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1])
