"""What a search is asked to do, in short."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class SearchTerms:
    propose: str
    """"grid", "random", "sobol" or "external"."""
    advance: str
    """"none", "halve", "asha", "hyperband" or "race"."""
    resource: str
    """That rungs count: "epochs" or "seeds"."""
    unit: str
    """That is judged: "cell" or "trial"."""
    shared: bool
    """All groups meet the same proposals."""
    proposals: int
    """Of each group, repeated ones included; of a client, the most it may make. 0: any number."""
