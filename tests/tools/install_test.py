#!/usr/bin/env python3
"""deploy/systemd/install: what it puts in place is what the units and the programs look for."""
import os
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile
import unittest

ROOT = pathlib.Path(sys.argv.pop(1) if len(sys.argv) > 1 else __file__).resolve()


class Install(unittest.TestCase):
    def setUp(self):
        self.folder = pathlib.Path(tempfile.mkdtemp())
        self.addCleanup(shutil.rmtree, self.folder)
        # A copy of what is installed, so that the test needs neither a build nor a dashboard.
        self.tree = self.folder / "tree"
        for name in ("deploy/systemd", "engine/pictures"):
            shutil.copytree(ROOT / name, self.tree / name)
        for name in ("engine/catalog.json", "claims/claims.json"):
            (self.tree / name).parent.mkdir(parents=True, exist_ok=True)
            shutil.copy(ROOT / name, self.tree / name)
        for name in ("build/release/bin/locus", "build/release/bin/locus-trainer", "web/dist/index.html"):
            (self.tree / name).parent.mkdir(parents=True, exist_ok=True)
            (self.tree / name).write_text(name)

    def install(self, *roles, **environment):
        return subprocess.run([self.tree / "deploy/systemd/install", *roles], capture_output=True, text=True,
                              env={"PATH": os.environ["PATH"], "DESTDIR": str(self.folder / "to"), **environment})

    def test_puts_what_the_server_reads_beside_the_program(self):
        self.assertEqual(self.install().returncode, 0)
        share = self.folder / "to/usr/local/share/locus"
        self.assertEqual((share / "catalog.json").read_bytes(), (ROOT / "engine/catalog.json").read_bytes())
        self.assertEqual((share / "claims.json").read_bytes(), (ROOT / "claims/claims.json").read_bytes())
        self.assertEqual({p.name for p in (share / "pictures").iterdir()},
                         {p.name for p in (ROOT / "engine/pictures").iterdir()})
        self.assertTrue((share / "web/index.html").is_file())
        self.assertTrue(os.access(self.folder / "to/usr/local/bin/locus-trainer", os.X_OK))

    def test_every_path_that_a_unit_names_is_there(self):
        for prefix in ("/usr/local", "/opt/locus"):
            self.assertEqual(self.install(PREFIX=prefix).returncode, 0)
            units = list((self.folder / "to/etc/systemd/system").glob("*.service"))
            self.assertEqual(len(units), 2)
            for unit in units:
                named = re.findall(re.escape(prefix) + r"/[\w/-]+", unit.read_text())
                self.assertTrue(named, unit)
                for path in named:
                    self.assertTrue((self.folder / "to" / path.lstrip("/")).exists(), f"{unit.name} names {path}")

    def test_a_worker_needs_neither_dashboard_nor_catalog(self):
        (self.tree / "web/dist/index.html").unlink()
        shutil.rmtree(self.tree / "engine/pictures")
        done = self.install("worker")
        self.assertEqual((done.returncode, done.stderr), (0, ""))
        to = self.folder / "to"
        self.assertTrue(os.access(to / "usr/local/bin/locus-trainer", os.X_OK))
        self.assertTrue(os.access(to / "usr/local/bin/locus", os.X_OK))
        self.assertEqual([p.name for p in (to / "etc/systemd/system").iterdir()], ["locus-worker.service"])
        self.assertFalse((to / "usr/local/share").exists())

    def test_a_server_needs_no_trainer(self):
        (self.tree / "build/release/bin/locus-trainer").unlink()
        done = self.install("server")
        self.assertEqual((done.returncode, done.stderr), (0, ""))
        self.assertEqual([p.name for p in (self.folder / "to/etc/systemd/system").iterdir()], ["locus-server.service"])

    def test_refuses_a_word_it_does_not_know(self):
        done = self.install("workers")
        self.assertEqual(done.returncode, 2)
        self.assertIn("'workers' is neither server nor worker", done.stderr)
        self.assertFalse((self.folder / "to").exists())

    def test_the_kernels_go_beside_the_trainer_where_they_were_built(self):
        self.install()
        kernels = self.folder / "to/usr/local/bin/liblocus_kernels_cuda.so"
        self.assertFalse(kernels.exists())
        (self.tree / "build/release/bin/liblocus_kernels_cuda.so").write_text("kernels")
        self.assertEqual(self.install().returncode, 0)
        self.assertEqual(kernels.read_text(), "kernels")

    def test_installs_again_over_itself(self):
        self.install()
        self.assertEqual(self.install().returncode, 0)
        self.assertFalse((self.folder / "to/usr/local/share/locus/web/dist").exists())

    def test_says_what_is_missing_before_anything_is_written(self):
        (self.tree / "web/dist/index.html").unlink()
        done = self.install()
        self.assertEqual(done.returncode, 1)
        self.assertIn("web/dist/index.html is missing, which a server needs; run make build", done.stderr)
        self.assertFalse((self.folder / "to").exists())


if __name__ == "__main__":
    unittest.main()
