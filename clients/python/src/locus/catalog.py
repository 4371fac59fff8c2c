"""What the engine can do (docs/formats/catalog.md)."""

from __future__ import annotations

import difflib
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Mapping, TypeVar

from locus.errors import NotFound
from locus.frames import Rows

if TYPE_CHECKING:
    import pandas


Named = TypeVar("Named")


@dataclass(frozen=True)
class Option:
    name: str
    type: str
    """"integer", "number", "string", "boolean" or "list"."""
    default: Any = field(hash=False)
    """None where `required`."""
    required: bool
    choices: list[str] = field(hash=False)
    minimum: float | None
    maximum: float | None
    exclusive_minimum: float | None
    help: str
    document: dict[str, Any] = field(hash=False, repr=False)
    """All of it, as the engine describes it."""


@dataclass(frozen=True)
class CatalogItem:
    """A prior, dataset, backbone, task, recipe or stage kind."""

    kind: str
    id: str
    summary: str
    paper: str
    formula: str
    revision: int
    aliases: list[str] = field(hash=False)
    options: list[Option] = field(hash=False)
    facts: dict[str, Any] = field(hash=False)
    document: dict[str, Any] = field(hash=False, repr=False)
    """All of it, as the engine describes it."""

    def option(self, name: str) -> Option:
        """NotFound without one of that name."""
        return _named({one.name: one for one in self.options}, name, f"option of {self.kind} {self.id}")


class Catalog(Rows[CatalogItem]):
    """Every item, priors first, in the engine's order."""

    def __init__(self, document: Mapping[str, Any], digest: str) -> None:
        super().__init__(CatalogItem, [_item(one) for one in document["items"]])
        self.document = dict(document)
        """The whole catalog as the server validates with it."""
        self.digest = digest

    @property
    def priors(self) -> dict[str, CatalogItem]:
        """The priors by id."""
        return {one.id: one for one in self.rows if one.kind == "prior"}

    def item(self, kind: str, id: str) -> CatalogItem:
        """The item of that kind with this id or alias; NotFound names the nearest."""
        known = {name: one for one in self.rows if one.kind == kind for name in (one.id, *one.aliases)}
        return _named(known, id, kind)

    def prior(self, id: str) -> CatalogItem:
        return self.item("prior", id)

    def to_pandas(self) -> pandas.DataFrame:
        """A frame with a row an item; options by name only."""
        out = super().to_pandas().drop(columns=["document", "facts"])
        out["options"] = [[one.name for one in item.options] for item in self.rows]
        return out


def _named(known: Mapping[str, Named], name: str, what: str) -> Named:
    if name in known:
        return known[name]
    near = difflib.get_close_matches(str(name), known, n=1)
    hint = f"did you mean {near[0]!r}?" if near else f"there are {', '.join(known) or 'none'}"
    raise NotFound(f"no {what} is called {name!r}; {hint}", code="NOT_FOUND", metadata={"name": str(name)})


def _item(one: Mapping[str, Any]) -> CatalogItem:
    return CatalogItem(
        kind=one["kind"],
        id=one["id"],
        summary=one.get("summary", ""),
        paper=one.get("paper", ""),
        formula=one.get("formula", ""),
        revision=one.get("revision", 0),
        aliases=list(one.get("aliases", [])),
        options=[_option(option) for option in one.get("options", [])],
        facts=dict(one.get("facts", {})),
        document=dict(one),
    )


def _option(one: Mapping[str, Any]) -> Option:
    return Option(
        name=one["name"],
        type=one["type"],
        default=one.get("default"),
        required=one.get("required", False),
        choices=list(one.get("choices", [])),
        minimum=one.get("minimum"),
        maximum=one.get("maximum"),
        exclusive_minimum=one.get("exclusive_minimum"),
        help=one.get("help", ""),
        document=dict(one),
    )
