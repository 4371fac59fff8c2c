"""What goes wrong, as exceptions that carry the server's reason and field."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Mapping, Sequence

import grpc
from google.rpc import error_details_pb2, status_pb2

if TYPE_CHECKING:
    from locus.experiment import Experiment

DOMAIN = "locus.v1"


@dataclass(frozen=True)
class Violation:
    """One mistake of several."""

    field: str
    """Where: `train.lr`."""
    message: str
    reason: str = ""


class LocusError(Exception):
    """The server, or the way to it, refused, or what was asked makes no sense. `str()` is a sentence: what was asked, what was found, what to do."""

    def __init__(
        self,
        message: str,
        *,
        code: str = "UNKNOWN",
        reason: str = "",
        field: str = "",
        metadata: Mapping[str, str] | None = None,
        violations: Sequence[Violation] = (),
    ) -> None:
        super().__init__(message)
        self.message = message
        self.code = code
        """The canonical code, such as `INVALID_ARGUMENT`."""
        self.reason = reason
        """Why, for programs: `UNKNOWN_PRIOR`. Empty where the server did not say."""
        self.field = field
        """The offending field: `matrix.prior[2].violin.curves`."""
        self.metadata = dict(metadata or {})
        """Every value the message names."""
        self.violations = tuple(violations)
        """Every mistake the server lists, of a specification with several; otherwise the one, or none without a field."""

    def __str__(self) -> str:
        if len(self.violations) > 1:
            more = int(self.metadata.get("more_mistakes", "0"))
            lines = [f"{len(self.violations) + more} mistakes"]
            lines += [f"  {one.field}: {one.message}" for one in self.violations]
            return "\n".join(lines + [f"  and {more} more"] * (more > 0))
        return f"{self.message} (at {self.field})" if self.field else self.message


class InvalidArgument(LocusError):
    """A specification, name or option that breaks a rule."""


class NotFound(LocusError):
    """No experiment, trial, metric, artifact or worker of that name."""


class AlreadyExists(LocusError):
    """The name belongs to another specification; `replace=True` allows the change."""


class FailedPrecondition(LocusError):
    """The verb is not allowed in the present state."""


class ResourceExhausted(LocusError):
    """A documented limit was hit."""


class Aborted(LocusError):
    """Somebody else was first; read again and retry."""


class Unavailable(LocusError):
    """No server answers at the address."""


class ExperimentFailed(LocusError):
    """An experiment that was waited for ended without completing."""

    def __init__(self, message: str, experiment: Experiment) -> None:
        super().__init__(message, code="FAILED_PRECONDITION", reason="WRONG_STATE")
        self.experiment = experiment


class TimedOut(LocusError, TimeoutError):
    """What was waited for is not over yet; a TimeoutError, too."""


class MissingPackage(LocusError, ImportError):
    """A package that only some calls want is not installed; an ImportError, too."""


_BY_CODE: dict[str, type[LocusError]] = {
    "INVALID_ARGUMENT": InvalidArgument,
    "OUT_OF_RANGE": InvalidArgument,
    "NOT_FOUND": NotFound,
    "ALREADY_EXISTS": AlreadyExists,
    "FAILED_PRECONDITION": FailedPrecondition,
    "RESOURCE_EXHAUSTED": ResourceExhausted,
    "ABORTED": Aborted,
    "UNAVAILABLE": Unavailable,
    "DEADLINE_EXCEEDED": Unavailable,
    "CANCELLED": Unavailable,
}


def make_error(
    code: str,
    message: str,
    reason: str = "",
    field: str = "",
    metadata: Mapping[str, str] | None = None,
    violations: Sequence[Violation] = (),
) -> LocusError:
    """The exception of the class that belongs to `code`."""
    return _BY_CODE.get(code, LocusError)(
        message, code=code, reason=reason, field=field, metadata=metadata, violations=violations
    )


def from_grpc(error: grpc.RpcError, address: str, meaning: str = "") -> LocusError:
    """Restores reason, field and metadata from the details the server sent. `meaning`: of a connection that failed."""
    code = error.code().name
    reason, metadata = "", {}
    violations: list[Violation] = []
    for key, value in error.trailing_metadata() or ():
        if key != "grpc-status-details-bin":
            continue
        status = status_pb2.Status.FromString(value)
        for detail in status.details:
            info, bad = error_details_pb2.ErrorInfo(), error_details_pb2.BadRequest()
            if detail.Unpack(info) and info.domain == DOMAIN:
                reason, metadata = info.reason, dict(info.metadata)
            elif detail.Unpack(bad):
                violations = [Violation(one.field, one.description, one.reason) for one in bad.field_violations]
    message = error.details() or code
    # We cancel no call ourselves: a server that stops does.
    if not reason and code in ("UNAVAILABLE", "DEADLINE_EXCEEDED", "CANCELLED"):
        found = "no answer within the deadline" if code == "DEADLINE_EXCEEDED" else message
        return make_error(
            code,
            meaning
            or f"no server answers at {address} ({found}): start one with `locus serve`, or name another with "
            "locus.connect('HOST:PORT')",
            "SERVER_UNAVAILABLE",
            metadata={"address": address, "found": found},
        )
    field = violations[0].field if violations else ""
    return make_error(code, message, reason, field, metadata, violations)
