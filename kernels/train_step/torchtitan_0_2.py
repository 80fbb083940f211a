"""torchtitan 0.2, as track_torchtitan.py runs it: jobs, shapes, and a step on fake tensors."""
import contextlib

import torch
from torch._subclasses.fake_tensor import FakeTensorMode

from tracking import fake_devices, in_training, peak_of

FAMILIES = ("llama3", "qwen3")  # whose attention is PyTorch's own
CHUNKS = 1  # of a loss


def flavors_of(family):
    from torchtitan.protocols.train_spec import get_train_spec

    return get_train_spec(family).model_args


def refusal_of(name, args):
    """Why a model cannot be tracked, or nothing."""
    family, flavor = name.split(":")
    shape = flavors_of(family)[flavor]
    if shape.attn_type != "sdpa":
        return f"its attention is not PyTorch's own ({shape.attn_type})"
    if getattr(shape, "enable_weight_tying", False):
        return "torchtitan 0.2 does not shard tied embeddings under this PyTorch"
    if args.ep > 1 and not is_moe(shape):
        return "--ep: it has no experts"
    if args.chunks > 1:
        return "--chunks: torchtitan 0.2 has all logits at once (0.3 has chunks)"
    if args.cuda_graphs:
        return "--cuda-graphs: torchtitan 0.2 has none"
    return ""


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


def sizes_of(name, args):
    """Columns of a row that say a model's shape."""
    spec, shape = shape_of(name, args)
    first = model_of(spec, shape, config_of(2048, 1, "none", args)).layers["0"]
    heads = shape.n_heads
    sizes = {
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
        return sizes | {"ffn_hidden": first.feed_forward.w1.weight.shape[0]}
    return sizes | {
        "moe_experts": shape.moe_args.num_experts,
        "moe_topk": shape.moe_args.top_k,
        "moe_ffn_hidden": first.moe.experts.w1.shape[1],
        "moe_shared": shape.moe_args.num_shared_experts,
    }


def prepare():
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
            optimizer, tokens, labels = in_training(model, shape.vocab_size, batch, seq)

            def one_pass():
                with loss_parallel() if args.tp > 1 else contextlib.nullcontext():
                    logits = model(tokens)
                    loss = loss_of(logits, labels)
                    del logits  # as torchtitan does, before the backward pass
                    loss.backward()

            return peak_of(one_pass, args.accumulate, model, optimizer)
