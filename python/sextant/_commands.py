"""The program's commands as functions, made from its own description of them."""

from __future__ import annotations

import difflib
import functools
import inspect
import json
import os
import tempfile
import warnings
from pathlib import Path
from typing import Any, Callable

from . import _program
from ._arguments import Files, is_file, value_text
from ._errors import AnswerIsNo, InputError, InternalError, Notice, UnavailableError
from ._program import INTERRUPTED, Progress
from ._report import Report, report_of

DONE, ANSWER_IS_NO, BAD_INPUT, UNAVAILABLE = 0, 1, 2, 3
# What the functions themselves decide.
OF_THE_PROGRAM = {"--format", "--help", "--output", "--progress", "--write-config"}


def ask(*arguments: str, progress: Progress | None = None) -> Report:
    """The report of a command line.

    >>> import sextant
    >>> sextant.ask("models", "show", "gpt2").parameters_total
    124439808
    """
    answer: Report = _answer([*arguments, "--format=json"], progress, None)
    return answer


def _answer(arguments: list[str], progress: Progress | None, folder: str | None) -> Any:
    """Asks the program and makes of its exit code what Python has for it."""

    def clean(text: str) -> str:  # where a file of ours lay for a moment is nobody's concern
        return text.replace(folder + os.sep, "") if folder else text

    code, report, notes, error, raised = _program.ask(arguments, progress)
    notes = clean(notes).strip()
    if raised is not None:
        raised.report = report_of(json.loads(clean(report))) if report.lstrip().startswith("{") else None  # type: ignore[attr-defined]
        raise raised
    if error:
        kinds = {BAD_INPUT: InputError, UNAVAILABLE: UnavailableError}
        raise kinds.get(code, InternalError)(clean(error))
    if code not in (DONE, ANSWER_IS_NO, INTERRUPTED):
        raise (UnavailableError if code == UNAVAILABLE else InternalError)(notes or f"ended with code {code}")
    report = clean(report)
    if "--format=json" not in arguments:
        if code == ANSWER_IS_NO and not report:
            raise AnswerIsNo(notes)
        return report
    if not report.lstrip().startswith("{"):
        raise AnswerIsNo(notes or report.strip())
    if notes and code == DONE:
        warnings.warn(notes, Notice, stacklevel=4)
    return report_of(json.loads(report), ok=code == DONE, messages=notes)


class Command:
    """A command of the program: call it with its options as keywords. Its subcommands are attributes."""

    def __init__(self, description: dict[str, Any], writes_json: bool) -> None:
        self._description = description
        self.__name__ = self.__qualname__ = python_name(description["command"].rsplit(" ", 1)[-1])
        own = [o for o in description["options"] if "--format" in o["names"]]
        self._writes_json = any("json" in o["text"] for o in own) if own else writes_json
        self._options = {keyword_of(o): o for o in description["options"] if o["names"] and not OF_THE_PROGRAM & set(o["names"])}
        self._flags = {python_name(name): name for o in self._options.values() if not o["value"] for name in o["names"] if name.startswith("--")}
        self._places = [o for o in description["options"] if not o["names"]]
        self._subcommands: dict[str, Command] = {}
        for subcommand in description["subcommands"]:
            command = Command(subcommand, self._writes_json)
            if command.is_question or command._subcommands:
                self._subcommands[command.__name__] = command
                setattr(self, command.__name__, command)

    @property
    def is_question(self) -> bool:
        """Whether it writes a report; the others are only there for their subcommands."""
        return self._writes_json

    @functools.cached_property
    def __signature__(self) -> inspect.Signature:
        P = inspect.Parameter
        places = []
        for place in self._places:
            if place["repeated"]:
                places.append(P(python_name(place["argument"]), P.VAR_POSITIONAL))
            else:
                places.append(P(python_name(place["argument"]), P.POSITIONAL_ONLY, default=P.empty if place["required"] else None))
        options = [P(keyword, P.KEYWORD_ONLY, default=None) for keyword in [*self._options, "progress"]]
        return inspect.Signature([*places, *options], return_annotation=Report)

    @functools.cached_property
    def __doc__(self) -> str:  # type: ignore[override]
        return documentation(self._description, self._options)

    def __call__(self, *values: Any, progress: Progress | None = None, **options: Any) -> Report:
        if not self._writes_json:
            raise TypeError(f"{self._path()} has subcommands: {', '.join(self._subcommands)}")
        answer: Report = self._ask("json", values, progress, options)
        return answer

    def text(self, *values: Any, progress: Progress | None = None, **options: Any) -> str:
        """The report as the program prints it for people."""
        answer: str = self._ask("text", values, progress, options)
        return answer

    def __repr__(self) -> str:
        return f"<sextant.{self._path()}: {self._description['summary']}>"

    def _path(self) -> str:
        return ".".join(python_name(part) for part in self._description["command"].split(" "))

    def _ask(self, form: str, values: tuple[Any, ...], progress: Progress | None, options: dict[str, Any]) -> Any:
        end = [f"--format={form}"]
        if progress and any("--progress" in option["names"] for option in self._description["options"]):
            end.append("--progress")
        if not any(is_file(value) for value in [*values, *options.values()]):
            return _answer([*self._arguments(values, options, None), *end], progress, None)
        with tempfile.TemporaryDirectory(prefix="sextant-") as folder:
            files = Files(Path(folder))
            return _answer([*self._arguments(values, options, files), *end], progress, folder)

    def _arguments(self, values: tuple[Any, ...], options: dict[str, Any], files: Files | None) -> list[str]:
        arguments: list[str] = self._description["command"].split(" ")
        for keyword, value in options.items():
            if value is not None:
                arguments += self._option(keyword, value, files)
        return arguments + self._placed(values, files)

    def _placed(self, values: tuple[Any, ...], files: Files | None) -> list[str]:
        texts: list[str] = []
        rest = list(values)
        for place in self._places:
            taken, rest = (rest, []) if place["repeated"] else (rest[:1], rest[1:])
            for value in taken:
                several = place["repeated"] and isinstance(value, (list, tuple)) and not is_file(value)
                texts += [self._value(each, place, python_name(place["argument"]), files) for each in (value if several else [value])]
        if rest:
            raise TypeError(f"{self._path()}() takes {len(self._places) or 'no'} arguments without a name, {len(values)} were given")
        for text in texts:
            if text.startswith("-"):
                raise InputError(f"{self._path()}: '{text}' begins with a dash (an option is a keyword here)")
        return texts

    def _option(self, keyword: str, value: Any, files: Files | None) -> list[str]:
        if keyword in self._flags:
            return self._flag(keyword, value)
        if keyword not in self._options:
            known = [*self._options, *self._flags, "progress"]
            near = difflib.get_close_matches(keyword, known, 1)
            raise TypeError(f"{self._path()}() has no option '{keyword}'" + (f" (nearest: {near[0]})" if near else ""))
        option = self._options[keyword]
        if isinstance(value, bool):
            raise TypeError(f"{keyword}: {value} (it takes a value: {option['text']})")
        name = option["names"][-1]
        several = option["repeated"] and isinstance(value, (list, tuple)) and not is_file(value)
        return [f"{name}={self._value(each, option, keyword, files)}" for each in (value if several else [value])]

    def _flag(self, keyword: str, value: Any) -> list[str]:
        if not isinstance(value, bool):
            raise TypeError(f"{keyword}: {value!r} (it is True or False)")
        if value:
            return [self._flags[keyword]]
        opposite = self._flags.get(keyword[3:] if keyword.startswith("no_") else "no_" + keyword)
        return [opposite] if opposite else []

    def _value(self, value: Any, option: dict[str, Any], keyword: str, files: Files | None) -> str:
        if not is_file(value):
            return value_text(value, keyword)
        if files is None or not reads_file(option):
            raise TypeError(f"{keyword}: a {type(value).__name__} is no value of an option that reads no file")
        return files.write(value, keyword)


