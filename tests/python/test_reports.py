"""Reports: the program's answers as objects."""

import copy
import json
import pickle
import subprocess
import sys
from pathlib import Path

import pandas
import pytest

import sextant

DATA = Path(__file__).resolve().parents[1] / "data"


@pytest.fixture(scope="module")
def step():
    return sextant.estimate(model="llama-3.1-8b", cluster="h100-sxm", gpus=16, tp=2)


def program(*arguments):
    """What the program itself prints, and its exit code."""
    done = subprocess.run([sys.executable, "-m", "sextant", *arguments], capture_output=True, text=True, check=False)
    return done.stdout, done.returncode


def test_a_report_is_what_the_program_prints(step):
    printed, code = program("estimate", "-m", "llama-3.1-8b", "-c", "h100-sxm", "--gpus", "16", "--tp", "2", "--format", "json")
    assert code == 0
    assert step.to_dict() == json.loads(printed)
    assert json.loads(step.to_json()) == json.loads(printed)


def test_values_are_attributes_items_and_paths(step):
    assert step.plan.tp == step["plan"]["tp"] == step.at("plan.tp") == 2
    assert step.get("no such key") is None
    assert "plan" in step and "plan" in dir(step)


def test_a_wrong_name_is_answered_with_the_nearest(step):
    with pytest.raises(AttributeError, match="nearest: memory"):
        step.memori
    with pytest.raises(KeyError):
        step["memori"]


def test_reports_cannot_be_changed(step):
    with pytest.raises(AttributeError, match="read-only"):
        step.mfu = 1
    with pytest.raises(TypeError):
        step["mfu"] = 1
    changed = step.to_dict()
    changed["plan"]["tp"] = 99
    assert step.plan.tp == 2


def test_reports_are_copied_compared_and_pickled(step):
    assert pickle.loads(pickle.dumps(step)) == copy.deepcopy(step) == step == step.to_dict()
    assert hash(step) == hash(copy.copy(step))
    assert step != sextant.Report({})


def test_an_answer_of_no_is_a_report_that_is_not_ok(step):
    too_large = sextant.estimate(model="llama-3.1-405b", cluster="h100-sxm", dp=8)
    assert step.ok and not too_large.ok and too_large.fits is False


def test_a_replica_that_does_not_fit_is_a_report_that_says_why():
    too_large = sextant.serve.simulate(model="llama-3.1-405b", cluster="h100-sxm", rate=1)
    assert not too_large.ok and too_large.fits is False and "does not fit" in too_large.reason


def test_tables_have_a_row_for_each_and_dotted_columns(step):
    plans = sextant.plan(model="gpt2", cluster="h100-sxm", gpus=8, top=3)
    table = plans.frame()
    assert len(table) == len(plans.candidates) == 3
    assert table["plan.dp"].tolist() == [candidate.plan.dp for candidate in plans.candidates]
    assert plans.candidates.to_pandas().equals(table) and plans.frame("candidates").equals(table)
    assert len(step.frame()) == 1 and step.frame()["memory.peak_bytes"][0] == step.memory.peak_bytes


def test_the_table_of_a_search_that_found_nothing_has_no_rows():
    nothing = sextant.plan(model="llama-3.1-405b", cluster="h100-sxm", gpus=8)
    assert not nothing.ok and len(nothing.candidates) == 0
    assert len(nothing.frame()) == len(nothing.frame("candidates")) == 0


def test_launch_files_come_in_the_report_or_go_into_a_folder(tmp_path):
    plan = {"model": "llama-3.1-70b", "cluster": "h100-sxm", "gpus": 64, "tp": 8, "pp": 2}
    in_report = sextant.export(format=["megatron", "slurm"], **plan)
    in_folder = sextant.export(format=["megatron", "slurm"], output=tmp_path, **plan)
    assert [Path(file.path).read_text(encoding="utf-8") for file in in_folder.files] == [file.text for file in in_report.files]
    with pytest.raises(sextant.InputError, match="is there already"):
        sextant.export(format="megatron", output=tmp_path, **plan)
    assert "vllm" in sextant.export.serve(engine="vllm", model="llama-3.1-70b", cluster="h100-sxm", tp=4).files[0].text


def test_commands_whose_results_are_files_return_what_they_print(tmp_path):
    rows, constants = DATA / "gemm_excerpt.csv", tmp_path / "mine.json"
    shipped = DATA.parents[1] / "hardware_profiles" / "calibrations" / "kernels" / "a100-sxm-80gb.json"
    heard = []
    with pytest.warns(sextant.Notice, match="left out"):
        text = sextant.calibrate.fit(kernels=rows, device="b200-sxm", out=constants, progress=heard.append)
    assert "gemm bf16" in text and "fitting b200-sxm: gemm bf16" in heard
    assert constants.read_text(encoding="utf-8").startswith("{")
    with pytest.raises(sextant.InputError, match="are the rows of this device?"):  # H200s among them
        sextant.calibrate.fit(kernels=rows, device="a100-sxm-80gb", out=tmp_path / "none.json")
    assert sextant.calibrate.report(shipped, rows=rows).ok
    assert sextant.calibrate.diff(shipped, shipped).ok
    assert sextant.tables("schedules", format="csv").startswith("model,accelerators,")


def test_a_command_line_without_a_form_is_answered_by_its_report():
    question = ["--model", "llama-3.1-70b", "--cluster", "h100-sxm", "--gpus", "64", "--tp", "8", "--pp", "2"]
    options = {"model": "llama-3.1-70b", "cluster": "h100-sxm", "gpus": 64, "tp": 8, "pp": 2}
    step = sextant.estimate(**options)
    assert sextant.ask("estimate", *question) == sextant.ask("estimate", *question, "--format", "json") == step
    assert sextant.ask("estimate", *question, "--format=json") == step
    assert sextant.ask("export", *question, "--format", "megatron") == sextant.export(format="megatron", **options)


