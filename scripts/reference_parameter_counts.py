#!/usr/bin/env python3
"""Counts the parameters of every preset and of the synthetic configs with Hugging Face transformers.

Instantiates each model on PyTorch's meta device (no memory, no weights), counts every parameter once (tied weights are
one parameter), and writes the table that the tests compare Sextant's counts with:

    pip install torch transformers==4.57.6
    scripts/reference_parameter_counts.py            # writes tests/data/hf_reference/expected.json
    scripts/reference_parameter_counts.py qwen3.5    # only what begins so, in the table that is there

Rows of families that came later were counted with a later version, which they name (5.23.0 refuses some of the older
configs). Columns: `parameters` is what PyTorch counts as parameters. `correction` counts the router's score-correction biases
(DeepSeek-V3, GLM-4.5), which transformers holds as buffers and the published checkpoints hold as weights.
"""

import json
import pathlib
import sys

import torch
import transformers
from transformers import AutoConfig, AutoModelForCausalLM, AutoModelForMaskedLM

try:
    from transformers.initialization import no_init_weights
except ImportError:  # before version 5
    from transformers.modeling_utils import no_init_weights

ROOT = pathlib.Path(__file__).resolve().parent.parent
SYNTHETIC = ROOT / "tests/data/hf_reference/synthetic.json"
OUTPUT = ROOT / "tests/data/hf_reference/expected.json"


