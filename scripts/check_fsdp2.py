#!/usr/bin/env python3
"""Trains small models by exported fsdp2.py files, on four processes of this machine's CPU, and compares their weights
after three steps with those of one process without any parallelism.

Needs PyTorch and transformers (checked with 2.15 and 5.24), and the built program; neither is among what tests need.

    python scripts/check_fsdp2.py                          # the families that the tensor-parallel plan knows
    python scripts/check_fsdp2.py --families llama qwen3
"""

import argparse
import copy
import os
import re
import subprocess
import sys
import tempfile
from pathlib import Path

import torch
import torch.distributed as dist
import torch.multiprocessing as mp
import transformers
from torch.nn.functional import cross_entropy
from transformers.models.auto.configuration_auto import CONFIG_MAPPING
from transformers.models.auto.modeling_auto import MODEL_FOR_CAUSAL_LM_MAPPING_NAMES

PROGRAM = Path(__file__).resolve().parent.parent / "build/release/cli/sextant"
PROCESSES, STEPS, BATCHES, SEQUENCE, VOCABULARY = 4, 3, 2, 32, 256
RATE = 0.1
TOLERANCE = 1e-5  # sums of another order differ by 1e-7

PLANS = {
    "zero 3, tp 2": "--zero 3 --tp 2 --recompute full",
    "zero 1, tp 2": "--zero 1 --tp 2",
    "zero 3": "--zero 3 --recompute full --recompute-layers 2",
    "zero 2, groups of 2": "--zero 2 --shard-group 2",
    "zero 0": "--zero 0",
}
# With tensor parallelism; any family goes without.
FAMILIES = (
    "llama mistral ministral3 qwen2 qwen3 gemma gemma2 gemma3_text granite smollm3 seed_oss ernie4_5 arcee "
    "hunyuan_v1_dense exaone4 nemotron olmo olmo2 glm glm4 starcoder2 cohere2 mixtral qwen2_moe qwen3_moe glm4_moe"
).split()
# Of these some rank would train something apart: the file has to stop.
REFUSED = "apertus gpt_oss phi3 deepseek_v3".split()


def exported(options):
    """The text of fsdp2.py for a plan, made for CPUs and for steps of BATCHES micro-batches."""
    model = ["--model", "llama-3.2-1b", "--cluster", "h100-sxm", "--gpus", str(PROCESSES), "--framework", "fsdp"]
    with tempfile.TemporaryDirectory() as folder:
        command = [PROGRAM, "export", *model, *options.split(), "--format", "fsdp2", "--output", folder]
        subprocess.run(command, check=True, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        text = (Path(folder) / "fsdp2.py").read_text()
    for pattern, replacement in {
        r'"cuda"': '"cpu"',
        r"ACCUMULATION_STEPS = \d+": f"ACCUMULATION_STEPS = {BATCHES}",
        r"PARAMETERS, OFFLOAD = torch\.\w+": "PARAMETERS, OFFLOAD = torch.float32",
        r"TIED_EMBEDDINGS = \w+": "TIED_EMBEDDINGS = TIED",
    }.items():
        text, count = re.subn(pattern, replacement, text)
        assert count > 0, pattern
    return text


def small_model(family):
    known = CONFIG_MAPPING[family]
    sizes = dict(hidden_size=64, intermediate_size=128, num_hidden_layers=4, num_attention_heads=8)
    sizes |= dict(num_key_value_heads=4, head_dim=16, vocab_size=VOCABULARY, pad_token_id=0)
    experts = dict(num_experts=4, n_routed_experts=4, num_local_experts=4, num_experts_per_tok=2, n_group=1)
    experts |= dict(topk_group=1, moe_intermediate_size=32)
    rest = dict(attention_dropout=0.0, residual_dropout=0.0, q_lora_rank=32, kv_lora_rank=32)
    sizes |= {key: value for key, value in (experts | rest).items() if key in known().to_dict()}
    fused = "eager" if family.startswith(("gemma", "gpt_oss")) else "sdpa"
    config = known(**sizes, attn_implementation=fused)
    torch.manual_seed(0)
    return getattr(transformers, MODEL_FOR_CAUSAL_LM_MAPPING_NAMES[family])(config).float()


def loss_of(model, tokens):
    logits = model(input_ids=tokens, use_cache=False).logits
    return cross_entropy(logits[:, :-1].flatten(0, 1), tokens[:, 1:].flatten())


def train(rank, text, family, folder):
    """One process; it writes how far weights are off, or what stopped it."""
    torch.set_num_threads(1)
    transformers.logging.set_verbosity_error()
    dist.init_process_group("gloo", init_method=f"file://{folder}/meet", rank=rank, world_size=PROCESSES)
    model = small_model(family)
    alone = copy.deepcopy(model)
    plan = {"TIED": bool(model.config.tie_word_embeddings)}
    exec(compile(text, "fsdp2.py", "exec"), plan)
    try:
        model = plan["apply_plan"](model, model.model.layers, plan["make_mesh"]())
    except ValueError as error:
        Path(folder, f"said{rank}").write_text(f"stops: {error}")
        return
    groups = plan["REPLICAS"] * plan["SHARDS"]
    data = torch.randint(0, VOCABULARY, (STEPS + 1, BATCHES, groups, 1, SEQUENCE))
    optimizer, reference = (torch.optim.SGD(m.parameters(), lr=RATE) for m in (model, alone))
    mine = rank // plan["TENSOR"]
    for step in range(STEPS):
        plan["step"](model, optimizer, iter(data[step, :, mine]), loss_of)
        for tokens in data[step].flatten(0, 1):
            (loss_of(alone, tokens) / BATCHES / groups).backward()
        reference.step()
        reference.zero_grad()
    worst = 0.0
    weights = dict(alone.named_parameters())
    for name, weight in model.named_parameters():
        whole = weight.full_tensor() if hasattr(weight, "full_tensor") else weight
        worst = max(worst, (whole - weights[name.replace("_checkpoint_wrapped_module.", "")]).abs().max().item())
    plan["step"](model, plan["make_optimizer"](model), iter(data[STEPS, :, mine]), loss_of)  # that it runs
    Path(folder, f"said{rank}").write_text(f"{worst:.1e}")
    dist.destroy_process_group()


def check(name, text, family, may_stop):
    with tempfile.TemporaryDirectory() as folder:
        try:
            mp.spawn(train, (text, family, folder), nprocs=PROCESSES)
            said = [(Path(folder) / f"said{rank}").read_text() for rank in range(PROCESSES)]
        except mp.ProcessRaisedException as error:
            said = [f"failed: {str(error).strip().splitlines()[-1]}"]
    stops = all(word.startswith("stops") for word in said)
    good = stops if may_stop else all(re.match(r"\d", word) and float(word) < TOLERANCE for word in said)
    print(f"{'ok' if good else 'WRONG':5}  {name:20}  {family:18}  {max(said)}", flush=True)
    return good


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--families", nargs="+", metavar="NAME", help="model_type of transformers")
    families = parser.parse_args().families
    os.environ["TORCH_CPP_LOG_LEVEL"] = "ERROR"
    texts = {name: exported(options) for name, options in PLANS.items()}
    split = next(iter(PLANS))
    good = True
    for name, text in texts.items():
        for family in families or (FAMILIES if name == split else ["llama"]):
            good &= check(name, text, family, family in REFUSED and "tp" in name)
    for family in [] if families else REFUSED:
        good &= check(split, texts[split], family, True)
    sys.exit(0 if good else 1)


if __name__ == "__main__":
    main()
