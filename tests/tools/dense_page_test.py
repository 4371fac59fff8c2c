#!/usr/bin/env python3
"""The page of tools/dense: numbers are the server's, constant answers stand beside them, pictures are copied."""

import json
import pathlib
import struct
import subprocess
import sys
import tempfile
import unittest
import zlib

ROOT = pathlib.Path(sys.argv.pop(1))
PRIORS = ([], [{"violin": {}}])
MEANS = {"miou": 30.0, "mean-accuracy": 40.0, "pixel-accuracy": 60.0, "abs-rel": 12.0, "a1": 80.0, "rmse": 0.5}
CONSTANT = {"miou": 2.0, "mean-accuracy": 6.0, "pixel-accuracy": 20.0, "abs-rel": 35.0, "a1": 40.0, "rmse": 1.5}
TASKS = {"segmentation": ["miou", "mean-accuracy", "pixel-accuracy"], "depth": ["abs-rel", "a1", "rmse"]}


def table(metric):
    rows = []
    for cell, prior in enumerate(PRIORS):
        values = [{"seed": str(s), "value": MEANS[metric] + cell + s, "trial": ""} for s in (0, 1)]
        rows.append({
            "cell": cell, "label": str(prior), "assignment_json": json.dumps({"prior": prior}), "missing_seeds": [],
            "mean": MEANS[metric] + cell + 0.5, "std": 0.707, "pairs": 2 * cell, "difference": float(cell),
            "difference_std": 0.25, "difference_low": -0.5, "difference_high": 2.5, "values": values,
            "parameters": "1234", "ms_per_step": 9.5,
        })  # fmt: skip
    points = [{"labels": json.dumps({"resolution": r}), "mean": MEANS[metric] + r / 100} for r in (64, 32)]
    points.append({"labels": json.dumps({"predictor": "constant", "resolution": 64}), "mean": 1.0})
    sweep = [{"cell": cell, "points": points} for cell in range(len(PRIORS))]
    return {"experiment": "x", "split": "test", "metric": metric, "rows": rows, "sweep": sweep}


def export(task):
    config = {name: {"id": name, "options": {}} for name in ("dataset", "augmentation", "decoder", "model", "recipe")}
    config["input"] = {"id": "dense", "options": {"size": 64}}
    environment = {"device_name": "Some CPU", "threads": 1, "build": "b"}
    lines = [
        {"type": "experiment", "specification": {"replicates": {"seed": [0, 1]}}},
        {"type": "stage", "stage": 1, "kind": "train", "config": config},
        {"type": "attempt", "stage": 1, "state": "succeeded", "environment": environment, "started_us": 1,
         "ended_us": 120_000_000},
    ]  # fmt: skip
    for cell in range(len(PRIORS)):
        for seed in (0, 1):
            trial = 2 * cell + seed
            lines.append({"type": "trial", "trial": trial, "cell": cell, "seed": seed,
                          "stages": {"train": 1, "evaluate": 10 + trial}})  # fmt: skip
            here = {"type": "result", "stage": 10 + trial}
            for metric in TASKS[task]:
                labels = {"predictor": "constant", "resolution": 64}
                lines.append(here | {"metric": metric, "labels": labels, "value": CONSTANT[metric]})
                if task == "depth":
                    labels = labels | {"alignment": "median"}
                    lines.append(here | {"metric": metric, "labels": labels, "value": CONSTANT[metric] - 0.25})
            if task == "segmentation":
                labels = {"class": "coat", "resolution": 64}
                lines.append(here | {"metric": "iou", "labels": labels, "value": 50.0 + trial})
    return "\n".join(map(json.dumps, [*lines, {"type": "end"}]))


