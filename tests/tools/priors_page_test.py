#!/usr/bin/env python3
"""The page of tools/priors: numbers come from the server's table, sentences from the numbers."""

import json
import pathlib
import subprocess
import sys
import tempfile
import unittest

ROOT = pathlib.Path(sys.argv.pop(1))
STATISTICS = ("difference", "difference_low", "difference_high", "p_sign_flip", "p_floor", "p_holm")


def row(cell, label, priors, values, **statistics):
    return {
        "cell": cell,
        "label": label,
        "assignment_json": json.dumps({"prior": priors}),
        "n": values,
        "missing_seeds": ["2"] * (3 - values),
        "mean": 50.0,
        "std": 1.5,
        "ci_low": 46.274,
        "ci_high": 53.726,
        "baseline": not statistics,
        "pairs": 3 if statistics else 0,
        "parameters_added": str(100 * cell),
        **{key: statistics.get(key, "NaN") for key in STATISTICS},
    }


class Page(unittest.TestCase):
    def setUp(self):
        self.folder = tempfile.TemporaryDirectory()
        self.addCleanup(self.folder.cleanup)
        config = {
            "dataset": {"id": "fashion-mnist"},
            "model": {"id": "vit", "options": {"dim": 32, "depth": 3, "heads": 2, "patch": 2}},
            "recipe": {"id": "supervised", "options": {"batch": 16, "epochs": 2}},
        }
        self.config = {'config': config}
        self.rows = [
            row(0, "none", [{"none": {}}], 3),
            row(
                1,
                "irpe + violin",
                [{"irpe": {}}, {"violin": {"alpha": False}}],
                3,
                difference=4.0,
                difference_low=1.0,
                difference_high=7.0,
                p_sign_flip=0.25,
                p_floor=0.25,
                p_holm=0.5,
            ),
            row(
                2,
                "cpe",
                [{"cpe": {}}],
                3,
                difference=-1.0,
                difference_low=-3.0,
                difference_high=1.0,
                p_sign_flip=0.25,
                p_floor=0.25,
                p_holm=0.5,
            ),
        ]
        self.lines = [
            {
                "type": "experiment",
                "state": "completed",
                "catalog_digest": "ab" * 32,
                "specification": {"replicates": {"seed": [0, 1, 2]}, "metric": {"reduce": "last"}},
            }
        ]
        self.lines += [{"type": "stage", "stage": 7, "kind": "train", "config": config}]
        self.lines += [{"type": "trial", "cell": c, "stages": {"train": 7}} for c in range(3) for _ in range(3)]
        self.lines += [
            {
                "type": "attempt",
                "stage": 7,
                "state": "succeeded",
                "started_us": 1,
                "ended_us": 60_000_000,
                "environment": {
                    "device": "cpu",
                    "device_name": "Some CPU",
                    "threads": 1,
                    "dtype": "float32",
                    "build": "b",
                    "path": "flash",
                },
            }
        ]
        self.lines += [{"type": "end"}]
        self.steps = {
            "cpu": "Some CPU",
            "settings": {"threads": 1, "batch": 16, "dim": 32, "depth": 3, "heads": 2, "rounds": 5},
            "rows": [
                {
                    "label": "irpe + violin",
                    "auto": True,
                    "tokens": 196,
                    "ratio": {"median": 2.5, "low": 2.4, "high": 2.61},
                },
                {"label": "irpe + violin", "auto": False, "tokens": 196, "ratio": {"median": 9, "low": 9, "high": 9}},
            ],
        }

    def run_tool(self, what, *more):
        folder = pathlib.Path(self.folder.name)
        table = {
            "metric": "top1",
            "unit": "%",
            "split": "test",
            "direction": "max",
            "baseline": "none",
            "rows": self.rows,
        }
        (folder / "table.json").write_text(json.dumps(table))
        (folder / "export.jsonl").write_text("\n".join(map(json.dumps, self.lines)))
        (folder / "steps.json").write_text(json.dumps(self.steps))
        return subprocess.run(
            [
                sys.executable,
                ROOT / "tools/lib/priors_page.py",
                what,
                folder / "table.json",
                folder / "export.jsonl",
                *(str(folder / m) if m == "steps.json" else m for m in more),
            ],
            capture_output=True,
            text=True,
        )

    def page(self, steps="steps.json"):
        done = self.run_tool("page", steps, "examples/x.yaml", "abc123")
        self.assertEqual(done.returncode, 0, done.stderr)
        return done.stdout

    def test_a_row_is_what_the_server_computed_and_the_benchmark_measured(self):
        self.assertIn(
            "| irpe + violin | 3 | 50.00 ± 1.50 | 46.27 to 53.73 | +4.00 | +1.00 to +7.00 | 0.25 (0.25) | 0.5 | 100 | flash | "
            "2.50 (2.40 to 2.61) |",
            self.page(),
        )

    def test_few_seeds_are_said_to_be_few(self):
        page = self.page()
        self.assertIn("its p is never below 0.25: no row can be significant at 0.05", page)
        self.assertIn("In 1 of 2 rows", page)
        self.assertIn("(1 better than the baseline, 0 worse)", page)

    def test_six_seeds_are_not_called_too_few(self):
        for each in self.rows[1:]:
            each.update(pairs=6, p_floor=0.03125)
        self.assertNotIn("no row can be significant", self.page())

    def test_an_unfinished_run_says_so_first(self):
        self.assertNotIn("Not finished", self.page())
        self.lines[0]["state"] = "active"
        self.rows[2].update(n=1, missing_seeds=["1", "2"])
        self.assertIn("**Not finished**: 7 of 9 trials", self.page())

    def test_a_failed_trial_is_missing_for_a_reason(self):
        self.lines.insert(-1, {'type': 'cell', 'cell': 2, 'label': 'cpe'})
        self.lines.insert(
            1,
            {
                'type': 'stage',
                'stage': 8,
                'kind': 'train',
                **self.config,
                'state': 'failed',
                'reason': 'two left hands',
            },
        )
        self.lines.insert(-1, {'type': 'trial', 'cell': 2, 'stages': {'train': 8}})
        self.assertIn('- cpe: two left hands', self.page())

    def test_settings_machine_and_command_are_there(self):
        page = self.page()
        for part in (
            "14 x 14 patches",
            "batch 16, epochs 2",
            "Some CPU (cpu)",
            "1970-01-01 00:00 to 1970-01-01 00:01",
            "revision abc123",
            "make priors",
        ):
            self.assertIn(part, page)

    def test_without_step_times_there_is_no_column_of_them(self):
        page = self.page("none")
        self.assertNotIn("step time /", page)
        self.assertIn("not measured yet", page)

    def test_the_benchmark_gets_the_models_and_their_shape(self):
        cases = json.loads(self.run_tool("cases").stdout)
        self.assertEqual(
            cases[1],
            {
                "label": "irpe + violin",
                "priors": [{"id": "irpe", "options": {}}, {"id": "violin", "options": {"alpha": False}}],
            },
        )
        self.assertEqual(
            self.run_tool("shape").stdout.split(),
            ["--tokens=196", "--batch=16", "--dim=32", "--depth=3", "--heads=2"],
        )

    def test_half_an_export_is_refused(self):
        self.lines.pop()
        self.assertIn("not whole", self.run_tool("cases").stderr)


if __name__ == "__main__":
    unittest.main()