def test_a_command_line_that_has_no_report_or_says_its_form_is_answered_by_what_it_prints(tmp_path):
    question = ["--model", "gpt2", "--cluster", "h100-sxm", "--gpus", "8"]
    assert sextant.ask("--version") == f"sextant {sextant.__version__}\n"
    assert "Usage: sextant plan" in sextant.ask("plan", "--help")
    assert sextant.ask("tables", "schedules", "--format", "csv") == sextant.tables("schedules", format="csv")
    assert sextant.ask("estimate", *question, "--format", "text") == sextant.estimate.text(model="gpt2", cluster="h100-sxm", gpus=8)
    assert "\nformat = " not in sextant.ask("estimate", *question, "--write-config", "-")
    with pytest.raises(sextant.InputError, match="nothing to fit to"):
        sextant.ask("calibrate", "fit")
    for shard in "12":
        sweep = ["sweep", "estimate", *question, "--axis", "tp=1,2", "--shard", f"{shard}/2", "--output", str(tmp_path / f"{shard}.csv")]
        assert sextant.ask(*sweep) == ""
    with pytest.warns(sextant.Notice, match="2 rows of 2 files") as heard:
        assert sextant.ask("merge", *(str(tmp_path / name) for name in ("all.csv", "1.csv", "2.csv"))) == ""
    assert heard[0].filename == __file__
    assert pandas.read_csv(tmp_path / "all.csv")["tp"].tolist() == [1, 2]


def test_only_an_answer_of_no_is_raised_as_one(tmp_path):
    question = {"axis": {"dp": [8, 16]}, "model": "gpt2", "cluster": "h100-sxm"}
    assert sextant.sweep("estimate", dry_run=True, **question).count("sextant estimate ") == 2
    assert "memory.peak_bytes = " in sextant.sweep("estimate", list_columns=True, **question)
    with pytest.raises(sextant.AnswerIsNo, match="no"):  # the report is in the file
        sextant.ask("estimate", "-m", "llama-3.1-405b", "-c", "h100-sxm", "--dp", "8", "--output", str(tmp_path / "no.txt"))
    assert (tmp_path / "no.txt").exists()


def test_reports_go_into_files_by_their_ending(tmp_path):
    question = {"model": "gpt2", "cluster": "h100-sxm", "dp": 8}
    assert sextant.estimate.write(tmp_path / "step.json", **question) is True
    assert sextant.estimate(**question) == json.loads((tmp_path / "step.json").read_text(encoding="utf-8"))
    assert sextant.estimate.write(tmp_path / "step.txt", **question)
    assert (tmp_path / "step.txt").read_text(encoding="utf-8") == sextant.estimate.text(**question)
    assert sextant.estimate.write(str(tmp_path / "no.md"), model="llama-3.1-405b", cluster="h100-sxm", dp=8) is False
    assert (tmp_path / "no.md").exists()
    with pytest.raises(TypeError, match="no report"):
        sextant.export.write(tmp_path / "launch", **question)


def test_pages_are_written(tmp_path):
    try:
        assert sextant.plan.write(tmp_path / "plan.html", model="gpt2", cluster="h100-sxm", gpus=8)
        assert (tmp_path / "plan.html").read_text(encoding="utf-8").startswith("<!doctype html>")
    except sextant.UnavailableError as missing:
        pytest.skip(str(missing))


def test_sweeps_grow_in_files_and_shards_are_merged(tmp_path):
    question = {"axis": {"dp": [8, 16, 32]}, "model": "gpt2", "cluster": "h100-sxm", "threads": 1}
    for shard in (1, 2):
        assert sextant.sweep.write(tmp_path / f"{shard}.csv", "estimate", shard=f"{shard}/2", **question)
    with pytest.warns(sextant.Notice, match="3 rows of 2 files"):
        sextant.merge(tmp_path / "all.csv", tmp_path / "1.csv", tmp_path / "2.csv")
    rows = pandas.read_csv(tmp_path / "all.csv")
    assert rows["dp"].tolist() == [8, 16, 32] == sextant.sweep("estimate", **question).frame()["dp"].tolist()
    with pytest.raises(sextant.InputError, match="--resume"):
        sextant.sweep.write(tmp_path / "1.csv", "estimate", shard="1/2", **question)


def test_types_of_reports_have_names():
    assert sextant.reports.PlanReport is sextant.Report
    with pytest.raises(AttributeError):
        sextant.reports.plan


def keys_of(value):
    if isinstance(value, dict):
        for key, each in value.items():
            yield key
            yield from keys_of(each)
    elif isinstance(value, list):
        for each in value:
            yield from keys_of(each)


def test_no_key_of_these_reports_is_hidden_by_a_method():
    # A mapping's own methods (values, items) stay what Python has them for; such a key is only an item.
    reports = [
        sextant.plan(model="gpt2", cluster="h100-sxm", gpus=8),
        sextant.simulate(model="gpt2", cluster="h100-sxm", gpus=8),
        sextant.goodput(parameters="8B", gpus=64, trials=2),
        sextant.hardware.show("h100-sxm"),
        sextant.serve.estimate(model="llama-3.1-8b", cluster="h100-sxm", rate=2),
        sextant.scaling.laws(),
    ]
    own = {name for name in dir(sextant.Report) if not name.startswith("_")} - {"keys", "values", "items", "get"}
    for report in reports:
        assert not own & set(keys_of(report.to_dict()))
