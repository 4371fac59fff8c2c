"""Compare ways of telling a Vision Transformer where its patches are.

    client = locus.connect()
    experiment = client.submit("examples/fashion-mnist-priors.yaml")
    experiment.wait()
    experiment.leaderboard().to_pandas()
"""

from locus.claims import Claim, ClaimMatch, Claims
from locus.client import Client, connect
from locus.errors import (
    Aborted,
    AlreadyExists,
    ExperimentFailed,
    FailedPrecondition,
    InvalidArgument,
    LocusError,
    NotFound,
    ResourceExhausted,
    Unavailable,
    Violation,
)
from locus.experiment import Experiment
from locus.paper import PaperTable
from locus.results import Curve, Curves, Leaderboard, LeaderboardRow

__version__ = "0.1.0"
__all__ = [
    "Aborted",
    "AlreadyExists",
    "Claim",
    "ClaimMatch",
    "Claims",
    "Client",
    "Curve",
    "Curves",
    "Experiment",
    "ExperimentFailed",
    "FailedPrecondition",
    "InvalidArgument",
    "Leaderboard",
    "LeaderboardRow",
    "LocusError",
    "NotFound",
    "PaperTable",
    "ResourceExhausted",
    "Unavailable",
    "Violation",
    "connect",
]
