"""What is given as options: values, dicts, tables, and what is refused."""

import datetime
import importlib
import inspect
import json
import os
import sys
import tempfile
from pathlib import Path

import numpy
import pandas
import pytest

import sextant
from sextant import _arguments
from sextant._toml import toml_text

ROOT = Path(__file__).resolve().parents[2]
GPT2 = {"model_type": "gpt2", "architectures": ["GPT2LMHeadModel"], "n_embd": 768, "n_head": 12, "n_layer": 12, "n_positions": 1024,
        "n_ctx": 1024, "vocab_size": 50257, "activation_function": "gelu_new"}


class Configuration:
    """As transformers has it."""

    def to_dict(self):
        return {**GPT2, "_name_or_path": "openai-community/my-gpt2"}


def test_a_model_is_a_name_a_path_a_dict_or_a_configuration(tmp_path):
    file = tmp_path / "my-gpt2.json"
    file.write_text(json.dumps(GPT2))
    by_name = sextant.models.show("gpt2")
    for model in (str(file), file, GPT2, Configuration()):
        assert sextant.models.show(model).parameters_total == by_name.parameters_total
    assert sextant.models.show(Configuration()).name == sextant.models.show(file).name == "my-gpt2"


def test_a_cluster_is_a_dict_with_an_accelerator_in_it(tmp_path):
    cluster = {"format": "cluster", "version": 1, "name": "mine", "accelerator": "h100-sxm", "domain_size": 8,
               "scale_up": {"kind": "switched", "bandwidth": "450 GB/s"}, "scale_out": {"kind": "infiniband", "bandwidth": "50 GB/s"},
               "host_memory": "256 GB"}
    file = tmp_path / "mine.json"
    file.write_text(json.dumps(cluster))
    assert sextant.estimate(model="gpt2", cluster=cluster, dp=8) == sextant.estimate(model="gpt2", cluster=file, dp=8)


def test_constants_of_a_framework_and_laws_are_dicts_alone_and_in_lists():
    profile = json.loads((ROOT / "hardware_profiles" / "frameworks" / "megatron.json").read_text(encoding="utf-8"))
    base = {"model": "gpt2", "cluster": "h100-sxm", "dp": 8}
    assert sextant.estimate(framework=profile, **base).iteration_time_s == sextant.estimate(**base).iteration_time_s
    names = ["chinchilla-lad", "chinchilla-huber"]
    laws = [json.loads((ROOT / "scaling_laws" / f"{name}.json").read_text(encoding="utf-8")) for name in names]
    answers = [sextant.scaling.predict(law=law, params="70B", tokens="15T") for law in (names, laws, [laws[0], names[1]])]
    assert len({(answer.loss, len(answer.laws)) for answer in answers}) == 1 and len(answers[0].laws) == 2


def test_several_tables_are_paths_and_tables_of_pandas():
    files = [ROOT / "tests" / "data" / name for name in ("gemm_excerpt.csv", "attention_excerpt.csv")]
    tables = [pandas.read_csv(files[0]), files[1]]
    both = sextant.validate.kernels(*files)
    assert sextant.validate.kernels(files).overall == sextant.validate.kernels(*tables).overall == sextant.validate.kernels(tables).overall == both.overall


def test_rows_with_missing_values_have_empty_cells():
    table = pandas.read_csv(ROOT / "docs" / "examples" / "my-runs.csv")
    assert sextant.validate.train(table.to_dict("records")).overall == sextant.validate.train(table).overall
    row = {"nan": float("nan"), "numpy": numpy.float32("nan"), "time": pandas.NaT, "na": pandas.NA, "none": None, "zero": 0.0}
    assert _arguments._csv([row]) == "nan,numpy,time,na,none,zero\n,,,,,0\n"


def test_a_file_of_options_is_a_dict():
    base = {"model": "gpt2", "cluster": "h100-sxm", "gpus": 8}
    options = {**base, "global-batch": 64, "flash-attention": False, "max-memory": "90%"}
    assert sextant.plan(config=options) == sextant.plan(config={"plan": options}) == sextant.plan(**{k.replace("-", "_"): v for k, v in options.items()})
    assert sextant.plan(config={**options, "gpus": None}, gpus=8) == sextant.plan(config=options)
    failures = {"parameters": "8B", "gpus": 64, "trials": 0}
    assert sextant.goodput(config={**failures, "restart": datetime.timedelta(minutes=5)}) == sextant.goodput(restart="5min", **failures)
    training = {"training": {"local_batch_size": 2, "seq_len": 512}, "parallelism": {"tensor_parallel_degree": 2, "pipeline_parallel_degree": 1},
                "activation_checkpoint": {"mode": "full", "selective_ac_option": None}}
    step = sextant.estimate(from_torchtitan=training, **base)
    assert (step.plan.tp, step.plan.micro_batch, step.seq) == (2, 2, 512)
    with pytest.raises(sextant.InputError, match="config.toml:1: global_batch: no such option .* did you mean 'global-batch'"):
        sextant.plan(config={"global_batch": 64})


