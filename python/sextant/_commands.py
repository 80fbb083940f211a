"""The program's commands as functions, made from its own description of them."""

from __future__ import annotations

import difflib
import functools
import inspect
import json
import os
import tempfile
import warnings
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Callable

from . import _program
from ._arguments import Files, axis_text, has_file, is_file, value_text
from ._descriptions import OF_A_REPORT, OF_SHELLS, OF_THE_PROGRAM, documentation, form_option_at, form_option_of, keyword_of, python_name
from ._descriptions import reads_file, reads_rows, reads_toml
from ._errors import AnswerIsNo, InputError, InternalError, Notice, UnavailableError
from ._report import Report, report_of

Progress = Callable[[str], Any]

DONE, ANSWER_IS_NO, BAD_INPUT, UNAVAILABLE, INTERRUPTED = 0, 1, 2, 3, 130
ASKED = 'sextant.ask("estimate", "--dp", "8")'
FORM_OF_ENDING = {".html": "html", ".json": "json", ".csv": "csv", ".md": "markdown"}


def ask(*arguments: str, progress: Progress | None = None) -> Any:
    """The report of a command line; or what it prints, where that is no report or `arguments` say its form or its file.

    >>> import sextant
    >>> sextant.ask("models", "show", "gpt2").parameters_total
    124439808
    >>> print(sextant.ask("models", "show", "gpt2", "--format", "csv").splitlines()[0])
    part,copies,weight,shape,parameters,split_over
    """
    for argument in arguments:
        if not isinstance(argument, str):
            raise TypeError(f"ask: {argument!r} is no word of a command line (words are strings, given one by one: {ASKED})")
    option = form_option_at(descriptions(), arguments)
    decided = OF_THE_PROGRAM | OF_A_REPORT.get(option, set())
    free = bool(option) and not decided & {argument.split("=", 1)[0] for argument in arguments}
    chosen = f"{option}=json" in arguments or (option, "json") in zip(arguments, arguments[1:])
    end = [f"{option}=json"] if free else []
    return _answer([*arguments, *end], "json" if free or chosen else "text", progress, None, stacklevel=3)


def _answer(arguments: list[str], form: str, progress: Progress | None, folder: str | None, stacklevel: int = 4) -> Any:
    """Asks the program and makes of its exit code what Python has for it. `stacklevel`: whose question it is, as `warnings.warn` counts."""

    def clean(text: str) -> str:  # where a file of ours lay for a moment is nobody's concern
        return text.replace(folder + os.sep, "") if folder else text

    code, report, notes, error, raised = _program.ask(arguments, progress)
    report, notes = clean(report), clean(notes).strip()
    is_object = form == "json" and report.lstrip().startswith("{")
    if raised is not None:
        raised.report = report_of(json.loads(report), ok=False) if is_object else report or None  # type: ignore[attr-defined]
        raise raised
    if error:
        kinds = {BAD_INPUT: InputError, UNAVAILABLE: UnavailableError}
        raise kinds.get(code, InternalError)(clean(error))
    if code not in (DONE, ANSWER_IS_NO, INTERRUPTED):
        raise (UnavailableError if code == UNAVAILABLE else InternalError)(notes or f"ended with code {code}")
    if code == ANSWER_IS_NO and form != "file" and not (is_object if form == "json" else report):
        raise AnswerIsNo(notes or report.strip() or "the answer is no")
    if notes and (code == DONE or form == "file"):
        warnings.warn(notes, Notice, stacklevel)
    if form == "file":
        return code == DONE
    return report_of(json.loads(report), ok=code == DONE, messages=notes) if is_object else report


