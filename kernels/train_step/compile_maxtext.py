#!/usr/bin/env python3
"""Memory of MaxText's training steps on TPUs, as XLA's compiler for them plans it. No TPU is needed.

Runs MaxText's own train_compile for every combination of --models, --batch, --seq and --remat, and writes rows as
train_step.py does, without times (`sextant validate train FILE.csv`). A plan that does not fit is a row, too: STATUS=OOM.

    python3 compile_maxtext.py --models llama2-7b --topology v5p-16 --batch 1,4 --out steps_maxtext.csv
    python3 compile_maxtext.py --models mixtral-8x7b --topology v5p-128 --ep 8 --remat full,minimal --out steps_maxtext.csv --resume
    python3 compile_maxtext.py --models llama3.1-8b --topology v5p-16 --remat custom:decoder_layer_input=offload+out_proj=device --out steps_maxtext.csv --resume

Needs rows.py and steps.py beside it, and MaxText 0.2 with libtpu (`pip install maxtext[tpu]`). A step takes half a minute
to some minutes to compile.
"""
import argparse
import functools
import os
import re
import subprocess
import sys
import time

from importlib.metadata import version
from importlib.util import find_spec
from pathlib import Path

import yaml

from rows import RowFile, add_missing, add_out_options, require_new_or_resumed, sizes
from steps import HEADER, asked_for

# MaxText counts TensorCores in the names of these, and chips in those of the others.
CHIPS = {"v4": ("TPU v4", 2), "v5p": ("TPU v5p", 2), "v5e": ("TPU v5e", 1), "v6e": ("TPU v6e", 1)}
# Layers that MaxText scans over as one.
LAYERS_OF_BLOCK = {"gemma2": 2}
# In the notes of a row: before all, and after the settings.
OUT_OF_MEMORY = "STATUS=OOM; "
SETTINGS_END = "; peak is "


def config(path):
    """A file of MaxText's configurations; found without importing MaxText, which takes ten seconds."""
    return Path(find_spec("maxtext").submodule_search_locations[0], "configs", path)


@functools.cache
def model_of(name):
    """Dimensions by MaxText's own file of the model, over its defaults."""
    read = lambda path: yaml.safe_load(config(path).read_text())
    return read("base.yml") | read(f"models/{name}.yml")


def dimensions(name):
    m = model_of(name)
    experts = m["num_experts"] if m["num_experts"] > 1 else 0
    row = {
        "arch": "moe" if experts else "dense",
        "layers": m["base_num_decoder_layers"] * LAYERS_OF_BLOCK.get(m["decoder_block"], 1),
        "hidden": m["base_emb_dim"],
        "ffn_hidden": m["base_mlp_dim"],
        "heads": m["base_num_query_heads"],
        "kv_heads": m["base_num_kv_heads"],
        "head_dim": m["head_dim"],
        "vocab": m["vocab_size"],
        "gated_mlp": int(len(m["mlp_activations"]) > 1),
        "tied_embed": int(m["logits_via_embedding"]),
    }
    if experts:
        row |= {
            "moe_experts": experts,
            "moe_topk": m["num_experts_per_tok"],
            "moe_ffn_hidden": m["base_moe_mlp_dim"],
            "moe_shared": m["shared_experts"],
        }
    return row


def numbers(text):
    return [float(part) for part in text.split(",")]


def policy_of(remat):
    """MaxText's policy, and the places of tensors where it is `custom:TENSOR=PLACE+...`."""
    name, _, places = remat.partition(":")
    return name, dict(part.split("=") for part in places.split("+")) if places else {}


def policy_text(remat):
    """As published tables write it."""
    name, places = policy_of(remat)
    tensors = ", ".join(f"{tensor}={place}" for tensor, place in places.items())
    return f"remat_policy={name} ({tensors})" if places else f"remat_policy={name}"


def chip_of(topology):
    """Name of the chip, and chips of a slice."""
    generation, count = topology.split("-")
    name, counted = CHIPS[generation]
    return name, int(count) // counted


def empty_row(name, batch, seq, remat, args):
    gpu, chips = chip_of(args.topology)
    count = chips * args.slices
    settings = [f"{args.slices} x {args.topology}", *args.set]
    if args.slices > 1:
        settings.insert(1, f"FSDP={chips // args.tp}")
    if args.quantization:
        settings.append(f"quantization={args.quantization}")
    return dict.fromkeys(HEADER, "") | dimensions(name) | {
        "source_id": "sextant-maxtext-compile",
        "source_ref": f"kernels/train_step/compile_maxtext.py, {time.strftime('%Y-%m-%d', time.gmtime())}",
        "model": name,
        "seq_len": seq,
        "gpu": gpu,
        "num_gpus": count,
        "framework": f"MaxText {version('maxtext')} (JAX {version('jax')}, libtpu {version('libtpu')})",
        "precision": "FP8" if "fp8" in args.quantization else "BF16",
        "dp": count // (args.tp * args.cp),
        "tp": args.tp,
        "pp": 1,
        "cp": args.cp,
        "ep": args.ep,
        "zero_stage": 3,
        "sequence_parallel": int(args.tp > 1),  # the tensor axis divides what is between layers, too
        "recompute": policy_text(remat),
        "micro_batch": round(batch * args.tp * args.cp),
        "global_batch_seqs": round(batch * count),
        "flash_attention": 1,
        "notes": "; ".join(settings) + SETTINGS_END,
    }


