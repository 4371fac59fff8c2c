#!/usr/bin/env python3
"""cmake/Install.cmake and deploy/systemd/install: what is put in place is what units and programs look for, wherever it
is put. Called with the source tree and the build folder, whose programs must be there."""
import gzip
import json
import os
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile
import unittest

ROOT, BUILD = pathlib.Path(sys.argv.pop(1)).resolve(), pathlib.Path(sys.argv.pop(1)).resolve()
DASHBOARD = (ROOT / "web/dist/index.html").exists()
# of those who run it: all but LibTorch, which is hundreds of megabytes
COMPONENTS = ["client", "server", "trainer", "worker"] + (["dashboard"] if DASHBOARD else [])


def install(to, prefix, *components):
    for component in components:
        command = ["cmake", "--install", BUILD, "--prefix", prefix, "--component", component]
        done = subprocess.run(command, capture_output=True, text=True, env={**os.environ, "DESTDIR": str(to)})
        assert done.returncode == 0, done.stdout + done.stderr
    return to / prefix.lstrip("/")


def runpath(program):
    said = subprocess.run(["readelf", "-d", program], check=True, capture_output=True, text=True).stdout
    found = re.search(r"\((?:RUNPATH|RPATH)\).*\[(.*)\]", said)
    return found.group(1).split(":") if found else []


