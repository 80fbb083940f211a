"""TOML as the program reads it for ``config`` and ``from_torchtitan``; Python's library only reads it."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any


def toml_text(table: Mapping[str, Any], path: str = "") -> str:
    """A table of JSON's values with the tables in it; what is None is left out, since TOML has no null."""
    given = {key: value for key, value in table.items() if value is not None}
    lines = [f"{_quoted(key)} = {_value(value)}\n" for key, value in given.items() if not isinstance(value, dict)]
    for key, value in given.items():
        if isinstance(value, dict):
            inner = f"{path}.{_quoted(key)}" if path else _quoted(key)
            lines.append(f"[{inner}]\n{toml_text(value, inner)}")
    return "".join(lines)


def _value(value: Any) -> str:
    if isinstance(value, dict):
        return "{" + ", ".join(f"{_quoted(key)} = {_value(each)}" for key, each in value.items() if each is not None) + "}"
    if isinstance(value, list):
        return "[" + ", ".join(_value(each) for each in value if each is not None) + "]"
    return _quoted(value) if isinstance(value, str) else json.dumps(value)


def _quoted(text: str) -> str:
    """As in JSON, but with every letter as it is (TOML has no surrogates) and without the one character more that TOML forbids."""
    return json.dumps(text, ensure_ascii=False).replace("\x7f", "\\u007f")
