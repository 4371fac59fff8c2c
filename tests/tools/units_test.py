#!/usr/bin/env python3
"""How far systemd keeps our services in, as systemd-analyze counts it: 0 is nothing open, 10 is everything."""
import re
import shutil
import subprocess
import sys
import unittest
from pathlib import Path

units = Path(sys.argv.pop(1)) / "deploy" / "systemd"
most = {"locus-server.service": "2.0", "locus-worker.service": "4.0"}


@unittest.skipUnless(shutil.which("systemd-analyze"), "no systemd-analyze here")
class Units(unittest.TestCase):
    def run_analyze(self, *arguments):
        return subprocess.run(["systemd-analyze", *arguments], capture_output=True, text=True)

    def test_every_service_has_a_bound(self):
        self.assertEqual({unit.name for unit in units.glob("*.service")}, set(most))

    def test_no_service_is_more_open_than_its_bound(self):
        for name, bound in most.items():
            with self.subTest(unit=name):
                # asked for in tenths
                threshold = f"--threshold={round(float(bound) * 10)}"
                asked = self.run_analyze("security", "--offline=true", threshold, units / name)
                found = re.findall(r"Overall exposure level.*", asked.stdout)
                self.assertEqual(asked.returncode, 0, found or asked.stderr)

    def test_every_directive_and_system_call_is_known(self):
        for name in most:
            with self.subTest(unit=name):
                said = self.run_analyze("verify", units / name)
                for complaint in (said.stdout + said.stderr).splitlines():
                    self.assertNotRegex(complaint, r"Unknown|Failed to parse|not valid|ignoring", complaint)


if __name__ == "__main__":
    unittest.main()
