#!/usr/bin/env python3
"""Empty trials a second of Optuna with its SQLite storage and four processes.

    optuna_trials.py FOLDER TRIALS

Prints one JSON object.
"""

import json
import sys

import optuna
from optuna_study import PEER, run, study_of


def work(url, trials):
    study_of(url).optimize(lambda trial: trial.suggest_float("lr", 1e-5, 1e-1, log=True), n_trials=trials)


def main(folder, trials):
    seconds, stored = run(folder, trials, work)
    done = sum(trial.state == optuna.trial.TrialState.COMPLETE for trial in stored)
    print(json.dumps({"case": "empty trials", "peer": PEER, "trials": done, "seconds": seconds,
                      "per_second": done / seconds}))  # fmt: skip


if __name__ == "__main__":
    main(sys.argv[1], int(sys.argv[2]))
