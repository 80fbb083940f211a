"""Reports: what a command found, as read-only objects."""

from __future__ import annotations

import difflib
import json
from collections.abc import Mapping
from typing import Any, Iterator, Tuple, TypeVar

Each = TypeVar("Each", covariant=True)

# What a report calls the list that it is about, which is its table also where nothing is in it.
MAIN_LISTS = ("rows", "candidates")


def view(value: Any) -> Any:
    """JSON as reports show it: objects as `Report`, lists as `Rows`."""
    if isinstance(value, dict):
        return Report(value)
    if isinstance(value, list):
        return Rows(view(each) for each in value)
    return value


def plain(value: Any) -> Any:
    """A fresh copy in dicts and lists."""
    if isinstance(value, Report):
        return plain(value._data)
    if isinstance(value, dict):
        return {key: plain(each) for key, each in value.items()}
    if isinstance(value, (list, tuple)):
        return [plain(each) for each in value]
    return value


def cells(value: Any, path: str, into: dict[str, Any]) -> None:
    """One row: the values of an object by their dotted path, as `sextant sweep --columns` names them."""
    if isinstance(value, Report):
        value = value._data
    if isinstance(value, dict):
        for key, each in value.items():
            cells(each, f"{path}.{key}" if path else key, into)
    else:
        into[path or "value"] = plain(value) if isinstance(value, (list, tuple)) else value


def data_frame(rows: list[dict[str, Any]]) -> Any:
    try:
        import pandas
    except ImportError as missing:
        raise ImportError("tables need pandas: pip install 'sextant[pandas]'") from missing
    return pandas.DataFrame(rows)


class Rows(Tuple[Each, ...]):
    """A list in a report.

    >>> import sextant
    >>> [candidate.report.gpus for candidate in sextant.plan(model="gpt2", cluster="h100-sxm", gpus=8, top=2).candidates]
    [8, 8]
    """

    __slots__ = ()

    def frame(self) -> Any:
        """A pandas table with a row for each, and the dotted paths of its values as columns."""
        rows: list[dict[str, Any]] = []
        for each in self:
            row: dict[str, Any] = {}
            cells(each, "", row)
            rows.append(row)
        return data_frame(rows)

    to_pandas = frame


class Report(Mapping[str, Any]):
    """An object in a report: its values are attributes and items, and cannot be changed.

    >>> import sextant
    >>> step = sextant.estimate(model="gpt2", cluster="h100-sxm", dp=8)
    >>> step.memory.peak_bytes == step["memory"]["peak_bytes"] == step.at("memory.peak_bytes")
    True
    >>> step.ok                                        # does it fit?
    True
    """

    __slots__ = ("_data", "_ok", "_messages")
    _data: dict[str, Any]
    _ok: bool
    _messages: str

    def __init__(self, data: Mapping[str, Any], ok: bool = True, messages: str = "") -> None:
        object.__setattr__(self, "_data", plain(data) if isinstance(data, Report) else data)
        object.__setattr__(self, "_ok", ok)
        object.__setattr__(self, "_messages", messages)

    @property
    def ok(self) -> bool:
        """False where the program ends with exit code 1: the answer is no (nothing fits, the validation failed)."""
        return self._ok

    @property
    def messages(self) -> str:
        """What the program said beside the report."""
        return self._messages

    def __getitem__(self, key: str) -> Any:
        return view(self._data[key])

    def __getattr__(self, name: str) -> Any:
        if not name.startswith("_") and name in self._data:
            return view(self._data[name])
        near = [] if name.startswith("_") else difflib.get_close_matches(name, [key for key in self._data if isinstance(key, str)], 1)
        raise AttributeError(f"the report has no '{name}'" + (f" (nearest: {near[0]})" if near else ""))

    def __setattr__(self, name: str, value: Any) -> None:
        raise AttributeError("reports are read-only (to_dict() gives a copy to change)")

    def __delattr__(self, name: str) -> None:
        raise AttributeError("reports are read-only (to_dict() gives a copy to change)")

    def __iter__(self) -> Iterator[str]:
        return iter(self._data)

    def __len__(self) -> int:
        return len(self._data)

    def __dir__(self) -> list[str]:
        return [*super().__dir__(), *(key for key in self._data if key.isidentifier())]

    def __eq__(self, other: Any) -> bool:
        if isinstance(other, Mapping):
            return bool(plain(self) == plain(other if isinstance(other, Report) else dict(other)))
        return NotImplemented

    def __hash__(self) -> int:
        return hash(json.dumps(self._data, sort_keys=True))

    def __reduce__(self) -> Any:
        return (type(self), (self._data, self._ok, self._messages))

    def __repr__(self) -> str:
        shown = [f"{key}={value!r}" for key, value in self._data.items() if not isinstance(value, (dict, list))][:6]
        return f"Report({', '.join(shown)}{', ...' if len(self._data) > len(shown) else ''})"

    def at(self, path: str) -> Any:
        """The value at a dotted path: ``candidates.0.report.memory.peak_bytes``."""
        value: Any = self
        for part in path.split("."):
            value = value[int(part)] if isinstance(value, tuple) else value[part]
        return value

    def to_dict(self) -> dict[str, Any]:
        """A copy in dicts and lists."""
        copy: dict[str, Any] = plain(self._data)
        return copy

    def to_json(self, **options: Any) -> str:
        """As the program prints it; options are those of `json.dumps`."""
        return json.dumps(self._data, **{"indent": 2, "ensure_ascii": False, **options})

    def frame(self, path: str = "") -> Any:
        """A pandas table: of the list or object at `path`; without one, of the report's `rows` or `candidates`, which may be none, or
        else of its first list of objects, or of the report as one row."""
        if path:
            value = self.at(path)
            return value.frame() if isinstance(value, Rows) else Rows([value]).frame()
        main = [self._data[name] for name in MAIN_LISTS if isinstance(self._data.get(name), list)]
        for value in [*main, *self._data.values()]:
            if isinstance(value, list) and (isinstance(value[0], dict) if value else value in main):
                return Rows(view(each) for each in value).frame()
        return Rows([self]).frame()

    def to_pandas(self, path: str = "") -> Any:
        """As `frame`."""
        return self.frame(path)


class SweepReport(Report):
    """Of a sweep: a row of its table is a point, with the axes and the columns that were asked for."""

    __slots__ = ()

    def frame(self, path: str = "") -> Any:
        if path:
            return super().frame(path)
        return data_frame([{**row["settings"], **row["values"], "status": row["status"], "reason": row["reason"]} for row in self._data["rows"]])


def report_of(data: Mapping[str, Any], ok: bool = True, messages: str = "") -> Report:
    return (SweepReport if data.get("format") == "sweep" and "rows" in data else Report)(data, ok, messages)
