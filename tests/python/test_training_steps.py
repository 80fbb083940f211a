"""What the scripts of kernels/train_step do without a device; left out where there is no PyTorch."""

import argparse
import dataclasses
import sys
from pathlib import Path

import pytest

torch = pytest.importorskip("torch")
sys.path.insert(0, str(Path(__file__).resolve().parents[2] / "kernels" / "train_step"))

import attention
import steps
import train_step

SHAPE = dataclasses.replace(steps.MODELS["tiny"], hidden=16, ffn=32, vocab=32)
CPU = torch.device("cpu")


def arguments(wrap="none"):
    return argparse.Namespace(seed=1, states="fp32", code="own", compile=True, wrap=wrap, warm_up=0, steps=2, trace=None)


def compiled_by(monkeypatch, backend):
    original = torch.nn.Module.compile
    monkeypatch.setattr(torch.nn.Module, "compile", lambda module: original(module, backend=backend))


def test_every_row_is_compiled_for_its_own_sizes(monkeypatch):
    sizes_vary = []

    def backend(graph, inputs):
        shapes = [x.shape if torch.is_tensor(x) else (x,) for x in inputs]
        sizes_vary.append(any(isinstance(size, torch.SymInt) for shape in shapes for size in shape))
        return graph

    compiled_by(monkeypatch, backend)
    for seq in (8, 12, 16):
        train_step.measure(SHAPE, seq, 2, arguments(), CPU)
    assert sizes_vary == [False] * 3


def test_a_step_that_would_run_eagerly_in_part_gives_no_row(monkeypatch, capsys):
    compiled_by(monkeypatch, "eager")
    monkeypatch.setitem(steps.MODELS, "tiny", SHAPE)
    train_step.compile_afresh()
    monkeypatch.setattr(torch.compiler, "reset", lambda: None)
    with torch._dynamo.config.patch(recompile_limit=1):
        assert train_step.row_of("tiny", 8, 2, arguments(), CPU)["iter_time_s"]
        assert train_step.row_of("tiny", 12, 2, arguments(), CPU) is None
    assert "would run eagerly" in capsys.readouterr().err


class Inputs:
    def take(self, _, batch, length, heads, head_dim):
        return torch.zeros(batch, heads, length, head_dim, dtype=torch.bfloat16)


@pytest.mark.parametrize("fault, note, measured", [
    (torch.cuda.OutOfMemoryError("CUDA out of memory. Tried"), "FAILED: CUDA out of memory. Tried", False),
    (RuntimeError("CUDA error: an illegal memory access"), "FAILED: CUDA error: an illegal memory access", False),
    (RuntimeError("No available kernel.\nAborting"), "unsupported: No available kernel. Aborting", True),
])
def test_attention_that_failed_is_measured_again_and_what_is_not_supported_is_not(monkeypatch, fault, note, measured):
    def raises(*_, **__):
        raise fault

    monkeypatch.setattr(torch.cuda, "get_device_name", lambda: "a device")
    monkeypatch.setattr(torch.cuda, "empty_cache", lambda: None)
    monkeypatch.setattr(attention.F, "scaled_dot_product_attention", raises)
    row = attention.row_that_fits("sdpa_flash", False, (1, 16, 2, 1, 8, True), Inputs(), None)
    assert row["note"] == note
    assert (attention.measured([row]) != set()) == measured


@pytest.mark.parametrize("device, chosen", [("cuda:1", [torch.device("cuda:1")]), ("cuda", []), ("cpu", [])])
def test_the_device_of_a_run_is_the_current_one(monkeypatch, tmp_path, device, chosen):
    set_to = []
    monkeypatch.setattr(torch.cuda, "is_available", lambda: True)
    monkeypatch.setattr(torch.cuda, "set_device", set_to.append)
    monkeypatch.setattr(train_step, "add_missing_rows", lambda *_: None)
    monkeypatch.setattr(sys, "argv", ["train_step.py", "--out", str(tmp_path / "rows.csv"), "--device", device])
    assert train_step.main() == 0
    assert set_to == chosen