class Command:
    """A command of the program: call it with its options as keywords. Its subcommands are attributes."""

    def __init__(self, description: dict[str, Any], form_option: str = "") -> None:
        self._description = description
        self.__name__ = self.__qualname__ = python_name(description["command"].rsplit(" ", 1)[-1])
        self._form_option = form_option_of(description, form_option)
        decided = OF_THE_PROGRAM | OF_A_REPORT.get(self._form_option, set())
        self._options = {keyword_of(o): o for o in description["options"] if o["names"] and not decided & set(o["names"])}
        self._flags = {python_name(name): name for o in self._options.values() if not o["value"] for name in o["names"] if name.startswith("--")}
        self._places = [o for o in description["options"] if not o["names"]]
        self._subcommands: dict[str, Command] = {}
        for subcommand in description["subcommands"]:
            command = Command(subcommand, self._form_option)
            self._subcommands[command.__name__] = command
            setattr(self, command.__name__, command)

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
        return inspect.Signature([*places, *options], return_annotation=Report if self._form_option else str)

    @functools.cached_property
    def __doc__(self) -> str:  # type: ignore[override]
        return documentation(self._description, self._options)

    def __call__(self, *values: Any, progress: Progress | None = None, **options: Any) -> Any:
        """The report, or what is printed by a command whose results are files."""
        if not self._form_option and self._subcommands:
            raise TypeError(f"{self._path()} has subcommands: {', '.join(self._subcommands)}")
        return self._ask("json" if self._form_option else "text", values, progress, options)

    def text(self, *values: Any, progress: Progress | None = None, **options: Any) -> str:
        """The report as the program prints it for people."""
        answer: str = self._ask("text", values, progress, options)
        return answer

    def write(self, file: str | os.PathLike[str], *values: Any, progress: Progress | None = None, **options: Any) -> bool:
        """Writes the report into a file, in the form that its ending says: .html, .json, .csv, .md, else text. Returns whether the
        answer is yes."""
        if self._form_option != "--format":
            raise TypeError(f"{self._path()}.write(): it has no report that goes into a file")
        return bool(self._ask("file", values, progress, options, self._file_options(Path(file))))

    def _file_options(self, file: Path) -> list[str]:
        return [f"--format={FORM_OF_ENDING.get(file.suffix, 'text')}", f"--output={file}"]

    def __repr__(self) -> str:
        return f"<sextant.{self._path()}: {self._description['summary']}>"

    def _path(self) -> str:
        return ".".join(python_name(part) for part in self._description["command"].split(" "))

    def _ask(self, form: str, values: tuple[Any, ...], progress: Progress | None, options: dict[str, Any], end: list[str] | None = None) -> Any:
        if end is None:
            end = [f"{self._form_option}={form}"] if self._form_option else []
        if not any(has_file(value) for value in [*values, *options.values()]):
            return _answer([*self._arguments(values, options, None), *end], form, progress, None)
        with tempfile.TemporaryDirectory(prefix="sextant-") as folder:
            files = Files(Path(folder))
            return _answer([*self._arguments(values, options, files), *end], form, progress, folder)

    def _arguments(self, values: tuple[Any, ...], options: dict[str, Any], files: Files | None) -> list[str]:
        # Names of files before the options: one that may be given several times takes what stands behind it.
        arguments: list[str] = [*self._description["command"].split(" "), *self._placed(values, files)]
        for keyword, value in options.items():
            if value is not None:
                arguments += self._option(keyword, value, files)
        return arguments

    def _placed(self, values: tuple[Any, ...], files: Files | None) -> list[str]:
        texts: list[str] = []
        rest = list(values)
        for place in self._places:
            taken, rest = (rest, []) if place["repeated"] else (rest[:1], rest[1:])
            for value in taken:
                several = self._are_several(value, place)
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
            raise self._unknown(keyword, [])
        option = self._options[keyword]
        if isinstance(value, bool):
            if not value and f"no_{keyword}" in self._flags:
                return [self._flags[f"no_{keyword}"]]
            raise TypeError(f"{keyword}: {value} (it takes a value: {option['text']})")
        name = option["names"][-1]
        several = self._are_several(value, option)
        return [f"{name}={self._value(each, option, keyword, files)}" for each in (value if several else [value])]

    def _unknown(self, keyword: str, others: list[str]) -> TypeError:
        near = difflib.get_close_matches(keyword, [*self._options, *self._flags, "progress", *others], 1)
        return TypeError(f"{self._path()}() has no option '{keyword}'" + (f" (nearest: {near[0]})" if near else ""))

    def _flag(self, keyword: str, value: Any) -> list[str]:
        if not isinstance(value, bool):
            raise TypeError(f"{keyword}: {value!r} (it is True or False)")
        if value:
            return [self._flags[keyword]]
        opposite = self._flags.get(keyword[3:] if keyword.startswith("no_") else "no_" + keyword)
        return [opposite] if opposite else []

    @staticmethod
    def _are_several(value: Any, option: dict[str, Any]) -> bool:
        """Whether a list is a value for each time that the option is given, and not the rows of one table."""
        return option["repeated"] and isinstance(value, (list, tuple)) and not (is_file(value) and reads_rows(option))

    def _value(self, value: Any, option: dict[str, Any], keyword: str, files: Files | None) -> str:
        if not is_file(value):
            text = value_text(value, keyword)
            if not text:
                raise InputError(f"{keyword}: {value!r} is no value (None leaves it out)")
            return text
        if files is None or not reads_file(option):
            raise TypeError(f"{keyword}: a {type(value).__name__} is no value of an option that reads no file")
        return files.write(value, keyword, "toml" if reads_toml(option) else "json")


