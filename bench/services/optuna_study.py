"""A study of Optuna in SQLite, worked on by four processes: what the benchmarks beside Optuna share.

The journal mode is write-ahead, as ours is: Optuna's default rollback journal is slower.
"""

import multiprocessing
import pathlib
import time

import optuna
from sqlalchemy import create_engine, text

PROCESSES = 4
PEER = f"Optuna {optuna.__version__}, SQLite, {PROCESSES} processes"


def study_of(url, **more):
    """The study at that address, for one of the processes."""
    optuna.logging.set_verbosity(optuna.logging.ERROR)
    return optuna.load_study(study_name="study", storage=url, sampler=optuna.samplers.RandomSampler(), **more)


def run(folder, trials, work, direction="minimize"):
    """work(url, trials) in each process, on a share of the trials: seconds, and the trials that are stored then."""
    multiprocessing.set_start_method("spawn")
    folder = pathlib.Path(folder)
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "optuna.db").unlink(missing_ok=True)
    url = f"sqlite:///{folder}/optuna.db"
    with create_engine(url).connect() as connection:
        connection.execute(text("PRAGMA journal_mode=WAL"))
    optuna.logging.set_verbosity(optuna.logging.ERROR)
    storage = optuna.storages.RDBStorage(url, engine_kwargs={"connect_args": {"timeout": 100}})
    optuna.create_study(study_name="study", storage=storage, direction=direction)
    start = time.perf_counter()
    processes = [multiprocessing.Process(target=work, args=(url, trials // PROCESSES)) for _ in range(PROCESSES)]
    for process in processes:
        process.start()
    for process in processes:
        process.join()
    return time.perf_counter() - start, storage.get_all_trials(1)
