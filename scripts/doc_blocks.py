"""The commands of the documentation: fenced blocks of its pages, what each runs and what the page shows of it (scripts/doc-commands says how
they are written).
"""

import json
import re
from dataclasses import dataclass, field
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
GENERATED = {"docs/cli.md", "docs/format-keys.md", "docs/report-keys.md", "docs/validation.md"}  # from the program itself; tests/cli/manners_test.cpp runs the examples of the help
CALL = re.compile(r"(?:^|[|&;(]\s*|srun |mpirun |time )sextant(?:\s|$)")
DIRECTIVE = re.compile(r"<!--\s*commands:\s*(file|from|exit|output varies:|not run:)\s*(.*?)\s*-->")
FENCE = re.compile(r"^(\s*)(```+)\s*([\w-]*)\s*$")


@dataclass
class Step:
    """One command of a block, and what the page shows below it (None: nothing is compared)."""

    command: str
    shown: list | None
    first: int = 0  # the lines of the page that `shown` comes from
    last: int = 0
    code: int = 0


@dataclass
class Block:
    page: str
    line: int
    indent: str
    steps: list = field(default_factory=list)
    file: str | None = None
    quoted: str | None = None  # the file of the repository that it is taken from
    last: int = 0  # the line after its last one
    text: str = ""
    skipped: str | None = None
    varies: str | None = None


def continued(lines, index):
    """The command that begins at `index`, with its continuation lines and here-documents, and the index after it."""
    command = [lines[index]]
    index += 1
    while command[-1].endswith("\\") and index < len(lines):
        command.append(lines[index])
        index += 1
    here = re.search(r"<<\s*'?(\w+)'?", command[-1])
    while here and index < len(lines):
        command.append(lines[index])
        index += 1
        if command[-1] == here.group(1):
            break
    return "\n".join(command), index


def session(block, lines, begin):
    index = 0
    while index < len(lines):
        if not lines[index].startswith("$ "):
            raise ValueError(f"{block.page}:{begin + index + 1}: output before the first command")
        command, after = continued(lines, index)
        index = after
        while index < len(lines) and not lines[index].startswith("$ "):
            index += 1
        block.steps.append(Step(command[2:], lines[after:index], begin + after, begin + index))


def script(block, lines):
    index = 0
    while index < len(lines):
        if not lines[index].strip() or lines[index].startswith("#"):
            index += 1
            continue
        command, index = continued(lines, index)
        block.steps.append(Step(command, None))


def blocks_of(page, text):
    """The blocks of a page that are commands or files."""
    lines = text.split("\n")
    blocks = []
    index = 0
    while index < len(lines):
        opening = FENCE.match(lines[index])
        if not opening:
            index += 1
            continue
        indent, ticks, language = opening.groups()
        end = index + 1
        while end < len(lines) and lines[end].strip() != ticks:
            end += 1
        inner = [line[len(indent):] if line.startswith(indent) else line for line in lines[index + 1:end]]
        block = Block(page, index + 1, indent)
        code = 0
        above = index - 1
        while above >= 0 and (not lines[above].strip() or DIRECTIVE.search(lines[above])):
            if directive := DIRECTIVE.search(lines[above]):
                kind, value = directive.groups()
                if kind == "file":
                    block.file = value
                elif kind == "from":
                    block.quoted = value
                elif kind == "exit":
                    code = int(value)
                elif kind == "not run:":
                    block.skipped = value
                else:
                    block.varies = value
            above -= 1
        block.text = "\n".join(inner) + "\n"
        block.last = end
        if block.file is None and block.quoted is None and language in ("", "console", "bash", "sh"):
            if any(line.startswith("$ ") for line in inner):
                session(block, inner, index + 1)
            elif any(CALL.search(line) for line in inner):
                script(block, inner)
        if block.file is not None or block.quoted is not None or any(CALL.search(step.command) for step in block.steps):
            if block.steps:
                block.steps[-1].code = code
            blocks.append(block)
        index = end + 1
    return blocks


def loose_commands(text):
    """Commands within the text: the words of each, and its line."""
    inside = False
    for number, line in enumerate(text.split("\n"), 1):
        if FENCE.match(line):
            inside = not inside
        if not inside:
            for code in re.findall(r"`sextant ([^`]+)`", line):
                yield number, code.split()


def pages(names):
    """Name and text of every page."""
    paths = [ROOT / "README.md", *sorted((ROOT / "docs").rglob("*.md")), ROOT / "notebooks/README.md", *sorted((ROOT / "notebooks").glob("*.ipynb"))]
    for path in paths:
        name = str(path.relative_to(ROOT))
        if name in GENERATED or (names and not any(wanted in name for wanted in names)):
            continue
        if path.suffix == ".ipynb":
            cells = json.loads(path.read_text())["cells"]
            yield name, "\n".join("".join(cell["source"]) for cell in cells if cell["cell_type"] == "markdown")
        else:
            yield name, path.read_text()
