"""JSON in the one form that digests are taken of (RFC 8785)."""

from __future__ import annotations

import hashlib
import json
import math
from typing import Any


def _number(value: float) -> str:
    """As ECMAScript writes it: the shortest digits that read back, with an exponent only where it is far from 1."""
    if not math.isfinite(value):
        raise ValueError(f"{value} has no place in JSON")
    if value == 0:
        return "0"
    mantissa, _, exponent = repr(abs(value)).partition("e")
    whole, _, fraction = mantissa.partition(".")
    digits = (whole + fraction).lstrip("0")
    # The number is 0.DIGITS times ten to `point`.
    point = len(whole) + int(exponent or 0) - (len(whole + fraction) - len((whole + fraction).lstrip("0")))
    digits = digits.rstrip("0")
    if 0 < point <= 21:
        text = digits.ljust(point, "0") if len(digits) <= point else f"{digits[:point]}.{digits[point:]}"
    elif -6 < point <= 0:
        text = "0." + "0" * -point + digits
    else:
        text = (digits if len(digits) == 1 else f"{digits[0]}.{digits[1:]}") + f"e{point - 1:+d}"
    return ("-" if value < 0 else "") + text


def canonical(value: Any) -> str:
    """The text of a JSON value. ValueError for numbers that JSON lacks."""
    if isinstance(value, dict):
        keys = sorted(value, key=lambda key: key.encode("utf-16-be"))
        return "{" + ",".join(f"{json.dumps(key, ensure_ascii=False)}:{canonical(value[key])}" for key in keys) + "}"
    if isinstance(value, (list, tuple)):
        return "[" + ",".join(canonical(one) for one in value) + "]"
    if isinstance(value, float):
        return _number(value)
    return json.dumps(value, ensure_ascii=False)


def digest(value: Any) -> str:
    return hashlib.sha256(canonical(value).encode()).hexdigest()
