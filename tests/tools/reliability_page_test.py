#!/usr/bin/env python3
"""docs/reliability.md and docs/security.md name tests: each of them exists and is built, and every fault has one."""

import pathlib
import re
import sys
import unittest

ROOT = pathlib.Path(sys.argv.pop(1))
PAGE = (ROOT / "docs/reliability.md").read_text()
SECURITY = (ROOT / "docs/security.md").read_text()
CASE = re.compile(r"^(?:TYPED_)?TEST(?:_F|_P)?\(\s*(\w+),\s*(\w+)\s*\)", re.MULTILINE)
REGISTERED = re.compile(r"(?:add_test\(NAME|locus_test\()\s*([\w.]+)")


def is_built(source):
    """Whether a CMakeLists.txt of its folder or of one above lists it."""
    for folder in source.parents:
        listing = folder / "CMakeLists.txt"
        if listing.exists():
            listed = re.findall(r"[\w./${}-]+\.cc", listing.read_text())
            name = source.relative_to(folder).as_posix()
            if any(re.fullmatch(re.sub(r"\\\$\\{\w+\\}", r"\\w+", re.escape(entry)), name) for entry in listed):
                return True
        if folder == ROOT / "tests":
            return False
    return False


def known():
    names = set()
    for source in (ROOT / "tests").rglob("*.cc"):
        cases = CASE.findall(source.read_text())
        if cases and is_built(source):
            names |= {f"{suite}.{case}" for suite, case in cases}
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

    def test_what_the_page_on_security_names_exists(self):
        there = known()
        named = re.findall(r"`(\w+_test|make [a-z]+)\b[^`]*`", SECURITY)
        self.assertGreater(len(named), 5)
        for name in named:
            self.assertTrue(name in there, f"docs/security.md: no test or target is called {name}")
        files = re.findall(r"`((?:tests|server|cmake|tools|deploy)/[\w./-]+)`", SECURITY)
        self.assertGreater(len(files), 5)
        for file in files:
            self.assertTrue((ROOT / file).exists(), f"docs/security.md: there is no {file}")
            self.assertTrue(not file.endswith("_test.cc") or is_built(ROOT / file), f"{file} is in no target")


if __name__ == "__main__":
    unittest.main()
