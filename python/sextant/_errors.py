"""What may go wrong, by whose fault it is; the texts are the program's."""


class Error(Exception):
    """What all errors of this package are."""


class InputError(Error, ValueError):
    """The question has a fault (exit code 2 of the program)."""


class UnavailableError(Error, RuntimeError):
    """This machine or build lacks something, such as SimGrid (exit code 3)."""


class InternalError(Error, RuntimeError):
    """A fault of Sextant itself (exit code 70)."""


class AnswerIsNo(Error):
    """The answer is no, and there is no report that says more (exit code 1). Where there is one, it is returned, and its ``ok`` is
    false: a plan that does not fit is an answer, not an error."""


class Notice(UserWarning):
    """What the program says beside a report, on standard error."""
