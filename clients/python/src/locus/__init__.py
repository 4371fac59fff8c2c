"""Compare ways of telling a Vision Transformer where its patches are.

    client = locus.connect()
    experiment = client.submit("examples/fashion-mnist-priors.yaml")
    experiment.wait()
    experiment.leaderboard().to_pandas()
"""

from locus._version import __version__
from locus.catalog import Catalog, CatalogItem, Option
from locus.claims import Claim, ClaimMatch, Claims, ClaimSummary
from locus.client import Client, connect
from locus.comparison import (
    ComparedItem,
    ComparedPart,
    ComparedResult,
    ComparedSetting,
    Comparison,
    PairedDifference,
    SeedValue,
)
from locus.errors import (
    Aborted,
    AlreadyExists,
    ExperimentFailed,
    FailedPrecondition,
    InvalidArgument,
    LocusError,
    MissingPackage,
    NotFound,
    ResourceExhausted,
    TimedOut,
    Unavailable,
    Violation,
)
from locus.experiment import Experiment
from locus.foreign import ForeignSeries, Import
from locus.frames import Rows
from locus.pictures import Picture
from locus.pivot import PivotAxis, PivotCell, PivotHeading, PivotSummary, PivotTable
from locus.plans import (
    Deletion,
    Plan,
    PlanBracket,
    PlanCell,
    PlanHistory,
    PlanKind,
    PlanPhase,
    PlanRange,
    PlanRung,
    PlanSearch,
)
from locus.results import Curve, Curves, Leaderboard, LeaderboardRow, SweepPoint, SweepSeries
from locus.trials import (
    Artifact,
    Attempt,
    Checkpoint,
    Output,
    Result,
    SeriesKey,
    StageDetail,
    StageInput,
    Trial,
    TrialDetail,
    TrialStage,
)
from locus.trust import Identity, Token
from locus.workers import HeldData, RunningAttempt, Server, Slot, Worker, WorkerExtension

__all__ = [
    "__version__",
    "Aborted",
    "AlreadyExists",
    "Artifact",
    "Attempt",
    "Catalog",
    "CatalogItem",
    "Checkpoint",
    "Claim",
    "ClaimMatch",
    "Claims",
    "ClaimSummary",
    "Client",
    "ComparedItem",
    "ComparedPart",
    "ComparedResult",
    "ComparedSetting",
    "Comparison",
    "Curve",
    "Curves",
    "Deletion",
    "Experiment",
    "ExperimentFailed",
    "FailedPrecondition",
    "ForeignSeries",
    "HeldData",
    "Identity",
    "Import",
    "InvalidArgument",
    "Leaderboard",
    "LeaderboardRow",
    "LocusError",
    "MissingPackage",
    "NotFound",
    "Option",
    "Output",
    "PairedDifference",
    "Picture",
    "PivotAxis",
    "PivotCell",
    "PivotHeading",
    "PivotSummary",
    "PivotTable",
    "Plan",
    "PlanBracket",
    "PlanCell",
    "PlanHistory",
    "PlanKind",
    "PlanPhase",
    "PlanRange",
    "PlanRung",
    "PlanSearch",
    "ResourceExhausted",
    "Result",
    "Rows",
    "RunningAttempt",
    "SeedValue",
    "SeriesKey",
    "Server",
    "Slot",
    "StageDetail",
    "StageInput",
    "SweepPoint",
    "SweepSeries",
    "TimedOut",
    "Token",
    "Trial",
    "TrialDetail",
    "TrialStage",
    "Unavailable",
    "Violation",
    "Worker",
    "WorkerExtension",
    "connect",
]
