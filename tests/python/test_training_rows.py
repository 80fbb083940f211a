"""The file that the scripts of kernels/train_step add their rows to."""

import sys
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).resolve().parents[2] / "kernels" / "train_step"))

from rows import RowFile

HEADER = ["model", "notes"]
WHOLE = "model,notes\nllama,states=fp32\n"


def added_to(path, text):
    """The rows that the file had, and what it holds after one more."""
    path.write_bytes(text.encode())
    file = RowFile(str(path), HEADER)
    file.add({"model": "gpt", "notes": "states=bf16"})
    return [row["model"] for row in file.rows], path.read_text()


@pytest.mark.parametrize("cut", ["", "g", "gpt,stat", 'gpt,"states'])
def test_a_line_that_was_cut_off_is_dropped_and_the_file_gone_on_with(tmp_path, cut):
    had, text = added_to(tmp_path / "rows.csv", WHOLE + cut)
    assert had == ["llama"]
    assert text == WHOLE + "gpt,states=bf16\n"


@pytest.mark.parametrize("text", ["", "mod", "model,notes", "model,notes\n"])
def test_a_file_without_rows_is_begun(tmp_path, text):
    assert added_to(tmp_path / "rows.csv", text) == ([], "model,notes\ngpt,states=bf16\n")


@pytest.mark.parametrize("text", ["a,b\n1,2\n", "a,b", "model,notes,x\n", "\n"])
def test_a_file_of_other_rows_is_left_as_it_is(tmp_path, capsys, text):
    path = tmp_path / "rows.csv"
    with pytest.raises(SystemExit) as end:
        added_to(path, text)
    assert end.value.code == 2
    assert "holds something else than rows in this format" in capsys.readouterr().err
    assert path.read_text() == text
