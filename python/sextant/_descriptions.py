"""The program's description of its commands, and what of it becomes Python."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

# What the functions themselves decide; where a report is asked for as JSON, also in which form and where to.
OF_THE_PROGRAM = {"--help", "--progress", "--write-config"}
OF_A_REPORT = {"--format": {"--format", "--output"}, "--report": {"--report"}}
OF_SHELLS = {"completion", "man"}
OF_FILES = {"merge"}  # its --format is that of a file it writes


def form_option_of(description: dict[str, Any], inherited: str) -> str:
    """The option that makes a command's report JSON, or none."""
    if description["command"] in OF_FILES:
        return ""
    forms = {name: "json" in option["text"] for option in description["options"] for name in option["names"] if name in OF_A_REPORT}
    return next((name for name in ("--report", "--format") if forms.get(name)), "" if forms else inherited)


def form_option_at(descriptions: list[dict[str, Any]], arguments: Sequence[str]) -> str:
    """The option that makes the report of a command line JSON, or none."""
    form_option = ""
    for word in arguments:
        command = next((each for each in descriptions if each["command"].rsplit(" ", 1)[-1] == word), None)
        if command is None:
            break
        form_option, descriptions = form_option_of(command, form_option), command["subcommands"]
    return form_option


def python_name(name: str) -> str:
    plain = name.lstrip("-").replace("-", "_")
    return plain + "_" if plain in ("from", "import", "lambda") else plain


def reads_file(option: dict[str, Any]) -> bool:
    return option["kind"] == "file" or ".json" in option["value"] or not option["names"] or ", or a file" in option["text"]


def reads_rows(option: dict[str, Any]) -> bool:
    return ".json" not in option["value"]


def reads_toml(option: dict[str, Any]) -> bool:
    return ".toml" in option["value"] or "TOML" in option["text"]


def keyword_of(option: dict[str, Any]) -> str:
    positive = [name for name in option["names"] if not name.startswith("--no-")]
    return python_name(positive[-1] if positive else option["names"][-1])


def documentation(description: dict[str, Any], options: dict[str, Any]) -> str:
    lines = [description["summary"][:1].upper() + description["summary"][1:] + ".", ""]
    group = ""
    for keyword, option in options.items():
        if option["group"] != group:
            group = option["group"]
            lines += [f"{group}:", ""]
        lines.append(f"    {keyword}: {option['text']}")
    if description["remarks"]:
        lines += ["", description["remarks"]]
    if description["examples"]:
        lines += ["", "On the command line:", "", *("    " + example for example in description["examples"])]
    return "\n".join(lines)
