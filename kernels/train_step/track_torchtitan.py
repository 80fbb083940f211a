#!/usr/bin/env python3
"""Tracks the memory of torchtitan's own training steps over any number of devices, without one: its models, as its own code
parallelises and compiles them, on fake tensors (MemTracker, a fake process group).

Writes rows as train_step.py does (`sextant validate train FILE.csv`), with a peak and no time. The peak is of a step after the
first, as torch.cuda.max_memory_allocated counts it without workspaces of libraries (0.1 to 0.2 GB), of rank 0.

    python3 track_torchtitan.py --models llama3:8B --gpus 8 --seq 8192 --recompute none,op,full --out tracked.csv
    python3 track_torchtitan.py --models llama3:70B --layers 16 --gpus 64 --tp 8 --recompute op --out tracked.csv --resume
    python3 track_torchtitan.py --models qwen3:30B-A3B --layers 8 --gpus 64 --ep 8 --recompute none,full --out tracked.csv --resume

Needs rows.py, steps.py and tracking.py beside it, PyTorch 2.11 or later and torchtitan 0.2 (pip install torchtitan==0.2.2); no GPU.
Compiled layers and losses allocate as Inductor's code for the CPU does, without running: the peak of compiled layers is what an H200
measured to 0.07 GB, its workspaces. Tokens are routed evenly. Context parallelism and pipelines are not tracked: PyTorch's attention for
CPUs cannot be split over ranks, and stages ask each other for shapes.
"""
import argparse
import contextlib
import logging
import sys
import time
from importlib.metadata import version
from importlib.util import find_spec

import torch
from torch._subclasses.fake_tensor import FakeTensorMode

from rows import RowFile, add_missing, add_out_options, require_new_or_resumed, sizes
from steps import HEADER, asked_for
from tracking import compile_for_fake_tensors, fake_devices, fill_peak, fuse_norms, peak_of

FAMILIES = ("llama3", "qwen3")  # whose attention is PyTorch's own
PRESETS = {"qwen3:8B": "qwen3-8b", "qwen3:14B": "qwen3-14b", "qwen3:30B-A3B": "qwen3-30b-a3b"}
RECOMPUTE = {"none": "none", "full": "full", "op": "selective op"}  # as torchtitan's users say it


def config_of(seq, batch, recompute, args):
    """torchtitan's job, as its TOML files say it."""
    from torchtitan.config import JobConfig

    job = JobConfig()
    job.training.seq_len = seq
    job.training.local_batch_size = batch
    job.activation_checkpoint.mode = recompute if recompute in ("none", "full") else "selective"
    job.activation_checkpoint.selective_ac_option = recompute
    job.parallelism.tensor_parallel_degree = args.tp
    job.parallelism.expert_parallel_degree = args.ep
    job.parallelism.data_parallel_replicate_degree = args.replicate
    job.parallelism.fsdp_reshard_after_forward = "never" if args.keep_gathered else "default"
    job.compile.enable = not args.eager
    job.compile.components = ["model"] if args.eager_loss else ["model", "loss"]
    return job


def is_moe(shape):
    return getattr(shape, "moe_enabled", False)


def shape_of(name, args):
    """torchtitan's description of a model such as "llama3:8B", with --layers layers."""
    from torchtitan.protocols.train_spec import get_train_spec

    family, flavor = name.split(":")
    spec = get_train_spec(family)
    shape = spec.model_args[flavor]
    if args.layers:
        shape.n_layers = args.layers
    return spec, shape


def model_of(spec, shape, job):
    """On the meta device: sizes alone."""
    shape.update_from_config(job)
    with torch.device("meta"):
        return spec.model_cls(shape)


