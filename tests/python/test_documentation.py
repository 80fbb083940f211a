"""Examples in the package and in docs/python.md say what comes out."""

import doctest
import importlib
from pathlib import Path

import pytest

FLAGS = doctest.ELLIPSIS | doctest.NORMALIZE_WHITESPACE
PAGE = Path(__file__).resolve().parents[2] / "docs" / "python.md"


@pytest.mark.parametrize("name", ["sextant", "sextant._commands", "sextant._report"])
def test_the_examples_of_a_module_hold(name):
    result = doctest.testmod(importlib.import_module(name), optionflags=FLAGS)
    assert result.attempted > 0 and result.failed == 0


def test_the_examples_of_the_page_hold(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    text = PAGE.read_text(encoding="utf-8").replace("```\n", "\n").replace("```python\n", "\n")
    test = doctest.DocTestParser().get_doctest(text, {}, "docs/python.md", str(PAGE), 0)
    runner = doctest.DocTestRunner(optionflags=FLAGS)
    assert runner.run(test).failed == 0 and len(test.examples) > 10
