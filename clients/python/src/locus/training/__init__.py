"""A training of your own, as the trainer of a worker: `locus worker --trainer train.py`.

    engine = training.Engine("own-training", lock="requirements.txt", datasets=["fashion-mnist"])

    @engine.backbone("torch-vit", summary="A plain ViT in PyTorch")
    @dataclass
    class Vit:
        dim: int = training.option(64, "width of the tokens", minimum=8)

    @engine.train(metrics=["loss", "top1"])
    def train(run: training.Run) -> None:
        ...

    engine.main()

The script says what it has, as items of the catalog; specifications choose among them, and the server plans, stores and
compares as it does with the engine of Locus. docs/own.md has the whole.
"""

from locus.training.engine import Engine
from locus.training.options import Option, option
from locus.training.run import Cancelled, DataError, Diverged, Item, Run, Stopped

__all__ = ["Cancelled", "DataError", "Diverged", "Engine", "Item", "Option", "Run", "Stopped", "option"]
