"""Names of the reports' types, for annotations (reports.pyi has their fields). At run time each is `Report`."""

from ._report import Report


def __getattr__(name: str) -> type:
    if name[:1].isupper():
        return Report
    raise AttributeError(f"module 'sextant.reports' has no '{name}'")