@pytest.mark.skipif(sys.version_info < (3, 11), reason="no reader of TOML")
def test_what_is_written_as_toml_is_read_as_it_was():
    tomllib = importlib.import_module("tomllib")
    table = {"text": "a\"b\\c\n\t\x00\x7f \U0001f600", "numbers": [1, 2.5, -1e22, 0.1], "yes": True, "of tables": [{"a.b": 1, "c": {"d": []}}],
             "inner": {"a": 1, "in it": {"deep": "x"}, "b": {}}, "last": 2}
    assert tomllib.loads(toml_text(table)) == table
    assert tomllib.loads(toml_text({"a": None, "b": [None, {"c": None}], "d": {"e": None}})) == {"b": [{}], "d": {}}


def test_files_of_dicts_are_gone_also_after_an_error(tmp_path, monkeypatch):
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    sextant.models.show(GPT2)
    with pytest.raises(sextant.InputError) as error:
        sextant.models.show({"model_type": "gpt2"})
    assert os.listdir(tmp_path) == []
    assert str(tmp_path) not in str(error.value)


def test_rows_are_a_table_of_pandas_or_dicts():
    rows = [{"params": n, "tokens": d, "loss": 1.7 + 400 / n**0.34 + 410 / d**0.28} for n in (1e8, 3e8, 1e9, 3e9) for d in (2e9, 8e9, 3e10)]
    options = {"law": "chinchilla", "n": "params", "d": "tokens", "loss": "loss", "bootstrap": 0}
    by_dicts = sextant.scaling.fit(data=rows, **options)
    assert by_dicts == sextant.scaling.fit(data=pandas.DataFrame(rows), **options)


def test_values_have_units_and_lists_commas():
    base = {"parameters": "8B", "gpus": 64, "trials": 0}
    assert sextant.goodput(restart=datetime.timedelta(minutes=5), **base) == sextant.goodput(restart="300 s", **base)
    plans = {"model": "gpt2", "cluster": "h100-sxm", "gpus": 8}
    assert sextant.plan(tp=[1, 2], **plans) == sextant.plan(tp="1,2", **plans) == sextant.plan(tp=range(1, 3), **plans)
    assert sextant.estimate(model="gpt2", cluster="h100-sxm", dp=8.0) == sextant.estimate(model="gpt2", cluster="h100-sxm", dp=8)


def test_flags_are_true_false_or_left_out():
    base = {"model": "gpt2", "cluster": "h100-sxm", "dp": 8}
    assert sextant.estimate(flash_attention=False, **base).plan.attention != "flash"
    assert sextant.estimate(no_flash_attention=True, **base).plan.attention != "flash"
    assert sextant.estimate(flash_attention=None, explain=False, **base) == sextant.estimate(**base)
    with pytest.raises(TypeError, match="True or False"):
        sextant.estimate(explain="yes", **base)
    with pytest.raises(TypeError, match="takes a value"):
        sextant.estimate(tp=True, **base)


def test_a_value_has_something_in_it_and_may_be_switched_off():
    for nothing in ("", [], ()):
        with pytest.raises(sextant.InputError, match=r"gpus: .* is no value \(None leaves it out\)"):
            sextant.plan(gpus=nothing, model="gpt2", cluster="h100-sxm")
    run = {"flops": "1e22", "cluster": "h100-sxm", "gpus": 64}
    assert sextant.run_plan(curve=False, **run) == sextant.run_plan(no_curve=True, **run)
    with pytest.raises(TypeError, match="it takes a value"):
        sextant.run_plan(curve=True, **run)


def test_an_unknown_option_is_a_type_error_with_the_nearest():
    with pytest.raises(TypeError, match=r"estimate\(\) has no option 'globalbatch' \(nearest: global_batch\)"):
        sextant.estimate(model="gpt2", globalbatch=8)
    with pytest.raises(TypeError, match="no option 'format'"):
        sextant.estimate(model="gpt2", format="csv")
    with pytest.raises(TypeError, match="without a name"):
        sextant.estimate("gpt2")
    with pytest.raises(TypeError, match="no value of an option"):
        sextant.estimate(model="gpt2", cluster="h100-sxm", tp=object())
    with pytest.raises(TypeError, match="reads no file"):
        sextant.estimate(model="gpt2", cluster="h100-sxm", tp={"a": 1})


