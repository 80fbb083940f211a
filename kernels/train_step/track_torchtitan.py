#!/usr/bin/env python3
"""Tracks the memory of torchtitan's own training steps over any number of devices, without one: its models, as its own code
parallelises and compiles them, on fake tensors (MemTracker, a fake process group).

Writes rows as train_step.py does (`sextant validate train FILE.csv`), with a peak and no time. The peak is of a step after the
first, as torch.cuda.max_memory_allocated counts it without workspaces of libraries (0.1 to 0.2 GB), of rank 0.

    python3 track_torchtitan.py --models llama3:8B --gpus 8 --seq 8192 --recompute none,op,full --out tracked.csv
    python3 track_torchtitan.py --models llama3:70B --layers 16 --gpus 64 --tp 8 --recompute op --out tracked.csv --resume
    python3 track_torchtitan.py --models qwen3:30B-A3B --layers 8 --gpus 64 --ep 8 --recompute none,full --out tracked.csv --resume
    python3 track_torchtitan.py --models llama3:8B --gpus 64 --recompute full --chunks 8 --cuda-graphs --out tracked.csv --resume

Needs the other files of its folder beside it, PyTorch 2.11 or later and torchtitan 0.2 or 0.3 (pip install torchtitan==0.3.0); no GPU.
Compiled layers and losses allocate as Inductor's code for the CPU does, without running: the peak of compiled layers is what an H200
measured to 0.07 GB, its workspaces. Tokens are routed evenly. Context parallelism and pipelines are not tracked: PyTorch's attention for
CPUs cannot be split over ranks, and stages ask each other for shapes.
"""
import argparse
import logging
import sys
import time
from importlib import import_module
from importlib.metadata import version
from importlib.util import find_spec

import torch

from rows import RowFile, add_missing, add_out_options, require_new_or_resumed, sizes
from steps import HEADER, asked_for
from tracking import compile_for_fake_tensors, fill_peak, fuse_norms

PRESETS = {"qwen3:8B": "qwen3-8b", "qwen3:14B": "qwen3-14b", "qwen3:30B-A3B": "qwen3-30b-a3b"}
RECOMPUTE = {"none": "none", "full": "full", "op": "selective op"}  # as torchtitan's users say it
RELEASES = {"0.2": "torchtitan_0_2", "0.3": "torchtitan_0_3"}


def installed_release():
    """The module for the torchtitan that is installed, or nothing."""
    found = ".".join(version("torchtitan").split(".")[:2]) if find_spec("torchtitan") else ""
    return import_module(RELEASES[found]) if found in RELEASES else None


def columns_of(name, args):
    if name in PRESETS and not args.layers:  # has what a row cannot say: norms of queries and keys
        return {"model": PRESETS[name]}
    layers = f"-{args.layers}-layers" if args.layers else ""
    return {"model": name.replace(":", "-").lower() + layers} | args.release.sizes_of(name, args)


def empty_row(name, seq, batch, recompute, args):
    sharded = args.gpus // args.tp
    how = "eager" if args.eager else "compiled, loss eager," if args.eager_loss else "compiled"
    chunks = f", loss in {args.chunks} chunks" if args.chunks > 1 else ""
    graphs = ", CUDA graphs" if args.cuda_graphs else ""
    code = f"torchtitan {how} {version('torchtitan')} (PyTorch {torch.__version__}){chunks}{graphs}"
    every = "every layer" if recompute == "1" else f"selective: every {'2nd' if recompute == '2' else recompute + 'th'} layer"
    return dict.fromkeys(HEADER, "") | columns_of(name, args) | {
        "source_id": "sextant-tracked-torchtitan",
        "source_ref": f"kernels/train_step/track_torchtitan.py, {time.strftime('%Y-%m-%d', time.gmtime())}",
        "seq_len": seq,
        "gpu": "H100-SXM",  # any would do: the peak is of tensors alone
        "num_gpus": args.gpus,
        "gpus_per_node": min(args.gpus, 8),
        "framework": code + (f", {args.replicate} replicas" if args.replicate > 1 else ""),
        "precision": "BF16",
        "dp": sharded,
        "tp": args.tp,
        "pp": 1,
        "cp": 1,
        "ep": args.ep,
        "zero_stage": 2 if args.keep_gathered else 3,
        "sequence_parallel": int(args.tp > 1),
        "recompute": RECOMPUTE.get(recompute, every),
        "micro_batch": batch,
        "global_batch_seqs": batch * sharded * args.accumulate,
        "flash_attention": 1,
    }


def row_of(name, seq, batch, recompute, args):
    row = empty_row(name, seq, batch, recompute, args)
    peak = args.release.tracked_peak(name, seq, batch, recompute, args)
    settings = [f"FSDP={row['dp'] // args.replicate}"] if args.replicate > 1 else []
    settings += [f"loss_chunks={args.chunks}"] if args.chunks > 1 else []
    settings += ["gradients stay from step to step"] if args.cuda_graphs else []
    fill_peak(row, peak, "; ".join(settings + ["states=fp32 with bf16 copies by FSDP"]), args.verbose)
    return row


