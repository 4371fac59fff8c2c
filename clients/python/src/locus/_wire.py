"""Between protobuf and plain Python: what a caller gives becomes a request, what a server says becomes dataclasses."""

from __future__ import annotations

import dataclasses
import functools
import json
import math
from datetime import timezone
from typing import Any, Mapping, NoReturn, TypeVar, get_args, get_type_hints

from google.protobuf.message import Message

from locus.errors import InvalidArgument

Record = TypeVar("Record")
Request = TypeVar("Request", bound=Message)


def refuse(message: str, field: str = "", reason: str = "INVALID_ARGUMENT") -> NoReturn:
    raise InvalidArgument(message, code="INVALID_ARGUMENT", reason=reason, field=field)


def plain(value: Any, field: str = "", reason: str = "INVALID_ARGUMENT") -> Any:
    """What JSON can say: numpy scalars and arrays, pandas series, tuples and ranges as numbers and lists.

    NaN and infinities become the strings that carry them in JSON. InvalidArgument for anything else.
    """
    if value is None or isinstance(value, (bool, int, str)) and not hasattr(value, "tolist"):
        return value
    if hasattr(value, "tolist"):  # arrays and scalars of numpy and of what follows its manners
        return plain(value.tolist(), field, reason)
    if isinstance(value, float):
        if math.isfinite(value):
            return value
        return "NaN" if math.isnan(value) else "Infinity" if value > 0 else "-Infinity"
    if isinstance(value, Mapping):
        return {str(key): plain(one, f"{field}.{key}" if field else str(key), reason) for key, one in value.items()}
    if isinstance(value, (list, tuple, range)):
        return [plain(one, f"{field}[{index}]", reason) for index, one in enumerate(value)]
    kind = type(value).__name__
    refuse(f"{field or 'the value'} is a {kind}; give a number, text, a list or a mapping", field, reason)


def texts(value: Any, field: str) -> list[str]:
    """A list of strings from one, or from several in any sequence."""
    many = plain(value, field)
    if many is None:
        return []
    if not isinstance(many, list):
        many = [many]
    return [one if isinstance(one, str) else json.dumps(one) for one in many]


def labels_json(labels: Mapping[str, Any] | str | None) -> str:
    """Labels as the server names them: canonical JSON; a string is taken for that."""
    if labels is None or isinstance(labels, str):
        return labels or ""
    if not isinstance(labels, Mapping):
        refuse(f"labels are a mapping such as {{'resolution': 42}}, not a {type(labels).__name__}", "labels")
    return json.dumps(plain(labels, "labels"), sort_keys=True, separators=(",", ":")) if labels else ""


def _repeated(field: Any) -> bool:
    """Newer versions of protobuf say it themselves, and warn of the older way."""
    said = getattr(field, "is_repeated", None)
    return bool(field.label == field.LABEL_REPEATED if said is None else said)


def request(kind: type[Request], /, **values: Any) -> Request:
    """A message of these fields. InvalidArgument names a field that cannot hold its value."""
    message = kind()
    for name, value in values.items():
        field = kind.DESCRIPTOR.fields_by_name[name]
        try:
            if _repeated(field):
                getattr(message, name).extend(texts(value, name))
            elif value is not None:
                setattr(message, name, plain(value, name))
        except (TypeError, ValueError) as error:
            raise InvalidArgument(
                f"{name} cannot be {value!r}: {error}", code="INVALID_ARGUMENT", reason="INVALID_ARGUMENT", field=name
            ) from None
    return message


@functools.lru_cache(maxsize=None)
def _hints(kind: Any) -> dict[str, Any]:
    return get_type_hints(kind)


def read(kind: type[Record], message: Message, **given: Any) -> Record:
    """The dataclass of a message: a field takes the message's field of its name, or parses that of its name and `_json`.

    `metadata={"json": True}` of a field wants the parsed one where there are both, `metadata={"from": name}` that of
    another name. An absent message or optional value is None; `metadata={"none": value}` says which number stands for
    None. `given` are fields that the caller computes.
    """
    shape: Any = kind
    hints = _hints(shape)
    wanted = [one for one in dataclasses.fields(shape) if one.name not in given]
    return kind(**{one.name: _value(one, hints[one.name], message) for one in wanted}, **given)


def source(field: dataclasses.Field[Any], descriptor: Any) -> str:
    """The message's field that a dataclass's field is read from."""
    name = str(field.metadata.get("from", field.name))
    return f"{name}_json" if "json" in field.metadata or name not in descriptor.fields_by_name else name


def _value(field: dataclasses.Field[Any], hint: Any, message: Message) -> Any:
    name = source(field, message.DESCRIPTOR)
    value = getattr(message, name)
    if name.endswith("_json"):
        return _parsed(value) if not isinstance(value, str) else json.loads(value) if value else {}
    descriptor = message.DESCRIPTOR.fields_by_name[name]
    inner = descriptor.message_type
    if inner is not None and inner.GetOptions().map_entry:
        return dict(value)
    if _repeated(descriptor):
        return list(value) if inner is None else [read(get_args(hint)[0], one) for one in value]
    if descriptor.has_presence and not message.HasField(name):
        return None
    if inner is None:
        return None if "none" in field.metadata and value == field.metadata["none"] else value
    if inner.full_name == "google.protobuf.Timestamp":
        return value.ToDatetime(tzinfo=timezone.utc)
    wanted = next(one for one in get_args(hint) or (hint,) if isinstance(one, type) and one is not type(None))
    return read(wanted, value)


def _parsed(documents: Any) -> list[Any]:
    return [json.loads(one) if one else None for one in documents]
