"""Options as fields of a dataclass: what a specification may set, and what it gets."""

from __future__ import annotations

import dataclasses
import typing
from dataclasses import dataclass
from typing import Any, Mapping, Sequence

_TYPES = {int: "integer", float: "number", str: "string", bool: "boolean"}
_MARK = "locus"


@dataclass(frozen=True)
class Option:
    """What the catalog says of one option beside its type and default."""

    help: str
    minimum: float | None = None
    maximum: float | None = None
    above: float | None = None
    choices: Sequence[str] | None = None
    unit: str = ""
    neutral: bool = False


def option(
    default: Any,
    help: str,
    *,
    minimum: float | None = None,
    maximum: float | None = None,
    above: float | None = None,
    choices: Sequence[str] | None = None,
    unit: str = "",
    neutral: bool = False,
) -> Any:
    """A field with a default. `neutral`: stages that have the default are those from before there was the option."""
    said = Option(help, minimum, maximum, above, choices, unit, neutral)
    if isinstance(default, list):
        return dataclasses.field(default_factory=lambda: list(default), metadata={_MARK: said})
    return dataclasses.field(default=default, metadata={_MARK: said})


def _default_of(one: dataclasses.Field[Any]) -> Any:
    if one.default_factory is not dataclasses.MISSING:
        return one.default_factory()
    return one.default


def _declared(one: dataclasses.Field[Any], hint: Any) -> dict[str, Any]:
    said = one.metadata.get(_MARK)
    if not isinstance(said, Option):
        raise TypeError(
            f"the option '{one.name}' has no help: write {one.name}: ... = training.option(default, 'what it is')"
        )
    out: dict[str, Any] = {"name": one.name, "help": said.help, "default": _default_of(one)}
    if hint in _TYPES:
        out["type"] = _TYPES[hint]
    elif typing.get_origin(hint) is list and typing.get_args(hint)[0] in _TYPES:
        out |= {"type": "list", "element": _TYPES[typing.get_args(hint)[0]]}
    else:
        raise TypeError(
            f"the option '{one.name}' is of type {hint}; options are int, float, str, bool or lists of these"
        )
    if hint is float:
        out["default"] = float(out["default"])
    for name, value in (("minimum", said.minimum), ("maximum", said.maximum), ("exclusive_minimum", said.above)):
        if value is not None:
            out[name] = value
    if said.choices is not None:
        out["choices"] = list(said.choices)
    if said.unit:
        out["unit"] = said.unit
    if said.neutral:
        out["neutral"] = out["default"]
    return out


def declared_options(kind: type) -> list[dict[str, Any]]:
    """The options of a catalog item (docs/formats/catalog.md): the dataclass's fields."""
    if not dataclasses.is_dataclass(kind):
        raise TypeError(f"{kind.__name__} is no dataclass: its fields are the item's options")
    hints = typing.get_type_hints(kind)
    return [_declared(one, hints[one.name]) for one in dataclasses.fields(kind)]


def filled(kind: type, given: Mapping[str, Any]) -> Any:
    """The dataclass with the values of a stage configuration, which leaves out those that are neutral."""
    hints = typing.get_type_hints(kind)
    return kind(**{name: float(value) if hints.get(name) is float else value for name, value in given.items()})
