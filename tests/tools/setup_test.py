#!/usr/bin/env python3
"""tools/setup gpu: which installed PyTorch it takes, and that what does not load is not called set up."""
import os
import pathlib
import shutil
import subprocess
import sys
import tempfile
import unittest

ROOT = pathlib.Path(sys.argv.pop(1) if len(sys.argv) > 1 else __file__).resolve()
WHEELS = [line.split() for line in (ROOT / "tools/wheels.txt").read_text().splitlines() if line and line[0] != "#"]


class SetUpOfAGpuMachine(unittest.TestCase):
    def setUp(self):
        self.folder = pathlib.Path(tempfile.mkdtemp())
        self.addCleanup(shutil.rmtree, self.folder)
        # Every package is installed and every wheel unpacked, so that nothing is fetched.
        stub = self.folder / "bin/dpkg-query"
        stub.parent.mkdir()
        stub.write_text("#!/bin/sh\necho 'install ok installed'\n")
        stub.chmod(0o755)
        self.cache = self.folder / "cache"
        for folder, requirement, _, sha, _ in WHEELS:
            done = self.cache / folder / (".done-" + requirement.split("==")[0])
            done.parent.mkdir(parents=True, exist_ok=True)
            done.write_text(sha)
        self.torch = self.folder / "torch"
        for name in ("lib/libtorch_cpu.so", "lib/libc10.so", "lib/libtorch_cuda.so",
                     "include/torch/csrc/api/include/torch/torch.h"):
            (self.torch / name).parent.mkdir(parents=True, exist_ok=True)
            (self.torch / name).write_text("not a library")
        (self.torch / "version.py").write_text("__version__ = '2.9.1+cu130'\n")

    def gpu(self, *arguments):
        path = f"{self.folder / 'bin'}:{os.environ['PATH']}"
        return subprocess.run([ROOT / "tools/setup", "gpu", *arguments], capture_output=True, text=True,
                              env={"PATH": path, "HOME": str(self.folder), "LOCUS_CACHE": str(self.cache)})

    def test_takes_an_installed_torch_with_its_headers_alone(self):
        (self.torch / "include/torch/csrc/api/include/torch/torch.h").unlink()
        done = self.gpu("--torch", str(self.torch))
        self.assertEqual(done.returncode, 1)
        self.assertIn("holds no include/torch/csrc/api/include/torch/torch.h: name the folder", done.stderr)

    def test_refuses_a_torch_without_cuda(self):
        (self.torch / "lib/libtorch_cuda.so").unlink()
        done = self.gpu("--torch", str(self.torch))
        self.assertEqual(done.returncode, 1)
        self.assertIn("is built for the CPU alone", done.stderr)

    def test_what_does_not_load_is_not_set_up(self):
        done = self.gpu("--torch", str(self.torch))
        self.assertIn("using PyTorch 2.9.1+cu130", done.stdout)
        self.assertEqual(done.returncode, 1)
        self.assertIn(f"{self.torch}/lib/libtorch_cuda.so", done.stderr)
        self.assertIn("CUDA torch does not load", done.stderr)

    def test_every_pin_is_whole(self):
        for fields in WHEELS:
            self.assertEqual(len(fields), 5, fields)
            self.assertRegex(fields[1], r"^[\w-]+==[\w.]+$")
            self.assertRegex(fields[3], r"^[0-9a-f]{64}$")
            self.assertLessEqual(set(fields[4].split(",")), {"build", "test", "gpu"})

    def test_says_how_it_is_called(self):
        self.assertEqual(self.gpu("--torch").returncode, 2)
        self.assertEqual(self.gpu("--torhc", "x").returncode, 2)


if __name__ == "__main__":
    unittest.main()
