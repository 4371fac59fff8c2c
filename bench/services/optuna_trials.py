#!/usr/bin/env python3
"""Empty trials a second of Optuna with its SQLite storage and four processes.

    optuna_trials.py FOLDER TRIALS

Prints one JSON object. The journal mode is write-ahead, as ours is: Optuna's default rollback journal is slower.
"""
import json
import multiprocessing
import pathlib
import sys
import time

import optuna
from sqlalchemy import create_engine, text

PROCESSES = 4


def work(storage, trials):
    optuna.logging.set_verbosity(optuna.logging.ERROR)
    study = optuna.load_study(study_name="empty", storage=storage, sampler=optuna.samplers.RandomSampler())
    study.optimize(lambda trial: trial.suggest_float("lr", 1e-5, 1e-1, log=True), n_trials=trials)


def main(folder, trials):
    folder = pathlib.Path(folder)
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "optuna.db").unlink(missing_ok=True)
    url = f"sqlite:///{folder}/optuna.db"
    with create_engine(url).connect() as connection:
        connection.execute(text("PRAGMA journal_mode=WAL"))
    optuna.logging.set_verbosity(optuna.logging.ERROR)
    storage = optuna.storages.RDBStorage(url, engine_kwargs={"connect_args": {"timeout": 100}})
    optuna.create_study(study_name="empty", storage=storage)
    start = time.perf_counter()
    processes = [multiprocessing.Process(target=work, args=(url, trials // PROCESSES)) for _ in range(PROCESSES)]
    for process in processes:
        process.start()
    for process in processes:
        process.join()
    seconds = time.perf_counter() - start
    done = sum(trial.state == optuna.trial.TrialState.COMPLETE for trial in storage.get_all_trials(1))
    print(json.dumps({"case": "empty trials", "peer": f"Optuna {optuna.__version__}, SQLite, {PROCESSES} processes",
                      "trials": done, "seconds": seconds, "per_second": done / seconds}))  # fmt: skip


if __name__ == "__main__":
    multiprocessing.set_start_method("spawn")
    main(sys.argv[1], int(sys.argv[2]))
