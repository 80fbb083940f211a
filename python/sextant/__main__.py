"""The program itself: python -m sextant plan --model llama-3.1-8b --cluster h100-sxm --gpus 64"""

import os
import sys

from . import _program


def main() -> None:
    os.execv(_program.PROGRAM, ["sextant", *sys.argv[1:]])


if __name__ == "__main__":
    main()
