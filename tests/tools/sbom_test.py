#!/usr/bin/env python3
"""What is linked, fetched and bundled is what tools/components.txt lists, and the document about it has its form.
Called with the source tree and the build folder, whose programs must be there."""
import json
import subprocess
import sys
import tempfile
import unittest
from pathlib import Path

root, build = Path(sys.argv.pop(1)), Path(sys.argv.pop(1))


def sbom(*arguments):
    command = [root / "tools/sbom", *arguments, "--build", build]
    return subprocess.run(command, check=True, capture_output=True, text=True).stdout


def on_debian_12():
    release = Path("/etc/os-release")
    return release.exists() and 'VERSION_ID="12"' in release.read_text()


@unittest.skipUnless(on_debian_12(), "the list is of Debian 12")
class Sbom(unittest.TestCase):
    def test_every_component_was_agreed_on(self):
        agreed = [line for line in (root / "tools/components.txt").read_text().splitlines() if not line.startswith("#")]
        found = sbom("names").splitlines()
        remedy = "if they are meant, put the output of `tools/sbom names` into tools/components.txt"
        self.assertEqual(sorted(set(found) - set(agreed)), [], f"new components; {remedy}")
        self.assertEqual(sorted(set(agreed) - set(found)), [], f"components that are gone; {remedy}")

    def test_every_component_can_be_told_from_others_of_its_name(self):
        with tempfile.TemporaryDirectory() as folder:
            file = Path(folder) / "bill.json"
            sbom("write", file)
            bill = json.loads(file.read_text())
        self.assertEqual((bill["bomFormat"], bill["specVersion"]), ("CycloneDX", "1.5"))
        for part in bill["components"]:
            with self.subTest(part=part["name"]):
                self.assertRegex(part["purl"], r"^pkg:(deb/debian|pypi|npm)/")
                self.assertTrue(part["version"])
                for digest in part["hashes"]:
                    self.assertEqual(len(digest["content"]), int(digest["alg"].removeprefix("SHA-")) // 4)
                self.assertTrue(part["hashes"])
        references = [part["bom-ref"] for part in bill["components"]]
        self.assertEqual(len(set(references)), len(references))
        self.assertEqual(bill["dependencies"][0]["dependsOn"], sorted(references))


if __name__ == "__main__":
    unittest.main()
