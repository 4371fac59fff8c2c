#!/usr/bin/env python3
"""Successive halving over nine rungs by Optuna with its SQLite storage and four processes: rung values judged a second.

    optuna_search.py FOLDER PROPOSALS

Prints one JSON object. A trial trains nothing: it reports a value at every rung and asks whether it is to stop.
Optuna's halving stops where ours parks (it cannot suspend a trial), and judges by what was reported before. The
journal mode is write-ahead, as ours is: Optuna's default rollback journal is slower.
"""

import json
import multiprocessing
import pathlib
import random
import sys
import time

import optuna
from sqlalchemy import create_engine, text

PROCESSES = 4
RUNGS = [2**rung for rung in range(9)]


def objective(trial):
    trial.suggest_float("lr", 1e-5, 1e-1, log=True)
    value = random.Random(trial.number).uniform(0, 100)
    for rung in RUNGS:
        trial.report(value, rung)
        if trial.should_prune():
            raise optuna.TrialPruned
    return value


def work(storage, trials):
    optuna.logging.set_verbosity(optuna.logging.ERROR)
    pruner = optuna.pruners.SuccessiveHalvingPruner(min_resource=1, reduction_factor=2)
    study = optuna.load_study(
        study_name="halved", storage=storage, sampler=optuna.samplers.RandomSampler(), pruner=pruner
    )
    study.optimize(objective, n_trials=trials)


def main(folder, trials):
    folder = pathlib.Path(folder)
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "optuna.db").unlink(missing_ok=True)
    url = f"sqlite:///{folder}/optuna.db"
    with create_engine(url).connect() as connection:
        connection.execute(text("PRAGMA journal_mode=WAL"))
    optuna.logging.set_verbosity(optuna.logging.ERROR)
    storage = optuna.storages.RDBStorage(url, engine_kwargs={"connect_args": {"timeout": 100}})
    optuna.create_study(study_name="halved", storage=storage, direction="maximize")
    start = time.perf_counter()
    processes = [multiprocessing.Process(target=work, args=(url, trials // PROCESSES)) for _ in range(PROCESSES)]
    for process in processes:
        process.start()
    for process in processes:
        process.join()
    seconds = time.perf_counter() - start
    done = storage.get_all_trials(1)
    values = sum(len(trial.intermediate_values) for trial in done)
    print(json.dumps({"case": "halving", "peer": f"Optuna {optuna.__version__}, SQLite, {PROCESSES} processes",
                      "proposals": len(done), "rung_values": values, "seconds": seconds,
                      "per_second": values / seconds}))  # fmt: skip


if __name__ == "__main__":
    multiprocessing.set_start_method("spawn")
    main(sys.argv[1], int(sys.argv[2]))
