"""Specifications: mappings, JSON or YAML text, or files of either."""

from __future__ import annotations

import json
import os
import re
from pathlib import Path
from typing import Any, Mapping, Union

from locus._wire import plain
from locus.errors import InvalidArgument
from locus.frames import wanted

REASON = "INVALID_SPECIFICATION"
Specification = Union[Mapping[str, Any], str, "os.PathLike[str]"]


def as_json(specification: Specification, changes: Mapping[str, Any] | None = None) -> str:
    """The specification as the server reads it, `changes` applied: {"train.lr": 1e-4}."""
    document = _read(specification)
    if changes is not None and not isinstance(changes, Mapping):
        raise _invalid(f"changes are a mapping such as {{'train.lr': 1e-4}}, not a {type(changes).__name__}", "changes")
    for path, value in (changes or {}).items():
        _set(document, str(path), plain(value, str(path), REASON))
    return json.dumps(document, allow_nan=False)


def _invalid(message: str, field: str = "") -> InvalidArgument:
    return InvalidArgument(message, code="INVALID_ARGUMENT", reason=REASON, field=field)


def _read(specification: Specification) -> dict[str, Any]:
    if isinstance(specification, Mapping):
        return dict(plain(specification, "", REASON))
    if not isinstance(specification, (str, os.PathLike)):
        kind = type(specification).__name__
        raise _invalid(f"a specification is a mapping, a path, or JSON or YAML text; this is a {kind}")
    text, name = str(os.fspath(specification)), "the text"
    if "\n" not in text and not text.lstrip().startswith("{"):
        name = text
        text = _file(name)
    document = _parse(text, name)
    if not isinstance(document, dict):
        raise _invalid(f"a specification is a mapping of keys, as in name: my-comparison; {name} holds none")
    return dict(plain(document, "", REASON))


def _file(name: str) -> str:
    try:
        return Path(name).read_text(encoding="utf-8")
    except OSError as error:
        raise _invalid(f"cannot read the specification {name}: {error.strerror}; check the path") from error
    except UnicodeDecodeError as error:
        found = f"byte 0x{error.object[error.start]:02x} at offset {error.start}"
        raise _invalid(f"the specification {name} is not UTF-8: {found}; save it as UTF-8") from None
    except ValueError as error:
        raise _invalid(f"{name!r} is no path of a specification: {error}") from None


def _parse(text: str, name: str) -> Any:
    if text.lstrip().startswith("{"):
        try:
            return json.loads(text)
        except ValueError:
            pass  # flow YAML begins alike
    yaml = wanted("yaml", f"{name}, which is YAML,", "give a mapping or JSON")
    try:
        return yaml.load(text, Loader=_core_loader(yaml))
    except yaml.YAMLError as error:
        raise _invalid(f"{name} is not readable: {error}") from error


def _core_loader(yaml: Any) -> Any:
    """A loader for the core schema of YAML 1.2, as the command line reads it: 1e-3 is a number, no is text."""

    class Loader(yaml.SafeLoader):  # type: ignore[misc]
        yaml_implicit_resolvers: dict[str, Any] = {}

    def construct_mapping(loader: Any, node: Any, deep: bool = True) -> dict[str, Any]:
        out: dict[str, Any] = {}
        for key_node, value_node in node.value:
            key = loader.construct_object(key_node, deep=True)
            if not isinstance(key, str):
                key = key_node.value
            if key in out:
                raise yaml.constructor.ConstructorError(
                    None, None, f"'{key}' is given twice", key_node.start_mark
                )
            out[key] = loader.construct_object(value_node, deep=True)
        return out

    number = r"[-+]?(?:\.[0-9]+|[0-9]+(?:\.[0-9]*)?)(?:[eE][-+]?[0-9]+)?"
    for tag, pattern, first in (
        ("null", r"~|null|Null|NULL|", "~nN\0"),
        ("bool", r"true|True|TRUE|false|False|FALSE", "tTfF"),
        ("int", r"[-+]?[0-9]+|0o[0-7]+|0x[0-9a-fA-F]+", "-+0123456789"),
        ("float", number + r"|[-+]?\.(?:inf|Inf|INF)|\.(?:nan|NaN|NAN)", "-+.0123456789"),
    ):
        compiled = re.compile(f"^(?:{pattern})$")
        Loader.add_implicit_resolver(f"tag:yaml.org,2002:{tag}", compiled, ["" if c == "\0" else c for c in first])
    Loader.add_constructor("tag:yaml.org,2002:map", construct_mapping)
    Loader.add_constructor("tag:yaml.org,2002:int", lambda loader, node: _integer(node.value))
    return Loader


def _integer(text: str) -> int:
    if text.startswith("0o"):
        return int(text[2:], 8)
    return int(text, 16) if text.startswith("0x") else int(text, 10)


_HOLDS_PATHS = ("matrix", "baseline")


def _set(document: dict[str, Any], path: str, value: Any) -> None:
    """Sets `train.lr`, `matrix.train.lr` or `replicates.seed`; None takes the key away."""
    head, _, rest = path.partition(".")
    steps = [head, rest] if head in _HOLDS_PATHS and rest else path.split(".")
    if not all(steps):
        raise _invalid(f"'{path}' is not a path into the specification; write it as in train.lr or matrix.prior")
    at: Any = document
    for step in steps[:-1]:
        if at.get(step) is None:
            at[step] = {}
        at = at[step]
        if not isinstance(at, dict):
            raise _invalid(f"the specification holds no mapping on the way to {path}", path)
    if value is None:
        at.pop(steps[-1], None)
    else:
        at[steps[-1]] = value
