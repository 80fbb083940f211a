#!/usr/bin/env python3
"""Counts the parameters of every preset and of the synthetic configs with Hugging Face transformers.

Instantiates each model on PyTorch's meta device (no memory, no weights), counts every parameter once (tied weights are
one parameter), and writes the table that the tests compare Sextant's counts with:

    pip install torch transformers==4.57.6
    scripts/reference_parameter_counts.py            # writes tests/data/hf_reference/expected.json

Columns: `parameters` is what PyTorch counts as parameters. `correction` counts the router's score-correction biases
(DeepSeek-V3, GLM-4.5), which transformers holds as buffers and the published checkpoints hold as weights.
"""

import json
import pathlib

import torch
import transformers
from transformers import AutoConfig, AutoModelForCausalLM
from transformers.modeling_utils import no_init_weights

ROOT = pathlib.Path(__file__).resolve().parent.parent
SYNTHETIC = ROOT / "tests/data/hf_reference/synthetic.json"
OUTPUT = ROOT / "tests/data/hf_reference/expected.json"


def build(config_dict):
    config_dict = dict(config_dict)
    config_dict.pop("quantization_config", None)  # the count is of values, not of packed blocks
    kind = config_dict.pop("model_type")
    if kind == "gemma3":  # multimodal: the text model, with the embedding table tied or not as the whole says
        text = dict(config_dict["text_config"])
        text.setdefault("tie_word_embeddings", config_dict.get("tie_word_embeddings", True))
        config_dict, kind = text, text.pop("model_type", "gemma3_text")
    config = AutoConfig.for_model(kind, **config_dict)
    with torch.device("meta"), no_init_weights():  # values are of no interest
        model = AutoModelForCausalLM.from_config(config)
    model.tie_weights()
    return model


def count(config_dict):
    model = build(config_dict)
    parameters = sum(p.numel() for p in model.parameters())  # PyTorch yields a shared parameter once
    correction = sum(b.numel() for name, b in model.named_buffers() if name.endswith("e_score_correction_bias"))
    return {"parameters": parameters, "correction": correction}


def main():
    rows = {"presets": {}, "synthetic": {}}
    for path in sorted((ROOT / "models").glob("*.json")):
        rows["presets"][path.stem] = count(json.loads(path.read_text()))
        print(path.stem, rows["presets"][path.stem], flush=True)
    for name, config in json.loads(SYNTHETIC.read_text()).items():
        rows["synthetic"][name] = count(config)
        print(name, rows["synthetic"][name], flush=True)
    table = {"transformers": transformers.__version__, "torch": torch.__version__, **rows}
    OUTPUT.write_text(json.dumps(table, indent=2) + "\n")


if __name__ == "__main__":
    main()
