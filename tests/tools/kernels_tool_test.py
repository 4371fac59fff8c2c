#!/usr/bin/env python3
"""tools/kernels: reads what ptxas says, and refuses stacks, spills and figures above the table."""
import pathlib
import subprocess
import sys
import tempfile
import unittest

ROOT = pathlib.Path(sys.argv.pop(1) if len(sys.argv) > 1 else __file__).resolve()
SYMBOL = ("_ZN5locus3gpu5entryINS0_8BackwardINS0_12HalfProductsINS0_4Bf16EEELi64ELNS0_3SetE3ELNS0_4SumsE1EEE"
          "15locus_attentionEEvT0_")
LOG = """ptxas info    : Compiling entry function '{symbol}' for 'sm_90'
ptxas info    : Function properties for {symbol}
    {stack} bytes stack frame, {stores} bytes spill stores, {stores} bytes spill loads
ptxas info    : Used {registers} registers, used 1 barriers, 2096 bytes cmem[0]
"""


class FiguresOfKernels(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = pathlib.Path(folder.name)
        self.table = self.folder / "figures.md"
        self.log(registers=168)
        self.table.write_text(self.run_tool("table", self.folder).stdout)

    def log(self, registers, stack=0, stores=0):
        text = LOG.format(symbol=SYMBOL, registers=registers, stack=stack, stores=stores)
        (self.folder / "backward_bf16.ptxas").write_text(text)

    def run_tool(self, *arguments):
        return subprocess.run([ROOT / "tools/kernels", *arguments], capture_output=True, text=True)

    def check(self):
        return self.run_tool("check", self.folder, self.table)

    def test_the_table_names_kernel_shape_and_occupancy(self):
        # 168 registers: 65536 / (168 * 128) = 3 blocks; shared memory: 2 own tiles of 64 rows, 2 stages of 2 tiles of 32, sums.
        shared = 2 * 16 * 128 * 4 + (2 * 64 + 4 * 32) * (64 + 8) * 2
        line = f"| backward key and value | bf16 | 64 | general | 90 | 168 | 0 | 0 | {shared} | 3 |"
        self.assertIn(line, self.table.read_text())

    def test_what_the_table_says_passes_and_less_does_too(self):
        self.assertEqual(self.check().returncode, 0)
        self.log(registers=160)
        self.assertEqual(self.check().returncode, 0)

    def test_more_registers_fail(self):
        self.log(registers=170)
        self.assertEqual(self.check().returncode, 1)

    def test_a_stack_without_spills_fails(self):
        self.log(registers=168, stack=72)
        self.assertIn("72 bytes of stack", self.check().stdout)

    def test_spills_fail_even_where_the_table_has_them(self):
        self.log(registers=168, stack=8, stores=8)
        self.table.write_text(self.run_tool("table", self.folder).stdout)
        self.assertEqual(self.check().returncode, 1)

    def test_a_kernel_without_a_line_and_a_folder_without_figures_fail(self):
        self.table.write_text("")
        self.assertEqual(self.check().returncode, 1)
        (self.folder / "backward_bf16.ptxas").unlink()
        self.assertEqual(self.check().returncode, 1)

    def test_a_compiler_that_fails_is_said_to(self):
        log = self.folder / "x.ptxas"
        self.assertEqual(self.run_tool("compile", log, "sh", "-c", "echo no; exit 3").returncode, 3)
        self.assertEqual(log.read_text(), "no\n")


if __name__ == "__main__":
    unittest.main()
