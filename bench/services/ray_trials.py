#!/usr/bin/env python3
"""Trials a second of Ray Tune: empty ones, or the smallest training that bench/services/smallest.py defines.

    ray_trials.py empty|smallest FOLDER TRIALS [SLOTS]

Prints one JSON object; SLOTS (2) trials run side by side. The time of starting Ray itself is left out.
"""
import json
import logging
import os
import pathlib
import sys
import time

os.environ.setdefault("RAY_AIR_NEW_OUTPUT", "0")
os.environ.setdefault("RAY_DEDUP_LOGS", "0")
import ray  # noqa: E402
from ray import tune  # noqa: E402

HERE = str(pathlib.Path(__file__).resolve().parent)


def empty(config):
    tune.report({"top1": config["lr"]})


def smallest(config):
    sys.path.insert(0, HERE)
    from smallest import train_in_torch

    tune.report({"top1": train_in_torch(config["seed"], os.getcwd())})


def main(what, folder, trials, slots):
    ray.init(num_cpus=slots, include_dashboard=False, logging_level=logging.ERROR, log_to_driver=False,
             _temp_dir=str(pathlib.Path(folder).resolve() / "ray"))  # fmt: skip
    function, space = {
        "empty": (empty, {"lr": tune.grid_search([1e-5 * (i + 1) for i in range(trials)])}),
        "smallest": (smallest, {"seed": tune.grid_search(list(range(trials)))}),
    }[what]
    tuner = tune.Tuner(tune.with_resources(function, {"cpu": 1}), param_space=space,
                       tune_config=tune.TuneConfig(max_concurrent_trials=slots),
                       run_config=tune.RunConfig(storage_path=str(pathlib.Path(folder).resolve() / "results"),
                                                 verbose=0))  # fmt: skip
    start = time.perf_counter()
    done = sum(result.error is None for result in tuner.fit())
    seconds = time.perf_counter() - start
    case = {"empty": "empty trials", "smallest": "smallest trainings"}[what]
    print(json.dumps({"case": case, "peer": f"Ray Tune {ray.__version__}, {slots} slots", "trials": done,
                      "seconds": seconds, "per_second": done / seconds}))  # fmt: skip
    ray.shutdown()


if __name__ == "__main__":
    main(sys.argv[1], sys.argv[2], int(sys.argv[3]), int(sys.argv[4]) if len(sys.argv) > 4 else 2)