def test_what_the_program_refuses_is_an_input_error_with_its_words():
    with pytest.raises(ValueError) as error:
        sextant.estimate(model="llama-3.1-9b", cluster="h100-sxm", dp=8)
    assert isinstance(error.value, sextant.InputError)
    assert str(error.value).startswith("model 'llama-3.1-9b': unknown; did you mean 'llama-3.1-8b'?")
    with pytest.raises(sextant.InputError, match="--model is required"):
        sextant.estimate(cluster="h100-sxm")
    with pytest.raises(sextant.InputError, match="begins with a dash"):
        sextant.models.show("--help")
    with pytest.raises(sextant.InputError, match="JSON compliant"):
        sextant.models.show({**GPT2, "n_embd": float("nan")})
    with pytest.raises(sextant.InputError):
        sextant.models.show(Path("/nowhere/config.json"))


def test_a_sweep_takes_the_options_of_both_commands():
    table = sextant.sweep("estimate", axis={"dp": [8, 16], "seq": range(512, 1025, 512)}, model="gpt2", cluster="h100-sxm", threads=1).frame()
    assert len(table) == 4
    inner = sextant.sweep("scaling optimum", axis={"flops": ["1e21", "1e22"]}, columns="parameters,loss").frame()
    assert inner["parameters"][0] == pytest.approx(sextant.scaling.optimum(flops=1e21).parameters)
    with pytest.raises(sextant.InputError, match="no command"):
        sextant.sweep("estimat", axis={"dp": [8]})
    with pytest.raises(TypeError, match="needs the command"):
        sextant.sweep("", axis={"dp": [8]})
    with pytest.raises(TypeError, match=r"estimate\(\) has no option 'thread' \(nearest: threads\)"):
        sextant.sweep("estimate", axis={"dp": [8]}, thread=1)
    assert inspect.signature(sextant.sweep).bind("estimate", axis={"dp": [8]}, model="gpt2").arguments["options"] == {"model": "gpt2"}


def test_an_axis_is_anything_with_values_and_a_value_may_be_a_list():
    def points(values, name="tp", **options):
        options = {"model": "gpt2", "cluster": "h100-sxm", "gpus": 8, "dry_run": True, **options}
        return [line.partition(f"--{name}=")[2] for line in sextant.sweep("plan", axis={name: values}, **options).splitlines()]

    for values in ([1, 2], (1, 2), range(1, 3), {2, 1}, "1,2", numpy.array([1, 2]), pandas.Series([1, 2]), iter([1, 2]), [numpy.int64(1), 2.0]):
        assert points(values) == ["1", "2"]
    assert points(2) == points(numpy.int64(2)) == points([2]) == ["2"]
    assert points([[1, 2], 4]) == ["1,2", "4"] and points([numpy.array([1, 2]), [2, 4]]) == ["1,2", "2,4"]
    with pytest.raises(sextant.InputError, match=r"axis tp: '1,2' is one value with commas.*give tp='1,2' as an option"):
        points([[1, 2]])
    with pytest.raises(sextant.InputError, match="semicolon within a value"):
        points(["1;2", "4"])
    with pytest.raises(TypeError, match="cluster: a dict is no value"):
        points([{"name": "mine"}], name="cluster", cluster=None)


def test_every_command_has_a_signature_and_a_text_of_its_own():
    for command in (sextant.plan, sextant.estimate, sextant.simulate, sextant.scaling.fit, sextant.serve.plan, sextant.rl, sextant.goodput,
                    sextant.collective, sextant.memory, sextant.flops, sextant.validate.train, sextant.run_plan, sextant.trials.budget, sextant.sweep):
        signature = inspect.signature(command)
        assert "progress" in signature.parameters and len(signature.parameters) > 3
        assert all(f"    {name}: " in command.__doc__ for name in signature.parameters if signature.parameters[name].kind == inspect.Parameter.KEYWORD_ONLY
                   and name != "progress")
    assert "global_batch" in inspect.signature(sextant.plan).parameters


def test_the_text_is_what_people_read():
    assert "MFU" in sextant.estimate.text(model="gpt2", cluster="h100-sxm", dp=8)


def test_the_words_of_a_command_line_are_strings():
    with pytest.raises(TypeError, match="is no word of a command line"):
        sextant.ask(["estimate", "--dp", "8"])
    with pytest.raises(TypeError, match="8 is no word of a command line"):
        sextant.ask("estimate", "--dp", 8)
