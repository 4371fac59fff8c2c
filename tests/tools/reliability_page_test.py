#!/usr/bin/env python3
"""docs/reliability.md names tests: each of them exists, and every fault has one."""

import pathlib
import re
import sys
import unittest

ROOT = pathlib.Path(sys.argv.pop(1))
PAGE = (ROOT / "docs/reliability.md").read_text()
CASE = re.compile(r"^(?:TYPED_)?TEST(?:_F|_P)?\(\s*(\w+),\s*(\w+)\s*\)", re.MULTILINE)
REGISTERED = re.compile(r"(?:add_test\(NAME|locus_test\()\s*([\w.]+)")


def known():
    names = set()
    for source in (ROOT / "tests").rglob("*.cc"):
        names |= {f"{suite}.{case}" for suite, case in CASE.findall(source.read_text())}
    for listing in (ROOT / "tests").rglob("CMakeLists.txt"):
        names |= set(REGISTERED.findall(listing.read_text()))
    names |= {f"fuzz_{group.stem}_test" for group in (ROOT / "tests/fuzz").glob("*.def")}
    targets = re.findall(r"^([a-z]+):", (ROOT / "Makefile").read_text(), re.MULTILINE)
    return names | {f"make {target}" for target in targets}


class Page(unittest.TestCase):
    def rows(self):
        lines = [line for line in PAGE.splitlines() if line.startswith("| ") and not line.startswith("| fault")]
        self.assertGreater(len(lines), 40)
        return [[cell.strip() for cell in line.strip("|").split(" | ")] for line in lines]

    def test_every_named_test_exists(self):
        there = known()
        for fault, _, shown_by in self.rows():
            for name in re.findall(r"`([^`]+)`", shown_by):
                self.assertTrue(name in there, f"{fault}: no test is called {name}; correct the page or write the test")

    def test_every_fault_is_shown_by_a_test(self):
        for fault, _, shown_by in self.rows():
            self.assertRegex(shown_by, r"`[^`]+`", fault)


if __name__ == "__main__":
    unittest.main()
