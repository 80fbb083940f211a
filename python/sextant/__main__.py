"""The program itself: python -m sextant plan --model llama-3.1-8b --cluster h100-sxm --gpus 64"""

import signal
import sys

from . import _program


def main() -> None:
    for number in (signal.SIGINT, signal.SIGPIPE, signal.SIGXFSZ):  # the program has its own way with these
        signal.signal(number, signal.SIG_DFL)
    sys.exit(_program.program(sys.argv[1:]))


if __name__ == "__main__":
    main()
