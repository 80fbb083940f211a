"""What the scripts of this folder share: lists on their command lines, and a CSV of rows that is added to row by row."""
import argparse
import csv
import os
import sys


def sizes(text):
    """Of "1024,2048"; a ValueError is argparse's to report."""
    return [int(part) for part in text.split(",")]


def names_of(known):
    """Reads "a,b" where each is among `known`."""

    def read(text):
        names = text.split(",")
        unknown = [name for name in names if name not in known]
        if unknown:
            raise argparse.ArgumentTypeError(f"{unknown[0]!r} is not known ({', '.join(known)})")
        return names

    return read


def add_out_options(parser):
    parser.add_argument("--out", required=True)
    parser.add_argument("--resume", action="store_true")


def require_new_or_resumed(parser, args):
    if os.path.exists(args.out) and not args.resume:
        parser.error(f"--out {args.out}: the file exists (give --resume to add to it)")


def add_missing(file, have, todo, key_of, label_of, row_of):
    """Adds the row of each step of `todo` whose key is not in `have`; a row that is None is left out."""
    for number, step in enumerate(todo, 1):
        key = key_of(*step)
        if key in have:
            continue
        have.add(key)
        print(f"[{number}/{len(todo)}] {label_of(*step)}", file=sys.stderr)
        row = row_of(*step)
        if row is not None:
            file.add(row)


def whole_lines(path, header):
    """Cuts off what stands behind the last line end of a file, which was being written when its run ended. Ends the script
    with exit code 2, as a wrong option does, where the file's first line is not the header."""
    with open(path, "rb+") as file:
        text = file.read()
        begun = ",".join(header).encode()
        first, end, _ = text.partition(b"\n")
        if first.rstrip(b"\r") != begun if end else not begun.startswith(first):
            script = os.path.basename(sys.argv[0])
            print(f"{script}: error: --out {path}: holds something else than rows in this format (give another name)", file=sys.stderr)
            sys.exit(2)
        file.truncate(text.rfind(b"\n") + 1)


class RowFile:
    """Adds rows to a CSV, each whole on the disk before the next is measured."""

    def __init__(self, path, header):
        self.rows = []  # that it has already
        if os.path.exists(path):
            whole_lines(path, header)
            with open(path, newline="") as file:
                self.rows = list(csv.DictReader(file))
        self.file = open(path, "a", newline="")
        self.writer = csv.DictWriter(self.file, header, lineterminator="\n")
        if self.file.tell() == 0:
            self.writer.writeheader()

    def add(self, row):
        self.writer.writerow(row)
        self.file.flush()
