"""The examples of Python (`>>>`) on a page of the documentation, compared with what comes out.

They run with the sources of the package in python/sextant; in the place of what is compiled into it stands the program, so that no build of the
package is needed. `examples_of` starts this file with the interpreter of build/python (scripts/python-env), which has pandas:

  doc_python.py PROGRAM PAGE   writes what `examples_of` returns as JSON
"""

import doctest
import json
import os
import signal
import subprocess
import sys
import tempfile
import types
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
FLAGS = doctest.ELLIPSIS | doctest.NORMALIZE_WHITESPACE
ERROR = "sextant: error: "
LONGEST_S = 120


def interpreter():
    """The Python that has pandas, or this one."""
    made = ROOT / "build/python/bin/python"
    return str(made) if made.exists() else sys.executable


def examples_of(page, program):
    """(failures, number of examples); a failure is its text and what mends the page: (first line, last line, new lines), or None."""
    command = [interpreter(), "-B", __file__, program, str(ROOT / page)]
    try:
        done = subprocess.run(command, capture_output=True, text=True, timeout=LONGEST_S, stdin=subprocess.DEVNULL, check=True)
    except subprocess.TimeoutExpired:
        return [(f"{page}: its examples of Python had not ended after {LONGEST_S} s", None)], 0
    except subprocess.CalledProcessError as failed:
        return [(f"{page}: its examples of Python did not run:\n  " + "\n  ".join(failed.stderr.rstrip().split("\n")[-15:]), None)], 0
    return json.loads(done.stdout)


def program_module(program):
    """What stands in the place of the compiled module: a question is a run of the program."""
    module = types.ModuleType("sextant._program")
    module.version = subprocess.run([program, "--version"], stdout=subprocess.PIPE, text=True, check=True).stdout.split()[-1]

    def ask(arguments, progress=None):
        with tempfile.TemporaryFile("w+") as out:
            process = subprocess.Popen([program, *arguments, *(["--progress"] if progress else [])], stdout=out, stderr=subprocess.PIPE, text=True)
            notes, raised = (process.communicate()[1], None) if progress is None else listen(process, progress)
            code = process.wait()
            out.seek(0)
            report = out.read()
        error = notes.strip()[len(ERROR):] if notes.startswith(ERROR) else ""
        return code, report, "" if error else notes, error, raised

    module.ask = ask
    return module


def listen(process, progress):
    """Tells what the program shows while it runs; what that raises interrupts it. ("", what was raised)"""
    try:
        for line in process.stderr:  # text has "\r" for an end of a line, too
            if line.strip():
                progress(line.strip())
        return "", None
    except Exception as raised:
        process.send_signal(signal.SIGINT)
        process.stderr.read()
        return "", raised


class Runner(doctest.DocTestRunner):
    """Keeps what differs, and the lines to write instead."""

    def __init__(self, page):
        super().__init__(verbose=False, optionflags=FLAGS)
        self.page = page
        self.failed = []

    def report_failure(self, out, test, example, got):
        change = None
        if example.want and got.strip() and "..." not in example.want:
            first = example.lineno + example.source.count("\n")
            change = first, first + example.want.count("\n"), [" " * example.indent + (line or "<BLANKLINE>") for line in got.rstrip("\n").split("\n")]
        self.failed.append((f"{self.at(example)}\n  -{example.want.rstrip()}\n  +{got.rstrip()}", change))

    def report_unexpected_exception(self, out, test, example, exc_info):
        hint = " (scripts/python-env makes build/python, which has it)" if exc_info[0] is ImportError else ""
        self.failed.append((f"{self.at(example)}\n  {exc_info[0].__name__}: {exc_info[1]}{hint}", None))

    def at(self, example):
        return f"{self.page}:{example.lineno + 1}: {example.source.rstrip()}"


def main():
    program, page = sys.argv[1], Path(sys.argv[2]).resolve()
    signal.signal(signal.SIGINT, signal.default_int_handler)  # ignored where checks run in the background, and children inherit that
    sys.path.insert(0, str(ROOT / "python"))
    sys.modules["sextant._program"] = program_module(program)
    lines = ["" if line.strip().startswith("```") else line for line in page.read_text(encoding="utf-8").split("\n")]
    name = page.relative_to(ROOT).as_posix()
    test = doctest.DocTestParser().get_doctest("\n".join(lines), {}, name, name, 0)
    runner = Runner(name)
    with tempfile.TemporaryDirectory(prefix="doc-python-") as folder:
        os.chdir(folder)
        runner.run(test)
        os.chdir(ROOT)
    json.dump([runner.failed, len(test.examples)], sys.stdout)


if __name__ == "__main__":
    main()
