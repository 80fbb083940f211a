"""scripts/doc-commands on pages of its own with a program that is a shell script: doc_commands_test.py SOURCE_FOLDER"""
import os
import shutil
import subprocess
import sys
import tempfile
import unittest
from pathlib import Path

source = Path(sys.argv.pop()).resolve()

PROGRAM = """#!/bin/sh
case "$*" in
  --help) printf 'Commands:\\n  count  counts\\n  fail   fails\\n' ;;
  'count --help') printf 'Options:\\n  --to N  how far\\n' ;;
  *--help) exit 2 ;;
  --version) echo sextant 1.2.3 ;;
  count*) printf 'title of count\\n\\nname  value\\none       1\\ntwo      22\\nend\\n' ;;
  show*) cat "$2" ;;
  fail) echo wrong; exit 2 ;;
  'slow --progress') trap 'echo stopped; exit 130' INT; printf '\\r1\\r0\\r ' >&2; while :; do sleep 0.05; done ;;
esac
"""


class DocCommands(unittest.TestCase):
    def setUp(self):
        self.folder = Path(tempfile.mkdtemp(prefix="doc-commands-test-"))
        for name in ("scripts", "docs/examples", "notebooks"):
            (self.folder / name).mkdir(parents=True)
        for name in ("doc-commands", "doc_blocks.py", "doc_python.py"):
            shutil.copy(source / "scripts" / name, self.folder / "scripts")
        (self.folder / "README.md").write_text("nothing\n")
        (self.folder / "notebooks/README.md").write_text("nothing\n")
        (self.folder / "docs/examples/input.txt").write_text("an example\n")
        program = self.folder / "program"
        program.write_text(PROGRAM)
        program.chmod(0o755)
        self.page = self.folder / "docs/page.md"

    def tearDown(self):
        shutil.rmtree(self.folder)

    def ask(self, page, *options):
        self.page.write_text(page)
        environment = {**os.environ, "SEXTANT": str(self.folder / "program")}
        return subprocess.run([sys.executable, "-B", self.folder / "scripts/doc-commands", *options], capture_output=True, text=True, env=environment)

    def right(self, page):
        result = self.ask(page)
        self.assertEqual(result.returncode, 0, result.stdout + result.stderr)
        return result

    def wrong(self, page, *words):
        result = self.ask(page)
        self.assertEqual(result.returncode, 1, result.stdout + result.stderr)
        for word in words:
            self.assertIn(word, result.stderr)

    def test_output_that_is_shown_is_compared(self):
        self.right("```\n$ sextant count\ntitle of count\n\nname  value\none       1\ntwo      22\nend\n```\n")
        self.wrong("```\n$ sextant count\ntitle of count\n\nname  value\none       1\ntwo      23\nend\n```\n", "docs/page.md:1", "-two      23", "+two      22")
        self.wrong("```\n$ sextant count\ntitle of count\n```\n", "+end")

    def test_three_dots_stand_for_any_lines_but_nothing_else_does(self):
        self.right("```console\n$ sextant count\n...\none       1\n...\n```\n")
        self.right("```console\n$ sextant count\ntitle of count\n...\nend\n```\n")
        self.wrong("```console\n$ sextant count\n...\nthree     3\n...\n```\n", "three")
        self.wrong("```console\n$ sextant count\n...\nend\none       1\n...\n```\n")

    def test_a_command_has_to_end_as_the_page_says(self):
        self.wrong("```bash\nsextant fail\n```\n", "ended with 2, not 0")
        self.right("<!-- commands: exit 2 -->\n```bash\nsextant fail\n```\n")
        self.wrong("<!-- commands: exit 2 -->\n```bash\nsextant count\n```\n", "ended with 0, not 2")

    def test_commands_of_a_page_share_a_folder_that_begins_with_the_examples(self):
        self.right("```\n$ sextant show input.txt\nan example\n```\n\n```bash\nsextant count > made.txt\n```\n\n```\n$ sextant show made.txt\ntitle of count\n...\n```\n")
        self.right("<!-- commands: file own.json -->\n```json\n{}\n```\n\n```\n$ sextant show own.json\n{}\n```\n")

    def test_what_is_not_run_is_counted_with_its_reason(self):
        result = self.right("<!-- commands: not run: needs a GPU -->\n```bash\nsextant fail\nsextant fail\n```\n")
        self.assertIn("2 commands (needs a GPU)", result.stdout)
        self.assertIn("2 commands not run", result.stdout)

    def test_text_of_a_source_has_to_be_there(self):
        self.right("<!-- commands: from docs/examples/input.txt -->\n```\nan example\n```\n")
        self.wrong("<!-- commands: from docs/examples/input.txt -->\n```\nanother example\n```\n", "is not docs/examples/input.txt")

    def test_options_and_files_within_the_text_have_to_exist(self):
        self.right("Say `sextant count --to 3`; see `docs/page.md` and `docs/<name>.md`.\n")
        self.wrong("Say `sextant count --from 3`.\n", "docs/page.md:1: 'sextant count' has no option --from")
        self.wrong("Say `sextant add`.\n", "no command 'add'")
        self.wrong("\nSee `docs/other.md`.\n", "docs/page.md:2: no file docs/other.md")

    def test_fix_writes_outputs_anew_and_keeps_what_was_left_out(self):
        before = "```\n$ sextant count\n...\nname  value\none       7\ntwo       8\n...\n```\nand\n```\n$ sextant count\nold\n```\n"
        result = self.ask(before, "--fix")
        self.assertEqual(result.returncode, 0, result.stderr)
        self.assertEqual(self.page.read_text(), "```\n$ sextant count\n...\nname  value\none       1\ntwo      22\n...\n```\nand\n"
                         "```\n$ sextant count\ntitle of count\n\nname  value\none       1\ntwo      22\nend\n```\n")
        self.right(self.page.read_text())

    def test_examples_of_python_are_compared_and_written_anew(self):
        self.right("```python\n>>> number = 6\n>>> print(number * 7,\n...       'or so')\n42 or so\n>>> print(1 / 3)\n0.33...\n\n```\n")
        page = "text\n\n```python\n>>> print('a',\n...       'b')\na c\n\n```\n```\n$ sextant count\nold\n```\n```python\n>>> 6 * 7\n41\n>>> 7\n7...1\n\n```\n"
        self.wrong(page, "docs/page.md:4: print('a',", "-a c", "+a b", "docs/page.md:14: 6 * 7", "-41", "+42")
        result = self.ask(page, "--fix")
        self.assertEqual(result.returncode, 1, result.stderr)  # what is left out of an output is not known
        self.assertIn("docs/page.md:16: 7", result.stderr)
        count = "title of count\n\nname  value\none       1\ntwo      22\nend"
        self.assertEqual(self.page.read_text(), page.replace("a c", "a b").replace("41", "42").replace("old", count))
        self.wrong("```python\n>>> 1 / 0\n```\n", "docs/page.md:2: 1 / 0", "ZeroDivisionError: division by zero")

    def test_examples_of_python_ask_the_program(self):
        package = self.folder / "python/sextant"
        package.mkdir(parents=True)
        (package / "__init__.py").write_text("from ._program import ask, version\n")
        self.right("```python\n>>> import sextant\n>>> sextant.version\n'1.2.3'\n>>> sextant.ask(['fail'])\n(2, 'wrong\\n', '', '', None)\n"
                   ">>> sextant.ask(['slow'], lambda text: 1 / int(text))\n(130, 'stopped\\n', '', '', ZeroDivisionError('division by zero'))\n\n```\n")


if __name__ == "__main__":
    unittest.main()
