"""The server and its workers."""

from __future__ import annotations

from dataclasses import dataclass, field
from datetime import datetime


@dataclass(frozen=True)
class Slot:
    device: str
    index: int
    threads: int
    name: str
    memory_bytes: int


@dataclass(frozen=True)
class RunningAttempt:
    stage: int
    attempt: int
    title: str
    step: int
    steps: int
    phase: str
    slots: list[int] = field(hash=False)
    start_time: datetime | None


@dataclass(frozen=True)
class HeldData:
    """The datasets on a worker's machine, and of others what is missing or wrong there."""

    datasets: list[str] = field(hash=False)
    missing: dict[str, str] = field(hash=False)


@dataclass(frozen=True)
class WorkerExtension:
    """Code of a user that a worker runs."""

    name: str
    digest: str
    current: bool
    """The catalog goes by this code; otherwise another worker loaded other code under that name since."""


@dataclass(frozen=True)
class Worker:
    """`state` is "active", "silent", "draining" or "offline"; `reason` says why it drains or will."""

    name: str
    host: str
    version: str
    state: str
    reason: str
    seen_time: datetime | None
    slots: list[Slot] = field(hash=False)
    slots_busy: int
    running: list[RunningAttempt] = field(hash=False)
    failed: int
    """Of its last attempts that ended, at most 20."""
    succeeded: int
    since_time: datetime | None
    """When its present daemon registered."""
    catalog_digest: str
    data: HeldData | None
    """None: it did not say."""
    forgotten: bool
    end_time: datetime | None
    """When it drains by itself, or is drained; None: it stays."""
    drain_time: datetime | None
    """When a drain that was asked for begins; None: there is none, or it has begun."""
    extensions: list[WorkerExtension] = field(hash=False)
    """What it brings to the catalog; none while it is not connected."""
    labels: dict[str, str] = field(hash=False)
    """That specifications may ask for."""
    untrusted_labels: dict[str, str] = field(hash=False)
    """That it gave itself and nobody granted: no specification is met by them."""


@dataclass(frozen=True)
class Server:
    """Who answers. `state` is "ok", "disk-low" or "disk-full", with the `reason` in a sentence."""

    version: str
    protocol_version: int
    attempts_started: int
    http_address: str
    grpc_address: str
    state: str
    reason: str
    disk_free_bytes: int
    database_bytes: int
    uptime_seconds: float
    catalog_digest: str
    purging: bool
    """Rows and blobs of deleted experiments are being taken away."""
