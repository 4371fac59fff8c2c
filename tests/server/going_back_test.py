#!/usr/bin/env python3
"""Going back as docs/upgrading.md says, with the real program: a server leaves the database of a newer one alone, and goes on from
the backup of before, which the newer one never changed. Arguments: the tree, the program `locus`."""

import json
import pathlib
import shutil
import subprocess
import sys
import tempfile
import unittest

ROOT, LOCUS = (pathlib.Path(each).resolve() for each in (sys.argv.pop(1), sys.argv.pop(1)))
KEPT = ROOT / "tests/storage/testdata"
SCHEMAS = sorted(int(path.stem.removeprefix("schema-")) for path in KEPT.glob("schema-*.db"))
VERSION_AT = 60  # of `PRAGMA user_version` in the header of a file of SQLite, four bytes


def serving(data):
    line = [LOCUS, "serve", "--data", data, "--grpc-address", "127.0.0.1:0", "--http-address", "127.0.0.1:0", "--json"]
    line += ["--catalog", ROOT / "engine/catalog.json"]
    return subprocess.Popen(line, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)


class GoingBack(unittest.TestCase):
    def setUp(self):
        self.folder = pathlib.Path(self.enterContext(tempfile.TemporaryDirectory()))
        self.backup, self.data = self.folder / "backup", self.folder / "data"

    def keep(self, schema):
        """A backup that the version of that schema made."""
        self.backup.mkdir()
        shutil.copyfile(KEPT / f"schema-{schema}.db", self.backup / "locus.db")

    def restore(self):
        shutil.rmtree(self.data, ignore_errors=True)
        shutil.copytree(self.backup, self.data)

    def table(self):
        """What a server on the data folder shows of its experiment, and the schema of the folder afterwards."""
        with serving(self.data) as server:
            said = server.stdout.readline()
            self.assertTrue(said, server.stderr.read() if not said else "")
            line = [LOCUS, "leaderboard", "fashion-mnist-priors", "--json", "--server", json.loads(said)["grpc"]]
            asked = subprocess.run(line, capture_output=True, text=True)
            server.terminate()
            server.communicate()
        self.assertEqual(server.returncode, 0)
        self.assertEqual(asked.returncode, 0, asked.stderr)
        return {row["label"]: row["mean"] for row in json.loads(asked.stdout)["rows"]}, self.schema(self.data)

    @staticmethod
    def schema(folder):
        return int.from_bytes((folder / "locus.db").read_bytes()[VERSION_AT : VERSION_AT + 4], "big")

    def test_what_a_newer_server_wrote_is_refused_untouched_and_the_backup_of_before_goes_on(self):
        self.keep(SCHEMAS[-1])
        self.restore()
        before, today = self.table()
        database = self.data / "locus.db"
        newer = bytearray(database.read_bytes())
        newer[VERSION_AT : VERSION_AT + 4] = (today + 1).to_bytes(4, "big")
        database.write_bytes(newer)

        with serving(self.data) as server:
            said, why = server.communicate()
        self.assertNotEqual(server.returncode, 0)
        self.assertEqual(said, "")
        self.assertIn(f"schema version {today + 1}", why)
        self.assertEqual(database.read_bytes(), newer, "the refused database was written to")

        kept = self.folder / "data-new"
        self.data.rename(kept)
        self.restore()
        self.assertEqual(self.table(), (before, today))
        self.assertEqual((kept / "locus.db").read_bytes(), newer, "what the newer one measured is still there")

    def test_a_backup_of_each_schema_is_that_of_its_version_after_a_newer_one_ran_on_a_copy(self):
        for schema in SCHEMAS:
            with self.subTest(schema=schema):
                shutil.rmtree(self.backup, ignore_errors=True)
                self.keep(schema)
                self.restore()
                shown, today = self.table()
                table = json.loads((ROOT / f"tests/server/testdata/schema-{schema}-leaderboard.json").read_text())
                self.assertEqual(list(shown), [row["label"] for row in table["rows"]])
                for row in table["rows"]:
                    self.assertAlmostEqual(shown[row["label"]], row["mean"], 9)
                self.assertGreaterEqual(today, SCHEMAS[-1], "it was brought forward")
                self.assertEqual(self.schema(self.backup), schema, "an older server takes it as it was")
                self.assertEqual([path.name for path in self.backup.iterdir()], ["locus.db"])


if __name__ == "__main__":
    unittest.main()