class Install(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.folder = pathlib.Path(tempfile.mkdtemp())
        cls.addClassCleanup(shutil.rmtree, cls.folder)
        cls.at = install(cls.folder / "all", "/opt/locus", *COMPONENTS)

    def run_script(self, *roles, **environment):
        return subprocess.run([ROOT / "deploy/systemd/install", *roles], capture_output=True, text=True,
                              env={"PATH": os.environ["PATH"], "DESTDIR": str(self.folder / "script"), **environment})

    def test_what_the_server_reads_lies_beside_the_program(self):
        share = self.at / "share/locus"
        self.assertEqual((share / "catalog.json").read_bytes(), (ROOT / "engine/catalog.json").read_bytes())
        self.assertEqual((share / "claims.json").read_bytes(), (ROOT / "claims/claims.json").read_bytes())
        self.assertEqual({p.name for p in (share / "pictures").iterdir()},
                         {p.name for p in (ROOT / "engine/pictures").iterdir()})

    def test_an_installed_program_finds_what_belongs_to_it_from_where_it_lies(self):
        moved = self.folder / "moved"
        shutil.copytree(self.at, moved, symlinks=True)
        (moved / "share/locus/catalog.json").write_text("{")
        said = subprocess.run([moved / "bin/locus", "reference", "priors"], capture_output=True, text=True, cwd="/")
        self.assertIn(f"{moved}/", said.stderr)
        self.assertIn("share/locus/catalog.json is not JSON", said.stderr)

    def test_no_program_looks_for_libraries_in_the_folders_of_the_build(self):
        self.assertEqual(runpath(self.at / "bin/locus"), [])
        self.assertEqual(runpath(self.at / "bin/locus-trainer"),
                         ["$ORIGIN/../lib/locus/torch/lib", "$ORIGIN/../local/lib/locus/torch/lib"])

    def test_who_develops_finds_every_public_header_and_none_else(self):
        to = install(self.folder / "headers", "/usr", "development")
        found = {p.relative_to(to / "include/locus").as_posix() for p in (to / "include").rglob("*.*")}
        self.assertEqual(found, set((ROOT / "engine/plugin/headers.txt").read_text().split()))

    def test_development_files_name_no_folder_of_the_build_and_fit_the_trainer(self):
        to = install(self.folder / "development", "/usr", "client", "development")
        self.assertEqual(runpath(to / "bin/locus-contract"), runpath(self.at / "bin/locus-trainer"))
        for file in (to / "lib/cmake/Locus").iterdir():
            for folder in (BUILD, ROOT, pathlib.Path.home()):
                self.assertNotIn(f"{folder}/", file.read_text())
        said = subprocess.run([to / "bin/locus", "plugin", "prefix"], capture_output=True, text=True)
        self.assertEqual(said.stdout, f"{to}\n", said.stderr)
        said = subprocess.run([self.at / "bin/locus", "plugin", "prefix"], capture_output=True, text=True)
        self.assertEqual(said.returncode, 1)
        self.assertIn(f"no development files of Locus below {self.at}: they are in the wheel", said.stderr)

    def test_a_script_among_the_examples_can_be_run(self):
        self.assertTrue(os.access(self.at / "share/locus/examples/own-training/train.py", os.X_OK))
        self.assertFalse(os.access(self.at / "share/locus/examples/own-training/README.md", os.X_OK))

    def test_no_program_tells_where_it_was_built(self):
        cache = (BUILD / "CMakeCache.txt").read_text()
        torch = re.search(r"^LocusTorch_INCLUDE_DIR:PATH=(.*)/include$", cache, re.M).group(1)
        for program in [*(self.at / "bin").iterdir(), *(self.at / "lib/locus").glob("*.so")]:
            held = program.read_bytes()
            for folder in (ROOT, BUILD, torch, pathlib.Path.home() / ".cache"):
                named = re.findall(rb"[ -~]*" + re.escape(f"{folder}/".encode()) + rb"[ -~]*", held)
                self.assertEqual(named[:3], [], program.name)

    def test_every_path_that_a_unit_names_is_there(self):
        for prefix in ("/usr/local", "/opt/locus"):
            to = install(self.folder / prefix.replace("/", "-"), prefix, *COMPONENTS)
            units = list((to / "lib/systemd/system").glob("*.service"))
            self.assertEqual(len(units), 2)
            for unit in units:
                named = re.findall(re.escape(prefix) + r"/[\w/-]+", unit.read_text())
                self.assertTrue(named, unit)
                for path in named:
                    there = to / path.removeprefix(prefix + "/")
                    unbuilt = not DASHBOARD and path.endswith("/web")
                    self.assertTrue(there.exists() or unbuilt, f"{unit.name} names {path}")

    def test_every_user_that_a_unit_names_is_made(self):
        for role in ("server", "worker"):
            unit = (self.at / f"lib/systemd/system/locus-{role}.service").read_text()
            user = re.search(r"^User=(.*)$", unit, re.M).group(1)
            made = (self.at / f"lib/sysusers.d/locus-{role}.conf").read_text()
            self.assertRegex(made, rf"(?m)^u {user} -")

    def test_every_command_has_a_manual_page_with_all_its_options(self):
        asks = [self.at / "bin/locus", "reference", "command-line", "--json"]
        said = subprocess.run(asks, check=True, capture_output=True).stdout
        for command in json.loads(said)["commands"]:
            page = gzip.decompress((self.at / f"share/man/man1/locus-{command['name']}.1.gz").read_bytes()).decode()
            for option in command["options"]:
                self.assertIn("\\fB" + option["name"].replace("-", "\\-") + "\\fR", page)
        overview = gzip.decompress((self.at / "share/man/man1/locus.1.gz").read_bytes()).decode()
        self.assertIn(".BR locus\\-leaderboard (1)", overview)

    def test_every_shell_finds_its_completions(self):
        places = (("bash-completion/completions/locus", "complete "), ("zsh/vendor-completions/_locus", "#compdef "),
                  ("fish/vendor_completions.d/locus.fish", "complete "))
        for place, word in places:
            self.assertIn(word, (self.at / "share" / place).read_text())

    def test_a_worker_gets_neither_dashboard_nor_catalog(self):
        to = install(self.folder / "worker", "/usr", "client", "worker", "trainer")
        self.assertTrue(os.access(to / "bin/locus-trainer", os.X_OK))
        self.assertEqual([p.name for p in (to / "lib/systemd/system").iterdir()], ["locus-worker.service"])
        self.assertEqual([p.name for p in (to / "share/locus").iterdir()], ["examples"])

    def test_installs_again_over_itself(self):
        to = install(self.folder / "twice", "/usr", *COMPONENTS)
        before = sorted(p.relative_to(to) for p in to.rglob("*"))
        install(self.folder / "twice", "/usr", *COMPONENTS)
        self.assertEqual(sorted(p.relative_to(to) for p in to.rglob("*")), before)

    def test_the_script_refuses_a_word_it_does_not_know(self):
        done = self.run_script("workers")
        self.assertEqual(done.returncode, 2)
        self.assertIn("'workers' is neither server nor worker", done.stderr)
        self.assertFalse((self.folder / "script").exists())

    def test_the_script_says_what_is_missing_before_anything_is_written(self):
        done = self.run_script("worker", BUILD=str(self.folder))
        self.assertEqual(done.returncode, 1)
        self.assertIn("bin/locus is missing, which a worker needs; run make build or make gpu first", done.stderr)
        self.assertFalse((self.folder / "script").exists())


if __name__ == "__main__":
    unittest.main()
