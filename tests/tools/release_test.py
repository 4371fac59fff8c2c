#!/usr/bin/env python3
"""What is handed out: one version everywhere, every component in a package, and a launcher that starts the trainer with
the torch it was compiled against or says what to do."""
import contextlib
import io
import json
import pathlib
import re
import sys
import tempfile
import unittest

ROOT = pathlib.Path(sys.argv.pop(1)).resolve()
sys.dont_write_bytecode = True
sys.path.insert(0, str(ROOT / "deploy/wheel"))
from locus_programs import demo, launch  # noqa: E402

VERSION = re.search(r"^project\(locus VERSION (\S+)", (ROOT / "CMakeLists.txt").read_text(), re.M).group(1)


class Version(unittest.TestCase):
    def test_the_newest_changes_are_of_this_version(self):
        self.assertEqual(re.findall(r"^## (\S+)", (ROOT / "CHANGELOG.md").read_text(), re.M)[0], VERSION)

    def test_the_dashboard_has_it(self):
        for name in ("package.json", "package-lock.json"):
            self.assertEqual(json.loads((ROOT / "web" / name).read_text())["version"], VERSION)

    def test_documents_name_the_wheels_of_this_version(self):
        pages = [*(ROOT / "docs").glob("*.md"), *(ROOT / "examples").glob("*/README.md")]
        for path in [ROOT / "README.md", ROOT / "clients/python/README.md", *pages]:
            for found in re.findall(r"locus_vit(?:_client)?-(\d[\d.]*\d)", path.read_text()):
                self.assertEqual(found, VERSION, path)

    def test_each_version_names_its_schema_and_the_newest_that_of_the_newest_migration(self):
        schemas = re.findall(r"^## \S+ \(schema (\d+)\)$", (ROOT / "CHANGELOG.md").read_text(), re.M)
        versions = re.findall(r"^## .*", (ROOT / "CHANGELOG.md").read_text(), re.M)
        self.assertEqual(len(schemas), len(versions), "a heading is ## VERSION (schema N)")
        newest = max(int(path.name[:4]) for path in (ROOT / "storage/migrations").glob("*.sql"))
        self.assertEqual(int(schemas[0]), newest, "the schema rose: tools/keep-schema keeps the new one")

    def test_a_database_and_a_table_of_each_released_schema_are_kept_and_opened_by_a_test(self):
        released = set(map(int, re.findall(r"^## .*\(schema (\d+)\)$", (ROOT / "CHANGELOG.md").read_text(), re.M)))
        folder = ROOT / "tests/storage/testdata"
        kept = {int(path.stem.removeprefix("schema-")) for path in folder.glob("schema-*.db")}
        self.assertLessEqual(released, kept, "tools/keep-schema keeps that of the newest")
        tables = (ROOT / "tests/server/testdata").glob("schema-*-leaderboard.json")
        self.assertEqual({int(path.name.split("-")[1]) for path in tables}, kept)
        test = (ROOT / "tests/server/former_database_test.cc").read_text()
        opened = set(map(int, re.search(r"FormerDatabase, ::testing::Values\(([\d, ]+)\)", test).group(1).split(",")))
        self.assertEqual(kept, opened)
        for schema in kept:
            with self.subTest(schema=schema):
                header = (folder / f"schema-{schema}.db").read_bytes()[:100]
                self.assertEqual(int.from_bytes(header[60:64], "big"), schema)  # where SQLite keeps PRAGMA user_version


class Packages(unittest.TestCase):
    def test_every_component_is_in_one_debian_package(self):
        rules = (ROOT / "cmake/Install.cmake").read_text()
        documented = set(re.findall(r"^#   (\w+)  +\S", rules, re.M)) - {"torch"}
        packages = json.loads((ROOT / "deploy/debian/packages.json").read_text())
        packed = [component for one in packages.values() for component in one["components"]]
        self.assertEqual(sorted(packed), sorted(documented))

    def test_every_component_is_in_the_wheel_but_what_services_need(self):
        wheel = re.search(r"^COMPONENTS = \((.*)\)$", (ROOT / "tools/wheel").read_text(), re.M).group(1)
        packages = json.loads((ROOT / "deploy/debian/packages.json").read_text())
        packed = {component for one in packages.values() for component in one["components"]}
        self.assertEqual(set(re.findall(r'"(\w+)"', wheel)), packed - {"worker"})

    def test_every_script_and_setting_is_of_a_package(self):
        packages = json.loads((ROOT / "deploy/debian/packages.json").read_text())
        for path in (ROOT / "deploy/debian").iterdir():
            self.assertTrue(path.name == "packages.json" or path.stem in packages, path)


