#!/usr/bin/env python3
"""Successive halving over nine rungs by Optuna with its SQLite storage and four processes: rung values judged a second.

    optuna_search.py FOLDER PROPOSALS

Prints one JSON object. A trial trains nothing: it reports a value at every rung and asks whether it is to stop.
Optuna's halving stops where ours parks (it cannot suspend a trial), and judges by what was reported before.
"""

import json
import random
import sys

import optuna
from optuna_study import PEER, run, study_of

RUNGS = [2**rung for rung in range(9)]


def objective(trial):
    trial.suggest_float("lr", 1e-5, 1e-1, log=True)
    value = random.Random(trial.number).uniform(0, 100)
    for rung in RUNGS:
        trial.report(value, rung)
        if trial.should_prune():
            raise optuna.TrialPruned
    return value


def work(url, trials):
    pruner = optuna.pruners.SuccessiveHalvingPruner(min_resource=1, reduction_factor=2)
    study_of(url, pruner=pruner).optimize(objective, n_trials=trials)


def main(folder, trials):
    seconds, stored = run(folder, trials, work, direction="maximize")
    values = sum(len(trial.intermediate_values) for trial in stored)
    print(json.dumps({"case": "halving", "peer": PEER, "proposals": len(stored), "rung_values": values,
                      "seconds": seconds, "per_second": values / seconds}))  # fmt: skip


if __name__ == "__main__":
    main(sys.argv[1], int(sys.argv[2]))
