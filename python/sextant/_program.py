"""The program, at work in a process of its own for each question."""

from __future__ import annotations

import re
import signal
import subprocess
import threading
from importlib.metadata import version as _version
from pathlib import Path
from typing import IO, Any, Callable

PROGRAM = str(Path(__file__).with_name("sextant"))
LOOK_AROUND_S = 0.05  # how often progress is told
LAST_WORDS_S = 0.6  # what a command gets to end with what it has
INTERRUPTED = 130
ERROR = re.compile(r"(?:^|[\r\n])sextant: (?:internal )?error: (.*)", re.DOTALL)

Progress = Callable[[str], Any]
version = _version("sextant")


def ask(arguments: list[str], progress: Progress | None = None) -> tuple[int, str, str, str, BaseException | None]:
    """(exit code, report, notes, error, exception): the last one is what was raised meanwhile, and stopped the command."""
    held = Held()
    # A session of its own: Ctrl-C of a terminal is for Python, which passes it on.
    with subprocess.Popen([PROGRAM, *arguments], stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                          start_new_session=True) as process:
        raised: BaseException | None = None
        try:
            out, err = Listener(process.stdout), Listener(process.stderr)
            held.release()
            _watch(process, err, progress)
        except BaseException as stopped:  # KeyboardInterrupt, or what `progress` raised
            raised = stopped
            _stop(process)
        report, errors = out.text(), err.text()
    found = ERROR.search(errors)
    notes = "" if progress else errors[: found.start()] if found else errors
    return _exit_code(process.returncode), report, notes, found.group(1).rstrip("\n") if found else "", raised


def _watch(process: subprocess.Popen[bytes], err: Listener, progress: Progress | None) -> None:
    told = 0
    while True:
        try:
            process.wait(LOOK_AROUND_S if progress else None)
            return
        except subprocess.TimeoutExpired:
            heard = err.heard()
            if progress and len(heard) > told:
                told = len(heard)
                progress(heard[-1])


def _stop(process: subprocess.Popen[bytes]) -> None:
    process.send_signal(signal.SIGINT)
    try:
        process.wait(LAST_WORDS_S)
    except subprocess.TimeoutExpired:
        process.kill()
        process.wait()


def _exit_code(code: int) -> int:
    return INTERRUPTED if code in (-signal.SIGINT, -signal.SIGKILL, -signal.SIGTERM) else code


class Held:
    """Ctrl-C waits until `release`: a process that is started but not yet watched would be left alone by it."""

    def __init__(self) -> None:
        self._before: Any = None
        self._heard: tuple[Any, ...] = ()
        if threading.current_thread() is threading.main_thread():
            before = signal.getsignal(signal.SIGINT)
            if callable(before):
                self._before = before
                signal.signal(signal.SIGINT, self._hear)

    def _hear(self, *what: Any) -> None:
        self._heard = what

    def release(self) -> None:
        before, self._before = self._before, None
        if before is not None:
            signal.signal(signal.SIGINT, before)
            if self._heard:
                before(*self._heard)


class Listener(threading.Thread):
    """Takes what a process writes, as it comes."""

    def __init__(self, stream: IO[bytes] | None) -> None:
        super().__init__(daemon=True)
        assert stream is not None
        self._stream: Any = stream
        self._pieces: list[bytes] = []
        self.start()

    def run(self) -> None:
        while piece := self._stream.read1(1 << 16):
            self._pieces.append(piece)

    def heard(self) -> list[str]:
        """Texts that are whole: each begins a line anew."""
        texts = re.split(r"[\r\n]", b"".join(self._pieces).decode("utf-8", "replace"))
        return [text.strip() for text in texts[:-1] if text.strip()]

    def text(self) -> str:
        """All of it, when the process has ended."""
        self.join()
        return b"".join(self._pieces).decode("utf-8", "replace")