class Sweep(Command):
    """A command over axes: the first argument is its name, the options are those of the sweep and its own.

    >>> import sextant
    >>> sextant.sweep("estimate", axis={"dp": [8, 16]}, model="gpt2", cluster="h100-sxm").frame()["dp"].tolist()
    [8, 16]
    """

    swept: Callable[[], dict[str, Command]]

    def _arguments(self, values: tuple[Any, ...], options: dict[str, Any], files: Files | None) -> list[str]:
        if not values:
            raise TypeError("sweep() needs the command that is swept")
        words = [word for value in values for word in str(value).replace(".", " ").split()]
        command: Any = self.swept().get(python_name(words[0]))
        for word in words[1:]:
            command = command and command._subcommands.get(python_name(word))
        if command is None:
            raise InputError(f"sweep: no command '{' '.join(words)}'")
        arguments = ["sweep", *command._description["command"].split(" ")]
        for keyword, value in options.items():
            if keyword == "axis" and isinstance(value, dict):
                value = [f"{name}={_axis_text(each)}" for name, each in value.items()]
            if value is not None:
                own = keyword in self._options or keyword in self._flags
                arguments += (self if own else command)._option(keyword, value, files)
        return arguments


def _axis_text(values: Any) -> str:
    texts = [value_text(each, "axis") for each in values] if isinstance(values, (list, tuple, range)) else [str(values)]
    return (";" if any("," in text for text in texts) and len(texts) > 1 else ",").join(texts)


def python_name(name: str) -> str:
    plain = name.lstrip("-").replace("-", "_")
    return plain + "_" if plain in ("from", "import", "lambda") else plain


def reads_file(option: dict[str, Any]) -> bool:
    return option["kind"] == "file" or ".json" in option["value"] or not option["names"]


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


@functools.lru_cache(maxsize=1)
def commands() -> dict[str, Command]:
    """Every command that writes a report, or has subcommands that do."""
    code, report, _, error, _ = _program.ask(["man", "--format=json"], None)
    if code != DONE:
        raise ImportError(f"the commands of sextant cannot be listed: {error}")
    descriptions = json.loads(report)["commands"]
    made = [(Sweep if each["command"] == "sweep" else Command)(each, False) for each in descriptions]
    all_commands = {command.__name__: command for command in made if command.is_question or command._subcommands}
    Sweep.swept = staticmethod(lambda: all_commands)
    all_commands.pop("man", None)
    return all_commands