def compile_step(name, batch, seq, remat, args):
    """Bytes that a device needs, None where it has not as many, and the compiler's account of them."""
    policy, places = policy_of(remat)
    settings = {
        "model_name": name,
        "compile_topology": args.topology,
        "compile_topology_num_slices": args.slices,
        "per_device_batch_size": f"{batch:g}",
        "max_target_length": seq,
        "remat_policy": policy,
        "enable_checkpointing": "false",
        "override_model_config": "true",
        "ici_tensor_parallelism": args.tp,
        "ici_context_parallelism": args.cp,
        "ici_expert_parallelism": args.ep,
        "dcn_data_parallelism": args.slices,
        "quantization": args.quantization,
    } | places
    command = [sys.executable, "-m", "maxtext.trainers.pre_train.train_compile", str(config("base.yml"))]
    command += [f"{key}={value}" for key, value in settings.items() if value != ""] + args.set
    environment = os.environ | {"JAX_PLATFORMS": "cpu", "TPU_SKIP_MDS_QUERY": "1", "ALLOW_MULTIPLE_LIBTPU_LOAD": "1"}
    result = subprocess.run(command, env=environment, capture_output=True, text=True, timeout=args.timeout)
    output = result.stdout + result.stderr
    if stats := re.search(r"CompiledMemoryStats\((.*)\)", output):
        parts = {key: int(value) for key, value in re.findall(r"(\w+)_size_in_bytes=(\d+)", stats[1])}
        peak = parts["argument"] + parts["output"] - parts["alias"] + parts["temp"]
        account = ", ".join(f"{key} {parts[key] / 1e9:.4f}"
                            for key in ("argument", "temp", "generated_code", "host_temp") if parts[key] or key != "host_temp")
        return peak, f"{account} GB"
    if too_large := re.search(r"required for HLO temporaries \([\d.]+\w?\) exceeds available HBM \([\d.]+\w?\)", output):
        return None, too_large[0]
    raise RuntimeError("\n".join(output.splitlines()[-15:]))


def row_of(name, batch, seq, remat, args):
    row = empty_row(name, batch, seq, remat, args)
    peak, account = compile_step(name, batch, seq, remat, args)
    if peak is not None:
        row["peak_mem_gb_per_gpu"] = f"{peak / 1e9:.4f}"
    row["notes"] = (OUT_OF_MEMORY if peak is None else "") + row["notes"] + f"the plan of the compiler, nothing ran: {account}"
    return row


def key_of(row):
    """What was asked for, settings among the notes."""
    settings = row["notes"].removeprefix(OUT_OF_MEMORY).split(SETTINGS_END)[0]
    return asked_for(row) + (settings,)


def parse_arguments():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--models", required=True, type=lambda text: text.split(","), help="of maxtext/configs/models")
    parser.add_argument("--topology", required=True, help="as MaxText names them: v5e-16, v5p-128, v6e-256")
    parser.add_argument("--slices", type=int, default=1, help="data parallel ones")
    parser.add_argument("--batch", type=numbers, default="1", help="sequences per device, less than 1 with tp or cp")
    parser.add_argument("--seq", type=sizes, default="2048", help="sequence lengths")
    parser.add_argument("--remat", type=lambda text: text.split(","), default="full", help="remat_policy: full, minimal, ..., or custom:TENSOR=PLACE+...")
    for name in ("tp", "cp", "ep"):
        parser.add_argument(f"--{name}", type=int, default=1)
    parser.add_argument("--quantization", default="", help="as MaxText has it: int8, fp8_full, ...")
    parser.add_argument("--set", action="append", default=[], metavar="KEY=VALUE", help="any other setting of MaxText's")
    parser.add_argument("--timeout", type=int, default=900, help="seconds for one step")
    add_out_options(parser)
    args = parser.parse_args()
    if args.topology.split("-")[0] not in CHIPS:
        parser.error(f"--topology {args.topology}: no chip of that name ({', '.join(CHIPS)})")
    if find_spec("maxtext") is None:
        parser.error("MaxText is not installed (pip install maxtext[tpu])")
    for name in args.models:
        if not config(f"models/{name}.yml").exists():
            known = sorted(path.stem for path in config("models").glob("*.yml"))
            parser.error(f"--models {name}: MaxText has no model of that name ({', '.join(known)})")
    require_new_or_resumed(parser, args)
    return args


def main():
    args = parse_arguments()
    file = RowFile(args.out, HEADER)
    have = {key_of(row) for row in file.rows}
    todo = [(m, b, s, r) for m in args.models for r in args.remat for s in args.seq for b in args.batch]

    def row(*step):
        try:
            return row_of(*step, args)
        except (RuntimeError, subprocess.TimeoutExpired) as error:
            print(f"compile_maxtext.py: no row: {error}", file=sys.stderr)
            return None

    key = lambda *step: key_of(empty_row(*step, args))
    label = lambda name, batch, seq, remat: f"{name} batch {batch:g} seq {seq} remat {remat} on {args.topology}"
    add_missing(file, have, todo, key, label, row)
    return 0


if __name__ == "__main__":
    sys.exit(main())