class Dense(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = pathlib.Path(folder.name)
        self.page_file = self.folder / "docs/dense.md"
        self.page_file.parent.mkdir()
        for task, metrics in TASKS.items():
            for metric in metrics:
                (self.folder / f"{task}-{metric}.json").write_text(json.dumps(table(metric)))
            (self.folder / f"{task}.jsonl").write_text(export(task))
            cells = [{"cell": cell, "epoch": [5, 10], "mean": [10.0, 20.0 + cell]} for cell in range(len(PRIORS))]
            (self.folder / f"{task}-curves.json").write_text(json.dumps({"cells": cells}))
            seen = self.folder / f"{task}-pictures"
            seen.mkdir()
            about = {"labels": {"resolution": 64}, "pictures": [{"slot": f"picture-{i}", "row": i} for i in (1, 2, 3)],
                     "classes": [{"name": "coat", "color": "#800000"}, {"name": "bag", "color": "#008000"}]}  # fmt: skip
            for trial in range(2 * len(PRIORS)):
                (seen / f"trial-{trial}-evaluate-pictures.json").write_text(json.dumps(about))
                for i in (1, 2, 3):
                    (seen / f"trial-{trial}-evaluate-picture-{i}.png").write_text(f"{task} {trial} {i}")

    def write(self):
        tool = [sys.executable, ROOT / "tools/lib/dense_page.py", "page", self.folder, self.page_file, "abc123"]
        return subprocess.run(tool, capture_output=True, text=True)

    def page(self):
        done = self.write()
        self.assertEqual(done.returncode, 0, done.stderr)
        return self.page_file.read_text()

    def change(self, name, edit):
        path = self.folder / name
        document = json.loads(path.read_text())
        edit(document)
        path.write_text(json.dumps(document))

    def test_rows_have_every_metric_with_its_paired_difference(self):
        self.assertIn("| violin | 31.50 ± 0.71 | +1.00 ± 0.25 | -0.50 to +2.50 | 41.50 ± 0.71 | +1.00 ± 0.25 "
                      "| 61.50 ± 0.71 | +1.00 ± 0.25 | 1,234 | 9.5 |", self.page())  # fmt: skip

    def test_the_baseline_has_no_difference(self):
        self.assertIn("| none | 30.50 ± 0.71 | – | – | 40.50 ± 0.71 | – |", self.page())

    def test_constant_answers_are_rows(self):
        page = self.page()
        self.assertIn("| *always the most frequent class* | 2.00 | – | – | 6.00 | – | 20.00 | – |", page)
        self.assertIn("| *always the usual depth of training* | 35.00 |", page)
        self.assertIn("| *each image's own median depth* | 34.75 |", page)

    def test_the_distance_to_a_constant_answer_is_that_of_the_worst_seed(self):
        page = self.page()
        self.assertIn("(none) is 28.00 % of mIoU better", page)
        self.assertIn("(violin) is 20.75 % of AbsRel better", page)

    def test_a_model_that_is_no_better_than_a_constant_is_named(self):
        self.change("segmentation-miou.json", lambda d: d["rows"][1]["values"][0].update(value=1.5))
        self.assertIn("**Not every model is better than a constant answer**: the worst seed of violin", self.page())

    def test_constants_that_differ_between_trials_are_refused(self):
        text = (self.folder / "depth.jsonl").read_text().replace('"value": 35.0', '"value": 36.0', 1)
        (self.folder / "depth.jsonl").write_text(text)
        self.assertIn("abs-rel of the constant predictor differs between trials", self.write().stderr)

    def test_a_table_that_lacks_seeds_is_refused_by_name(self):
        self.change("depth-abs-rel.json", lambda d: d["rows"][0].update(missing_seeds=["1"]))
        self.assertIn("dense-depth is not complete", self.write().stderr)

    def test_the_sweep_is_in_the_order_of_sizes_and_leaves_other_labels_out(self):
        page = self.page()
        self.assertIn("| position encoding | 32 | **64** |", page)
        self.assertIn("| none | 30.3 | 30.6 |", page)

    def test_curves_are_means_by_epoch(self):
        self.assertIn("| position encoding | 5 | 10 |\n|---|---|---|\n| none | 10.0 | 20.0 |\n| violin | 10.0 | 21.0 |",
                      self.page())  # fmt: skip

    def test_classes_have_their_mean_and_color_and_those_that_never_occur_none(self):
        page = self.page()
        self.assertIn("| ![#800000](dense/color-800000.png) | coat | 50.5 | 52.5 |", page)
        self.assertIn("| ![#008000](dense/color-008000.png) | bag | – | – |", page)
        png = (self.page_file.parent / "dense/color-800000.png").read_bytes()
        at = png.index(b"IDAT")
        (size,) = struct.unpack(">I", png[at - 4 : at])
        rows = zlib.decompress(png[at + 4 : at + 4 + size])
        self.assertEqual(rows, (b"\0" + b"\x80\0\0" * 12) * 12)

    def test_pictures_are_those_of_the_first_seed_of_each_prior(self):
        page, beside = self.page(), self.page_file.parent / "dense"
        self.assertEqual((beside / "segmentation-none-1.png").read_text(), "segmentation 0 1")
        self.assertEqual((beside / "depth-violin-3.png").read_text(), "depth 2 3")
        self.assertFalse((beside / "depth-violin-5.png").exists(), "there are three of each")
        self.assertIn("(dense/depth-violin-3.png)", page)

    def test_old_pictures_go(self):
        self.page()
        (self.page_file.parent / "dense/old.png").write_text("")
        self.page()
        self.assertFalse((self.page_file.parent / "dense/old.png").exists())

    def test_machine_time_and_revision_are_there(self):
        for part in ("Some CPU, 1 thread", "8 trials", "(2 minutes)", "revision abc123", "make dense"):
            self.assertIn(part, self.page())


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1])
