"""Plans large-model training and serving: how to split it, how long it takes, what it costs, and why.

Every command of the program is a function here, its options are keywords, and the report comes back as a read-only object:

>>> import sextant
>>> step = sextant.estimate(model="llama-3.1-8b", cluster="h100-sxm", gpus=64, tp=2, zero=1)
>>> step.fits, step.mfu > 0.4, step.plan.dp
(True, True, 32)

The questions are answered by the program, which the package brings: both always say the same. ``help(sextant.plan)`` lists the options
of a command; units are written as there (``max_memory="90%"``, ``step_time="5 s"``).
"""

from . import reports
from ._commands import Command, ask, commands as _commands
from ._errors import AnswerIsNo, Error, InputError, InternalError, Notice, UnavailableError
from ._program import version as __version__
from ._report import Report, Rows

globals().update(_commands())

__all__ = [*_commands(), "AnswerIsNo", "Command", "Error", "InputError", "InternalError", "Notice", "Report", "Rows", "UnavailableError", "ask",
           "reports", "__version__"]
