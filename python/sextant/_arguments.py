"""From Python's values to the program's arguments."""

from __future__ import annotations

import datetime
import json
import os
import re
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

from ._errors import InputError
from ._toml import toml_text


class Files:
    """Files for what the program reads from files and Python has in memory, in a folder that the caller removes."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder

    def write(self, value: Any, keyword: str, form: str = "json") -> str:
        if hasattr(value, "to_csv"):
            return self._save(keyword, ".csv", value.to_csv(index=False))
        if hasattr(value, "to_dict"):
            value = value.to_dict()
        if isinstance(value, Mapping):
            try:
                text = json.dumps(dict(value), default=_json_value, allow_nan=False)
            except ValueError as fault:
                raise InputError(f"{keyword}: {fault}") from None
            if form == "toml":
                return self._save(keyword, ".toml", toml_text(json.loads(text)))
            return self._save(str(value.get("_name_or_path") or value.get("name") or keyword), ".json", text)
        return self._save(keyword, ".csv", _csv(value))

    def _save(self, name: str, ending: str, text: str) -> str:
        stem = re.sub(r"[^A-Za-z0-9._+-]", "-", name.rstrip("/").rsplit("/", 1)[-1]).strip(".-") or "data"
        path, number = self.folder / (stem + ending), 1
        while path.exists():
            number += 1
            path = self.folder / f"{stem}-{number}{ending}"
        path.write_text(text, encoding="utf-8")
        return str(path)


def _json_value(value: Any) -> Any:
    if isinstance(value, datetime.timedelta):
        return value_text(value, "")
    for name in ("to_dict", "tolist"):  # configurations in configurations, numbers of numpy
        if hasattr(value, name):
            return getattr(value, name)()
    return str(value)  # torch.bfloat16


def _csv(rows: Iterable[Mapping[str, Any]]) -> str:
    rows = list(rows)
    names = list(dict.fromkeys(key for row in rows for key in row))
    quoted = [[_csv_cell(row.get(name)) for name in names] for row in rows]
    return "".join(",".join(line) + "\n" for line in [[_csv_cell(name) for name in names], *quoted])


def _csv_cell(value: Any) -> str:
    text = "" if _is_missing(value) else number_text(value) if isinstance(value, (int, float)) else str(value)
    return '"' + text.replace('"', '""') + '"' if re.search('[",\r\n]', text) else text


def _is_missing(value: Any) -> bool:
    """None, NaN, and pandas' NaT and NA, which is the only one that compares to itself as itself."""
    if value is None or hasattr(value, "__len__"):
        return value is None
    differs = value != value
    return differs is value or bool(differs)


def number_text(value: Any) -> str:
    """Shortest text that reads as the same number; whole ones without a point, since the program counts in integers."""
    if isinstance(value, bool):
        return "true" if value else "false"
    if hasattr(value, "item"):
        value = value.item()
    if isinstance(value, float) and value.is_integer() and abs(value) < 2**63:
        return str(int(value))
    return repr(value)


def is_file(value: Any) -> bool:
    """Whether a value stands for the content of a file."""
    if isinstance(value, (str, bytes, os.PathLike)):
        return False
    if isinstance(value, Mapping) or hasattr(value, "to_dict") or hasattr(value, "to_csv"):
        return True
    return isinstance(value, (list, tuple)) and bool(value) and all(isinstance(each, Mapping) for each in value)


def has_file(value: Any) -> bool:
    """Whether a value stands for the content of a file, or is a list with one that does."""
    return is_file(value) or (isinstance(value, (list, tuple)) and any(is_file(each) for each in value))


def of_python(value: Any) -> Any:
    """Numbers and arrays of numpy as Python has them, sets in order."""
    if hasattr(value, "tolist"):
        return value.tolist()
    return sorted(value) if isinstance(value, (set, frozenset)) else value


def value_text(value: Any, keyword: str) -> str:
    """One value as it is typed after an option."""
    value = of_python(value)
    if isinstance(value, str):
        return value
    if isinstance(value, os.PathLike):
        return str(os.fspath(value))
    if isinstance(value, datetime.timedelta):
        return f"{number_text(value.total_seconds())} s"
    if isinstance(value, (int, float)) or hasattr(value, "item"):
        return number_text(value)
    if isinstance(value, (list, tuple, range)):
        return ",".join(value_text(each, keyword) for each in value)
    raise TypeError(f"{keyword}: a {type(value).__name__} is no value of an option")


def axis_text(values: Any, name: str) -> str:
    """The values of a sweep's axis as they are typed: commas between them, or semicolons where a value has commas itself."""
    if isinstance(values, str):
        return values
    values = of_python(values)
    several = isinstance(values, Iterable) and not isinstance(values, (Mapping, os.PathLike))
    texts = [value_text(each, name) for each in (values if several else [values])]
    if any(";" in text for text in texts):
        raise InputError(f"axis {name}: '{'; '.join(texts)}' has a semicolon within a value (it stands between values)")
    listed = any("," in text for text in texts)
    if listed and len(texts) == 1:
        raise InputError(f"axis {name}: '{texts[0]}' is one value with commas, which would be several (give {name.replace('-', '_')}={texts[0]!r} as an option)")
    return (";" if listed else ",").join(texts)
