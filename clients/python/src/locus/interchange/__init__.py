"""An experiment's numbers in the tools that people already use.

    from locus.interchange import write_csv, write_parquet
    write_parquet(experiment, "priors/")                 # results, points, settings: a table each

    from locus.interchange.tensorboard import write_tensorboard
    from locus.interchange.mlflow import write_mlflow
    from locus.interchange.models import write_model     # a trained model for timm, with a card

Everything is read from the experiment's export (docs/formats/export.md); nothing is computed here, and nothing is
averaged over seeds.
"""

from locus.interchange.runs import Run, Series, StageOf, runs
from locus.interchange.tables import write_csv, write_parquet

__all__ = ["Run", "Series", "StageOf", "runs", "write_csv", "write_parquet"]