class Launcher(unittest.TestCase):
    def setUp(self):
        self.folder = pathlib.Path(self.enterContext(tempfile.TemporaryDirectory())).resolve()
        self.site = self.folder / "site-packages"
        self.programs = self.site / "locus_programs"
        self.programs.mkdir(parents=True)

    def torch(self, version, site=None):
        folder = (site or self.site) / "torch"
        folder.mkdir(parents=True)
        (folder / "version.py").write_text(f"from typing import Optional\n\n__version__ = '{version}'\ndebug = False\n")
        return folder

    def trouble(self, torch):
        return launch.trouble(self.programs, torch, "2.11.0")

    def test_the_version_it_was_compiled_against_is_taken_for_any_kind_of_machine(self):
        for number, version in enumerate(("2.11.0", "2.11.0+cpu", "2.11.0+cu130")):
            self.site = self.folder / str(number)
            self.programs = self.site / "locus_programs"
            self.assertEqual(self.trouble(self.torch(version)), "")

    def test_another_version_is_refused_with_the_command_that_mends_it(self):
        for version in ("2.10.0", "2.11.1", "2.11.0.dev20260101+cpu"):
            with self.subTest(version=version), tempfile.TemporaryDirectory() as site:
                said = self.trouble(self.torch(version, pathlib.Path(site)))
                self.assertIn(f"is {version}", said)
                self.assertIn(f"{sys.executable} -m pip install torch==2.11.0", said)

    def test_no_torch_is_refused_likewise(self):
        self.assertIn("has none; run\n", self.trouble(None))

    def test_a_torch_of_another_folder_is_refused(self):
        said = self.trouble(self.torch("2.11.0", self.folder / "system"))
        self.assertIn(f"from {self.folder / 'system'}", said)
        self.assertIn("--ignore-installed", said)

    def test_a_trainer_of_ones_own_takes_the_torch_that_it_likes(self):
        for words in (["worker"], ["worker", "--slots", "2"], ["demo"], ["plugin", "test", "--trainer"]):
            self.assertTrue(launch.needs_torch(words), words)
        own = (["worker", "--trainer", "./train.py"], ["worker", "--trainer=./train.py"])
        for words in (*own, ["worker", "--help"], ["list"], []):
            self.assertFalse(launch.needs_torch(words), words)

    def test_torch_is_looked_at_for_every_command_that_starts_the_trainer(self):
        asks = re.compile(r"trainer_tool\.h|trainers_catalog\.h")
        found = {path.stem for path in (ROOT / "cli/commands").glob("*.cc") if asks.search(path.read_text())}
        self.assertEqual(launch.TRAINING, found - {"serve"} | {"demo", "worker"})


class Demo(unittest.TestCase):
    def test_missing_images_are_named_with_what_brings_them(self):
        with tempfile.TemporaryDirectory() as folder:
            root = pathlib.Path(folder)
            said = io.StringIO()
            with contextlib.redirect_stderr(said):
                status = demo.main(["--data-root", folder], root / "bin", ROOT / "examples")
            self.assertEqual(status, 2)
            self.assertIn("sudo apt-get install dataset-fashion-mnist", said.getvalue())
            self.assertIn("locus demo --data-root FOLDER", said.getvalue())
            (root / "fashion-mnist").mkdir()
            for name in demo.FILES:
                (root / "fashion-mnist" / name).touch()
            self.assertEqual(demo.missing_data(root), "")

    def test_it_asks_for_the_files_that_the_catalog_knows(self):
        catalog = (ROOT / "engine/catalog.json").read_text()
        for name in demo.FILES:
            self.assertIn(name, catalog)


if __name__ == "__main__":
    unittest.main()
