#!/usr/bin/env python3
"""What the benchmarks share (bench/rounds.py): whose turn it is, what is kept, and what a program that ends early says."""

import pathlib
import stat
import sys
import tempfile
import unittest

ROOT = pathlib.Path(sys.argv.pop(1))
sys.path.insert(0, str(ROOT / "bench"))
import rounds  # noqa: E402

# Speaks as step_bench does: a fact for each request, "ready", an answer a line; "last 1" is never answered.
PROGRAM = """#!{python}
import json, sys
for request in json.load(open(sys.argv[1])):
    if request["label"] == "wrong":
        sys.exit(3)
    print(json.dumps({{"label": request["label"], "parameters": int(sys.argv[2])}}), flush=True)
print("ready", flush=True)
for line in sys.stdin:
    if line == "last 1\\n":
        sys.exit(4)
    print(4096 if line == "memory 0\\n" else 0.25, flush=True)
"""


class Rounds(unittest.TestCase):
    def test_sides_take_turns_and_every_other_round_begins_with_the_last(self):
        seen = []

        def side(name):
            return lambda: seen.append(name) or len(seen)

        cases = {label: {way: side(label + way) for way in ("x", "y")} for label in ("a", "b")}
        taken = rounds.in_turn(cases, 2, warm_up=1)
        self.assertEqual(seen, ["ay", "ax", "by", "bx", "ax", "ay", "bx", "by", "ay", "ax", "by", "bx"])
        self.assertEqual(taken, {"a": {"x": [5, 10], "y": [6, 9]}, "b": {"x": [7, 12], "y": [8, 11]}})

    def test_a_ratio_is_taken_within_a_round(self):
        self.assertEqual(rounds.ratio([2, 30, 8], [1, 10, 2]), {"median": 3, "low": 2.5, "high": 3.5})
        with self.assertRaises(ValueError):
            rounds.ratio([1, 2], [1])

    def test_one_round_is_its_own_quartiles(self):
        self.assertEqual(rounds.quartiles([7]), {"median": 7, "low": 7, "high": 7})

    def test_quartiles_are_shown_in_the_unit_asked_for(self):
        spread = {"median": 0.0123, "low": 0.0101, "high": 0.0209}
        self.assertEqual(rounds.shown(spread, 1e3, 1), "12.3 (10.1 to 20.9)")

    def test_other_networks_end_the_program(self):
        rounds.check_parameters("vit", 5, 5)
        rounds.check_outputs("vit", 0.5 * rounds.TOLERANCE)
        with self.assertRaisesRegex(SystemExit, "vit has 5 parameters here and 6 there"):
            rounds.check_parameters("vit", 5, 6)
        for distance in (2 * rounds.TOLERANCE, float("nan")):
            with self.assertRaisesRegex(SystemExit, "not the same network"):
                rounds.check_outputs("vit", distance)


class OurProgram(unittest.TestCase):
    def setUp(self):
        self.folder = tempfile.TemporaryDirectory()
        self.addCleanup(self.folder.cleanup)
        program = pathlib.Path(self.folder.name) / "step_bench"
        program.write_text(PROGRAM.format(python=sys.executable))
        program.chmod(program.stat().st_mode | stat.S_IXUSR)
        self.program = str(program)

    def test_answers_in_its_own_numbers_and_ends_with_the_context(self):
        with rounds.Ours(self.program, [{"label": "vit"}, {"label": "swin"}], 2) as ours:
            self.assertEqual(ours.facts["swin"], {"label": "swin", "parameters": 2})
            self.assertEqual((ours.step("vit"), ours.memory()), (0.25, 4096))
        self.assertEqual(ours.process.returncode, 0)

    def test_one_that_ends_early_is_named_with_its_status(self):
        with self.assertRaisesRegex(SystemExit, "step_bench ended with 3"):
            rounds.Ours(self.program, [{"label": "wrong"}], 1)
        with rounds.Ours(self.program, [{"label": "last"}], 1) as ours:
            for _ in range(2):  # asked again it has ended already
                with self.assertRaisesRegex(SystemExit, "step_bench ended with 4"):
                    ours.step("last")


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1])