def parse_arguments():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--models", required=True, type=lambda text: text.split(","), help="family:flavor of torchtitan: llama3:8B, qwen3:30B-A3B")
    parser.add_argument("--layers", type=int, default=0, help="fewer than the model has")
    parser.add_argument("--gpus", type=int, required=True, help="devices in all")
    parser.add_argument("--tp", type=int, default=1)
    parser.add_argument("--ep", type=int, default=1, help="of mixtures of experts")
    parser.add_argument("--replicate", type=int, default=1, help="groups that hold all state each (HSDP)")
    parser.add_argument("--seq", type=sizes, default="8192", help="sequence lengths")
    parser.add_argument("--batch", type=sizes, default="1", help="sequences of a forward pass (local_batch_size)")
    parser.add_argument("--accumulate", type=int, default=1, help="forward passes a step")
    parser.add_argument("--recompute", type=lambda text: text.split(","), default="op", help="none, op, full, or N: every Nth layer")
    parser.add_argument("--chunks", type=int, default=0, help="parts of a sequence that a loss is made of one by one (default: as torchtitan: 0.3 has 8)")
    parser.add_argument("--cuda-graphs", action="store_true", help="as torchtitan 0.3 has them: gradients stay from step to step")
    parser.add_argument("--keep-gathered", action="store_true", help="do not reshard after the forward pass (ZeRO 2)")
    parser.add_argument("--eager", action="store_true", help="without torch.compile")
    parser.add_argument("--eager-loss", action="store_true", help="only layers through torch.compile")
    parser.add_argument("--verbose", action="store_true", help="print what the peak is of")
    add_out_options(parser)
    args = parser.parse_args()
    args.release = installed_release()
    if args.release is None:
        parser.error("torchtitan 0.2 or 0.3 is not installed (pip install torchtitan==0.3.0)")
    if args.chunks < 0:
        parser.error(f"--chunks {args.chunks}: 1 or more")
    if args.cuda_graphs and (args.eager or args.eager_loss):
        parser.error("--cuda-graphs: of compiled layers and a compiled loss")
    for name in args.models:
        family, _, flavor = name.partition(":")
        if family not in args.release.FAMILIES:
            parser.error(f"--models {name}: the family is one of {', '.join(args.release.FAMILIES)}, as in llama3:8B")
        known = args.release.flavors_of(family)
        if flavor not in known:
            parser.error(f"--models {name}: no flavor of {family} ({', '.join(known)})")
        if refusal := args.release.refusal_of(name, args):
            parser.error(f"{name}: {refusal}")
    args.chunks = args.chunks or args.release.CHUNKS
    if any(seq % max(1, args.chunks) for seq in args.seq):
        parser.error(f"--seq: multiples of the chunks of the loss ({args.chunks})")
    for mode in args.recompute:
        if mode not in RECOMPUTE and not (mode.isdigit() and int(mode) > 0):
            parser.error(f"--recompute {mode}: none, op, full or a number")
        if mode == "op" and args.ep > 1:
            parser.error("--recompute op: not with --ep, where compiled modules differ from pass to pass under the tracker")
    for option in ("gpus", "tp", "ep", "replicate", "accumulate"):
        if getattr(args, option) < 1:
            parser.error(f"--{option} {getattr(args, option)}: 1 or more")
    if args.layers < 0 or min(args.seq + args.batch) < 1:
        parser.error("--layers, --seq and --batch: positive numbers")
    if any(seq % args.tp for seq in args.seq):
        parser.error(f"--seq: multiples of tp ({args.tp})")
    if args.gpus % (args.tp * args.replicate) or args.gpus == args.tp * args.replicate:
        parser.error(f"--gpus {args.gpus}: two times tp x replicate ({args.tp * args.replicate}) or more: one rank alone has no FSDP")
    if args.gpus // args.replicate % args.ep:
        parser.error(f"--ep {args.ep}: does not divide the {args.gpus // args.replicate} devices that share the state")
    require_new_or_resumed(parser, args)
    return args


def main():
    logging.disable(logging.WARNING)
    args = parse_arguments()
    fuse_norms()
    compile_for_fake_tensors()
    args.release.prepare()
    file = RowFile(args.out, HEADER)
    have = {asked_for(row) for row in file.rows}
    todo = [(m, s, b, r) for m in args.models for r in args.recompute for s in args.seq for b in args.batch]
    key = lambda *step: asked_for(empty_row(*step, args))
    label = lambda name, seq, batch, recompute: f"{name} seq {seq} batch {batch} recompute {recompute}"
    add_missing(file, have, todo, key, label, lambda *step: row_of(*step, args))
    return 0


if __name__ == "__main__":
    sys.exit(main())
