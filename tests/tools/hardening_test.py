#!/usr/bin/env python3
"""What the release programs are made of: readelf says whether the linker and the compiler did what cmake/Hardening.cmake
asks. Called with the folders that libraries may lie in beside the system's, a colon between them, then the programs."""
import re
import subprocess
import sys
import unittest

allowed, programs = set(filter(None, sys.argv[1].split(":"))), sys.argv[2:]


def readelf(*arguments):
    return subprocess.run(["readelf", "-W", *arguments], check=True, capture_output=True, text=True).stdout


def load_flags(program):
    """Of every segment: its kind and whether it may be read, written, run."""
    for line in readelf("-l", program).splitlines():
        words = line.split()
        if words and words[0] in ("LOAD", "GNU_STACK"):
            yield words[0], "".join(words[6:-1])


class Hardening(unittest.TestCase):
    def hold(self, holds):
        self.assertTrue(programs, "name programs to look at")
        for program in programs:
            with self.subTest(program=program):
                self.assertTrue(holds(program), program)

    def test_programs_may_be_loaded_anywhere(self):
        self.hold(lambda program: "DYN (Position-Independent" in readelf("-h", program))

    def test_tables_of_the_linker_are_filled_at_the_start_and_then_read_only(self):
        self.hold(lambda program: "GNU_RELRO" in readelf("-l", program))
        self.hold(lambda program: re.search(r"FLAGS_1\).*\bNOW\b", readelf("-d", program)))

    def test_no_memory_is_both_written_and_run(self):
        self.hold(lambda program: all("RWE" not in flags for _, flags in load_flags(program)))

    def test_stacks_and_buffers_are_checked(self):
        self.hold(lambda program: "__stack_chk_fail" in readelf("--dyn-syms", program))
        self.hold(lambda program: re.search(r"__(mem|str|v?s?n?printf|read)\w*_chk", readelf("--dyn-syms", program)))

    def test_libraries_are_looked_for_where_an_administrator_or_the_setup_puts_them(self):
        for program in programs:
            for line in readelf("-d", program).splitlines():
                self.assertNotIn("(RPATH)", line)
                if "(RUNPATH)" not in line:
                    continue
                for folder in line[line.index("[") + 1 : line.rindex("]")].split(":"):
                    self.assertTrue(folder.startswith("/usr/lib/") or folder in allowed, f"{program}: {folder!r}")


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1])
