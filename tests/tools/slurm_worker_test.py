#!/usr/bin/env python3
"""deploy/slurm/worker.sh: what worker it starts of what its job is told. `make slurm` runs it in jobs of a real Slurm."""
import os
import pathlib
import shutil
import subprocess
import sys
import tempfile
import unittest

ROOT = pathlib.Path(sys.argv.pop(1)).resolve()


class WorkerOfAJob(unittest.TestCase):
    def setUp(self):
        self.folder = pathlib.Path(tempfile.mkdtemp())
        self.addCleanup(shutil.rmtree, self.folder)
        self.work = self.folder / "locus-12"
        (self.folder / "bin").mkdir()
        self.program("squeue", "echo 2026-01-02T03:04:05")
        # A worker that has enrolled if it was invited, and had something to deliver or not.
        self.program("srun", f'mkdir -p {self.work}/tls {self.work}/attempts; [ -z "$LOCUS_ENROLL" ] || touch '
                             f'{self.work}/tls/enrollment.json; $LEAVE; echo "$*" "server=$LOCUS_SERVER" '
                             f'"enroll=$LOCUS_ENROLL" "end=$SLURM_JOB_END_TIME" >{self.folder}/asked; exit $STATUS')

    def program(self, name, line):
        file = self.folder / "bin" / name
        file.write_text("#!/bin/sh\n" + line + "\n")
        file.chmod(0o755)

    def job(self, **told):
        environment = {"PATH": f"{self.folder}/bin:{os.environ['PATH']}", "SLURM_JOB_ID": "12", "LOCUS_POOL": "gpu",
                       "LOCUS_WORK": str(self.folder), "TZ": "UTC", "STATUS": "0", "LEAVE": "true", **told}
        done = subprocess.run(["sh", ROOT / "deploy/slurm/worker.sh"], capture_output=True, text=True, env=environment)
        self.assertEqual(done.stderr, "")
        return done.returncode, (self.folder / "asked").read_text()

    def test_a_worker_that_nobody_invited_is_named_by_its_job(self):
        self.assertEqual(self.job(LOCUS_SERVER="host:7171", LOCUS_WORKER_OPTIONS="--device cuda"), (
            0, f"--ntasks=1 locus worker --server host:7171 --name gpu-12 --work {self.work} --exit-when-idle 15m "
               "--device cuda server=host:7171 enroll= end=1767323045\n"))

    def test_one_that_was_invited_takes_the_name_of_its_invitation(self):
        _, asked = self.job(LOCUS_SERVER="https://host:7172", LOCUS_ENROLL="token", LOCUS_WORKER_NAME="gpu-1f3c")
        self.assertIn("worker --server https://host:7172 --name gpu-1f3c --work", asked)
        self.assertIn("enroll=token", asked)

    def test_requeued_on_its_node_it_goes_on_with_its_certificate(self):
        told = {"LOCUS_SERVER": "https://host:7172", "LOCUS_ENROLL": "token", "LOCUS_WORKER_NAME": "gpu-1f3c"}
        self.job(**told, LEAVE=f"touch {self.work}/attempts/point")
        _, asked = self.job(**told)
        self.assertIn(f"locus worker --work {self.work}", asked)
        self.assertIn("server= enroll= ", asked)

    def test_what_was_not_delivered_stays_and_nothing_else(self):
        self.job(LOCUS_SERVER="host:7171", LEAVE=f"touch {self.work}/attempts/point")
        self.assertTrue((self.work / "attempts/point").exists())
        (self.work / "attempts/point").unlink()
        self.job(LOCUS_SERVER="host:7171")
        self.assertFalse(self.work.exists())

    def test_the_job_ends_as_its_worker_did(self):
        self.assertEqual(self.job(LOCUS_SERVER="host:7171", STATUS="3")[0], 3)

    def test_slurm_may_say_itself_when_the_job_ends(self):
        _, asked = self.job(LOCUS_SERVER="host:7171", SLURM_JOB_END_TIME="7")
        self.assertIn("end=7\n", asked)


if __name__ == "__main__":
    unittest.main()
