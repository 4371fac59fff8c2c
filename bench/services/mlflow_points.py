#!/usr/bin/env python3
"""Stored points a second of MLflow's tracking server with SQLite, logged in batches by four clients.

    mlflow_points.py FOLDER SECONDS

Starts the server on a free port of loopback and stops it. Prints one JSON object. A batch holds 1000 metrics, the most
that MLflow takes.
"""
import json
import multiprocessing
import pathlib
import socket
import subprocess
import sys
import time
import urllib.request

CLIENTS, BATCH = 4, 1000


def log(address, seconds, queue):
    from mlflow import MlflowClient
    from mlflow.entities import Metric

    client = MlflowClient(tracking_uri=address)
    run = client.create_run("0").info.run_id
    queue.put("ready")
    stored, delays, end = 0, [], time.perf_counter() + seconds
    while time.perf_counter() < end:
        now = int(time.time() * 1000)
        batch = [Metric(f"metric-{i % 10}", 1 / (i % 977 + 1), now, (stored + i) // 10) for i in range(BATCH)]
        sent = time.perf_counter()
        client.log_batch(run, metrics=batch)
        delays.append((time.perf_counter() - sent) * 1000)
        stored += BATCH
    queue.put((stored, delays))


def main(folder, seconds):
    import mlflow

    folder = pathlib.Path(folder)
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "mlflow.db").unlink(missing_ok=True)
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = probe.getsockname()[1]
    address = f"http://127.0.0.1:{port}"
    server = subprocess.Popen([sys.executable, "-m", "mlflow", "server", "--host", "127.0.0.1", "--port", str(port),
                               "--workers", "2", "--backend-store-uri", f"sqlite:///{folder}/mlflow.db",
                               "--default-artifact-root", str(folder)],
                              stdout=open(folder / "mlflow.log", "w"), stderr=subprocess.STDOUT)  # fmt: skip
    try:
        for _ in range(300):
            try:
                urllib.request.urlopen(address + "/health", timeout=1)
                break
            except OSError:
                time.sleep(0.2)
        queue = multiprocessing.Queue()
        clients = [multiprocessing.Process(target=log, args=(address, seconds, queue)) for _ in range(CLIENTS)]
        for client in clients:
            client.start()
        for _ in clients:
            queue.get()
        found = [queue.get() for _ in clients]
        for client in clients:
            client.join()
    finally:
        server.terminate()
        server.wait()
    delays = sorted(delay for _, part in found for delay in part)
    stored = sum(count for count, _ in found)
    print(json.dumps({"case": "durable points", "peer": f"MLflow {mlflow.__version__}, SQLite, {CLIENTS} clients",
                      "points": stored, "seconds": seconds, "per_second": stored / seconds,
                      "acknowledgement_ms": {"median": delays[len(delays) // 2],
                                             "p99": delays[min(len(delays) - 1, int(0.99 * len(delays)))]}}))  # fmt: skip


if __name__ == "__main__":
    multiprocessing.set_start_method("spawn")
    main(sys.argv[1], float(sys.argv[2]))
