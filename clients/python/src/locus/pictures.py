"""Pictures that the server draws: of priors, of what training made of them, of where a model looks."""

from __future__ import annotations

import json
import os
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any, Mapping, Sequence, Union

from locus._wire import plain, refuse, request, texts
from locus.files import save
from locus.v1 import picture_service_pb2

if TYPE_CHECKING:
    from locus.client import Client

Numbers = Union[int, Sequence[int]]
"""One number from 0, or several."""

DEADLINE = 120.0  # seconds: the server lets a drawing take 90, and one more may be before it


@dataclass(frozen=True)
class Picture:
    """The numbers of a picture, as docs/formats/picture.md says, which the dashboard draws."""

    document: dict[str, Any] = field(hash=False, repr=False)
    content: bytes = field(repr=False)
    """The document as the server wrote it, JSON."""
    step: int | None
    """Of the weights; 0 at initialization. None: of a prior, without a model."""
    sha256: str
    """Of the weights; empty without any."""

    def save(self, path: str | os.PathLike[str]) -> Path:
        """Writes the JSON to a file, which appears whole or not at all."""
        return save(path, [self.content])


def of_prior(
    client: Client,
    prior: str,
    options: Mapping[str, Any] | None,
    grid: Sequence[int] | None,
    settings: Mapping[str, int],
) -> Picture:
    if options is not None and not isinstance(options, Mapping):
        refuse(f"options are a mapping such as {{'curves': ['snake']}}, not a {type(options).__name__}", "options")
    sides = (0, 0) if grid is None else plain(grid, "grid")
    if not isinstance(sides, (list, tuple)) or len(sides) != 2:
        refuse(f"grid is rows and columns of patches, such as (7, 7), not {grid!r}", "grid")
    asked = json.dumps(plain(options, "options")) if options else ""
    question = request(
        picture_service_pb2.DrawPriorRequest, prior=prior, options=asked, rows=sides[0], columns=sides[1], **settings
    )
    answer = client.call(client._pictures.DrawPrior, question, deadline=DEADLINE)
    return _picture(answer, None)


def of_trial(
    client: Client,
    trial: str,
    *,
    attention: bool,
    checkpoint: int | str | None,
    layers: Numbers,
    queries: Numbers,
    images: Numbers,
    split: str,
    stage: int,
) -> Picture:
    rows = _commas(images, "images")
    question = request(
        picture_service_pb2.DrawTrialRequest,
        trial=trial,
        kind="attention" if attention else "trained-prior",
        checkpoint=_one(checkpoint),
        layers=_commas(layers, "layers"),
        queries=_commas(queries, "queries"),
        images=rows or ("0" if attention else ""),
        split=split,
        stage=stage,
    )
    answer = client.call(client._pictures.DrawTrial, question, deadline=DEADLINE)
    return _picture(answer, answer.step)


def _one(checkpoint: int | str | None) -> str:
    named = texts(checkpoint, "checkpoint")
    if len(named) > 1:
        refuse(f"checkpoint is a step, 'best', 'last' or 'initial', not {checkpoint!r}", "checkpoint")
    return "".join(named)


def _commas(numbers: Numbers, field: str) -> str:
    return ",".join(texts(numbers, field))


def _picture(answer: picture_service_pb2.Drawing, step: int | None) -> Picture:
    return Picture(json.loads(answer.json), answer.json.encode(), step, answer.sha256)