def columns_of(name, args):
    spec, shape = shape_of(name, args)
    model = model_of(spec, shape, config_of(2048, 1, "none", args))
    heads = shape.n_heads
    if name in PRESETS and not args.layers:  # has what a row cannot say: norms of queries and keys
        return {"model": PRESETS[name]}
    first = model.layers["0"]
    columns = {
        "model": name.replace(":", "-").lower() + (f"-{args.layers}-layers" if args.layers else ""),
        "arch": "moe" if is_moe(shape) else "dense",
        "layers": shape.n_layers,
        "hidden": shape.dim,
        "heads": heads,
        "kv_heads": shape.n_kv_heads or heads,
        "head_dim": getattr(shape, "head_dim", shape.dim // heads),
        "vocab": shape.vocab_size,
        "gated_mlp": 1,
        "tied_embed": int(getattr(shape, "enable_weight_tying", False)),
    }
    if not is_moe(shape):
        return columns | {"ffn_hidden": first.feed_forward.w1.weight.shape[0]}
    return columns | {
        "moe_experts": shape.moe_args.num_experts,
        "moe_topk": shape.moe_args.top_k,
        "moe_ffn_hidden": first.moe.experts.w1.shape[1],
        "moe_shared": shape.moe_args.num_shared_experts,
    }


def allow_processors_attention():
    """The attention that PyTorch has for CPUs: its result is among those that torchtitan's policy keeps, heads are split."""
    from torch.distributed.tensor import Replicate, Shard
    from torch.distributed.tensor.experimental import register_sharding

    import torchtitan.models.llama3.infra.parallelize as llama3
    import torchtitan.models.qwen3.infra.parallelize as qwen3

    forward = torch.ops.aten._scaled_dot_product_flash_attention_for_cpu.default
    backward = torch.ops.aten._scaled_dot_product_flash_attention_for_cpu_backward.default
    for module in (llama3, qwen3):
        module._op_sac_save_list.add(forward)

    def by_heads(outputs, tensors, others):
        return [([place] * outputs, [place] * tensors + [None] * others) for place in (Replicate(), Shard(1))]

    @register_sharding(forward)
    def forward_shardings(q, k, v, dropout=0.0, is_causal=False, attn_mask=None, scale=None):
        return by_heads(2, 3, 4)

    @register_sharding(backward)
    def backward_shardings(gradient, q, k, v, out, sums, dropout, is_causal, attn_mask=None, scale=None):
        return by_heads(3, 6, 4)


def route_evenly(routed):
    """Has every rank get the same of `routed` tokens: fake tensors hold no counts. The kernel that sorts them is not run."""
    import torchtitan.models.moe.kernels as kernels
    from torch._subclasses.fake_tensor import FakeTensor

    def indices(counts, starts, offsets, experts, ranks, longest, **_):
        return counts.new_full((longest,), -1, dtype=torch.int32)

    def counts(experts, bins, **_):
        return experts.new_empty(bins)

    torch.histc = counts  # of whole numbers there is none for CPUs
    kernels.fill_indices_wrapper = indices
    FakeTensor.tolist = lambda counts: [routed // counts.shape[0]] * counts.shape[0]


def tracked_peak(name, seq, batch, recompute, args):
    """Bytes allocated at the peak of a step once moments are there, and what they are of."""
    import torchtitan.distributed.parallel_dims as parallel_dims
    from torch.distributed.tensor.parallel import loss_parallel

    parallel_dims.device_type = "cpu"
    torch._dynamo.reset()
    with fake_devices(args.gpus):
        job = config_of(seq, batch, recompute, args)
        degrees = parallel_dims.ParallelDims(
            dp_replicate=args.replicate, dp_shard=-1, cp=1, tp=args.tp, pp=1, ep=args.ep, etp=1, world_size=args.gpus
        )
        spec, shape = shape_of(name, args)
        if is_moe(shape):
            route_evenly(batch * seq * shape.moe_args.top_k // args.tp)
        model = spec.parallelize_fn(model_of(spec, shape, job), degrees, job)
        loss_of = spec.build_loss_fn(job)
        with FakeTensorMode(allow_non_fake_inputs=True):
            model.to_empty(device="cpu")
            model.train()
            optimizer = torch.optim.AdamW(model.parameters(), lr=1e-4, fused=True)
            tokens, labels = (torch.randint(shape.vocab_size, (batch, seq)) for _ in range(2))

            def one_pass():
                with loss_parallel() if args.tp > 1 else contextlib.nullcontext():
                    logits = model(tokens)
                    loss = loss_of(logits, labels)
                    del logits  # as torchtitan does, before the backward pass
                    loss.backward()

            return peak_of(one_pass, args.accumulate, model, optimizer)


def empty_row(name, seq, batch, recompute, args):
    sharded = args.gpus // args.tp
    how = "eager" if args.eager else "compiled, loss eager," if args.eager_loss else "compiled"
    code = f"torchtitan {how} {version('torchtitan')} (PyTorch {torch.__version__})"
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
    peak = tracked_peak(name, seq, batch, recompute, args)
    groups = f"FSDP={row['dp'] // args.replicate}; " if args.replicate > 1 else ""
    fill_peak(row, peak, f"{groups}states=fp32 with bf16 copies by FSDP", args.verbose)
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
    parser.add_argument("--keep-gathered", action="store_true", help="do not reshard after the forward pass (ZeRO 2)")
    parser.add_argument("--eager", action="store_true", help="without torch.compile")
    parser.add_argument("--eager-loss", action="store_true", help="only layers through torch.compile")
    parser.add_argument("--verbose", action="store_true", help="print what the peak is of")
    add_out_options(parser)
    args = parser.parse_args()
    if find_spec("torchtitan") is None or not version("torchtitan").startswith("0.2."):
        parser.error("torchtitan 0.2 is not installed (pip install torchtitan==0.2.2)")
    from torchtitan.protocols.train_spec import get_train_spec

    for name in args.models:
        family, _, flavor = name.partition(":")
        if family not in FAMILIES:
            parser.error(f"--models {name}: the family is one of {', '.join(FAMILIES)}, as in llama3:8B")
        known = get_train_spec(family).model_args
        if flavor not in known:
            parser.error(f"--models {name}: no flavor of {family} ({', '.join(known)})")
        if known[flavor].attn_type != "sdpa":
            parser.error(f"--models {name}: its attention is not PyTorch's own ({known[flavor].attn_type})")
        if getattr(known[flavor], "enable_weight_tying", False):
            parser.error(f"--models {name}: torchtitan 0.2 does not shard tied embeddings under this PyTorch")
        if args.ep > 1 and not is_moe(known[flavor]):
            parser.error(f"--ep {args.ep}: {name} has no experts")
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
    allow_processors_attention()
    file = RowFile(args.out, HEADER)
    have = {asked_for(row) for row in file.rows}
    todo = [(m, s, b, r) for m in args.models for r in args.recompute for s in args.seq for b in args.batch]
    key = lambda *step: asked_for(empty_row(*step, args))
    label = lambda name, seq, batch, recompute: f"{name} seq {seq} batch {batch} recompute {recompute}"
    add_missing(file, have, todo, key, label, lambda *step: row_of(*step, args))
    return 0


if __name__ == "__main__":
    sys.exit(main())
