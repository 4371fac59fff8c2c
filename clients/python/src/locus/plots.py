"""Pictures, for those who have matplotlib."""

from __future__ import annotations

from typing import Any

from locus.frames import wanted

ABSCISSAS = {"step": "step", "epoch": "epoch", "images": "images", "seconds": "seconds of training"}


def axes(given: Any = None) -> Any:
    """The axes given, or those of a new figure."""
    if given is not None:
        return given
    return wanted("matplotlib.pyplot", "plot()", "draw what to_pandas() gives").subplots(layout="constrained")[1]
