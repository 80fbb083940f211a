#!/usr/bin/env python3
"""Tracks the memory of training steps under FSDP2 over any number of devices, without one: PyTorch's own bookkeeping of
fake tensors (MemTracker, a fake process group) runs the steps of train_step.py.

Writes rows as train_step.py does (`sextant validate train FILE.csv`), with a peak and no time. The peak is of a step
after the first, as torch.cuda.max_memory_allocated counts it without workspaces of libraries (0.1 to 0.2 GB), of rank 0.

    python3 track_memory.py --dp 1,8,64 --out tracked.csv
    python3 track_memory.py --models 8b --seq 8192 --tokens 8192 --dp 8 --recompute full --keep-gathered --out tracked.csv --resume

Needs rows.py, steps.py, tracking.py and train_step.py beside it and PyTorch 2.6 or later; no GPU.
"""
import argparse
import sys

import torch
from torch._subclasses.fake_tensor import FakeTensorMode
from torch.distributed.algorithms._checkpoint.checkpoint_wrapper import checkpoint_wrapper
from torch.distributed.device_mesh import init_device_mesh
from torch.distributed.fsdp import MixedPrecisionPolicy, fully_shard

from rows import require_new_or_resumed, sizes
from steps import MODELS, add_missing_rows, add_step_options, base_row
from tracking import compile_for_fake_tensors, fake_devices, fill_peak, fuse_norms, peak_of
from train_step import Llama, compile_afresh


def shard(model, args, mesh):
    """FSDP2, a group a layer; the ends in the root's group, or as torchtitan has them: embedding, and norm with head."""
    policy = MixedPrecisionPolicy(param_dtype=torch.bfloat16, reduce_dtype=torch.float32)
    options = {"mesh": mesh, "mp_policy": policy}
    reshard = not args.keep_gathered
    if args.ends == "apart":
        fully_shard(model.embedding, reshard_after_forward=reshard, **options)
    for layer in model.layers:
        fully_shard(layer, reshard_after_forward=reshard, **options)
    if args.ends == "apart":
        fully_shard([model.norm, model.head], reshard_after_forward=False, **options)
    fully_shard(model, **options)


def tracked_peak(shape, seq, micro_batch, args, dp):
    """Bytes allocated at the peak of a step once moments are there, and what they are of."""
    with fake_devices(dp):
        mesh = init_device_mesh("cpu", (dp,))
        with FakeTensorMode():
            model = Llama(shape)
            if args.recompute == "full":
                model.layers = torch.nn.ModuleList(checkpoint_wrapper(layer) for layer in model.layers)
            if args.compile:
                compile_afresh()
                for layer in model.layers:
                    layer.compile()
            if args.wrap == "fsdp":
                shard(model, args, mesh)
            optimizer = torch.optim.AdamW(model.parameters(), lr=1e-4, betas=(0.9, 0.95), fused=True)
            tokens = torch.randint(shape.vocab, (micro_batch, seq + 1))

            def one_pass():
                with torch.autocast("cpu", dtype=torch.bfloat16, enabled=args.wrap == "none"):
                    loss = model(tokens[:, :-1], tokens[:, 1:])
                loss.backward()

            return peak_of(one_pass, 1, model, optimizer)


def empty_row(name, seq, micro_batch, args, dp):
    code = f"PyTorch {torch.__version__} " + ("FSDP2 " if args.wrap == "fsdp" else "")
    code += "compiled" if args.compile else "eager"
    # Any device would do: the peak is of tensors alone.
    row = base_row(name, MODELS[name], seq, micro_batch, "track_memory.py", "H100-SXM", code, args.recompute)
    grouped = ", groups as torchtitan" if args.ends == "apart" and args.wrap == "fsdp" else ""
    return row | {
        "source_id": "sextant-tracked-memory",
        "num_gpus": dp,
        "gpus_per_node": min(dp, 8),
        "framework": code + grouped,
        "dp": dp,
        "zero_stage": 0 if args.wrap == "none" else 2 if args.keep_gathered else 3,
        "global_batch_seqs": dp * micro_batch,
    }


def row_of(name, seq, micro_batch, args, dp):
    row = empty_row(name, seq, micro_batch, args, dp)
    peak = tracked_peak(MODELS[name], seq, micro_batch, args, dp)
    copies = "copies by FSDP" if args.wrap == "fsdp" else "autocast"
    fill_peak(row, peak, f"states=fp32 with bf16 {copies}", args.verbose)
    return row


def parse_arguments():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    add_step_options(parser, seq="2048")
    parser.add_argument("--dp", type=sizes, default="1,8,64", help="devices that share the state")
    parser.add_argument("--wrap", choices=("none", "fsdp"), default="fsdp", help="none: one device under autocast")
    parser.add_argument("--ends", choices=("root", "apart"), default="root", help="in the root's group; as torchtitan")
    parser.add_argument("--keep-gathered", action="store_true", help="do not reshard after the forward pass (ZeRO 2)")
    parser.add_argument("--recompute", choices=("none", "full"), default="none", help="of each layer in its backward pass")
    parser.add_argument("--compile", action="store_true", help="layers through torch.compile, the loss eager")
    parser.add_argument("--verbose", action="store_true", help="print what the peak is of")
    args = parser.parse_args()
    require_new_or_resumed(parser, args)
    return args


def main():
    args = parse_arguments()
    fuse_norms()
    if args.compile:
        compile_for_fake_tensors()
    for dp in args.dp:
        add_missing_rows(args, "fp32", lambda *step: empty_row(*step, args, dp), lambda *step: row_of(*step, args, dp))
    return 0


if __name__ == "__main__":
    sys.exit(main())