class Sweep(Command):
    swept: Callable[[], dict[str, Command]]

    @functools.cached_property
    def __doc__(self) -> str:  # type: ignore[override]
        return f"{super().__doc__}\n\nThe first argument is the command that is swept; its options are given with those of the sweep."

    @functools.cached_property
    def __signature__(self) -> inspect.Signature:
        P = inspect.Parameter
        own = super().__signature__
        return own.replace(parameters=[P("command", P.VAR_POSITIONAL), *own.parameters.values(), P("options", P.VAR_KEYWORD)])

    def _arguments(self, values: tuple[Any, ...], options: dict[str, Any], files: Files | None) -> list[str]:
        """Those of the sweep, then of the command that it asks.

        >>> import sextant
        >>> sextant.sweep("estimate", axis={"dp": [8, 16]}, model="gpt2", cluster="h100-sxm").frame()["dp"].tolist()
        [8, 16]
        """
        words = [word for value in values for word in str(value).replace(".", " ").split()]
        if not words:
            raise TypeError("sweep() needs the command that is swept")
        command: Any = self.swept().get(python_name(words[0]))
        for word in words[1:]:
            command = command and command._subcommands.get(python_name(word))
        if command is None:
            raise InputError(f"sweep: no command '{' '.join(words)}'")
        arguments = ["sweep", *command._description["command"].split(" ")]
        for keyword, value in options.items():
            if keyword == "axis" and isinstance(value, Mapping):
                value = [f"{name}={axis_text(each, name)}" for name, each in value.items()]
            if value is None:
                continue
            owner = next((each for each in (self, command) if keyword in each._options or keyword in each._flags), None)
            if owner is None:
                raise command._unknown(keyword, [*self._options, *self._flags])
            arguments += owner._option(keyword, value, files)
        return arguments

    def _file_options(self, file: Path) -> list[str]:
        return [f"--output={file}"]  # it knows endings of its own


@functools.lru_cache(maxsize=1)
def descriptions() -> list[dict[str, Any]]:
    """What the program says of its commands."""
    code, report, _, error, _ = _program.ask(["man", "--format=json"], None)
    if code != DONE:
        raise ImportError(f"the commands of sextant cannot be listed: {error}")
    described: list[dict[str, Any]] = json.loads(report)["commands"]
    return described


@functools.lru_cache(maxsize=1)
def commands() -> dict[str, Command]:
    """Every command but those that are for shells."""
    made = [(Sweep if each["command"] == "sweep" else Command)(each) for each in descriptions() if each["command"] not in OF_SHELLS]
    all_commands = {command.__name__: command for command in made}
    Sweep.swept = staticmethod(lambda: all_commands)
    return all_commands