def known(config):
    """The config in the words of a class that transformers has, and how many parameters more the model's own class has."""
    config = dict(config)
    kind = "grok-1" if config.get("architectures") == ["Grok1ForCausalLM"] else config["model_type"]
    if kind in ("internlm", "internlm2", "baichuan"):  # Llama's matrices; all four projections of attention with biases or none
        config |= {"model_type": "llama", "attention_bias": config.pop("bias", kind != "baichuan")}
    elif kind == "internlm3" and not config.get("bias") and not config.get("qkv_bias"):
        config |= {"model_type": "llama"}
    elif kind == "kimi_k25":  # multimodal: the text model
        return known(config["text_config"])
    elif kind == "kimi_k2":
        config |= {"model_type": "deepseek_v3"}
    elif kind == "minimax_m2":  # Qwen3's experts; norms of queries and keys over all heads instead of one head; a bias per expert
        layers, heads = config["num_hidden_layers"], config["num_attention_heads"] + config["num_key_value_heads"]
        config |= {"model_type": "qwen3_moe", "num_experts": config["num_local_experts"], "moe_intermediate_size": config["intermediate_size"]}
        return config, layers * (config["head_dim"] * (heads - 2) + config["num_local_experts"])
    elif kind == "qwen":  # both halves of the gate in one width
        config |= {"model_type": "qwen2", "intermediate_size": config["intermediate_size"] // 2}
        config |= {"num_key_value_heads": config["num_attention_heads"]}
        config["head_dim"] = config.get("kv_channels", config["hidden_size"] // config["num_attention_heads"])
    elif kind == "chatglm" and config["add_qkv_bias"] and not config.get("add_bias_linear"):
        grouped = config.get("multi_query_attention")
        config |= {"model_type": "qwen2", "num_hidden_layers": config["num_layers"], "intermediate_size": config["ffn_hidden_size"]}
        config |= {"num_key_value_heads": config["multi_query_group_num"] if grouped else config["num_attention_heads"]}
        config |= {"head_dim": config["kv_channels"], "tie_word_embeddings": config.get("tie_word_embeddings", False)}
    elif kind == "chatglm" and config.get("add_bias_linear") and not config.get("rmsnorm", True):  # Llama's, and norms with biases
        layers = config["num_layers"]
        config |= {"model_type": "llama", "num_hidden_layers": layers, "intermediate_size": config["ffn_hidden_size"], "head_dim": config["kv_channels"]}
        config |= {"vocab_size": config["padded_vocab_size"], "attention_bias": True, "mlp_bias": True}
        return config, (2 * layers + 1) * config["hidden_size"]
    elif kind == "exaone":
        config |= {"model_type": "llama", "num_hidden_layers": config["num_layers"]}
    elif kind in ("deepseek", "bailing_moe"):  # Qwen2's experts, whose shared ones have a gate more
        dense = config.get("first_k_dense_replace", 0)
        shared = config.get("n_shared_experts", config.get("num_shared_experts", 0))
        config |= {"model_type": "qwen2_moe", "mlp_only_layers": list(range(dense)), "qkv_bias": config.get("use_qkv_bias", False)}
        config |= {"num_experts": config.get("n_routed_experts", config.get("num_experts"))}
        config |= {"shared_expert_intermediate_size": shared * config["moe_intermediate_size"]}
        return config, -(config["num_hidden_layers"] - dense) * config["hidden_size"]
    elif kind == "bailing_moe_v2":
        config |= {"model_type": "dots1", "n_routed_experts": config["num_experts"], "n_shared_experts": config["num_shared_experts"]}
    elif kind in ("grok-1", "arctic"):  # Mixtral's, with two norms or with a dense half and its norm more in every layer
        layers, hidden, dense = config["num_hidden_layers"], config["hidden_size"], 0
        if kind == "grok-1":
            dense = config["intermediate_size"] if config.get("residual_moe") else 0
            norms = 2
        else:
            dense = hidden if config.get("parallel_attn_mlp_res") else 0
            norms = 1 if dense else 0
        config |= {"model_type": "mixtral", "intermediate_size": config.get("moe_intermediate_size", config["intermediate_size"])}
        return config, layers * hidden * (norms + 3 * dense)
    elif kind == "apertus":  # two learned values of the activation in each layer are not counted
        return config, -2 * config["num_hidden_layers"]
    return config, 0


def build(config_dict):
    config_dict = dict(config_dict)
    config_dict.pop("quantization_config", None)  # the count is of values, not of packed blocks
    # Classes with another head than logits over the vocabulary.
    heads = [name for name in config_dict.get("architectures", []) if name.endswith(("Classification", "Model")) and "LMHead" not in name and name != "ChatGLMModel"]
    kind = config_dict.pop("model_type")
    if kind == "llama4" or (kind == "mistral3" and config_dict["text_config"]["model_type"] == "mistral"):  # multimodal: the text model
        config_dict = dict(config_dict["text_config"])
        kind = config_dict.pop("model_type")
    if "text_config" in config_dict:  # the same, with the embedding table tied or not as the whole says
        text = dict(config_dict["text_config"])
        text.setdefault("tie_word_embeddings", config_dict.get("tie_word_embeddings", kind == "gemma3"))
        config_dict, kind = text, text.pop("model_type", "gemma3_text")
    # Text models of encoders have no class with an output matrix of their own.
    kind = {"qwen2_5_vl_text": "qwen2", "qwen3_vl_text": "qwen3", "qwen3_vl_moe_text": "qwen3_moe"}.get(kind, kind)
    config = AutoConfig.for_model(kind, **config_dict)
    with torch.device("meta"), no_init_weights():  # values are of no interest
        if kind == "mistral4":  # of a multimodal config alone: no automatic class knows it
            model = transformers.Mistral4ForCausalLM(config)
        elif heads:
            model = getattr(transformers, heads[0])(config)
        elif kind in ("bert", "roberta", "xlm-roberta", "modernbert"):
            model = AutoModelForMaskedLM.from_config(config)
        else:
            model = AutoModelForCausalLM.from_config(config)
    model.tie_weights()
    return model


def count(config_dict):
    config_dict, more = known(config_dict)
    model = build(config_dict)
    parameters = more + sum(p.numel() for p in model.parameters())  # PyTorch yields a shared parameter once
    correction = sum(b.numel() for name, b in model.named_buffers() if name.endswith("e_score_correction_bias"))
    return {"parameters": parameters, "correction": correction}


def main(beginnings):
    table = {"transformers": transformers.__version__, "torch": torch.__version__, "presets": {}, "synthetic": {}}
    if beginnings:
        table = json.loads(OUTPUT.read_text())
    configs = {
        "presets": {path.stem: json.loads(path.read_text()) for path in sorted((ROOT / "models").glob("*.json"))},
        "synthetic": json.loads(SYNTHETIC.read_text()),
    }
    for part, named in configs.items():
        for name, config in named.items():
            if beginnings and not name.startswith(tuple(beginnings)):
                continue
            row = count(config)
            if table["transformers"] != transformers.__version__:
                row["transformers"] = transformers.__version__
            table[part][name] = row
            print(name, row, flush=True)
        table[part] = {name: table[part][name] for name in named if name in table[part]}
    OUTPUT.write_text(json.dumps(table, indent=2) + "\n")


if __name__ == "__main__":
    main(sys.argv[1:])
